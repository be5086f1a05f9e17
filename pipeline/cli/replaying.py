"""What `replay` replays, and the positions it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli import boards
from pipeline.errors import DataError, UsageError

if TYPE_CHECKING:
    from pipeline.game.boards import Board

Flags = tuple[str | None, str | None, int | None, Path | None]


def what_to_replay(file: Path | None, flags: Flags, line: str | None) -> tuple[Board, str | None]:
    """Return the board and the line that the file and the flags say; no line if neither has one.

    Raises
    ------
    UsageError
        They say two boards or two lines, or none.
    DataError
        The file holds neither a solved deal nor a board.
    """
    if file is None:
        return boards.chosen_board(*flags), line
    variant, numbering, seed, board_file = flags
    if seed is not None or numbering is not None:
        raise UsageError("FILE says which deal it is; leave out --seed and --numbering")
    text = boards.read_text(file)
    board, found = _read(text, boards.name_of(file), variant, board_file)
    if line is not None and found is not None:
        raise UsageError(f"{boards.name_of(file)} has a line already; leave out --line")
    return board, found if line is None else line


def _read(text: str, name: str, variant: str | None, board_file: Path | None) -> tuple[Board, str | None]:
    """Read what `solve --format json` wrote, or a board with or without a line."""
    from pipeline.game.forms import read_board

    rules = boards.chosen_variant(variant)
    line: str | None = None
    if text.lstrip().startswith("{"):
        fields = _fields(text, name)
        if "columns" not in fields and "tableau piles" not in fields:
            return _solved(fields, name, variant, board_file)
        line = fields.pop("line", None)
        if line is not None and not isinstance(line, str):
            raise DataError(f"{name}: line: {line!r} is no text of moves")
        text = json.dumps(fields)
    elif match := re.search(r"(?im)^[ \t]*line[ \t]*:[ \t]*(\S*)[ \t]*$", text):
        line = match[1]
        text = text[: match.start()] + text[match.end() :]
    if board_file is not None:
        raise UsageError(f"{name} is a board itself; leave out --board")
    return read_board(text, variant=rules, name=name), line


def _fields(text: str, name: str) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: is no JSON: {error}") from None
    return fields


def _solved(fields: dict[str, Any], name: str, variant: str | None, board_file: Path | None) -> tuple[Board, str]:
    """Take board and line from the JSON of `solve`."""
    from pipeline.game.deals import deal
    from pipeline.game.variants import load_variant

    line, verdict, seed, numbering = (fields.get(key) for key in ("line", "verdict", "seed", "numbering"))
    if verdict in ("lost", "unsettled"):
        raise DataError(f"{name}: the deal is {verdict}; there is no line to replay")
    if not isinstance(line, str):
        raise DataError(f"{name}: line: {line!r}; expected a line as 'winnable solve --format json' writes it")
    if board_file is not None:
        return boards.board_from(board_file, boards.chosen_variant(variant)), line
    if seed is None:
        raise UsageError(f"{name} is of a board without a number; give the board with --board")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise DataError(f"{name}: seed: {seed!r} is no whole number")
    try:
        rules = boards.chosen_variant(variant) or load_variant(str(fields.get("variant")))
        return deal(rules, seed, "native" if numbering is None else str(numbering)), line
    except UsageError as error:
        raise DataError(f"{name}: {error}") from None


def frames(board: Board, line: str, first: int | None, last: int | None) -> list[dict[str, Any]]:
    """Return the positions after moves `first` to `last` of a line, 0 the start, as JSON objects.

    Raises
    ------
    LineError
        A move of the line is not legal; names it.
    UsageError
        The range is empty.
    """
    from pipeline.game.forms import board_json
    from pipeline.game.lines import parse_line
    from pipeline.game.rules import sequence_points, spider_score, walk
    from pipeline.game.steps import step_text

    moves = len(parse_line(line))
    first, last = first or 0, moves if last is None else last
    if first > last or last > moves:
        raise UsageError(f"--from {first} --to {last}: the line has moves 1 to {moves}")
    shown = []
    for number, (played, position) in enumerate(walk(board, line)):
        if first <= number <= last:
            shown.append(
                {
                    "move": number,
                    "step": None if played is None else step_text(position, played),
                    "score": spider_score(number, position.sets_done),
                    "sequence_points": sequence_points(position),
                    "won": position.won,
                    "board": board_json(position.board()),
                }
            )
    return shown


def texts(board: Board, shown: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the positions of `frames` as text."""
    for frame in shown:
        score = f"score {frame['score']}, sequence points {frame['sequence_points']}"
        head = f"{frame['move']}. {frame['step']}" if frame["move"] else "start"
        yield f"{head} ({score})"
        columns, down = frame["board"]["columns"], frame["board"]["face_down"]
        for number, (text, hidden) in enumerate(zip(columns, down, strict=True), 1):
            cards = text.split()
            parts = [f"[{' '.join(cards[:hidden])}]" if hidden else "", *cards[hidden:]]
            yield f"  {number:>2}: {' '.join(filter(None, parts))}".rstrip()
        left, done = len(frame["board"]["stock"].split()), frame["board"]["sets_done"]
        yield f"  stock {left}, sets done {done}\n"
    if shown and shown[-1]["won"]:
        yield f"won in {shown[-1]['move']} moves"
