"""The complete search: proves deals lost, or finds a win.

`Exhaust` walks depth first through every position that legal moves reach, each once: `start`, then `advance` in slices
until the verdict. It shares nothing with the beam but the rules. Nothing is left out but by the reductions whose proofs
stand where they are made: `packed.settle`, `packed.list_moves`, and positions given up by `relaxation` or, once the
stock is empty, by `rigid`. Keys have 128 bits, so that two positions are never taken for one.

The order of the moves proves nothing, but those that look best come first, as what cannot be exhausted
may yet be won. Without a stock a wrong move near the start can keep a win out of reach, so the search runs in attempts:
each starts over with the moves in another order.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import jit
from pipeline.engine.keys import insert, rehash
from pipeline.engine.nearby import positions_near, renamed
from pipeline.engine.packed import (
    BOARD,
    FRAME,
    M2,
    M3,
    MAX_MOVES,
    UNIT,
    list_moves,
    make,
    unmake,
    write_rules,
    write_start,
)
from pipeline.engine.records import DEAL, Rules, Start
from pipeline.engine.relaxation import hopeless, leads_on
from pipeline.engine.relaxed import RELAXED
from pipeline.engine.rigid import DEPTH, RIGID, STATE, stuck
from pipeline.engine.shortest import shortest_way

PAUSED, LOST, WON, FULL = 0, 1, 2, 3  # what `Exhaust.advance` returns
_GROW = 4  # an array has to grow before the search can go on

Scalar = TypeVar("Scalar", bound=np.generic)
u8, i8 = np.uint64, np.int64
MAX_POSITIONS = 12_000_000  # more than so many end in FULL
FIRST_SLOTS, MAX_SLOTS = 1 << 12, 1 << 24
FIRST_FRAMES, FIRST_STACK = 1 << 10, 1 << 12
THOROUGH_CARDS = 52
ATTEMPT = 75_000  # positions of an attempt
LONG_ATTEMPT = 4  # every fourth attempt has as many positions as all before it
STRAY = 17  # random bonuses of moves, from the second attempt on, are below this
RIGID_STATES = 60  # of one call of `stuck`: most that it proves take fewer


@jit
def promise(m, move):
    """How good a move looks: it uncovers a card or empties a column, joins a unit, splits none, keeps empty columns."""
    if move == DEAL:
        return 20
    source, target = move & 15, (move >> 4) & 15
    start = m.height[source] - (move >> 8)
    head = m.cards[source, start]
    value = 10 if leads_on(m, move) else 0
    if start == 0:
        value += 8
    elif (m.link[m.cards[source, start - 1], head] & UNIT) != 0:
        value -= 8
    if m.height[target] == 0:
        value -= 4
    elif (m.link[m.cards[target, m.height[target] - 1], head] & UNIT) != 0:
        value += 6
    return value


@jit
def stray(m, key):
    """Return the attempt's random bonus for a move to the position with that key."""
    if m.attempt == 0:
        return i8(0)
    return i8(((key ^ u8(m.attempt) * M2) * M3 >> u8(33)) % u8(STRAY))


@jit
def sort_moves(m, moves, keys, wins, values):
    """Sort the listed moves, the best last: it is played first."""
    for i in range(m.listed):
        value = promise(m, i8(moves[i])) + stray(m, keys[i, 0])
        move, k0, k1, win = moves[i], keys[i, 0], keys[i, 1], wins[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j], moves[j], wins[j] = values[j - 1], moves[j - 1], wins[j - 1]
            keys[j, 0], keys[j, 1] = keys[j - 1, 0], keys[j - 1, 1]
            j -= 1
        values[j], moves[j], wins[j] = value, move, win
        keys[j, 0], keys[j, 1] = k0, k1


@jit
def play_out(memory, frames, moves):
    """Play moves on the board."""
    for move in moves:
        make(memory[0], frames[0], i8(move))


@jit
def given_up(m, relaxed, rigid, states):
    """Whether one of the relaxations proves that no further set can be completed."""
    return hopeless(m, relaxed) or (m.thorough and m.dealt == m.stock_size and stuck(m, rigid, states, RIGID_STATES))


@jit
def search(memory, relaxed, rigid, states, frames, stack, table, moves, keys, wins, values, limit):
    """Go on with the search until it ends, `limit` positions are reached or an array is too small."""
    m = memory[0]
    mask = u8(len(table) // 2 - 1)
    while True:
        if m.pending == m.listed:  # nothing left of the last listing: take back, or enter the next position
            frame = frames[m.depth]
            if m.top == frame.first and m.begun:
                if m.depth == 0:
                    return LOST
                m.depth -= 1
                unmake(m, frames[m.depth])
                continue
            if (
                m.depth + 3 > len(frames)
                or m.top + MAX_MOVES > len(stack)
                or (3 * (len(table) // 2) < 4 * (m.positions + MAX_MOVES) and len(table) // 2 < MAX_SLOTS)
            ):
                return _GROW
            fresh = True
            if m.begun:
                m.top -= 1
                move = i8(stack[m.top])
                fresh = leads_on(m, move)
                make(m, frame, move)
                fresh = fresh or frame.removed > 0
                m.depth += 1
                frames[m.depth].first = m.top
            m.begun = True
            m.pending = 0
            if fresh and given_up(m, relaxed[0], rigid[0], states):
                m.listed = 0
                continue
            m.listed = list_moves(m, frames[m.depth], moves, keys, wins)
            if m.thorough:
                sort_moves(m, moves, keys, wins, values)
            m.expanded += 1
            touched = u8(0)
            for i in range(m.listed):
                slot = keys[i, 0] & mask
                touched += table[slot + slot]
            m.touched = touched
        end = min(limit, m.capacity)
        while m.pending < m.listed:
            i = m.pending
            if insert(table, keys[i, 0], keys[i, 1], m.positions < end):
                if m.positions == end:
                    return PAUSED if limit < m.capacity else FULL
                m.positions += 1
                stack[m.top] = moves[i]
                m.top += 1
                if wins[i]:
                    return WON
            m.pending += 1


def _grown(array: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    if size <= len(array):
        return array
    new = np.zeros(max(size, 2 * len(array)), array.dtype)
    new[: len(array)] = array
    return new


class Exhaust:
    """The complete search of one process for one set of rules; reusable, not thread-safe.

    Parameters
    ----------
    rules
        Of the variant.

    Attributes
    ----------
    capacity
        After so many positions a search ends in `FULL`.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._memory = np.zeros(1, BOARD)
        self._board = self._memory[0]
        self._relaxed = np.zeros(1, RELAXED)
        self._rigid = np.zeros(1, RIGID)
        self._states = np.zeros(DEPTH, STATE)
        write_rules(self._board, rules)
        self.capacity = MAX_POSITIONS
        self._moves = np.zeros(MAX_MOVES, np.uint16)
        self._keys = np.zeros((MAX_MOVES, 2), np.uint64)
        self._wins = np.zeros(MAX_MOVES, np.bool_)
        self._values = np.zeros(MAX_MOVES, np.int64)
        self._verdict = PAUSED

    def start(self, start: Start) -> None:
        """Begin a new search; the initial position counts as reached."""
        self._start = start
        self._before = self._expanded_before = 0  # of the attempts that ended
        self._board.attempt = 0
        self._begin()

    def _begin(self) -> None:
        """Begin an attempt."""
        m, start = self._board, self._start
        with np.errstate(over="ignore"):
            write_start(m, self.rules, start)
            self._table = np.zeros(2 * FIRST_SLOTS, np.uint64)
            insert(self._table, m.key[0], m.key[1], True)
        self._frames = np.zeros(FIRST_FRAMES, FRAME)
        self._stack = np.zeros(FIRST_STACK, np.uint16)
        m.depth = m.pending = m.listed = m.top = m.expanded = 0
        m.begun = False
        m.thorough = not start.stock or sum(map(len, start.columns)) + len(start.stock) <= THOROUGH_CARDS
        m.positions = 1
        m.capacity = self.capacity - self._before
        if not start.stock:
            is_long = m.attempt % LONG_ATTEMPT == LONG_ATTEMPT - 1
            m.capacity = min(m.capacity, self._before if is_long else ATTEMPT)
        self._relaxed[0].generation += 1
        self._rigid[0].generation += 1
        self._relaxed[0].visits = 0
        self._verdict = WON if m.sets >= m.needed else PAUSED

    def advance(self, positions: int) -> int:
        """Reach at most so many more distinct positions; returns `PAUSED`, `LOST`, `WON` or `FULL`."""
        limit = self.positions + positions
        while self._verdict in (PAUSED, _GROW):
            with np.errstate(over="ignore"):
                self._verdict = search(
                    self._memory,
                    self._relaxed,
                    self._rigid,
                    self._states,
                    self._frames,
                    self._stack,
                    self._table,
                    self._moves,
                    self._keys,
                    self._wins,
                    self._values,
                    limit - self._before,
                )
            if self._verdict == _GROW:
                self._grow()
            elif self._verdict == FULL and self.positions < self.capacity:
                if self.positions >= limit:  # the next attempt is for the next call
                    self._verdict = PAUSED
                    break
                self._before, self._expanded_before = self.positions, self.expanded
                self._board.attempt += 1
                self._begin()
            else:
                break
        return self._verdict

    def _grow(self) -> None:
        m = self._board
        self._frames = _grown(self._frames, int(m.depth) + 3)
        self._stack = _grown(self._stack, int(m.top) + MAX_MOVES)
        slots = len(self._table) // 2
        if 3 * slots < 4 * (m.positions + MAX_MOVES) and slots < MAX_SLOTS:
            table = np.zeros(2 * len(self._table), np.uint64)
            with np.errstate(over="ignore"):
                rehash(self._table, table)
            self._table = table

    @property
    def positions(self) -> int:
        """Distinct positions reached so far, the initial one included; those of each attempt count."""
        return self._before + int(self._board.positions)

    @property
    def expanded(self) -> int:
        """Positions whose moves were listed."""
        return self._expanded_before + int(self._board.expanded)

    def line(self) -> npt.NDArray[np.uint16]:
        """Return the moves of the shortest win through the positions reached; the search cannot go on after it."""
        if self._verdict != WON:
            raise ValueError("there is a line only after a win")
        with np.errstate(over="ignore"):
            write_start(self._board, self.rules, self._start)
            if self._board.sets >= self._board.needed:
                return np.zeros(0, np.uint16)
            return shortest_way(self._memory, self._table, _grown)

    def shortened(
        self, moves: npt.NDArray[np.uint16], positions: int, first: int = 0, piece: int | None = None
    ) -> npt.NDArray[np.uint16]:
        """Shorten a win, or a piece of it, through the positions around it; the search cannot go on after it.

        Parameters
        ----------
        moves
            A win.
        positions
            About how many positions the way may use, the nearest ones.
        first
            Moves before the piece.
        piece
            Moves of the piece; None for all that are left.
        """
        begin, end = moves[:first], moves[: len(moves) if piece is None else first + piece]
        with np.errstate(over="ignore"):
            self._play(begin)
            table = positions_near(self._memory, end[first:], positions)
            self._play(end)
            target = self._board.key[0], self._board.key[1]
            self._play(begin)
            short = np.concatenate([begin, shortest_way(self._memory, table, _grown, target)])
        if len(short) >= len(end):
            return moves
        reached = self.position_after(short)
        if reached.sets_done >= self.rules.sets_needed:
            return short
        return np.concatenate([short, renamed(moves[len(end) :], self.position_after(end), reached)])

    def _play(self, moves: npt.NDArray[np.uint16]) -> None:
        write_start(self._board, self.rules, self._start)
        play_out(self._memory, self._frames, moves)

    def position_after(self, moves: npt.NDArray[np.uint16]) -> Start:
        """Return the position that legal moves lead to; the search cannot go on after it."""
        m = self._board
        with np.errstate(over="ignore"):
            self._play(moves)
        columns = tuple(tuple(m.cards[i, : m.height[i]].tolist()) for i in range(self.rules.columns))
        face_down = tuple(m.down[: self.rules.columns].tolist())
        return Start(columns, face_down, tuple(m.stock[m.dealt : m.stock_size].tolist()), int(m.sets))
