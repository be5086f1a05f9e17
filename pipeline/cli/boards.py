"""What the commands about one board share: which board, its settings, and a word when it takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli import options

if TYPE_CHECKING:
    from pipeline.game.boards import Board
    from pipeline.game.variants import Variant

PATIENCE = 2.0  # seconds before a wait is explained
INPUT = click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)


def board_options(command: options.Command) -> options.Command:
    """Add `--variant`, `--numbering`, `--seed` and `--board`: a numbered deal, or a board from a file."""
    command = click.option(
        "--board",
        "board_file",
        type=INPUT,
        metavar="FILE",
        help="A board instead of a numbered deal: our text, our JSON or Solvitaire's; '-' for standard input.",
    )(command)
    command = click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        metavar="N",
        help="Number of the deal, 0 to 9223372036854775807.",
    )(command)
    command = options.numbering_option(command)
    return options.variant_option(required=False)(command)


def chosen_board(variant: str | None, numbering: str | None, seed: int | None, board_file: Path | None) -> Board:
    """Return the board that `board_options` name.

    Raises
    ------
    UsageError
        The flags name none, or two.
    DataError
        The file holds no board, or not one of the variant.
    """
    from pipeline.errors import UsageError

    rules = chosen_variant(variant)
    if board_file is not None:
        if seed is not None or numbering is not None:
            raise UsageError("--board says which board it is; leave out --seed and --numbering")
        return board_from(board_file, rules)
    if rules is None or seed is None:
        raise UsageError("which deal? give --variant V --seed N, or --board FILE")
    from pipeline.game.deals import deal

    return deal(rules, seed, options.setting("numbering", numbering, "native"))


def chosen_variant(word: str | None) -> Variant | None:
    """Return the variant of `--variant`, None without one."""
    return options.chosen_variants((word,))[0] if word else None


def board_from(path: Path, variant: Variant | None = None) -> Board:
    """Read a board from a file.

    Raises
    ------
    DataError
        It is no text, or no board.
    """
    from pipeline.errors import BoardError
    from pipeline.game.forms import read_board

    try:
        return read_board(read_text(path), variant=variant, name=name_of(path))
    except RecursionError:
        raise BoardError(f"{name_of(path)}: is no board: nested too deeply") from None


def name_of(path: Path) -> str:
    """Return what messages call a file."""
    return "<stdin>" if str(path) == "-" else str(path)


def read_text(path: Path) -> str:
    """Read a text file, or standard input for `-`.

    Raises
    ------
    DataError
        It is larger than a board or a line can be, or no UTF-8 text.
    """
    from pipeline.errors import DataError
    from pipeline.game.variants.table import FILE_BYTES

    with contextlib.nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
        raw = file.read(FILE_BYTES + 1)
    if len(raw) > FILE_BYTES:
        raise DataError(f"{name_of(path)}: larger than {FILE_BYTES:,} bytes; that is no board")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name_of(path)}: is no text: byte {error.start} is not UTF-8") from error


def stream_lines() -> Iterator[str]:
    """Yield the lines of standard input as they come; of one too long for a board, only as much as shows that."""
    from pipeline.game.variants.table import FILE_BYTES

    rest = False
    for piece in iter(lambda: sys.stdin.buffer.readline(FILE_BYTES + 1), b""):
        if not rest:
            yield piece.decode("utf-8", "replace")
        rest = not piece.endswith(b"\n")


@contextlib.contextmanager
def solving(variants: Iterable[Variant], verbosity: int, about: str) -> Iterator[None]:
    """Compile what these variants need, saying so if it is not cached; then say `about` if what follows takes long."""
    from pipeline.solver import warm

    warm(variants, lambda text: options.message(text, verbosity))
    timer = threading.Timer(PATIENCE, options.message, (about, verbosity))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
