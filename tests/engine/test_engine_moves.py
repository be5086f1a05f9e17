"""The engine's moves against the referee's: on walks over all variants, and on orderly boards of any rules."""

from __future__ import annotations

import itertools
import random

import pytest
from engine_table import Child, Table, any_variant, orderly_board, same_position, start_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.engine.records import DEAL
from pipeline.engine.table import DOWN_SIG
from pipeline.game.codes import engine_move, engine_number
from pipeline.game.deals import deal
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, variant_ids
from pipeline.solver import Solver, engine_rules

RULES = [  # those that a variant may have
    (deal, unit, sets, wrap)
    for deal, unit, sets, wrap in itertools.product(
        ("blocked", "all", "non-empty"), ("suit", "colour", "any"), ("suit", "any"), (False, True)
    )
    if not wrap or unit == sets != "colour"
]


def down_sig(downs):
    return sum(int(DOWN_SIG[i, n]) for i, n in enumerate(downs))


class Walk:
    """A game played by the referee and the engine side by side, every successor of every position compared."""

    def __init__(self, board):
        self.position = Position(board)
        self.table = Table(engine_rules(board.variant))
        self.table.lay(start_of(board))
        self.sig = down_sig(board.face_down)
        self.keys = {}
        self.places = {}

    def compare(self, child: Child) -> None:
        """The engine's child is the referee's position, under the key of that position and of no other."""
        start = start_of(self.position)
        assert self.table.cards_of(child.columns) == (start.columns, start.face_down)
        assert child.done == start.sets_done
        assert self.table.m.stock_size - child.dealt == len(start.stock)
        place = same_position(start)
        assert self.keys.setdefault(place, child.key) == child.key
        assert self.places.setdefault(child.key, place) == place
        assert child.listed_key in (None, child.key)
        assert child.sig == (down_sig(start.face_down) - self.sig) % 2**32

    def step(self) -> list[Child]:
        children = self.table.children()
        legal = self.position.legal_moves()
        assert sorted(child.move for child in children) == sorted(map(engine_number, legal))
        for child in children:
            played = self.position.play(engine_move(child.move))
            self.compare(child)
            self.position.undo(played)
        return children

    def play(self, child: Child) -> None:
        self.position.play(engine_move(child.move))
        self.table.go(child)


def walk(board, steps: int, rng: random.Random, deals: float) -> Walk:
    """Walk about at random, dealing now and then."""
    game = Walk(board)
    for _ in range(steps):
        children = game.step()
        if not children or game.position.won:
            break
        at = rng.choice(children)
        if children[-1].move == DEAL and rng.random() < deals:
            at = children[-1]
        game.play(at)
    return game


@pytest.mark.parametrize("variant", variant_ids())
def test_walks(variant):
    variant = load_variant(variant)
    for seed in range(2):
        walk(deal(variant, seed), 60, random.Random(seed), 0.15)


@pytest.fixture(scope="module")
def won_games():
    """Boards and their won lines, every kind of deal and set among them."""
    solver = Solver()
    games = []
    for name in (
        "spider-1",
        "grounds-for-a-divorce",
        "spider-relaxed",
        "spider-easy",
        "grounds-for-a-divorce-pysol",
        "spider-free-deal",
        "black-widow",
        "spiderette",
        "big-divorce",
    ):
        for seed in range(10):
            board = deal(load_variant(name), seed)
            line = solver.solve(board, 30_000).line
            if line:
                games.append((board, parse_line(line)))
                break
    assert len(games) == 9
    return games


def test_won_lines(won_games):
    for board, line in won_games:
        game = Walk(board)
        for number, move in enumerate(line):
            children = game.table.children() if number % 3 else game.step()
            game.play(next(child for child in children if child.move == engine_number(move)))
        assert game.position.won
        assert game.step() == []


@settings(max_examples=120, deadline=None)
@given(st.integers(3, 16), st.sampled_from(RULES), st.integers(0, 2**32), st.integers(0, 40))
def test_orderly_boards(columns, rules, seed, disorder):
    board = orderly_board(any_variant(columns, *rules), seed, disorder)
    assume(board)
    walk(board, 25, random.Random(seed), 0.3)


@given(st.integers(3, 16), st.integers(0, 2**32), st.integers(0, 40), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_of_columns_counts_only_while_there_is_stock(columns, seed, disorder, rng):
    board = orderly_board(any_variant(columns, "blocked", "suit", "suit", False), seed, disorder)
    assume(board)
    table = Table(engine_rules(board.variant))
    start = start_of(board)
    order = rng.sample(range(columns), columns)
    other = start._replace(
        columns=tuple(start.columns[i] for i in order), face_down=tuple(start.face_down[i] for i in order)
    )
    keys = []
    for each in (start, other):
        table.lay(each)
        keys.append(int(table.m.root.key))
    assert (keys[0] == keys[1]) == (same_position(start) == same_position(other))


def test_face_down_marks_are_part_of_the_key():
    table = Table(engine_rules(load_variant("spider-4")))
    start = start_of(deal(load_variant("spider-4"), 1))
    keys = set()
    for k in range(6):
        table.lay(start._replace(face_down=(k, *start.face_down[1:])))
        keys.add(int(table.m.root.key))
    assert len(keys) == 6
