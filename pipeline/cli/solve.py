"""`solve`, `hint`, `deal`, `replay`, `variants`, `bench`: one deal, one game, one solver."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import boards, options, records

if TYPE_CHECKING:
    from pipeline.game.boards import Board
    from pipeline.game.variants import Variant
    from pipeline.pools.hint import Hint
    from pipeline.solver import Outcome

_SHORTEN = click.option(
    "--shorten", is_flag=True, help="Leave needless moves out of the line: never longer, replayed, a cleaner win."
)


@click.command()
@boards.board_options
@options.nodes_option()
@_SHORTEN
@options.format_option("text", "json", default="text")
@options.verbosity_options
def solve(
    variant: str | None,
    numbering: str | None,
    seed: int | None,
    board_file: Path | None,
    nodes: int | None,
    shorten: bool,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Settle one deal and print the line that wins it.

    The verdict is won (the line proves it and has been replayed by the referee), lost (proved by a complete search) or
    unsettled at the node limit; all three end with exit code 0. The line is compact text, a move as source column,
    target column and, for several cards, their number; '-' deals. Below it the same moves in words.

    Memory grows slowly with the limit: it takes about 240 MB at a million positions, 450 MB at ten million, 1 GB at
    twenty-five, and at no limit more than 1.5 GiB.

    \b
    Examples:
      winnable solve --variant spider-4 --seed 1
      winnable solve --variant spider-4 --numbering pysol --seed 14934 --nodes 10M
      winnable deal --variant spider-2 --seed 7 | winnable solve --board - --format json
    """
    from pipeline.solver import DEFAULT_LIMIT, Solver

    board = boards.chosen_board(variant, numbering, seed, board_file)
    limit = options.setting("nodes", nodes, DEFAULT_LIMIT)
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        outcome = Solver().solve(board, limit)
    if shorten and outcome.line is not None:
        outcome = _shortened(board, outcome)
    text = _solve_text(board, outcome) if output_format == "text" else records.to_json(_solve_json(board, outcome))
    click.echo(text, nl=False)


def _shortened(board: Board, outcome: Outcome) -> Outcome:
    from dataclasses import replace

    from pipeline.game.shorten import shorten
    from pipeline.referee.replay import verify_line

    line = shorten(board, outcome.line or "")
    return replace(outcome, line=line, **verify_line(board, line)._asdict())


def _solve_json(board: Board, outcome: Outcome) -> dict[str, Any]:
    from pipeline.game.steps import readable_steps

    return {
        "variant": outcome.variant,
        "numbering": outcome.numbering,
        "seed": outcome.seed,
        "verdict": outcome.verdict,
        "positions": outcome.positions,
        "expanded": outcome.expanded,
        "node_limit": outcome.node_limit,
        "line": outcome.line,
        "steps": None if outcome.line is None else readable_steps(board, outcome.line),
        "moves": outcome.moves,
        "score": outcome.score,
    }


def _solve_text(board: Board, outcome: Outcome) -> str:
    from pipeline.game.lines import parse_line
    from pipeline.game.rules import Position, replay, sequence_points
    from pipeline.game.steps import readable_steps
    from pipeline.solver import describe

    points = sequence_points(Position.of(board))
    lines = [
        f"{describe(board)}: {outcome.verdict}",
        f"positions: {outcome.positions:,} reached, {outcome.expanded:,} expanded (limit {outcome.node_limit:,})",
    ]
    if outcome.line is None:
        lines.append(f"sequence points: {points} at the start")
        return "\n".join(lines) + "\n"
    lines += [
        f"moves: {outcome.moves}, {outcome.line.count('-')} of them deals",
        f"score: {outcome.score} (500 - 1 a move + 100 a set); sequence points: {points} at the start, "
        f"{sequence_points(replay(board, parse_line(outcome.line)))} at the end",
        f"line: {outcome.line}",
        *readable_steps(board, outcome.line),
    ]
    return "\n".join(lines) + "\n"


# ---- hint


@click.command()
@click.argument("file", required=False, type=boards.INPUT, metavar="[FILE]")
@click.option("--stream", is_flag=True, help="Answer JSON boards on standard input, one a line, as JSON, one a line.")
@options.variant_option(required=False)
@options.nodes_option(167_000)
@options.format_option("text", "json", default="text")
@options.verbosity_options
def hint(
    file: Path | None, stream: bool, variant: str | None, nodes: int | None, output_format: str, verbosity: int
) -> None:
    r"""Show the first move of a winning line from a board.

    FILE is a board on the table: text as 'winnable deal' prints it or JSON, with the face-down cards and the stock
    known; '-' is standard input. When no win is found within the node limit the answer says so, and the move is only
    the engine's best try. The JSON has the whole "line": play along it, and ask anew only after leaving it. With
    --stream one process answers many boards, and a board further along a line that it found gets the next move of that
    line; a line that is no board is answered by an object with the key "error".

    \b
    Examples:
      winnable hint board.txt
      winnable hint - --format json < board.json
      winnable hint --stream < boards.jsonl
    """
    from pipeline.errors import UsageError
    from pipeline.pools import hint as hints

    rules = boards.chosen_variant(variant)
    limit = options.setting("nodes", nodes, hints.HINT_LIMIT)
    if stream:
        if file is not None:
            raise UsageError("--stream reads standard input; leave out FILE")
        _answer_stream(limit, rules, verbosity)
        return
    if file is None:
        raise UsageError("which board? give FILE ('-' for standard input), or --stream")
    board = boards.board_from(file, rules)
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        found = hints.hint(board, limit)
    click.echo(_hint_text(found) if output_format == "text" else records.to_json(hints.hint_json(found)), nl=False)


def _answer_stream(limit: int, rules: Variant | None, verbosity: int) -> None:
    from pipeline.pools.hint import answer_stream
    from pipeline.solver import warm

    def prepare(variant: Variant) -> None:
        warm([variant], lambda text: options.message(text, verbosity))

    for answer in answer_stream(boards.stream_lines(), limit, rules, prepare=prepare):
        click.echo(answer)
        sys.stdout.flush()


def _hint_text(found: Hint) -> str:
    outcome = found.outcome
    searched = f"{outcome.positions:,} positions"
    if outcome.verdict == "lost":
        return f"lost: no line wins from here (proved by {searched})\n"
    if outcome.verdict == "won":
        if found.move is None:
            return "won already: nothing is left to do\n"
        return f"{found.text}\nfirst of the {outcome.moves} moves of a win (found within {searched})\n"
    if found.move is None:
        return f"unsettled: no win found within {searched}, and no move to try\n"
    return f"unsettled: no win found within {searched}; the engine's best try, not proved to win:\n{found.text}\n"


# ---- deal


@click.command()
@boards.board_options
@options.format_option("text", "json", "solvitaire", default="text")
def deal(
    variant: str | None, numbering: str | None, seed: int | None, board_file: Path | None, output_format: str
) -> None:
    r"""Print a numbered deal.

    As text that every command with --board reads back, as JSON, or as a deal file of Solvitaire. Face-down cards are
    in brackets, columns are bottom to top, the stock is in deal order. With --board it turns a board of one form into
    another.

    \b
    Examples:
      winnable deal --variant spider-4 --seed 1
      winnable deal --variant spider-4 --numbering pysol --seed 14934 --format json
      winnable deal --board solvitaire.json --variant spider-4
    """
    from pipeline.game.forms import board_json, board_text, solvitaire_json

    board = boards.chosen_board(variant, numbering, seed, board_file)
    if output_format == "text":
        click.echo(board_text(board), nl=False)
    else:
        click.echo(records.to_json((board_json if output_format == "json" else solvitaire_json)(board)), nl=False)


# ---- replay


@click.command()
@click.argument("file", required=False, type=boards.INPUT, metavar="[FILE]")
@boards.board_options
@click.option("--line", metavar="LINE", help="The moves as compact text; without it the deal is solved first.")
@_SHORTEN
@click.option("--from", "first", type=click.IntRange(0), metavar="N", help="First move to show; 0 is the start.")
@click.option("--to", "last", type=click.IntRange(0), metavar="N", help="Last move to show.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="OUT", help="Write a page instead.")
@options.nodes_option()
@options.format_option("text", "json", default="text")
@options.verbosity_options
def replay(
    file: Path | None,
    variant: str | None,
    numbering: str | None,
    seed: int | None,
    board_file: Path | None,
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

    FILE is what 'winnable solve --format json' or 'hint' wrote (of a board without a number: with --board beside it),
    or a board with its line in it: "line: ..." in our text, a key "line" in JSON. Each move is shown in words with the
    score so far and the position after it. The line need not win, but every move must be legal: the first that is not
    is named. The page of --html has the board as cards and works without a network.

    \b
    Examples:
      winnable replay --variant spider-4 --seed 1 --from 10 --to 12
      winnable solve --variant spider-4 --seed 1 --format json | winnable replay -
      winnable replay --variant spider-4 --seed 1 --shorten --html win.html
    """
    from pipeline.cli import replaying
    from pipeline.errors import UsageError

    if html is not None and (first is not None or last is not None or output_format == "json"):
        raise UsageError("--html shows the whole line as a page; leave out --from, --to and --format json")
    options.check_place("--html", html)
    flags = variant, numbering, seed, board_file
    board, found = replaying.what_to_replay(file, flags, line)
    if found is None:
        found = _line_of(board, nodes, verbosity)
    if shorten:
        from pipeline.game.shorten import shorten as shortest

        found = shortest(board, found)
    if html is not None:
        from pipeline.analysis.replay_page import replay_page

        html.write_text(replay_page(board, found), encoding="utf-8")
        options.message(f"wrote {html}", verbosity)
        return
    frames = replaying.frames(board, found, first, last)
    if output_format == "json":
        click.echo(records.to_json(frames), nl=False)
    else:
        for text in replaying.texts(board, frames):
            click.echo(text)


def _line_of(board: Board, nodes: int | None, verbosity: int) -> str:
    """Solve a board that was named without a line."""
    from pipeline.errors import DataError
    from pipeline.solver import DEFAULT_LIMIT, Solver, describe

    limit = options.setting("nodes", nodes, DEFAULT_LIMIT)
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        outcome = Solver().solve(board, limit)
    if outcome.line is None:
        raise DataError(f"{describe(board)}: {outcome.verdict} at {limit:,} positions; there is no line to replay")
    return outcome.line


# ---- variants


@click.group(invoke_without_command=True)
@options.format_option("table", "json")
@click.pass_context
def variants(context: click.Context, output_format: str) -> None:
    r"""List the variants and describe their rules.

    The words are made from the rules' data, so they are what the solver plays by.

    \b
    Examples:
      winnable variants
      winnable variants --format json
      winnable variants check mine.toml
    """
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"output_format": output_format}}
        return
    from pipeline.game.variants import load_variant, variant_ids

    known = [load_variant(name) for name in variant_ids()]
    if output_format == "json":
        click.echo(records.to_json([_variant_json(variant) for variant in known]), nl=False)
        return
    click.echo("\n\n".join(_variant_text(variant) for variant in known))


@variants.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE")
@options.format_option("table", "json")
def check(file: Path, output_format: str) -> None:
    r"""Check a variant of your own and describe its rules.

    The file is TOML like those of the package (pipeline/game/variants/). What is wrong with it is said with the key,
    the value and what is allowed. A file that is right can be given wherever a variant's id can.

    \b
    Example:
      winnable variants check mine.toml
    """
    from pipeline.game.deals import deal as deal_cards
    from pipeline.game.variants import read_variant

    variant = read_variant(file)
    deal_cards(variant, 1)
    if output_format == "json":
        click.echo(records.to_json(_variant_json(variant)), nl=False)
    else:
        click.echo(f"{file}: fine\n{_variant_text(variant)}")


def _variant_json(variant: Variant) -> dict[str, Any]:
    from dataclasses import asdict

    fields = asdict(variant)
    documented = [dict(entry) for entry in fields.pop("documented")]
    return {
        **fields,
        "cards": variant.cards,
        "stock_size": variant.stock_size,
        "rules_hash": variant.rules_hash,
        "description": variant.describe(),
        "documented": documented,
    }


def _variant_text(variant: Variant) -> str:
    import textwrap

    head = f"{variant.id} ({variant.name}; numberings: {', '.join(variant.numberings)})"
    return head + "\n" + textwrap.fill(variant.describe(), 100, initial_indent="  ", subsequent_indent="  ")


# ---- bench


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(min=0, max=3600), default=5.0, show_default=True, help="CPU time to measure for."
)
@options.format_option("text", "json", default="text")
@options.verbosity_options
def bench(seconds: float, output_format: str, verbosity: int) -> None:
    r"""Compute the bench signature and measure the speed.

    The signature is one number over the outcomes of fixed searches. It must be the one this version was published with
    (else exit code 4): then the search does here what it does elsewhere. The speed is positions a second of spider-4
    deals on one thread, by CPU time, the compiler's time left out.

    \b
    Example:
      winnable bench
    """
    from pipeline.errors import SolverFault
    from pipeline.game.variants import load_variant
    from pipeline.version import SIGNATURE

    with boards.solving([load_variant("spider-4")], verbosity, f"measuring for {seconds:g} seconds"):
        from pipeline.engine.bench import signature, speed

        found = signature()
        measured = speed(seconds)
    rate = round(measured.positions / measured.seconds)
    if output_format == "json":
        click.echo(json.dumps({"signature": found, "positions_per_second": rate}))
    else:
        click.echo(f"signature: {found}")
        click.echo(f"positions per second: {rate:,} (spider-4, one thread, {measured.seconds:.1f} s of CPU time)")
    if found != SIGNATURE:
        raise SolverFault(f"bench mismatch: this machine computes {found}, the version was published with {SIGNATURE}")
