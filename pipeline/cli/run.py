"""`run` and `status`: settling deals, and how far that is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options, records

if TYPE_CHECKING:
    from pipeline.dataset.manifest import RunRecord
    from pipeline.dataset.seeds import Seeds
    from pipeline.dataset.store import Partition, Store
    from pipeline.runs.settings import Deals, RunSettings
    from pipeline.runs.summary import RunSummary

_CONFIG = click.argument(
    "config", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="[CONFIG]"
)


def _executor_options(command: options.Command) -> options.Command:
    """Add where deals are settled: `--executor`, `--scheduler`, the TLS files."""
    file = click.Path(path_type=Path, dir_okay=False)
    for decorate in (
        click.option("--tls-key", type=file, metavar="FILE", help="Key of that certificate."),
        click.option("--tls-cert", type=file, metavar="FILE", help="Certificate for the Dask cluster."),
        click.option("--tls-ca", type=file, metavar="FILE", help="Certificate authority of the Dask cluster."),
        click.option(
            "--scheduler",
            type=options.Kind("address", "read_address"),
            metavar="URL",
            help="Dask scheduler, like tls://host:8786.  [default: a local cluster]",
        ),
        click.option(
            "--executor",
            type=click.Choice(("processes", "inline", "dask")),
            help="Where deals are settled: worker processes, this process, or a Dask cluster.  [default: processes]",
        ),
    ):
        command = decorate(command)
    return command


@click.command()
@_CONFIG
@options.data_option
@options.variants_option
@options.numbering_option
@options.seeds_options
@options.nodes_option()
@options.workers_option
@options.shard_option
@options.max_time_option
@click.option(
    "--retry",
    type=click.Choice(("none", "unsettled")),
    help="Settle again what another version of the solver left unsettled at this limit.  [default: none]",
)
@click.option(
    "--memory",
    type=options.Kind("size", "read_size"),
    metavar="SIZE",
    help="Most memory of a worker, like 2GB (at least 256MB): a deal that needs more fails alone.  [default: no cap]",
)
@click.option(
    "--chunk",
    type=options.COUNT,
    metavar="N",
    help="Deals handed to a worker at once.  [default: about 0.3 seconds of work]",
)
@_executor_options
@click.option("--dry-run", is_flag=True, help="Say what would be done and about how long it takes, and do nothing.")
@click.option("--report/--no-report", default=None, help="Print the report of the settled variants at the end.")
@options.format_option()
@options.verbosity_options
def run(config: Path | None, dry_run: bool, output_format: str, verbosity: int, **flags: Any) -> None:
    r"""Settle numbered deals into the dataset.

    A configuration file (see configs/), flags, or both name the deals. Flags override the environment (WINNABLE_NODES
    and so on), which overrides the file. The same command again settles what is missing and nothing twice; a larger
    --nodes settles again only what is unsettled at a smaller one. Ctrl-C finishes the deals in progress and keeps them.

    Memory grows slowly with the limit: a worker takes about 240 MB at a million positions, 450 MB at ten million, 1 GB
    at twenty-five, and at no limit more than 1.5 GiB.

    \b
    Examples:
      winnable run configs/quick.toml
      winnable run --variant spider-4 --seeds 1:1000
      winnable run --variant spider-1 --seeds 1:1000000 --shard 3/16 --data part3
      winnable run configs/documented.toml --dry-run
    """
    from pipeline.cli.main import goes_on
    from pipeline.runs.logs import show_on_terminal
    from pipeline.runs.run import run as settle
    from pipeline.runs.settings import load_settings

    settings = load_settings(config, _flags(flags))
    show_on_terminal(verbosity)
    if dry_run:
        _show_plan(settings, output_format)
        return
    goes_on()
    bar = _progress(verbosity)
    summary = settle(settings, progress=bar, echo=None if verbosity < 0 else lambda text: options.message(text))
    if settings.report and summary.stopped is None and any(deals.seeds for deals in settings.deals):
        _print_report(settings, output_format)
    else:
        click.echo(records.table(_run_records(summary), output_format), nl=False)
    _end(summary, verbosity)


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    """Return the flags by key of the settings' table."""
    from pipeline.dataset.seeds import Seeds

    flags = dict(given)
    flags["seeds"] = Seeds.of(flags["seeds"]) if flags["seeds"] else None
    return flags


def _progress(verbosity: int) -> Any:
    from pipeline.cli.progress import RunBar, wanted
    from pipeline.runs.window import Progress

    return RunBar() if wanted(verbosity) else Progress()


def _end(summary: RunSummary, verbosity: int) -> None:
    """End with the exit code that the run has earned."""
    from pipeline.cli.main import raise_if_stopped
    from pipeline.runs.stopping import MAX_TIME

    if summary.stopped and summary.left:
        left = records.counted(summary.left, "deal")
        why = "time is up: " if summary.stopped == MAX_TIME else ""
        remedy = f"the same command goes on from here, 'winnable withdraw {summary.run_id}' gives them up"
        options.message(f"{why}{left} left; {remedy}", verbosity)
    raise_if_stopped(summary.stopped)
    summary.raise_if_failed()


def _run_records(summary: RunSummary) -> list[dict[str, Any]]:
    return [
        {
            "variant": job.deals.variant.id,
            "numbering": job.deals.numbering,
            "node_limit": job.deals.nodes,
            "deals": job.counts.planned,
            "had": job.counts.present,
            "settled": job.counts.settled,
            "won": job.counts.won,
            "lost": job.counts.lost,
            "unsettled": job.counts.unsettled,
            "failed": job.counts.failed,
            "left": job.counts.left,
        }
        for job in summary.jobs
    ]


def _show_plan(settings: RunSettings, output_format: str) -> None:
    from pipeline.dataset.store import Store
    from pipeline.runs.overview import estimate_seconds
    from pipeline.runs.run import plan_jobs
    from pipeline.version import solver_id

    store = Store(settings.data)
    jobs = plan_jobs(settings, store, solver_id())
    rows = []
    for job in jobs:
        seconds = estimate_seconds(store, [job], settings.workers)
        rows.append(
            {
                "variant": job.deals.variant.id,
                "numbering": job.deals.numbering,
                "node_limit": job.deals.nodes,
                "deals": job.counts.planned,
                "had": job.counts.present,
                "to_settle": job.missing.count,
                "estimated_seconds": None if seconds is None else round(seconds, 1),
            }
        )
    click.echo(records.table(rows, output_format), nl=False)


def _print_report(settings: RunSettings, output_format: str) -> None:
    """Print the report of what was asked for: each variant in its own numbering."""
    from pipeline.analysis.report import report_of
    from pipeline.analysis.samples import read_samples
    from pipeline.cli.report import render
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Store

    store = Store(settings.data)
    runs = read_runs(store)
    made = report_of(
        [
            sample
            for deals in settings.deals
            if deals.seeds  # a shard may have none of a variant
            for sample in read_samples(store, runs, variants=[deals.variant], numbering=deals.numbering)
        ]
    )
    click.echo(render(made, runs, output_format), nl=False)


# ---- status


@click.command()
@_CONFIG
@options.data_option
@options.variants_option
@click.option(
    "--numbering",
    type=click.Choice(options.NUMBERINGS),
    help="Only deals of this numbering.  [default: all, or that of the configuration; with --seeds native]",
)
@options.seeds_options
@click.option(
    "--nodes",
    type=options.COUNT,
    metavar="N",
    help="Count as missing what is unsettled at a smaller limit, too.  [default: the configuration's limit, that of "
    "the earlier runs, or with --seeds 1000000]",
)
@options.format_option()
@options.verbosity_options
def status(config: Path | None, output_format: str, verbosity: int, **flags: Any) -> None:
    r"""Show what is done, what is missing, and at which limits.

    Missing is what 'winnable run' would settle: from the configuration or the seeds given, else from the plans of
    earlier runs, at their limits.

    \b
    Examples:
      winnable status
      winnable status configs/documented.toml
      winnable status --variant spider-4 --seeds 1:100000
      winnable status --nodes 10M
    """
    from pipeline.cli.dataset import existing
    from pipeline.dataset import lock
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Store
    from pipeline.runs.overview import status_of

    settings, asked = _asked(config, flags)
    some_planned = any(deals.seeds for deals in settings.deals)  # these may be asked about before the first run
    store = Store(settings.data) if some_planned else existing(settings.data)
    runs = read_runs(store)
    plans = _plans(store, runs, settings, asked, options.setting("nodes", flags["nodes"], None))
    rules = {deals.variant.id: deals.variant.rules_hash for deals in settings.deals}
    rows = []
    for partition, plan in plans.items():
        if partition.variant in rules:
            store.check_rules(partition, rules[partition.variant])
        found = status_of(store, partition)
        rows.append(
            {
                "variant": partition.variant,
                "numbering": partition.numbering,
                "seeds": f"{found.first}:{found.last}" if found.deals else "-",
                "done": found.deals,
                "missing": _missing(store, partition, plan),
                "won": found.won,
                "lost": found.lost,
                "unsettled": found.unsettled,
                "unsettled_at": ", ".join(f"{limit} ({count})" for limit, count in found.node_limits) or "-",
                "parts": found.parts,
                "bytes": found.size,
            }
        )
    click.echo(records.table(rows, output_format), nl=False)
    holder = lock.current_holder(store.staging)
    if holder:
        options.message(f"in use by {holder}", verbosity)
    if runs:
        state = "killed" if runs[-1].status == "running" and not holder else runs[-1].status
        options.message(f"last run {runs[-1].id}: {state}", verbosity)


def _asked(config: Path | None, flags: dict[str, Any]) -> tuple[RunSettings, Callable[[Partition], bool]]:
    """Return what a run would be told, and which partitions are asked about: its own, or without seeds a selection."""
    from pipeline.game.variants import MAIN_VARIANTS, load_variant
    from pipeline.runs.settings import load_settings

    named = config or flags["variants"] or os.environ.get("WINNABLE_VARIANTS")
    if not named:  # not every variant has the numbering, and nobody asked for those that have not
        numbering = options.setting("numbering", flags["numbering"], "native")
        flags = flags | {
            "variants": tuple(word for word in MAIN_VARIANTS if numbering in load_variant(word).numberings)
        }
    settings = load_settings(config, _flags(flags), need_seeds=False)
    if config or any(deals.seeds for deals in settings.deals):
        return settings, {_partition(deals) for deals in settings.deals}.__contains__
    ids = {deals.variant.id for deals in settings.deals}
    return (
        settings,
        lambda partition: (not named or partition.variant in ids) and flags["numbering"] in (None, partition.numbering),
    )


def _plans(
    store: Store,
    runs: list[RunRecord],
    settings: RunSettings,
    asked: Callable[[Partition], bool],
    nodes: int | None,
) -> dict[Partition, dict[int, Seeds]]:
    """Return, by partition, the seeds that should be searched, by node limit."""
    from pipeline.dataset.seeds import Seeds

    planned: dict[Partition, dict[int, list[range]]] = {partition: {} for partition in store.partitions()}
    for partition, plan in (entry for run in runs for entry in run.plans):
        planned.setdefault(partition, {}).setdefault(nodes or plan.nodes, []).extend(plan.seeds.ranges)
    found = {
        partition: {limit: Seeds.of(ranges) for limit, ranges in by_limit.items()}
        for partition, by_limit in planned.items()
    }
    found |= {_partition(deals): {deals.nodes: deals.seeds} for deals in settings.deals if deals.seeds}
    return {partition: found[partition] for partition in sorted(found) if asked(partition)}


def _missing(store: Store, partition: Partition, plan: dict[int, Seeds]) -> int:
    """Count the deals of a plan that a run would settle."""
    from pipeline.dataset.seeds import Seeds

    lacking = [store.missing(partition, seeds, limit) for limit, seeds in plan.items()]
    return Seeds.of(piece for seeds in lacking for piece in seeds.ranges).count


def _partition(deals: Deals) -> Partition:
    from pipeline.dataset.store import Partition

    return Partition(deals.variant.id, deals.numbering)
