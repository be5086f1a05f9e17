"""Games without a stock: the complete search makes attempts, and its long wins are made straight."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.variants import load_variant
from pipeline.referee.replay import verify_line
from pipeline.solver import Solver

BOARDS = Path(__file__).parents[1] / "fixtures" / "boards"


@pytest.fixture(scope="module")
def solver():
    return Solver()


def won_in_few_moves(solver, board, limit=167_000):
    outcome = solver.solve(board, limit)
    assert outcome.verdict == "won"
    assert outcome.moves <= 400
    verify_line(board, outcome.line)


def test_a_board_whose_key_move_parks_an_ace_on_a_gap_is_won(solver):
    """PySol's game 1984 of Simple Simon, once open at 30,000,000."""
    won_in_few_moves(solver, read_board((BOARDS / "parked-ace.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize("seed", [2_000_821, 2_000_855, 2_001_150])
def test_a_long_win_is_made_straight(solver, seed):
    """The shortest wins through what the complete search reached take 418 to 561 moves."""
    won_in_few_moves(solver, deal(load_variant("mrs-mop"), seed), 300_000)
