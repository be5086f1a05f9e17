"""A move: cards from one column to another, or the stock's deal."""

from __future__ import annotations

from typing import NamedTuple


class Move(NamedTuple):
    """Cards from one column to another; columns count from 0. The stock deal is `DEAL`."""

    source: int
    target: int
    cards: int


DEAL = Move(-1, -1, 0)
