"""Shortening a won line: fewer moves that win the same board.

A search makes needless moves: there and back, by way of a third column, a run taken apart and put together again. Two
ways to find them take turns until neither finds more:

- *Edits.* A move is left out, or sent to another column, and the rest is replayed by what it means: not "from column 3
  to column 8" but "this card, with what lies on it, onto that one". So a move that has become needless (the card lies
  there already) or impossible drops out by itself. If that way joins the old one, or wins, in fewer moves, it replaces
  it.
- *Shortcuts.* Between two positions of the line, some moves apart and with no deal between, a search looks for a
  shorter way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pipeline.game.boards import Board
from pipeline.game.cards import SET_SIZE
from pipeline.game.lines import encode_line, parse_line
from pipeline.game.moves import DEAL, Move
from pipeline.game.numbered import Column, NumberedGame, State
from pipeline.game.rules import win_of
from pipeline.game.shortcuts import ShortcutSearch

MOST_LOST = 6  # moves that may become impossible before an edit is given up
SPAN = 14  # moves between the positions a shortcut joins
STRIDE = 2  # moves between the starts of two searches
NODES_A_SEARCH = 150
NODES_A_LINE = 15_000  # bounds the time; few lines come near


def shorten(board: Board, line: str) -> str:
    """Return a line that wins the board in as many moves as a won one, or fewer.

    Raises
    ------
    LineError
        The line does not win the board.
    """
    win_of(board, line)
    way = _Way(NumberedGame(board), parse_line(line))
    while way.edit() + way.take_shortcuts():
        pass
    shorter = encode_line(way.moves)
    win_of(board, shorter)
    return shorter


class _Intent(NamedTuple):
    """What a move means: a card goes onto another one, or onto an empty column (`onto` None); `card` None deals."""

    card: int | None
    onto: int | None
    move: Move


_NEEDLESS = Move(0, 0, 0)  # what is meant is so already


class _Way:
    """A line: its moves, the positions between them (one more), and what each move means."""

    def __init__(self, game: NumberedGame, moves: list[Move]) -> None:
        self.game = game
        self.moves = moves
        self.states: list[State] = []
        self.intents: list[_Intent] = []
        self.nodes_left = NODES_A_LINE
        self.no_shortcut: set[tuple[State, State]] = set()
        self._replay_from(0, game.start)

    def _replay_from(self, at: int, state: State) -> None:
        """Set positions and meanings anew from a move on."""
        del self.states[at:], self.intents[at:]
        self.states.append(state)
        for move in self.moves[at:]:
            self.intents.append(_meaning(state, move))
            following = self.game.play(state, move)
            assert following is not None
            state = following
            self.states.append(state)
            if self._won(state):  # an edit may win on the way to where the line went on
                del self.moves[len(self.intents) :]
                return

    def _won(self, state: State) -> bool:
        return state.gone >= self.game.variant.sets_needed

    # ------------------------------------------------------------------ edits

    def edit(self) -> int:
        """Try every edit of every move; returns how many moves that saved."""
        before, at = len(self.moves), 0
        while at < len(self.moves):
            if not any(self._try(at, first) for first in self._instead(at)):
                at += 1
        return before - len(self.moves)

    def _instead(self, at: int) -> Iterator[Move | None]:
        """Yield what to do in place of a move: nothing, or the same onto another column."""
        state, move = self.states[at], self.moves[at]
        if move == DEAL:
            return
        yield None
        card = state.columns[move.source][-move.cards]
        empty_seen = False
        for target, cards in enumerate(state.columns):
            if target in (move.source, move.target) or (not cards and empty_seen):
                continue
            empty_seen = empty_seen or not cards
            if not cards or self.game.fits(card, cards[-1]):
                yield move._replace(target=target)

    def _try(self, at: int, first: Move | None) -> bool:
        """Do `first`, or nothing, in place of a move, and what the moves after it mean; keep that if it saves moves."""
        state, moves, lost = self.states[at], [], 0
        if first is not None:
            after = self.game.play(state, first)
            assert after is not None
            state = after
            moves.append(first)
        for k in range(at + 1, len(self.moves)):
            old = self.states[k]
            if len(moves) < k - at and state.columns == old.columns and state.down == old.down:
                self.moves[at:k] = moves
                self._replay_from(at, self.states[at])
                return True
            move = self._move_for(state, self.intents[k])
            if move is _NEEDLESS:
                continue
            following = move and self.game.play(state, move)
            if not move or not following:
                lost += 1
                if lost > MOST_LOST:
                    return False
                continue
            state = following
            moves.append(move)
            if self._won(state) and len(moves) < len(self.moves) - at:
                self.moves[at:] = moves
                self._replay_from(at, self.states[at])
                return True
        return False

    def _move_for(self, state: State, intent: _Intent) -> Move | None:
        """Return the move that does what is meant, `_NEEDLESS` if it is so already, None if it cannot be done."""
        card, onto, was = intent
        if card is None:
            return DEAL
        source = _column_with(state, card, was.source)
        if source is None:
            return None
        cards = state.columns[source]
        at = cards.index(card)
        if at < state.down[source]:
            return None
        if not at if onto is None else at and self.game.alike(cards[at - 1], onto):
            return _NEEDLESS
        target = self._target(state, onto, was.target)
        if target is None or target == source or not self.game.is_unit(cards[at:]):
            return None
        return Move(source, target, len(cards) - at)

    def _target(self, state: State, onto: int | None, guess: int) -> int | None:
        """Return the column with a card on top, or a copy of it, or for None an empty one; `guess` if that will do."""
        columns = state.columns
        if onto is None:
            fitting = [column for column, cards in enumerate(columns) if not cards]
            return guess if guess in fitting else next(iter(fitting), None)
        if columns[guess][-1:] == (onto,):
            return guess
        fitting = [column for column, cards in enumerate(columns) if cards and self.game.alike(cards[-1], onto)]
        return min(fitting, key=lambda column: columns[column][-1] != onto, default=None)

    # ------------------------------------------------------------------ shortcuts

    def take_shortcuts(self) -> int:
        """Look for shortcuts all along the line; returns how many moves that saved."""
        before, at = len(self.moves), 0
        while at < len(self.moves) and self.nodes_left > 0:
            if not self._take_shortcut(at):
                at += STRIDE
        return before - len(self.moves)

    def _take_shortcut(self, at: int) -> bool:
        end = at
        while end < min(at + SPAN, len(self.moves)) and self.moves[end] != DEAL:
            end += 1
        start, goal = self.states[at], self.states[end]
        if end - at < 2 or (start, goal) in self.no_shortcut:
            return False
        nodes = min(NODES_A_SEARCH, self.nodes_left)
        search = ShortcutSearch(self.game, start, goal, self._removed(at, end), end - at - 1, nodes)
        moves = search.find()
        self.nodes_left -= nodes - search.nodes_left
        if moves is None:
            self.no_shortcut.add((start, goal))
            return False
        self.moves[at:] = moves + _renumbered(self.moves[end:], goal, search.end)
        self._replay_from(at, start)
        return True

    def _removed(self, start: int, end: int) -> list[Column]:
        """Return the sets that leave between two positions with no deal between."""
        sets = []
        for at in range(start, end):
            if self.states[at + 1].gone > self.states[at].gone:
                columns, move = self.states[at].columns, self.moves[at]
                sets.append((columns[move.target] + columns[move.source][-move.cards :])[-SET_SIZE:])
        return sets


def _meaning(state: State, move: Move) -> _Intent:
    if move == DEAL:
        return _Intent(None, None, move)
    target = state.columns[move.target]
    return _Intent(state.columns[move.source][-move.cards], target[-1] if target else None, move)


def _column_with(state: State, card: int, guess: int) -> int | None:
    if card in state.columns[guess]:
        return guess
    return next((column for column, cards in enumerate(state.columns) if card in cards), None)


def _renumbered(moves: list[Move], old: State, new: State) -> list[Move]:
    """Return moves for a position whose columns are those of another in a different order."""
    if old.columns == new.columns:
        return moves
    free = list(range(len(new.columns)))
    where = []
    for cards in old.columns:
        where.append(next(column for column in free if new.columns[column] == cards))
        free.remove(where[-1])
    return [move if move == DEAL else Move(where[move.source], where[move.target], move.cards) for move in moves]
