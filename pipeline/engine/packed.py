"""The board of the complete search: byte columns that are changed and restored in place, with a 128-bit key.

One structured record holds everything of fixed size. `make` plays a move and `unmake` takes it back; `list_moves` lists
every legal move with the key of the position it leads to, most of them without playing it.

The key is the sum of one mixed 128-bit value per column. While stock remains the column's index is mixed in, as the
next row tells columns apart; afterwards it is left out, so positions that differ by the order of columns are one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import jit, record
from pipeline.engine.records import (
    ANY_SUIT,
    DEAL,
    DEAL_BLOCKED,
    DEAL_NON_EMPTY,
    SAME_COLOUR,
    SAME_SUIT,
    Rules,
    Start,
)

u8, i8 = np.uint64, np.int64

MAX_COLUMNS, MAX_CARDS, MAX_SETS = 16, 208, 24
MAX_MOVES = 4096  # 16 columns, at most 13 heads each (26 when wrapped), 15 targets, and the deal
LAYS, UNIT, SET = 1, 2, 4  # bits of `link[under, over]`
SHARED = MAX_COLUMNS  # index of the salt that all columns have once the stock is empty


REMOVED = record(("column", "i8"), ("down", "i8"), ("cards", "u1", 13))
FRAME = record(("first", "i8"), ("move", "u2"), ("down", "u1"), ("removed", "u1"), ("dealt", "u1"))
BOARD = record(
    # rules
    ("columns", "i8"),
    ("deal", "i8"),
    ("wrap", "i8"),
    ("needed", "i8"),
    ("link", "u1", (64, 64)),
    ("kin", "u1", 64),  # cards as sets see them
    ("set_suits", "i8"),
    # position; `down` counts the cards of a column that still act as face down, see `settle`
    ("height", "i8", MAX_COLUMNS),
    ("down", "i8", MAX_COLUMNS),
    ("cards", "u1", (MAX_COLUMNS, MAX_CARDS)),
    ("stock", "u1", MAX_CARDS),
    ("stock_size", "i8"),
    ("dealt", "i8"),
    ("sets", "i8"),
    ("gone", REMOVED, MAX_SETS),
    ("gone_size", "i8"),
    # hashes: of each column up to each height, mixed of each column, of the position
    ("prefix", "u8", (MAX_COLUMNS, MAX_CARDS + 1, 2)),
    ("value", "u8", (MAX_COLUMNS, 2)),
    ("key", "u8", 2),
    # scratch: columns by the rank of their top card (0: empty ones), as linked lists
    ("first", "i8", 16),
    ("next", "i8", MAX_COLUMNS),
    # the search
    ("depth", "i8"),
    ("pending", "i8"),
    ("listed", "i8"),
    ("top", "i8"),
    ("positions", "i8"),
    ("capacity", "i8"),
    ("expanded", "i8"),
    ("touched", "u8"),
    ("attempt", "i8"),
    ("thorough", "?"),
    ("begun", "?"),  # whether the initial position was looked at
)


def _splitmix(index: int) -> int:
    mask = (1 << 64) - 1
    x = (index * 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def constants(first: int, *shape: int) -> npt.NDArray[np.uint64]:
    """Return fixed random numbers."""
    count = int(np.prod(shape))
    return np.array([_splitmix(first + i) for i in range(count)], np.uint64).reshape(shape)


CARD_KEY = constants(1001, 64, 2)
SALT = constants(2001, MAX_COLUMNS + 1, 2)
DOWN_KEY = constants(3001, MAX_CARDS + 1, 2)
STOCK_KEY = constants(4001, MAX_CARDS + 1, 2)
M0, M1, M2, M3 = (u8(_splitmix(5001 + i) | 1) for i in range(4))
S29, S32 = u8(29), u8(32)


@jit
def fold0(x, card):
    """Extend lane 0 of a column's hash by a card."""
    x = (x ^ CARD_KEY[card, 0]) * M0
    return x ^ (x >> S32)


@jit
def fold1(x, card):
    """Extend lane 1 of a column's hash by a card."""
    x = (x ^ CARD_KEY[card, 1]) * M1
    return x ^ (x >> S32)


@jit
def finish(x, salt, down, lane):
    """Return one lane of the mixed value of a column with hash `x`."""
    x = (x ^ SALT[salt, lane] ^ DOWN_KEY[down, lane]) * M2
    x = (x ^ (x >> S29)) * M3
    return x ^ (x >> S32)


@jit
def salt_of(m, column):
    """Return the index of the salt of a column."""
    return column if m.dealt < m.stock_size else SHARED


@jit
def settle(m, column, height):
    """Return how many cards of a column of `height` cards act as face down.

    The card on top turns up. A covered face-down card matters only if the card on it continues it (as a unit or a
    set): otherwise it turns up anyway before anything can be done with it, and is counted as face up. So positions
    that differ by such cards only are one.
    """
    down = min(m.down[column], height - 1) if height > 0 else i8(0)
    while down > 0 and (m.link[m.cards[column, down - 1], m.cards[column, down]] & (UNIT | SET)) == 0:
        down -= 1
    return down


@jit
def refresh(m, column):
    """Bring a column's value and the key up to date."""
    v0 = u8(0)
    v1 = u8(0)
    height = m.height[column]
    if height > 0:
        salt = salt_of(m, column)
        v0 = finish(m.prefix[column, height, 0], salt, m.down[column], 0)
        v1 = finish(m.prefix[column, height, 1], salt, m.down[column], 1)
    m.key[0] += v0 - m.value[column, 0]
    m.key[1] += v1 - m.value[column, 1]
    m.value[column, 0] = v0
    m.value[column, 1] = v1


@jit
def put(m, column, card):
    """Lay a card on a column (its value is not refreshed)."""
    height = m.height[column]
    m.cards[column, height] = card
    m.prefix[column, height + 1, 0] = fold0(m.prefix[column, height, 0], card)
    m.prefix[column, height + 1, 1] = fold1(m.prefix[column, height, 1], card)
    m.height[column] = height + 1


@jit
def ends_in_set(m, column):
    """Whether a complete face-up set lies on top of a column."""
    height = m.height[column]
    if height - m.down[column] < 13 or (m.wrap == 0 and (m.cards[column, height - 1] & 15) != 1):
        return False
    for i in range(height - 1, height - 13, -1):
        if (m.link[m.cards[column, i - 1], m.cards[column, i]] & SET) == 0:
            return False
    return True


@jit
def remove_sets(m, column):
    """Remove the sets on top of a column; returns how many."""
    count = 0
    while ends_in_set(m, column):
        gone = m.gone[m.gone_size]
        gone.column = column
        gone.down = m.down[column]
        height = m.height[column] - 13
        for i in range(13):
            gone.cards[i] = m.cards[column, height + i]
        m.height[column] = height
        m.down[column] = settle(m, column, height)
        m.gone_size += 1
        m.sets += 1
        count += 1
    return count


@jit
def restore_set(m):
    """Take the last removal back; returns its column."""
    m.gone_size -= 1
    m.sets -= 1
    gone = m.gone[m.gone_size]
    column = gone.column
    for i in range(13):
        put(m, column, i8(gone.cards[i]))
    m.down[column] = gone.down
    return column


@jit
def stock_shift(m):
    """Change the part of the key that counts the stock, and with it the columns' salts."""
    m.key[0] = STOCK_KEY[m.stock_size - m.dealt, 0]
    m.key[1] = STOCK_KEY[m.stock_size - m.dealt, 1]
    for column in range(m.columns):
        m.value[column, 0] = u8(0)
        m.value[column, 1] = u8(0)
        refresh(m, column)


@jit
def may_deal(m):
    """Whether the rules let a row be dealt now."""
    if m.dealt == m.stock_size:
        return False
    if m.deal == DEAL_BLOCKED:
        for column in range(m.columns):
            if m.height[column] == 0:
                return False
    return True


@jit
def deal_row(m):
    """Deal a row; returns how many cards."""
    count = 0
    occupied = False
    for column in range(m.columns):
        occupied = occupied or m.height[column] > 0
    for column in range(m.columns):
        if m.dealt < m.stock_size and (
            m.deal != DEAL_NON_EMPTY or m.height[column] > 0 or (not occupied and column == 0)
        ):
            put(m, column, i8(m.stock[m.dealt]))
            m.dealt += 1
            count += 1
    return count


@jit
def make(m, frame, move):
    """Play a legal move, noting in `frame` what `unmake` needs."""
    frame.move = move
    frame.removed = 0
    if move == DEAL:
        frame.dealt = deal_row(m)
        for column in range(m.columns):
            frame.removed += remove_sets(m, column)
        stock_shift(m)
        return
    source, target, count = move & 15, (move >> 4) & 15, move >> 8
    start = m.height[source] - count
    for i in range(count):
        put(m, target, i8(m.cards[source, start + i]))
    frame.down = m.down[source]
    m.height[source] = start
    m.down[source] = settle(m, source, start)
    frame.removed = remove_sets(m, target)
    frame.removed += remove_sets(m, source)
    refresh(m, source)
    refresh(m, target)


@jit
def unmake(m, frame):
    """Take back the move noted in `frame`."""
    move = i8(frame.move)
    if move == DEAL:
        for _ in range(frame.removed):
            restore_set(m)
        left = i8(frame.dealt)
        m.dealt -= left
        for column in range(m.columns):
            if left > 0 and (m.height[column] > 0):
                m.height[column] -= 1
                left -= 1
        stock_shift(m)
        return
    for _ in range(frame.removed):
        restore_set(m)
    source, target, count = move & 15, (move >> 4) & 15, move >> 8
    start = m.height[target] - count
    for i in range(count):
        put(m, source, i8(m.cards[target, start + i]))
    m.height[target] = start
    m.down[source] = frame.down
    refresh(m, source)
    refresh(m, target)


@jit
def emit(m, spare, move, n, moves, keys, wins):
    """Note a move with the key and win of its position, by playing it; returns the next free place."""
    make(m, spare, move)
    moves[n] = move
    keys[n, 0] = m.key[0]
    keys[n, 1] = m.key[1]
    wins[n] = m.sets >= m.needed
    unmake(m, spare)
    return n + 1


@jit
def sort_columns(m):
    """List the columns by the rank of their top card."""
    for rank in range(16):
        m.first[rank] = -1
    for column in range(m.columns - 1, -1, -1):
        height = m.height[column]
        rank = i8(m.cards[column, height - 1] & 15) if height > 0 else i8(0)
        m.next[column] = m.first[rank]
        m.first[rank] = column
    if m.first[0] >= 0 and m.dealt == m.stock_size:
        m.next[m.first[0]] = -1


@jit
def list_moves(m, spare, moves, keys, wins):
    """List the legal moves with the keys of their positions; returns how many.

    Once the stock is empty, empty columns are alike (the key does not tell columns apart): one of them stands for all,
    and moving a whole column to one changes nothing. While stock remains each counts.
    """
    sort_columns(m)
    n = 0
    for source in range(m.columns):
        height = m.height[source]
        if height == 0:
            continue
        salt = salt_of(m, source)
        tail = i8(m.cards[source, height - 1]) & 15
        i = height - 1
        while True:
            head = i8(m.cards[source, i])
            count = height - i
            down = settle(m, source, i)
            slow = m.wrap != 0 or tail == 1 or (i >= 13 and (m.cards[source, i - 1] & 15) == 1)
            base0 = m.key[0] - m.value[source, 0]
            base1 = m.key[1] - m.value[source, 1]
            if i > 0:
                base0 += finish(m.prefix[source, i, 0], salt, down, 0)
                base1 += finish(m.prefix[source, i, 1], salt, down, 1)
            rank = (head & 15) + 1
            if rank == 14 and m.wrap != 0:
                rank = 1
            target = m.first[rank]
            onto_empty = False
            while True:
                if target < 0:
                    if onto_empty or (i == 0 and m.dealt == m.stock_size):
                        break
                    onto_empty = True
                    target = m.first[0]
                    if target < 0:
                        break
                move = source | target << 4 | count << 8
                if target == source:
                    pass
                elif slow:
                    n = emit(m, spare, move, n, moves, keys, wins)
                else:
                    above = m.height[target]
                    x0 = m.prefix[target, above, 0]
                    x1 = m.prefix[target, above, 1]
                    for j in range(i, height):
                        card = i8(m.cards[source, j])
                        x0 = fold0(x0, card)
                        x1 = fold1(x1, card)
                    other = salt_of(m, target)
                    moves[n] = move
                    keys[n, 0] = base0 - m.value[target, 0] + finish(x0, other, m.down[target], 0)
                    keys[n, 1] = base1 - m.value[target, 1] + finish(x1, other, m.down[target], 1)
                    wins[n] = False
                    n += 1
                target = m.next[target]
            i -= 1
            if i < m.down[source] or (m.link[m.cards[source, i], head] & UNIT) == 0:
                break
    if may_deal(m):
        n = emit(m, spare, DEAL, n, moves, keys, wins)
    return n


def _suit_class(card: int, kind: int) -> int:
    suit = card >> 4
    return {SAME_SUIT: suit, SAME_COLOUR: (suit ^ suit >> 1) & 1, ANY_SUIT: 0}[kind]


def write_rules(m: np.record, rules: Rules) -> None:
    """Fill in the part of the board that depends on the rules only."""
    m.columns, m.deal, m.wrap, m.needed = rules.columns, rules.deal, int(rules.wrap), rules.sets_needed
    m.set_suits = {SAME_SUIT: 4, SAME_COLOUR: 2, ANY_SUIT: 1}[rules.sets]
    for under in range(64):
        m.kin[under] = _suit_class(under, rules.sets) << 4 | under & 15
        for over in range(64):
            low, high = over & 15, under & 15
            if high == low + 1 or (rules.wrap and (high, low) == (1, 13)):
                link = LAYS
                if _suit_class(under, rules.unit) == _suit_class(over, rules.unit):
                    link |= UNIT
                if _suit_class(under, rules.sets) == _suit_class(over, rules.sets):
                    link |= SET
                m.link[under, over] = link


def write_start(m: np.record, rules: Rules, start: Start) -> None:
    """Set the board up; suits that the rules cannot tell apart become one."""
    finest = min(rules.unit, rules.sets)

    def plain(card: int) -> int:
        return _suit_class(card, finest) << 4 | card & 15

    m.stock_size, m.dealt = len(start.stock), 0
    m.stock[: len(start.stock)] = [plain(card) for card in start.stock]
    m.sets, m.gone_size = start.sets_done, 0
    m.height[:], m.down[:] = 0, 0
    for column, cards in enumerate(start.columns):
        for card in cards:
            put(m, column, plain(card))
        m.down[column] = start.face_down[column]
        m.down[column] = settle(m, column, len(cards))
    stock_shift(m)
