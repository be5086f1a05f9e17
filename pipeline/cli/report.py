"""`report` and `compare`: what the outcomes say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli import options

if TYPE_CHECKING:
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
    from pipeline.analysis.report import report_of
    from pipeline.analysis.samples import read_samples
    from pipeline.batch.store import Store

    samples = read_samples(
        Store(options.data_directory(data)),
        variants=options.chosen_variants(variants),
        numbering=numbering,
        seeds=options.chosen_seeds(seeds, seeds_from),
    )
    made = report_of(samples)
    if out is None:
        click.echo(_render(made, output_format or "table"), nl=False)
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES if output_format is None else [output_format]:
        path = out / FILES.get(name, "report.txt")
        path.write_text(_render(made, name), encoding="utf-8")
        options.message(f"wrote {path}", verbosity)
    if output_format is None:
        click.echo(_render(made, "table"), nl=False)


def _render(made: Report, form: str) -> str:
    from pipeline.analysis import tables
    from pipeline.analysis.report import report_json

    if form == "html":
        from pipeline.analysis.page import report_page

        return report_page(made)
    if form == "json":
        return json.dumps(report_json(made), indent=2) + "\n"
    forms = {"table": tables.text_report, "markdown": tables.markdown_report, "csv": tables.csv_report}
    return forms[form](made)
