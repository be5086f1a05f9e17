"""Option stacks that commands share: each flag is spelled, checked and explained once.

An option that was not given is None (or an empty tuple): settings merge flags over `WINNABLE_*` over the
configuration file over defaults, and must know what the user said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pipeline.dataset.seeds import parse_seeds
from pipeline.errors import StoreError, UsageError
from pipeline.game.spelling import closest
from pipeline.runs.values import read_count, read_duration, read_shard

if TYPE_CHECKING:
    from pipeline.dataset.seeds import Seeds
    from pipeline.game.variants import Variant

    ParamType = click.ParamType[Any]
else:  # generic only since Click 8.2
    ParamType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])

NUMBERINGS = ("native", "pysol", "ms", "kpat")
FORMATS = ("table", "markdown", "csv", "json")
ENDINGS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".html": "html",
    ".md": "markdown",
    ".parquet": "parquet",
    ".xlsx": "Excel",
}


class Kind(ParamType):
    """A kind of value that a setting has too, read by the same function."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a text; a value of the right type already passes."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        except ValueError as error:
            self.fail(f"{value!r}: expected {error}", param, ctx)


class Existing(click.Path):
    """An existing file or directory; the error for a missing one suggests the nearest name beside it."""

    def __init__(self, *, directory: bool = False, dash: bool = False) -> None:
        super().__init__(exists=True, file_okay=not directory, dir_okay=directory, allow_dash=dash, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(error.message.rstrip(".") + nearest(Path(value)), param, ctx)


def nearest(path: Path) -> str:
    """Return ``"; did you mean 'deals.txt'?"`` of a path that does not exist, or nothing."""
    try:
        names = [] if path.exists() else sorted(other.name for other in path.parent.iterdir())
    except (OSError, ValueError):
        return ""
    return closest(path.name, names, "" if path.parent == Path() else f"{path.parent}/")


class VariantId(ParamType):
    """The id of a variant that exists, or a file of the user's own, whose path passes unread."""

    name = "variant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the id and suggest the nearest ones."""
        from pipeline.game.variants import variant_ids
        from pipeline.runs.settings import is_file_name

        known = variant_ids()
        if value not in known and not is_file_name(value):
            hint = closest(str(value), known) or f"; they are: {', '.join(known)}"
            self.fail(f"no variant {value!r}{hint}", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the ids, and the files of the user's own."""
        from pipeline.game.variants import variant_ids

        return [*beginning(incomplete, variant_ids()), CompletionItem(incomplete, type="file")]


class ColumnList(ParamType):
    """Names of the dataset's columns with commas between; read where they are used."""

    name = "columns"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the last name."""
        from pipeline.dataset.schema import COLUMNS

        head, comma, _ = incomplete.rpartition(",")
        given = head.split(",")
        known = ("variant", "numbering", *COLUMNS)
        return beginning(incomplete, [f"{head}{comma}{name}" for name in known if name not in given])


def beginning(incomplete: str, words: Iterable[str]) -> list[CompletionItem]:
    """Return the words that go on what was typed."""
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


SEEDS = Kind("A:B", parse_seeds)
DURATION = Kind("duration", read_duration)
SHARD = Kind("i/n", read_shard)
COUNT = Kind("n", read_count)
VARIANT = VariantId()
COLUMNS = ColumnList()

# The options; the comment names the parameter that a command gets.

# `--data DIR` (`data: Path | None`).
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The dataset's directory; it holds outcomes/ and runs/.  [default: data]",
)

# A repeatable `--variant V` (`variants: tuple[str, ...]`).
variants_option = click.option(
    "--variant",
    "variants",
    type=VARIANT,
    multiple=True,
    metavar="V",
    help="A variant's id, or a file of your own (x.toml); repeatable. 'winnable variants' lists the ids.",
)


def variant_option(*, required: bool = True) -> Callable[[Command], Command]:
    """Add a single `--variant V` (`variant: str | None`)."""
    return click.option(
        "--variant",
        type=VARIANT,
        required=required,
        metavar="V",
        help="The variant's id, or a file of your own (x.toml). 'winnable variants' lists the ids.",
    )


# `--numbering` (`numbering: str | None`).
numbering_option = click.option(
    "--numbering",
    type=click.Choice(NUMBERINGS),
    help="How a number becomes a deal: ours, PySolFC's, Microsoft's by PySolFC, KPat's.  [default: native]",
)

# `--numbering` (`numbering: str | None`) where it chooses among outcomes that are there.
numbering_filter = click.option(
    "--numbering", type=click.Choice(NUMBERINGS), help="Only deals of this numbering.  [default: all]"
)


def seeds_options(command: Command) -> Command:
    """Add `--seeds` (`seeds: tuple[range, ...]`) and `--seeds-from` (`seeds_from: Path | None`)."""
    command = click.option(
        "--seeds-from",
        type=Existing(dash=True),
        metavar="FILE",
        help="A file of seeds, one number per line; '-' for standard input.",
    )(command)
    return click.option(
        "--seeds",
        type=SEEDS,
        multiple=True,
        metavar="A:B",
        help="Seeds A to B, both included, or one seed A; repeatable.",
    )(command)


def nodes_option(default: int = 1_000_000) -> Callable[[Command], Command]:
    """Add `--nodes N` (`nodes: int | None`); `default` is only said in the help."""
    return click.option(
        "--nodes",
        type=COUNT,
        metavar="N",
        help=f"Node limit: positions to look at before a deal is left unsettled.  [default: {default}]",
    )


# `--workers N` (`workers: int | None`).
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1, max=4096),
    metavar="N",
    help="Worker processes.  [default: one per core]",
)

# `--shard i/n` (`shard: tuple[int, int] | None`).
shard_option = click.option(
    "--shard",
    type=SHARD,
    metavar="i/n",
    help="Settle only the i-th of n equal contiguous ranges of the seeds (job arrays).",
)

# `--max-time` in seconds (`max_time: float | None`).
max_time_option = click.option(
    "--max-time",
    type=DURATION,
    metavar="T",
    help="Stop cleanly between deals after this time, for example 90, 10m or 2h.",
)


def format_option(*formats: str, default: str = "table") -> Callable[[Command], Command]:
    """Add `--format` (`output_format: str`) with the given choices, by default those of tabular data."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats or FORMATS),
        default=default,
        show_default=True,
        help="Form of the output.",
    )


def file_format_option(*formats: str, default: str) -> Callable[[Command], Command]:
    """Add `--format` (`output_format: str | None`) beside an `--out`, whose ending may say it too: see `form_of`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats),
        help=f"Form of the output.  [default: what the ending of --out says, else {default}]",
    )


def form_of(given: str | None, out: Path | None, formats: tuple[str, ...]) -> str:
    """Return `--format`, else what the ending of `--out` says, else the first of the command's formats.

    Raises
    ------
    UsageError
        The ending contradicts `--format`, or names a form that the command does not write.
    """
    said = ENDINGS.get(out.suffix.lower()) if out else None
    if said is None:
        return given or formats[0]
    if said not in formats:
        raise UsageError(f"--out {out}: {said} is not written here; the forms are: {', '.join(formats)}")
    if given is not None and given.removesuffix("l") != said.removesuffix("l"):  # JSON and JSON lines pass as one
        raise UsageError(f"--out {out}: the ending says {said}, but --format says {given}")
    return given or said


def verbosity_options(command: Command) -> Command:
    """Add `-q` and `-v` as one number (`verbosity: int`, -1 quiet, 0 normal, 1 or more verbose)."""

    def set_level(ctx: click.Context, _param: click.Parameter, count: int) -> int:
        quiet = bool(ctx.params.pop("quiet", False))
        if quiet and count:
            raise click.UsageError("-q and -v exclude each other", ctx)
        if not quiet and not ctx.resilient_parsing:
            _warn_of_variables()
        return -1 if quiet else count

    command = click.option(
        "-v", "--verbose", "verbosity", count=True, callback=set_level, help="Say more; repeatable."
    )(command)
    return click.option("-q", "--quiet", is_flag=True, is_eager=True, help="Say only errors.")(command)


def _warn_of_variables() -> None:
    """Name the environment variables that look like misspelled ones of ours."""
    if any(name.startswith("WINNABLE_") and name != "WINNABLE_CACHE" for name in os.environ):
        from pipeline.runs.settings import misspelled_variables

        for name, known in misspelled_variables(os.environ):
            message(f"warning: {name} is not a variable of winnable and does nothing; did you mean {known}?")


def message(text: str, verbosity: int = 0) -> None:
    """Write a message to stderr unless the user asked for quiet."""
    if verbosity >= 0:
        click.echo(text, err=True)


def data_directory(data: Path | None) -> Path:
    """Return `--data`, else `WINNABLE_DATA`, else `data`; for commands without a configuration file."""
    return data or Path(os.environ.get("WINNABLE_DATA") or "data")


def setting(key: str, flag: Any, default: Any) -> Any:
    """Return a flag, else its `WINNABLE_*` variable, else the default; for commands without a configuration file.

    Raises
    ------
    ConfigError
        The variable's value is not allowed.
    """
    from pipeline.runs.configuration import ConfigFile, Layers

    if flag is not None:
        return flag
    variable = f"WINNABLE_{key.upper()}"
    layers = Layers(ConfigFile({}, "", Path()), {variable: os.environ.get(variable, "")}, {})
    return layers.environment.get(key, default)


def worker_count(workers: int | None) -> int:
    """Return `--workers`, else `WINNABLE_WORKERS`, else one per core; for commands without a configuration file.

    Raises
    ------
    ConfigError
        The variable's value is not allowed.
    """
    from pipeline.runs.settings import usable_cores

    stated: int | None = setting("workers", workers, None)
    return stated or usable_cores()


def check_place(flag: str, file: Path | None, *, replaced: bool = False) -> None:
    """Refuse a file to be written where there is no directory for it, before the work is done.

    One that will be `replaced`, not written to, must be a regular file if it is there.

    Raises
    ------
    UsageError
        Names the file, and the flag and the directory.
    """
    if file is not None and not file.parent.is_dir():
        raise UsageError(f"{flag} {file}: there is no directory {file.parent}")
    if file is not None and replaced:
        from pipeline.dataset.files import target_of

        try:
            target_of(file)
        except StoreError as error:
            raise UsageError(f"{flag} {error}") from error


def keep_other(out: Path, what: Callable[[Path], str]) -> None:
    """Refuse to replace a file that is not what the command would write.

    Parameters
    ----------
    what
        Returns what the file is that must not be replaced, or nothing if it may be.

    Raises
    ------
    UsageError
        Names the file and what it is.
    """
    if out.exists() and (other := what(out)):
        raise UsageError(f"--out {out}: the {other}; give another name, or --force to replace it")


def chosen_seeds(ranges: tuple[range, ...], file: Path | None) -> Seeds | None:
    """Join `--seeds` and `--seeds-from`; None if neither was given.

    Raises
    ------
    DataError
        The file holds something else than seeds.
    """
    from pipeline.dataset.seeds import Seeds, read_seeds

    if not ranges and file is None:
        return None
    return Seeds.of([*ranges, *(read_seeds(file).ranges if file else ())])


def chosen_variants(words: tuple[str, ...]) -> list[Variant]:
    """Load the variants of `--variant`.

    Raises
    ------
    VariantError
        A file of the user's own is wrong.
    """
    from pipeline.game.variants import load_variant, read_variant
    from pipeline.runs.settings import is_file_name

    return [read_variant(word) if is_file_name(word) else load_variant(word) for word in dict.fromkeys(words)]
