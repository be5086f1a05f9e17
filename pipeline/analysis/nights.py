"""The page of all nights: the figures of each report under `reports/<date>/`, and the trend of the rates."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pipeline.analysis.figures import trend_figure
from pipeline.analysis.published import percent
from pipeline.analysis.report import GENERATOR
from pipeline.analysis.statistics import WinRate, win_rate
from pipeline.analysis.tables import interval_text, number, title
from pipeline.analysis.templating import environment
from pipeline.dataset.files import read_json
from pipeline.errors import DataError
from pipeline.game.variants import load_variant, variant_ids

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Point:
    """One variant's figures in one night's report."""

    date: str
    rate: WinRate
    node_limit: int


@dataclass(frozen=True, slots=True)
class NightHead:
    """What the page of one night says of that night.

    Attributes
    ----------
    summary
        The night's `summary.json`.
    previous
        Date of the last night before it that has a report, if there is one.
    new, retried
        Over all variants the deals settled for the first time, and those searched again at a larger limit: `deals`
        planned, `won`, `lost`, `unsettled`, and `missing` without an outcome.
    """

    summary: dict[str, Any]
    previous: str | None
    new: Counter[str]
    retried: Counter[str]


def night_head(summary: dict[str, Any], reports: Path) -> NightHead:
    """Return the head of a night's page from its `summary.json`.

    Parameters
    ----------
    reports
        The directory of all nights, for the link to the night before.
    """
    earlier = [date for date in _dates(reports) if date < summary["date"]]
    new, retried = Counter[str](), Counter[str]()
    for entry in summary["variants"]:
        new.update(entry["new"])
        retried.update(entry["retried"])
    return NightHead(summary, earlier[-1] if earlier else None, new, retried)


def next_pages(reports: Path) -> dict[Path, str]:
    """Return the pages `next.html` of the last two nights, so that a night's report links onwards and never changes.

    The newest night links to the page of all nights; the night before links to the newest.
    """
    dates = _dates(reports)[-2:]
    goals = [f"../{date}/report.html" for date in dates[1:]] + ["../index.html"]
    template = environment().get_template("next.html")
    pairs = zip(dates, goals[: len(dates)], strict=True)  # no night, no page
    return {reports / date / "next.html": template.render(goal=goal) for date, goal in pairs}


def _dates(reports: Path) -> list[str]:
    if not reports.is_dir():
        return []
    return sorted(p.name for p in reports.iterdir() if DATE.fullmatch(p.name) and (p / "report.json").exists())


@dataclass(frozen=True, slots=True)
class Trend:
    """A variant's nights, oldest first, and their figure if there are two or more."""

    label: str
    points: tuple[Point, ...]
    figure: Markup | None

    @property
    def change(self) -> str:
        """Say what moved since the night before: a backlog of unsettled deals, or deals proved lost."""
        if len(self.points) < 2:
            return ""
        before, now = (point.rate for point in self.points[-2:])
        moved = f"Proved {percent(before.proved, now.digits)}, now {percent(now.proved, now.digits)}"
        if now.proved >= before.proved:
            return f"{moved}."
        more = now.unsettled - before.unsettled
        if now.upper_bound >= before.upper_bound:
            return f"{moved}: a backlog of {more:,} more unsettled deals, not losses; the upper bound did not fall."
        if more > 0:
            return f"{moved}: {more:,} more unsettled deals, and {now.lost - before.lost:,} more proved lost."
        return f"{moved}: {now.lost - before.lost:,} more deals are proved lost."


def nights_page(reports: Path) -> str:
    """Return the HTML page of all nights in a directory of reports.

    Parameters
    ----------
    reports
        The directory; a night is a directory `<date>/` in it with a `report.json`.

    Raises
    ------
    DataError
        A report cannot be read; names the file.
    """
    nights = {date: _points(reports / date / "report.json", date) for date in _dates(reports)}
    nights = {date: points for date, points in nights.items() if points}
    labels = list(dict.fromkeys(label for date in reversed(nights) for label in nights[date]))
    trends = [_trend(place, label, nights) for place, label in enumerate(labels)]
    pages = environment(percent=percent, number=number, interval=interval_text)
    return pages.get_template("nights.html").render(
        trends=trends, dates=list(reversed(nights)), nights=nights, generator=GENERATOR
    )


def _points(path: Path, date: str) -> dict[str, Point]:
    """Read a night's report, by variant label."""

    def parse(content: dict[str, Any]) -> dict[str, Point]:
        points = {}
        for entry in content["variants"]:
            name = str(entry["variant"])
            label = title(load_variant(name).name if name in variant_ids() else name, str(entry["numbering"]))
            deals, won, lost, node_limit = (int(entry[key]) for key in ("deals", "won", "lost", "node_limit"))
            points[label] = Point(date, win_rate(deals, won, lost), node_limit)
        return points

    return read_json(path, "report", parse, error=DataError)


def _trend(place: int, label: str, nights: dict[str, dict[str, Point]]) -> Trend:
    points = tuple(night[label] for night in nights.values() if label in night)
    figure = None
    if len(points) > 1:
        dates, rates = zip(*((point.date, point.rate) for point in points), strict=True)
        figure = Markup(trend_figure(dates, rates, f"n{place}"))
    return Trend(label, points, figure)
