"""The statistics against scipy, against their definitions, and by simulation."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipeline.analysis import statistics as own


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 513, 1291, 100_000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_wilson_is_scipys(trials, confidence):
    for successes in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
        got = own.wilson(successes, trials, confidence)
        assert got == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_the_documented_figures():
    # 87 of 100, worked out by hand from the formula.
    assert own.wilson(87, 100) == pytest.approx((0.79020, 0.92243), abs=5e-6)
    assert own.wilson(0, 0) == (0, 1)
    assert own.wilson(10, 10).high == 1
    assert own.wilson(0, 10).low == 0


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (1, 0)])
def test_wilson_refuses_impossible_counts(successes, trials):
    with pytest.raises(ValueError, match="successes"):
        own.wilson(successes, trials)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_the_interval_covers_both_bounds_and_widens_with_what_is_unsettled(won, lost, unsettled):
    deals = won + lost + unsettled
    rate = own.win_rate(deals, won, lost)
    assert rate.unsettled == unsettled
    assert 0 <= rate.interval.low <= rate.proved <= rate.upper_bound <= rate.interval.high <= 1
    settled_as_lost = own.win_rate(deals, won, lost + unsettled)
    settled_as_won = own.win_rate(deals, won + unsettled, lost)
    assert rate.interval.low == settled_as_lost.interval.low <= settled_as_won.interval.low
    assert rate.interval.high == settled_as_won.interval.high >= settled_as_lost.interval.high


def test_win_rate_refuses_impossible_counts():
    for counts in ((5, 3, 3), (5, -1, 0), (-1, 0, 0)):
        with pytest.raises(ValueError, match="deals"):
            own.win_rate(*counts)


@pytest.mark.parametrize("winnable", [0.5, 0.9, 0.975])
@pytest.mark.parametrize("hidden", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("kind", ["hard wins", "hard losses", "both"])
def test_coverage_of_the_interval_with_unsettled_deals(winnable, hidden, kind):
    """Whichever deals the solver cannot settle, the interval covers the true rate often enough."""
    rng = np.random.default_rng(20_261_130)
    rounds, deals = 2000, 400
    hide_won, hide_lost = hidden * (kind != "hard losses"), hidden * (kind != "hard wins")
    won = winnable * (1 - hide_won)
    lost = (1 - winnable) * (1 - hide_lost)
    counts = rng.multinomial(deals, (won, lost, 1 - won - lost), size=rounds)
    intervals = [own.win_rate(deals, int(w), int(x)).interval for w, x, _ in counts]
    covered = sum(interval.low <= winnable <= interval.high for interval in intervals)
    # Wilson's own coverage swings around 95%; the simulation's standard error is 0.5%.
    assert covered / rounds >= 0.935
    if not hidden:
        assert covered / rounds <= 0.975


def test_leaving_the_unsettled_out_would_not_cover():
    """The trap the bounds avoid: a rate over settled deals only is far off when hard deals are the lost ones."""
    rng = np.random.default_rng(7)
    truth = rng.random(2000) < 0.9
    settled = truth | (rng.random(2000) < 0.5)
    flattering = own.wilson(int((truth & settled).sum()), int(settled.sum()))
    assert flattering.low > 0.9


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_exact_binomial_test(only_a, only_b):
    expected = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert own.mcnemar(only_a, only_b) == pytest.approx(expected, rel=1e-9)
    assert own.mcnemar(only_a, only_b) == own.mcnemar(only_b, only_a)


def test_mcnemar_of_large_counts_and_its_smallest_verdict():
    assert own.mcnemar(40_000, 41_000) == pytest.approx(stats.binomtest(40_000, 81_000).pvalue, rel=1e-6)
    assert own.mcnemar(0, 20_000) == 0
    assert own.mcnemar(0, 5) > 0.05 > own.mcnemar(0, 6)
    with pytest.raises(ValueError, match="discordant"):
        own.mcnemar(-1, 2)


def test_mcnemar_keeps_its_level_by_simulation():
    rng = np.random.default_rng(3)
    splits = rng.binomial(40, 0.5, size=5000)
    assert np.mean([own.mcnemar(int(k), 40 - int(k)) < 0.05 for k in splits]) <= 0.05


def test_paired_ratio_is_the_t_interval_of_the_log_ratios():
    rng = np.random.default_rng(11)
    a = rng.integers(100, 100_000, 200)
    b = (a * np.exp(rng.normal(-0.2, 0.5, 200))).astype(np.int64) + 1
    got = own.paired_ratio(a, b)
    expected = stats.ttest_1samp(np.log(b / a), 0).confidence_interval(0.95)
    assert got.interval == pytest.approx(np.exp((expected.low, expected.high)), rel=1e-6)
    assert got.geometric == pytest.approx(stats.gmean(b / a))
    assert got.total == pytest.approx(b.sum() / a.sum())
    assert own.paired_ratio(b, a).geometric == pytest.approx(1 / got.geometric)


def test_paired_ratio_covers_by_simulation():
    rng = np.random.default_rng(5)
    rounds, covered = 1000, 0
    for _ in range(rounds):
        a = np.exp(rng.normal(9, 1.5, 60)).astype(np.int64) + 1000
        b = (a * np.exp(rng.normal(0.1, 0.6, 60))).astype(np.int64) + 1
        interval = own.paired_ratio(a, b).interval
        covered += interval.low <= np.exp(0.1) <= interval.high
    assert 0.93 <= covered / rounds <= 0.97


def test_paired_ratio_of_few_and_of_wrong_counts():
    one = own.paired_ratio(np.array([10]), np.array([20]))
    assert (one.geometric, one.interval) == (pytest.approx(2), (0, np.inf))
    for a, b in (([], []), ([1, 2], [1]), ([0, 1], [1, 1])):
        with pytest.raises(ValueError, match="paired counts"):
            own.paired_ratio(np.array(a, np.int64), np.array(b, np.int64))


def test_difference_is_newcombes_example():
    # Newcombe (1998), table II, method 10: 56/70 against 48/80 gives 0.0524 to 0.3339.
    assert own.difference(48, 80, 56, 70) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert own.difference(10, 10, 0, 10) == pytest.approx((-1, -0.6075), abs=1e-4)
    assert own.difference(1, 0, 1, 1) == (-1, 1)


def test_difference_covers_by_simulation():
    rng = np.random.default_rng(9)
    a, b = rng.binomial(513, 0.97, 2000), rng.binomial(1000, 0.99, 2000)
    ends = [own.difference(int(x), 513, int(y), 1000) for x, y in zip(a, b, strict=True)]
    assert np.mean([e.low <= 0.02 <= e.high for e in ends]) >= 0.935


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=200))
def test_quantiles_are_numpys_linear_ones(values):
    array = np.array(values, dtype=np.int64)
    got = own.Tally.of(array).quantiles()
    assert got.mean == pytest.approx(np.mean(array))
    assert (got.median, got.p90, got.p99) == pytest.approx(tuple(np.percentile(array, (50, 90, 99))))


@given(st.lists(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 50)), max_size=20), max_size=4))
def test_tallies_are_as_if_every_count_was_listed(groups):
    tallies = [own.Tally.of([value for value, _ in group], [times for _, times in group]) for group in groups]
    listed = [value for group in groups for value, times in group for _ in range(times)]
    got, expected = own.Tally.joined(tallies), own.Tally.of(listed)
    assert got.total == len(listed)
    assert dict(zip(got.values, got.times, strict=True)) == Counter(listed)
    at = np.arange(0, 1002, 7)
    assert got.within(at).tolist() == [sum(value <= n for value in listed) for n in at]
    assert got.within(at, below=True).tolist() == [sum(value < n for value in listed) for n in at]
    assert got.quantiles() == expected.quantiles()


def test_quantiles_of_nothing_and_of_huge_counts():
    assert own.Tally.of([]).quantiles() is None
    assert own.Tally.of([2**62] * 3).quantiles().mean == 2.0**62
    assert own.Tally.of([5, 7], [1, 2**63]).quantiles().median == 7


def test_curve_by_its_definition():
    won, unsettled = own.Tally.of([10, 100, 1000]), own.Tally.of([500, 2000])
    at = np.array([9, 10, 100, 500, 501, 5000])
    curve = own.won_within_curve(won, unsettled, at, deals=8, missing=2)
    assert (curve.share * 8).tolist() == [0, 1, 2, 2, 2, 3]
    # A deal stopped at 500 positions was not won within 500, but might have been within 501.
    assert (curve.open * 8).tolist() == [2, 2, 2, 2, 3, 4]
    assert (np.diff(curve.share) >= 0).all()
    assert (curve.low <= curve.share).all()
    assert (curve.high >= curve.share + curve.open).all()


def test_judging_an_interval():
    assert own.judge(own.Interval(0.1, 0.2)) == "more"
    assert own.judge(own.Interval(-0.2, -0.1)) == "less"
    assert own.judge(own.Interval(-0.1, 0.1)) == "alike"
    assert own.judge(own.Interval(0.8, 0.9), neutral=1.0) == "less"
