"""Layouts that other programs deal from a number, and the order in which they deal them."""

from __future__ import annotations

from collections.abc import Iterable

NUMBERINGS = ("native", "pysol", "ms", "kpat")

SPIDER = (6, 6, 6, 6, 5, 5, 5, 5, 5, 5)
_ROW = tuple(range(10))
# PySolFC's games by the sizes of their columns; what counts is the order of the columns, card by card.
_PYSOL_ORDERS = {
    # Spider's fifth row is four cards, onto columns of its own choice.
    SPIDER: _ROW * 4 + (0, 3, 6, 9) + _ROW,
    # Spiderette: ever shorter rows, each from one column further right, then one to every column.
    (1, 2, 3, 4, 5, 6, 7): (*(column for first in range(1, 7) for column in range(first, 7)), *range(7)),
    # Simple Simon: rows of nine to three, then one to every column.
    (8, 8, 8, 7, 6, 5, 4, 3, 2, 1): (*(column for row in range(9, 2, -1) for column in range(row)), *_ROW),
}
# Will o' the Wisp; Grounds for a Divorce; Grandmother's Game; Very Big Divorce; Big Spider, Big Divorce and Spider of
# four packs; Mrs. Mop: all in rows, by columns and rows.
_PYSOL_ORDERS |= {
    (rows,) * width: tuple(range(width)) * rows for width, rows in ((7, 3), (10, 5), (10, 6), (12, 6), (13, 6), (13, 8))
}


def pysol_order(columns: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the columns to which PySolFC deals a layout, card by card; None if it has no game laid out so.

    Source: the `startGame` methods of PySolFC's pysollib/games/spider.py.
    """
    return _PYSOL_ORDERS.get(columns)


def numberings_of(packs: int, suits: int, columns: tuple[int, ...], face_down: tuple[int, ...]) -> tuple[str, ...]:
    """Return the numberings that a game with these cards and this layout can have."""
    have = ["native"]
    # PySolFC's long columns of Spider are others than ours, so counts by column do not fit them.
    fitting = columns != SPIDER or not any(face_down) or face_down == last_face_up(columns)
    if pysol_order(columns) is not None and suits != 3 and fitting:
        have += ["pysol", "ms"]
    if packs == 2 and columns == SPIDER:
        have.append("kpat")
    return tuple(have)


def last_face_up(columns: Iterable[int]) -> tuple[int, ...]:
    """Return how many cards lie face down where only the last one of each column lies face up."""
    return tuple(size - 1 for size in columns)
