"""Every win is proved here: a line is replayed once, by compiled rules that share no code with the engine.

`game.rules` has the same rules to be read, puts a fault into words, and replays a sample in every `verify`. Tests hold
the two together move by move.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from pipeline.errors import SolverFault
from pipeline.game import rules
from pipeline.game.boards import Board
from pipeline.game.codes import engine_number
from pipeline.game.deals import deal
from pipeline.game.lines import MOVES_BY_TEXT, split_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_NUMBERS = {text: engine_number(move) for text, move in MOVES_BY_TEXT.items()}


@cache
def _texts() -> npt.NDArray[np.bytes_]:
    """Return the texts of moves by the engine's number; that of the deal comes last."""
    import numpy as np

    texts = np.zeros(0x1000, "S3")
    for text, number in _NUMBERS.items():
        texts[min(number, 0xFFF)] = text
    return texts


def line_text(moves: npt.NDArray[np.uint16]) -> str:
    """Return the text of a line from the engine's numbers of its moves."""
    import numpy as np

    return _texts()[np.minimum(moves, 0xFFF)].tobytes().replace(b"\0", b"").decode("ascii")


def load() -> None:
    """Compile the referee, or load it from the cache, so that the first line replayed does not take that time."""
    import numpy as np

    from pipeline.referee.table import empty_table, packed, replay

    board = deal("spider-1", 0)
    replay(empty_table(board.variant), packed(board), np.empty(0, np.uint16))


def verify_line(board: Board, line: str | Sequence[int] | npt.NDArray[np.uint16]) -> rules.Win:
    """Return what a won line comes to.

    Parameters
    ----------
    board
        What the line is played on.
    line
        Its text, or the engine's numbers of its moves; an array of them is fastest.

    Raises
    ------
    LineError
        The line does not win the board with its last move; says where and why.
    SolverFault
        The compiled rules find a fault that `game.rules` does not.
    """
    import numpy as np

    from pipeline.referee.table import WON, empty_table, packed, replay

    numbers = [_NUMBERS[text] for text in split_line(line)] if isinstance(line, str) else line
    moves = np.asarray(numbers, np.uint16)
    verdict, _, deals, sets = replay(empty_table(board.variant), packed(board), moves)
    if verdict == WON:
        return rules.Win(len(moves), deals, rules.spider_score(len(moves), sets))
    rules.win_of(board, line if isinstance(line, str) else moves.tolist())
    raise SolverFault(f"{board.variant.id}: the referee and the rules differ on the line {line}")
