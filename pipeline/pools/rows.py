"""The row of a pool, made from a won deal. It is made in workers, so this module loads nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pipeline.errors import LineError, SolverFault
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.variants import Variant
from pipeline.pools.difficulty import difficulty
from pipeline.referee.replay import verify_line


class WonDeal(NamedTuple):
    """A won deal as the dataset has it."""

    seed: int
    positions: int
    moves: int
    line: str


class PoolRow(NamedTuple):
    """A deal of a pool.

    Attributes
    ----------
    difficulty
        1 (the easiest fifth of the variant's deals) to 5.
    positions, moves, score, line
        Positions the solver needed; the line it found, its moves and its Spider score.
    columns, face_down, stock
        The cards as in a board's JSON: columns bottom to top, face-down cards of each, the stock in deal order.
    """

    seed: int
    difficulty: int
    positions: int
    moves: int
    score: int
    line: str
    columns: tuple[str, ...]
    face_down: tuple[int, ...]
    stock: str


def make_rows(variant: Variant, numbering: str, deals: Iterable[WonDeal]) -> list[PoolRow]:
    """Replay won deals and return their rows, in a worker.

    Raises
    ------
    SolverFault
        A line does not win its deal; names the deal.
    """
    return [_row(variant, numbering, won) for won in deals]


def _row(variant: Variant, numbering: str, won: WonDeal) -> PoolRow:
    board = deal(variant, won.seed, numbering)
    try:
        win = verify_line(board, won.line)
    except LineError as error:
        raise SolverFault(
            f"{variant.id}/{numbering}/{won.seed}: the dataset's line does not replay: {error}"
        ) from error
    level = difficulty(board, won.positions, win.moves)
    return PoolRow(won.seed, level, won.positions, win.moves, win.score, won.line, *cards_of(board))


def cards_of(board: Board) -> tuple[tuple[str, ...], tuple[int, ...], str]:
    """Return a board's cards as a row has them: `columns`, `face_down` and `stock`."""
    cards = board_json(board)
    return tuple(cards["columns"]), tuple(cards["face_down"]), cards["stock"]
