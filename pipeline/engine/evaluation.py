"""The value of a position: integers, in thousandths of a point, higher is better.

What concerns one column sits in its top run (see `columns`); here is what concerns all columns at once, and the noise
that makes each pass another.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit
from pipeline.engine.table import ONE, ZERO, splitmix

u4, u8, i8 = np.uint32, np.uint64, np.int64
S16, S32, S40, S48, S63 = u8(16), u8(32), u8(40), u8(48), u8(63)
RANKS = u8(0xFFFF)
PASS_KEY = u8(0xD1342543DE82EF95)
SIGNATURE_KEY = u8(0x2545F4914F6CDD1D)


@jit
def note_top(m, i, run):
    """Cache what the evaluation needs of column i, whose top run is `run`."""
    r = m.runs[u8(run)]
    if r.len:
        m.top_bit[u8(i)] = ONE << u8(r.top)
        m.want_bit[u8(i)] = m.want_of[r.card]
        m.chunk_bit[u8(i)] = ONE << min(u8(r.chunks) + u8(r.down), S63)
    else:
        m.top_bit[u8(i)] = ZERO
        m.want_bit[u8(i)] = ZERO
        m.chunk_bit[u8(i)] = ZERO


@jit
def bit_count(x):
    """Number of one bits."""
    n = 0
    while x != ZERO:
        x &= x - ONE
        n += 1
    return n


@jit
def low_bit(x):
    """Index of the lowest one bit of x (not zero)."""
    return bit_count((x & (~x + ONE)) - ONE)


@jit
def all_tops(m):
    """Bit set of the columns' top cards."""
    tops = ZERO
    for i in range(len(m.top_bit)):
        tops |= m.top_bit[u8(i)]
    return tops


@jit
def ranks_of(tops):
    """Bit set of the ranks in a bit set of cards."""
    x = tops | tops >> S32
    return (x | x >> S16) & RANKS


@jit
def mobility(m, tops, ranks, empty):
    """The part of the value that looks across columns, of which so many are empty."""
    wants, chunks = ZERO, ZERO
    for i in range(len(m.top_bit)):
        wants |= m.want_bit[u8(i)]
        chunks |= m.chunk_bit[u8(i)]
    value = (
        m.w.top_ranks * bit_count(ranks)
        + m.w.same_ready * bit_count(wants & tops)
        + m.w.mixed_ready * bit_count(ranks_of(wants) & ranks)
    )
    if empty > 1:
        value += m.w.more_empty * (empty - 1)
    if chunks != ZERO:
        value -= m.w.shallowest * low_bit(chunks)
    return value


@jit
def noise(m, key):
    """The pass's noise for a position, uniform in +- half the amplitude."""
    x = splitmix(key ^ (m.seed * PASS_KEY)) >> S40
    return ((i8(x) * m.w.noise) >> 24) - m.w.noise // 2


@jit
def signature(sig, done, ranks):
    """Hash of sets done, face-down counts and the ranks on top: what the diversity cap calls alike."""
    x = (u8(sig) | ranks << S32 | u8(done) << S48) * SIGNATURE_KEY
    return u4(x >> S32)
