"""Moves as the engine numbers them: ``source | target << 4 | cards << 8``, 0xFFFF for the stock deal."""

from __future__ import annotations

from typing import SupportsInt

from pipeline.game.moves import DEAL, Move

ENGINE_DEAL = 0xFFFF


def engine_number(move: Move) -> int:
    """Return the engine's number of a move."""
    return ENGINE_DEAL if move == DEAL else move.source | move.target << 4 | move.cards << 8


def engine_move(number: SupportsInt) -> Move:
    """Return the move of an engine's number."""
    code = int(number)
    return DEAL if code == ENGINE_DEAL else Move(code & 15, code >> 4 & 15, code >> 8)
