"""The table of positions reached in a pass: open addressing on 64-bit keys, growing, never shrinking within a pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import jit
from pipeline.engine.memory import FIRST_TABLE, MAX_DOWN, MAX_RUN, MAX_STOCK, MAX_TABLE

u8, i8 = np.uint64, np.int64
GOLDEN, MIX_1, MIX_2 = u8(0x9E3779B97F4A7C15), u8(0xBF58476D1CE4E5B9), u8(0x94D049BB133111EB)
S27, S30, S31, S32, ZERO, ONE = u8(27), u8(30), u8(31), u8(32), u8(0), u8(1)


@jit
def splitmix(x):
    """SplitMix64's output function (Steele, Lea and Flood, 2014)."""
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * MIX_1
    x = (x ^ (x >> S27)) * MIX_2
    return x ^ (x >> S31)


def random_keys(start: int, *shape: int) -> npt.NDArray[np.uint64]:
    """Fixed pseudo-random keys of the shape."""
    function = getattr(splitmix, "py_func", splitmix)
    with np.errstate(over="ignore"):
        keys = [function(u8(start + i)) for i in range(int(np.prod(shape)))]
    return np.array(keys, u8).reshape(shape)


RUN_KEY = random_keys(1_000, 64, MAX_RUN)  # card at the head of a run, length
DOWN_KEY = random_keys(4_000, 64)  # face-down card
COLUMN_KEY = random_keys(4_100, 16)
DEALT_KEY = random_keys(5_000, MAX_STOCK)  # stock cards dealt
DOWN_SIG = (random_keys(6_000, 16, MAX_DOWN) >> S32).astype(np.uint32)  # column, face-down cards


@jit
def mix(x):
    """Scramble a 64-bit word (multiply and fold)."""
    x = x * GOLDEN
    return x ^ (x >> S32)


@jit
def clear_table(m):
    """Empty the table and make it small."""
    m.mask = u8(FIRST_TABLE - 1)
    m.used = 0
    m.table[:FIRST_TABLE] = ZERO


@jit
def insert(m, key):
    """True if the key was not in the table; it is then."""
    if key == ZERO:
        key = ONE
    i = (key ^ (key >> S31)) & m.mask
    while m.table[i] != ZERO:
        if m.table[i] == key:
            return False
        i = (i + ONE) & m.mask
    m.table[i] = key
    m.used += 1
    return True


@jit
def table_full(m):
    """Whether the table is at its capacity and three quarters full: the pass must end."""
    return i8(m.mask) + 1 >= MAX_TABLE and 4 * m.used > 3 * MAX_TABLE


@jit
def grow_table(m):
    """Make room: four times the size, up to the capacity."""
    size = i8(m.mask) + 1
    if 2 * m.used <= size or size >= MAX_TABLE:
        return
    old = m.table[:size].copy()
    size = min(4 * size, MAX_TABLE)
    m.mask = u8(size - 1)
    m.used = 0
    m.table[:size] = ZERO
    for key in old:
        if key != ZERO:
            insert(m, key)
