"""Boards in a stream, one a line: hints for what a game program keeps running beside it, and a table of verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline.errors import BoardError, DataError, SolverFault
from pipeline.game.boards import Board, has_unseen
from pipeline.game.deals import is_deal_name
from pipeline.game.forms import identity_json, read_board
from pipeline.game.numbers import json_text
from pipeline.game.variants import Variant
from pipeline.game.variants.table import FILE_BYTES
from pipeline.pools.advice import advice_json, advise
from pipeline.pools.hint import HINT_LIMIT, Guide, hint_json
from pipeline.solver import DEFAULT_LIMIT, Solver

_OUTCOME = ("verdict", "positions", "expanded", "node_limit", "moves", "deals", "score", "line")


def answer_stream(
    lines: Iterable[str],
    node_limit: int = HINT_LIMIT,
    variant: Variant | None = None,
    solver: Solver | None = None,
    prepare: Callable[[Variant], None] = lambda _variant: None,
) -> Iterator[str]:
    """Answer every line, a board or a deal's name, with a hint as one line of JSON.

    What cannot be answered, a blank line too, is answered by an object with the key ``error``. A key ``id`` comes back
    as it was. A board with unseen cards is answered by advice (see `advice_json`). A board that lies on a winning line
    answered before gets the next move of that line (see `Guide`).

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
    guide = Guide(node_limit, solver)
    board_of = _reader(variant, prepare, unseen=True)
    fault: SolverFault | None = None
    for number, text in enumerate(lines, 1):
        answer: dict[str, Any]
        try:
            board = board_of(text, number)
            if has_unseen(board):
                answer = advice_json(advise(board, node_limit=node_limit, solver=guide.solver))
            else:
                answer = hint_json(guide.hint(board))
        except (DataError, SolverFault, MemoryError) as error:
            answer = {"error": _explained(error, number, node_limit)}
            fault = error if isinstance(error, SolverFault) else fault
        yield json_text(mark_of(text) | answer)
    if fault is not None:
        raise fault


def settle_lines(
    lines: Iterable[str],
    node_limit: int = DEFAULT_LIMIT,
    variant: Variant | None = None,
    solver: Solver | None = None,
    prepare: Callable[[Variant], None] = lambda _variant: None,
) -> Iterator[dict[str, Any]]:
    """Settle every line, a board or a deal's name, and yield a row each: what it is, its outcome, or its error.

    Parameters
    ----------
    lines, node_limit, variant, solver, prepare
        As for `answer_stream`; blank lines are passed over.
    """
    solver = solver or Solver()
    board_of = _reader(variant, prepare)
    blank = dict.fromkeys(("variant", "numbering", "seed", "deal", *_OUTCOME))
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        row: dict[str, Any] = {"row": number, "id": mark_of(text).get("id")} | blank | {"error": None}
        try:
            board = board_of(text, number)
            row |= identity_json(board)
            outcome = solver.solve(board, node_limit)
            row |= {key: getattr(outcome, key) for key in _OUTCOME}
        except (DataError, SolverFault, MemoryError) as error:
            row["error"] = _explained(error, number, node_limit)
        yield row


def _explained(error: Exception, number: int, node_limit: int) -> str:
    out_of_memory = f"line {number}: out of memory at {node_limit} positions"
    return out_of_memory if isinstance(error, MemoryError) else str(error)


def _reader(
    variant: Variant | None, prepare: Callable[[Variant], None], *, unseen: bool = False
) -> Callable[[str, int], Board]:
    """Return what reads the board of a line with a number, and calls `prepare` before the first board of each game."""
    prepared: set[str] = set()

    def board_of(text: str, number: int) -> Board:
        board = read_line(text, number, variant, unseen=unseen)
        if board.variant.rules_hash not in prepared:
            prepared.add(board.variant.rules_hash)
            prepare(board.variant)
        return board

    return board_of


def read_line(text: str, number: int, variant: Variant | None, *, unseen: bool = False) -> Board:
    """Return the board of a line.

    Raises
    ------
    BoardError
        It holds none; names the line.
    """
    if len(text) > FILE_BYTES:
        raise BoardError(f"line {number}: larger than {FILE_BYTES:,} bytes; not a board")
    text = text.strip("\ufeff \t\r\n")
    if not (text.startswith("{") or is_deal_name(text)):
        raise BoardError(
            f"line {number}: {text!r:.60} is not a board: expected a JSON object, or a deal's name, a line"
        )
    return read_board(text, variant=variant, name=f"line {number}", unseen=unseen)


def mark_of(text: str) -> dict[str, Any]:
    """Return the `id` of a line that has one, as an object of that key."""
    if len(text) <= FILE_BYTES and '"id"' in text:
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        if isinstance(fields, dict) and "id" in fields:
            return {"id": fields["id"]}
    return {}
