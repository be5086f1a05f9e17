"""Advice without peeking: which moves win most often, whatever the cards are that nobody has seen yet.

The unseen cards are dealt at random many times (see `game.fillings`), each such filling is solved, and every legal move
is judged by the share of fillings that it wins. Moves that win equally many, such as all that can be taken back, are
ranked by how many of the wins begin with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.analysis.statistics import WinRate, win_rate
from pipeline.game.boards import Board
from pipeline.game.cards import UNSEEN
from pipeline.game.fillings import fillings
from pipeline.game.forms import identity_json
from pipeline.game.lines import parse_line
from pipeline.game.moves import DEAL, Move
from pipeline.game.numbers import whole_number
from pipeline.game.rules import Played, Position
from pipeline.game.steps import step_json
from pipeline.pools.hint import HINT_LIMIT
from pipeline.solver import Solver

FILLINGS, MOST_FILLINGS = 100, 100_000
ASSUMED = (
    "every order of the unseen cards is equally likely; each filling is solved with its cards open, so the shares say "
    "what a player who sees them all could win; a player who does not can win at most as much"
)


@dataclass(slots=True)
class Prospect:
    """In how many fillings a move wins.

    Attributes
    ----------
    move, step
        The move, and the same as a JSON object (see `step_json`); None for the board itself.
    won, lost, unsettled
        Fillings by the verdict on the position after the move.
    begins
        Wins found from the board whose first move this is.
    """

    move: Move | None
    step: dict[str, Any] | None = None
    won: int = 0
    lost: int = 0
    unsettled: int = 0
    begins: int = 0

    @property
    def text(self) -> str:
        """What the move does in words; empty for the board itself."""
        return str(self.step["text"]) if self.step else ""

    def count(self, verdict: str) -> None:
        """Add a filling."""
        setattr(self, verdict, getattr(self, verdict) + 1)

    @property
    def rate(self) -> WinRate:
        """The share of fillings won with its bounds and its 95% interval."""
        return win_rate(self.won + self.lost + self.unsettled, self.won, self.lost)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do on a board with unseen cards.

    Attributes
    ----------
    board
        The board asked about.
    unseen, fillings, draw, node_limit
        Unseen cards; fillings solved; the number of the draw; the node limit of each search.
    start
        How often the board itself is won.
    moves
        The legal moves, the best first.
    """

    board: Board
    unseen: int
    fillings: int
    draw: int
    node_limit: int
    start: Prospect
    moves: list[Prospect] = field(default_factory=list)


def advise(
    board: Board,
    count: int = FILLINGS,
    draw: int = 1,
    node_limit: int = HINT_LIMIT,
    solver: Solver | None = None,
) -> Advice:
    """Rank the legal moves of a board with unseen cards.

    Parameters
    ----------
    board
        The board; face-down cards and stock may be unseen.
    count
        Number of fillings.
    draw
        Number of the draw: the same one gives the same advice.
    node_limit
        Most positions to look at in each search.
    solver
        One to use again; a new one by default.

    Raises
    ------
    UsageError
        `count` is not from 1 to 100,000, or `draw` or `node_limit` is out of range.
    BoardError
        No game can reach the board, whatever the unseen cards are.
    """
    count = whole_number("count", count, range(1, MOST_FILLINGS + 1))
    draw = whole_number("draw", draw, range(2**63))
    solver = solver or Solver()
    unseen = sum(cards.count(UNSEEN) for cards in (*board.columns, board.stock))
    boards = list(fillings(board, count, draw))
    advice = Advice(board, unseen, count, draw, node_limit, Prospect(None), list(_prospects(board)))
    for filled in boards:
        _judge(advice, filled, solver)
    advice.moves.sort(key=lambda prospect: (-prospect.won, prospect.lost, -prospect.begins))
    return advice


def _prospects(board: Board) -> Iterator[Prospect]:
    for move in Position(board).legal_moves() if not Position(board).won else ():
        position = Position(board)
        yield Prospect(move, step_json(position, position.play(move)))


def _judge(advice: Advice, filled: Board, solver: Solver) -> None:
    """Solve a filling and the positions after each move, unless the first verdict decides the second."""
    outcome = solver.solve(filled, advice.node_limit)
    advice.start.count(outcome.verdict)
    best = parse_line(outcome.line)[:1] if outcome.line else []
    for prospect in advice.moves:
        position = Position(filled)
        assert prospect.move is not None
        played = position.play(prospect.move)
        prospect.begins += prospect.move in best
        if outcome.verdict == "lost":
            verdict = "lost"
        elif (
            position.won or prospect.move in best or (outcome.verdict == "won" and _may_be_taken_back(position, played))
        ):
            verdict = "won"
        else:
            verdict = solver.solve(position.board(), advice.node_limit).verdict
        prospect.count(verdict)


def _may_be_taken_back(position: Position, played: Played) -> bool:
    """Whether a move that was just played leads back by one more."""
    if played.move == DEAL or played.events:
        return False
    source, target, count = played.move
    return position.fault(Move(target, source, count)) is None


def advice_json(advice: Advice) -> dict[str, Any]:
    """Return advice as a JSON object: what was assumed, how often the board is won, and the moves, the best first."""
    return identity_json(advice.board) | {
        "unseen": advice.unseen,
        "fillings": advice.fillings,
        "draw": advice.draw,
        "node_limit": advice.node_limit,
        "assumed": ASSUMED,
        "start": _prospect_json(advice.start),
        "moves": [
            (prospect.step or {}) | {"begins": prospect.begins} | _prospect_json(prospect) for prospect in advice.moves
        ],
    }


def _prospect_json(prospect: Prospect) -> dict[str, Any]:
    rate = prospect.rate
    return {
        "won": prospect.won,
        "lost": prospect.lost,
        "unsettled": prospect.unsettled,
        "lower": rate.proved,
        "upper": rate.upper_bound,
        "interval": list(rate.interval),
    }
