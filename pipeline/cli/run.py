"""`run` and `status`: settling deals, and how far that is."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options, records
from pipeline.game.numbers import counted
from pipeline.runs.values import read_address, read_size

if TYPE_CHECKING:
    from pipeline.runs.chunks import Job
    from pipeline.runs.settings import RunSettings
    from pipeline.runs.summary import RunSummary

_CONFIG = click.argument("config", required=False, type=options.Existing(), metavar="[CONFIG]")


def _executor_options(command: options.Command) -> options.Command:
    for decorate in (
        click.option(
            "--scheduler",
            type=options.Kind("address", read_address),
            metavar="URL",
            help="Dask scheduler, like tcp://host:8786.  [default: a local cluster]",
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
    type=options.Kind("size", read_size),
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
@click.option("--dry-run", is_flag=True, help="Show what would be done and about how long it takes; do nothing.")
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
    from pipeline.cli.progress import RunBar
    from pipeline.runs.configuration import load_settings
    from pipeline.runs.logs import show_on_terminal
    from pipeline.runs.run import run as settle

    settings = load_settings(config, _flags(flags))
    show_on_terminal(verbosity)
    if dry_run:
        _show_plan(settings, output_format, verbosity)
        return
    goes_on()
    summary = settle(settings, progress=RunBar(verbosity), echo=partial(options.message, verbosity=verbosity))
    if settings.report and summary.stopped is None and any(deals.seeds for deals in settings.deals):
        _print_report(settings, output_format)
    else:
        click.echo(records.table(_run_records(summary), output_format), nl=False)
    _end(summary, verbosity)


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    from pipeline.dataset.seeds import Seeds

    flags = dict(given)
    flags["seeds"] = Seeds.of(flags["seeds"]) if flags["seeds"] else None
    return flags


def _end(summary: RunSummary, verbosity: int) -> None:
    """End the command with the exit code of the run."""
    from pipeline.runs.stopping import MAX_TIME

    if summary.stopped and summary.left:
        left = counted(summary.left, "deal")
        why = "time is up: " if summary.stopped == MAX_TIME else ""
        remedy = f"the same command goes on from here, 'winnable withdraw {summary.run_id}' gives them up"
        options.message(f"{why}{left} left; {remedy}", verbosity)
    summary.raise_if_unfinished()


def _run_records(summary: RunSummary) -> list[dict[str, Any]]:
    counts = ("present", "settled", "won", "lost", "unsettled", "failed", "left")
    return [_job_record(job) | {name: getattr(job.counts, name) for name in counts} for job in summary.jobs]


def _job_record(job: Job) -> dict[str, Any]:
    deals = job.deals
    place = {"variant": deals.variant.id, "numbering": deals.numbering, "node_limit": deals.node_limit}
    return place | {"deals": job.counts.planned}


def _show_plan(settings: RunSettings, output_format: str, verbosity: int) -> None:
    from pipeline.dataset.store import Store
    from pipeline.runs.overview import estimate_seconds
    from pipeline.runs.run import plan_jobs
    from pipeline.version import solver_id

    store = Store(settings.data)
    rows = []
    for job in plan_jobs(settings, store, solver_id()):
        seconds = estimate_seconds(store, [job], settings.workers)
        estimated = None if seconds is None else round(seconds, 1)
        missing = {"present": job.counts.present, "to_settle": job.missing.count}
        rows.append(_job_record(job) | missing | {"estimated_seconds": estimated})
    click.echo(records.table(rows, output_format), nl=False)
    unknown = [row["variant"] for row in rows if row["estimated_seconds"] is None and row["to_settle"]]
    if unknown:
        some = "the same command with --seeds 1:100 and without --dry-run settles a few"
        options.message(f"no estimate yet: {store.data} has no rows of {', '.join(unknown)}; {some}", verbosity)


def _print_report(settings: RunSettings, output_format: str) -> None:
    """Print the report of what was asked for: each variant in its own numbering."""
    from pipeline.analysis.report import report_of
    from pipeline.analysis.samples import read_samples
    from pipeline.cli.report import render
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Store

    store = Store(settings.data)
    runs = read_runs(store)
    report = report_of(
        [
            sample
            for deals in settings.deals
            if deals.seeds  # a shard may have none of a variant
            for sample in read_samples(store, runs, variants=[deals.variant], numbering=deals.numbering)
        ]
    )
    click.echo(render(report, runs, output_format), nl=False)


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
    from pipeline.dataset import lock
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Store
    from pipeline.runs.configuration import load_settings
    from pipeline.runs.overview import status_of

    settings = load_settings(config, _flags(flags), need_seeds=False)
    some_planned = any(deals.seeds for deals in settings.deals)  # these may be asked about before the first run
    store = Store(settings.data) if some_planned else Store.existing(settings.data)
    runs = read_runs(store)
    node_limit = options.setting("nodes", flags["nodes"], None)
    rows = [
        {
            **status.partition._asdict(),
            "seeds": "{}:{}".format(*status.seeds) if status.seeds else "-",
            "done": status.verdicts.total(),
            "missing": status.missing,
            **{word: status.verdicts[word] for word in ("won", "lost", "unsettled")},
            "unsettled_at": ", ".join(f"{at} ({count})" for at, count in sorted(status.node_limits.items())) or "-",
            "parts": status.parts,
            "bytes": status.size,
        }
        for status in status_of(store, runs, settings, flags["numbering"], node_limit)
    ]
    click.echo(records.table(rows, output_format), nl=False)
    holder = lock.current_holder(store.staging)
    if holder:
        options.message(f"in use by {holder}", verbosity)
    if runs:
        state = "killed" if runs[-1].status == "running" and not holder else runs[-1].status
        options.message(f"last run {runs[-1].id}: {state}", verbosity)
