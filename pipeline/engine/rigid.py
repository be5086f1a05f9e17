"""A finer relaxation, for positions without a stock, which sees suits: it asks which cards can have moved at all.

`relaxation` (read it first) forgets where free cards lie. Here each free card that lies as it did in the position
asked about is *rigid*: it forms a pair with the card under it, or with the table. All others are *loose*. A card turns
loose once it could have moved, and stays so; cards that get uncovered are rigid at first. The numbers of (*) become
those of loose cards, g(q) of rank q, and of uncovered cards without a rigid burden, v(q), whose differences are the
same; and rigid cards on the table take their columns away::

    sum over q of max(0, g(q - 1) - v(q)) + rigid cards on the table <= e                 (**)

Claim: a state covers each position that its history allows; that is, all its rigid pairs are pairs there. Each legal
move leads from a covered position to a position that a following state covers:

- *A free card moves* at the head of a unit from p to p'. If it is loose, no rigid pair is broken. If it is rigid,
  `liftable` holds, so that it is made loose: each card of the unit that is rigid lies on the next of the unit, as its
  pair says; each that is loose lies on one without a rigid burden. The last card of the unit carries nothing, nor does
  p' (or p' is an empty column), so (**) holds in this position with one place less of either rank. (If p' is the
  table there is one open column less, which asks for at least as much.)
- *A bound card leaves* at the head of a unit: the same, but in the position just after, where the card is one of the
  loose and the cards it uncovers do not count yet; the only vacant place needed is that of the unit's last card.
- *A set is complete:* each of its cards is rigid on the next, or loose and the next without a rigid burden.

An uncovered card on one that is still face down, and that continues it as a unit or set, counts as bound: once it has
left, the card below is face up for good. So if no state allows a set, none can be completed. As in `relaxation`,
nothing is claimed with wrapping.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit, record
from pipeline.engine.packed import (
    LAYS,
    M0,
    MAX_CARDS,
    MAX_COLUMNS,
    SET,
    SHARED,
    UNIT,
    constants,
    finish,
    fold0,
    fold1,
)

i8, u8 = np.int64, np.uint64

SLOTS = 1 << 13  # for the states of one call
CACHE = 1 << 14
DEPTH = MAX_CARDS + 2  # states on the way, one more for each card that leaves
LOW_KEY = constants(30001, MAX_COLUMNS, MAX_CARDS + 1, 2)
PAIR_KEY = constants(40001, MAX_COLUMNS, MAX_CARDS + 1, 2)
ONES = np.array([bin(i).count("1") for i in range(1 << 16)], np.uint8)

# Cards of a rank are bits, in the order in which they are found: at most 16, four packs.
STATE = record(
    ("uncovered", "i8", 16),
    ("free", "i8", 16),
    ("rigid", "i8", 16),
    ("burdened", "i8", 16),  # by a rigid card
    ("open", "i8"),
    ("tabled", "i8"),  # rigid cards on the table, Kings apart
    ("low", "u1", MAX_COLUMNS),  # lowest uncovered card
)
RIGID = record(
    ("bit", "u1", (MAX_COLUMNS, MAX_CARDS)),
    ("column", "u1", (16, 16)),  # where the card of that rank and bit lies in the position asked about
    ("index", "u1", (16, 16)),
    ("count", "i8", 16),
    ("of_suit", "i8", (16, 4)),
    ("unit_on", "i8", (16, 4)),  # [r, s]: cards of rank r that continue a unit on the next of suit s
    ("of_kin", "i8", (16, 4)),
    ("surplus", "i8", 16),  # of (**)
    ("tried", "i8", DEPTH),
    ("seen", "u8", (SLOTS, 2)),
    ("seen_in", "i8", SLOTS),
    ("search", "i8"),
    ("cache", "u8", (CACHE, 2)),
    ("cache_mark", "i8", CACHE),
    ("generation", "i8"),
)


@jit
def next_bit(m, a, card):
    """Give a card the next bit of its rank."""
    rank = card & 15
    bit = a.count[rank]
    a.count[rank] = bit + 1
    a.of_suit[rank, card >> 4] |= 1 << bit
    return bit


@jit
def number_cards(m, a):
    """Give every card on the board its bit."""
    for rank in range(16):
        a.count[rank] = 0
        for suit in range(4):
            a.of_suit[rank, suit] = 0
    for column in range(m.columns):
        for i in range(m.height[column]):
            card = i8(m.cards[column, i])
            bit = next_bit(m, a, card)
            a.bit[column, i] = bit
            a.column[card & 15, bit] = column
            a.index[card & 15, bit] = i
    for rank in range(1, 14):
        for suit in range(4):
            on = 0
            alike = 0
            for other in range(4):
                if rank < 13 and (m.link[suit << 4 | (rank + 1), other << 4 | rank] & UNIT) != 0:
                    on |= a.of_suit[rank, other]
                if i8(m.kin[other << 4 | rank]) >> 4 == suit:
                    alike |= a.of_suit[rank, other]
            a.unit_on[rank, suit] = on
            a.of_kin[rank, suit] = alike


@jit
def bit_at(a, column, i):
    """Return the card at a place of a column as a set of one card of its rank."""
    return 1 << i8(a.bit[column, i])


@jit
def uncover(m, a, state, column, end):
    """Uncover the cards of a column from below `end` down to a bound one, all rigid."""
    i = end - 1
    while True:
        card = i8(m.cards[column, i])
        rank = card & 15
        bit = bit_at(a, column, i)
        state.uncovered[rank] |= bit
        if i == 0:
            state.free[rank] |= bit
            state.open += 1
            if rank < 13:
                state.rigid[rank] |= bit
                state.tabled += 1
            break
        link = m.link[m.cards[column, i - 1], card]
        if (link & LAYS) == 0 or (i <= m.down[column] and (link & (UNIT | SET)) != 0):
            break
        state.free[rank] |= bit
        state.rigid[rank] |= bit
        state.burdened[rank + 1] |= bit_at(a, column, i - 1)
        i -= 1
    state.low[column] = i


@jit
def set_up(m, a, state):
    """Take over the position on the board."""
    for i in range(16):
        state.uncovered[i] = 0
        state.free[i] = 0
        state.rigid[i] = 0
        state.burdened[i] = 0
        state.low[i] = 0
    state.open = 0
    state.tabled = 0
    for column in range(m.columns):
        if m.height[column] > 0:
            uncover(m, a, state, column, m.height[column])
        else:
            state.open += 1


@jit
def reckon(m, a, state):
    """Count what (**) is about."""
    for rank in range(2, 14):
        places = i8(ONES[state.uncovered[rank] & ~state.burdened[rank]])
        a.surplus[rank] = places - i8(ONES[state.free[rank - 1] & ~state.rigid[rank - 1]])
    a.surplus[1] = i8(ONES[state.uncovered[1]])
    a.surplus[14] = -i8(ONES[state.free[13]])


@jit
def fits(a, state):
    """Whether (**) holds with the surpluses as they are."""
    need = i8(state.tabled)
    for rank in range(1, 15):
        need += max(i8(0), -a.surplus[rank])
    return need <= state.open


@jit
def rigid_burdens(m, a, group, rank, kind):
    """Return the rigid cards that lie on burdened ones of a group, continuing them as `kind` (a unit or a set) asks."""
    burdens = 0
    bit = 0
    while group >> bit:
        if (group >> bit) & 1 == 1:
            column = i8(a.column[rank, bit])
            i = i8(a.index[rank, bit])
            if (m.link[m.cards[column, i], m.cards[column, i + 1]] & kind) != 0:
                burdens |= bit_at(a, column, i + 1)
        bit += 1
    return burdens


@jit
def liftable(m, a, state, rank, bit, to_place):
    """Whether a card may head a unit whose last card carries nothing; `to_place`: and a place for it be vacant, too."""
    above = rank + 1
    if to_place:
        a.surplus[above] -= 1
    group = i8(bit)
    found = False
    while group != 0 and not found:
        vacant = group & ~i8(state.burdened[rank])
        if vacant != 0:
            a.surplus[rank] -= 1
            found = fits(a, state)
            a.surplus[rank] += 1
        if rank == 1:
            break
        over = rigid_burdens(m, a, group & i8(state.burdened[rank]), rank, UNIT)
        for suit in range(4):
            if (vacant & a.of_suit[rank, suit]) != 0:
                over |= state.free[rank - 1] & ~state.rigid[rank - 1] & a.unit_on[rank - 1, suit]
        group = i8(over)
        rank -= 1
    if to_place:
        a.surplus[above] += 1
    return found


@jit
def loosen(m, a, state):
    """Make loose all cards that could have moved."""
    reckon(m, a, state)
    changed = True
    while changed:
        changed = False
        for column in range(m.columns):
            start = i8(state.low[column])
            for i in range(start if start == 0 else start + 1, m.height[column]):
                rank = i8(m.cards[column, i]) & 15
                bit = bit_at(a, column, i)
                if (state.rigid[rank] & bit) != 0 and liftable(m, a, state, rank, bit, True):
                    state.rigid[rank] &= ~bit
                    if i == 0:
                        state.tabled -= 1
                    else:
                        state.burdened[rank + 1] &= ~bit_at(a, column, i - 1)
                    reckon(m, a, state)
                    changed = True


@jit
def leave(m, a, state, column):
    """Let the bound card on top of a column leave if it can; returns whether (if not, the state is spoilt)."""
    start = i8(state.low[column])
    if start == 0:
        return False
    rank = i8(m.cards[column, start]) & 15
    bit = bit_at(a, column, start)
    state.free[rank] |= bit
    reckon(m, a, state)
    if not liftable(m, a, state, rank, bit, False):
        return False
    uncover(m, a, state, column, start)
    return True


@jit
def set_possible(m, a, state):
    """Whether a set may be complete here."""
    for suit in range(m.set_suits):
        group = i8(state.uncovered[13] & a.of_kin[13, suit])
        rank = 13
        while rank > 1 and group != 0:
            over = rigid_burdens(m, a, group & i8(state.burdened[rank]), rank, SET)
            if (group & ~i8(state.burdened[rank])) != 0:
                over |= state.free[rank - 1] & ~state.rigid[rank - 1] & a.of_kin[rank - 1, suit]
            group = i8(over)
            rank -= 1
        if group != 0:
            return True
    return False


@jit
def state_key(m, a, state, lane):
    """Return one lane of the key of a state of this search."""
    key = u8(1)
    for column in range(m.columns):
        low = i8(state.low[column])
        key += LOW_KEY[column, low, lane]
        for i in range(low, m.height[column]):
            if (state.rigid[m.cards[column, i] & 15] & bit_at(a, column, i)) != 0:
                key += PAIR_KEY[column, i, lane]
    return key


@jit
def is_new(m, a, state):
    """Note the state; returns whether it was not seen in this search."""
    k0 = state_key(m, a, state, 0)
    k1 = state_key(m, a, state, 1)
    slot = k0 & u8(SLOTS - 1)
    while a.seen_in[slot] == a.search:
        if a.seen[slot, 0] == k0 and a.seen[slot, 1] == k1:
            return False
        slot = (slot + u8(1)) & u8(SLOTS - 1)
    a.seen_in[slot] = a.search
    a.seen[slot, 0] = k0
    a.seen[slot, 1] = k1
    return True


@jit
def is_rigid(m, a, state, column, i):
    """Whether the card at that place is rigid."""
    return (state.rigid[m.cards[column, i] & 15] & bit_at(a, column, i)) != 0


@jit
def content(m, a, state, lane):
    """Return one lane of a key of all that the first state depends on.

    The cards of a column that are still in place, and each loose card with the rigid ones on it, wherever it lies.
    """
    total = M0 * u8(state.open)
    for column in range(m.columns):
        height = m.height[column]
        i = i8(state.low[column])
        if height > 0 and (i > 0 or is_rigid(m, a, state, column, i)):
            i += 1
            while i < height and is_rigid(m, a, state, column, i):
                i += 1
            total += finish(m.prefix[column, i, lane], SHARED, min(m.down[column], i - 1), lane)
        while i < height:
            x = u8(7)
            while True:
                card = i8(m.cards[column, i])
                x = fold0(x, card) if lane == 0 else fold1(x, card)
                i += 1
                if i == height or not is_rigid(m, a, state, column, i):
                    break
            total += finish(x, SHARED, 0, lane)
    return total


@jit
def no_set_possible(m, a, states, cap):
    """Search from the first state; returns whether the game ends without a set (False also after `cap` states)."""
    a.search += 1
    is_new(m, a, states[0])
    found = 1
    depth = 0
    a.tried[0] = 0
    while depth >= 0:
        column = a.tried[depth]
        if column == m.columns:
            depth -= 1
            continue
        a.tried[depth] = column + 1
        states[depth + 1] = states[depth]
        state = states[depth + 1]
        if not leave(m, a, state, column):
            continue
        loosen(m, a, state)
        if is_new(m, a, state):
            found += 1
            if found > cap or set_possible(m, a, state):
                return False
            depth += 1
            a.tried[depth] = 0
    return True


@jit
def stuck(m, a, states, cap):
    """Whether this relaxation proves, in at most `cap` states, that no further set can be completed from the board."""
    if m.wrap != 0 or m.dealt < m.stock_size:
        return False
    number_cards(m, a)
    set_up(m, a, states[0])
    loosen(m, a, states[0])
    if set_possible(m, a, states[0]):
        return False
    k0 = content(m, a, states[0], 0)
    k1 = content(m, a, states[0], 1)
    slot = i8(k0 & u8(CACHE - 1))
    if a.cache_mark[slot] >> 1 == a.generation and a.cache[slot, 0] == k0 and a.cache[slot, 1] == k1:
        return a.cache_mark[slot] & 1 == 1
    verdict = no_set_possible(m, a, states, cap)
    a.cache[slot, 0] = k0
    a.cache[slot, 1] = k1
    a.cache_mark[slot] = a.generation << 1 | (1 if verdict else 0)
    return verdict
