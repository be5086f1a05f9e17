"""Shortcuts: a way from one position of a line to a later one in fewer moves.

A move changes what lies below just one card, the lowest it moves. So at least as many moves are needed as there are
cards that are to lie on something else than they do. A search that never exceeds the moves allowed, less that bound,
is small: most often it may spend but one or two moves that bring no card where it belongs.
"""

from __future__ import annotations

from pipeline.game.moves import Move
from pipeline.game.numbered import Column, NumberedGame, State

_TABLE = -1  # what the lowest card of a column lies on


class ShortcutSearch:
    """One search, depth first, for a way of at most `limit` moves between two positions with no deal between.

    Parameters
    ----------
    game
        The board.
    start, goal
        The positions.
    removed
        The sets that leave in between, each bottom to top.
    limit
        Moves allowed.
    most_nodes
        Positions to expand before it is given up.
    """

    def __init__(
        self, game: NumberedGame, start: State, goal: State, removed: list[Column], limit: int, most_nodes: int
    ) -> None:
        self.game = game
        self.start = start
        self.goal = goal
        self.limit = limit
        self.nodes_left = most_nodes
        # Once the stock is out, it does not matter which column is which.
        self.ordered = goal.dealt < len(game.stock)
        self.wanted_columns = self._columns_of(goal)
        # What each card is to lie on; a set may begin anywhere.
        self.wanted = _below(goal)
        for cards in removed:
            self.wanted |= dict(zip(cards[1:], cards, strict=False))
            self.wanted.pop(cards[0], None)
        self.reached: dict[tuple[tuple[Column, ...], tuple[int, ...]], int] = {}
        self.path: list[Move] = []
        self.end = start

    def find(self) -> list[Move] | None:
        """Return the moves, after which `end` is where they lead: the goal but for the order of columns; or None."""
        below = _below(self.start)
        misplaced = sum(below[card] != wanted for card, wanted in self.wanted.items())
        if misplaced <= self.limit and self._search(self.start, 0, misplaced):
            return self.path
        return None

    def _columns_of(self, state: State) -> list[tuple[Column, int]]:
        columns = list(zip(state.columns, state.down, strict=True))
        return columns if self.ordered else sorted(columns)

    def _search(self, state: State, made: int, misplaced: int) -> bool:
        """Search from a position `made` moves from the start, with `misplaced` cards not where they are to lie."""
        if not misplaced and state.gone == self.goal.gone and self._columns_of(state) == self.wanted_columns:
            self.end = state
            return True
        if made >= self.limit or not self.nodes_left:
            return False
        self.nodes_left -= 1
        for misplaced_then, move in self._promising(state, misplaced, self.limit - made - 1):
            following = self.game.play(state, move)
            assert following is not None
            key = following.columns, following.down
            if self.reached.get(key, self.limit + 1) <= made + 1:
                continue
            self.reached[key] = made + 1
            self.path.append(move)
            if self._search(following, made + 1, misplaced_then):
                return True
            self.path.pop()
        return False

    def _promising(self, state: State, misplaced: int, left: int) -> list[tuple[int, Move]]:
        """Return the moves after which no more cards are misplaced than moves are left, the best first."""
        moves = []
        for move in self.game.legal(state):
            source, target = state.columns[move.source], state.columns[move.target]
            at = len(source) - move.cards
            then = misplaced
            wanted = self.wanted.get(source[at])
            if wanted is not None:
                then += (wanted != (target[-1] if target else _TABLE)) - (wanted != (source[at - 1] if at else _TABLE))
            if then <= left:
                moves.append((then, move))
        moves.sort(key=lambda pair: pair[0])
        return moves


def _below(state: State) -> dict[int, int]:
    """Return what each card lies on."""
    return {card: below for cards in state.columns for card, below in zip(cards, (_TABLE, *cards), strict=False)}
