"""The check of a witness that is a whole board without a stock: which of its cards can have moved at all.

The README of this room has the argument; `engine.rigid` plays the same game in another way. Here a state is a mark for
each card of the board, by place; the states that are reached are kept, and each is measured anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.referee.compiled import jit, record
from pipeline.referee.piles import slot_of_row
from pipeline.referee.table import LAYS, MOST_CARDS, SET, UNIT

i8 = np.int64

MOST_STATES = 60
COVERED, BOUND, STILL, LOOSE = 0, 1, 2, 3  # marks

CARDS = record(
    ("cards", "i8"),
    ("card", "u1", MOST_CARDS),
    ("below", "i8", MOST_CARDS),  # the card that a card lies on, -1 for the table
    ("above", "i8", MOST_CARDS),
    ("down", "u1", MOST_CARDS),
    ("empty", "i8"),  # columns without cards
    # of the state measured: `short` is the left side of (**)
    ("surplus", "i8", 16),
    ("short", "i8"),
    ("open", "i8"),
    ("group", "u1", MOST_CARDS),
)


@jit
def number_cards(t, w):
    """Number the cards of the columns of a table, from the bottom up."""
    n = i8(0)
    w.empty = 0
    for column in range(t.columns):
        height = t.heights[column]
        w.empty += height == 0
        for i in range(height):
            w.card[n] = t.cards[column, i]
            w.below[n] = n - 1 if i > 0 else i8(-1)
            w.above[n] = n + 1 if i < height - 1 else i8(-1)
            w.down[n] = i < t.downs[column]
            n += 1
    w.cards = n


@jit
def uncover(t, w, marks, k):
    """Uncover a card and those below it, down to one that is bound or lies on the table."""
    while True:
        below = w.below[k]
        if below < 0:
            marks[k] = STILL if w.card[k] & 15 < 13 else LOOSE  # a free King is on the table wherever it is
            return
        link = t.links[w.card[below], w.card[k]]
        if link & LAYS == 0 or (w.down[below] != 0 and link & (UNIT | SET) != 0):
            marks[k] = BOUND
            return
        marks[k] = STILL
        k = below


@jit
def vacant(w, marks, k):
    """Whether no still card lies on an uncovered one, so that any fitting card may."""
    return w.above[k] < 0 or marks[w.above[k]] != STILL


@jit
def measure(w, marks):
    """Count the vacant places and the loose cards that need them, and the open columns."""
    w.surplus[:] = 0
    w.open, w.short = w.empty, 0
    for k in range(w.cards):
        if marks[k] == COVERED:
            continue
        rank = w.card[k] & 15
        w.surplus[rank] += vacant(w, marks, k)
        w.surplus[rank + 1] -= marks[k] == LOOSE
        if w.below[k] < 0:
            w.open += 1
            w.short += marks[k] == STILL
    for rank in range(1, 15):
        w.short += max(i8(0), -w.surplus[rank])


@jit
def follow(t, w, marks, kind):
    """Let the group be the cards that may lie on one of it, as `kind` (unit or set) asks; return whether any may."""
    found = False
    for k in range(w.cards):
        w.group[k] = (w.group[k] & 1) << 1
    for k in range(w.cards):
        if w.group[k] & 2 == 0:
            continue
        if not vacant(w, marks, k):
            if t.links[w.card[k], w.card[w.above[k]]] & kind != 0:
                w.group[w.above[k]] |= 1
                found = True
            continue
        for over in range(w.cards):
            if marks[over] == LOOSE and t.links[w.card[k], w.card[over]] & kind != 0:
                w.group[over] |= 1
                found = True
    return found


@jit
def may_move(t, w, marks, k, to_place):
    """Whether a card may head a unit whose last card carries nothing; `to_place`: onto a vacant place besides."""
    rank = i8(w.card[k] & 15)
    short = w.short
    if to_place and w.surplus[rank + 1] <= 0:
        short += 1
    if short > w.open:
        return False
    w.group[:] = 0
    w.group[k] = 1
    while True:
        if short + (w.surplus[rank] <= 0) <= w.open:
            for j in range(w.cards):
                if w.group[j] & 1 == 1 and vacant(w, marks, j):
                    return True
        if not follow(t, w, marks, UNIT):
            return False
        rank -= 1


@jit
def loosen(t, w, marks):
    """Mark as loose all still cards that may have moved; leaves the state measured."""
    measure(w, marks)
    changed = True
    while changed:
        changed = False
        for k in range(w.cards):
            if marks[k] == STILL and may_move(t, w, marks, k, True):
                marks[k] = LOOSE
                measure(w, marks)
                changed = True


@jit
def leave(t, w, marks, k):
    """Let a bound card leave; return whether it may (if not, the marks are spoilt)."""
    marks[k] = LOOSE
    measure(w, marks)
    if not may_move(t, w, marks, k, False):
        return False
    uncover(t, w, marks, w.below[k])
    loosen(t, w, marks)
    return True


@jit
def set_possible(t, w, marks):
    """Whether a set may be complete: from a King down, each card on the one before."""
    for suit in range(t.suits + 1):
        w.group[:] = 0
        for k in range(w.cards):
            w.group[k] = marks[k] != COVERED and w.card[k] & 15 == 13 and w.card[k] >> 4 & t.suits == suit
        length = 1
        while length < 13 and follow(t, w, marks, SET):
            length += 1
        if length == 13:
            return True
    return False


@jit
def no_set_from(t, w, states, index):
    """Return whether no set can be completed from the board that is laid out, as far as so many states tell.

    Parameters
    ----------
    t
        A table with the board.
    w
        Room for CARDS.
    states
        uint8, (states + 1, MOST_CARDS): room for the marks of so many, and one.
    index
        uint32, a power of two: room for their places, more than twice as many.
    """
    if t.wrap or t.dealt < t.stock_size:
        return False
    number_cards(t, w)
    states = states[:, : w.cards]
    index[:] = 0
    states[0] = COVERED
    for k in range(w.cards):
        if w.above[k] < 0:
            uncover(t, w, states[0], k)
    loosen(t, w, states[0])
    if set_possible(t, w, states[0]):
        return False
    index[slot_of_row(states, index, states[0])] = 1
    known, done = 1, 0
    while done < known:
        for k in range(w.cards):
            if states[done, k] != BOUND:
                continue
            states[known] = states[done]
            if not leave(t, w, states[known], k):
                continue
            slot = slot_of_row(states, index, states[known])
            if index[slot] == 0:
                if known + 1 == len(states) or set_possible(t, w, states[known]):
                    return False
                known += 1
                index[slot] = known
        done += 1
    return True


def workspace(states: int = MOST_STATES) -> tuple[npt.NDArray[Any], ...]:
    """Return room for `no_set_from`: CARDS, states, their index."""
    return (
        np.zeros(1, CARDS),
        np.zeros((states + 1, MOST_CARDS), np.uint8),
        np.zeros(1 << (2 * states).bit_length(), np.uint32),
    )
