"""A won line as one HTML page: the board as cards, step by step; no network, the moves readable without scripts."""

from __future__ import annotations

from typing import Any

from pipeline.analysis.templating import environment
from pipeline.game.boards import Board, board_text
from pipeline.game.lines import parse_line, readable_steps
from pipeline.game.rules import DEAL, Move, Position, spider_score

# One letter a card: the page's script reads its place in this list as suit * 13 + rank - 1.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def replay_page(board: Board, line: str) -> str:
    """Return the page that replays a line.

    Parameters
    ----------
    board
        Where it starts: a deal or a game broken off.
    line
        The moves as compact text; they need not win.

    Raises
    ------
    LineError
        It is no line, or a move is not legal; names the move.
    """
    steps = readable_steps(board, line)
    frames = _frames(board, parse_line(line))
    variant = board.variant
    name = f"{board.numbering} deal {board.seed}" if board.seed is not None else "a board"
    won = frames[-1]["sets"] >= variant.sets_needed
    return (
        environment()
        .get_template("replay.html")
        .render(
            title=f"{variant.name}, {name}",
            variant=variant,
            steps=[step.partition(" ")[2].replace("->", "\N{RIGHTWARDS ARROW}") for step in steps],
            won=won,
            score=frames[-1]["score"],
            board=board_text(board),
            data={"columns": len(variant.columns), "sets": variant.sets_needed, "frames": frames},
        )
    )


def _frames(board: Board, moves: list[Move]) -> list[dict[str, Any]]:
    """Return the positions before the first move and after each.

    A frame's `board` has a part a column, joined by `|`: how many cards lie face down, then a letter a card, bottom to
    top; `moved` is the target column and the number of cards moved onto it, -1 and 0 for a stock deal.
    """
    position = Position.of(board)
    frames = [_frame(position, 0, None)]
    for number, move in enumerate(moves, 1):
        position.play(move)
        frames.append(_frame(position, number, move))
    return frames


def _frame(position: Position, number: int, move: Move | None) -> dict[str, Any]:
    columns = zip(position.columns, position.face_down, strict=True)
    moved = None if move is None else [-1, 0] if move == DEAL else [move.target, move.cards]
    return {
        "board": "|".join(f"{down}{''.join(map(_letter, cards))}" for cards, down in columns),
        "stock": len(position.stock),
        "sets": position.sets_done,
        "score": spider_score(number, position.sets_done),
        "moved": moved,
    }


def _letter(card: int) -> str:
    return LETTERS[(card >> 4) * 13 + (card & 15) - 1]
