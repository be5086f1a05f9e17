"""Stored lines against the referee. Imports neither pandas nor pyarrow: workers run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.errors import SolverFault, WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant


class StoredLine(NamedTuple):
    """A won row as `verify` replays it."""

    seed: int
    line: str
    moves: int
    deals: int
    score: int


READ_EVERY = 64  # the readable rules replay every 64th line as well


def check_lines(variant: Variant, numbering: str, rows: Sequence[StoredLine]) -> list[tuple[int, str]]:
    """Replay stored lines through the referee; return the seeds whose line does not hold, with the reason.

    The readable rules of `game.rules` replay the first line and every 64th after it as well; a difference is a fault.

    Parameters
    ----------
    variant, numbering
        The game and how a seed becomes a deal.
    rows
        The stored lines.
    """
    from pipeline.game.rules import win_of
    from pipeline.referee.replay import verify_line

    faults = []
    for number, row in enumerate(rows):
        try:
            board = deal(variant, row.seed, numbering)
            win = verify_line(board, row.line)
            if number % READ_EVERY == 0 and win_of(board, row.line) != win:
                raise SolverFault(f"{variant.id} {numbering} {row.seed}: the referee and the rules differ")
        except WinnableError as error:
            faults.append((row.seed, str(error)))
            continue
        if win != (row.moves, row.deals, row.score):
            stored = f"moves {row.moves}, deals {row.deals}, score {row.score}"
            faults.append((row.seed, f"its line has moves, deals, score {tuple(win)}, the row says {stored}"))
    return faults


# `check_lines`, here or in worker processes.
Replay = Callable[[Variant, str, Sequence[StoredLine]], list[tuple[int, str]]]
