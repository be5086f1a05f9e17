"""What a witness claims, and its check: from a board with these stubs no further set can be completed.

The README of this room describes the relaxed game and why it errs on the player's side only; `engine.relaxation` plays
the same game in another way. Here every state is measured anew, and all states that are reached are kept.

A state is a row of words: the place of each column's bound card in its stub (0: the column is open), the rows (bits)
whose dealt card has not left each column, the number of rows dealt, and how many tails of each rank each row may have
locked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.referee.compiled import jit, record
from pipeline.referee.piles import lay_pile, slot_of_row
from pipeline.referee.table import LAYS, MOST_COLUMNS, NON_EMPTY, UNIT

u4, i8 = np.uint32, np.int64

MOST_ROWS = 32
MOST_STATES = 20_000

MEASURES = record(
    # of the cards in play; sets see `kin`: the suit, if it matters, and the rank
    ("rank_total", "i8", 16),
    ("kin_total", "i8", 64),
    ("rows", "i8"),
    # of a state, by rank q: uncovered cards; surplus[q] = count[q] - free cards of rank q - 1
    ("count", "i8", 16),
    ("bound", "i8", 16),
    ("surplus", "i8", 16),
    ("tails", "i8", 16),
    ("ready", "i8", 64),  # by kin: uncovered cards that are not bound, but Kings all
    ("bound_kings", "i8", 4),
    ("open", "i8"),
    ("locked", "i8"),
    # of `set_in_sight`: ranks of which a card may come to carry nothing, kins that may get ready, the state it leads to
    ("carriers", "u1", 16),
    ("gets_ready", "u1", 64),
    ("start", "i8", MOST_COLUMNS),
    ("pending", "i8", MOST_COLUMNS),
)


@jit
def kin_of(t, card):
    """Return a card as sets see it."""
    return (card >> 4 & t.suits) << 4 | card & 15


@jit
def dealt_card(t, row, column):
    """Return the card that a row still to be dealt brings to a column, -1 if the row is too short."""
    at = t.dealt + row * t.columns + column
    return i8(t.stock[at]) if at < t.stock_size else i8(-1)


@jit
def count_cards(t, stub, piles, deck, w):
    """Lay the stubs of a stub row out, and count the cards in play: the deck less the stock and the sets gone."""
    t.dealt = t.stock_size - (i8(stub[0]) & 0xFF)
    for column in range(t.columns):
        lay_pile(t, column, stub[1 + column], piles)
    w.rank_total[:] = 0
    w.kin_total[:] = 0
    for card in range(64):
        left = deck[card]
        for i in range(t.dealt, t.stock_size):
            left -= t.stock[i] == card
        w.rank_total[card & 15] += left
        w.kin_total[kin_of(t, card)] += left
    for suit in range(4):
        gone = i8(stub[0]) >> (8 + 5 * suit) & 31
        for rank in range(1, 14):
            w.rank_total[rank] -= gone
            w.kin_total[suit << 4 | rank] -= gone
    w.rows = (t.stock_size - t.dealt + t.columns - 1) // t.columns


@jit
def bind(t, w, card):
    """Count an uncovered card as bound."""
    w.bound[card & 15] += 1
    if card & 15 == 13:
        w.bound_kings[kin_of(t, card) >> 4] += 1
    else:
        w.ready[kin_of(t, card)] -= 1


@jit
def measure(t, w, state):
    """Count what is uncovered, bound, free, locked and open in a state."""
    columns = t.columns
    w.count[:] = w.rank_total
    w.ready[:] = w.kin_total
    w.bound[:] = 0
    w.bound_kings[:] = 0
    w.tails[:] = 0
    w.open = w.locked = 0
    locks = i8(0)
    for column in range(columns):
        start = i8(state[column])
        for i in range(start):
            card = i8(t.cards[column, i])
            w.count[card & 15] -= 1
            w.ready[kin_of(t, card)] -= 1
        if start > 0:
            bind(t, w, i8(t.cards[column, start]))
        else:
            w.open += 1
        locks |= i8(state[columns + column])
    for row in range(i8(state[2 * columns])):
        for column in range(columns):
            card = dealt_card(t, row, column)
            if card >= 0:
                w.count[card & 15] += 1
                w.ready[kin_of(t, card)] += 1
                if state[columns + column] >> u4(row) & u4(1):
                    bind(t, w, card)
                    w.locked += 1
        if locks >> row & 1:
            for q in range(1, 14):
                w.tails[q] += state[2 * columns + 1 + 14 * row + q]
    for q in range(1, 15):
        w.surplus[q] = w.count[q] - (w.count[q - 1] - w.bound[q - 1])


@jit
def shortage(w):
    """Return the left side of (*), with the tails locked where that is best."""
    short = cover = i8(0)
    for q in range(1, 15):
        short += max(i8(0), -w.surplus[q])
        cover += min(w.tails[q], max(i8(0), w.surplus[q]))
    return short + max(i8(0), w.locked - cover)


@jit
def set_possible(t, w):
    """Whether a set may be complete in the state measured: (*) holds for the cards that are not in it."""
    for suit in range(t.suits + 1):
        whole = True
        for rank in range(1, 14):
            whole = whole and w.ready[suit << 4 | rank] > 0
        if whole:
            king_is_free = i8(1) if w.bound_kings[suit] == 0 else i8(0)
            w.surplus[1] -= 1
            w.surplus[14] += king_is_free
            fits = shortage(w) <= w.open - king_is_free  # a free King lies on the table of an open column
            w.surplus[1] += 1
            w.surplus[14] -= king_is_free
            if fits:
                return True
    return False


@jit
def may_leave(t, w, card):
    """Whether a bound card may leave at the head of a unit, in the state measured."""
    rank = card & 15
    w.surplus[rank + 1] -= 1  # it is free from now on
    ready = 1 if rank < 13 else 0
    w.ready[kin_of(t, card)] += ready
    end, fits = rank, False
    while not fits and end > 0:  # the last card of the unit carries nothing
        w.surplus[end] -= 1
        fits = shortage(w) <= w.open
        w.surplus[end] += 1
        end -= 1
        follows = False
        for suit in range(4):
            over = suit << 4 | end
            if end > 0 and t.links[(card & 48) | (end + 1), over] & UNIT != 0 and w.ready[kin_of(t, over)] > 0:
                follows = True
        if not follows:
            break
    w.surplus[rank + 1] += 1
    w.ready[kin_of(t, card)] -= ready
    return fits


@jit
def leave(t, w, state, column, new):
    """Write the state after the top bound card of a column has left; return whether it may. Measures what it needs."""
    columns = t.columns
    new[:] = state
    pending = i8(state[columns + column])
    if pending != 0:
        row = 0
        while pending >> (row + 1):
            row += 1
        new[columns + column] = u4(pending - (1 << row))
        locks = u4(0)
        for other in range(columns):
            locks |= new[columns + other]
        if locks >> u4(row) & u4(1) == 0:  # no longer of any matter
            new[2 * columns + 1 + 14 * row : 2 * columns + 15 + 14 * row] = 0
        measure(t, w, new)
        return shortage(w) <= w.open
    start = i8(state[column])
    if start == 0:
        return False
    measure(t, w, state)
    if not may_leave(t, w, i8(t.cards[column, start])):
        return False
    start -= 1
    while start > 0 and t.links[t.cards[column, start - 1], t.cards[column, start]] & LAYS != 0:
        start -= 1
    new[column] = u4(start)
    measure(t, w, new)
    return True


@jit
def deal_relaxed(t, w, state, new):
    """Write the state after the next row; `state` has been measured, `new` is."""
    columns = t.columns
    new[:] = state
    row = i8(state[2 * columns])
    measure(t, w, state)
    for q in range(1, 14):
        new[2 * columns + 1 + 14 * row + q] = u4(max(i8(0), min(w.count[q], w.surplus[q] + w.open)))
    for column in range(columns):
        if dealt_card(t, row, column) >= 0:
            new[columns + column] |= u4(1) << u4(row)
    new[2 * columns] += u4(1)
    measure(t, w, new)


@jit
def find_carriers(t, w, state):
    """Note the ranks of which a card carries nothing, wherever the locked tails are, or comes with a row."""
    cover = i8(0)
    for q in range(1, 14):
        cover += min(w.tails[q], max(i8(0), w.surplus[q]))
    for q in range(1, 14):
        others = cover - min(w.tails[q], max(i8(0), w.surplus[q]))
        w.carriers[q] = w.surplus[q] > max(i8(0), w.locked - others)
    w.carriers[14] = False
    for row in range(i8(state[2 * t.columns]), w.rows):
        for column in range(t.columns):
            card = dealt_card(t, row, column)
            if card >= 0:
                w.carriers[card & 15] = True
                if card & 15 == 13:
                    w.gets_ready[kin_of(t, card)] = True


@jit
def top_leaves(t, w, state, column):
    """Let the top bound card of a column leave if a card may come to carry it; return whether it does."""
    if w.pending[column] != 0:
        row = 0
        while w.pending[column] >> (row + 1):
            row += 1
        card = dealt_card(t, row, column)
        tails = 2 * t.columns + 1 + 14 * row
        lies_in_order = card & 15 < 13 and state[tails + (card & 15) + 1] > 0  # on the tail it was dealt on
        if not (w.carriers[(card & 15) + 1] or lies_in_order):
            return False
        w.pending[column] -= 1 << row
        for q in range(1, 14):
            w.carriers[q] = w.carriers[q] or state[tails + q] > 0
        w.gets_ready[kin_of(t, card)] = True
        return True
    i = w.start[column]
    if i == 0 or not w.carriers[(t.cards[column, i] & 15) + 1]:
        return False
    w.gets_ready[kin_of(t, i8(t.cards[column, i]))] = True
    w.carriers[t.cards[column, i - 1] & 15] = True
    i -= 1
    while i > 0 and t.links[t.cards[column, i - 1], t.cards[column, i]] & LAYS != 0:
        w.gets_ready[kin_of(t, i8(t.cards[column, i]))] = True
        i -= 1
    if t.cards[column, i] & 15 == 13:
        w.gets_ready[kin_of(t, i8(t.cards[column, i]))] = True
    w.start[column] = i
    return True


@jit
def set_in_sight(t, w, state):
    """Whether a set or an open column may come from the state measured if no carrier ever loses its place.

    Every step of the relaxed game is one here, and what is possible only grows: so what is not in sight stays so.
    """
    if w.open > 0:
        return True
    for kin in range(64):
        w.gets_ready[kin] = w.ready[kin] > 0
    find_carriers(t, w, state)
    for column in range(t.columns):
        w.start[column] = state[column]
        w.pending[column] = state[t.columns + column]
    changed = True
    while changed:
        changed = False
        for column in range(t.columns):
            while top_leaves(t, w, state, column):
                changed = True
                if w.start[column] == 0:
                    return True
    for row in range(i8(state[2 * t.columns]), w.rows):
        for column in range(t.columns):
            card = dealt_card(t, row, column)
            if card >= 0 and w.carriers[(card & 15) + 1]:
                w.gets_ready[kin_of(t, card)] = True
    for suit in range(t.suits + 1):
        whole = True
        for rank in range(1, 14):
            whole = whole and w.gets_ready[suit << 4 | rank]
        if whole:
            return True
    return False


@jit
def no_set(t, w, stub, piles, deck, states, index, slots, most):
    """Play the relaxed game from a stub row; return how many states it has if no set is possible in any, else 0.

    Parameters
    ----------
    t, w
        A table, whose stock is that of the start, and room for MEASURES; both are overwritten.
    deck
        How many of each card the start has, stock included.
    states, index, slots
        Room for the words of states, an empty index of at least twice as many states, and their slots in it; the index
        is left empty.
    most
        Give up after so many states.
    """
    count_cards(t, stub, piles, deck, w)
    words = 2 * t.columns + 1 + 14 * w.rows
    most = min(most, len(states) // words - 1, len(slots) - 1)
    if t.wrap or w.rows > MOST_ROWS:
        return 0
    known = reach(t, w, states[: (most + 1) * words].reshape((most + 1, words)), index, slots)
    for i in range(abs(known)):
        index[slots[i]] = 0
    return max(known, i8(0))


@jit
def reach(t, w, states, index, slots):
    """Reach all states; return how many, less than 0 if a set is possible or there is no room for more."""
    columns = t.columns
    states[0] = 0
    for column in range(columns):
        states[0, column] = u4(max(i8(0), t.heights[column] - 1))
    slots[0] = slot_of_row(states, index, states[0])
    index[slots[0]] = 1
    known, done = 1, 0
    measure(t, w, states[0])
    if set_possible(t, w):
        return -known
    while done < known:
        state = states[done]
        done += 1
        measure(t, w, state)
        if not set_in_sight(t, w, state):
            continue
        for way in range(columns + 1):
            if known + 1 == len(states):
                return -known
            new = states[known]
            if way < columns:
                if not leave(t, w, state, way, new):
                    continue
            else:
                if i8(state[2 * columns]) == w.rows:
                    continue
                measure(t, w, state)
                if t.policy == NON_EMPTY and w.open > 0:
                    return -known
                deal_relaxed(t, w, state, new)
            slot = slot_of_row(states, index, new)
            if index[slot] == 0:
                if set_possible(t, w):
                    return -known
                slots[known] = slot
                known += 1
                index[slot] = known
    return known


def workspace(states: int = MOST_STATES) -> tuple[npt.NDArray[Any], ...]:
    """Return room for `no_set`: MEASURES, states, their index and their slots."""
    index = np.zeros(1 << (2 * states).bit_length(), np.uint32)
    return np.zeros(1, MEASURES), np.zeros(64 * states, np.uint32), index, np.zeros(states, np.int64)
