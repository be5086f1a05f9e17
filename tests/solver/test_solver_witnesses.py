"""Witnesses of the referee: never on the way to a win, and where the engine's relaxation gives up, too."""

import os
import random

import numpy as np
import pytest

from pipeline.engine.exhaust import Exhaust
from pipeline.engine.records import Start
from pipeline.engine.relaxation import hopeless
from pipeline.engine.rigid import DEPTH, RIGID, STATE, stuck
from pipeline.game.deals import deal
from pipeline.game.lines import parse_line
from pipeline.game.moves import DEAL
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, variant_ids
from pipeline.referee.check import setting_of, slots_for
from pipeline.referee.piles import row_of
from pipeline.referee.relaxed import no_set, workspace
from pipeline.referee.still import no_set_from
from pipeline.referee.still import workspace as still_workspace
from pipeline.solver import engine_rules, folds


def witnessed(board, most=3_000):
    start = setting_of(board)
    row, stub = np.zeros((2, start.width), np.uint32)
    piles, index = np.zeros((4_000, 2), np.uint32), slots_for(4_000)
    row_of(start.tables[0], row, stub, piles, index, True)
    measures, states, slots, used = workspace(most)
    return no_set(start.tables[1], measures[0], stub, piles, start.deck, states, slots, used, most) > 0


STILL = still_workspace()


def still(board):
    table = setting_of(board).tables[0]
    return bool(no_set_from(table, STILL[0][0], STILL[1], STILL[2]))


def engine_start(board):
    columns, stock = board.columns, board.stock
    if folds(board.variant):
        columns = tuple(tuple(card & 15 for card in column) for column in columns)
        stock = tuple(card & 15 for card in stock)
    return Start(columns, board.face_down, stock, board.sets_done)


def test_no_board_on_the_way_to_a_win_has_a_witness(won_lines):
    boards = 0
    for variant, seed, line in won_lines:
        position = Position(deal(variant, seed))
        for move in parse_line(line):
            assert not witnessed(position.board(), 300), (variant.id, seed)
            assert not still(position.board()), (variant.id, seed)
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
        search.start(engine_start(board))
        with np.errstate(over="ignore"):
            given_up = bool(hopeless(search._board, search._relaxed[0]))
        assert witnessed(board) == given_up, seed
        agreed[given_up] += 1
    assert agreed[True] + agreed[False] == 8


@pytest.mark.parametrize(
    "name", ["simple-simon", "spiderette", "will-o-the-wisp", "mrs-mop", "spider-easy", "spider-relaxed"]
)
def test_the_engine_and_the_referee_find_the_same_boards_still(name):
    variant = load_variant(name)
    rng, search, agreed = random.Random(name), Exhaust(engine_rules(variant)), {True: 0, False: 0}
    memory, states = np.zeros(1, RIGID), np.zeros(DEPTH, STATE)
    for seed in range(int(os.environ.get("STILL_DEALS", "12"))):
        position = Position(deal(variant, seed))
        for _ in range(rng.choice((20, 60, 150))):
            moves = position.legal_moves()
            if not moves or position.won:
                break
            position.play(DEAL if DEAL in moves and rng.random() < 0.3 else rng.choice(moves))
        for _ in range(0 if position.stock else 6):
            moves = position.legal_moves()
            if not moves or position.won:
                break
            position.play(rng.choice(moves))
            search.start(engine_start(position.board()))
            memory[0].generation += 1
            with np.errstate(over="ignore"):
                given_up = bool(stuck(search._board, memory[0], states, 60))
            assert still(position.board()) == given_up, seed
            agreed[given_up] += 1
    assert sum(agreed.values()) > 10
