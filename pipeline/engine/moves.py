"""Moves: which there are, where they lead (as keys), and playing them.

The generator is complete; what a pass leaves out (splits, moves other than joins) is a filter on it.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.columns import hash_after_put, hash_after_take, head_of, lay, put, rest_of, settle, take
from pipeline.engine.compiler import jit
from pipeline.engine.evaluation import bit_count, low_bit, note_top
from pipeline.engine.records import DEAL_BLOCKED, DEAL_NON_EMPTY
from pipeline.engine.table import COLUMN_KEY, DEALT_KEY, MIX_1, ONE, RUN_KEY, S31, ZERO, mix

u2, u8, i8 = np.uint16, np.uint64, np.int64
NO_SPLIT, SPLIT_ONTO_SUIT, SPLIT_ANYWHERE = 0, 1, 2
ZERO_I, ONE_I = i8(0), i8(1)  # as variables: a literal would be another type, compiled anew
NONE, ONLY_JOINS = i8(-1), i8(-2)


@jit
def column_key(i, h, stock_left):
    """Key of column i: its place counts while stock remains."""
    return ((h ^ COLUMN_KEY[i]) if stock_left else h) * MIX_1


@jit
def full_key(m, s):
    """Key of a position from scratch."""
    stock_left = i8(s.dealt) < m.stock_size
    key = DEALT_KEY[s.dealt]
    for i in range(len(s.cols)):
        key += column_key(i, m.runs[s.cols[i]].hash, stock_left)
    return key


@jit
def hash_after_move(m, onto, source, n):
    """Hash of column `onto` after the top n cards of column `source`, a unit of several runs, are laid on it."""
    lowest, k, depth = source, n, ZERO_I
    while k > i8(m.runs[u8(lowest)].len):
        k -= i8(m.runs[u8(lowest)].len)
        lowest = i8(m.runs[u8(lowest)].below)
        depth += 1
    card = head_of(m, i8(m.runs[u8(lowest)].top), k)
    t = m.runs[u8(onto)]
    chain = i8(t.chain)
    if m.any_sets and chain and (i8(t.top) & 15) == (card & 15) + 1 and chain + n == 13:
        return m.runs[u8(t.ground)].hash
    h = hash_after_put(m, onto, card, k)
    for j in range(depth):  # the runs above the lowest, from below
        run = source
        for _ in range(depth - 1 - j):
            run = i8(m.runs[u8(run)].below)
        r = m.runs[u8(run)]
        h = mix(h + RUN_KEY[r.card, r.len])
    return h


@jit
def add_move(m, a, b, n):
    """List the move of n cards from column a to b."""
    m.move[u8(m.n_moves)] = a | b << 4 | n << 8
    m.n_moves += 1


@jit
def key_moves(m, s):
    """Find the key that each listed move leads to, and fetch its place in the table early."""
    stock_left = i8(s.dealt) < m.stock_size
    for j in range(m.n_moves):
        move = i8(m.move[u8(j)])
        a, b, n = move & 15, move >> 4 & 15, move >> 8
        source, onto = i8(s.cols[u8(a)]), i8(s.cols[u8(b)])
        r = m.runs[u8(source)]
        length = i8(r.len)
        if n == length:
            card = i8(r.card)
            h = m.runs[u8(rest_of(m, source))].hash
            g = hash_after_put(m, onto, card, n)
        elif n < length:
            card = head_of(m, i8(r.top), n)
            h = mix(m.runs[u8(r.below)].hash + RUN_KEY[r.card, u8(length - n)])
            g = hash_after_put(m, onto, card, n)
        else:
            h = hash_after_take(m, source, n)
            g = hash_after_move(m, onto, source, n)
        key = s.key - m.col_key[u8(a)] - m.col_key[u8(b)] + column_key(a, h, stock_left) + column_key(b, g, stock_left)
        m.move_key[u8(j)] = key
        m.touched ^= m.table[(key ^ (key >> S31)) & m.mask]


@jit
def note_columns(m, s):
    """Cache what move listing and evaluation need of each column; returns the first empty one or -1."""
    stock_left = i8(s.dealt) < m.stock_size
    m.by_rank[:] = ZERO
    empty, empties, pieces = NONE, ZERO_I, ZERO_I
    tops, wants = ZERO, ZERO
    for i in range(len(s.cols)):
        run = i8(s.cols[u8(i)])
        r = m.runs[u8(run)]
        note_top(m, i, run)
        wants |= m.want_bit[u8(i)]
        m.col_key[u8(i)] = column_key(i, r.hash, stock_left)
        tops |= m.top_bit[u8(i)]
        pieces += i8(r.chunks) + i8(r.down)
        if r.len:
            m.by_rank[r.top & 15] |= ONE << u8(i)
        elif i < m.columns:
            empties += 1
            if empty < 0:
                empty = i
    m.tops, m.wants = tops, wants
    m.empty_columns = empties
    m.tight = m.no_way_on and stock_left and m.deal == DEAL_BLOCKED and pieces <= m.columns
    return empty


@jit
def parents(m, card):
    """Columns on whose top a card may be laid, as bits."""
    rank = (card & 15) + 1
    if m.wrap and rank == 14:
        rank = 1
    return m.by_rank[u8(rank)]


@jit
def list_joins(m, s):
    """List the moves of whole runs onto their same-suit parents that are forced; returns whether there are any."""
    if m.wants & m.tops == ZERO:
        return False
    for a in range(len(s.cols)):
        want = m.want_bit[u8(a)]
        if want & m.tops != ZERO and not (m.considerate and contended(m, s, a)):
            n = i8(m.runs[s.cols[u8(a)]].len)
            for b in range(len(s.cols)):
                if m.top_bit[u8(b)] == want and b != a:
                    add_move(m, a, b, n)
    return m.n_moves > 0


@jit
def contended(m, s, a):
    """Whether more top runs fit where column a's does, by rank, than there are places."""
    card = m.runs[s.cols[u8(a)]].card
    rivals = ZERO_I
    for i in range(len(s.cols)):
        r = m.runs[s.cols[u8(i)]]
        rivals += r.len and (r.card & 15) == (card & 15)
    return rivals > bit_count(parents(m, i8(card)))


@jit
def list_turns(m, s, empty):
    """List the moves of whole runs, but joins, that turn up a card or empty a column."""
    for a in range(len(s.cols)):
        ra = m.runs[s.cols[u8(a)]]
        if ra.len and m.runs[ra.below].len == 0 and m.want_bit[u8(a)] & m.tops == ZERO:
            n = i8(ra.len)
            targets = parents(m, i8(ra.card)) & ~(ONE << u8(a))
            while targets != ZERO:
                add_move(m, a, low_bit(targets), n)
                targets &= targets - ONE
            if empty >= 0 and m.runs[ra.below].down:
                add_move(m, a, empty, n)


@jit
def list_splits(m, s):
    """List the moves of parts of top runs onto same-suit parents."""
    for a in range(len(s.cols)):
        ra = m.runs[s.cols[u8(a)]]
        n, top = i8(ra.len), i8(ra.top)
        if n < 2:
            continue
        if m.wrap:
            list_wrapped_splits(m, s, a)
            continue
        targets = m.tops >> u8(top + 1) & ((ONE << u8(n - 1)) - ONE)
        while targets != ZERO:
            k = low_bit(targets) + 1
            targets &= targets - ONE
            for b in range(len(s.cols)):
                if m.top_bit[u8(b)] == ONE << u8(top + k):
                    add_move(m, a, b, k)


@jit
def list_wrapped_splits(m, s, a):
    """List the moves of parts of column a's top run onto same-suit parents where Kings go on Aces."""
    ra = m.runs[s.cols[u8(a)]]
    n, top = i8(ra.len), i8(ra.top)
    for b in range(len(s.cols)):
        onto = m.runs[s.cols[u8(b)]]
        k = (i8(onto.top) & 15) - (top & 15)
        if k <= 0:
            k += 13
        if onto.len and i8(onto.top) >> 4 == top >> 4 and k < n and b != a:
            add_move(m, a, b, k)


@jit
def list_moves(m, s):
    """List the tableau moves of s under the pass's filter, with their keys, after caching its columns.

    Returns the first empty column, -1 if there is none, or -2 if only joins are played here (no deal then).
    """
    m.n_moves = 0
    empty = note_columns(m, s)
    if m.split == SPLIT_ANYWHERE:
        list_all(m, s)
    elif m.tight:
        list_runs(m, s, empty)
        if empty >= 0:
            list_scatters(m, s, empty)
    elif m.force and list_joins(m, s):
        if m.turns:
            list_turns(m, s, empty)
        empty = ONLY_JOINS
    else:
        list_runs(m, s, empty)
    key_moves(m, s)
    return empty


@jit
def list_runs(m, s, empty):
    """List the moves of whole runs, and of the parts that the pass allows."""
    movable = ZERO  # columns whose top run fits somewhere; few do: find them first, without branches
    for a in range(len(s.cols)):
        ra = m.runs[s.cols[u8(a)]]
        targets = parents(m, i8(ra.card)) & ~(ONE << u8(a)) if ra.len else ZERO
        m.targets[u8(a)] = targets
        movable |= u8(targets != ZERO) << u8(a)
    while movable != ZERO:
        a = low_bit(movable)
        movable &= movable - ONE
        n = i8(m.runs[s.cols[u8(a)]].len)
        targets = m.targets[u8(a)]
        while targets != ZERO:
            add_move(m, a, low_bit(targets), n)
            targets &= targets - ONE
    if m.split:
        list_splits(m, s)
    if empty >= 0:
        for a in range(len(s.cols)):
            ra = m.runs[s.cols[u8(a)]]
            if m.runs[ra.below].len or m.runs[ra.below].down:
                add_move(m, a, empty, i8(ra.len))
    if m.unit:
        for a in range(len(s.cols)):
            if m.runs[s.cols[u8(a)]].unit > m.runs[s.cols[u8(a)]].len:
                list_wide(m, s, a, empty)


@jit
def list_scatters(m, s, empty):
    """List the moves of parts of top runs to an empty column: without them the next row could never be dealt."""
    for a in range(len(s.cols)):
        for n in range(1, i8(m.runs[s.cols[u8(a)]].len)):
            add_move(m, a, empty, n)


@jit
def list_wide(m, s, a, empty):
    """List the moves of several whole runs of column a that form a unit."""
    unit = i8(m.runs[s.cols[a]].unit)
    run = m.runs[s.cols[a]].below
    n = i8(m.runs[s.cols[a]].len)
    while n + i8(m.runs[run].len) <= unit and m.runs[run].len:
        n += i8(m.runs[run].len)
        targets = parents(m, i8(m.runs[run].card)) & ~(ONE << u8(a))
        while targets != ZERO:
            add_move(m, a, low_bit(targets), n)
            targets &= targets - ONE
        run = m.runs[run].below
        if empty >= 0 and (m.runs[run].len or m.runs[run].down):
            add_move(m, a, empty, n)


@jit
def list_all(m, s):
    """List every legal tableau move: each tail of a unit, each fitting column, each empty column."""
    for a in range(m.columns):
        ra = m.runs[s.cols[a]]
        if ra.len == 0:
            continue
        unit, rank = i8(ra.unit), i8(ra.top) & 15
        for b in range(m.columns):
            if b == a:
                continue
            if m.n_moves + unit > len(m.move):  # many empty columns; the beam may leave moves out, if it says so
                m.cut = 1
                return
            onto = m.runs[s.cols[b]]
            if onto.len:
                n = (i8(onto.top) & 15) - rank
                if m.wrap and n <= 0:
                    n += 13
                if 0 < n <= unit:
                    add_move(m, a, b, n)
            else:
                for n in range(1, unit + 1):
                    add_move(m, a, b, n)


@jit
def play(m, s, move):
    """Play a tableau move on state s; returns the end of the arena after the new runs."""
    a, b, n = move & 15, move >> 4 & 15, move >> 8
    source, onto = i8(s.cols[u8(a)]), i8(s.cols[u8(b)])
    run = m.free_run
    if n <= i8(m.runs[u8(source)].len):
        put(m, run, onto, head_of(m, i8(m.runs[u8(source)].top), n), n)
    else:
        run = carry(m, run, onto, source, n)
    run = settle(m, s, b, run)
    return take(m, s, a, run, n)


@jit
def carry(m, run, onto, source, n):
    """Lay the several runs of the top n cards of `source` on `onto`; returns the last one made."""
    lowest, k, depth = source, n, ZERO_I
    while k > i8(m.runs[u8(lowest)].len):
        k -= i8(m.runs[u8(lowest)].len)
        lowest = i8(m.runs[u8(lowest)].below)
        depth += 1
    put(m, run, onto, head_of(m, i8(m.runs[u8(lowest)].top), k), k)
    for j in range(depth):
        upper = source
        for _ in range(depth - 1 - j):
            upper = i8(m.runs[u8(upper)].below)
        lay(m, run + 1, run, i8(m.runs[u8(upper)].card), i8(m.runs[u8(upper)].len))
        run += 1
    return run


@jit
def may_deal(m, s, empty):
    """Whether the stock may be dealt from s, whose first empty column is `empty`."""
    return i8(s.dealt) < m.stock_size and empty != ONLY_JOINS and (m.deal != DEAL_BLOCKED or empty < 0)


@jit
def deal_row(m, s):
    """Deal the next row on state s; returns the end of the arena after the new runs."""
    run = m.free_run
    occupied = ZERO
    columns = m.columns
    for i in range(columns):
        if m.deal != DEAL_NON_EMPTY or m.runs[s.cols[i]].len:
            occupied |= ONE << u8(i)
    if occupied == ZERO:
        occupied = ONE
    dealt = i8(s.dealt)
    for i in range(columns):
        if occupied >> u8(i) & ONE != ZERO and dealt < m.stock_size:
            put(m, run, i8(s.cols[i]), i8(m.stock[dealt]), ONE_I)
            old = m.runs[s.cols[i]]
            s.score += m.runs[u8(run)].value - old.value
            s.cols[i] = run
            run += 1
            dealt += 1
    s.dealt = dealt
    for i in range(columns):  # sets leave after the whole row has landed
        r = m.runs[s.cols[i]]
        if i8(r.len) >= 13 or (m.any_sets and r.chain == 13):
            run = remove_set(m, s, i, run)
    return run


@jit
def remove_set(m, s, i, run):
    """Remove the set on column i that a deal completed; `run` is the end of the arena."""
    lay(m, run, i8(m.runs[s.cols[i]].below), i8(m.runs[s.cols[i]].card), i8(m.runs[s.cols[i]].len))
    return settle(m, s, i, run)


@jit
def stage_of(m, dealt):
    """Stage of a position: rows dealt; the last when the stock is empty."""
    if dealt >= m.stock_size:
        return m.last_stage
    return dealt // m.columns
