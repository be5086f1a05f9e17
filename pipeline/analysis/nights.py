"""The page of all nights: the figures of each report under `reports/<date>/`, and the trend of the rates."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pipeline.analysis.figures import trend_figure
from pipeline.analysis.published import percent
from pipeline.analysis.tables import number
from pipeline.analysis.templating import environment
from pipeline.errors import DataError

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Point:
    """One variant's figures in one night's report."""

    date: str
    deals: int
    won: int
    lost: int
    unsettled: int
    proved: float
    upper_bound: float
    low: float
    high: float
    node_limit: int


@dataclass(frozen=True, slots=True)
class Trend:
    """A variant's nights, oldest first, and their figure if there are two or more."""

    label: str
    points: tuple[Point, ...]
    figure: Markup | None


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
    dates = sorted(path.name for path in reports.iterdir() if DATE.fullmatch(path.name)) if reports.is_dir() else []
    nights = {date: _points(reports / date / "report.json", date) for date in dates}
    nights = {date: points for date, points in nights.items() if points}
    labels = list(dict.fromkeys(label for date in reversed(nights) for label in nights[date]))
    trends = [_trend(place, label, nights) for place, label in enumerate(labels)]
    made = environment(percent=percent, number=number)
    return made.get_template("nights.html").render(trends=trends, dates=list(reversed(nights)), nights=nights)


def _points(path: Path, date: str) -> dict[str, Point]:
    """Read a night's report, by variant label; empty if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {_label(entry): _point(entry, date) for entry in content["variants"]}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a valid report: {type(error).__name__}: {error}") from error


def _label(entry: dict[str, Any]) -> str:
    plain = entry["numbering"] == "native"
    return str(entry["variant"]) if plain else f"{entry['variant']} ({entry['numbering']})"


def _point(entry: dict[str, Any], date: str) -> Point:
    low, high = entry["interval"]
    return Point(
        date=date,
        deals=int(entry["deals"]),
        won=int(entry["won"]),
        lost=int(entry["lost"]),
        unsettled=int(entry["unsettled"]),
        proved=float(entry["proved_win_rate"]),
        upper_bound=float(entry["upper_bound"]),
        low=float(low),
        high=float(high),
        node_limit=int(entry["node_limit"]),
    )


def _trend(place: int, label: str, nights: dict[str, dict[str, Point]]) -> Trend:
    points = tuple(night[label] for night in nights.values() if label in night)
    figure = None
    if len(points) > 1:
        figure = Markup(
            trend_figure(
                [point.date for point in points],
                [point.low for point in points],
                [point.proved for point in points],
                [point.high for point in points],
                f"n{place}",
            )
        )
    return Trend(label, points, figure)
