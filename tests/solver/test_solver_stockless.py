"""Games without a stock: the complete search makes attempts, and long wins, of any game, are made straight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.engine import exhaust, search
from pipeline.engine.exhaust import PAUSED, Exhaust
from pipeline.engine.nearby import renamed
from pipeline.engine.records import Start
from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.variants import load_variant
from pipeline.referee.replay import verify_line
from pipeline.solver import Solver, engine_rules

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


@pytest.mark.parametrize("seed", [2_000_821, 2_000_855, 2_001_150, 24_495, 53_287])
def test_a_long_win_is_made_straight(solver, seed):
    """The shortest wins through what the complete search reached take 418 to 649 moves."""
    won_in_few_moves(solver, deal(load_variant("mrs-mop"), seed), 300_000)


@pytest.mark.parametrize(("name", "seed"), [("grounds-for-a-divorce", 554_090), ("will-o-the-wisp", 29_016)])
def test_shortcuts_are_found_around_a_long_win(solver, name, seed):
    """The first win has 420 to 724 moves."""
    won_in_few_moves(solver, deal(load_variant(name), seed))


def test_a_win_that_stays_long_is_shortened_piece_by_piece(solver, monkeypatch):
    board, pieces = deal(load_variant("will-o-the-wisp"), 29_016), []

    class Noting(Exhaust):
        def shortened(self, moves, positions, first=0, piece=None):
            pieces.append(piece)
            return super().shortened(moves, positions, first, piece)

    monkeypatch.setattr(exhaust, "Exhaust", Noting)
    monkeypatch.setattr(search, "LONGEST_WIN", 50)
    monkeypatch.setattr(search, "NEARBY", 2_000)
    outcome = Solver().solve(board, 167_000)
    assert {None, search.PIECE} == set(pieces)
    assert verify_line(board, outcome.line).moves < 600  # 688 by the beam alone


def test_any_piece_of_a_win_can_be_cut_short(monkeypatch):
    """Behind the piece the columns may have changed places: the rest is played on the new ones."""
    board = deal(load_variant("mrs-mop"), 24_495)
    complete = Exhaust(engine_rules(board.variant))
    start = Start(board.columns, board.face_down, board.stock, 0)
    complete.start(start)
    while complete.advance(100_000) == PAUSED:
        pass
    renamings = []

    def noting(moves, old, new):
        renamings.append(old != new)
        return renamed(moves, old, new)

    monkeypatch.setattr(exhaust, "renamed", noting)
    moves, first = complete.line(), 0
    while first < len(moves):
        shorter = complete.shortened(moves, 2_000, first, 16)
        assert verify_line(board, shorter).moves == len(shorter)
        assert len(shorter) <= len(moves)
        moves, first = shorter, first + 8
    assert any(renamings)
    there_and_back = np.concatenate([[0x110, 0x101], moves]).astype(np.uint16)
    assert len(complete.shortened(there_and_back, 300, 0, 2)) == len(moves)
