"""Boards: a variant's cards as they lie on the table."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.game.variants import Variant


@dataclass(frozen=True, slots=True)
class Board:
    """A position to play from: a deal, or a game broken off.

    Attributes
    ----------
    variant
        The rules.
    numbering, seed
        Which numbered deal it is; None where it is none.
    columns
        Cards of each column, bottom to top.
    face_down
        How many cards of each column lie face down, counted from the bottom.
    stock
        Cards of the stock in the order in which they are dealt.
    sets_done
        Sets that have left the table.
    """

    variant: Variant
    numbering: str | None
    seed: int | None
    columns: tuple[tuple[int, ...], ...]
    face_down: tuple[int, ...]
    stock: tuple[int, ...]
    sets_done: int
