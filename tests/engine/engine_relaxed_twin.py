"""A plain twin of the relaxed game, written from the docstring of `pipeline.engine.relaxation`.

Nothing is counted along: every state is told by which chains of its columns are uncovered and which dealt cards have
not left, and all numbers are counted anew from that. No state is left out before it is looked at.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from pipeline.engine.records import ANY_SUIT, DEAL_NON_EMPTY, SAME_COLOUR, SAME_SUIT, Rules, Start

RANKS = range(1, 14)
KING = 13


class TooLargeError(Exception):
    """More states than asked for."""


class State(NamedTuple):
    """Chains uncovered and rows whose cards have not left, by column; what each dealt row could lock, by rank."""

    uncovered: tuple[int, ...]
    pending: tuple[tuple[int, ...], ...]
    could_lock: tuple[tuple[int, ...], ...]


class Counts(NamedTuple):
    """What (*) is about."""

    uncovered: Counter[int]  # n
    free: Counter[int]  # f
    ready: set[int]  # kinds of free cards
    kings: set[int]  # kinds of Kings that are bound
    open: int  # e


class RelaxedGame:
    """The relaxed game from a position; wrapping has none."""

    def __init__(self, rules: Rules, start: Start) -> None:
        self.rules = rules
        self.chains = [chains_of(column) for column in start.columns]
        width = rules.columns
        self.rows = [start.stock[at : at + width] for at in range(0, len(start.stock), width)]
        self.states = 0

    def first(self) -> State:
        """The position itself: the top chain of each column is uncovered."""
        return State(tuple(min(1, len(chains)) for chains in self.chains), ((),) * len(self.chains), ())

    def no_set_possible(self, most_states: int) -> bool:
        """Whether no state that can be reached allows a set."""
        seen, waiting = {self.first()}, [self.first()]
        while waiting:
            self.states += 1
            if self.states > most_states:
                raise TooLargeError
            state = waiting.pop()
            if self.allows_set(state) or self.ends_without_a_claim(state):
                return False
            for following in [*(self.leave(state, column) for column in range(len(self.chains))), self.deal(state)]:
                if following is not None and following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return True

    def kind(self, card: int) -> int:
        """The card as sets see it."""
        return card & 15 if self.rules.sets == ANY_SUIT else card

    # ------------------------------------------------------------------ moves

    def leave(self, state: State, column: int) -> State | None:
        """The lowest bound card that may go leaves: the last one dealt, or else that of the lowest uncovered chain."""
        rows, uncovered = state.pending[column], state.uncovered[column]
        if rows:
            after = state._replace(pending=changed(state.pending, column, rows[:-1]))
            return after if self.holds(after, self.count(after)) else None
        if uncovered == len(self.chains[column]):
            return None  # the column is open, nothing in it is bound
        if not self.may_land(state, self.count(state, left=column), self.chains[column][-uncovered][0]):
            return None
        return state._replace(uncovered=changed(state.uncovered, column, uncovered + 1))

    def may_land(self, state: State, counts: Counts, card: int) -> bool:
        """Whether (*) holds with a unit that the card heads and whose last card carries nothing."""
        for last in range(card & 15, 0, -1):
            if last < card & 15 and not any(self.kind(other) in counts.ready for other in self.followers(card, last)):
                return False
            if self.holds(state, counts._replace(uncovered=counts.uncovered - Counter([last]))):
                return True
        return False

    def followers(self, card: int, rank: int) -> list[int]:
        """The cards of a rank that may lie in one unit with a card."""
        black = (0, 3)
        same = {
            SAME_SUIT: lambda suit: suit == card >> 4,
            SAME_COLOUR: lambda suit: (suit in black) == (card >> 4 in black),
            ANY_SUIT: lambda suit: True,
        }[self.rules.unit]
        return [suit << 4 | rank for suit in range(4) if same(suit)]

    def deal(self, state: State) -> State | None:
        """Deal the next row; note how many tails of each rank it may lock: of those without a burden."""
        number = len(state.could_lock)
        if number == len(self.rows):
            return None
        counts = self.count(state)
        spare = [counts.uncovered[q] - counts.free[q - 1] + counts.open for q in RANKS]
        could_lock = tuple(max(0, min(n, counts.uncovered[q])) for q, n in zip(RANKS, spare, strict=True))
        pending = list(state.pending)
        for column in range(len(self.rows[number])):
            pending[column] += (number,)
        return State(state.uncovered, tuple(pending), (*state.could_lock, could_lock))

    def ends_without_a_claim(self, state: State) -> bool:
        rows_left = len(state.could_lock) < len(self.rows)
        return rows_left and self.rules.deal == DEAL_NON_EMPTY and self.count(state).open > 0

    # ------------------------------------------------------------------ what is where

    def count(self, state: State, left: int | None = None) -> Counts:
        """Count anew; `left` is a column whose bound card has just left, and what it uncovers does not count yet."""
        free, bound, is_open = list[int](), list[int](), 0
        for column, chains in enumerate(self.chains):
            uncovered = chains[len(chains) - state.uncovered[column] :]
            cards = [card for chain in uncovered for card in chain]
            if state.uncovered[column] == len(chains):
                is_open += 1
            elif column != left:
                bound.append(cards.pop(0))
            free += cards
            for number, row in enumerate(self.rows[: len(state.could_lock)]):
                if column < len(row):
                    (bound if number in state.pending[column] else free).append(row[column])
        return Counts(
            Counter(card & 15 for card in free + bound),
            Counter(card & 15 for card in free),
            {self.kind(card) for card in free},
            {self.kind(card) for card in bound if card & 15 == KING},
            is_open,
        )

    def holds(self, state: State, counts: Counts) -> bool:
        """Whether (*) holds, tails locked as is best for the player.

        Cards dealt and not left lock a tail each, as many of a rank as their rows could lock. One that finds none is in
        an open column itself.
        """
        locking = Counter(row for rows in state.pending for row in rows)
        cheapest = {0: 0}  # by the number of tails locked so far, rank by rank
        for q in RANKS:
            most = sum(state.could_lock[row][q - 1] for row in locking)
            costs: dict[int, int] = {}
            for before, cost in cheapest.items():
                for locked in range(min(most, locking.total() - before) + 1):
                    lacking = max(0, counts.free[q - 1] + locked - counts.uncovered[q])
                    costs[before + locked] = min(costs.get(before + locked, 999), cost + lacking)
            cheapest = costs
        best = min(cost + locking.total() - locked for locked, cost in cheapest.items())
        return best + counts.free[KING] <= counts.open

    def allows_set(self, state: State) -> bool:
        """Whether a set may be complete: its cards are free, the King perhaps bound, and (*) holds without them."""
        counts = self.count(state)
        for suit in range(4):
            *others, king = (suit << 4 | rank for rank in RANKS)
            if not counts.ready.issuperset(others):
                continue
            rest = counts._replace(
                uncovered=counts.uncovered - Counter(RANKS), free=counts.free - Counter(range(1, KING))
            )
            if king in counts.kings and self.holds(state, rest):
                return True
            # With a free King it lies on the table of an open column, where nothing else does.
            alone = rest._replace(free=rest.free - Counter([KING]), open=rest.open - 1)
            if king in counts.ready and self.holds(state, alone):
                return True
        return False


def chains_of(column: tuple[int, ...]) -> list[list[int]]:
    """Cut a column, bottom to top, wherever a card does not lie on one a rank higher."""
    chains: list[list[int]] = []
    for card in column:
        if chains and chains[-1][-1] & 15 == (card & 15) + 1:
            chains[-1].append(card)
        else:
            chains.append([card])
    return chains


def changed(values: tuple, at: int, value: object) -> tuple:
    return (*values[:at], value, *values[at + 1 :])
