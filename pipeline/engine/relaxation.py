"""A relaxation of the game that proves positions lost: from them no further set can be completed.

Only how many cards of each rank are where is remembered:

- A column's cards, from the top down to the first that does not lie on a card one rank higher, are *uncovered*, the
  cards below *covered*. That last uncovered one is *bound*: once it leaves, nothing brings it back to its place; if it
  lies on the table instead, the column is *open*. Uncovered cards that are not bound are *free*.
- A dealt card is uncovered and bound, and the uncovered card it was dealt on is a *locked tail* until it leaves.

In every position each free card lies on an uncovered card one rank higher, or on the table of an open column; each
locked tail carries its dealt card; and no card carries two. So with n(q) uncovered cards of rank q, f(q) free ones,
l(q) locked tails and e open columns::

    sum over q of max(0, f(q - 1) + l(q) - n(q)) <= e                                     (*)

Moves of free cards change none of these numbers. They change when a bound card leaves: it becomes free, its tail is no
longer locked or more cards are uncovered; and when a row is dealt. When a set is complete, (*) holds without its
cards, too, and they are free, the King perhaps bound. So if no sequence of leavings and deals that keeps to (*) comes
to a state that allows a set, none can be completed.

The relaxed game errs on the player's side: a row may always be dealt; a leaving card must find its place among what
was uncovered before (the position just after it left, newly uncovered cards not counted, is a witness of (*)), but
with the tail below it counted as free already, as it may lie on that tail in order; which tails a row locks is left
open, but no more of rank q than there are cards without a burden, n(q) - f(q - 1) + e, and (*) is tested with the best
choice. A deal to occupied columns only, while one is open, ends it without a claim, as does a game with wrapping.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit
from pipeline.engine.packed import (
    LAYS,
    MAX_CARDS,
    MAX_COLUMNS,
    SHARED,
    STOCK_KEY,
    constants,
    finish,
    record,
)
from pipeline.engine.records import DEAL, DEAL_NON_EMPTY

i8, u8 = np.int64, np.uint64

LAYERS = 32  # rows still to be dealt, at most
DEPTH = MAX_CARDS + LAYERS + 8
STATES = 1 << 13  # slots for the states of one call, more than twice `MAX_STATES`
MAX_STATES = 3_000
CACHE = 1 << 13
START_KEY = constants(6001, MAX_COLUMNS, MAX_CARDS + 1)
PENDING_KEY = constants(20001, MAX_COLUMNS)
TAIL_KEY = constants(21001, LAYERS, 16)
GONE_KEY = constants(22001, 4, 2)
ROW_KEY = u8(constants(23001, 1)[0])

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
    ("key", "u8"),
    ("tried", "i8", DEPTH),
    ("column", "i8", DEPTH),
    ("old", "i8", DEPTH),
    ("seen", "u8", STATES),
    ("seen_in", "i8", STATES),
    ("search", "i8"),
    ("cache", "u8", (CACHE, 2)),
    ("cache_mark", "i8", CACHE),
    ("generation", "i8"),
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
    a.key += START_KEY[column, new] - START_KEY[column, a.start[column]]
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
    a.key += PENDING_KEY[column] * (u8(bit) if change > 0 else u8(0) - u8(bit))
    a.locked += change
    before = a.locked_by[row]
    a.locked_by[row] = before + change
    if before == 0 or before + change == 0:
        for q in range(1, 14):
            a.tail_sum[q] += change * a.tails[row, q]
            a.key += TAIL_KEY[row, q] * (u8(a.tails[row, q]) if change > 0 else u8(0) - u8(a.tails[row, q]))


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
    if shortage(a, False, False) <= a.open:
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
    a.key += ROW_KEY


@jit
def take_row(m, a):
    """Undo `lay_row`."""
    a.row -= 1
    a.key -= ROW_KEY
    for column in range(row_length(m, a.row)):
        set_locked(m, a, column, a.row, -1)
        set_free(m, a, dealt_card(m, column, a.row), -1)


@jit
def is_new(a):
    """Note the state; returns whether it was not seen in this search."""
    slot = a.key & u8(STATES - 1)
    while a.seen_in[slot] == a.search:
        if a.seen[slot] == a.key:
            return False
        slot = (slot + u8(1)) & u8(STATES - 1)
    a.seen_in[slot] = a.search
    a.seen[slot] = a.key
    return True


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
    a.key = u8(0)
    for column in range(m.columns):
        a.start[column] = 0
        if m.height[column] > 0:
            move_start(m, a, column, m.height[column], 1)
        else:
            a.open += 1


@jit
def no_set_possible(m, a, cap):
    """Search the relaxed game; returns whether it ends without a set (False also after too many states)."""
    set_up(m, a)
    if set_possible(m, a):
        return False
    a.search += 1
    is_new(a)
    states = 1
    depth = 0
    a.tried[0] = 0
    while True:
        column = a.tried[depth]
        if column > m.columns:
            if depth == 0:
                a.visits += states
                return True
            depth -= 1
            if a.column[depth] == m.columns:
                take_row(m, a)
            else:
                come_back(m, a, a.column[depth], a.old[depth])
            continue
        a.tried[depth] = column + 1
        if column == m.columns:
            if a.row == a.rows:
                continue
            if m.deal == DEAL_NON_EMPTY and a.open > 0:
                return False
            lay_row(m, a)
        else:
            a.old[depth] = a.start[column] if a.pending[column] == 0 else ~last_row(a.pending[column])
            if not leave(m, a, column):
                continue
        a.column[depth] = column
        depth += 1
        a.tried[depth] = 0
        if is_new(a):
            states += 1
            if states > cap or set_possible(m, a):
                a.visits += states
                return False
        else:
            a.tried[depth] = m.columns + 1


@jit
def signature(m, a, lane):
    """Return one lane of a key of all that the relaxation depends on: what is covered, and the stock."""
    total = STOCK_KEY[m.stock_size - m.dealt, lane]
    for column in range(m.columns):
        i = m.height[column] - 1
        while i > 0 and (m.link[m.cards[column, i - 1], m.cards[column, i]] & LAYS) != 0:
            i -= 1
        if i > 0:
            salt = column if m.dealt < m.stock_size else SHARED
            total += finish(m.prefix[column, i + 1, lane], salt, 0, lane)
    for i in range(m.gone_size):
        total += GONE_KEY[i8(m.kin[m.gone[i].cards[0]]) >> 4, lane]
    return total


@jit
def hopeless(m, a):
    """Whether the relaxation proves that no further set can be completed from the position on the board.

    What it may cost is a matter of how many positions the search has reached: about 40 states for each.
    """
    a.rows = (m.stock_size - m.dealt + m.columns - 1) // m.columns
    if m.wrap != 0 or a.rows > LAYERS:
        return False
    k0 = signature(m, a, 0)
    k1 = signature(m, a, 1)
    slot = i8(k0 & u8(CACHE - 1))
    if a.cache_mark[slot] >> 1 == a.generation and a.cache[slot, 0] == k0 and a.cache[slot, 1] == k1:
        return a.cache_mark[slot] & 1 == 1
    cap = min(MAX_STATES, max(30, 3_000 + 40 * m.positions - a.visits))
    verdict = no_set_possible(m, a, cap)
    a.cache[slot, 0] = k0
    a.cache[slot, 1] = k1
    a.cache_mark[slot] = a.generation << 1 | (1 if verdict else 0)
    return verdict


@jit
def leads_on(m, move):
    """Whether a move that is about to be played changes what the relaxation sees (removals apart)."""
    if move == DEAL:
        return True
    source = move & 15
    start = m.height[source] - (move >> 8)
    return start > 0 and (m.link[m.cards[source, start - 1], m.cards[source, start]] & LAYS) == 0
