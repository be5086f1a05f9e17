"""`replay`: a line move by move, or as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import boards, options, records
from pipeline.errors import DataError, UsageError
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.game.boards import Board


@click.command()
@boards.board_options
@click.option("--line", metavar="LINE", help="The moves as compact text; without it the deal is solved first.")
@boards.shorten_option
@click.option("--from", "first", type=click.IntRange(0), metavar="N", help="First move to show; 0 is the start.")
@click.option("--to", "last", type=click.IntRange(0), metavar="N", help="Last move to show.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="OUT", help="Write a page instead.")
@options.nodes_option()
@options.format_option("text", "json", default="text")
@options.verbosity_options
def replay(
    asked: boards.Asked,
    line: str | None,
    shorten: bool,
    first: int | None,
    last: int | None,
    html: Path | None,
    nodes: int | None,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Replay a line move by move, or make a page of it.

    DEAL is a deal's name, or a file that holds a board or names a deal: what 'solve' or 'hint' wrote as JSON, a row of
    a pool, or a board with its line in it ("line: ..." in our text, a key "line" in JSON). Each move is shown in words
    with the score so far and the position after it. The line need not win, but every move must be legal: the first
    that is not is named. The page of --html has the board as cards and works without a network.

    \b
    Examples:
      winnable replay spider-4/native/1 --from 10 --to 12
      winnable solve spider-4/native/1 --format json | winnable replay -
      winnable replay --variant spider-4 --seed 1 --shorten --html win.html
    """
    if html is not None and (first is not None or last is not None or output_format == "json"):
        raise UsageError("--html shows the whole line as a page; leave out --from, --to and --format json")
    options.check_place("--html", html, replaced=True)
    board, beside = asked.game()
    if line is not None and beside is not None:
        raise UsageError("the board came with a line; leave out --line")
    moves = line if line is not None else beside if beside is not None else _line_of(board, nodes, verbosity)
    if shorten:
        from pipeline.game.shorten import shorten as shortened

        moves = shortened(board, moves)
    if html is not None:
        from pipeline.analysis.replay_page import replay_page
        from pipeline.dataset.files import replacing

        with replacing(html) as file:
            file.write(replay_page(board, moves))
        options.message(f"wrote {html}", verbosity)
        return
    frames = _frames(board, moves, first, last)
    if output_format == "json":
        click.echo(records.to_json(frames), nl=False)
    else:
        for text in _texts(frames):
            click.echo(text)


def _line_of(board: Board, nodes: int | None, verbosity: int) -> str:
    """Solve a board that was named without a line."""
    from pipeline.solver import DEFAULT_LIMIT, Solver, describe

    limit = options.setting("nodes", nodes, DEFAULT_LIMIT)
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        outcome = Solver().solve(board, limit)
    if outcome.line is None:
        after = f"{outcome.verdict} after {counted(outcome.positions, 'position')}"
        raise DataError(f"{describe(board)}: {after}; only a win has a line")
    return outcome.line


def _frames(board: Board, line: str, first: int | None, last: int | None) -> list[dict[str, Any]]:
    """Return the positions after moves `first` to `last` of a line, 0 the start."""
    from pipeline.game.lines import parse_line
    from pipeline.game.rules import walk
    from pipeline.game.steps import frame

    moves = len(parse_line(line))
    first, last = first or 0, moves if last is None else last
    for flag, move in (("--from", first), ("--to", last)):
        if move > moves:
            raise UsageError(f"{flag} {move}: the line has {counted(moves, 'move')}")
    if first > last:
        raise UsageError(f"--from {first} --to {last}: expected the first move to show, then the last")
    steps = enumerate(walk(board, line))
    return [frame(position, number, played) for number, (played, position) in steps if first <= number <= last]


def _texts(shown: list[dict[str, Any]]) -> Iterator[str]:
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
