"""What a pass leaves out of the complete move list, and that it leaves out nothing else."""

from __future__ import annotations

import itertools
import random

import pytest
from engine_table import Table, any_variant, orderly_board, start_of
from engine_twins import runs_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.engine.moves import NO_SPLIT, SPLIT_ANYWHERE, SPLIT_ONTO_SUIT
from pipeline.engine.records import DEAL, Start
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant, variant_ids
from pipeline.solver import engine_rules

FORCE, CONSIDERATE, TURNS = 1, 2, 4


class Filter:
    """The documented meaning of the filters, from the cards of a position."""

    def __init__(self, rules, start: Start):
        self.rules, self.start = rules, start
        self.runs = [runs_of(rules, cards[down:]) for cards, down in zip(start.columns, start.face_down, strict=True)]
        self.empty = next((i for i, cards in enumerate(start.columns) if not cards), None)

    def whole(self, source: int, count: int) -> bool:
        """Whether so many cards are whole runs."""
        return count in itertools.accumulate(len(run) for run in reversed(self.runs[source]))

    def onto_suit(self, source: int, target: int, count: int) -> bool:
        card, onto = self.start.columns[source][-count], self.start.columns[target]
        return bool(onto) and card >> 4 == onto[-1] >> 4

    def keeps(self, move: int, split: int) -> bool:
        source, target, count = move & 15, move >> 4 & 15, move >> 8
        if not self.whole(source, count):
            short = count < len(self.runs[source][-1])
            return split == SPLIT_ONTO_SUIT and short and self.onto_suit(source, target, count)
        if self.start.columns[target]:
            return True
        return target == self.empty and count < len(self.start.columns[source])

    def joins(self, move: int) -> bool:
        source, target, count = move & 15, move >> 4 & 15, move >> 8
        return count == len(self.runs[source][-1]) and self.onto_suit(source, target, count)

    def contended(self, move: int) -> bool:
        """Whether more top runs fit where the moved one does, by rank, than there are such places."""
        source, target = move & 15, move >> 4 & 15
        heads = [runs[-1][0] & 15 for runs in self.runs if runs]
        tops = [cards[-1] & 15 for cards in self.start.columns if cards]
        return heads.count(self.runs[source][-1][0] & 15) > tops.count(self.start.columns[target][-1] & 15)

    def turns(self, move: int) -> bool:
        """Whether all that is face up of a column goes elsewhere, and is no join."""
        source, target, count = move & 15, move >> 4 & 15, move >> 8
        if len(self.runs[source]) != 1 or count != len(self.runs[source][-1]) or self.can_join(source):
            return False
        if self.start.columns[target]:
            return True
        return target == self.empty and self.start.face_down[source] > 0

    def can_join(self, source: int) -> bool:
        """Whether a column's top run has a place on its own suit."""
        head = self.runs[source][-1][0]
        above = head - 12 if self.rules.wrap and head & 15 == 13 else head + 1
        return any(cards and cards[-1] == above for cards in self.start.columns)


def check(table: Table) -> None:
    """Compare all filters at the root with the complete list."""
    every = table.children(SPLIT_ANYWHERE)
    cards = table.cards_of(table.m.root.cols.tolist())
    rules = table.rules
    left = Filter(rules, Start(*cards, (), 0))
    moves = [child.move for child in every if child.move != DEAL]
    deals = [child.move for child in every if child.move == DEAL]
    for split in (NO_SPLIT, SPLIT_ONTO_SUIT):
        kept = [move for move in moves if left.keeps(move, split)]
        joins = [move for move in moves if left.joins(move)]
        assert sorted(child.move for child in table.children(split, 0)) == sorted(kept + deals)
        assert sorted(child.move for child in table.children(split, FORCE)) == sorted(joins or kept + deals)
        turns = [move for move in moves if left.turns(move)] if joins else []
        assert sorted(child.move for child in table.children(split, FORCE | TURNS)) == sorted(
            joins + turns or kept + deals
        )
        free = [move for move in joins if not left.contended(move)]
        assert sorted(child.move for child in table.children(split, FORCE | CONSIDERATE)) == sorted(
            free or kept + deals
        )


def walk(table: Table, steps: int, rng: random.Random) -> None:
    for _ in range(steps):
        check(table)
        children = table.children()
        if not children:
            break
        table.go(rng.choice(children))


@pytest.mark.parametrize("variant", variant_ids())
def test_deals(variant):
    variant = load_variant(variant)
    table = Table(engine_rules(variant))
    table.lay(start_of(deal(variant, 7)))
    walk(table, 40, random.Random(variant.id))


@settings(max_examples=80, deadline=None)
@given(st.integers(3, 16), st.sampled_from([("suit", False), ("colour", False), ("any", False), ("suit", True)]),
       st.integers(0, 2**32), st.integers(0, 40))  # fmt: skip
def test_orderly_boards(columns, rules, seed, disorder):
    unit, wrap = rules
    board = orderly_board(any_variant(columns, "non-empty", unit, "suit", wrap), seed, disorder)
    assume(board)
    table = Table(engine_rules(board.variant))
    table.lay(start_of(board))
    walk(table, 10, random.Random(seed))
