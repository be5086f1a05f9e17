"""A set of positions: a hash table of their 128-bit keys, with open addressing.

A table is an array (uint64) of two words a slot; their number is a power of two. A first word of 0 marks a free slot.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit

u8, i8 = np.uint64, np.int64


@jit
def insert(table, k0, k1, add):
    """Return whether a key was missing from the table; if `add`, put it in."""
    if k0 == 0:
        k0 = u8(1)
    mask = u8(len(table) // 2 - 1)
    slot = k0 & mask
    while True:
        i = slot + slot
        if table[i] == 0:
            if add:
                table[i] = k0
                table[i + u8(1)] = k1
            return True
        if table[i] == k0 and table[i + u8(1)] == k1:
            return False
        slot = (slot + u8(1)) & mask


@jit
def rehash(old, new):
    """Move all keys to a larger table."""
    for i in range(0, len(old), 2):
        if old[i] != 0:
            insert(new, old[i], old[i + 1], True)


@jit
def slot_of(table, k0, k1):
    """Return where the table holds a key, or -1."""
    if k0 == 0:
        k0 = u8(1)
    mask = u8(len(table) // 2 - 1)
    slot = k0 & mask
    while True:
        i = slot + slot
        if table[i] == 0:
            return i8(-1)
        if table[i] == k0 and table[i + u8(1)] == k1:
            return i8(slot)
        slot = (slot + u8(1)) & mask
