"""`solve`, `deal`, `variants`, `bench`: one deal, one game, one solver."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import boards, options, records
from pipeline.cli.groups import Group
from pipeline.errors import PartialFailure, UsageError
from pipeline.game.numbers import counted, json_text

if TYPE_CHECKING:
    from pipeline.game.boards import Board
    from pipeline.game.variants import Variant
    from pipeline.solver import Outcome


@click.command()
@boards.board_options
@options.nodes_option()
@boards.shorten_option
@click.option(
    "--boards",
    "many",
    type=boards.INPUT,
    metavar="FILE",
    help="Settle many boards, one per line as JSON or a deal's name, into a table; '-' for standard input.",
)
@options.format_option("text", "csv", "json", default="text")
@options.verbosity_options
def solve(
    asked: boards.Asked,
    many: Path | None,
    nodes: int | None,
    shorten: bool,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Settle one deal and print the line that wins it.

    The verdict is won (the line proves it and has been replayed by the referee), lost (proved by a complete search) or
    unsettled at the node limit; all three end with exit code 0. The line is compact text: per move the source column,
    the target column and, for several cards, their number; '-' deals. The same moves in words follow.

    Memory grows slowly with the limit: it takes about 240 MB at a million positions, 450 MB at ten million, 1 GB at
    twenty-five, and at no limit more than 1.5 GiB.

    With --boards each line of FILE is a board as JSON or a deal's name and becomes a row of a table, of CSV, or a line
    of JSON. An "id" is copied to its row. The column "error" says why a board cannot be settled (exit code 5).

    \b
    Examples:
      winnable solve --variant spider-4 --seed 1
      winnable solve spider-4/pysol/14934 --nodes 10M
      winnable deal --variant spider-2 --seed 7 | winnable solve --board - --format json
    """
    from pipeline.solver import DEFAULT_LIMIT, Solver

    limit = options.setting("nodes", nodes, DEFAULT_LIMIT)
    if many is not None:
        if asked._replace(variant=None) != boards.Asked(None, None, None, None, None) or shorten:
            raise UsageError("--boards takes many boards; leave out DEAL, --board, --seed, --numbering and --shorten")
        _settle_many(many, limit, asked.rules(), output_format, verbosity)
        return
    if output_format == "csv":
        raise UsageError("--format csv is for --boards FILE; one deal is written as text or json")
    board = asked.game().board
    with boards.solving([board.variant], verbosity, f"still at it: up to {limit:,} positions"):
        outcome = Solver().solve(board, limit)
    if shorten and outcome.line is not None:
        outcome = _shortened(board, outcome)
    text = _solve_text(board, outcome) if output_format == "text" else records.to_json(_solve_json(board, outcome))
    click.echo(text, nl=False)


def _settle_many(many: Path, limit: int, rules: Variant | None, output_format: str, verbosity: int) -> None:
    from pipeline.pools.stream import settle_lines

    rows = []
    with boards.opened(many) as file:
        for row in settle_lines(boards.stream_lines(file), limit, rules, prepare=partial(boards.prepare, verbosity)):
            rows.append(row)
            if output_format == "json":
                click.echo(json_text(row))
    if output_format == "text":
        rows = [{key: value for key, value in row.items() if key not in ("expanded", "line")} for row in rows]
    if output_format != "json":
        click.echo(records.table(rows, "table" if output_format == "text" else output_format), nl=False)
    if failed := [row["error"] for row in rows if row["error"]]:
        raise PartialFailure(f"{counted(len(failed), 'board')} of {len(rows):,} not settled: {failed[0]}")


def _shortened(board: Board, outcome: Outcome) -> Outcome:
    from dataclasses import replace

    from pipeline.game.shorten import shorten
    from pipeline.referee.replay import verify_line

    line = shorten(board, outcome.line or "")
    return replace(outcome, line=line, **verify_line(board, line)._asdict())


def _solve_json(board: Board, outcome: Outcome) -> dict[str, Any]:
    from pipeline.game.forms import cards_beside, identity_json
    from pipeline.game.steps import readable_steps

    steps = None if outcome.line is None else readable_steps(board, outcome.line)
    end = {"steps": steps, "moves": outcome.moves, "score": outcome.score}
    return identity_json(board) | outcome.found() | end | cards_beside(board)


def _solve_text(board: Board, outcome: Outcome) -> str:
    from pipeline.game.lines import parse_line
    from pipeline.game.rules import Position, replay, sequence_points
    from pipeline.game.steps import readable_steps
    from pipeline.solver import describe

    points = sequence_points(Position(board))
    lines = [
        f"{describe(board)}: {outcome.verdict}",
        f"positions: {outcome.positions:,} reached, {outcome.expanded:,} expanded (limit {outcome.node_limit:,})",
    ]
    if outcome.line is None:
        lines.append(f"sequence points: {points} at the start")
        return "\n".join(lines) + "\n" + boards.about_stock(board)
    lines += [
        f"moves: {outcome.moves}, {outcome.line.count('-')} of them deals",
        f"score: {outcome.score} (500 - 1 a move + 100 a set); sequence points: {points} at the start, "
        f"{sequence_points(replay(board, parse_line(outcome.line)))} at the end",
        f"line: {outcome.line}",
        *readable_steps(board, outcome.line),
    ]
    return "\n".join(lines) + "\n"


# ---- deal


@click.command()
@boards.board_options
@options.format_option("text", "json", "solvitaire", default="text")
def deal(asked: boards.Asked, output_format: str) -> None:
    r"""Print a numbered deal.

    As text that every command with --board reads back, as JSON, or as a deal file of Solvitaire. Face-down cards are
    in brackets, columns are bottom to top, the stock is in deal order. With --board it turns a board of one form into
    another.

    \b
    Examples:
      winnable deal --variant spider-4 --seed 1
      winnable deal spider-4/pysol/14934 --format json
      winnable deal --board solvitaire.json --variant spider-4
    """
    from pipeline.game.forms import board_json, board_text, solvitaire_json

    board = asked.game().board
    if output_format == "text":
        click.echo(board_text(board), nl=False)
    else:
        click.echo(records.to_json((board_json if output_format == "json" else solvitaire_json)(board)), nl=False)


# ---- variants


@click.group(cls=Group, invoke_without_command=True)
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
@click.argument("file", type=options.Existing(), metavar="FILE")
@options.format_option("table", "json")
def check(file: Path, output_format: str) -> None:
    r"""Check a variant of your own and describe its rules.

    The file is TOML like those of the package (pipeline/game/variants/). An error names the key, the value and
    what is allowed. Commands take a valid file wherever they take a variant's id.

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
    (else exit code 4), which shows that the search does the same here as elsewhere. The speed is positions per second
    of spider-4 deals on one thread, by CPU time without compilation.

    \b
    Example:
      winnable bench
    """
    from pipeline.errors import SolverFault
    from pipeline.game.variants import load_variant
    from pipeline.version import SIGNATURE

    with boards.solving([load_variant("spider-4")], verbosity, f"measuring for {seconds:g} seconds"):
        from pipeline.engine.bench import signature, speed

        computed = signature()
        measured = speed(seconds)
    rate = round(measured.positions / measured.seconds)
    if output_format == "json":
        click.echo(json.dumps({"signature": computed, "positions_per_second": rate}))
    else:
        click.echo(f"signature: {computed}")
        click.echo(f"positions per second: {rate:,} (spider-4, one thread, {measured.seconds:.1f} s of CPU time)")
    if computed != SIGNATURE:
        raise SolverFault(f"bench mismatch: this machine computes {computed}, the version's signature is {SIGNATURE}")
