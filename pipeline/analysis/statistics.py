"""The statistics of win rates: numbers and arrays in, small frozen values out, without files or variants.

Representation, for the whole file. A sample is n deals, each of them won (proved), lost (proved) or unsettled.
The proved-win rate won/n is a *lower* bound of the share of winnable deals in the sample and (won + unsettled)/n an
*upper* bound: nothing is known of the unsettled ones, and they are not a random part of the sample, so no estimate in
between is made. `positions` are int64 arrays with one count per deal. Intervals are two-sided, 95% by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A closed interval of a rate, a difference or a ratio."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WinRate:
    """Counts of a sample with all that must be shown beside its proved-win rate."""

    deals: int
    won: int
    lost: int
    unsettled: int
    proved: float
    upper_bound: float
    interval: Interval

    @property
    def digits(self) -> int:
        """The decimals of a percentage, so that a single deal of the sample shows; two at least."""
        return max(2, len(str(self.deals - 1)) - 2)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Summary of a count with one value per deal."""

    mean: float
    median: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """Positions of solver B over those of solver A, on the same deals.

    `geometric` is the geometric mean of the ratios B/A, which weighs every deal alike; `total` is the ratio of the
    sums, which the few hardest deals dominate. `interval` belongs to `geometric`.
    """

    deals: int
    geometric: float
    interval: Interval
    total: float


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    r"""Compute the Wilson score interval of a proportion.

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    successes, trials
        Counts; without trials the interval is [0, 1].
    confidence
        Two-sided level between 0 and 1.

    Raises
    ------
    ValueError
        If not 0 <= successes <= trials.

    Notes
    -----
    E. B. Wilson, *Probable inference, the law of succession, and statistical inference*, JASA 22 (1927) 209-212.
    Valid for every n and for rates of 0 and 1 (where the normal interval has no width); its coverage varies a little
    around the level and sinks below it for rates very near 0 or 1 (Brown, Cai and DasGupta, Statistical Science 16
    (2001) 101-133). No continuity correction.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} is not a valid number of successes: expected 0 to {trials}")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = _z(confidence)
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    half = z * float(np.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)))
    scale = 1 + z * z / trials
    # Rounding must not cut off the ends, which are exact.
    low = 0.0 if successes == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if successes == trials else min(1.0, (centre + half) / scale)
    return Interval(low, high)


def win_rate(deals: int, won: int, lost: int, confidence: float = CONFIDENCE) -> WinRate:
    """Compute the bounds of the win rate of `deals` deals and the interval that covers them.

    The interval's lower end is Wilson's with the unsettled deals as not won, its upper end Wilson's with all of them
    as won. Whatever they are, it covers the share of winnable deals among all deals of that kind at least as often as
    `wilson` does; its width does not shrink to zero with n while deals stay unsettled.

    Parameters
    ----------
    deals, won, lost
        Counts; the other deals are unsettled.
    confidence
        Two-sided level between 0 and 1.

    Raises
    ------
    ValueError
        If the counts are negative or exceed `deals`.
    """
    unsettled = deals - won - lost
    if min(deals, won, lost, unsettled) < 0:
        raise ValueError(f"{won} won and {lost} lost are not valid counts of {deals} deals")
    interval = Interval(wilson(won, deals, confidence).low, wilson(won + unsettled, deals, confidence).high)
    proved, upper = (won / deals, (won + unsettled) / deals) if deals else (0.0, 1.0)
    return WinRate(deals, won, lost, unsettled, proved, upper, interval)


def difference(won_a: int, deals_a: int, won_b: int, deals_b: int, confidence: float = CONFIDENCE) -> Interval:
    """Compute the interval of rate B minus rate A for two *independent* samples.

    Parameters
    ----------
    won_a, deals_a, won_b, deals_b
        Counts; with a sample of no deals the interval is [-1, 1].
    confidence
        Two-sided level between 0 and 1.

    Notes
    -----
    R. G. Newcombe, *Interval estimation for the difference between independent proportions*, Statistics in Medicine
    17 (1998) 873-890, method 10: Wilson's intervals combined. Valid for every n and for rates of 0 and 1. For paired
    samples use `mcnemar`.
    """
    if not deals_a or not deals_b:
        return Interval(-1.0, 1.0)
    a, b = won_a / deals_a, won_b / deals_b
    ends_a, ends_b = wilson(won_a, deals_a, confidence), wilson(won_b, deals_b, confidence)
    delta = b - a
    low = delta - float(np.hypot(b - ends_b.low, ends_a.high - a))
    high = delta + float(np.hypot(ends_b.high - b, a - ends_a.low))
    return Interval(max(-1.0, low), min(1.0, high))


def mcnemar(only_a: int, only_b: int) -> float:
    """Compute the exact two-sided p-value of McNemar's test.

    Parameters
    ----------
    only_a, only_b
        The discordant deals: settled by A and not by B, and the reverse.

    Returns
    -------
    float
        min(1, 2 P(X <= min(only_a, only_b))), X binomial(only_a + only_b, 1/2): the chance of a split at least this
        uneven if both were equally strong. 1 if no deal is discordant. Fewer than six discordant deals can never give
        less than 0.05.

    Notes
    -----
    Q. McNemar, Psychometrika 12 (1947) 153-157, with the binomial instead of its normal approximation. Valid
    for every n; conservative, as an exact test of counts is.
    """
    from scipy.special import bdtr

    if min(only_a, only_b) < 0:
        raise ValueError(f"{only_a} and {only_b} are not valid discordant counts: expected 0 or more")
    return min(1.0, 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)))


def paired_ratio(a: Counts, b: Counts, confidence: float = CONFIDENCE) -> PairedRatio:
    """Compute the ratio of the positions B needs to those A needs, on the same deals.

    Parameters
    ----------
    a, b
        Positive counts, shape (n,), deal by deal. Only deals that both settled: a deal stopped at its limit has no
        count of its own.
    confidence
        Level of the interval of the geometric mean, Student's t over the log ratios: exact if these are normal,
        and good from about 30 deals on if they are not. With one deal the interval is [0, inf).

    Raises
    ------
    ValueError
        If the shapes differ or are empty, or a count is not positive.
    """
    from scipy.special import stdtrit

    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"{a.shape} and {b.shape} are not valid shapes of paired counts: expected (n,) twice")
    if min(a.min(), b.min()) <= 0:
        raise ValueError("paired counts must be positive")
    logs = np.log(b.astype(np.float64)) - np.log(a.astype(np.float64))
    mean, n = float(logs.mean()), int(logs.size)
    if n == 1:
        return PairedRatio(1, float(np.exp(mean)), Interval(0.0, float("inf")), float(b.sum() / a.sum()))
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * float(logs.std(ddof=1)) / float(np.sqrt(n))
    interval = Interval(float(np.exp(mean - half)), float(np.exp(mean + half)))
    return PairedRatio(n, float(np.exp(mean)), interval, float(b.sum() / a.sum()))


@dataclass(frozen=True, slots=True)
class Paired:
    """A and B on the same deals.

    Attributes
    ----------
    deals
        Number of deals.
    reached
        How many of them A and B reached (settled, or won).
    only_a, only_b
        Numbers of the deals that one reached and the other did not.
    p_value
        Of the exact McNemar test on these.
    ratio
        Positions of B over those of A on the deals both reached; None if there are none.
    """

    deals: int
    reached: tuple[int, int]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    p_value: float
    ratio: PairedRatio | None


def compare_paired(a: ArrayLike, b: ArrayLike, positions_a: ArrayLike, positions_b: ArrayLike,
                   seeds: ArrayLike | None = None) -> Paired:  # fmt: skip
    """Compare what A and B reached on the same deals, and what it took them.

    Parameters
    ----------
    a, b
        Flags, shape (n,), deal by deal: whether each reached its aim (settled the deal, won it).
    positions_a, positions_b
        Counts, shape (n,), what each took; a count of 0 is taken as 1, which keeps the logarithm finite.
    seeds
        Numbers of the deals, shape (n,); 0 to n - 1 by default.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    flags_a, flags_b = np.asarray(a, np.bool_), np.asarray(b, np.bool_)
    counts_a, counts_b = (
        np.maximum(np.asarray(positions_a, np.int64), 1),
        np.maximum(np.asarray(positions_b, np.int64), 1),
    )
    numbers = np.arange(flags_a.size) if seeds is None else np.asarray(seeds)
    if len({flags_a.shape, flags_b.shape, counts_a.shape, counts_b.shape, numbers.shape}) > 1 or flags_a.ndim != 1:
        raise ValueError(
            f"paired flags of shapes {flags_a.shape} and {flags_b.shape} are not one-dimensional and alike"
        )
    both = flags_a & flags_b
    only_a, only_b = numbers[flags_a & ~flags_b], numbers[flags_b & ~flags_a]
    return Paired(
        deals=int(flags_a.size),
        reached=(int(flags_a.sum()), int(flags_b.sum())),
        only_a=tuple(map(int, only_a)),
        only_b=tuple(map(int, only_b)),
        p_value=mcnemar(only_a.size, only_b.size),
        ratio=paired_ratio(counts_a[both], counts_b[both]) if both.any() else None,
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each count occurs: all that a summary needs, in memory that does not grow with the deals.

    Attributes
    ----------
    values
        The different counts, ascending, int64, shape (k,).
    times
        How often each occurs, uint64, shape (k,).
    """

    values: Counts
    times: NDArray[np.uint64]

    @classmethod
    def of(cls, counts: ArrayLike, times: ArrayLike = 1) -> Tally:
        """Tally counts in any order, shape (n,), each of them as often as `times` says."""
        values, places = np.unique(np.asarray(counts, np.int64), return_inverse=True)
        totals = np.zeros(values.size, np.uint64)
        np.add.at(totals, places, np.asarray(times, np.uint64))
        return cls(values[totals > 0], totals[totals > 0])

    @classmethod
    def joined(cls, tallies: Sequence[Tally]) -> Tally:
        """Add up tallies."""
        values = [tally.values for tally in tallies] or [np.empty(0, np.int64)]
        times = [tally.times for tally in tallies] or [np.empty(0, np.uint64)]
        return cls.of(np.concatenate(values), np.concatenate(times))

    @property
    def total(self) -> int:
        """The number of counts."""
        return int(self.times.sum())

    def within(self, at: Counts, *, below: bool = False) -> Counts:
        """Count how many are at most (or, with `below`, less than) each of `at`; int64, shape of `at`."""
        reached = np.append(np.uint64(0), np.cumsum(self.times))
        return reached[np.searchsorted(self.values, at, side="left" if below else "right")].astype(np.int64)

    def quantiles(self) -> Quantiles | None:
        """Summarise: the mean, and quantiles with linear interpolation (Hyndman and Fan's type 7); None if empty."""
        if not self.values.size:
            return None
        reached = np.cumsum(self.times)
        last = int(reached[-1]) - 1

        def at(place: int) -> float:
            return float(self.values[np.searchsorted(reached, np.uint64(place), side="right")])

        def quantile(share: float) -> float:
            place = last * share
            low = int(place)
            return at(low) + (at(min(low + 1, last)) - at(low)) * (place - low)

        mean = float(self.values.astype(np.float64) @ self.times.astype(np.float64)) / (last + 1)
        return Quantiles(mean, quantile(0.5), quantile(0.9), quantile(0.99))


@dataclass(frozen=True, slots=True)
class Curve:
    """The share of deals won within n positions, for an ascending grid of n; all arrays have shape (k,).

    `share` counts the wins. `low` and `high` are a pointwise band like the interval of `win_rate`. `open` is the share
    of deals whose search stopped before n positions and which might have been won by then.
    """

    positions: Counts
    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    open: NDArray[np.float64]


def won_within_curve(
    won: Tally, unsettled: Tally, at: Counts, *, deals: int, missing: int = 0, confidence: float = CONFIDENCE
) -> Curve:
    """Compute the curve "won within n positions" with its band.

    Parameters
    ----------
    won, unsettled
        Positions of the won deals, and node limits of the unsettled ones.
    at
        The grid, ascending, shape (k,).
    deals
        Number of deals of the sample.
    missing
        Those of them that were never searched; unsettled from the first position on.
    confidence
        Two-sided level between 0 and 1.
    """
    wins = won.within(at)
    stopped = unsettled.within(at, below=True) + missing
    low = np.array([wilson(int(w), deals, confidence).low for w in wins])
    high = np.array([wilson(int(w + s), deals, confidence).high for w, s in zip(wins, stopped, strict=True)])
    scale = max(1, deals)
    return Curve(at, wins / scale, low, high, stopped / scale)


Finding = Literal["more", "less", "alike"]


def judge(interval: Interval, neutral: float = 0.0) -> Finding:
    """Return on which side of `neutral` an interval lies, or "alike" if it contains it."""
    if interval.low > neutral:
        return "more"
    return "less" if interval.high < neutral else "alike"


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"{confidence} is not a valid confidence: expected a number between 0 and 1")
    return NormalDist().inv_cdf(0.5 + confidence / 2)
