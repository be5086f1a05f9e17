"""Comparing two solvers, limits or datasets on the same deals: which settles more, and with how many positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from pipeline.analysis.published import percent
from pipeline.analysis.sides import Side
from pipeline.analysis.statistics import Counts, Flags, Paired, compare_paired, judge, wilson
from pipeline.analysis.tables import Section, csv_text, markdown_table, number, text_table
from pipeline.game.numbers import counted, json_text

LEVEL = 0.05
FEWEST_DISCORDANT = 6  # with fewer, the exact test cannot reach the level even if all lie on one side
LISTED = 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of A and B on the deals both have.

    Attributes
    ----------
    label
        Variant and numbering, as "spider-4/native"; of two variants both.
    paired
        The deals both have: which were settled, of two variants which were won.
    aim
        "settled", or "won" where A and B are two variants.
    left_out
        Number of deals only one has.
    node_limits
        The limits of A and B.
    contradictions
        Seeds won in one and lost in the other: one of the solvers is wrong, unless A and B are two variants.
    """

    label: str
    paired: Paired
    aim: str
    left_out: int
    node_limits: tuple[int, int]
    contradictions: tuple[int, ...]

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


def compare(a: Side, b: Side, label: str, *, nodes: int | None = None) -> Comparison:
    """Compare two sides deal by deal: of one variant, or of two variants on the same numbers.

    Parameters
    ----------
    a, b
        The sides.
    label
        Their variant and numbering, as "spider-4/native".
    nodes
        Compare as at this node limit: a deal counts as settled only if it took at most this many positions.

    Raises
    ------
    ValueError
        If a side was not searched as far as `nodes`.
    """
    seeds, in_a, in_b = np.intersect1d(a.seeds, b.seeds, assume_unique=True, return_indices=True)
    done_a, limit_a = _settled(a, in_a, nodes)
    done_b, limit_b = _settled(b, in_b, nodes)
    two = a.variant.id != b.variant.id
    if two:
        done_a, done_b = done_a & a.won[in_a], done_b & b.won[in_b]
    clash = (a.won[in_a] & b.lost[in_b]) | (a.lost[in_a] & b.won[in_b])
    return Comparison(
        label=label,
        paired=compare_paired(done_a, done_b, a.positions[in_a], b.positions[in_b], seeds),
        aim="won" if two else "settled",
        left_out=int(a.seeds.size + b.seeds.size - 2 * seeds.size),
        node_limits=(limit_a, limit_b),
        contradictions=() if two else tuple(map(int, seeds[clash])),
    )


def _settled(side: Side, places: Counts, nodes: int | None) -> tuple[Flags, int]:
    settled = side.won[places] | side.lost[places]
    limits = side.node_limits[places]
    limit = int(limits[~settled].min() if not settled.all() else limits.max(initial=0))
    if nodes is None:
        return settled, limit
    if not settled.all() and limit < nodes:
        raise ValueError(f"{nodes:,} is not a valid node limit: some deals were searched to {limit:,} positions only")
    return settled & (side.positions[places] <= nodes), nodes


def _settling(c: Comparison) -> str:
    more_a, more_b = len(c.paired.only_a), len(c.paired.only_b)
    discordant = more_a + more_b
    if not c.paired.deals:
        return "A and B have no deal in common."
    if not discordant:
        most = percent(wilson(0, c.paired.deals).high)
        seen = f"judging from {counted(c.paired.deals, 'deal')}, they differ on less than {most} of all"
        return f"The same deals are {c.aim} in both: {seen}."
    counts = f"{more_b:,} deals are {c.aim} by B only, {more_a:,} by A only (exact McNemar p = {_p(c.paired.p_value)})"
    if discordant < FEWEST_DISCORDANT:
        few = f"below {FEWEST_DISCORDANT} no split is significant"
        return f"Too few deals to show where more are {c.aim}: {counts}; {few}."
    if c.paired.p_value < LEVEL:
        return f"More deals are {c.aim} by {'B' if more_b > more_a else 'A'}: {counts}."
    needed = deals_needed(more_a, more_b, c.paired.deals)
    advice = f"; if the split is real, about {needed:,} deals would show it" if needed else ""
    return f"This sample does not show where more are {c.aim}: {counts}{advice}."


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
    two digits, as precise as the estimate.
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
    if c.paired.ratio is None:
        return f"No deal was {c.aim} by both, so positions cannot be compared."
    low, high = c.paired.ratio.interval
    over = f"over {c.paired.ratio.deals:,} deals {c.aim} by both"
    times = f"{c.paired.ratio.geometric:.3f} times the positions of A (95% interval {low:.3f} to {high:.3f})"
    finding = judge(c.paired.ratio.interval, neutral=1.0)
    if low == high == 1:
        return f"Both need exactly the same positions, {over}."
    if finding == "alike":
        return f"This sample does not show which needs fewer positions: B needs {times}, {over}."
    total = f"in sum {c.paired.ratio.total:.3f}"
    return f"B needs {'more' if finding == 'more' else 'fewer'} positions: {times}, {over}; {total}."


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def comparison_json(comparisons: list[Comparison], a: str, b: str) -> dict[str, Any]:
    """Return comparisons as JSON values; `a` and `b` name the sides."""
    return {"a": a, "b": b, "comparisons": [_json(c) for c in comparisons]}


def _json(c: Comparison) -> dict[str, Any]:
    ratio = c.paired.ratio
    variant, _, numbering = c.label.partition("/")
    return {
        "variant": variant,
        "numbering": numbering,
        "deals": c.paired.deals,
        "left_out": c.left_out,
        "node_limit": list(c.node_limits),
        "aim": c.aim,
        "settled": list(c.paired.reached),
        "only_a": list(c.paired.only_a),
        "only_b": list(c.paired.only_b),
        "contradictions": list(c.contradictions),
        "p_value": c.paired.p_value,
        "positions_ratio": None if ratio is None else asdict(ratio) | {"interval": list(ratio.interval)},
        "conclusions": list(c.conclusions),
    }


def comparison_table(comparisons: list[Comparison]) -> Section:
    """Return comparisons as a table, one row per variant and numbering."""
    header = ("variant", "deals", "left out", "A", "B", "A only", "B only", "p", "B/A", "95% interval", "B/A in sum")
    rows = []
    for c in comparisons:
        ratio = c.paired.ratio
        rows.append(
            (
                c.label.removesuffix("/native"),
                number(c.paired.deals),
                number(c.left_out),
                number(c.paired.reached[0]),
                number(c.paired.reached[1]),
                number(len(c.paired.only_a)),
                number(len(c.paired.only_b)),
                _p(c.paired.p_value),
                number(ratio.geometric if ratio else None, 3),
                f"{ratio.interval.low:.3f} to {ratio.interval.high:.3f}" if ratio else "-",
                number(ratio.total if ratio else None, 3),
            )
        )
    return Section("", header, tuple(rows))


def render(comparisons: list[Comparison], a: str, b: str, form: str) -> str:
    """Return comparisons as `table`, `markdown`, `csv` or `json`; `a` and `b` name the sides."""
    if form == "json":
        return json_text(comparison_json(comparisons, a, b), indent=2) + "\n"
    table = comparison_table(comparisons)
    if form == "csv":
        return csv_text([dict(zip(table.header, row, strict=True)) for row in table.rows])
    sentences = [f"{c.label}: {text}" for c in comparisons for text in (*c.conclusions, *discordant_lines(c))]
    if form == "markdown":
        return f"A: `{a}`, B: `{b}`\n\n{markdown_table(table)}\n\n" + "".join(f"- {text}\n" for text in sentences)
    return f"A: {a}\nB: {b}\n\n{text_table(table)}\n\n" + "".join(f"{text}\n" for text in sentences)


def discordant_lines(comparison: Comparison) -> list[str]:
    """List the seeds of discordant deals, at most `LISTED` per side."""
    lines = []
    for side, seeds in (("A", comparison.paired.only_a), ("B", comparison.paired.only_b)):
        if seeds:
            more = f" and {len(seeds) - LISTED} more" if len(seeds) > LISTED else ""
            lines.append(f"{side} only: {', '.join(map(str, seeds[:LISTED]))}{more}")
    return lines
