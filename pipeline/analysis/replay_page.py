"""A won line as one HTML page: the board as cards, step by step; no network, the moves readable without scripts."""

from __future__ import annotations

from typing import Any

from pipeline.analysis.templating import environment
from pipeline.game.boards import Board
from pipeline.game.forms import board_text
from pipeline.game.rules import Played, Position, spider_score, walk
from pipeline.game.steps import readable_steps

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
        It is not a line, or a move is not legal; names the move.
    """
    steps = readable_steps(board, line)
    frames = [_frame(position, number, played) for number, (played, position) in enumerate(walk(board, line))]
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


def _letter(card: int) -> str:
    return LETTERS[(card >> 4) * 13 + (card & 15) - 1]


def _frame(position: Position, number: int, played: Played | None) -> dict[str, Any]:
    """Return what the page shows of a position, the start (played is None) or after a move.

    A frame's `board` has a part a column, joined by `|`: how many cards lie face down, then a letter a card, bottom to
    top; `moved` is the target column and the number of cards moved onto it, -1 and 0 for a stock deal.
    """
    columns = zip(position.columns, position.face_down, strict=True)
    moved = None if played is None else [played.move.target, played.move.cards]
    return {
        "board": "|".join(f"{down}{''.join(map(_letter, cards))}" for cards, down in columns),
        "stock": len(position.stock),
        "sets": position.sets_done,
        "score": spider_score(number, position.sets_done),
        "moved": moved,
    }
