"""Boards in a stream, one a line: hints for what a game program keeps running beside it, and a table of verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline.errors import BoardError, DataError, SolverFault
from pipeline.game.boards import has_unseen
from pipeline.game.deals import is_deal_name
from pipeline.game.forms import Game, identity_json, read_game
from pipeline.game.numbers import json_text
from pipeline.game.variants import Variant
from pipeline.game.variants.table import FILE_BYTES
from pipeline.pools.advice import advice_json, advise
from pipeline.pools.hint import HINT_LIMIT, Guide, hint_json
from pipeline.solver import DEFAULT_LIMIT, Outcome, Solver


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
    fault: SolverFault | None = None
    seen: set[str] = set()
    for number, text in enumerate(lines, 1):
        answer: dict[str, Any]
        try:
            board = read_line(text, number, variant, unseen=True).board
            if board.variant.rules_hash not in seen:
                seen.add(board.variant.rules_hash)
                prepare(board.variant)
            if has_unseen(board):
                answer = advice_json(advise(board, node_limit=node_limit, solver=guide.solver))
            else:
                answer = hint_json(guide.hint(board))
        except DataError as error:
            answer = {"error": str(error)}
        except SolverFault as error:
            answer, fault = {"error": str(error)}, error
        except MemoryError:
            answer = {"error": f"line {number}: out of memory at {node_limit} positions"}
            guide.solver = Solver()
        yield json_text(mark_of(text) | answer)
    if fault is not None:
        raise fault


def read_line(text: str, number: int, variant: Variant | None, *, unseen: bool = False) -> Game:
    """Return the board of a line, and the moves beside it.

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
    return read_game(text, variant=variant, name=f"line {number}", unseen=unseen)


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
    seen: set[str] = set()
    blank = dict.fromkeys(("variant", "numbering", "seed", "deal", *_OUTCOME))
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        row: dict[str, Any] = {"row": number, "id": mark_of(text).get("id")} | blank | {"error": None}
        try:
            board = read_line(text, number, variant).board
            row |= identity_json(board)
            if board.variant.rules_hash not in seen:
                seen.add(board.variant.rules_hash)
                prepare(board.variant)
            outcome: Outcome = solver.solve(board, node_limit)
            row |= {key: getattr(outcome, key) for key in _OUTCOME}
        except (DataError, SolverFault) as error:
            row["error"] = str(error)
        except MemoryError:
            row["error"] = f"line {number}: out of memory at {node_limit} positions"
            solver = Solver()
        yield row


_OUTCOME = ("verdict", "positions", "expanded", "node_limit", "moves", "deals", "score", "line")
