"""The loops over many boards: `search` makes the set of a certificate, `first_fault` checks that it is one."""

from __future__ import annotations

import numpy as np

from pipeline.referee.compiled import jit
from pipeline.referee.piles import lay_row, row_of, slot_of_row, successors
from pipeline.referee.relaxed import MOST_STATES, no_set

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
def has_witness(t, stub, stubs, stub_index, holds, counts, piles, deck, room):
    """Whether no set can be completed from a stub row; looked up, or found out and noted."""
    at = i8(stub_index[slot_of_row(stubs, stub_index, stub)]) - 1
    if at < 0:
        at = add_row(stubs, stub_index, counts, STUBS, stub)
        most = min(3_000, max(30, 3_000 + 40 * counts[BOARDS] - counts[STATES]))
        known = no_set(t, room[0][0], stub, piles, deck, room[1], room[2], room[3], most)
        counts[STATES] += max(known, most if known == 0 else i8(0))
        holds[at] = known > 0
    return holds[at]


@jit
def search(table, sets, piles, pile_index, rows, row_index, stubs, stub_index, holds, counts, deck, room, lists, limit):
    """Follow every move from every board without a witness until no new board is reached."""
    t, other = table[0], table[1]
    new, new_stubs, moves = lists
    if counts[BOARDS] == 0:
        row_of(t, new[0], new_stubs[0], piles, pile_index, True)
        if t.sets >= t.needed:
            return WIN
        if not has_witness(other, new_stubs[0], stubs, stub_index, holds, counts, piles, deck, room):
            add_row(rows, row_index, counts, BOARDS, new[0])
    while counts[DONE] < counts[BOARDS]:
        if counts[BOARDS] + len(new) > len(rows) or counts[STUBS] + len(new) > len(stubs):
            return MORE_ROOM
        if piles[0, 0] + SPARE_PILES > len(piles):
            return MORE_ROOM
        n = successors(t, rows[counts[DONE]], piles, pile_index, True, sets, new, new_stubs, moves)
        if n < 0:
            return WIN
        counts[DONE] += 1
        for i in range(n):
            if row_index[slot_of_row(rows, row_index, new[i])] != 0:
                continue
            if has_witness(other, new_stubs[i], stubs, stub_index, holds, counts, piles, deck, room):
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
    """Return the first of these stub rows from which a set may be possible, `last` if there is none."""
    for at in range(first, last):
        if no_set(table[0], room[0][0], stubs[at], piles, deck, room[1], room[2], room[3], MOST_STATES) == 0:
            return at
    return last


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
            in_set = row_index[slot_of_row(rows, row_index, new[i])] != 0
            if not in_set and stub_index[slot_of_row(stubs, stub_index, new_stubs[i])] == 0:
                return LEADS_OUT, at, i8(moves[i])
    return SOUND, last, 0
