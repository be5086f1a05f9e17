"""Columns as chains of immutable runs, shared by all positions of a pass.

A run is a same-suit sequence; hash and score of the whole column sit in its top run and follow in O(1) from the run
below. A move makes one or two runs. Runs are numbered by their place in the arena; run 0 is the empty column.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit
from pipeline.engine.memory import MAX_DOWN
from pipeline.engine.table import DOWN_KEY, DOWN_SIG, RUN_KEY, ZERO, mix

u4, u8, i8 = np.uint32, np.uint64, np.int64
LAST_DOWN = i8(MAX_DOWN - 1)  # more face-down cards than so many look alike to the diversity cap
ZERO_I, ONE_I = i8(0), i8(1)  # as variables: a literal would be another type, compiled anew


@jit
def parent_of(m, card):
    """The card that this one continues in suit (no card's code if there is none)."""
    if m.wrap and card & 15 == 13:
        return card - 12
    return card + 1


@jit
def head_of(m, top, n):
    """The highest card of n in sequence that end in `top`."""
    card = top + n - 1
    if m.wrap and (top & 15) + n - 1 > 13:
        card -= 13
    return card


@jit
def top_of(m, card, n):
    """The lowest card of n in sequence from `card` down."""
    if m.wrap:
        return (card & 0x30) + ((card & 15) - n) % 13 + 1
    return card - n + 1


@jit
def rest_of(m, run):
    """The column without its top run, its last card turned up."""
    below = i8(m.runs[u8(run)].below)
    return rest_index(m.runs[u8(below)], below)


@jit
def hangs_together(m, upper, lower):
    """Whether a card on another one rank higher moves with it."""
    if m.unit == 2:
        return True
    if m.unit == 1:  # suits C 0, D 1, H 2, S 3: red are 1 and 2
        a, b = upper >> 4, lower >> 4
        return ((a ^ a >> 1) & 1) == ((b ^ b >> 1) & 1)
    return upper >> 4 == lower >> 4


@jit
def lay(m, i, below, card, n):
    """Make run i: n cards from `card` down, laid on run `below` without joining it."""
    w = m.w
    b = m.runs[u8(below)]
    r = m.runs[u8(i)]
    rank = card & 15
    b_len, b_down, b_top = i8(b.len), i8(b.down), i8(b.top)
    over = (b_top & 15) - rank
    if m.wrap and over == -12:
        over = 1
    closed = i8(b.closed) + m.run_score[u8(n)]
    chunks = i8(b.chunks) + 1
    chain, ordered, unit, base = 0, 0, n, i8(below)
    if b_len:
        if over == 1:
            closed += w.mixed
            chain = i8(b.chain)
            ordered = i8(b.ordered)
            if chain:
                base = i8(b.ground)
                chain += n
                if ordered:
                    closed += w.base_chain * n
            if m.unit and hangs_together(m, card, b_top):
                unit += i8(b.unit)
        else:
            closed -= w.break_
            if over < 0:
                closed -= w.break_up
    elif b_down:
        base = i8(b.ground)
        if over == 1:
            closed += w.down_pair
    else:
        ordered = 1
        if rank == 13:
            closed += w.king_base + w.base_chain * (n - 1)
    value = closed
    if b_down:
        value -= w.down_runs * chunks
    if ordered:
        value += w.ordered
    if rank == 13:
        if chain == 0:
            chain = n
            base = i8(rest_index(b, below))
        if b_len or b_down:
            value -= w.top_king
    top = top_of(m, card, n)
    r.hash = mix(b.hash + RUN_KEY[u8(card), u8(n)])
    r.closed = closed
    r.value = value
    r.below = below
    r.ground = base
    r.card = card
    r.top = top
    r.len = n
    r.down = b_down
    r.chunks = chunks
    r.ordered = ordered
    r.chain = chain
    r.unit = unit


@jit
def rest_index(b, below):
    """What is left of a column `below` when the run on it goes: a stub turns up its last card."""
    if b.len == 0 and b.down != 0:
        return i8(b.ground)
    return i8(below)


@jit
def put(m, i, onto, card, n):
    """Make run i: column `onto` after n cards from `card` down are laid on it."""
    t = m.runs[u8(onto)]
    if t.len and i8(t.top) == parent_of(m, card):
        lay(m, i, i8(t.below), i8(t.card), i8(t.len) + n)
    else:
        lay(m, i, i8(onto), card, n)


@jit
def turn_down(m, i, below, card, face_up):
    """Make run i: the stub `below` with one more face-down card; run `face_up` is the same card turned up."""
    w = m.w
    b = m.runs[u8(below)]
    r = m.runs[u8(i)]
    score = (i8(b.closed) if b.down else -w.down_column) - w.down
    if b.down and (i8(b.top) & 15) == (card & 15) + 1:
        score += w.down_pair
    r.hash = mix(b.hash + DOWN_KEY[u8(card)])
    r.closed = score
    r.value = score
    r.below = below
    r.ground = face_up
    r.card = card
    r.top = card
    r.len = 0
    r.down = i8(b.down) + 1
    r.chunks = 0
    r.chain = 0
    r.ordered = 0
    r.unit = 0


@jit
def make_empty(m):
    """Make run 0, the empty column."""
    e = m.runs[0]
    e.hash = ZERO
    e.closed = 0
    e.value = m.w.empty
    e.below = e.ground = 0
    e.card = e.top = e.len = e.down = e.chunks = e.chain = e.unit = e.ordered = 0


@jit
def settle(m, s, i, run):
    """Column i of s becomes `run`, just made at the end of the arena, less a completed set; returns the new end."""
    old = m.runs[u8(s.cols[i])]
    s.score -= old.value
    old_down = i8(old.down)
    r = m.runs[u8(run)]
    n = i8(r.len)
    if n >= 13 or (m.any_sets and r.chain == 13):
        s.done += 1
        s.score += m.w.set_done
        if n > 13:  # wrapped cards stay below the set
            lay(m, run, i8(r.below), i8(r.card), n - 13)
            s.cols[i] = run
            run += 1
        else:
            s.cols[i] = r.ground if m.any_sets else rest_of(m, run)
    else:
        s.cols[i] = run
        run += 1
    new = m.runs[u8(s.cols[i])]
    s.score += new.value
    if i8(new.down) != old_down:
        s.sig += DOWN_SIG[i, min(i8(new.down), LAST_DOWN)] - DOWN_SIG[i, min(old_down, LAST_DOWN)]
    return run


@jit
def take(m, s, i, run, n):
    """Column i of s loses its top n cards; new runs are made at `run`; returns the new end."""
    r = m.runs[u8(s.cols[i])]
    s.score -= r.value
    old_down = i8(r.down)
    k = i8(s.cols[i])
    while n > i8(m.runs[u8(k)].len):  # whole runs of a unit of several
        n -= i8(m.runs[u8(k)].len)
        k = i8(m.runs[u8(k)].below)
    r = m.runs[u8(k)]
    if n == i8(r.len):
        s.cols[i] = rest_of(m, k)
    else:
        lay(m, run, i8(r.below), i8(r.card), i8(r.len) - n)
        s.cols[i] = run
        run += 1
    new = m.runs[u8(s.cols[i])]
    s.score += new.value
    if i8(new.down) != old_down:
        s.sig += DOWN_SIG[i, min(i8(new.down), LAST_DOWN)] - DOWN_SIG[i, min(old_down, LAST_DOWN)]
    return run


@jit
def hash_after_take(m, col, n):
    """Hash of a column after its top n cards are gone."""
    while n > i8(m.runs[u8(col)].len):
        n -= i8(m.runs[u8(col)].len)
        col = i8(m.runs[u8(col)].below)
    r = m.runs[u8(col)]
    if n == i8(r.len):
        return m.runs[u8(rest_of(m, col))].hash
    return mix(m.runs[u8(r.below)].hash + RUN_KEY[r.card, u8(i8(r.len) - n)])


@jit
def hash_after_put(m, onto, card, n):
    """Hash of a column after n cards of one suit from `card` down are laid on it, a completed set gone."""
    t = m.runs[u8(onto)]
    if m.any_sets:
        chain = i8(t.chain)
        if chain and (i8(t.top) & 15) == (card & 15) + 1 and chain + n == 13:
            return m.runs[u8(t.ground)].hash
    if t.len and i8(t.top) == parent_of(m, card):
        n += i8(t.len)
        if n >= 13:
            if n == 13:
                return m.runs[u8(rest_of(m, onto))].hash
            n -= 13
        return mix(m.runs[u8(t.below)].hash + RUN_KEY[t.card, u8(n)])
    return mix(t.hash + RUN_KEY[u8(card), u8(n)])
