"""The state of the relaxed game of `relaxation`: what is uncovered, free, bound and locked, changed in place."""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit, record
from pipeline.engine.packed import (
    LAYS,
    MAX_CARDS,
    MAX_COLUMNS,
    UNIT,
    constants,
)

i8, u8 = np.int64, np.uint64

LAYERS = 32  # rows still to be dealt, at most
DEPTH = MAX_CARDS + LAYERS + 8
STATES = 1 << 13  # slots for the states of one call, more than twice what is allowed
CACHE = 1 << 13
START_KEY = constants(6001, MAX_COLUMNS, MAX_CARDS + 1, 2)
PENDING_KEY = constants(20001, MAX_COLUMNS, 2)
TAIL_KEY = constants(21001, LAYERS, 16, 2)
ROW_KEY = constants(24001, 2)

RELAXED = record(
    ("surplus", "i8", 16),  # [q] = n(q) - f(q - 1)
    ("count", "i8", 16),  # n
    ("need", "i8"),  # sum of what the surpluses lack
    ("open", "i8"),
    ("ready", "i8", 64),  # by kin: uncovered cards that are not bound (Kings: all uncovered)
    ("lack", "i8", 4),  # ranks of a set that are not ready
    ("bound_kings", "i8", 4),
    ("start", "i8", MAX_COLUMNS),  # lowest uncovered card of those not dealt
    ("pending", "i8", MAX_COLUMNS),  # bits: dealt cards, by row, that have not left
    ("row", "i8"),
    ("rows", "i8"),
    ("tails", "i8", (LAYERS, 16)),
    ("tail_sum", "i8", 16),
    ("locked", "i8"),
    ("locked_by", "i8", LAYERS),
    ("key", "u8", 2),
    ("tried", "i8", DEPTH),
    ("column", "i8", DEPTH),
    ("old", "i8", DEPTH),
    ("seen", "u8", (STATES, 2)),
    ("seen_in", "i8", STATES),
    ("search", "i8"),
    ("cache", "u8", (CACHE, 2)),
    ("cache_mark", "i8", CACHE),
    ("generation", "i8"),
    # of `set_reachable`
    ("carrier", "u1", 16),
    ("gets_ready", "u1", 64),
    ("low", "i8", MAX_COLUMNS),
    ("waiting", "i8", MAX_COLUMNS),
    ("coming", "i8", MAX_COLUMNS),
    ("visits", "i8"),
)


@jit
def shift(a, q, change):
    """Change the surplus of rank q."""
    old = a.surplus[q]
    a.surplus[q] = old + change
    a.need += max(i8(0), -old - change) - max(i8(0), -old)


@jit
def make_ready(a, kin, change):
    """Change how many cards of a kind are ready for a set."""
    old = a.ready[kin]
    a.ready[kin] = old + change
    if old == 0:
        a.lack[kin >> 4] -= 1
    elif old + change == 0:
        a.lack[kin >> 4] += 1


@jit
def set_bound(m, a, card, change):
    """Note an uncovered card as bound (1) or free again (-1)."""
    kin = i8(m.kin[card])
    if kin & 15 == 13:
        a.bound_kings[kin >> 4] += change
    else:
        make_ready(a, kin, -change)
    shift(a, (card & 15) + 1, change)


@jit
def set_free(m, a, card, change):
    """Uncover a free card (1) or cover it again (-1)."""
    make_ready(a, i8(m.kin[card]), change)
    a.count[card & 15] += change
    shift(a, card & 15, change)
    shift(a, (card & 15) + 1, -change)


@jit
def shortage(a, without_set, free_king):
    """Left side of (*) at best; `without_set`: for the cards that are not in a complete set."""
    need = a.need
    if without_set:
        if a.surplus[1] <= 0:
            need += 1
        if free_king and a.surplus[14] < 0:
            need -= 1
    if a.locked > 0:
        cover = i8(0)
        for q in range(1, 14):
            cover += min(a.tail_sum[q], max(i8(0), a.surplus[q] - (1 if without_set and q == 1 else 0)))
        need += max(i8(0), a.locked - cover)
    return need


@jit
def set_possible(m, a):
    """Whether a set may be complete here."""
    for suit in range(m.set_suits):
        if a.lack[suit] == 0:
            if a.bound_kings[suit] > 0:
                if shortage(a, True, False) <= a.open:
                    return True
            elif shortage(a, True, True) <= a.open - 1:
                return True
    return False


@jit
def move_start(m, a, column, end, change):
    """Uncover (1) the cards of a column from below `end` down to a bound one, or cover them again (-1)."""
    i = end - 1
    while True:
        card = i8(m.cards[column, i])
        set_free(m, a, card, change)
        if i == 0:
            a.open += change
            break
        if (m.link[m.cards[column, i - 1], card] & LAYS) == 0:
            set_bound(m, a, card, change)
            break
        i -= 1
    new = i if change > 0 else end
    for lane in range(2):
        a.key[lane] += START_KEY[column, new, lane] - START_KEY[column, a.start[column], lane]
    a.start[column] = new


@jit
def dealt_card(m, column, row):
    """Return the card that a coming row brings to a column."""
    return i8(m.stock[m.dealt + row * m.columns + column])


@jit
def last_row(pending):
    """Return the last row in a bit set."""
    row = 0
    while pending >> (row + 1):
        row += 1
    return row


@jit
def set_locked(m, a, column, row, change):
    """Let a dealt card lock its column (1), or become free (-1)."""
    set_bound(m, a, dealt_card(m, column, row), change)
    bit = 1 << row
    a.pending[column] += bit * change
    for lane in range(2):
        a.key[lane] += PENDING_KEY[column, lane] * (u8(bit) if change > 0 else u8(0) - u8(bit))
    a.locked += change
    before = a.locked_by[row]
    a.locked_by[row] = before + change
    if before == 0 or before + change == 0:
        for q in range(1, 14):
            a.tail_sum[q] += change * a.tails[row, q]
            count = u8(a.tails[row, q]) if change > 0 else u8(0) - u8(a.tails[row, q])
            for lane in range(2):
                a.key[lane] += TAIL_KEY[row, q, lane] * count


@jit
def continues(m, a, card, rank):
    """Whether a free card of that rank could lie in the unit that a card heads (any of its kind will do)."""
    under = (card & 48) | (rank + 1)
    for suit in range(4):
        over = suit << 4 | rank
        if (m.link[under, over] & UNIT) != 0 and a.ready[m.kin[over]] > 0:
            return True
    return False


@jit
def may_land(m, a, card):
    """Whether (*) holds just after a bound card has moved, without the place that the last card of its unit gives."""
    end = i8(card & 15)
    while True:
        shift(a, end, -1)
        fits = shortage(a, False, False) <= a.open
        shift(a, end, 1)
        if fits:
            return True
        end -= 1
        if end == 0 or not continues(m, a, card, end):
            return False


@jit
def leave(m, a, column):
    """Let the bound card on top of a column leave if it can; returns whether."""
    if a.pending[column] != 0:
        row = last_row(a.pending[column])
        set_locked(m, a, column, row, -1)
        if shortage(a, False, False) <= a.open:
            return True
        set_locked(m, a, column, row, 1)
        return False
    start = a.start[column]
    if start == 0:
        return False
    card = i8(m.cards[column, start])
    set_bound(m, a, card, -1)
    if may_land(m, a, card):
        move_start(m, a, column, start, 1)
        return True
    set_bound(m, a, card, 1)
    return False


@jit
def come_back(m, a, column, old):
    """Undo `leave`; `old` is the start of the column before, or ~row of a dealt card."""
    if old < 0:
        set_locked(m, a, column, ~old, 1)
    else:
        move_start(m, a, column, old, -1)
        set_bound(m, a, i8(m.cards[column, old]), 1)


@jit
def row_length(m, row):
    """Return how many cards a coming row has."""
    return min(m.columns, m.stock_size - m.dealt - row * m.columns)


@jit
def lay_row(m, a):
    """Deal the next row."""
    row = a.row
    for q in range(1, 14):
        a.tails[row, q] = max(i8(0), min(a.count[q], a.surplus[q] + a.open))
    for column in range(row_length(m, row)):
        set_free(m, a, dealt_card(m, column, row), 1)
        set_locked(m, a, column, row, 1)
    a.row += 1
    for lane in range(2):
        a.key[lane] += ROW_KEY[lane]


@jit
def take_row(m, a):
    """Undo `lay_row`."""
    a.row -= 1
    for lane in range(2):
        a.key[lane] -= ROW_KEY[lane]
    for column in range(row_length(m, a.row)):
        set_locked(m, a, column, a.row, -1)
        set_free(m, a, dealt_card(m, column, a.row), -1)


@jit
def set_up(m, a):
    """Relax the position on the board."""
    for q in range(16):
        a.surplus[q] = 0
        a.count[q] = 0
        a.tail_sum[q] = 0
        a.pending[q] = 0
    for kin in range(64):
        a.ready[kin] = 0
    for suit in range(4):
        a.lack[suit] = 13
        a.bound_kings[suit] = 0
    for row in range(a.rows):
        a.locked_by[row] = 0
    a.need = 0
    a.open = 0
    a.row = 0
    a.locked = 0
    a.key[0] = u8(0)
    a.key[1] = u8(0)
    for column in range(m.columns):
        a.start[column] = 0
        if m.height[column] > 0:
            move_start(m, a, column, m.height[column], 1)
        else:
            a.open += 1
