"""The positions around a won line, among which `shortest` looks for shorter ones.

A line that is hundreds of moves too long keeps returning to positions that are only a few moves apart, so shortcuts run
through the positions around it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import jit
from pipeline.engine.keys import insert
from pipeline.engine.packed import FRAME, MAX_MOVES, list_moves, make, unmake
from pipeline.engine.records import Start
from pipeline.engine.shortest import SNAPSHOT, load, save

u8, i8 = np.uint64, np.int64


@jit
def follow(memory, frames, line, along, table):
    """Play a line; put its positions into the table and, but for the last, into `along`."""
    m = memory[0]
    for i in range(len(line)):
        insert(table, m.key[0], m.key[1], True)
        save(m, along[i], 0)
        make(m, frames[0], i8(line[i]))
    insert(table, m.key[0], m.key[1], True)


@jit
def spread(memory, frames, layer, after, most, table, moves, keys, wins):
    """Put what follows a layer's positions into the table, and what is new there but no win into `after`.

    Stops once about `most` positions are new; returns how many are in `after`, and how many are new.
    """
    m = memory[0]
    n, reached = i8(0), i8(0)
    for k in range(len(layer)):
        load(m, layer[k])
        listed = list_moves(m, frames[1], moves, keys, wins)
        for i in range(listed):
            if not insert(table, keys[i, 0], keys[i, 1], True):
                continue
            reached += 1
            if not wins[i]:
                make(m, frames[0], i8(moves[i]))
                save(m, after[n], 0)
                unmake(m, frames[0])
                n += 1
        if reached >= most:
            break
    return n, reached


def positions_near(
    memory: npt.NDArray[np.record], line: npt.NDArray[np.uint16], positions: int
) -> npt.NDArray[np.uint64]:
    """Return the table (see `keys`) of the positions along a line and of those around them, the nearest first.

    Parameters
    ----------
    memory
        The board, an array of one `packed.BOARD`, set up as the line begins.
    line
        Legal moves.
    positions
        About how many positions to collect; those of the line are always among them.
    """
    room = positions + len(line) + MAX_MOVES
    table = np.zeros(4 << room.bit_length(), u8)
    frames = np.zeros(2, FRAME)
    moves, wins = np.zeros(MAX_MOVES, np.uint16), np.zeros(MAX_MOVES, np.bool_)
    keys = np.zeros((MAX_MOVES, 2), np.uint64)
    layer, after = np.zeros(len(line), SNAPSHOT), np.zeros(room, SNAPSHOT)
    follow(memory, frames, line, layer, table)
    reached = len(line)
    while len(layer) and reached < positions:
        size, new = spread(memory, frames, layer, after, positions - reached, table, moves, keys, wins)
        reached += new
        if reached < positions:
            layer = after[:size].copy()
    return table


def renamed(moves: npt.NDArray[np.uint16], old: Start, new: Start) -> npt.NDArray[np.uint16]:
    """Return moves of one position as they are played from another with the same columns in another order."""
    if old == new:
        return moves
    left: list[object] = list(zip(new.columns, new.face_down, strict=True))
    places = np.zeros(16, np.uint16)
    for column, pile in enumerate(zip(old.columns, old.face_down, strict=True)):
        places[column] = left.index(pile)
        left[places[column]] = None
    return np.asarray(moves & 0xFF00 | places[moves >> 4 & 15] << 4 | places[moves & 15], np.uint16)
