"""The rules on numbered cards: every card of a board its own, so that one can be followed through a line.

What shortening a line stands on: positions that never change, and a player that takes legality on trust (`legal` lists
what is legal, and the result is replayed by the referee anyway).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE
from pipeline.game.moves import DEAL, Move
from pipeline.game.sequences import sequences, suit_group

Column = tuple[int, ...]


class State(NamedTuple):
    """A position: columns of card numbers, face-down counts, cards dealt from the stock, sets gone."""

    columns: tuple[Column, ...]
    down: tuple[int, ...]
    dealt: int
    gone: int


class NumberedGame:
    """A board whose cards are numbered: columns first, then the stock; `values` tells which card a number is."""

    def __init__(self, board: Board) -> None:
        self.variant = board.variant
        self.values = [card for cards in (*board.columns, board.stock) for card in cards]
        numbers = iter(range(len(self.values)))
        columns = tuple(tuple(next(numbers) for _ in cards) for cards in board.columns)
        self.stock = tuple(numbers)
        self.start = State(columns, board.face_down, 0, board.sets_done)
        self._sets = sequences(self.variant.sets, self.variant.wrap)
        self.ranks = [card & 15 for card in self.values]
        # The rank a card may be laid on (none is 14), and what the rules for units tell apart of its suit.
        self.ranks_below = [ACE if self.variant.wrap and rank == KING else rank + 1 for rank in self.ranks]
        self.groups = [suit_group(self.variant.unit, card >> 4) for card in self.values]

    # ------------------------------------------------------------------ what fits

    def alike(self, card: int, other: int) -> bool:
        """Whether two numbers are copies of one card."""
        return self.values[card] == self.values[other]

    def fits(self, card: int, below: int) -> bool:
        """Whether a card may be laid on another."""
        return self.ranks_below[card] == self.ranks[below]

    def moves_with(self, card: int, below: int) -> bool:
        """Whether a card and the one below it are of one unit."""
        return self.ranks_below[card] == self.ranks[below] and self.groups[card] == self.groups[below]

    def is_unit(self, cards: Column) -> bool:
        """Whether cards, bottom to top, move together."""
        return all(map(self.moves_with, cards[1:], cards))

    # ------------------------------------------------------------------ moves

    def legal(self, state: State) -> Iterator[Move]:
        """Yield the moves of a position, deals apart; of empty columns only the first once the stock is out."""
        stock_left = state.dealt < len(self.stock)
        empty: list[int] = []
        tops: list[list[int]] = [[] for _ in range(KING + 2)]  # columns by the rank on top
        for column, cards in enumerate(state.columns):
            (tops[self.ranks[cards[-1]]] if cards else empty).append(column)
        targets_at_bottom = empty if stock_left else []
        targets_above = empty if stock_left else empty[:1]
        for source, cards in enumerate(state.columns):
            for count in range(1, len(cards) - state.down[source] + 1):
                head = cards[-count]
                if count > 1 and not self.moves_with(cards[1 - count], head):
                    break
                for target in tops[self.ranks_below[head]]:
                    if target != source:
                        yield Move(source, target, count)
                for target in targets_at_bottom if count == len(cards) else targets_above:
                    yield Move(source, target, count)

    def play(self, state: State, move: Move) -> State | None:
        """Return the position after a move, which must be legal; None if it is a deal that is not."""
        if move == DEAL:
            return self._deal(state)
        columns, down = list(state.columns), list(state.down)
        source, target, count = move
        cards = columns[source]
        columns[target] += cards[-count:]
        columns[source] = cards[:-count]
        if down[source] and down[source] == len(columns[source]):
            down[source] -= 1
        gone = state.gone + self._remove_set(columns, down, target)
        return State(tuple(columns), tuple(down), state.dealt, gone)

    def _deal(self, state: State) -> State | None:
        columns, down, gone = list(state.columns), list(state.down), state.gone
        if self.variant.deal == "blocked" and not all(columns):
            return None
        targets = list(range(len(columns)))
        if self.variant.deal == "non-empty":
            targets = [column for column in targets if columns[column]] or [0]
        row = self.stock[state.dealt : state.dealt + len(targets)]
        for column, card in zip(targets, row, strict=False):
            columns[column] += (card,)
        for column in targets:
            gone += self._remove_set(columns, down, column)
        return State(tuple(columns), tuple(down), state.dealt + len(row), gone) if row else None

    def _remove_set(self, columns: list[Column], down: list[int], column: int) -> int:
        """Remove a set from a column, in place, and turn up what it leaves; returns how many sets."""
        cards = columns[column]
        if len(cards) - down[column] < SET_SIZE or not (self.variant.wrap or self.values[cards[-1]] & 15 == ACE):
            return 0
        if bytes([self.values[card] for card in cards[-SET_SIZE:]]).translate(self._sets.fold) not in self._sets.whole:
            return 0
        columns[column] = cards[:-SET_SIZE]
        if down[column] and down[column] == len(columns[column]):
            down[column] -= 1
        return 1
