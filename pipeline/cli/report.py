"""`report` and `compare`: what the outcomes say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli import options

if TYPE_CHECKING:
    from pipeline.analysis.plans import RunRecord
    from pipeline.analysis.report import Report

FORMATS = ("table", "markdown", "csv", "json", "html")
FILES = {"html": "report.html", "markdown": "report.md", "csv": "report.csv", "json": "report.json"}


@click.command()
@options.data_option
@options.variants_option
@options.numbering_option
@options.seeds_options
@click.option("--format", "output_format", type=click.Choice(FORMATS), help="Form of the output.  [default: table]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the report into this directory: in the form of --format, or in all of them but the table.",
)
@options.verbosity_options
def report(
    data: Path | None,
    variants: tuple[str, ...],
    numbering: str | None,
    seeds: tuple[range, ...],
    seeds_from: Path | None,
    output_format: str | None,
    out: Path | None,
    verbosity: int,
) -> None:
    r"""Report win rates with their bounds.

    Of each variant in the dataset: deals won, lost and unsettled, the proved-win rate with its upper bound and 95%
    interval, how many positions it took, and what others published at the same limit. Deals that a run planned and
    that have no outcome, and with --seeds all deals of that range, count as unsettled.

    \b
    Examples:
      winnable report
      winnable report --variant spider-1 --seeds 1:513 --format markdown
      winnable report --out reports/today
    """
    from pipeline.analysis.plans import read_runs
    from pipeline.analysis.report import report_of
    from pipeline.analysis.samples import read_samples
    from pipeline.batch.store import Store

    store = Store(options.data_directory(data))
    runs = read_runs(store)
    samples = read_samples(
        store,
        runs,
        variants=options.chosen_variants(variants),
        numbering=numbering,
        seeds=options.chosen_seeds(seeds, seeds_from),
    )
    made = report_of(samples)
    if out is None:
        click.echo(_render(made, runs, output_format or "table"), nl=False)
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES if output_format is None else [output_format]:
        path = out / FILES.get(name, "report.txt")
        path.write_text(_render(made, runs, name), encoding="utf-8")
        options.message(f"wrote {path}", verbosity)
    if output_format is None:
        click.echo(_render(made, runs, "table"), nl=False)


def _render(made: Report, runs: list[RunRecord], form: str) -> str:
    from pipeline.analysis import tables
    from pipeline.analysis.report import report_json

    if form == "html":
        from pipeline.analysis.page import report_page

        return report_page(made, runs)
    if form == "json":
        return json.dumps(report_json(made), indent=2) + "\n"
    forms = {"table": tables.text_report, "markdown": tables.markdown_report, "csv": tables.csv_report}
    return forms[form](made)


@click.command()
@click.argument("a", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("b", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.variants_option
@options.numbering_option
@options.seeds_options
@click.option(
    "--nodes",
    type=options.COUNT,
    metavar="N",
    help="Compare as at this node limit, which both must have been searched to.  [default: the rows as they are]",
)
@options.format_option()
def compare(
    a: Path,
    b: Path,
    variants: tuple[str, ...],
    numbering: str | None,
    seeds: tuple[range, ...],
    seeds_from: Path | None,
    nodes: int | None,
    output_format: str,
) -> None:
    r"""Compare two solvers, limits or datasets on the same seeds.

    A and B are the directories (--data) of two datasets: of two versions, two settings, two machines. On the deals
    both have it shows who settles more, with the discordant deals and McNemar's exact test, and how many positions B
    needs for each of A's, with a 95% interval; and says in words whether the sample is large enough to tell.

    \b
    Example:
      winnable run --variant spider-4 --seeds 1:2000 --data before
      (change something)
      winnable run --variant spider-4 --seeds 1:2000 --data after
      winnable compare before after
    """
    from pipeline.analysis import compare as comparing
    from pipeline.analysis.samples import read_samples
    from pipeline.batch.store import Store
    from pipeline.errors import DataError, SolverFault

    chosen, wanted = options.chosen_variants(variants), options.chosen_seeds(seeds, seeds_from)
    samples = [
        {
            f"{sample.variant.id}/{sample.numbering}": sample
            for sample in read_samples(Store(side), variants=chosen, numbering=numbering, seeds=wanted)
        }
        for side in (a, b)
    ]
    try:
        found = [
            comparing.compare(samples[0][label], samples[1][label], label, nodes=nodes)
            for label in samples[0]
            if label in samples[1]
        ]
    except ValueError as error:
        raise DataError(f"{a} and {b}: {error}") from error
    if not found:
        raise DataError(f"{a} and {b} have no variant in common")
    click.echo(comparing.render(found, str(a), str(b), output_format), nl=False)
    clash = [f"{one.label} {seed}" for one in found for seed in one.contradictions]
    if clash:
        raise SolverFault(f"won in one and lost in the other: {', '.join(clash[:5])}")
