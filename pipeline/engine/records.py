"""What goes into the engine and what comes out: rules as numbers, cards, moves, results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# A card is suit << 4 | rank: ranks 1 (Ace) to 13 (King), suits C 0, D 1, H 2, S 3.
# A move is from | to << 4 | cards << 8; the stock deal is DEAL.
DEAL = 0xFFFF

DEAL_BLOCKED, DEAL_ALL, DEAL_NON_EMPTY = 0, 1, 2  # when and where a row may be dealt
SAME_SUIT, SAME_COLOUR, ANY_SUIT = 0, 1, 2  # what holds a unit or a set together


class Rules(NamedTuple):
    """A variant as the engine sees it.

    Attributes
    ----------
    columns
        Number of columns, 3 to 16.
    deal
        `DEAL_BLOCKED` (one card to every column; forbidden while one is empty), `DEAL_ALL` (to every column, empty
        ones too) or `DEAL_NON_EMPTY` (to occupied columns; to the first if none is).
    unit
        What moves together: `SAME_SUIT`, `SAME_COLOUR` or `ANY_SUIT` descending cards.
    sets
        What leaves the table: `SAME_SUIT` or `ANY_SUIT`, King down to Ace.
    wrap
        Whether a King may be laid on an Ace; a set is then any thirteen wrapped cards.
    sets_needed
        Sets to be removed for a win.
    """

    columns: int
    deal: int
    unit: int
    sets: int
    wrap: bool
    sets_needed: int


class Start(NamedTuple):
    """A position to search from: cards bottom to top, face-down counts, stock in deal order, sets gone."""

    columns: tuple[tuple[int, ...], ...]
    face_down: tuple[int, ...]
    stock: tuple[int, ...]
    sets_done: int


class Result(NamedTuple):
    """What a search found.

    Attributes
    ----------
    verdict
        "won", "lost" or "unsettled".
    positions, expanded
        Distinct positions reached (as limited), and positions whose moves were listed.
    moves
        uint16 moves of the line when won; otherwise of the way to the best position seen (maybe empty).
    """

    verdict: str
    positions: int
    expanded: int
    moves: npt.NDArray[np.uint16]
