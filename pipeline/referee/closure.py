"""The loops over many boards: `search` makes the set of a certificate, `first_fault` checks that it is one."""

from __future__ import annotations

import numpy as np

from pipeline.referee.compiled import jit
from pipeline.referee.piles import WHOLE, lay_row, row_of, slot_of_row, successors
from pipeline.referee.relaxed import MOST_STATES, no_set
from pipeline.referee.still import no_set_from
from pipeline.referee.table import MOST_CARDS

u4, i8 = np.uint32, np.int64

CLOSED, MORE_ROOM, WIN, LIMIT = 0, 1, 2, 3  # how `search` ends
SOUND, CARDS, NOT_CANONICAL, WINS, LEADS_OUT = 0, 1, 2, 3, 4  # what `first_fault` finds
BOARDS, DONE, STUBS, STATES = 0, 1, 2, 3  # what `counts` counts
SPARE_PILES = 1 << 17  # more than the moves from one board can make


@jit
def add_row(rows, index, counts, which, row):
    """Add a row that is not there yet; return its place."""
    at = counts[which]
    slot = slot_of_row(rows, index, row)
    rows[at] = row
    counts[which] = at + 1
    index[slot] = at + 1
    return at


@jit
def no_set_follows(t, row, piles, deck, room, most):
    """Return how many states show that no set can be completed from a stub row or a whole board, 0 if they do not."""
    relaxed, still = room
    if row[0] & WHOLE == 0:
        return no_set(t, relaxed[0][0], row, piles, deck, relaxed[1], relaxed[2], relaxed[3], most)
    lay_row(t, row, piles, 0)
    return i8(t.heights[: t.columns].sum() <= MOST_CARDS and no_set_from(t, still[0][0], still[1], still[2]))


@jit
def holds_good(t, row, stubs, stub_index, holds, counts, piles, deck, room):
    """Whether no set can be completed from a stub row or a whole board; looked up, or found out and noted."""
    at = i8(stub_index[slot_of_row(stubs, stub_index, row)]) - 1
    if at < 0:
        at = add_row(stubs, stub_index, counts, STUBS, row)
        most = min(3_000, max(30, 3_000 + 40 * counts[BOARDS] - counts[STATES]))
        known = no_set_follows(t, row, piles, deck, room, most)
        if row[0] & WHOLE == 0:
            counts[STATES] += max(known, most if known == 0 else i8(0))
        holds[at] = known > 0
    return holds[at]


@jit
def has_witness(t, row, stub, before, stubs, stub_index, holds, counts, piles, deck, room):
    """Whether a board has a witness, its stubs or, where a move has changed these since `before`, the whole board."""
    if holds_good(t, stub, stubs, stub_index, holds, counts, piles, deck, room):
        return True
    if t.wrap != 0 or row[0] & u4(0xFF) != 0 or equal(stub, before):
        return False
    row[0] |= WHOLE
    found = holds_good(t, row, stubs, stub_index, holds, counts, piles, deck, room)
    row[0] ^= WHOLE
    return found


@jit
def equal(row, other):
    """Whether two rows are equal."""
    for i in range(len(row)):  # noqa: SIM110 (the compiler knows no generators)
        if row[i] != other[i]:
            return False
    return True


@jit
def search(table, sets, piles, pile_index, rows, row_index, stubs, stub_index, holds, counts, deck, room, lists, limit):
    """Follow every move from every board without a witness until no new board is reached."""
    t, other = table[0], table[1]
    new, new_stubs, moves = lists
    nothing, again, stub = np.zeros_like(rows[0]), np.zeros_like(rows[0]), np.zeros_like(rows[0])
    if counts[BOARDS] == 0:
        row_of(t, new[0], new_stubs[0], piles, pile_index, True)
        if t.sets >= t.needed:
            return WIN
        if not has_witness(other, new[0], new_stubs[0], nothing, stubs, stub_index, holds, counts, piles, deck, room):
            add_row(rows, row_index, counts, BOARDS, new[0])
    while counts[DONE] < counts[BOARDS]:
        if counts[BOARDS] + len(new) > len(rows) or counts[STUBS] + 2 * len(new) > len(stubs):
            return MORE_ROOM
        if piles[0, 0] + SPARE_PILES > len(piles):
            return MORE_ROOM
        lay_row(t, rows[counts[DONE]], piles, sets)
        row_of(t, again, stub, piles, pile_index, True)
        n = successors(t, rows[counts[DONE]], piles, pile_index, True, sets, new, new_stubs, moves)
        if n < 0:
            return WIN
        counts[DONE] += 1
        for i in range(n):
            if row_index[slot_of_row(rows, row_index, new[i])] != 0:
                continue
            if has_witness(other, new[i], new_stubs[i], stub, stubs, stub_index, holds, counts, piles, deck, room):
                continue
            if counts[BOARDS] == limit:
                return LIMIT
            add_row(rows, row_index, counts, BOARDS, new[i])
    return CLOSED


@jit
def rehash(rows, count, index):
    """Fill an empty index."""
    for at in range(count):
        index[slot_of_row(rows, index, rows[at])] = at + 1


@jit
def first_unproved(table, piles, stubs, first, last, deck, room):
    """Return the place of the first witness that still allows a set, or `last` if none does."""
    for at in range(first, last):
        if no_set_follows(table[0], stubs[at], piles, deck, room, MOST_STATES) == 0:
            return at
    return last


@jit
def is_known(row, stub, rows, row_index, stubs, stub_index):
    """Whether a board is listed, or has a witness that is."""
    if row_index[slot_of_row(rows, row_index, row)] != 0 or stub_index[slot_of_row(stubs, stub_index, stub)] != 0:
        return True
    row[0] |= WHOLE
    found = stub_index[slot_of_row(stubs, stub_index, row)] != 0
    row[0] ^= WHOLE
    return found


@jit
def first_fault(table, sets, cards, piles, pile_index, rows, row_index, stubs, stub_index, first, last, lists):
    """Check boards; return the first fault, the board's place, and the move it is about."""
    t = table[0]
    new, new_stubs, moves = lists
    again, again_stub = np.zeros_like(rows[0]), np.zeros_like(rows[0])
    for at in range(first, last):
        lay_row(t, rows[at], piles, sets)
        left = t.stock_size - t.dealt + 13 * (t.sets - sets)
        for column in range(t.columns):
            left += t.heights[column]
        if left != cards or t.dealt < 0 or t.sets >= t.needed:
            return CARDS, at, 0
        row_of(t, again, again_stub, piles, pile_index, False)
        for i in range(len(again)):
            if again[i] != rows[at, i]:
                return NOT_CANONICAL, at, 0
        n = successors(t, rows[at], piles, pile_index, False, sets, new, new_stubs, moves)
        if n < 0:
            return WINS, at, i8(moves[~n])
        for i in range(n):
            if not is_known(new[i], new_stubs[i], rows, row_index, stubs, stub_index):
                return LEADS_OUT, at, i8(moves[i])
    return SOUND, last, 0
