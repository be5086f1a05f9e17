"""Lines: their text, steps that people can read, and shorter ones."""

from __future__ import annotations

from pipeline.game.boards import Board
from pipeline.game.cards import card_text, cards_text
from pipeline.game.moves import DEAL, Move, encode_line, engine_move, parse_line
from pipeline.game.rules import Played, Position, replay
from pipeline.game.shorten import shorten

__all__ = ["DEAL", "Move", "encode_line", "engine_move", "parse_line", "readable_steps", "shorten", "step_text"]


def readable_steps(board: Board, line: str) -> list[str]:
    """Return a line's moves in words: ``"1. 7S 6S: column 3 -> column 8, turns up KD"``.

    Raises
    ------
    LineError
        A move is not legal.
    """
    moves = parse_line(line)
    replay(board, moves)
    position = Position.of(board)
    return [f"{number}. {step_text(position, position.play(move))}" for number, move in enumerate(moves, 1)]


def step_text(position: Position, played: Played) -> str:
    """Return a move in words, from its record and the position right after it."""
    if played.move == DEAL:
        parts = [f"deal {cards_text(played.cards)}"]
    else:
        source, target, _ = played.move
        parts = [f"{cards_text(played.cards)}: column {source + 1} -> column {target + 1}"]
    for event in played.events:
        where = f" in column {event.column + 1}" if played.move == DEAL else ""
        if event.cards:
            parts.append(f"completes a set ({card_text(event.cards[0])} to {card_text(event.cards[-1])}){where}")
        else:
            parts.append(f"turns up {card_text(position.columns[event.column][-1])}{where}")
    return ", ".join(parts)
