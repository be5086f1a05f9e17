"""The report as one HTML page: no network, no script, light and dark, for phone, screen and print."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup

from pipeline.analysis.figures import curve_figure, moves_figure, overview_figure
from pipeline.analysis.nights import NightHead
from pipeline.analysis.published import percent
from pipeline.analysis.report import GENERATOR, Report
from pipeline.analysis.samples import HardDeal, Sample
from pipeline.analysis.tables import (
    duration_text,
    interval_text,
    limit_text,
    losses_text,
    number,
    remedy_text,
    searched_text,
    status_text,
    title,
)
from pipeline.analysis.templating import environment
from pipeline.dataset.manifest import RunRecord
from pipeline.game.variants import Variant, load_variant, variant_ids

RUNS = 20  # runs that a page lists


def report_page(report: Report, runs: Iterable[RunRecord] = (), night: NightHead | None = None) -> str:
    """Return the page; the same report gives the same bytes.

    Parameters
    ----------
    runs
        The runs that settled the deals, for the provenance; the page lists the newest.
    night
        The night the report is of.
    """
    entries = [
        {
            "key": f"v{place}",
            "report": entry,
            "curve": Markup(curve_figure(entry.sample, f"v{place}-curve")),
            "moves": Markup(moves_figure(entry.sample, f"v{place}-moves")) if entry.rate.won else None,
        }
        for place, entry in enumerate(report.variants)
    ]
    settled = {entry.sample.variant.id for entry in report.variants}
    labels = [entry.label for entry in report.variants]
    samples = [entry.sample for entry in report.variants]
    lines = _run_lines(report, runs)
    pages = environment(
        percent=percent,
        number=number,
        limit=limit_text,
        interval=interval_text,
        published=_published,
        title=lambda sample: title(sample.variant.name, sample.numbering),
        status=status_text,
        duration=duration_text,
        searched=searched_text,
        losses=losses_text,
        command=command_for,
    )
    return pages.get_template("report.html").render(
        entries=entries,
        games=len(settled),
        others=[] if night else [load_variant(name) for name in variant_ids() if name not in settled],
        overview=Markup(overview_figure(samples, labels, "overview")) if len(samples) > 1 else None,
        runs=lines[-RUNS:][::-1],
        earlier_runs=len(lines[:-RUNS]),
        night=night,
        report=report,
        remedy=remedy_text(report),
        generator=GENERATOR,
        deals=sum(entry.rate.deals for entry in report.variants),
        won=sum(entry.rate.won for entry in report.variants),
    )


def command_for(deal: HardDeal, sample: Sample) -> str:
    """Return the command that shows a deal: replays a won one, settles another again."""
    words = ["winnable", "replay" if deal.verdict == "won" else "solve", "--variant", sample.variant.id]
    words += ["--seed", str(deal.seed)]
    if sample.numbering != "native":
        words += ["--numbering", sample.numbering]
    return shlex.join([*words, "--nodes", str(deal.node_limit)])


def _run_lines(report: Report, runs: Iterable[RunRecord]) -> list[tuple[RunRecord, int]]:
    """Return the runs whose rows the report counts, each with their number."""
    rows = Counter[str]()
    for entry in report.variants:
        rows.update(dict(entry.sample.runs))
    return [(run, rows[run.id]) for run in runs if rows[run.id]]


def _published(variant: Variant) -> str:
    texts = []
    for figure in variant.documented:
        if figure.proved is not None:
            sample = f" of {figure.deals:,}" if figure.deals else ""
            limit = f" at {limit_text(figure.node_limit)}" if figure.node_limit else ""
            texts.append(f"{percent(figure.proved)}{sample}{limit}")
    return "; ".join(texts) or "none"
