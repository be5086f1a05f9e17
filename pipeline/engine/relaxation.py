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

A card leaves at the head of a unit. The position just after it left, newly uncovered cards not counted, is a witness
of (*); and the last card of the unit carries nothing then, so that (*) holds even with one place less of its rank.

The relaxed game errs on the player's side: a row may always be dealt; the unit may be of any free cards that fit; a
dealt card may lie in order on the tail below it, without a move, so that tail counts as free already, and no place is
taken away; which tails a row locks is left open, but no more of rank q than there are cards without a burden,
n(q) - f(q - 1) + e, and (*) is tested with the best choice. A deal to occupied columns only, while one is open, ends it
without a claim, as does a game with wrapping.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit
from pipeline.engine.packed import LAYS, SHARED, STOCK_KEY, constants, finish
from pipeline.engine.records import DEAL, DEAL_NON_EMPTY
from pipeline.engine.relaxed import (
    CACHE,
    LAYERS,
    STATES,
    come_back,
    dealt_card,
    last_row,
    lay_row,
    leave,
    row_length,
    set_possible,
    set_up,
    take_row,
)

i8, u8 = np.int64, np.uint64

MAX_STATES = 3_000  # of one call
GONE_KEY = constants(23001, 4, 2)


@jit
def find_carriers(m, a):
    """Note the ranks of which a card is, or will come with a row, that may carry another: no burden and no lock."""
    cover = i8(0)
    for q in range(1, 14):
        cover += min(a.tail_sum[q], max(i8(0), a.surplus[q]))
    for q in range(1, 14):
        others = cover - min(a.tail_sum[q], max(i8(0), a.surplus[q]))
        a.carrier[q] = a.surplus[q] > max(i8(0), a.locked - others)
    a.carrier[14] = False
    for row in range(a.row, a.rows):
        for column in range(row_length(m, row)):
            a.carrier[dealt_card(m, column, row) & 15] = True


@jit
def begin_reach(m, a):
    """Note what is ready, uncovered and coming before any card has left."""
    find_carriers(m, a)
    for kin in range(64):
        a.gets_ready[kin] = a.ready[kin] > 0
    for column in range(m.columns):
        a.low[column] = a.start[column]
        a.waiting[column] = a.pending[column]
        a.coming[column] = 0
        for row in range(a.row, a.rows):
            if column < row_length(m, row):
                a.coming[column] |= 1 << row
                kin = i8(m.kin[dealt_card(m, column, row)])
                if kin & 15 == 13:
                    a.gets_ready[kin] = True


@jit
def coming_leave(m, a, column):
    """Let the cards that coming rows bring to a column leave as soon as any card could carry them."""
    for row in range(a.row, a.rows):
        if a.coming[column] >> row & 1 == 1:
            card = dealt_card(m, column, row)
            if a.carrier[(card & 15) + 1]:
                a.coming[column] -= 1 << row
                a.gets_ready[m.kin[card]] = True


@jit
def dealt_leave(m, a, column):
    """Let the dealt cards of a column leave, from the top, and unlock the tails below; returns whether one did."""
    changed = False
    while a.waiting[column] != 0:
        row = last_row(a.waiting[column])
        card = dealt_card(m, column, row)
        above = (card & 15) + 1
        if not (a.carrier[above] or (above < 14 and a.tails[row, above] > 0)):
            break
        a.waiting[column] -= 1 << row
        a.gets_ready[m.kin[card]] = True
        for q in range(1, 14):
            if a.tails[row, q] > 0:
                a.carrier[q] = True
        changed = True
    return changed


@jit
def bound_leave(m, a, column):
    """Let the bound cards of a column leave, from the top, and uncover what is below; returns whether one did."""
    changed = False
    while a.waiting[column] == 0 and a.low[column] > 0:
        i = a.low[column]
        card = i8(m.cards[column, i])
        if not a.carrier[(card & 15) + 1]:
            break
        a.gets_ready[m.kin[card]] = True
        a.carrier[m.cards[column, i - 1] & 15] = True
        changed = True
        i -= 1
        while i > 0 and (m.link[m.cards[column, i - 1], m.cards[column, i]] & LAYS) != 0:
            a.gets_ready[m.kin[m.cards[column, i]]] = True
            i -= 1
        card = i8(m.cards[column, i])
        if card & 15 == 13:
            a.gets_ready[m.kin[card]] = True
        a.low[column] = i
    return changed


@jit
def set_reachable(m, a):
    """Whether a set is possible if every card may leave, again and again, once any card could ever carry it.

    This gives each card that carried one back its place, so it errs on the player's side even more than the search, but
    it is quick, and what cannot happen here cannot happen after any of the search's moves. An open column carries
    anything: then nothing is claimed.
    """
    if a.open > 0:
        return True
    begin_reach(m, a)
    changed = True
    while changed:
        changed = False
        for column in range(m.columns):
            coming_leave(m, a, column)
            changed |= dealt_leave(m, a, column)
            changed |= bound_leave(m, a, column)
            if a.low[column] == 0:  # the column opens
                return True
    for suit in range(m.set_suits):
        count = 0
        for rank in range(1, 14):
            count += 1 if a.gets_ready[suit << 4 | rank] else 0
        if count == 13:
            return True
    return False


@jit
def is_new(a):
    """Note the state; returns whether it was not seen in this search."""
    slot = a.key[0] & u8(STATES - 1)
    while a.seen_in[slot] == a.search:
        if a.seen[slot, 0] == a.key[0] and a.seen[slot, 1] == a.key[1]:
            return False
        slot = (slot + u8(1)) & u8(STATES - 1)
    a.seen_in[slot] = a.search
    a.seen[slot, 0] = a.key[0]
    a.seen[slot, 1] = a.key[1]
    return True


@jit
def no_set_possible(m, a, cap):
    """Search the relaxed game; returns whether it ends without a set (False also after too many states)."""
    set_up(m, a)
    if set_possible(m, a):
        return False
    if not set_reachable(m, a):
        return True
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
        a.tried[depth] = m.columns + 1
        if is_new(a):
            states += 1
            if states > cap or set_possible(m, a):
                a.visits += states
                return False
            if set_reachable(m, a):
                a.tried[depth] = 0


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
