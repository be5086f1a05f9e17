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
        pivot = x[u8((lo + hi) >> 1)]
        i, j = lo, hi
        while i <= j:
            while x[u8(i)] > pivot:
                i += 1
            while x[u8(j)] < pivot:
                j -= 1
            if i <= j:
                x[u8(i)], x[u8(j)] = x[u8(j)], x[u8(i)]
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
        sig = items[u8(j)].signature
        items[u8(j)].champion = 0
        at = u8(sig) & mask
        while True:
            k = i8(m.alike[at])
            if k == 0:
                m.alike[at] = j + 1
                items[u8(j)].champion = 1
                count += 1
                break
            if items[u8(k - 1)].signature == sig:
                if items[u8(j)].order > items[u8(k - 1)].order:
                    m.alike[at] = j + 1
                    items[u8(j)].champion = 1
                    items[u8(k - 1)].champion = 0
                break
            at = (at + u8(1)) & mask
    return count


@jit
def choose(m, items, n, keep):
    """Write the indices of the `keep` of items[:n] that go on to m.kept, in order; returns how many.

    Champions of their signature come first, then the best of the rest.
    """
    if n <= keep:
        for j in range(n):
            m.kept[u8(j)] = j
        return n
    m.cut = 1
    champions = choose_champions(m, items, n)
    among = 1 if champions >= keep else 0  # where the line between kept and dropped runs
    count = 0
    for j in range(n):
        m.orders[u8(count)] = items[u8(j)].order
        count += i8(items[u8(j)].champion) == among
    wanted = keep if among else keep - champions
    least = cutoff(m.orders, count, wanted) if wanted else i8(1) << 62
    kept = 0
    for j in range(n):
        m.kept[u8(kept)] = j
        if i8(items[u8(j)].champion) == among:
            kept += items[u8(j)].order >= least
        else:
            kept += 1 - among
    return kept


@jit
def select(m, items, n, keep):
    """Keep what `choose` chooses, in place; returns how many."""
    n = choose(m, items, n, keep)
    for j in range(n):
        if m.kept[u8(j)] != j:
            items[u8(j)] = items[m.kept[u8(j)]]
    return n
