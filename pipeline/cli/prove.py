"""`prove` and `check`: certificates that boards are lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli import boards, options
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.game.boards import Board

PATIENCE = "still at it: the search, and the first time ever a minute of compiling"


@click.command()
@boards.board_options
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE", help="The certificate."
)
@options.nodes_option()
@click.option("--force", is_flag=True, help="Replace FILE, whatever it is.")
@options.verbosity_options
def prove(asked: boards.Asked, out: Path, nodes: int | None, force: bool, verbosity: int) -> None:
    r"""Write a certificate that a board is lost.

    The board is settled first; one that is won or unsettled at the node limit is reported as such, and nothing is
    written. The certificate lists every board that moves lead to, up to those from which no set can be completed any
    more; 'winnable check' checks it without the solver. pipeline/referee/README.md describes every byte of the file.
    A certificate of the same board is replaced; any other file needs --force.

    \b
    Examples:
      winnable prove spider-4/pysol/1748 --out 1748.xz
      winnable prove --variant simple-simon --seed 68 --out lost.xz
    """
    from pipeline.dataset.files import explained
    from pipeline.referee.certificate import write_certificate
    from pipeline.referee.prove import prove as certificate_of
    from pipeline.solver import DEFAULT_LIMIT, Solver, describe

    options.check_place("--out", out, replaced=True)
    board = asked.game().board
    if not force:
        options.keep_other(out, lambda file: _other(file, board))
    limit = options.setting("nodes", nodes, DEFAULT_LIMIT)
    with boards.solving([board.variant], verbosity, PATIENCE):
        outcome = Solver().solve(board, limit)
        certificate = certificate_of(board) if outcome.verdict == "lost" else None
    if outcome.verdict != "lost":
        within = f" within {limit:,} positions" if outcome.verdict == "unsettled" else ""
        click.echo(f"{describe(board)}: {outcome.verdict}{within}; nothing is written")
    elif certificate is None:
        click.echo(f"{describe(board)}: lost, but the certificate would be too large; nothing is written")
    else:
        with explained("write", out):
            write_certificate(out, certificate)
        size = f"{_counted(len(certificate.boards), len(certificate.witnesses))}, {out.stat().st_size:,} bytes"
        click.echo(f"{describe(board)}: lost, {size}")
        options.message(f"wrote {out}", verbosity)


def _other(out: Path, board: Board) -> str:
    """Return what a file is that is not a certificate of this board."""
    from pipeline.errors import SolverFault
    from pipeline.referee.certificate import read_certificate
    from pipeline.solver import describe

    try:
        there = read_certificate(out).board
    except SolverFault:
        return "file is not a certificate"
    return "" if there == board else f"certificate there is of {describe(there)}"


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.Existing())
@options.verbosity_options
def check(files: tuple[Path, ...], verbosity: int) -> None:
    r"""Check certificates that boards are lost.

    Nothing of the solver takes part. A certificate that does not prove its claim, is damaged, or is of another deal or
    other rules than it says ends the command with exit code 4 and the place of the fault.

    \b
    Example:
      winnable check lost/*.xz
    """
    from pipeline.cli.progress import counting
    from pipeline.errors import SolverFault
    from pipeline.referee.certificate import read_certificate
    from pipeline.referee.check import check_certificate
    from pipeline.solver import describe

    for file in files:
        certificate = read_certificate(file)
        total = len(certificate.boards) + len(certificate.witnesses)
        try:
            with counting(total, "board", verbosity) as advance:
                checked = check_certificate(certificate, advance)
        except SolverFault as error:
            raise SolverFault(f"{file}: {error}") from None
        where = f"{file}: {describe(certificate.board)}: " if verbosity > 0 or len(files) > 1 else ""
        click.echo(f"{where}lost: checked, {_counted(*checked)}")


def _counted(positions: int, witnesses: int) -> str:
    return f"{counted(positions, 'board')}, {witnesses:,} witness{'' if witnesses == 1 else 'es'}"
