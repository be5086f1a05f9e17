"""Comparing two solvers, limits or datasets on the same deals: which settles more, and with how many positions."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from pipeline.analysis.published import percent
from pipeline.analysis.samples import Sample
from pipeline.analysis.statistics import Counts, Flags, PairedRatio, judge, mcnemar, paired_ratio, wilson
from pipeline.analysis.tables import Section, markdown_table, number, text_table
from pipeline.game.numbers import json_text

LEVEL = 0.05
FEWEST_DISCORDANT = 6  # with fewer, the exact test cannot reach the level even if all lie on one side
LISTED = 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of A and B on the deals both have.

    Attributes
    ----------
    deals
        Number of deals both have.
    left_out
        Number of deals only one has.
    node_limits
        The limits of A and B.
    settled
        Number of deals settled by A and by B.
    only_a, only_b
        Seeds settled by one and not by the other, ascending.
    contradictions
        Seeds won in one and lost in the other: one of the solvers is wrong.
    p_value
        Of the exact McNemar test on `only_a` and `only_b`.
    ratio
        Positions of B over those of A, on deals both settled; None if there are none.
    """

    label: str
    deals: int
    left_out: int
    node_limits: tuple[int, int]
    settled: tuple[int, int]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    contradictions: tuple[int, ...]
    p_value: float
    ratio: PairedRatio | None

    @property
    def conclusions(self) -> tuple[str, ...]:
        """What may be concluded, in sentences."""
        sentences = [_settling(self), _effort(self)]
        if self.contradictions:
            sentences.insert(
                0, f"{len(self.contradictions)} deals are won in one and lost in the other: a solver is wrong."
            )
        if self.node_limits[0] != self.node_limits[1]:
            sentences.append(f"The node limits differ: {self.node_limits[0]:,} and {self.node_limits[1]:,}.")
        return tuple(sentences)


def compare(a: Sample, b: Sample, label: str, *, nodes: int | None = None) -> Comparison:
    """Compare two samples of one variant and numbering deal by deal.

    Parameters
    ----------
    a, b
        The samples.
    label
        Their variant and numbering, as "spider-4/native".
    nodes
        Compare as at this node limit: a deal counts as settled only if it took at most this many positions.

    Raises
    ------
    ValueError
        If a sample was not searched as far as `nodes`.
    """
    seeds, in_a, in_b = np.intersect1d(a.seeds, b.seeds, assume_unique=True, return_indices=True)
    left_out = int(a.seeds.size + b.seeds.size - 2 * seeds.size)
    done_a, limit_a = _settled(a, in_a, nodes)
    done_b, limit_b = _settled(b, in_b, nodes)
    only_a, only_b = done_a & ~done_b, done_b & ~done_a
    both = done_a & done_b
    clash = (a.won[in_a] & b.lost[in_b]) | (a.lost[in_a] & b.won[in_b])
    ratio = paired_ratio(_counts(a, in_a, both), _counts(b, in_b, both)) if both.any() else None
    return Comparison(
        label=label,
        deals=int(seeds.size),
        left_out=left_out,
        node_limits=(limit_a, limit_b),
        settled=(int(done_a.sum()), int(done_b.sum())),
        only_a=tuple(map(int, seeds[only_a])),
        only_b=tuple(map(int, seeds[only_b])),
        contradictions=tuple(map(int, seeds[clash])),
        p_value=mcnemar(int(only_a.sum()), int(only_b.sum())),
        ratio=ratio,
    )


def _settled(sample: Sample, places: Counts, nodes: int | None) -> tuple[Flags, int]:
    settled = ~sample.unsettled[places]
    limits = sample.node_limits[places]
    limit = int(limits[~settled].min() if not settled.all() else limits.max(initial=0))
    if nodes is None:
        return settled, limit
    if not settled.all() and limit < nodes:
        raise ValueError(f"{nodes:,} is not a valid node limit: some deals were searched to {limit:,} positions only")
    return settled & (sample.positions[places] <= nodes), nodes


def _counts(sample: Sample, places: Counts, both: Flags) -> Counts:
    # A deal won as it is dealt takes no position; one keeps the logarithm finite.
    return np.maximum(sample.positions[places][both], 1)


def _settling(c: Comparison) -> str:
    more_a, more_b = len(c.only_a), len(c.only_b)
    discordant = more_a + more_b
    if not c.deals:
        return "A and B have no deal in common."
    if not discordant:
        most = percent(wilson(0, c.deals).high)
        return f"Both settle the same deals: judging from {c.deals:,} deals, they differ on less than {most} of all."
    counts = f"{more_b:,} deals are settled by B only, {more_a:,} by A only (exact McNemar p = {_p(c.p_value)})"
    if discordant < FEWEST_DISCORDANT:
        return f"Too few deals to tell which settles more: {counts}; below {FEWEST_DISCORDANT} no split is significant."
    if c.p_value < LEVEL:
        return f"{'B' if more_b > more_a else 'A'} settles more deals: {counts}."
    needed = deals_needed(more_a, more_b, c.deals)
    advice = f"; if the split is real, about {needed:,} deals would show it" if needed else ""
    return f"This sample does not tell which settles more: {counts}{advice}."


def deals_needed(only_a: int, only_b: int, deals: int, power: float = 0.8) -> int | None:
    """Estimate how many deals would show a split like this one at the 5% level.

    Parameters
    ----------
    only_a, only_b, deals
        The discordant counts, and the number of deals they come from.
    power
        Chance of showing it.

    Returns
    -------
    int or None
        None for an even split.

    Notes
    -----
    Discordant pairs needed: (z_(alpha/2)/2 + z_beta sqrt(q(1 - q)))^2 / (q - 1/2)^2 with q the share of the larger
    side (O. S. Miettinen, Biometrics 24 (1968) 339-352), divided by the share of discordant deals seen. Rounded up to
    two digits, since the estimate is no more precise.
    """
    q = max(only_a, only_b) / (only_a + only_b)
    if q == 0.5:
        return None
    normal = NormalDist()
    root = normal.inv_cdf(1 - LEVEL / 2) / 2 + normal.inv_cdf(power) * float(np.sqrt(q * (1 - q)))
    needed = (root / (q - 0.5)) ** 2 * deals / (only_a + only_b)
    unit = 10 ** max(0, len(str(int(needed))) - 2)
    return int(-(-needed // unit) * unit)


def _effort(c: Comparison) -> str:
    if c.ratio is None:
        return "No deal was settled by both, so positions cannot be compared."
    low, high = c.ratio.interval
    over = f"over {c.ratio.deals:,} deals both settled"
    times = f"{c.ratio.geometric:.3f} times the positions of A (95% interval {low:.3f} to {high:.3f})"
    finding = judge(c.ratio.interval, neutral=1.0)
    if low == high == 1:
        return f"Both need exactly the same positions, {over}."
    if finding == "alike":
        return f"This sample does not tell which needs fewer positions: B needs {times}, {over}."
    return f"B needs {'more' if finding == 'more' else 'fewer'} positions: {times}, {over}; in sum {c.ratio.total:.3f}."


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def comparison_json(comparisons: list[Comparison], a: str, b: str) -> dict[str, Any]:
    """Return comparisons as JSON values; `a` and `b` name the sides."""
    return {"a": a, "b": b, "comparisons": [_json(c) for c in comparisons]}


def _json(c: Comparison) -> dict[str, Any]:
    ratio = c.ratio
    variant, _, numbering = c.label.partition("/")
    return {
        "variant": variant,
        "numbering": numbering,
        "deals": c.deals,
        "left_out": c.left_out,
        "node_limit": list(c.node_limits),
        "settled": list(c.settled),
        "only_a": list(c.only_a),
        "only_b": list(c.only_b),
        "contradictions": list(c.contradictions),
        "p_value": c.p_value,
        "positions_ratio": None
        if ratio is None
        else {
            "deals": ratio.deals,
            "geometric": ratio.geometric,
            "interval": [end if np.isfinite(end) else None for end in ratio.interval],
            "total": ratio.total,
        },
        "conclusions": list(c.conclusions),
    }


def comparison_table(comparisons: list[Comparison]) -> Section:
    """Return comparisons as a table, one row per variant and numbering."""
    header = ("variant", "deals", "left out", "A", "B", "A only", "B only", "p", "B/A", "95% interval", "B/A in sum")
    rows = []
    for c in comparisons:
        ratio = c.ratio
        rows.append(
            (
                c.label.removesuffix("/native"),
                number(c.deals),
                number(c.left_out),
                number(c.settled[0]),
                number(c.settled[1]),
                number(len(c.only_a)),
                number(len(c.only_b)),
                _p(c.p_value),
                number(ratio.geometric if ratio else None, 3),
                f"{ratio.interval.low:.3f} to {ratio.interval.high:.3f}" if ratio else "-",
                number(ratio.total if ratio else None, 3),
            )
        )
    return Section("Deals settled, and positions on the deals both settled", header, tuple(rows))


def render(comparisons: list[Comparison], a: str, b: str, form: str) -> str:
    """Return comparisons as `table`, `markdown`, `csv` or `json`; `a` and `b` name the sides."""
    if form == "json":
        return json_text(comparison_json(comparisons, a, b), indent=2) + "\n"
    table = comparison_table(comparisons)
    if form == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([table.header, *table.rows])
        return out.getvalue()
    sentences = [f"{c.label}: {text}" for c in comparisons for text in (*c.conclusions, *discordant_lines(c))]
    if form == "markdown":
        return f"A: `{a}`, B: `{b}`\n\n{markdown_table(table)}\n\n" + "".join(f"- {text}\n" for text in sentences)
    return f"A: {a}\nB: {b}\n\n{text_table(table)}\n\n" + "".join(f"{text}\n" for text in sentences)


def discordant_lines(comparison: Comparison) -> list[str]:
    """List the seeds of discordant deals, at most `LISTED` per side."""
    lines = []
    for side, seeds in (("A", comparison.only_a), ("B", comparison.only_b)):
        if seeds:
            more = f" and {len(seeds) - LISTED} more" if len(seeds) > LISTED else ""
            lines.append(f"{side} only: {', '.join(map(str, seeds[:LISTED]))}{more}")
    return lines
