"""The engine without the compiler finds exactly the same, without a warning."""

from __future__ import annotations

from engine_deals import facts, found_without_compiler, numbered, searcher

DEALS = [
    ["spider-1", 36, 700],  # won
    ["spider-4", 5, 100],
    ["spider-relaxed", 5, 100],
    ["spider-easy", 2, 100],
    ["grounds-for-a-divorce-pysol", 5, 100],  # wraps
    ["black-widow", 5, 100],  # units of several runs
    ["tarantula", 5, 100],
    ["spider-free-deal", 5, 100],
    ["simple-simon", 25, 120],  # lost
    ["spider-4-packs", 5, 60],  # the other width
]


def test_without_the_compiler():
    found = found_without_compiler(DEALS)
    assert {verdict for verdict, *_ in found} == {"won", "lost", "unsettled"}
    for (variant, seed, limit), (*result, _) in zip(DEALS, found, strict=True):
        assert tuple(result) == facts(searcher(variant).solve(numbered(variant, seed), limit)), variant
