"""Hints: the first move of a winning line from a board on the table, for people and, as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.errors import BoardError, DataError, SolverFault
from pipeline.game.boards import Board, read_board
from pipeline.game.cards import card_text
from pipeline.game.lines import DEAL, Move, encode_line, step_text
from pipeline.game.rules import Position
from pipeline.game.variants import Variant
from pipeline.solver import Outcome, Solver

HINT_LIMIT = 167_000


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do from a board.

    Attributes
    ----------
    board
        The board asked about.
    outcome
        What the search found; `outcome.moves` is how many moves the win takes from here.
    move
        The first move of the line when won; the best try when unsettled; None when lost, already won, or stuck.
    """

    board: Board
    outcome: Outcome
    move: Move | None

    @property
    def proved(self) -> bool:
        """Whether the move begins a line that wins."""
        return self.outcome.verdict == "won" and self.move is not None

    @property
    def text(self) -> str:
        """The move in words, such as ``"7S 6S: column 3 -> column 8, turns up KD"``; empty without a move."""
        if self.move is None:
            return ""
        position = Position.of(self.board)
        return step_text(position, position.play(self.move))


def hint(board: Board, node_limit: int = HINT_LIMIT, solver: Solver | None = None) -> Hint:
    """Look for a winning line and return its first move.

    Parameters
    ----------
    board
        A game broken off, or a deal; all cards known.
    node_limit
        Most positions to look at.
    solver
        One to use again; a new one by default.

    Raises
    ------
    SolverFault
        The line found does not replay.
    """
    if Position.of(board).won:
        done = Outcome(board.variant.id, board.numbering, board.seed, "won", 1, 0, node_limit, "", 0, 0)
        return Hint(board, done, None)
    outcome, move = (solver or Solver()).hint(board, node_limit)
    if outcome.verdict == "lost":
        move = None
    elif move is None or Position.of(board).fault(move):  # a search cut before its first choice
        move = _plain_move(board)
    return Hint(board, outcome, move)


def _plain_move(board: Board) -> Move | None:
    """Return a move that a player would try without thinking: onto the suit, onto another, then any; None if stuck."""

    def worth(move: Move) -> int:
        if move == DEAL:
            return 0
        onto = board.columns[move.target]
        return 1 if not onto else 3 if onto[-1] >> 4 == board.columns[move.source][-move.cards] >> 4 else 2

    return max(Position.of(board).legal_moves(), key=worth, default=None)


def hint_json(found: Hint) -> dict[str, Any]:
    """Return a hint as a JSON object.

    `move` is null without a move; else `proved` says whether it begins a winning line, `text` is the move in words,
    `line` its compact text, and `source`, `target` (columns, from 1; null for a stock deal) and `cards` (bottom to
    top; those dealt for a deal) are for programs. `moves` counts the moves of the win, this one included; null unless
    won.
    """
    outcome = found.outcome
    return {
        "variant": outcome.variant,
        "numbering": outcome.numbering,
        "seed": outcome.seed,
        "verdict": outcome.verdict,
        "positions": outcome.positions,
        "expanded": outcome.expanded,
        "node_limit": outcome.node_limit,
        "moves": outcome.moves,
        "move": None if found.move is None else _move_json(found, found.move),
    }


def _move_json(found: Hint, move: Move) -> dict[str, Any]:
    deals = move == DEAL
    cards = Position.of(found.board).play(move).cards
    return {
        "proved": found.proved,
        "text": found.text,
        "line": encode_line([move]),
        "deal": deals,
        "source": None if deals else move.source + 1,
        "target": None if deals else move.target + 1,
        "cards": [card_text(card) for card in cards],
    }


def answer_stream(
    lines: Iterable[str],
    node_limit: int = HINT_LIMIT,
    variant: Variant | None = None,
    solver: Solver | None = None,
    prepare: Callable[[Variant], None] = lambda _variant: None,
) -> Iterator[str]:
    """Answer boards, one a line, with hints as JSON texts, one each; a line that is no board is answered as well.

    An answer to a bad line is an object with the one key ``error``; blank lines are passed over.

    Parameters
    ----------
    lines
        Boards as JSON.
    node_limit, variant, solver
        As for `hint`; the variant is whose rules to take whatever the boards say.
    prepare
        Is called before the first board of each game.

    Raises
    ------
    SolverFault
        After the last answer, if the line found for one of the boards did not replay.
    """
    solver = solver or Solver()
    fault: SolverFault | None = None
    seen: set[str] = set()
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        answer: dict[str, Any]
        try:
            board = _board_of(text, number, variant)
            if board.variant.rules_hash not in seen:
                seen.add(board.variant.rules_hash)
                prepare(board.variant)
            answer = hint_json(hint(board, node_limit, solver))
        except DataError as error:
            answer = {"error": str(error)}
        except SolverFault as error:
            answer, fault = {"error": str(error)}, error
        except MemoryError:
            answer, solver = {"error": f"line {number}: out of memory at {node_limit} positions"}, Solver()
        yield json.dumps(answer, ensure_ascii=False)
    if fault is not None:
        raise fault


def _board_of(text: str, number: int, variant: Variant | None) -> Board:
    text = text.strip("\ufeff \t\r\n")
    if not text.startswith("{"):
        raise BoardError(f"line {number}: is no JSON object; expected a board a line")
    try:
        return read_board(text, variant=variant, name=f"line {number}")
    except RecursionError:
        raise BoardError(f"line {number}: is no board: nested too deeply") from None
