"""Checks certificates of loss, by the referee's rules and `relaxed` alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.errors import SolverFault
from pipeline.game.boards import Board
from pipeline.game.codes import engine_move
from pipeline.game.lines import encode_line
from pipeline.referee import closure, piles, relaxed, still, table
from pipeline.referee.certificate import BLOCK, Certificate, Words
from pipeline.referee.piles import WHOLE

Advance = Callable[[int], object]


class Checked(NamedTuple):
    """How many boards and witnesses a certificate has that holds."""

    boards: int
    witnesses: int


class Setting(NamedTuple):
    """The start of a certificate, as the compiled loops take it: tables, its bytes, its cards by kind."""

    tables: table.Table
    packed: table.Bytes
    deck: npt.NDArray[np.int64]

    @property
    def width(self) -> int:
        """Words of a row."""
        return int(self.tables[0].columns) + 1


def setting_of(board: Board) -> Setting:
    """Return two tables with the board laid out on both; where suits never matter, cards are ranks."""
    packed = table.packed(board)
    cards = packed[1 + 2 * len(board.columns) :]
    if board.variant.unit == board.variant.sets == "any":
        cards &= 15
    tables = np.concatenate([table.empty_table(board.variant)] * 2)
    for one in tables:
        table.lay_out(one, packed)
    return Setting(tables, packed, np.bincount(cards, minlength=64).astype(np.int64))


def lists_of(width: int) -> tuple[Words, Words, npt.NDArray[np.uint16]]:
    """Return room for the boards that moves lead to, their stub rows, and the moves."""
    shape = piles.MOST_MOVES, width
    return np.zeros(shape, np.uint32), np.zeros(shape, np.uint32), np.zeros(shape[0], np.uint16)


def slots_for(count: int) -> Words:
    """Return an empty index with room for so many."""
    return np.zeros(1 << max(4, (2 * count).bit_length()), np.uint32)


def check_certificate(certificate: Certificate, advance: Advance = lambda _count: None) -> Checked:
    """Check every witness and every board of a certificate.

    Parameters
    ----------
    certificate
        As it was read.
    advance
        Told how many witnesses and boards were checked since the last call.

    Raises
    ------
    SolverFault
        It does not prove that its board is lost; names the first place that is wrong.
    """
    start = setting_of(certificate.board)
    boards, witnesses = certificate.boards, certificate.witnesses
    pile_index = _checked_piles(certificate.piles)
    for rows, what, highest in ((witnesses, "witness", 2 * int(WHOLE)), (boards, "board", int(WHOLE))):
        _check_words(rows, start, len(certificate.piles), highest, what)
    stub_index, row_index = slots_for(len(witnesses)), slots_for(len(boards))
    closure.rehash(witnesses, len(witnesses), stub_index)
    closure.rehash(boards, len(boards), row_index)
    row, stub = np.zeros((2, start.width), np.uint32)
    piles.row_of(start.tables[0], row, stub, certificate.piles, pile_index, False)
    if start.tables[0].sets >= start.tables[0].needed:
        raise SolverFault("the start is won")
    if not closure.is_known(row, stub, boards, row_index, witnesses, stub_index):
        raise SolverFault("the start is not among the boards, and has no witness")
    room = relaxed.workspace(), still.workspace()
    for first in range(0, len(witnesses), BLOCK // 16):
        last = min(first + BLOCK // 16, len(witnesses))
        at = closure.first_unproved(start.tables, certificate.piles, witnesses, first, last, start.deck, room)
        if at < last:
            raise SolverFault(f"witness {at + 1:,} of {len(witnesses):,}: a set may be possible")
        advance(last - first)
    lists = lists_of(start.width)
    for first in range(0, len(boards), BLOCK):
        last = min(first + BLOCK, len(boards))
        fault, at, move = closure.first_fault(
            start.tables, certificate.board.sets_done, start.deck.sum(),
            certificate.piles, pile_index, boards, row_index, witnesses, stub_index, first, last, lists,
        )  # fmt: skip
        if fault != closure.SOUND:
            raise SolverFault(f"board {at + 1:,} of {len(boards):,}: {_fault(fault, move)}")
        advance(last - first)
    return Checked(len(boards), len(witnesses))


def _checked_piles(found: Words) -> Words:
    """Return the index of the piles, once each is known to lie on an earlier one, and to come after its predecessor."""
    numbers = np.arange(1, len(found), dtype=np.uint32)
    below, card = found[1:, 0].astype(np.int64), found[1:, 1].astype(np.int64)
    rank, suit = card & 15, card >> 4 & 3
    wrong = (below >= numbers) | (rank < 1) | (rank > 13) | (card >= 128) | (suit > 3)
    order = below << 8 | card
    wrong[1:] |= order[1:] <= order[:-1]
    if wrong.any():
        raise SolverFault(f"pile {int(wrong.argmax()) + 1:,} of {len(numbers):,}: is none, or not in order")
    index = slots_for(len(found))
    tall = piles.fill_index(found, index)
    if tall:
        raise SolverFault(f"pile {tall:,} of {len(numbers):,}: has more than {table.MOST_CARDS} cards")
    return index


def _check_words(rows: Words, start: Setting, count: int, highest: int, what: str) -> None:
    """See that rows ascend, so that none is there twice, and that their words name piles and states that are there."""
    wrong = (rows[:, 1:] >= count).any(axis=1) | ((rows[:, 0] & 0xFF) > start.tables[0].stock_size)
    wrong |= rows[:, 0] >= highest
    undecided = np.ones(max(len(rows) - 1, 0), bool)
    for word in range(rows.shape[1]):
        wrong[1:] |= undecided & (rows[1:, word] < rows[:-1, word])
        undecided &= rows[1:, word] == rows[:-1, word]
    wrong[1:] |= undecided
    if wrong.any():
        at = int(wrong.argmax()) + 1
        raise SolverFault(f"{what} {at:,} of {len(rows):,}: is not in order, is there twice, or names no pile")


def _fault(fault: int, move: int) -> str:
    if fault == closure.CARDS:
        return "has not the cards of the start"
    if fault == closure.NOT_CANONICAL:
        return "is not canonical"
    text = "the deal" if move == 0xFFFF else f"its move {encode_line([engine_move(move)])}"
    return f"{text} {'wins' if fault == closure.WINS else 'leads to a board that is not listed and has no witness'}"
