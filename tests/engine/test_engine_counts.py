"""The position count: strict, the same every time, and independent of the limit."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from engine_deals import facts, numbered, searcher
from engine_table import any_variant, orderly_board, start_of

from pipeline.engine.beam import EARLY_PASSES
from pipeline.engine.exhaust import Exhaust
from pipeline.engine.search import Search
from pipeline.game.variants import load_variant
from pipeline.solver import engine_rules

VARIANTS = ("spider-1", "spider-4", "grounds-for-a-divorce", "spider-relaxed", "simple-simon", "spiderette", "mrs-mop")
MORE_VARIANTS = ("spider-easy", "black-widow", "grounds-for-a-divorce-pysol", "spider-free-deal", "spider-4-packs")
LARGE = 30_000


@pytest.mark.parametrize("variant", [*VARIANTS, *(pytest.param(v, marks=pytest.mark.slow) for v in MORE_VARIANTS)])
def test_outcomes_are_read_off_a_larger_limit(variant):
    search = searcher(variant)
    for seed in range(2):
        start = numbered(variant, seed)
        whole = search.solve(start, LARGE)
        n = whole.positions
        for limit in sorted({1, 2, 3, 10, 100, 999, n - 1, n, n + 1, 2 * LARGE // 3}):
            if limit < 1:
                continue
            result = search.solve(start, limit)
            assert result.positions <= limit
            if n <= limit and whole.verdict != "unsettled":
                assert facts(result) == facts(whole)
            elif limit <= LARGE:
                assert (result.verdict, result.positions) == ("unsettled", limit)


@pytest.mark.parametrize(
    ("variant", "seed"),
    [("simple-simon", 12), ("simple-simon", 95), ("spiderette", 160), ("spiderette", 211), ("spiderette", 322)],
)
def test_losses_are_read_off_a_larger_limit(variant, seed):
    """Losses proved by the complete search, whether the beam had more to do or not."""
    search, start = searcher(variant), numbered(variant, seed)
    whole = search.solve(start, 400_000)
    n = whole.positions
    assert whole.verdict == "lost"
    assert n < 400_000
    for limit in (n - 1, n // 2, 10):
        result = search.solve(start, limit)
        assert (result.verdict, result.positions) == ("unsettled", limit)
    for limit in (n, n + 1, n + 1000, 10 * n):
        assert facts(search.solve(start, limit)) == facts(whole)


def test_turns_are_read_off_a_larger_limit(monkeypatch):
    """Beam and complete search by turns, every few positions, on boards that now one and now the other settles."""
    lines = []
    line_of = Exhaust.line
    monkeypatch.setattr(Exhaust, "line", lambda self: lines.append(self) or line_of(self))
    monkeypatch.setattr("pipeline.engine.search.SLICE", 30)
    monkeypatch.setattr("pipeline.engine.search.SHORT_SLICE", 30)
    monkeypatch.setattr(
        "pipeline.engine.search.exhaust_share", lambda parameters, cards, stock, positions: 5 * positions
    )
    settled = Counter()
    for seed in range(80):
        variant = any_variant(7, ("blocked", "all", "non-empty")[seed % 3], "suit", "suit", False)
        board = orderly_board(variant, seed, 15)
        if board is None:
            continue
        search, start = Search(engine_rules(variant)), start_of(board)
        lines.clear()
        whole = search.solve(start, 3000)
        n = whole.positions
        settled[whole.verdict, bool(lines)] += 1
        for limit in {1, 10, n // 3, n // 2, n - 1, n, n + 1} - {0}:
            result = search.solve(start, limit)
            if n <= limit and whole.verdict != "unsettled":
                assert facts(result) == facts(whole)
            elif limit <= 3000:
                assert (result.verdict, result.positions) == ("unsettled", limit)
    assert settled["won", True] > 2
    assert settled["won", False] > 2
    assert settled["lost", False] > 2


@pytest.mark.parametrize("limit", [1, 2, 10, 100, 1000])
def test_unsettled_deals_use_up_their_limit(limit):
    for variant in VARIANTS:
        result = searcher(variant).solve(numbered(variant, 9), limit)
        assert result.positions <= limit
        assert result.verdict == "won" or result.positions == limit


def test_the_same_again():
    """Twice, with other deals in between, by another search that shares the memory, and beside another width."""
    first = {(variant, seed): facts(searcher(variant).solve(numbered(variant, seed), 5000))
             for variant in VARIANTS for seed in range(2)}  # fmt: skip
    for variant, seed in reversed(first):
        assert facts(searcher(variant).solve(numbered(variant, seed), 5000)) == first[variant, seed]
        other = Search(engine_rules(load_variant(variant)), variant)
        assert facts(other.solve(numbered(variant, seed), 5000)) == first[variant, seed]


def test_threads_do_not_meet():
    """Each thread with solvers of its own finds what one finds alone; the kernels run at the same time."""
    deals = [("spider-relaxed", seed) for seed in range(8)] + [("spiderette", seed) for seed in range(4)]

    def settle() -> list[object]:
        searches = {variant: Search(engine_rules(load_variant(variant)), variant) for variant, _ in deals}
        return [facts(searches[variant].solve(numbered(variant, seed), 20_000)) for variant, seed in deals]

    alone = settle()
    with ThreadPoolExecutor(4) as pool:
        assert [task.result() for task in [pool.submit(settle) for _ in range(4)]] == [alone] * 4


def test_a_fresh_process_finds_the_same():
    program = (
        "from pipeline.solver import Solver; from pipeline.game.deals import deal\n"
        "from pipeline.game.variants import load_variant\n"
        "for seed in (4, 5): print(Solver().solve(deal(load_variant('spider-2'), seed), 4000))\n"
    )
    run = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in "ab"]
    assert run[0].stdout == run[1].stdout
    for seed, line in zip((4, 5), run[0].stdout.splitlines(), strict=True):
        result = searcher("spider-2").solve(numbered("spider-2", seed), 4000)
        assert f"verdict='{result.verdict}', positions={result.positions}, expanded={result.expanded}" in line


def test_late_passes_leave_the_next_search_its_weights():
    """From the ninth pass on weights are drawn anew; what is searched next must have the tuned ones."""
    hard, easy = numbered("spider-4", 2_000_053), numbered("spider-4", 3_000_001)
    search = Search(engine_rules(load_variant("spider-4")), "spider-4")
    alone = facts(search.solve(easy, 20_000))
    late = facts(search.solve(hard, 300_000))
    assert search._memory.array[0].passes > EARLY_PASSES
    assert facts(search.solve(easy, 20_000)) == alone
    assert facts(search.solve(hard, 300_000)) == late
