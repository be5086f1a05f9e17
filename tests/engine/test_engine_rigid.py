"""The relaxation that sees suits: it gives up no position on the way to a win, and none that a plain search wins."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from engine_deals import numbered, searcher
from test_engine_exhaust import ALL_RULES, brute_force, tiny_deal

from pipeline.engine.exhaust import Exhaust
from pipeline.engine.packed import make
from pipeline.engine.records import Rules
from pipeline.engine.relaxation import hopeless
from pipeline.engine.rigid import DEPTH, RIGID, STATE, stuck


class Asked:
    """A board on which the relaxation is asked."""

    def __init__(self, rules: Rules) -> None:
        self.complete = Exhaust(rules)
        self.memory, self.states = np.zeros(1, RIGID), np.zeros(DEPTH, STATE)

    def start(self, start) -> None:
        self.complete.start(start)
        self.memory[0].generation += 1

    def stuck(self, cap: int = 3_000) -> bool:
        with np.errstate(over="ignore"):
            return bool(stuck(self.complete._board, self.memory[0], self.states, cap))


@pytest.mark.parametrize(
    "variant",
    [
        "spider-1",
        "spider-2",
        "spider-4",
        "grounds-for-a-divorce",
        "spider-relaxed",
        "spider-easy",
        "spider-free-deal",
        "black-widow",
        "tarantula",
        "spiderette",
        "simple-simon",
        "will-o-the-wisp",
        "mrs-mop",
        "spider-4-packs",
        "grandmothers-game",
    ],
)
def test_a_winning_line_is_never_stuck(variant: str) -> None:
    asked = Asked(searcher(variant).rules)
    won = 0
    deals = int(os.environ.get("RIGID_DEALS", "6"))
    for seed in range(3_000_001, 3_000_001 + deals):
        start = numbered(variant, seed)
        result = searcher(variant).solve(start, 30_000)
        if result.verdict != "won":
            continue
        won += 1
        asked.start(start)
        m = asked.complete._board
        with np.errstate(over="ignore"):
            for move in result.moves.tolist():
                assert not asked.stuck(), (variant, seed)
                make(m, asked.complete._frames[0], move)
        assert m.sets == m.needed
    assert won > 0


@pytest.mark.parametrize("part", range(2))
def test_what_is_stuck_a_plain_search_loses(part: int) -> None:
    deals_each = int(os.environ.get("RIGID_TINY", "40"))
    proved = more = 0
    for number, (columns, deal, unit, sets, _) in enumerate(ALL_RULES[part * 2 :: 4]):
        rules = Rules(columns, deal, unit, sets, False, 4)
        asked = Asked(rules)
        rng = random.Random(f"rigid {part} {number}")
        for _ in range(deals_each):
            suits = rng.choice((1, 2, 2))
            start = tiny_deal(rules, rng, 1, suits, rng.choice((3, 6, 12, 40)))
            asked.start(start)
            if not asked.stuck():
                continue
            truth, _ = brute_force(rules, start, 20_000)
            assert truth is not True, (rules, start)
            proved += truth is False
            with np.errstate(over="ignore"):
                more += not hopeless(asked.complete._board, asked.complete._relaxed[0])
    assert proved > deals_each
    assert more > deals_each // 10
