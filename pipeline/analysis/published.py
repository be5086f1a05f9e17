"""Figures others published, beside ours at the same limit, with a sentence on what may be concluded."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.analysis.samples import Sample
from pipeline.analysis.statistics import Interval, WinRate, difference, judge, win_rate
from pipeline.game.variants import Documented

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Beside:
    """A published figure, our share of proved deals at its limit (None if unknown), and what follows."""

    documented: Documented
    ours: float | None
    conclusion: str


def beside(figure: Documented, sample: Sample, rate: WinRate) -> Beside:
    """Lay our sample beside a published figure.

    A figure with a node limit is compared with what we proved within that limit; one without, with all we proved. A
    figure whose lost deals are known bounds the winnability itself from both sides, and so is compared with our
    bounds. One of an easier game bounds ours from above only: what is lost there is lost here.
    """
    won = rate.won if figure.node_limit is None else sample.won_within(figure.node_limit)
    if won is None or not rate.deals:
        searched, limit = sample.node_limit, figure.node_limit or 0
        text = f"Some deals here were searched to {searched:,} positions only: no figure of ours at {limit:,} yet."
        return Beside(figure, None, text)
    ours = won / rate.deals
    deals, wins = figure.deals, figure.won
    if deals and wins is not None and (figure.easier or figure.lost):
        theirs = win_rate(deals, wins, figure.lost or 0).interval
        return Beside(figure, ours, (_upper_bound if figure.easier else _both_bounds)(theirs, rate.interval))
    if figure.proved is None or deals is None:
        return Beside(figure, ours, "Its sample is not stated, so no more than the figures can be compared.")
    gap = difference(round(figure.proved * deals) if wins is None else wins, deals, won, rate.deals)
    return Beside(figure, ours, _proved_shares(figure.node_limit, gap, sample.missing))


def _both_bounds(theirs: Interval, ours: Interval) -> str:
    bounds = f"Winnability is between {percent(ours.low)} and {percent(ours.high)} by our deals, "
    bounds += f"between {percent(theirs.low, 3)} and {percent(theirs.high, 3)} by theirs: "
    if ours.low > theirs.high:
        return bounds + "ours is higher by more than chance, so the games or the proofs differ."
    if ours.high < theirs.low:
        return bounds + "ours is lower by more than chance, so the games or the proofs differ."
    return bounds + "the two agree."


def _upper_bound(theirs: Interval, ours: Interval) -> str:
    most = theirs.high
    text = "The game that was played is easier, so its wins say little about this one"
    if percent(most, 3) == percent(1, 3):
        return f"{text}, and too few of its deals are lost to bound it."
    text += f", but what is lost there is lost here: at most {percent(most, 3)} can be won. By our deals it is "
    text += f"between {percent(ours.low)} and {percent(ours.high)}, "
    if ours.low > most:
        return text + "which is more than that by more than chance: the games or the proofs differ otherwise, too."
    return text + "which agrees with that."


def _proved_shares(node_limit: int | None, gap: Interval, missing: int) -> str:
    within = f"Within {node_limit:,} positions" if node_limit is not None else "At different limits"
    finding = judge(gap)
    if missing and finding != "more":  # outcomes yet to come could only raise our share
        return f"{within}, nothing can be concluded yet: {missing:,} deals here have no outcome."
    if finding == "alike":
        low, high = points(gap.low, gap.high)
        span = f"{low} to {high} points"
        return f"{within}, the two shares cannot be told apart: samples of these sizes leave {span} (95% interval)."
    ends = points(*sorted(map(abs, gap)))
    word = "larger" if finding == "more" else "smaller"
    span = f"by {ends[0].lstrip('+')} to {ends[1].lstrip('+')} points (95% interval)"
    return f"{within}, this solver proves a {word} share, {span}: more than chance explains."


def percent(rate: float, digits: int = 2) -> str:
    """Return a rate in percent; never rounded to 0 or 100 unless it is exactly that."""
    text = f"{100 * rate:.{digits}f}"
    if rate < 1 and float(text) == 100:
        text = f"{100 - 10**-digits:.{digits}f}"
    if rate > 0 and float(text) == 0:
        text = f"{10**-digits:.{digits}f}"
    return text + "%"


def points(low: float, high: float) -> tuple[str, str]:
    """Return two differences of rates in signed percentage points, with the digits that tell them from 0 and apart."""
    for digits in range(1, 6):
        first, second = (f"{100 * end:+.{digits}f}" for end in (low, high))
        if first != second and (float(first) or not low) and (float(second) or not high):
            break
    return first.replace("-", MINUS), second.replace("-", MINUS)
