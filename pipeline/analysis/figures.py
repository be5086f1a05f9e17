"""Figures as SVG text for a page. The same data give the same bytes; colours follow the page's light or dark theme.

Colours are drawn as placeholders and become CSS variables of the page. Ids get a prefix, so that one page can hold
several figures.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from pipeline.analysis.samples import Sample
from pipeline.analysis.statistics import Counts, Curve, WinRate, won_within_curve
from pipeline.analysis.tables import limit_text

INK, FAINT, WON, BAND, OPEN, MARK = "#010101", "#010102", "#010103", "#010104", "#010105", "#010106"
SERIES = tuple(f"#0102{number:02x}" for number in range(10))
_VARIABLES = {INK: "ink", FAINT: "faint", WON: "won", BAND: "band", OPEN: "open", MARK: "mark"} | {
    colour: f"series-{number}" for number, colour in enumerate(SERIES)
}
_DASHES = ("-", "--", "-.", ":")
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "winnable",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "path.simplify": True,
}


def curve_figure(sample: Sample, prefix: str) -> str:
    """Draw the share of deals won within n positions, its band, the share left open, and published figures."""
    grid = _grid([sample])
    curve = _curve(sample, grid)
    with _styled(), _axes() as (figure, axes):
        axes.fill_between(grid, curve.low, curve.high, color=BAND, linewidth=0, label="95% interval")
        if curve.open.any():
            axes.fill_between(grid, 1 - curve.open, 1, color=OPEN, linewidth=0, label="unsettled")
        axes.plot(grid, curve.share, color=WON, drawstyle="steps-post", linewidth=1.8, label="won")
        marks = [d for d in sample.variant.documented if d.node_limit and d.proved is not None]
        points = [(d.node_limit, d.proved) for d in marks if d.node_limit and d.node_limit <= grid[-1]]
        if points:
            axes.plot(*zip(*points, strict=True), "D", color=MARK, markersize=6, clip_on=False, label="published")
        _position_axis(axes, grid)
        axes.set_ylabel("deals")
        axes.legend(loc="lower right" if curve.share[-1] > 0.5 else "upper left")
        return _svg(figure, prefix)


def overview_figure(samples: Sequence[Sample], labels: Sequence[str], prefix: str) -> str:
    """Draw the curves of several samples in one figure."""
    grid = _grid(samples)
    rows = (len(samples) + 1) // 2
    with _styled(), _axes(height=3.6 + rows * 0.2, below=0.6 + rows * 0.2) as (figure, axes):
        for place, (sample, label) in enumerate(zip(samples, labels, strict=True)):
            curve = _curve(sample, grid[grid <= sample.node_limit] if sample.open else grid)
            axes.plot(
                curve.positions,
                curve.share,
                color=SERIES[place % len(SERIES)],
                linestyle=_DASHES[place // len(SERIES) % len(_DASHES)],
                linewidth=1.6,
                label=label,
            )
        _position_axis(axes, grid)
        axes.set_ylabel("deals won")
        figure.legend(loc="lower center", ncols=2, fontsize=9)
        return _svg(figure, prefix)


def moves_figure(sample: Sample, prefix: str) -> str:
    """Draw the histogram of the moves of won lines; needs at least one."""
    moves, summary = sample.moves, sample.moves.quantiles()
    assert summary is not None
    low, high = map(int, moves.values[[0, -1]])
    width = max(1, round((high - low) / 30))
    edges = np.arange(low, high + width + 1, width) - 0.5
    with _styled(), _axes() as (figure, axes):
        axes.hist(moves.values, bins=list(edges), weights=moves.times, color=WON, rwidth=0.9)
        axes.axvline(summary.median, color=INK, linewidth=1, linestyle="--")
        axes.annotate(
            f"median {summary.median:g}", (summary.median, 1), xycoords=("data", "axes fraction"), xytext=(4, -12),
            textcoords="offset points",
        )  # fmt: skip
        axes.set_xlabel("moves of the line, stock deals included")
        axes.set_ylabel("won deals")
        axes.grid(visible=False, axis="x")
        return _svg(figure, prefix)


def trend_figure(dates: Sequence[str], rates: Sequence[WinRate], prefix: str) -> str:
    """Draw win rates over dates: a falling green line over a wider gap is a backlog, a falling upper line is losses."""
    with _styled(), _axes(height=2.6, below=0.35) as (figure, axes):
        places = range(len(dates))
        proved, upper = [rate.proved for rate in rates], [rate.upper_bound for rate in rates]
        low, high = zip(*(rate.interval for rate in rates), strict=True)
        axes.fill_between(places, low, high, color=BAND, linewidth=0)
        axes.fill_between(places, proved, upper, color=OPEN, linewidth=0)
        axes.plot(places, upper, "--", color=MARK, linewidth=1.2)
        axes.plot(places, proved, "o-", color=WON, markersize=4, linewidth=1.6)
        step = max(1, -(-len(dates) // 4))
        axes.set_xticks(list(places)[::step], list(dates)[::step], fontsize=8)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        return _svg(figure, prefix)


def _grid(samples: Sequence[Sample]) -> Counts:
    """Return about 200 ascending positions, evenly spaced in their logarithm, from 10 to the largest limit."""
    last = max(10, *(sample.node_limit for sample in samples))
    tallies = [tally for sample in samples for tally in (sample.won, sample.lost, sample.unsettled)]
    last = max(last, *(int(tally.values[-1]) for tally in tallies if tally.total), 100)
    return np.unique(np.geomspace(10, last, 200).round().astype(np.int64))


def _curve(sample: Sample, grid: Counts) -> Curve:
    return won_within_curve(sample.won, sample.unsettled, grid, deals=sample.deals, missing=sample.missing)


def _position_axis(axes: Axes, grid: Counts) -> None:
    axes.set_xscale("log")
    axes.set_xlim(int(grid[0]), int(grid[-1]))
    axes.set_ylim(0, 1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: limit_text(round(value))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("positions")


@contextmanager
def _styled() -> Iterator[None]:
    # From the defaults, so that a user's matplotlibrc does not change a published page.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


@contextmanager
def _axes(height: float = 3.0, below: float = 0.5) -> Iterator[tuple[Figure, Axes]]:
    """Yield axes with fixed margins; `height` and `below` in inches. Automatic layout would triple the time."""
    width = 5.2
    figure = Figure(figsize=(width, height))
    bottom, top = below / height, 1 - 0.15 / height
    yield figure, figure.add_axes((0.7 / width, bottom, 1 - 0.9 / width, top - bottom))


def _svg(figure: Figure, prefix: str) -> str:
    file = io.StringIO()
    metadata: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=metadata, transparent=True)
    return inline_svg(file.getvalue(), prefix)


def inline_svg(text: str, prefix: str) -> str:
    """Return an SVG file as an element of an HTML page.

    Drops the XML prologue, metadata, document styles, fonts (the page has its own), fixed size, namespaces,
    indentation, rotations by zero, and ids that nothing refers to; rounds coordinates to hundredths, those of lines to
    tenths; prefixes ids; turns placeholder colours into `var(--name)`.

    Parameters
    ----------
    text
        The SVG file.
    prefix
        Of the ids, unique in the page.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*|<style.*?</style>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)
    head, body = text.split(">", 1)
    head = re.sub(r'\s(?:xmlns(?::\w+)?|width|height|version)="[^"]*"', "", head)
    referred = set(re.findall(r'(?:url\(|href=")#([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in referred else "", body)
    body = re.sub(r'(url\(|href=")#([^")]+)', rf"\1#{prefix}-\2", body)
    body = re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", body)).replace(' "', '"')
    body = re.sub(r' transform="rotate\(-0 [^"]*"|font-family: [^;"]+; ', "", body)
    body = re.sub(r' d="((?:M[L\s\d.-]+z?\s*)+)"', lambda m: f' d="{_brief_path(m[1])}"', body)
    for colour, name in _VARIABLES.items():
        body = body.replace(colour, f"var(--{name})")
    return f"{head}>{body}".strip()


def _brief_path(path: str) -> str:
    """Return a path of straight lines in tenths, without the points on the way of a level or an upright one."""
    lines = []
    for line in re.findall(r"M[^Mz]*z?", path):
        numbers = [round(float(number), 1) + 0 for number in re.findall(r"[\d.-]+", line)]
        kept: list[tuple[float, float]] = []
        for point in zip(numbers[::2], numbers[1::2], strict=True):
            if len(kept) > 1 and _on_the_way(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        lines.append("M" + " ".join(f"{x:.7g} {y:.7g}" for x, y in kept) + "z" * line.endswith("z"))
    return "".join(lines)


def _on_the_way(begin: tuple[float, float], point: tuple[float, float], end: tuple[float, float]) -> bool:
    """Whether a point lies on the level or upright line between two others."""
    (x0, x, x1), (y0, y, y1) = zip(begin, point, end, strict=True)
    return (x0 == x == x1 and min(y0, y1) <= y <= max(y0, y1)) or (y0 == y == y1 and min(x0, x1) <= x <= max(x0, x1))
