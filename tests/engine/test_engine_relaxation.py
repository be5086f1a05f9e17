"""The relaxation: it never gives up a position on the way to a win, and what it proves."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.exhaust import LOST, Exhaust
from pipeline.engine.packed import make
from pipeline.engine.records import Rules, Start
from pipeline.engine.relaxation import hopeless
from pipeline.engine.search import Search
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant

DEALS = {"blocked": 0, "all": 1, "non-empty": 2}
KINDS = {"suit": 0, "colour": 1, "any": 2}


def rules_of(board: Board) -> Rules:
    v = board.variant
    return Rules(len(v.columns), DEALS[v.deal], KINDS[v.unit], KINDS[v.sets], v.wrap, v.sets_needed)


def start_of(board: Board) -> Start:
    return Start(board.columns, board.face_down, board.stock, board.sets_done)


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
        "big-spider",
        "spider-4-packs",
        "grandmothers-game",
    ],
)
def test_a_winning_line_never_looks_hopeless(variant: str) -> None:
    boards = [deal(load_variant(variant), seed) for seed in range(900, 908)]
    rules = rules_of(boards[0])
    beam, complete = Search(rules), Exhaust(rules)
    m, a = complete._board, complete._relaxed[0]
    won = 0
    for board in boards:
        result = beam.solve(start_of(board), 30_000)
        if result.verdict != "won":
            continue
        won += 1
        complete.start(start_of(board))
        with np.errstate(over="ignore"):
            for move in result.moves.tolist():
                assert not hopeless(m, a), (variant, board.seed)
                a.visits = 0
                make(m, complete._frames[0], move)
        assert m.sets == m.needed
    assert won > 1


@pytest.mark.parametrize(("seed", "positions"), [(1748, 1), (14934, 3_000)])
def test_two_deals_of_four_suits_are_lost(seed: int, positions: int) -> None:
    # PySol's numbers 1-32000: the two that no solver ever won. In 1748 no Five can leave before a Six is uncovered, no
    # King before a column is empty, and every column holds one of these, over all the Sixes.
    board = deal(load_variant("spider-4"), seed, "pysol")
    search = Exhaust(rules_of(board))
    search.start(start_of(board))
    assert search.advance(positions - 1) == LOST


def test_why_1748_is_lost() -> None:
    # The argument in plain words, on the cards alone. All Sixes are in the columns, none in the stock. While no Six is
    # uncovered no Five can be laid anywhere but in an empty column, nor can a King ever. Every column holds a Five or a
    # King, above all of its Sixes: so no column can become empty and no Six be uncovered first, and without a Six there
    # is no set.
    board = deal(load_variant("spider-4"), 1748, "pysol")
    ranks = [[card & 15 for card in column] for column in board.columns]
    assert 6 not in [card & 15 for card in board.stock]
    for column in ranks:
        last_six = max((i for i, rank in enumerate(column) if rank == 6), default=-1)
        assert {5, 13} & set(column[last_six + 1 :])
