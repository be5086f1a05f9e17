"""Playouts: a simple player plays a deal to its end several times, and its wins are counted.

The player sees what a person sees, moves whole units only, and never looks ahead. In this order of preference it

1. joins a unit to one that it continues;
2. lays a unit on any card one rank higher, unless it lies on such a card already; if possible, so that a card turns up
   or a column empties;
3. moves a unit into an empty column, unless it lies on a card one rank higher;
4. deals.

Among equal moves it takes the first, going through the columns in turn from a random one. Each kind of move orders
cards or uncovers one, so a playout ends.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE
from pipeline.game.sequences import suit_group
from pipeline.game.variants import Variant

_MULTIPLIER, _INCREMENT, _MASK64 = 6364136223846793005, 1442695040888963407, 2**64 - 1  # Knuth's MMIX generator
_NOWHERE = 15  # a rank no card has


class Playouts(NamedTuple):
    """The result of playouts: how many won, and the sets removed in all of them together."""

    won: int
    sets: int


def play_out(board: Board, count: int) -> Playouts:
    """Play a board to its end several times.

    Parameters
    ----------
    board
        A deal, or a board on the table.
    count
        How many playouts.

    Returns
    -------
    Playouts
        The same for the same board on every machine.
    """
    seed = zlib.crc32(b"|".join(bytes(cards) for cards in (*board.columns, board.stock)))
    tables = _tables(board.variant)
    left = [_Game(board, tables, (seed << 32 | number) * _MULTIPLIER & _MASK64).play() for number in range(count)]
    return Playouts(left.count(0), board.variant.sets_needed * count - sum(left))


class _Tables(NamedTuple):
    """A variant's rules by card: the rank it may lie on, and keys of the cards it joins in a unit and in a set."""

    onto: bytes
    unit: bytes
    unit_below: bytes
    sets: bytes
    sets_below: bytes
    wraps: bool


@lru_cache(maxsize=64)
def _tables(variant: Variant) -> _Tables:
    def key(kind: str, card: int) -> int:
        return 64 | suit_group(kind, card >> 4) << 4 | card & 15

    def below(kind: str, card: int) -> int:
        return 64 | suit_group(kind, card >> 4) << 4 | onto(card)

    def onto(card: int) -> int:
        return (ACE if variant.wrap else _NOWHERE) if card & 15 == KING else (card & 15) + 1

    cards = range(64)
    return _Tables(
        bytes(map(onto, cards)),
        bytes(key(variant.unit, card) for card in cards),
        bytes(below(variant.unit, card) for card in cards),
        bytes(key(variant.sets, card) for card in cards),
        bytes(below(variant.sets, card) for card in cards),
        variant.wrap,
    )


class _Game:
    """One playout.

    `starts` is where each column's top unit begins. `by_rank` has for each rank the columns with such a top card, as
    bits (rank 0: empty columns). `needs` is the rank that the lowest card of each column's top unit may lie on.
    """

    __slots__ = (
        "by_rank",
        "columns",
        "down",
        "left",
        "needs",
        "policy",
        "starts",
        "state",
        "stock",
        "tables",
        "turns",
        "width",
    )

    def __init__(self, board: Board, tables: _Tables, state: int) -> None:
        self.policy = board.variant.deal
        self.tables = tables
        self.columns = [list(cards) for cards in board.columns]
        self.down = list(board.face_down)
        self.stock = list(board.stock)
        self.left = board.variant.sets_needed - board.sets_done
        self.state = state
        self.width = len(self.columns)
        self.turns = _turns(self.width)
        self.starts = [0] * self.width
        self.by_rank = [0] * 16
        self.needs = [_NOWHERE] * self.width
        for column, cards in enumerate(self.columns):
            self.by_rank[cards[-1] & 15 if cards else 0] |= 1 << column
            self._find_start(column)

    def play(self) -> int:
        """Play to the end and return the sets left."""
        while self.left > 0 and (self._move() or self._use_empty_column() or self._deal()):
            pass
        return self.left

    def _move(self) -> bool:
        """Make a move of the first or second kind."""
        unit, unit_below = self.tables.unit, self.tables.unit_below
        columns, starts, down, by_rank, needs = self.columns, self.starts, self.down, self.by_rank, self.needs
        best, best_target, best_worth = -1, -1, 0
        for source in self._columns():
            targets = by_rank[needs[source]]
            if not targets:
                continue
            cards, start, hidden = columns[source], starts[source], down[source]
            wanted = unit_below[cards[start]]
            other = -1
            while targets:
                target = targets.bit_length() - 1
                targets ^= 1 << target
                if target != source:
                    if unit[columns[target][-1]] == wanted:
                        self._shift(source, target)
                        return True
                    other = target
            if start == hidden:
                worth = 2 if hidden else 3
            elif cards[start - 1] & 15 != needs[source]:
                worth = 1
            else:
                continue
            if worth > best_worth and other >= 0:
                best, best_target, best_worth = source, other, worth
        if best < 0:
            return False
        self._shift(best, best_target)
        return True

    def _use_empty_column(self) -> bool:
        """Make a move of the third kind, with the unit that has the fewest face-down cards below it."""
        empty = self.by_rank[0]
        if not empty:
            return False
        best, fewest = -1, 1 << 30
        for source in self._columns():
            cards, start, hidden = self.columns[source], self.starts[source], self.down[source]
            if start and (start == hidden or cards[start - 1] & 15 != self.needs[source]) and hidden < fewest:
                best, fewest = source, hidden
        if best < 0:
            return False
        self._shift(best, empty.bit_length() - 1)
        return True

    def _deal(self) -> bool:
        """Deal a row, first filling empty columns with single cards if the rules demand it."""
        if not self.stock:
            return False
        if self.policy == "blocked":
            while empty := self.by_rank[0]:
                source = next((c for c in self._columns() if len(self.columns[c]) > 1), None)
                if source is None:
                    return False
                self.starts[source] = len(self.columns[source]) - 1  # only the top card moves
                self._shift(source, empty.bit_length() - 1)
        targets = list(range(self.width))
        if self.policy == "non-empty":
            targets = [column for column in targets if self.columns[column]] or [0]
        row, self.stock = self.stock[: len(targets)], self.stock[len(targets) :]
        for column, card in zip(targets, row, strict=False):
            self._top_changes(column, self.columns[column] + [card])
        for column in targets[: len(row)]:
            self._find_start(column)
            self._remove_sets(column)
        return True

    def _columns(self) -> tuple[int, ...]:
        """Return all columns in turn, from a random one."""
        self.state = state = self.state * _MULTIPLIER + _INCREMENT & _MASK64
        return self.turns[(state >> 33) % self.width]

    def _shift(self, source: int, target: int) -> None:
        """Move the top unit of a column onto another."""
        starts, by_rank, tables = self.starts, self.by_rank, self.tables
        cards, onto, start = self.columns[source], self.columns[target], starts[source]
        head, last = cards[start], cards[-1] & 15
        by_rank[last] ^= 1 << source | 1 << target
        if not onto:
            by_rank[0] ^= 1 << target
            starts[target] = 0
            self.needs[target] = tables.onto[head]
        else:
            top = onto[-1]
            by_rank[top & 15] ^= 1 << target
            if tables.unit[top] != tables.unit_below[head]:
                starts[target] = len(onto)
                self.needs[target] = tables.onto[head]
        onto += cards[start:]
        del cards[start:]
        by_rank[cards[-1] & 15 if start else 0] |= 1 << source
        if self.down[source] == start > 0:
            self.down[source] = start - 1
        self._find_start(source)
        if last == ACE or tables.wraps:
            self._remove_sets(target)

    def _top_changes(self, column: int, cards: list[int]) -> None:
        old, bit = self.columns[column], 1 << column
        self.by_rank[old[-1] & 15 if old else 0] ^= bit
        self.by_rank[cards[-1] & 15 if cards else 0] |= bit
        self.columns[column] = cards

    def _find_start(self, column: int) -> None:
        """Set where a column's top unit begins."""
        onto, unit, below, *_ = self.tables
        cards, least = self.columns[column], self.down[column]
        start = len(cards) - 1
        while start > least and unit[cards[start - 1]] == below[cards[start]]:
            start -= 1
        self.starts[column] = max(start, 0)
        self.needs[column] = onto[cards[start]] if cards else _NOWHERE

    def _remove_sets(self, column: int) -> None:
        """Remove complete sets from the top of a column, and turn up the card below."""
        same, below = self.tables.sets, self.tables.sets_below
        while True:
            cards, down = self.columns[column], self.down[column]
            first = len(cards) - SET_SIZE
            if first < down or (cards[-1] & 15 != ACE and not self.tables.wraps):
                return
            if any(same[cards[i - 1]] != below[cards[i]] for i in range(len(cards) - 1, first, -1)):
                return
            self.left -= 1
            self._top_changes(column, cards[:first])
            if down == first > 0:
                self.down[column] = first - 1
            self._find_start(column)


@lru_cache
def _turns(width: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple((first + i) % width for i in range(width)) for first in range(width))
