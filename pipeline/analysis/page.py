"""The report as one HTML page: no network, no script, light and dark, for phone, screen and print."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from pipeline.analysis.figures import curve_figure, moves_figure, overview_figure
from pipeline.analysis.nights import NightHead
from pipeline.analysis.published import percent
from pipeline.analysis.report import GENERATOR, Report, VariantReport
from pipeline.analysis.samples import Sample
from pipeline.analysis.tables import (
    duration_text,
    interval_text,
    limit_text,
    number,
    remedy_text,
    searched_text,
    status_text,
    title,
)
from pipeline.analysis.templating import environment
from pipeline.dataset.manifest import RunRecord
from pipeline.game.variants import Documented, Variant, load_variant, variant_ids

HARDEST = 10
RUNS = 20  # runs that a page lists


@dataclass(frozen=True, slots=True)
class HardDeal:
    """A deal that took many positions or is unsettled, and the command that shows it."""

    seed: int
    verdict: str
    positions: int
    moves: int | None
    command: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A variant's part of the page."""

    key: str
    report: VariantReport
    curve: Markup
    moves: Markup | None
    hardest: tuple[HardDeal, ...]


def report_page(report: Report, runs: Iterable[RunRecord] = (), night: NightHead | None = None) -> str:
    """Return the page; the same report gives the same bytes.

    Parameters
    ----------
    runs
        The runs that settled the deals, for the provenance; the page lists the newest.
    night
        The night the report is of.
    """
    entries = [_entry(place, entry) for place, entry in enumerate(report.variants)]
    settled = {entry.sample.variant.id for entry in report.variants}
    labels = [entry.label for entry in report.variants]
    samples = [entry.sample for entry in report.variants]
    lines = _run_lines(report, runs)
    made = environment(
        percent=percent,
        number=number,
        limit=limit_text,
        interval=interval_text,
        published=_published,
        title=lambda sample: title(sample.variant.name, sample.numbering),
        status=status_text,
        duration=duration_text,
        searched=searched_text,
    )
    return made.get_template("report.html").render(
        entries=entries,
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


def hardest_deals(sample: Sample, count: int = HARDEST) -> tuple[HardDeal, ...]:
    """Return the hardest deals: unsettled ones first, then by positions, ties by seed."""
    order = np.lexsort((sample.seeds, -sample.positions, ~sample.unsettled))[:count]
    return tuple(_hard_deal(sample, int(place)) for place in order)


def _hard_deal(sample: Sample, place: int) -> HardDeal:
    won = bool(sample.won[place])
    words = [
        "winnable",
        "replay" if won else "solve",
        "--variant",
        sample.variant.id,
        "--seed",
        str(sample.seeds[place]),
    ]
    if sample.numbering != "native":
        words += ["--numbering", sample.numbering]
    words += ["--nodes", str(sample.node_limits[place])]
    return HardDeal(
        seed=int(sample.seeds[place]),
        verdict="won" if won else "lost" if sample.lost[place] else "unsettled",
        positions=int(sample.positions[place]),
        moves=int(sample.moves[place]) if won else None,
        command=shlex.join(words),
    )


def _run_lines(report: Report, runs: Iterable[RunRecord]) -> list[tuple[RunRecord, int]]:
    """Return the runs whose rows the report counts, each with their number."""
    rows = Counter[str]()
    for entry in report.variants:
        rows.update(dict(entry.sample.runs))
    return [(run, rows[run.id]) for run in runs if rows[run.id]]


def _published(variant: Variant) -> str:
    figures = [d for d in variant.documented if d.proved is not None]
    return "; ".join(_published_text(figure) for figure in figures) or "none"


def _published_text(figure: Documented) -> str:
    assert figure.proved is not None
    sample = f" of {figure.deals:,}" if figure.deals else ""
    limit = f" at {limit_text(figure.node_limit)}" if figure.node_limit else ""
    return f"{percent(figure.proved)}{sample}{limit}"


def _entry(place: int, entry: VariantReport) -> Entry:
    key = f"v{place}"
    return Entry(
        key=key,
        report=entry,
        curve=Markup(curve_figure(entry.sample, f"{key}-curve")),
        moves=Markup(moves_figure(entry.sample, f"{key}-moves")) if entry.rate.won else None,
        hardest=hardest_deals(entry.sample),
    )
