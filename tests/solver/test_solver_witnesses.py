"""Witnesses of the referee: never on the way to a win, and where the engine's relaxation gives up, too."""

import random

import numpy as np
import pytest

from pipeline.engine.exhaust import Exhaust
from pipeline.engine.records import Start
from pipeline.engine.relaxation import hopeless
from pipeline.game.deals import deal
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, variant_ids
from pipeline.referee.check import setting_of, slots_for
from pipeline.referee.piles import row_of
from pipeline.referee.relaxed import no_set, workspace
from pipeline.solver import engine_rules, folds


def witnessed(board, most=3_000):
    start = setting_of(board)
    row, stub = np.zeros((2, start.width), np.uint32)
    piles, index = np.zeros((4_000, 2), np.uint32), slots_for(4_000)
    row_of(start.tables[0], row, stub, piles, index, True)
    measures, states, slots, used = workspace(most)
    return no_set(start.tables[1], measures[0], stub, piles, start.deck, states, slots, used, most) > 0


def test_no_board_on_the_way_to_a_win_has_a_witness(won_lines):
    boards = 0
    for variant, seed, line in won_lines:
        position = Position(deal(variant, seed))
        for move in parse_line(line):
            assert not witnessed(position.board(), 300), (variant.id, seed)
            position.play(move)
            boards += 1
    assert boards > 1_000


@pytest.mark.parametrize("name", [name for name in variant_ids() if not load_variant(name).wrap])
def test_the_engine_and_the_referee_give_up_the_same_boards(name):
    variant = load_variant(name)
    rng, search, agreed = random.Random(name), Exhaust(engine_rules(variant)), {True: 0, False: 0}
    for seed in range(8):
        position = Position(deal(variant, seed))
        for _ in range(60):
            moves = position.legal_moves()
            if not moves or position.won:
                break
            position.play(rng.choice(moves))
        board = position.board()
        columns, stock = board.columns, board.stock
        if folds(variant):
            columns = tuple(tuple(card & 15 for card in column) for column in columns)
            stock = tuple(card & 15 for card in stock)
        search.start(Start(columns, board.face_down, stock, board.sets_done))
        with np.errstate(over="ignore"):
            given_up = bool(hopeless(search._board, search._relaxed[0]))
        assert witnessed(board) == given_up, seed
        agreed[given_up] += 1
    assert agreed[True] + agreed[False] == 8
