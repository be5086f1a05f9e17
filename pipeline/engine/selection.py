"""Which of many states go on: the best, but only one of those that look alike while there is room for others."""

from __future__ import annotations

import numpy as np

from pipeline.engine.compiler import jit

u4, u8, i8 = np.uint32, np.uint64, np.int64


@jit
def cutoff(x, n, keep):
    """The keep-th largest of x[:n] (Hoare's quickselect; reorders x)."""
    lo, hi, k = 0, n - 1, keep - 1
    while lo < hi:
        pivot = x[(lo + hi) >> 1]
        i, j = lo, hi
        while i <= j:
            while x[i] > pivot:
                i += 1
            while x[j] < pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return x[k]


@jit
def choose_champions(m, items, n):
    """Mark the best item of each signature; returns their number."""
    size = 16
    while size < 2 * n:
        size *= 2
    mask = u8(size - 1)
    m.alike[:size] = u4(0)
    count = 0
    for j in range(n):
        sig = items[j].signature
        items[j].champion = 0
        at = u8(sig) & mask
        while True:
            k = i8(m.alike[at])
            if k == 0:
                m.alike[at] = j + 1
                items[j].champion = 1
                count += 1
                break
            if items[k - 1].signature == sig:
                if items[j].order > items[k - 1].order:
                    m.alike[at] = j + 1
                    items[j].champion = 1
                    items[k - 1].champion = 0
                break
            at = (at + u8(1)) & mask
    return count


@jit
def select(m, items, n, keep):
    """Keep `keep` of items[:n], in place and in order: champions of their signature first, then the best of the rest.

    Returns how many are kept.
    """
    if n <= keep:
        return n
    m.cut = 1
    champions = choose_champions(m, items, n)
    among = 1 if champions >= keep else 0  # where the line between kept and dropped runs
    count = 0
    for j in range(n):
        if i8(items[j].champion) == among:
            m.orders[count] = items[j].order
            count += 1
    wanted = keep if among else keep - champions
    least = cutoff(m.orders, count, wanted) if wanted else i8(1) << 62
    kept = 0
    for j in range(n):
        if items[j].order >= least if i8(items[j].champion) == among else among == 0:
            if kept != j:
                items[kept] = items[j]
            kept += 1
    return kept
