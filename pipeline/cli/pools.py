"""`pool` and `daily`: lists of deals proved winnable, and the deal of the day."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import boards, options, records
from pipeline.cli.groups import Group
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.pools.building import Order
    from pipeline.pools.pool import Pool

_FILE = click.argument("file", type=options.Existing(), metavar="FILE")
_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write into this file.  [default: standard output]",
)


def _levels(_context: click.Context, _param: click.Parameter, text: str) -> range:
    """Read `3`, `2:4` or `2..4`."""
    import re

    match = re.fullmatch(r"([1-5])(?:(?::|\.\.)([1-5]))?", text)
    if match is None or (match[2] and match[2] < match[1]):
        raise click.BadParameter(
            f"{text!r} is not a valid difficulty: expected 1 (easiest) to 5 (hardest), or a range like 2:4"
        )
    return range(int(match[1]), int(match[2] or match[1]) + 1)


_DIFFICULTY = click.option(
    "--difficulty",
    "levels",
    default="1:5",
    show_default=True,
    callback=_levels,
    metavar="D",
    help="Only deals of a difficulty from 1 (easiest) to 5 (hardest), or a range such as 2:4.",
)


@click.group("pool", cls=Group)
def group() -> None:
    r"""Build, check and sample lists of deals proved winnable.

    A pool is one Parquet file. Each row is a deal: seed, cards, winning line, moves, score and difficulty (1 for the
    easiest fifth of the variant's deals to 5 for the hardest). A header has the rules, numbering, solver and node
    limit.

    \b
    Example:
      winnable pool build --variant spider-4 --count 1000 --out pool.parquet
    """


@group.command()
@options.variant_option()
@click.option("--count", type=options.COUNT, required=True, metavar="N", help="Deals in the pool.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Parquet file for the pool.",
)
@click.option(
    "--first-seed",
    "--first",
    "first",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    metavar="N",
    help="First seed to try.",
)
@_DIFFICULTY
@click.option("--force", is_flag=True, help="Replace another pool, or any other file, at --out.")
@options.numbering_option
@options.nodes_option()
@options.workers_option
@options.data_option
@options.verbosity_options
def build(
    variant: str,
    count: int,
    out: Path,
    first: int,
    levels: range,
    force: bool,
    numbering: str | None,
    nodes: int | None,
    workers: int | None,
    data: Path | None,
    verbosity: int,
) -> None:
    r"""Settle consecutive deals until enough are won, and write them as a pool.

    Verdicts in the dataset are used and new ones stored there, so after Ctrl-C the same command continues. Which deals
    the pool holds depends only on the first seed, the node limit and the difficulty. A pool built by the same command
    with a smaller --count is extended; any other file needs --force.

    \b
    Examples:
      winnable pool build --variant spider-1 --count 10000 --out spider-1.parquet
      winnable pool build --variant spider-4 --count 100 --difficulty 1:2 --out easy.parquet
    """
    from pipeline.game.deals import deal
    from pipeline.pools.building import Order, extra_deals
    from pipeline.pools.difficulty import LEVELS
    from pipeline.pools.pool import write_pool
    from pipeline.runs.logs import show_on_terminal
    from pipeline.solver import DEFAULT_LIMIT

    (rules,) = options.chosen_variants((variant,))
    name = options.setting("numbering", numbering, "native")
    deal(rules, first, name)
    options.check_place("--out", out, replaced=True)
    order = Order(rules, count, name, options.setting("nodes", nodes, DEFAULT_LIMIT), first, levels)
    if not force:
        options.keep_other(out, lambda file: _other(file, order))
    show_on_terminal(verbosity)
    built = _built(order, data, workers, verbosity)
    write_pool(built, out)
    header = built.header
    options.message(f"wrote {out}: {counted(header.deals, 'won deal')}, {header.tried:,} tried", verbosity)
    place = options.data_directory(data)
    if len(levels) == len(LEVELS) and (extra := extra_deals(built, place)):
        more = f"{counted(extra, 'more deal')} won"
        options.message(f"{place} has {more}: --count {header.deals + extra} takes them without a search", verbosity)


def _other(out: Path, order: Order) -> str:
    """Return what a file is that is not a pool of this order with at most as many deals."""
    from pipeline.errors import DataError
    from pipeline.pools.pool import read_pool

    try:
        there = read_pool(out, check=False)
    except DataError:
        return "file is not a pool"
    header = there.header
    if order.made(there) and header.deals <= order.count:
        return ""
    what = f"pool there has {header.deals} deals of {header.variant}/{header.numbering} from seed {header.first_seed} "
    return what + f"at {header.node_limit:,} positions, difficulty {', '.join(map(str, header.levels))}"


def _built(order: Order, data: Path | None, workers: int | None, verbosity: int) -> Pool:
    from pipeline.cli.main import goes_on
    from pipeline.cli.progress import RunBar, counting
    from pipeline.pools.building import build_pool
    from pipeline.runs.settling import Settling

    goes_on()
    settling = Settling(
        options.data_directory(data),
        options.worker_count(workers),
        progress=RunBar(verbosity),
        echo=lambda text: options.message(text, verbosity),
    )
    return build_pool(order, settling, lambda total: counting(total, "rating", verbosity))


@group.command()
@_FILE
@options.verbosity_options
def verify(file: Path, verbosity: int) -> None:
    r"""Replay every line of a pool and compare its cards, counts and checksum.

    Exit code 3 if the rows do not have the checksum in the header, 4 if a line does not win its deal.

    \b
    Example:
      winnable pool verify pool.parquet
    """
    from pipeline.cli.progress import counting
    from pipeline.errors import DataError, SolverFault
    from pipeline.pools.pool import content_fault, faults, read_pool

    pool = read_pool(file, check=False)
    variant = _named(file, pool)
    with counting(len(pool.rows), "deal", verbosity) as advance:
        wrong = list(faults(pool, variant, advance))
    broken = [fault for fault in wrong if fault.replay]
    if broken:
        which = "1 line does" if len(broken) == 1 else f"{len(broken)} lines do"
        raise SolverFault(f"{file}: {which} not replay: seed {broken[0].seed}: {broken[0].text}")
    if wrong:
        raise DataError(f"{file}: {counted(len(wrong), 'wrong row')}: seed {wrong[0].seed}: {wrong[0].text}")
    if fault := content_fault(pool):
        raise DataError(f"{file}: {fault}")
    click.echo(f"{file}: all {len(pool.rows)} lines replay; cards, counts and checksum are right")


def _named(file: Path, pool: Pool) -> Any:
    """Return the pool's variant; an error names the file."""
    from pipeline.errors import DataError

    try:
        return pool.variant()
    except DataError as error:
        raise DataError(f"{file}: {error}") from None


@group.command()
@_FILE
@options.format_option("table", "json")
def show(file: Path, output_format: str) -> None:
    r"""Show the header of a pool, and the number of deals per difficulty.

    \b
    Example:
      winnable pool show pool.parquet
    """
    from dataclasses import asdict

    from pipeline.pools.difficulty import LEVELS
    from pipeline.pools.pool import read_pool

    pool = read_pool(file)
    levels = Counter(row.difficulty for row in pool.rows)
    header = asdict(pool.header)
    header.pop("rules")
    if output_format == "json":
        click.echo(
            records.to_json(header | {"difficulties": {str(level): levels[level] for level in LEVELS}}), nl=False
        )
        return
    for key, value in header.items():
        text = (
            ", ".join(map(str, value)) if isinstance(value, tuple) else f"{value:,}" if key == "node_limit" else value
        )
        click.echo(f"{key.replace('_', ' ')}: {text}")
    for level in LEVELS:
        rows = [row for row in pool.rows if row.difficulty == level]
        mean = f", {sum(row.moves for row in rows) / len(rows):.1f} moves on average" if rows else ""
        click.echo(f"difficulty {level}: {counted(len(rows), 'deal')}{mean}")


@group.command()
@_FILE
@click.option("--count", type=options.COUNT, default=1, show_default=True, metavar="N", help="Deals to draw.")
@_DIFFICULTY
@click.option(
    "--draw",
    type=click.IntRange(0),
    metavar="N",
    help="Number of the draw: the same number draws the same deals.  [default: random]",
)
@options.file_format_option("json", "csv", "numbers", default="numbers")
@_OUT
def sample(
    file: Path, count: int, levels: range, draw: int | None, output_format: str | None, out: Path | None
) -> None:
    r"""Draw deals of a difficulty from a pool at random.

    \b
    Examples:
      winnable pool sample pool.parquet
      winnable pool sample pool.parquet --difficulty 5 --count 10 --draw 1 --format json
    """
    import secrets

    from pipeline.pools import pool as pools

    options.check_place("--out", out, replaced=True)
    form = options.form_of(output_format, out, ("numbers", "json", "csv"))
    pool = pools.read_pool(file)
    rows = pools.sample(pool, count, levels, secrets.randbits(64) if draw is None else draw)
    _write(pools.render(pool, rows, form), out)


@group.command()
@_FILE
@options.file_format_option("json", "csv", "numbers", default="json")
@_OUT
def export(file: Path, output_format: str | None, out: Path | None) -> None:
    r"""Write a pool as JSON, CSV, or plain seeds, one per line.

    JSON has the header and one line per deal. In CSV '|' separates the columns of a deal, and blanks their cards.

    \b
    Examples:
      winnable pool export pool.parquet --out pool.json
      winnable pool export pool.parquet --format numbers
    """
    from pipeline.pools import pool as pools

    options.check_place("--out", out, replaced=True)
    form = options.form_of(output_format, out, ("json", "csv", "numbers"))
    pool = pools.read_pool(file)
    _write(pools.render(pool, pool.rows, form), out)


def _write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=False)
    else:
        from pipeline.dataset.files import replacing

        with replacing(out) as file:
            file.write(text)


# ---- daily


def _date(_context: click.Context, _param: click.Parameter, text: str | None) -> datetime.date:
    if text is None:
        return datetime.datetime.now(datetime.UTC).date()
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a valid date: expected one like 2026-11-30") from None
    if date.isoformat() != text:
        raise click.BadParameter(f"{text!r} is not a valid date: expected {date.isoformat()}")
    return date


@click.command()
@options.variant_option()
@click.option("--date", callback=_date, metavar="D", help="Date like 2026-11-30.  [default: today, UTC]")
@options.format_option("text", "json", "numbers", default="text")
@options.verbosity_options
def daily(variant: str, date: datetime.date, output_format: str, verbosity: int) -> None:
    r"""Print the daily deal of a date.

    The deal is proved winnable and the same for everyone on that date. For the six main variants up to 2045-12-31 it is
    the same in every release. For other variants and dates it is found by a search, and a later release may choose
    another; a message says so.

    \b
    Examples:
      winnable daily --variant spider-4 --date 2026-11-30
      winnable daily --variant spider-1 --format numbers
    """
    from pipeline.game.forms import board_text
    from pipeline.pools import daily as days

    (rules,) = options.chosen_variants((variant,))
    if days.is_frozen(rules, date):
        day = days.daily(rules, date)
    else:
        options.message(f"{rules.id} {date}: not fixed, another release may choose another deal; searching", verbosity)
        with boards.solving([rules], verbosity, "still looking"):
            day = days.daily(rules, date)
    if output_format == "json":
        click.echo(records.to_json(days.daily_json(day)), nl=False)
    elif output_format == "numbers":
        click.echo(day.board.seed)
    else:
        click.echo(f"# daily deal of {date}\n{board_text(day.board)}", nl=False)
