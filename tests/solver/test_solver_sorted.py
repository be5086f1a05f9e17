"""Boards that games come to when they go well: few runs, gaps, rows in the stock that take splitting runs to deal."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from solver_unplayed import unplayed

from pipeline.engine.exhaust import WON, Exhaust
from pipeline.engine.records import Start
from pipeline.game.boards import check_board
from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.variants import load_variant
from pipeline.referee.replay import verify_line
from pipeline.solver import Solver, engine_rules

HINT_LIMIT = 167_000
LONGEST = 400  # moves of a win that can be handed out
WITH_STOCK = [
    "spider-1",
    "spider-2",
    "spider-4",
    "spider-relaxed",
    "spider-easy",
    "open-spider",
    "black-widow",
    "tarantula",
    "spider-free-deal",
    "grounds-for-a-divorce",
    "grandmothers-game",
    "big-spider",
]
WITHOUT = ["spider-4", "simple-simon", "mrs-mop", "spiderette"]
BOARDS = Path(__file__).parents[1] / "fixtures" / "boards"


@pytest.fixture(scope="module")
def solver():
    return Solver()


def won_sanely(solver, board, limit=HINT_LIMIT):
    outcome = solver.solve(board, limit)
    assert outcome.verdict == "won"
    assert outcome.moves <= LONGEST
    verify_line(board, outcome.line)


@pytest.mark.parametrize("variant", WITH_STOCK)
def test_a_nearly_sorted_board_with_stock_left_is_won(solver, variant):
    game = load_variant(variant)
    for sets, rows, tidy, moves in (2, 1, 0.9, 40), (3, 1, 0.97, 150), (4, 2, 0.97, 150):
        made = 0
        for seed in range(12):
            board, line = unplayed(game, Random(f"{sets} {rows} {seed}"), sets=sets, rows=rows, moves=moves, tidy=tidy)
            check_board(board)
            verify_line(board, line)
            if len(board.stock) == rows * len(game.columns) and made < 4:
                made += 1
                won_sanely(solver, board)


@pytest.mark.parametrize("variant", WITHOUT)
@pytest.mark.parametrize("sets", [1, 2, 4])
def test_a_board_of_a_few_cards_is_won(solver, variant, sets):
    for seed in range(5):
        board, line = unplayed(load_variant(variant), Random(seed), sets=sets, rows=0, moves=40, tidy=0.8)
        check_board(board)
        verify_line(board, line)
        won_sanely(solver, board)


@pytest.mark.parametrize("name", ["sorted-stock-left", "endgame-2suit"])
def test_a_board_with_gaps_and_a_row_to_deal_is_won(solver, name):
    won_sanely(solver, read_board((BOARDS / f"{name}.txt").read_text(encoding="utf-8")))


def test_a_stock_that_can_never_be_dealt_loses_at_once(solver):
    outcome = solver.solve(read_board((BOARDS / "too-few-to-deal.txt").read_text(encoding="utf-8")), HINT_LIMIT)
    assert (outcome.verdict, outcome.positions) == ("lost", 1)


@pytest.mark.parametrize("seed", [3_000_007, 3_000_014])
def test_a_win_of_the_complete_search_has_a_sane_length(seed):
    """Depth first it is come by after 600 moves and more; see `pipeline.engine.shortest`."""
    board = deal(load_variant("spider-1"), seed)
    plain = tuple(tuple(card & 15 for card in column) for column in board.columns)
    complete = Exhaust(engine_rules(board.variant))
    complete.start(Start(plain, board.face_down, tuple(card & 15 for card in board.stock), 0))
    assert complete.advance(20_000) == WON
    win = verify_line(board, complete.line())
    assert win.moves < LONGEST / 2
