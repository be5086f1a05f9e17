"""Option stacks that commands share: each flag is spelled, checked and explained once.

An option that was not given is None (or an empty tuple): settings merge flags over `WINNABLE_*` over the
configuration file over defaults, and must know what the user said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.batch.seeds import Seeds

    _ParamType = click.ParamType[Any]
else:  # generic only since Click 8.2
    _ParamType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

LAST_SEED = 2**63 - 1
NUMBERINGS = ("native", "pysol", "kpat")
FORMATS = ("table", "markdown", "csv", "json")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_seeds(text: str) -> range:
    """Read `A:B` (both included) or `A`; see `pipeline.batch.seeds.parse_seeds`."""
    from pipeline.batch import seeds

    return seeds.parse_seeds(text)


def parse_duration(text: str) -> float:
    """Read a duration, for example `90`, `90s`, `10m`, `2h` or `1h30m`, as seconds.

    Raises
    ------
    UsageError
        If it is not of that form or is not positive.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip() or seconds <= 0:
        raise UsageError(f"duration {text!r}: expected seconds or a form like 90s, 10m, 2h, 1h30m")
    return seconds


def parse_shard(text: str) -> tuple[int, int]:
    """Read `i/n` with 1 <= i <= n.

    Raises
    ------
    UsageError
        If it is not of that form.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"shard {text!r}: expected i/n with 1 <= i <= n, for example 3/16")
    return int(match[1]), int(match[2])


def parse_count(text: str) -> int:
    """Read a positive whole number; `1_000_000`, `167k` and `10M` are understood.

    Raises
    ------
    UsageError
        If it is not one.
    """
    match = re.fullmatch(r"([0-9][0-9_]*)([kKmM]?)", text.strip())
    number = int(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()] if match else 0
    if not 1 <= number <= LAST_SEED:
        raise UsageError(f"{text!r} is not a positive whole number, for example 167000, 167k or 10M")
    return number


class _Parsed(_ParamType):
    """A parameter read by one of the functions above."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text; a value of the right type already passes."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class _VariantId(_ParamType):
    """The id of a variant that exists; the list is read only when one is given."""

    name = "variant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the id and suggest the nearest ones."""
        from pipeline.cli.main import did_you_mean
        from pipeline.game.variants import variant_ids

        known = variant_ids()
        if value not in known:
            hint = did_you_mean(str(value), known) or f" They are: {', '.join(known)}."
            self.fail(f"no variant {value!r}.{hint}", param, ctx)
        return value


SEEDS = _Parsed("A:B", parse_seeds)
DURATION = _Parsed("duration", parse_duration)
SHARD = _Parsed("i/n", parse_shard)
COUNT = _Parsed("n", parse_count)
VARIANT = _VariantId()


def data_option(command: Command) -> Command:
    """Add `--data DIR` (`data: Path | None`)."""
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The dataset's directory; it holds outcomes/ and runs/.  [default: data]",
    )(command)


def variants_option(command: Command) -> Command:
    """Add a repeatable `--variant V` (`variants: tuple[str, ...]`)."""
    return click.option(
        "--variant",
        "variants",
        type=VARIANT,
        multiple=True,
        metavar="V",
        help="A variant's id; repeatable. 'winnable variants' lists them.",
    )(command)


def variant_option(*, required: bool = True) -> Decorator[Command]:
    """Add a single `--variant V` (`variant: str | None`)."""
    return click.option(
        "--variant",
        type=VARIANT,
        required=required,
        metavar="V",
        help="The variant's id. 'winnable variants' lists them.",
    )


def numbering_option(command: Command) -> Command:
    """Add `--numbering` (`numbering: str | None`)."""
    return click.option(
        "--numbering",
        type=click.Choice(NUMBERINGS),
        help="How a number becomes a deal: ours, PySolFC's or KPat's.  [default: native]",
    )(command)


def seeds_options(command: Command) -> Command:
    """Add `--seeds` (`seeds: tuple[range, ...]`) and `--seeds-from` (`seeds_from: Path | None`)."""
    command = click.option(
        "--seeds-from",
        type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
        metavar="FILE",
        help="A file of seeds, a number a line; '-' for standard input.",
    )(command)
    return click.option(
        "--seeds",
        type=SEEDS,
        multiple=True,
        metavar="A:B",
        help="Seeds A to B, both included, or one seed A; repeatable.",
    )(command)


def nodes_option(default: int = 1_000_000) -> Decorator[Command]:
    """Add `--nodes N` (`nodes: int | None`); `default` is only said in the help."""
    return click.option(
        "--nodes",
        type=COUNT,
        metavar="N",
        help=f"Node limit: positions to look at before a deal is left unsettled.  [default: {default}]",
    )


def workers_option(command: Command) -> Command:
    """Add `--workers N` (`workers: int | None`)."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1, max=4096),
        metavar="N",
        help="Worker processes.  [default: one a core]",
    )(command)


def shard_option(command: Command) -> Command:
    """Add `--shard i/n` (`shard: tuple[int, int] | None`)."""
    return click.option(
        "--shard",
        type=SHARD,
        metavar="i/n",
        help="Settle only the i-th of n equal contiguous ranges of the seeds (job arrays).",
    )(command)


def max_time_option(command: Command) -> Command:
    """Add `--max-time` in seconds (`max_time: float | None`)."""
    return click.option(
        "--max-time",
        type=DURATION,
        metavar="T",
        help="Stop cleanly between deals after this time, for example 90, 10m or 2h.",
    )(command)


def format_option(*formats: str, default: str = "table") -> Decorator[Command]:
    """Add `--format` (`output_format: str`) with the given choices, by default those of tabular data."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats or FORMATS),
        default=default,
        show_default=True,
        help="Form of the output.",
    )


def verbosity_options(command: Command) -> Command:
    """Add `-q` and `-v` as one number (`verbosity: int`, -1 quiet, 0 normal, 1 or more verbose)."""

    def set_level(ctx: click.Context, _param: click.Parameter, count: int) -> int:
        quiet = bool(ctx.params.pop("quiet", False))
        if quiet and count:
            raise click.UsageError("-q and -v exclude each other", ctx)
        return -1 if quiet else count

    command = click.option(
        "-v", "--verbose", "verbosity", count=True, callback=set_level, help="Say more; repeatable."
    )(command)
    return click.option("-q", "--quiet", is_flag=True, is_eager=True, help="Say only errors.")(command)


def message(text: str, verbosity: int = 0) -> None:
    """Write a message to stderr unless the user asked for quiet."""
    if verbosity >= 0:
        click.echo(text, err=True)


def data_directory(data: Path | None) -> Path:
    """Return `--data`, else `WINNABLE_DATA`, else `data`; for commands without a configuration file."""
    return data or Path(os.environ.get("WINNABLE_DATA") or "data")


def chosen_seeds(ranges: tuple[range, ...], file: Path | None) -> Seeds | None:
    """Join `--seeds` and `--seeds-from`; None if neither was given.

    Raises
    ------
    DataError
        The file holds something else than seeds.
    """
    from pipeline.batch.seeds import Seeds, read_seeds

    if not ranges and file is None:
        return None
    return Seeds.of([*ranges, *(read_seeds(file).ranges if file else ())])
