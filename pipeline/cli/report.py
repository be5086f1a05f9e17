"""`report` and `compare`: what the outcomes say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options, records
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.analysis.report import Report
    from pipeline.analysis.sides import Side
    from pipeline.dataset.manifest import RunRecord
    from pipeline.game.variants import Variant

FORMATS = ("table", "markdown", "csv", "json", "html")
# The variables that hold for a comparison: what a run is to do, and how long, says nothing about the two sides.
WHERE_TO_SETTLE = tuple(f"WINNABLE_{name}" for name in ("WORKERS", "EXECUTOR", "SCHEDULER"))
FILES = {"html": "report.html", "markdown": "report.md", "csv": "report.csv", "json": "report.json"}


@click.command()
@options.data_option
@options.variants_option
@options.numbering_filter
@options.seeds_options
@click.option(
    "--within",
    type=options.COUNT,
    multiple=True,
    metavar="N",
    help="Also count the deals won within N positions, like 500k; repeatable.",
)
@click.option("--format", "output_format", type=click.Choice(FORMATS), help="Form of the output.  [default: table]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the report into this directory: in the form of --format, or in all forms but the table.",
)
@click.option(
    "--exceptions",
    type=options.COUNT,
    metavar="N",
    help="Also write exceptions.csv into --out: every searched deal not won, and the N hardest wins of each variant.",
)
@options.verbosity_options
def report(
    data: Path | None,
    variants: tuple[str, ...],
    numbering: str | None,
    seeds: tuple[range, ...],
    seeds_from: Path | None,
    within: tuple[int, ...],
    output_format: str | None,
    out: Path | None,
    exceptions: int | None,
    verbosity: int,
) -> None:
    r"""Report win rates with their bounds.

    For each variant in the dataset: deals won, lost and unsettled; the proved-win rate with its upper bound and 95%
    interval; the positions needed; and published figures at the same limit. Deals that a run planned (or, with --seeds,
    all deals of that range) and that have no outcome count as unsettled; the report names the runs, gives the rate
    without these deals, and says how to settle or withdraw them.

    \b
    Examples:
      winnable report
      winnable report --variant spider-1 --seeds 1:513 --format markdown
      winnable report --within 500k
      winnable report --out reports/today --exceptions 100
    """
    from pipeline.analysis.report import report_of
    from pipeline.analysis.samples import read_samples
    from pipeline.dataset.files import make_directory, replacing
    from pipeline.dataset.manifest import read_runs
    from pipeline.dataset.store import Partition, Store

    if exceptions is not None and out is None:
        raise UsageError("--exceptions needs --out DIR: it writes exceptions.csv there")
    store = Store(options.data_directory(data))
    if out is not None and out.resolve().is_relative_to(store.outcomes.resolve()):
        raise UsageError(f"--out {out}: only the dataset's parts belong there; expected another directory")
    runs = read_runs(store)
    games, chosen = options.chosen_variants(variants), options.chosen_seeds(seeds, seeds_from)
    samples = read_samples(store, runs, variants=games, numbering=numbering, seeds=chosen)
    result = report_of(samples, within)
    if out is None:
        click.echo(render(result, runs, output_format or "table"), nl=False)
        return
    make_directory(out)
    for name in FILES if output_format is None else [output_format]:
        path = out / FILES.get(name, "report.txt")
        with replacing(path) as file:
            file.write(render(result, runs, name))
        options.message(f"wrote {path}", verbosity)
    if exceptions is not None:
        from pipeline.analysis.exceptions import write_exceptions

        partitions = [Partition(sample.variant.id, sample.numbering) for sample in samples]
        write_exceptions(store, partitions, exceptions, out / "exceptions.csv", chosen)
        options.message(f"wrote {out / 'exceptions.csv'}", verbosity)
    if output_format is None:
        click.echo(render(result, runs, "table"), nl=False)


def render(result: Report, runs: list[RunRecord], form: str) -> str:
    """Return a report in one of `FORMATS`; the page also lists the runs."""
    from pipeline.analysis import tables
    from pipeline.analysis.report import report_json

    if form == "html":
        from pipeline.analysis.page import report_page

        return report_page(result, runs)
    if form == "json":
        return records.to_json(report_json(result))
    forms = {"table": tables.text_report, "markdown": tables.markdown_report, "csv": tables.csv_report}
    return forms[form](result)


@click.command()
@click.argument("a")
@click.argument("b")
@options.data_option
@options.variants_option
@click.option(
    "--numbering",
    type=click.Choice(options.NUMBERINGS),
    help="Only deals of this numbering.  [default: all of two datasets, native of deals settled here]",
)
@options.seeds_options
@click.option(
    "--nodes",
    type=options.COUNT,
    metavar="N",
    help="Node limit. Datasets must have been searched to it and are compared as at this limit.  [default: 1000000; "
    "two datasets are compared as they are]",
)
@options.workers_option
@options.format_option()
@options.verbosity_options
def compare(a: str, b: str, nodes: int | None, output_format: str, verbosity: int, **flags: Any) -> None:
    r"""Compare solvers, datasets or variants on the same seeds.

    A and B are two variants, whose outcomes in the dataset --data are paired by number; or each is the directory of a
    dataset, a weights file (x.toml), or "shipped" for the weights of this version. Datasets may come from different
    versions, settings or machines. With weights, the deals of --variant and --seeds are settled for the comparison and
    not stored.

    On the deals both have, it shows which side settles more (of two variants, which is won more), with the discordant
    deals and McNemar's exact test, and the positions of B over those of A with a 95% interval, and says in words what
    follows. Of one variant, a deal that is won in one and lost in the other is a solver fault (exit 4).

    \b
    Examples:
      winnable compare spider-relaxed spider-4
      winnable compare data-0.1 data-0.2 --variant spider-4
      winnable compare shipped tuned.toml --variant spider-4 --seeds 5000001:5001000 --nodes 100k
    """
    from pipeline.analysis import compare as comparing
    from pipeline.errors import DataError, SolverFault

    data = options.data_directory(flags.pop("data"))
    two = _two_variants(a, b)
    if two:
        sides = [_sides_of(variant, data, flags) for variant in two]
    else:
        sides = [_side(text, flags, nodes, verbosity) for text in (a, b)]
    try:
        comparisons = [
            comparing.compare(side, sides[1][label], f"{a} and {b}/{label}" if two else label, nodes=nodes)
            for label, side in sides[0].items()
            if label in sides[1]
        ]
    except ValueError as error:
        raise DataError(f"{a} and {b}: {error}") from error
    if not comparisons:
        raise DataError(f"{a} and {b} have no variant in common")
    click.echo(comparing.render(comparisons, a, b, output_format), nl=False)
    clash = [f"{comparison.label} {seed}" for comparison in comparisons for seed in comparison.contradictions]
    if clash:
        raise SolverFault(f"won in one and lost in the other: {', '.join(clash[:5])}")


def _two_variants(a: str, b: str) -> tuple[Variant, ...]:
    """Return the variants that A and B name; none if neither does.

    Raises
    ------
    UsageError
        Only one names a variant, or their deals are of different numbers of cards.
    """
    from pipeline.game.variants import load_variant, variant_ids

    named = [text for text in (a, b) if text in variant_ids() and not Path(text).is_dir()]
    if not named:
        return ()
    if len(named) == 1:
        raise UsageError(f"{named[0]!r} is a variant: expected another one as the other side")
    two = tuple(map(load_variant, named))
    if two[0].cards != two[1].cards:
        raise UsageError(f"{a} has {two[0].cards} cards and {b} {two[1].cards}: their numbers are not the same deals")
    return two


def _sides_of(variant: Variant, data: Path, flags: dict[str, Any]) -> dict[str, Side]:
    """Read a variant's outcomes; sides by numbering."""
    from pipeline.analysis.sides import read_sides
    from pipeline.dataset.store import Store

    wanted = options.chosen_seeds(flags["seeds"], flags["seeds_from"])
    sides = read_sides(Store(data), variants=[variant], numbering=flags["numbering"], seeds=wanted)
    return {side.numbering: side for side in sides}


def _side(text: str, flags: dict[str, Any], nodes: int | None, verbosity: int) -> dict[str, Side]:
    """Read a dataset, or settle with weights; sides by label of variant and numbering."""
    from pipeline.analysis.sides import read_sides
    from pipeline.dataset.store import Store

    chosen = options.chosen_variants(flags["variants"])
    wanted = options.chosen_seeds(flags["seeds"], flags["seeds_from"])
    path = Path(text)
    if path.is_dir():
        sides = read_sides(Store(path), variants=chosen, numbering=flags["numbering"], seeds=wanted)
    elif text == "shipped" or path.is_file():
        sides = _settle(None if text == "shipped" else path, {**flags, "nodes": nodes, "seeds": wanted}, verbosity)
    else:
        near = options.nearest(path) or ": expected the directory of a dataset, a weights file or 'shipped'"
        raise UsageError(f"{text!r} is not a valid side{near}")
    return {f"{side.variant.id}/{side.numbering}": side for side in sides}


def _settle(weights: Path | None, flags: dict[str, Any], verbosity: int) -> list[Side]:
    from tempfile import TemporaryDirectory

    from pipeline.analysis.sides import read_sides
    from pipeline.cli.progress import RunBar
    from pipeline.dataset.store import Store
    from pipeline.runs.configuration import load_settings
    from pipeline.tuning.trial import run_trial

    if not flags["variants"] or not flags["seeds"]:
        raise UsageError("--variant and --seeds are missing: weights are compared on deals settled now")
    with TemporaryDirectory(prefix="winnable-") as scratch:
        environment = {name: os.environ[name] for name in WHERE_TO_SETTLE if name in os.environ}
        settings = load_settings(None, {**flags, "seeds_from": None, "data": Path(scratch)}, environment)
        summary = run_trial(settings, weights, RunBar(verbosity))
        summary.raise_if_unfinished()
        return read_sides(Store(scratch), variants=[deals.variant for deals in settings.deals])
