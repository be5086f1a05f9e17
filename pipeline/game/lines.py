"""Lines of moves as compact text.

A line is one text without separators. The stock deal is ``-``. Any other move is the source column's letter, the
target column's letter (``a`` the first column, ``p`` the sixteenth) and, for more than one card, their number as one
character: ``2`` to ``9``, then ``A`` for 10, ``B`` for 11, ``C`` for 12, ``D`` for 13. So ``ch2-ab`` moves two cards
from column 3 to column 8, deals, and moves one card from column 1 to column 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.errors import LineError
from pipeline.game.moves import DEAL, Move

_LETTERS = "abcdefghijklmnop"
_COUNTS = "0123456789ABCD"
_MOVE = re.compile("-|[a-p][a-p][2-9A-D]?")

MOVES_BY_TEXT = {
    _LETTERS[source] + _LETTERS[target] + ("" if cards == 1 else _COUNTS[cards]): Move(source, target, cards)
    for source in range(16)
    for target in range(16)
    for cards in range(1, 14)
} | {"-": DEAL}

_TEXT_OF: dict[tuple[int, int, int], str] = {move: text for text, move in MOVES_BY_TEXT.items()}


def encode_line(moves: Iterable[tuple[int, int, int]]) -> str:
    """Return moves as the text of a line.

    Raises
    ------
    LineError
        Something among them is not a move.
    """
    try:
        return "".join([_TEXT_OF[move] for move in moves])
    except KeyError as error:
        raise LineError(f"{error.args[0]!r} is not a move") from None


def split_line(line: str) -> list[str]:
    """Return the texts of a line's moves, one each.

    Raises
    ------
    LineError
        Something in it is not a move; names the move's number and the text.
    """
    texts: list[str] = _MOVE.findall(line)
    if "".join(texts) != line:
        number, end = 1, 0
        while match := _MOVE.match(line, end):
            number, end = number + 1, match.end()
        raise LineError(f"move {number}: {line[end : end + 3]!r} is not a move (a-p, a-p and a count 2-9 A-D, or -)")
    return texts


def parse_line(text: str) -> list[Move]:
    """Return the moves of a line; blanks and line ends around it do no harm.

    Raises
    ------
    LineError
        Something in it is not a move; names the move's number and the text.
    """
    return [MOVES_BY_TEXT[move] for move in split_line(text.strip())]
