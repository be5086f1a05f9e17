"""Hints: the first move of a winning line from a board on the table, for people and, as JSON, for programs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from pipeline.game.boards import Board, check_board
from pipeline.game.forms import identity_json
from pipeline.game.lines import encode_line, parse_line
from pipeline.game.moves import DEAL, Move
from pipeline.game.rules import Position, walk
from pipeline.game.steps import step_json
from pipeline.game.variants import Variant
from pipeline.referee.replay import verify_line
from pipeline.solver import Outcome, Solver

HINT_LIMIT = 167_000
LINES_KEPT = 64


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do from a board.

    Attributes
    ----------
    board
        The board asked about.
    outcome
        What is known: `outcome.moves` is how many moves the win takes from here; `outcome.positions` is 0 where the
        line was known already (see `Guide`).
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
    def line(self) -> str | None:
        """The whole winning line from here as compact text, `move` its first; None unless won.

        Who plays a game by hints plays along it and asks again only after leaving it: the line of a new search from a
        board further on may begin by taking the last move back.
        """
        return self.outcome.line

    @property
    def text(self) -> str:
        """The move in words, such as ``"7S 6S: column 3 -> column 8, turns up KD"``; empty without a move."""
        return str(self.step["text"]) if self.step else ""

    @property
    def step(self) -> dict[str, Any] | None:
        """The move as a JSON object (see `step_json`), and whether it is `proved`; None without a move."""
        if self.move is None:
            return None
        position = Position(self.board)
        return {"proved": self.proved} | step_json(position, position.play(self.move))


def hint(board: Board, node_limit: int = HINT_LIMIT, solver: Solver | None = None) -> Hint:
    """Look for a winning line and return its first move, and the line.

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
    BoardError
        It is not a numbered deal, and no game can reach it.
    SolverFault
        The line found does not replay.
    """
    if board.seed is None:
        check_board(board)
    if Position(board).won:
        done = Outcome(board.variant.id, board.numbering, board.seed, "won", 1, 0, node_limit, "", 0, 0)
        return Hint(board, done, None)
    outcome, move = (solver or Solver()).hint(board, node_limit)
    if outcome.verdict == "lost":
        move = None
    elif move is None or Position(board).fault(move):  # a search cut before its first choice
        move = _plain_move(board)
    return Hint(board, outcome, move)


def _plain_move(board: Board) -> Move | None:
    """Return a move that a player would try without thinking: onto the suit, onto another, then any; None if stuck."""

    def worth(move: Move) -> int:
        if move == DEAL:
            return 0
        onto = board.columns[move.target]
        return 1 if not onto else 3 if onto[-1] >> 4 == board.columns[move.source][-move.cards] >> 4 else 2

    return max(Position(board).legal_moves(), key=worth, default=None)


class Guide:
    """Gives hints to games under way: while a board lies on a line found before, the hint is that line's next move.

    So a game that follows the hints ends won: each one is nearer to the end of its line than the one before.

    Parameters
    ----------
    node_limit, solver
        As for `hint`.
    lines_kept
        Of how many lines the positions are remembered; the one not followed for longest is forgotten first.
    """

    def __init__(
        self, node_limit: int = HINT_LIMIT, solver: Solver | None = None, lines_kept: int = LINES_KEPT
    ) -> None:
        self.node_limit = node_limit
        self.solver = solver or Solver()
        self._lines: deque[_Followed] = deque(maxlen=lines_kept)  # the last one followed comes last

    def hint(self, board: Board) -> Hint:
        """Return the next move of a remembered line that the board lies on, else look for one as `hint` does.

        Raises
        ------
        SolverFault
            The line found does not replay.
        """
        for followed in reversed(self._lines):
            if rest := followed.rest(board):
                self._lines.remove(followed)
                self._lines.append(followed)
                return self._continued(board, rest)
        answer = hint(board, self.node_limit, self.solver)
        if answer.line:
            self._lines.append(_Followed(board, answer.line))
        return answer

    def _continued(self, board: Board, rest: list[Move]) -> Hint:
        variant, line = board.variant, encode_line(rest)
        known = (variant.id, board.numbering, board.seed, "won", 0, 0, self.node_limit)
        return Hint(board, Outcome(*known, line, *verify_line(board, line)), rest[0])


class _Followed:
    """A winning line and its positions, without the first and the won one."""

    def __init__(self, board: Board, line: str) -> None:
        self._rules = _rules_key(board.variant)
        self._moves = parse_line(line)
        # By position how many moves were played: the last time, should the line reach it twice.
        self._played = {_position_key(position): made for made, (_, position) in enumerate(walk(board, line))}
        self._played = {key: made for key, made in self._played.items() if 0 < made < len(self._moves)}

    def rest(self, board: Board) -> list[Move]:
        """Return the moves that are left from a board, none if it is not on the line."""
        if _rules_key(board.variant) != self._rules:
            return []
        played = self._played.get(_position_key(board))
        return [] if played is None else self._moves[played:]


def _rules_key(variant: Variant) -> tuple[str, str]:
    return variant.id, variant.rules_hash


def _position_key(position: Board | Position) -> bytes:
    """Return all that makes a position the same within a variant; 255 is not a card."""
    columns = b"\xff".join(map(bytes, position.columns))
    return b"\xff".join((columns, bytes((*position.face_down, position.sets_done)), bytes(position.stock)))


def hint_json(hinted: Hint) -> dict[str, Any]:
    """Return a hint as a JSON object.

    `line` is the whole line that wins from here as compact text, null unless won; `moves` counts its moves.
    `positions` and `expanded` are 0 where it was known from an earlier board.

    `move` is null without a move; else `proved` says whether it begins a winning line, and the rest which move it is
    (see `step_json`).
    """
    outcome = hinted.outcome
    return identity_json(hinted.board) | outcome.found() | {"moves": outcome.moves, "move": hinted.step}
