"""Boards as rows of numbers: what certificates of loss are made of, and what is looked up in them.

A *pile* is a column's cards from the bottom up: pile 0 is empty, any other is a card on an earlier pile. Equal piles
have the same number, so a board is a row of 32-bit words: `state_word`, then the pile of each column. A row is
*canonical*:

- A covered face-down card counts as face up where the card on it does not continue it, neither as a unit nor as a set:
  it can move, or leave in a set, only after the cards on it are gone, and then it lies face up in any case.
- With the stock empty the piles are in ascending order: no rule tells columns apart then.

Boards with equal canonical rows have the same moves, up to the order of columns, to boards with equal canonical rows.

Its *stub row* has the piles cut down to what is covered in the sense of `relaxed`, all cards face up.
"""

from __future__ import annotations

import numpy as np

from pipeline.referee.compiled import jit
from pipeline.referee.table import LAYS, MOST_CARDS, SET, UNIT, deal_row, may_move, move_cards, unit_length

u4, u8, i8 = np.uint32, np.uint64, np.int64

DOWN = 0x40  # marks a face-down card
WHOLE = u4(1 << 28)  # marks the state word of a witness that is a whole board
NONE = u4(0xFFFFFFFF)  # a pile that has no number
MOST_MOVES = 4096  # sixteen columns, units of up to 26 cards where they wrap, fifteen targets: fewer can fit
MIX = u8(0x9E3779B97F4A7C15)
S29, S32 = u8(29), u8(32)


@jit
def slot_of(below, card, index):
    """Return the slot of the hash table `index` for a pile."""
    x = (u8(below) << u8(8) | u8(card)) * MIX
    return (x ^ (x >> S29)) & u8(len(index) - 1)


@jit
def pile_on(piles, index, below, card, add):
    """Return the number of a pile, NONE if it has none; with `add` it gets the next one.

    `piles` has a row a pile, the pile below and the card; the number of piles is kept in its first row.
    """
    slot = slot_of(below, card, index)
    while index[slot] != 0:
        pile = index[slot]
        if piles[pile, 0] == below and piles[pile, 1] == card:
            return pile
        slot = (slot + u8(1)) & u8(len(index) - 1)
    if not add:
        return NONE
    pile = piles[0, 0] + u4(1)
    piles[0, 0] = pile
    piles[pile, 0] = below
    piles[pile, 1] = card
    index[slot] = pile
    return pile


@jit
def pile_of(t, column, height, down, piles, index, add):
    """Return the number of the pile of a column's lowest cards, `down` of them face down."""
    pile = u4(0)
    for i in range(height):
        pile = pile_on(piles, index, pile, u4(t.cards[column, i] | (DOWN if i < down else 0)), add)
        if pile == NONE:
            return NONE
    return pile


@jit
def lay_pile(t, column, pile, piles):
    """Lay a pile out as a column."""
    height = i8(0)
    below = pile
    while below != 0:
        height += 1
        below = piles[below, 0]
    t.heights[column] = height
    t.downs[column] = 0
    for i in range(height - 1, -1, -1):
        t.cards[column, i] = piles[pile, 1] & u4(0x3F)
        t.downs[column] += i8(piles[pile, 1]) >> 6
        pile = piles[pile, 0]


@jit
def down_of(t, column):
    """Return how many cards of a column count as face down."""
    down = min(t.downs[column], t.heights[column] - 1) if t.heights[column] > 0 else i8(0)
    while down > 0 and t.links[t.cards[column, down - 1], t.cards[column, down]] & (UNIT | SET) == 0:
        down -= 1
    return down


@jit
def covered(t, column):
    """Return how many cards a stub has: those up to the last that does not lie in order, none if all do."""
    i = t.heights[column] - 1
    while i > 0 and t.links[t.cards[column, i - 1], t.cards[column, i]] & LAYS != 0:
        i -= 1
    return i + 1 if i > 0 else i8(0)


@jit
def state_word(t):
    """Return the first word of a row: cards left in the stock, and five bits for the sets gone of each suit."""
    word = t.stock_size - t.dealt
    for suit in range(4):
        word |= t.gone[suit] << (8 + 5 * suit)
    return u4(word)


@jit
def write_columns(t, row, stub, first, end, piles, index, add):
    """Write the piles of columns into a row and its stub row."""
    for column in range(first, end):
        row[1 + column] = pile_of(t, column, t.heights[column], down_of(t, column), piles, index, add)
        stub[1 + column] = pile_of(t, column, covered(t, column), 0, piles, index, add)


@jit
def finish(t, row, stub):
    """Write the state word of a row and its stub row, and sort the piles if the stock is empty."""
    row[0] = stub[0] = state_word(t)
    if t.dealt == t.stock_size:
        for words in (row, stub):
            for i in range(2, 1 + t.columns):
                pile, at = words[i], i
                while at > 1 and words[at - 1] > pile:
                    words[at] = words[at - 1]
                    at -= 1
                words[at] = pile


@jit
def row_of(t, row, stub, piles, index, add):
    """Write the row and the stub row of a table."""
    write_columns(t, row, stub, 0, t.columns, piles, index, add)
    finish(t, row, stub)


@jit
def lay_row(t, row, piles, sets):
    """Lay a row out; `sets` had left before the start."""
    word = i8(row[0])
    t.dealt = t.stock_size - (word & 0xFF)
    t.sets = sets
    for suit in range(4):
        t.gone[suit] = word >> (8 + 5 * suit) & 31
        t.sets += t.gone[suit]
    for column in range(t.columns):
        lay_pile(t, column, row[1 + column], piles)


@jit
def successors(t, row, piles, index, add, sets, rows, stubs, moves):
    """List where every legal move from a row, which is laid out, leads, and the moves; return how many.

    When a move wins, return the complement of its place in the list at once.
    """
    n = 0
    base, base_stub = rows[-1], stubs[-1]
    base[:] = row
    for column in range(t.columns):
        base_stub[1 + column] = pile_of(t, column, covered(t, column), 0, piles, index, add)
    for source in range(t.columns):
        for count in range(1, unit_length(t, source) + 1):
            for target in range(t.columns):
                if not may_move(t, source, target, count):
                    continue
                moves[n] = source | target << 4 | count << 8
                move_cards(t, source, target, count)
                if t.sets >= t.needed:
                    return ~n
                rows[n] = base
                stubs[n] = base_stub
                write_columns(t, rows[n], stubs[n], source, source + 1, piles, index, add)
                write_columns(t, rows[n], stubs[n], target, target + 1, piles, index, add)
                finish(t, rows[n], stubs[n])
                n += 1
                t.sets = sets
                for suit in range(4):
                    t.gone[suit] = i8(row[0]) >> (8 + 5 * suit) & 31
                    t.sets += t.gone[suit]
                lay_pile(t, source, row[1 + source], piles)
                lay_pile(t, target, row[1 + target], piles)
    if deal_row(t):
        moves[n] = 0xFFFF
        if t.sets >= t.needed:
            return ~n
        row_of(t, rows[n], stubs[n], piles, index, add)
        n += 1
    return n


@jit
def slot_of_row(rows, index, row):
    """Return the slot of a row in the hash table `index` of the numbers, from 1, of rows: its own, or a free one."""
    x = u8(0)
    for i in range(len(row)):
        x = (x ^ u8(row[i])) * MIX
        x ^= x >> S29
    mask = u8(len(index) - 1)
    slot = (x ^ (x >> S32)) & mask
    while index[slot] != 0:
        at = i8(index[slot]) - 1
        same = True
        for i in range(len(row)):
            if rows[at, i] != row[i]:
                same = False
                break
        if same:
            return slot
        slot = (slot + u8(1)) & mask
    return slot


@jit
def fill_index(piles, index):
    """Fill an empty index with piles; return the first that has more cards than a table holds, or 0."""
    heights = np.zeros(len(piles), np.int64)
    for pile in range(1, len(piles)):
        heights[pile] = heights[piles[pile, 0]] + 1
        if heights[pile] > MOST_CARDS:
            return pile
        slot = slot_of(piles[pile, 0], piles[pile, 1], index)
        while index[slot] != 0:
            slot = (slot + u8(1)) & u8(len(index) - 1)
        index[slot] = pile
    return 0


@jit
def heights_of(piles, used):
    """Return the cards of each used pile, 0 for those not used; whatever lies below a used one is used."""
    heights = np.zeros(len(piles), np.int64)
    for pile in range(len(piles) - 1, 0, -1):
        if used[pile]:
            used[piles[pile, 0]] = True
    for pile in range(1, len(piles)):
        if used[pile]:
            heights[pile] = heights[piles[pile, 0]] + 1
    return heights
