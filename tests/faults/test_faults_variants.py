"""Huge but valid variants: at the limits of columns, packs, cards in a column and stock, under all kinds of rules."""

import itertools
import json
import random

import pytest

from pipeline.errors import VariantError
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.forms import board_json, board_text, read_game
from pipeline.game.rules import Position
from pipeline.game.variants import read_variant
from pipeline.referee.check import check_certificate
from pipeline.referee.prove import prove
from pipeline.solver import Solver

# Packs, cards of each column, and how many of them lie face down.
SHAPES = {
    "all cards in one column": (4, (208, 0, 0), (0, 0, 0)),
    "all but one of them face down": (4, (0, 0, 208), (0, 0, 207)),
    "one column of many": (4, (0,) * 15 + (208,), (0,) * 15 + (100,)),
    "no stock": (4, (13,) * 16, (12,) * 16),
    "nearly all in the stock": (4, (1, 0, 0), (0, 0, 0)),
    "stock for sixteen columns": (4, (1,) * 16, (0,) * 16),
    "stock for three columns": (4, (1, 1, 1), (0, 0, 0)),
    "one card in sixteen columns": (1, (1,) + (0,) * 15, (0,) * 16),
    "one pack in sixteen columns": (1, (4,) * 4 + (3,) * 12, (3,) * 4 + (2,) * 12),
    "a long and fifteen short ones": (3, (141,) + (1,) * 15, (140,) + (0,) * 15),
}
LOST = {  # some games of these shapes, within few enough boards for a certificate
    "all cards in one column",
    "all but one of them face down",
    "no stock",
    "nearly all in the stock",
    "one card in sixteen columns",
}
RULES = list(
    itertools.product(
        (1, 2, 3, 4), ("blocked", "all", "non-empty"), ("suit", "colour", "any"), ("suit", "any"), (False, True)
    )
)
"""Suits, deal, unit, sets, wrap."""
NAMES = ("suits", "deal", "unit", "sets", "wrap")


def variants(path, shape):
    """Yield valid games of a shape under a good part of all rules, each with few and with all sets needed."""
    packs, columns, down = SHAPES[shape]
    for number, rules in enumerate(random.Random(shape).sample(RULES, 40)):
        fields = dict(zip(NAMES, rules, strict=True)) | {
            "id": "huge", "name": "Huge", "packs": packs, "columns": [*columns], "face_down": [*down],
            "sets_needed": (1, packs * 4)[number % 2],
        }  # fmt: skip
        text = "".join(
            f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}\n"
            for key, value in fields.items()
        )
        path.write_text(text)
        try:
            yield read_variant(path)
        except VariantError:  # a few units and sets make no game
            continue


def walked(board: Board, moves: int) -> Position:
    """Return the position after so many random moves, or fewer where there are none."""
    position, draw = Position(board), random.Random(board.seed)
    for _ in range(moves):
        legal = list(position.legal_moves())
        if not legal or position.won:
            break
        position.play(draw.choice(legal))
    return position


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_valid_is_dealt_written_read_solved_and_proved(shape, tmp_path):
    """The solver replays its wins; a small loss gets a certificate; and positions are boards like any other."""
    solver, games, certificates = Solver(), 0, 0
    for variant in variants(tmp_path / "huge.toml", shape):
        games += 1
        board = deal(variant, games)
        assert sum(map(len, (*board.columns, board.stock))) == variant.cards
        for start in (board, walked(board, 60).board()):
            for text in (board_text(start), json.dumps(board_json(start))):
                assert read_game(text, variant=variant).board == start
            outcome = solver.solve(start, 1_000)
            if outcome.verdict == "lost" and (certificate := prove(start, 2_000)):
                check_certificate(certificate)
                certificates += 1
    assert games > 20
    assert (certificates > 0) == (shape in LOST)
