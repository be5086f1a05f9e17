"""What the commands about one board share: which board, its settings, and a word when it takes long."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click
from click.shell_completion import CompletionItem

from pipeline.cli import options
from pipeline.cli.options import ParamType
from pipeline.errors import UsageError
from pipeline.game.spelling import closest

if TYPE_CHECKING:
    from pipeline.game.boards import Board
    from pipeline.game.forms import Game
    from pipeline.game.variants import Variant

PATIENCE = 2.0  # seconds before a wait is explained
INPUT = options.Existing(dash=True)


class Source(ParamType):
    """A deal's name, such as spider-4/pysol/14934, or a file that exists; `-` is standard input."""

    name = "deal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as it is, or the file's path."""
        from pipeline.game.deals import is_deal_name

        if isinstance(value, str) and is_deal_name(value) and not Path(value).exists():
            return value
        try:
            return INPUT.convert(value, param, ctx)
        except click.UsageError as error:
            if Path(str(value)).exists():
                raise
            raise UsageError(_no_deal(str(value))) from error

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete files and, up to the number, deals' names."""
        from pipeline.game.variants import load_variant, variant_ids

        names = (f"{name}/{numbering}/" for name in variant_ids() for numbering in load_variant(name).numberings)
        return [*options.beginning(incomplete, names), CompletionItem(incomplete, type="file")]


def _no_deal(text: str) -> str:
    """Return what is wrong with a text that is neither a deal's name nor a file."""
    from pipeline.game.variants import variant_ids

    game, *rest = text.split("/")
    if len(rest) == 2 and not Path(text).parent.is_dir():
        hint = closest(rest[0], options.NUMBERINGS) or f"; they are: {', '.join(options.NUMBERINGS)}"
        return f"deal {text!r:.60}: no numbering {rest[0]!r:.20}{hint}"
    if game in variant_ids():
        return f"deal {text!r:.60}: expected a variant, a numbering and a number, such as {game}/native/7"
    near = options.nearest(Path(text))
    return f"{text!r:.60} is not a deal, and no file{near or '; expected one, or a name such as spider-4/pysol/14934'}"


class Asked(NamedTuple):
    """Which board a command was asked about: what `board_options` gave."""

    source: str | Path | None
    variant: str | None
    numbering: str | None
    seed: str | None
    board_file: Path | None

    def rules(self) -> Variant | None:
        """Return the variant of `--variant`, None without one."""
        return options.chosen_variants((self.variant,))[0] if self.variant else None

    def game(self, *, unseen: bool = False) -> Game:
        """Return the board, and the line that came with it.

        Raises
        ------
        UsageError
            The flags name none, or two.
        DataError
            The file holds no board, or not one of the variant.
        """
        places = [self.source, self.board_file, self.seed]
        if sum(place is not None for place in places) > 1 or (self.seed is None and self.numbering is not None):
            raise UsageError("give one of DEAL, --board FILE and --seed N (to which alone --numbering belongs)")
        place = self.source if self.board_file is None else self.board_file
        if isinstance(place, Path):
            from pipeline.game.forms import read_game

            return read_game(read_text(place), variant=self.rules(), name=name_of(place), unseen=unseen)
        if place is not None:
            from pipeline.game.deals import named_deal
            from pipeline.game.forms import Game

            if self.variant is not None:
                raise UsageError(f"{place} says which variant it is of; leave out --variant")
            return Game(named_deal(place), None)
        return self._numbered()

    def _numbered(self) -> Game:
        from pipeline.game.deals import deal, read_number
        from pipeline.game.forms import Game

        rules = self.rules()
        if rules is None or self.seed is None:
            missing = "--variant V" if self.seed is not None else "--seed N" if rules else "--variant V --seed N"
            raise UsageError(f"which deal? give {missing}, a name such as spider-4/pysol/14934, or --board FILE")
        try:
            numbering, seed = read_number(self.seed, options.setting("numbering", self.numbering, None))
            return Game(deal(rules, seed, numbering), None)
        except UsageError as error:
            raise UsageError(f"--{error}" if str(error).startswith("seed") else str(error)) from None


def board_options(command: options.Command) -> options.Command:
    """Add `asked: Asked`, from DEAL, `--variant`, `--numbering`, `--seed` and `--board`."""

    @functools.wraps(command)
    def with_asked(*args: Any, **given: Any) -> Any:
        return command(*args, asked=Asked(*(given.pop(name) for name in Asked._fields)), **given)

    wrapped = click.option(
        "--board",
        "board_file",
        type=INPUT,
        metavar="FILE",
        help="A board instead of a numbered deal: our text, our JSON or Solvitaire's; '-' for standard input.",
    )(with_asked)
    wrapped = click.option(
        "--seed", metavar="N", help="Number of the deal, as its program writes it: 14934, #14934, ms14934."
    )(wrapped)
    wrapped = options.numbering_option(wrapped)
    wrapped = options.variant_option(required=False)(wrapped)
    add_source = click.argument("source", required=False, type=Source(), metavar="[DEAL]")
    return add_source(wrapped)  # type: ignore[return-value]


def about_stock(board: Board) -> str:
    """Return a line about a stock that can never be dealt, or nothing."""
    from pipeline.game.boards import never_deals

    if not never_deals(board):
        return ""
    laid = sum(map(len, board.columns))
    width = len(board.columns)
    return f"the stock can never be dealt: {laid} cards lie on the table, a deal needs one in each of {width} columns\n"


def shorten_option(command: options.Command) -> options.Command:
    """Add `--shorten` (`shorten: bool`)."""
    return click.option(
        "--shorten", is_flag=True, help="Leave needless moves out of the line: never longer, replayed, a cleaner win."
    )(command)


def name_of(path: Path) -> str:
    """Return what messages call a file."""
    return "<stdin>" if str(path) == "-" else str(path)


def opened(path: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file to be read, or standard input for `-`, which stays open."""
    return contextlib.nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")


def read_text(path: Path) -> str:
    """Read a text file, or standard input for `-`.

    Raises
    ------
    DataError
        It is larger than a board or a line can be, or no UTF-8 text.
    """
    from pipeline.errors import DataError
    from pipeline.game.variants.table import FILE_BYTES

    with opened(path) as file:
        raw = file.read(FILE_BYTES + 1)
    if len(raw) > FILE_BYTES:
        raise DataError(f"{name_of(path)}: larger than {FILE_BYTES:,} bytes; not a board")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name_of(path)}: not text: byte {error.start} is not UTF-8") from error


def stream_lines(file: BinaryIO | None = None) -> Iterator[str]:
    """Yield the lines of a file, by default standard input, as they come; of one too long the beginning."""
    from pipeline.game.variants.table import FILE_BYTES

    rest, stream = False, file or sys.stdin.buffer
    for piece in iter(lambda: stream.readline(FILE_BYTES + 1), b""):
        if not rest:
            yield piece.decode("utf-8", "replace")
        rest = not piece.endswith(b"\n")


def prepare(verbosity: int, variant: Variant) -> None:
    """Compile what a variant needs, saying so if it is not cached."""
    from pipeline.solver import warm

    warm([variant], lambda text: options.message(text, verbosity))


@contextlib.contextmanager
def solving(variants: Iterable[Variant], verbosity: int, about: str) -> Iterator[None]:
    """Compile what these variants need, saying so if it is not cached; then say `about` if what follows takes long."""
    for variant in variants:
        prepare(verbosity, variant)
    timer = threading.Timer(PATIENCE, options.message, (about, verbosity))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
