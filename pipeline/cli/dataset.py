"""`verify`, `merge`, `export`, `withdraw`: maintaining the dataset."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options, records
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.dataset.store import Partition, Store

EXPORTS = ("csv", "json", "jsonl")


@click.command()
@options.data_option
@options.variants_option
@options.numbering_filter
@click.option(
    "--sample",
    type=options.COUNT,
    metavar="N",
    help="Replay only N lines of each partition, drawn at random, and read only the parts they are in.",
)
@click.option(
    "--lost",
    type=options.COUNT,
    is_flag=False,
    flag_value="1000000000",
    metavar="[N]",
    help="Prove lost deals again, too, and check their certificates: all, or N of each partition, drawn at random.",
)
@click.option("--repair", is_flag=True, help="Put what is wrong into quarantine/ and keep what can be proved.")
@options.workers_option
@options.format_option()
@options.verbosity_options
def verify(
    data: Path | None,
    variants: tuple[str, ...],
    numbering: str | None,
    sample: int | None,
    lost: int | None,
    repair: bool,
    workers: int | None,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Replay every stored line and check every part.

    Each fault is listed with its file and, if a single row is at fault, the row. With --repair, files and rows at
    fault go to quarantine/ in the data directory; nothing is deleted, and wins in a damaged part that still replay
    are kept. The next run settles what is missing then.

    Exit codes: 0 all is well (or was repaired), 3 a fault, 4 a line that does not replay or a loss not proved again.

    \b
    Examples:
      winnable verify
      winnable verify --sample 1000
      winnable verify --lost 20
      winnable verify --repair
    """
    from pipeline.dataset.audit import refuse_other_rules
    from pipeline.dataset.store import Store
    from pipeline.game.variants import variants_by_id
    from pipeline.runs.settings import is_file_name

    if repair and not sample is lost is None:
        raise click.UsageError("--repair looks at every row and proves no loss; leave out --sample and --lost")
    store = Store.existing(options.data_directory(data))
    chosen = options.chosen_variants(variants)
    rules = variants_by_id(chosen)
    refuse_other_rules(store, options.chosen_variants(tuple(filter(is_file_name, variants))))
    result = _audit(store, rules, variants, numbering, sample, workers, verbosity)
    if lost is not None:
        _check_losses(store, rules, store.choose(chosen, numbering), lost, result, verbosity)
    _show_findings(result.findings, output_format)
    for partition in result.unknown:
        options.message(f"{partition}: lines not replayed, its rules are not known; give --variant FILE", verbosity)
    if repair and result.findings:
        from pipeline.dataset.repair import Repair

        with store.writing("verify --repair"):
            for done in Repair(store, rules).mend(result.findings):
                options.message(done, verbosity)
        result = _audit(store, rules, variants, numbering, None, workers, verbosity)
        _show_findings(result.findings, output_format)
    result.raise_if_faulty()
    parts, rows = counted(result.parts, "part"), counted(result.rows, "row")
    done = f"{counted(result.lines, 'line')} replayed"
    done += f", {counted(result.losses, 'lost deal')} proved again" if lost is not None else ""
    unread = f"; {counted(result.unread, 'line')} not replayed: their rules are not known"
    options.message(f"{parts}, {rows}, {done}: no fault{unread if result.unread else ''}", verbosity)


def _check_losses(
    store: Store, rules: dict[str, Any], partitions: list[Partition], most: int, result: Any, verbosity: int
) -> None:
    from pipeline.cli.progress import counting
    from pipeline.dataset.losses import check_losses, lost_seeds

    known = [part for part in partitions if part.variant in rules]
    losses = [(part, rules[part.variant], lost_seeds(store, part, most)) for part in known]
    with counting(sum(len(seeds) for _, _, seeds in losses), "loss", verbosity) as advance:
        check_losses(store, losses, result, advance)


def _audit(
    store: Store,
    rules: dict[str, Any],
    variants: tuple[str, ...],
    numbering: str | None,
    sample: int | None,
    workers: int | None,
    verbosity: int,
) -> Any:
    from pipeline.cli.progress import counting
    from pipeline.dataset.audit import Audit
    from pipeline.runs.executors import make_processes
    from pipeline.runs.flight import replay_with

    ids = {variant.id for variant in options.chosen_variants(variants)}
    with make_processes(options.worker_count(workers)) as executor:
        audit = Audit(store, rules, replay_with(executor), only=lambda partition: partition.is_of(ids, numbering))
        with counting(audit.count_rows(), "row", verbosity) as advance:
            return audit.check(sample, advance)


def _show_findings(findings: list[Any], output_format: str) -> None:
    rows = [
        {"kind": fault.kind, "file": str(fault.path), "row": fault.row, "seed": fault.seed, "what": fault.text}
        for fault in findings
    ]
    if rows or output_format in ("json", "csv"):
        click.echo(records.table(rows, output_format), nl=False)


@click.command()
@click.argument("source", type=options.Existing(directory=True), metavar="SOURCE")
@options.data_option
@options.variants_option
@options.numbering_filter
@options.verbosity_options
def merge(source: Path, data: Path | None, variants: tuple[str, ...], numbering: str | None, verbosity: int) -> None:
    r"""Merge the outcomes of another dataset.

    SOURCE is the --data directory of the other dataset, which is only read. Of two outcomes of a deal the stronger
    stands, so merging in any order, or twice, gives the same result. Deals that SOURCE had planned count as planned
    here too. Lines are not replayed; 'winnable verify' does that.

    \b
    Example:
      winnable merge /mnt/node7/data
    """
    from pipeline.analysis.plans import planned
    from pipeline.cli.main import goes_on
    from pipeline.dataset import transfer
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Store
    from pipeline.game.variants import variants_by_id

    target, other = Store(options.data_directory(data)), Store.existing(source)
    if target.data.resolve() == other.data.resolve():
        raise click.UsageError(f"{source} is the dataset itself")
    games = options.chosen_variants(variants)
    chosen = other.choose(games, numbering, planned(read_runs(other)))
    merged = 0
    if chosen:
        goes_on()
        with target.writing("merge"):
            for partition, added, replaced in transfer.merge(target, other, chosen, variants_by_id(games)):
                deals = counted(added, "deal")
                options.message(f"{partition}: {deals} added, {replaced:,} replaced", verbosity)
                merged += 1
    if not merged:
        options.message(f"{source}: no outcomes to merge", verbosity)


@click.command()
@options.data_option
@options.variants_option
@options.numbering_filter
@options.seeds_options
@click.option("--columns", type=options.COLUMNS, metavar="A,B,...", help="Columns to write.  [default: all]")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(EXPORTS),
    help="Form of the output; json and jsonl are the same, an object a line.  "
    "[default: what the ending of --out says, else csv]",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to this file instead."
)
@options.verbosity_options
def export(
    data: Path | None,
    variants: tuple[str, ...],
    numbering: str | None,
    seeds: tuple[range, ...],
    seeds_from: Path | None,
    columns: str | None,
    output_format: str | None,
    out: Path | None,
    verbosity: int,
) -> None:
    r"""Write outcomes as CSV or JSON lines.

    Rows come by variant, numbering and seed. 'json' and 'jsonl' are the same: JSON lines, an object a line, no array.

    \b
    Examples:
      winnable export --variant spider-4 > outcomes.csv
      winnable export --format jsonl --columns seed,verdict,line --seeds 1:100
      winnable export --out outcomes.jsonl
    """
    from pipeline.dataset import transfer
    from pipeline.dataset.files import replacing
    from pipeline.dataset.store import Store

    options.check_place("--out", out, replaced=True)
    form = "csv" if options.form_of(output_format, out, EXPORTS) == "csv" else "jsonl"
    store = Store.existing(options.data_directory(data))
    partitions = store.choose(options.chosen_variants(variants), numbering)
    names, chosen = _columns(columns), options.chosen_seeds(seeds, seeds_from)
    with contextlib.nullcontext(sys.stdout) if out is None else replacing(out) as file:
        rows = transfer.export(store, partitions, file, form, names, chosen)
    options.message(counted(rows, "row"), verbosity)


def _columns(text: str | None) -> tuple[str, ...]:
    from pipeline.dataset.schema import COLUMNS
    from pipeline.game.spelling import closest

    if text is None:
        return COLUMNS
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in COLUMNS:
            hint = closest(name, COLUMNS) or f"; there are: {', '.join(COLUMNS)}"
            raise click.UsageError(f"no column {name!r}{hint}")
    return names


# ---- withdraw


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--all", "every", is_flag=True, help="Every run with deals left.")
@options.data_option
@options.verbosity_options
def withdraw(runs: tuple[str, ...], every: bool, data: Path | None, verbosity: int) -> None:
    r"""Give up the deals that a run has left.

    What the run settled stays; what it planned and nobody settled no longer counts in reports. RUN is the run's name,
    as reports and 'winnable run' print it.

    \b
    Examples:
      winnable withdraw 20261130T180144Z-85a6
      winnable withdraw --all
    """
    from pipeline.dataset import withdrawal
    from pipeline.dataset.store import Store

    if bool(runs) == every:
        raise click.UsageError("expected the names of runs, or --all")
    store = Store.existing(options.data_directory(data))
    chosen = runs or withdrawal.unfinished_runs(store)
    if not chosen:
        options.message("no run has deals left", verbosity)
    for run, partitions in withdrawal.withdraw(store, chosen).items():
        left = ", ".join(f"{counted(count, 'deal')} of {partition}" for partition, count in partitions)
        options.message(f"{run}: withdrawn, {left or 'no deals'} left unsettled", verbosity)
