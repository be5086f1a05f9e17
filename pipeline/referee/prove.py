"""Makes certificates of loss: every board that moves lead to is listed, but those from which no set is possible.

It searches anew, by the referee's rules; nothing of the engine is needed, and nothing here need be believed: `check`
checks what comes out.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pipeline.errors import SolverFault
from pipeline.game.boards import Board
from pipeline.referee import closure, piles, relaxed, still
from pipeline.referee.certificate import Certificate, Words
from pipeline.referee.check import lists_of, setting_of, slots_for

MOST_BOARDS = 20_000_000
Scalar = TypeVar("Scalar", bound=np.generic)


def prove(board: Board, most: int = MOST_BOARDS) -> Certificate | None:
    """Return a certificate that a board is lost; None if that takes more than `most` boards.

    Raises
    ------
    SolverFault
        The board can be won.
    """
    search = _Search(board)
    status = search.run(most)
    if status == closure.WIN:
        raise SolverFault(f"{board.variant.id} {board.numbering} {board.seed}: not lost, a move wins")
    return search.certificate() if status == closure.CLOSED else None


class _Search:
    """The arrays of one search, which grow."""

    def __init__(self, board: Board) -> None:
        self.board, self.start = board, setting_of(board)
        width = self.start.width
        self.piles = np.zeros((2 * closure.SPARE_PILES, 2), np.uint32)
        self.pile_index = slots_for(len(self.piles))
        self.rows, self.row_index = np.zeros((1 << 14, width), np.uint32), slots_for(1 << 14)
        self.stubs, self.stub_index = np.zeros((1 << 14, width), np.uint32), slots_for(1 << 14)
        self.holds = np.zeros(1 << 14, np.bool_)
        self.counts = np.zeros(4, np.int64)

    def run(self, most: int) -> int:
        """Search to the end, or to so many boards."""
        lists, room = lists_of(self.start.width), (relaxed.workspace(), still.workspace())
        while True:
            status = closure.search(
                self.start.tables, self.board.sets_done, self.piles, self.pile_index, self.rows, self.row_index,
                self.stubs, self.stub_index, self.holds, self.counts, self.start.deck, room, lists, most,
            )  # fmt: skip
            if status != closure.MORE_ROOM:
                return int(status)
            self._grow()

    def _grow(self) -> None:
        boards, _, stubs, _ = self.counts
        if self.piles[0, 0] + closure.SPARE_PILES > len(self.piles):
            self.piles = _doubled(self.piles)
            self.pile_index = slots_for(len(self.piles))
            piles.fill_index(self.piles[: self.piles[0, 0] + 1], self.pile_index)
        if boards + piles.MOST_MOVES > len(self.rows):
            self.rows = _doubled(self.rows)
            self.row_index = slots_for(len(self.rows))
            closure.rehash(self.rows, boards, self.row_index)
        if stubs + 2 * piles.MOST_MOVES > len(self.stubs):
            self.stubs, self.holds = _doubled(self.stubs), _doubled(self.holds)
            self.stub_index = slots_for(len(self.stubs))
            closure.rehash(self.stubs, stubs, self.stub_index)

    def certificate(self) -> Certificate:
        """Return what was found, with only the piles that are needed, all in ascending order."""
        boards, _, stubs, _ = self.counts
        found = [self.stubs[:stubs][self.holds[:stubs]], self.rows[:boards]]
        used = np.zeros(len(self.piles), np.bool_)
        for rows in found:
            used[rows[:, 1:]] = True
        names, kept = _renamed(self.piles[: self.piles[0, 0] + 1], used)
        witnesses, rows = (_ordered(rows, names) for rows in found)
        return Certificate(self.board, kept, witnesses, rows)


def _doubled(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    return np.concatenate([array, np.zeros_like(array)])


def _renamed(found: Words, used: npt.NDArray[np.bool_]) -> tuple[Words, Words]:
    """Return new numbers for the used piles and those below them, by height, pile below and card; and the piles."""
    heights = piles.heights_of(found, used)
    names, kept, count = np.zeros(len(found), np.uint32), [np.zeros((1, 2), np.uint32)], 0
    for height in range(1, int(heights.max(initial=0)) + 1):
        level = np.flatnonzero(heights == height)
        below, card = names[found[level, 0]], found[level, 1]
        order = np.lexsort((card, below))
        names[level[order]] = count + 1 + np.arange(len(level))
        kept.append(np.stack([below[order], card[order]], axis=1))
        count += len(level)
    kept[0][0, 0] = count
    return names, np.concatenate(kept)


def _ordered(rows: Words, names: Words) -> Words:
    """Return rows with the new numbers of piles, ascending; piles ascend where the stock is empty."""
    rows = rows.copy()
    rows[:, 1:] = names[rows[:, 1:]]
    dealt_out = rows[:, 0] & 0xFF == 0
    rows[dealt_out, 1:] = np.sort(rows[dealt_out, 1:], axis=1)
    return rows[np.lexsort(rows.T[::-1])]
