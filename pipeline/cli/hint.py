"""`hint`: what to do from a board on the table."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from pipeline.cli import boards, options, records
from pipeline.errors import UsageError
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.game.boards import Board
    from pipeline.game.variants import Variant
    from pipeline.pools.advice import Advice
    from pipeline.pools.hint import Hint


@click.command()
@boards.board_options
@click.option("--stream", is_flag=True, help="Answer JSON boards on standard input, one per line, in JSON lines.")
@click.option(
    "--fillings",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Of a board with unseen cards: how often they are dealt at random.  [default: 100]",
)
@click.option(
    "--draw",
    type=click.IntRange(0, 2**63 - 1),
    metavar="N",
    help="Number of the random draw: the same one gives the same advice.  [default: 1]",
)
@options.nodes_option(167_000)
@options.format_option("text", "json", default="text")
@options.verbosity_options
def hint(
    asked: boards.Asked,
    stream: bool,
    fillings: int | None,
    draw: int | None,
    nodes: int | None,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Show the first move of a winning line from a board.

    DEAL is a file with a board on the table, text as 'winnable deal' prints it or JSON; '-' is standard input; or a
    deal's name. When no win is found within the node limit the answer says so, and the move is only the engine's best
    try. The JSON has the whole "line": play along it, and ask again only after leaving it.

    Write unknown cards, face down or in the stock, as XX. They are dealt at random many times, each such filling is
    solved, and the legal moves are ranked by the share of fillings they win.

    With --stream one process answers many boards, each line with a line of the same "id". A board further along a line
    that it found gets the next move of that line. A line that is not a board is answered with an "error".

    \b
    Examples:
      winnable hint board.txt
      winnable hint - --format json < board.json
      winnable hint unseen.txt --fillings 300
      winnable hint --stream < boards.jsonl
    """
    from pipeline.game.boards import has_unseen
    from pipeline.pools import hint as hints

    limit = options.setting("nodes", nodes, hints.HINT_LIMIT)
    if stream:
        if asked._replace(variant=None) != boards.Asked(None, None, None, None, None):
            raise UsageError("--stream reads standard input; leave out DEAL, --board, --seed and --numbering")
        _answer_stream(limit, asked.rules(), verbosity)
        return
    board = asked.game(unseen=True).board
    if has_unseen(board):
        _advise(board, fillings, draw, limit, output_format, verbosity)
        return
    if fillings is not None or draw is not None:
        raise UsageError("--fillings and --draw are for boards with unseen cards (XX); this one has none")
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        answer = hints.hint(board, limit)
    if output_format == "text":
        click.echo(_hint_text(answer), nl=False)
    else:
        from pipeline.game.forms import cards_beside

        click.echo(records.to_json(hints.hint_json(answer) | cards_beside(board)), nl=False)


def _answer_stream(limit: int, rules: Variant | None, verbosity: int) -> None:
    from pipeline.pools.stream import answer_stream

    for answer in answer_stream(boards.stream_lines(), limit, rules, prepare=partial(boards.prepare, verbosity)):
        click.echo(answer)
        sys.stdout.flush()


def _advise(
    board: Board, fillings: int | None, draw: int | None, limit: int, output_format: str, verbosity: int
) -> None:
    from pipeline.pools import advice

    count = advice.FILLINGS if fillings is None else fillings
    with boards.solving([board.variant], verbosity, f"still at it: {count:,} fillings of the unseen cards"):
        answer = advice.advise(board, count, 1 if draw is None else draw, limit)
    if output_format == "text":
        click.echo(_advice_text(answer))
    else:
        click.echo(records.to_json(advice.advice_json(answer)), nl=False)


def _advice_text(answer: Advice) -> str:
    from pipeline.pools.advice import ASSUMED

    start = answer.start
    lines = [
        f"{counted(answer.unseen, 'unseen card')} dealt {answer.fillings:,} times at random "
        f"(draw {answer.draw}): {start.won:,} won, {start.lost:,} lost, {start.unsettled:,} unsettled at "
        f"{answer.node_limit:,} positions",
        "fillings won  95% interval  unsettled  begins  move",
    ]
    for move in answer.moves:
        rate = move.rate
        low, high = rate.interval
        lines.append(
            f"{rate.proved:11.0%}  {low:6.0%} to {high:3.0%}  {move.unsettled:9,}  {move.begins:6,}  {move.text}"
        )
    if not answer.moves:
        lines.append("no legal moves")
    return "\n".join([*lines, "begins: wins found that begin with the move", f"assumed: {ASSUMED}"])


def _hint_text(answer: Hint) -> str:
    outcome = answer.outcome
    searched = f"{outcome.positions:,} positions"
    if outcome.verdict == "lost":
        return f"lost: no line wins from here (proved by {searched})\n{boards.about_stock(answer.board)}"
    if outcome.verdict == "won":
        if answer.move is None:
            return "won already: nothing is left to do\n"
        return f"{answer.text}\nfirst of the {outcome.moves} moves of a win (found within {searched})\n"
    if answer.move is None:
        return f"unsettled: no win found within {searched}, and no move to try\n"
    return f"unsettled: no win found within {searched}; the engine's best try, not proved to win:\n{answer.text}\n"
