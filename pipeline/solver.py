"""Settles deals: the only module that hands a board to the engine; it believes no win that does not replay.

Others that import both games and engine ask the engine about itself: `runs.workers` and `cli.solve` for the bench,
`tuning` for weights.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import LineError, SolverFault, UsageError
from pipeline.game.boards import Board, check_board
from pipeline.game.codes import engine_move
from pipeline.game.moves import Move
from pipeline.game.numbers import whole_number
from pipeline.game.variants import Variant
from pipeline.referee.cache import cache_directory
from pipeline.referee.replay import line_text, verify_line

if TYPE_CHECKING:
    from pipeline.engine.records import Result, Rules
    from pipeline.engine.search import Search
    from pipeline.engine.weights import Parameters

DEFAULT_LIMIT = 1_000_000
LIMITS = range(1, 2**63)
DEALS = {"blocked": 0, "all": 1, "non-empty": 2}
SAME = {"suit": 0, "colour": 1, "any": 2}

cache_directory()  # refuses one that is not safe, before any compiled code is loaded


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a board.

    Attributes
    ----------
    variant, numbering, seed
        Which board; numbering and seed are None for a board without a number.
    verdict
        "won" (the line proves it), "lost" (proved by a complete search) or "unsettled" (at this limit).
    positions, expanded
        Distinct positions reached, at most `node_limit`; and those whose moves were listed.
    node_limit
        Positions that were allowed.
    line
        The win as compact text, else None.
    moves, deals
        Moves of the line, deals included; and the deals among them. None unless won.
    score
        Spider score of the line, None unless won.
    """

    variant: str
    numbering: str | None
    seed: int | None
    verdict: str
    positions: int
    expanded: int
    node_limit: int
    line: str | None = None
    moves: int | None = None
    deals: int | None = None
    score: int | None = None

    def found(self) -> dict[str, Any]:
        """Return what the search found, for a JSON object: verdict, positions, expanded, node limit and line."""
        return {key: getattr(self, key) for key in ("verdict", "positions", "expanded", "node_limit", "line")}


def engine_rules(variant: Variant) -> Rules:
    """Return a variant's rules as the engine's numbers; suits that never matter are folded (see `folds`)."""
    from pipeline.engine.records import Rules

    fold = folds(variant)
    return Rules(
        columns=len(variant.columns),
        deal=DEALS[variant.deal],
        unit=0 if fold else SAME[variant.unit],
        sets=0 if fold else SAME[variant.sets],
        wrap=variant.wrap,
        sets_needed=variant.sets_needed,
    )


def folds(variant: Variant) -> bool:
    """Whether suits never matter: units and sets of any suits make the game of one suit."""
    return variant.unit == "any" and variant.sets == "any"


class Solver:
    """Settles the boards of any variants; keeps the engine's memory between calls.

    Not thread-safe, but threads may search side by side, each with a solver of its own.
    """

    def __init__(self) -> None:
        self._searches: dict[tuple[str, str], Search] = {}

    def solve(self, board: Board, node_limit: int = DEFAULT_LIMIT) -> Outcome:
        """Search a board to a verdict or the limit.

        Parameters
        ----------
        board
            A deal or a game broken off.
        node_limit
            Most distinct positions to reach, at least 1.

        Raises
        ------
        UsageError
            The limit is not a whole number from 1 up.
        BoardError
            It is not a numbered deal, and no game can reach it; names the place (see `boards.check_board`).
        SolverFault
            The engine's win does not replay; names the board.
        """
        node_limit = whole_number("node_limit", node_limit, LIMITS)
        return self._outcome(board, node_limit, self._search(board, node_limit))

    def hint(self, board: Board, node_limit: int = 167_000) -> tuple[Outcome, Move | None]:
        """Search a board; return its outcome and the first move: of the line, or of the best try when unsettled."""
        node_limit = whole_number("node_limit", node_limit, LIMITS)
        result = self._search(board, node_limit)
        move = engine_move(result.moves[0]) if len(result.moves) else None
        return self._outcome(board, node_limit, result), move

    def _search(self, board: Board, node_limit: int) -> Result:
        from pipeline.engine.records import Start
        from pipeline.engine.search import Search

        if not isinstance(board, Board):
            raise UsageError(f"board {board!r:.60}: expected a Board, such as deal(load_variant('spider-4'), 1)")
        if board.seed is None:
            check_board(board)
        variant = board.variant
        key = variant.id, variant.rules_hash  # the id chooses the weights
        search = self._searches.get(key)
        if search is None:
            search = self._searches[key] = Search(engine_rules(variant), self._weights(variant))
        columns, stock = board.columns, board.stock
        if folds(variant):
            columns = tuple(tuple(card & 15 for card in column) for column in columns)
            stock = tuple(card & 15 for card in stock)
        try:
            return search.solve(Start(columns, board.face_down, stock, board.sets_done), node_limit)
        except MemoryError:
            self._searches.clear()  # what they hold may be most of it
            raise

    def _weights(self, variant: Variant) -> Parameters | str:
        """Return what a variant is searched with, weights or the name of a shipped set."""
        return variant.id

    @staticmethod
    def _outcome(board: Board, node_limit: int, result: Result) -> Outcome:
        variant = board.variant
        known = (variant.id, board.numbering, board.seed, result.verdict, result.positions, result.expanded, node_limit)
        if result.verdict != "won":
            return Outcome(*known)
        try:
            win = verify_line(board, result.moves)
        except LineError as error:
            raise SolverFault(f"{describe(board)}: the line found does not replay: {error}") from error
        return Outcome(*known, line_text(result.moves), *win)


def describe(board: Board) -> str:
    """Return which board it is, for messages."""
    return board.name or f"a board of {board.variant.id}"


def solve(board: Board, node_limit: int = DEFAULT_LIMIT) -> Outcome:
    """Settle one board (see `Solver.solve`; a `Solver` of your own is faster for many)."""
    return Solver().solve(board, node_limit)


def warm(variants: Iterable[Variant], echo: Callable[[str], None], *, complete: bool = False) -> None:
    """Compile what the cache lacks of the search, and say so first.

    Parameters
    ----------
    variants
        The games to be searched.
    echo
        Is told what is compiled and for about how long.
    complete
        Whether to compile the complete search as well, in a process beside this one. Few deals need it, and they
        compile it when they do; many workers should not all do so at once.
    """
    from pipeline.engine.compiler import COMPLETE, is_compiled
    from pipeline.engine.memory import width_of

    missing = [w for w in sorted({width_of(len(variant.columns)) for variant in variants}) if not is_compiled(w)]
    with _compiling_beside() if complete and not is_compiled(COMPLETE) else contextlib.nullcontext():
        for width in missing:
            from pipeline.engine.search import compile_for

            echo(f"compiling the search for boards of up to {width} columns (once, about 20 seconds)")
            compile_for(width)


_BESIDE = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for it gets Ctrl-C, too
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()  # and it ends with whoever waits
from pipeline.engine.search import compile_complete
compile_complete()
"""


@contextlib.contextmanager
def _compiling_beside() -> Iterator[None]:
    """Compile the complete search into the cache in another process, meanwhile; wait for it at the end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-P", "-c", _BESIDE]
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE) as process:
        try:
            yield
            process.wait()
        finally:
            process.kill()
