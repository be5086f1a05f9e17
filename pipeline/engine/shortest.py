"""The shortest way to a win through the positions of a table.

A depth-first search finds its win on a path of hundreds or thousands of moves, yet the positions it reached on the
way hold far shorter ones. `shortest_way` looks for the shortest of those, breadth first, a layer at a time: only
positions in the table take part, so with the search's own none is reached that was not counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import jit, record
from pipeline.engine.keys import slot_of
from pipeline.engine.packed import (
    FRAME,
    MAX_CARDS,
    MAX_COLUMNS,
    MAX_MOVES,
    list_moves,
    make,
    put,
    stock_shift,
    unmake,
)

u8, i8 = np.uint64, np.int64
FIRST_LAYER, FIRST_STEPS = 1 << 12, 1 << 12

SNAPSHOT = record(
    ("height", "u1", MAX_COLUMNS),
    ("down", "u1", MAX_COLUMNS),
    ("cards", "u1", MAX_CARDS),
    ("dealt", "u1"),
    ("sets", "u1"),
    ("step", "u4"),
)
STEP = record(("before", "u4"), ("move", "u2"))


@jit
def save(m, snapshot, step):
    """Note the position on the board, and the step that led to it."""
    n = i8(0)
    for column in range(m.columns):
        height = m.height[column]
        snapshot.height[column] = height
        snapshot.down[column] = m.down[column]
        for i in range(height):
            snapshot.cards[n] = m.cards[column, i]
            n += 1
    snapshot.dealt = m.dealt
    snapshot.sets = m.sets
    snapshot.step = step


@jit
def load(m, snapshot):
    """Set the board up as it was noted; sets gone before are counted but cannot be taken back."""
    n = i8(0)
    for column in range(m.columns):
        m.height[column] = 0
        for _ in range(i8(snapshot.height[column])):
            put(m, column, i8(snapshot.cards[n]))
            n += 1
        m.down[column] = snapshot.down[column]
    m.dealt = i8(snapshot.dealt)
    m.sets = i8(snapshot.sets)
    m.gone_size = 0
    stock_shift(m)


@jit
def expand(memory, frames, now, first, size, after, n_after, steps, n_steps, table, seen, target, moves, keys, wins):
    """Add what follows the positions of a layer from `first` on to the next layer, until it is full.

    Returns the first position that is left, the sizes of the next layer and of `steps`, and whether one wins or is the
    target (its slot).
    """
    m = memory[0]
    for k in range(first, size):
        if n_after + MAX_MOVES > len(after) or n_steps + MAX_MOVES > len(steps):
            return k, n_after, n_steps, False
        load(m, now[k])
        listed = list_moves(m, frames[1], moves, keys, wins)
        for i in range(listed):
            slot = slot_of(table, keys[i, 0], keys[i, 1])
            if slot < 0 or seen[slot]:
                continue
            seen[slot] = True
            steps[n_steps].before = now[k].step
            steps[n_steps].move = moves[i]
            n_steps += 1
            if wins[i] or slot == target:
                return k, n_after, n_steps, True
            make(m, frames[0], i8(moves[i]))
            save(m, after[n_after], n_steps - 1)
            unmake(m, frames[0])
            n_after += 1
    return size, n_after, n_steps, False


def shortest_way(
    memory: npt.NDArray[np.record],
    table: npt.NDArray[np.uint64],
    grown: Callable[..., npt.NDArray[np.record]],
    target: tuple[np.uint64, np.uint64] | None = None,
) -> npt.NDArray[np.uint16]:
    """Return the moves (uint16) of the shortest way from the position on the board to a win.

    Parameters
    ----------
    memory
        The board, an array of one `packed.BOARD`, set up as the search began.
    table
        Keys of the positions that may be passed, a win or the target among them; see `keys`.
    grown
        Takes an array and a size; returns an array of at least that size that begins with the old items.
    target
        Key of a position where the way may end as well.
    """
    m = memory[0]
    frames = np.zeros(2, FRAME)
    moves, wins = np.zeros(MAX_MOVES, np.uint16), np.zeros(MAX_MOVES, np.bool_)
    keys = np.zeros((MAX_MOVES, 2), np.uint64)
    seen = np.zeros(len(table) // 2, np.bool_)
    steps = np.zeros(FIRST_STEPS, STEP)
    now, after = np.zeros(FIRST_LAYER, SNAPSHOT), np.zeros(FIRST_LAYER, SNAPSHOT)
    goal = slot_of(table, *target) if target is not None else i8(-1)
    start = slot_of(table, m.key[0], m.key[1])
    if goal == start:
        return np.zeros(0, np.uint16)
    save(m, now[0], 0)
    seen[start] = True
    size, n_steps, won = 1, 1, False
    while size and not won:
        first = n_after = 0
        while first < size and not won:
            after, steps = grown(after, n_after + MAX_MOVES), grown(steps, n_steps + MAX_MOVES)
            first, n_after, n_steps, won = expand(
                memory, frames, now, first, size, after, n_after, steps, n_steps, table, seen, goal, moves, keys, wins
            )
        now, after, size = after, now, n_after
    if not won:
        raise ValueError("the table holds no win")
    line, step = [], n_steps - 1
    while step:
        line.append(int(steps[step].move))
        step = int(steps[step].before)
    return np.array(line[::-1], np.uint16)
