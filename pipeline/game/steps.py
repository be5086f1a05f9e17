"""A line's moves in words."""

from __future__ import annotations

from typing import Any

from pipeline.game.boards import Board
from pipeline.game.cards import card_text, cards_text
from pipeline.game.forms import board_json
from pipeline.game.lines import encode_line
from pipeline.game.moves import DEAL
from pipeline.game.rules import Played, Position, sequence_points, spider_score, walk


def readable_steps(board: Board, line: str) -> list[str]:
    """Return a line's moves in words: ``"1. 7S 6S: column 3 -> column 8, turns up KD"``.

    Raises
    ------
    LineError
        A move is not legal.
    """
    steps = enumerate(walk(board, line))
    return [f"{number}. {step_text(position, played)}" for number, (played, position) in steps if played is not None]


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


def step_json(position: Position, played: Played) -> dict[str, Any]:
    """Return a move as a JSON object for programs, from its record and the position right after it.

    `text` is the move in words, `line` its compact text; `source` and `target` are columns, from 1, and null for a
    stock deal; `cards` those moved, bottom to top, or dealt.
    """
    deals = played.move == DEAL
    return {
        "text": step_text(position, played),
        "line": encode_line([played.move]),
        "deal": deals,
        "source": None if deals else played.move.source + 1,
        "target": None if deals else played.move.target + 1,
        "cards": [card_text(card) for card in played.cards],
    }


def frame(position: Position, number: int, played: Played | None) -> dict[str, Any]:
    """Return the position after a line's move as a JSON object; number 0 and None for the start."""
    return {
        "move": number,
        "step": None if played is None else step_text(position, played),
        "score": spider_score(number, position.sets_done),
        "sequence_points": sequence_points(position),
        "won": position.won,
        "board": board_json(position.board()),
    }
