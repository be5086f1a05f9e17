"""The referee's fast path, for proving won lines by the hundred thousand.

It says only whether a line wins; `pipeline.game.rules` turns a no into words, and its tests hold the two together.

Each face-up *run* (cards of one suit, each one rank below the card it lies on) is an integer, ``length << 8 | its last
card``; a face-down card is itself; 0 is the table. A column is its top run, in a list of tops, and the stack of what
lies below. So a move of n cards takes ``n << 8 - n`` from one integer and adds it to another, and one subtraction tells
whether cards fit. No index is negative and no operand of ``&`` is: CPython is slower with those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.game.boards import Board
from pipeline.game.cards import KING, SET_SIZE
from pipeline.game.moves import MOVES_BY_TEXT, engine_number, split_line
from pipeline.game.variants import Variant

_UP = 1 << 8  # one face-up card; anything less is a face-down one, or the table
_SET = SET_SIZE << 8
_TABLE = 0
_NO_COLUMN = 0xF  # the top of columns that are not there: nothing fits and nothing leaves
_MOST_COLUMNS = 16

_Step = tuple[int, int, int, int, int]


def _step(source: int, target: int, cards: int) -> _Step:
    """Return source, target, ``n << 8``, what a move of n cards takes and gives, and what it adds to tell a fit.

    The deal is told as taking more cards than there can be from a column that is not there.
    """
    if not cards:
        return _MOST_COLUMNS, _MOST_COLUMNS, 0, 1 << 16, 0
    return source, target, cards << 8, (cards << 8) - cards, (1 << 16) - cards


_STEPS: dict[str | int, _Step] = {text: _step(*move) for text, move in MOVES_BY_TEXT.items()}
_STEPS |= {engine_number(move): _step(*move) for move in MOVES_BY_TEXT.values()}


def reaches(variant: Variant) -> bool:
    """Whether the fast path knows the variant's rules: a unit must lie in one run, and nothing may wrap."""
    return not variant.wrap and (variant.unit == "suit" or variant.unit == variant.sets == "any")


def winning_moves(board: Board, line: str | Sequence[int]) -> int | None:
    """Return how many moves a line has if it wins the board with its last move; None if it does anything else.

    Parameters
    ----------
    board
        A board of a variant that `reaches` approves of.
    line
        The text of a line, or the engine's numbers of its moves.

    Raises
    ------
    LineError
        The text is no line.
    """
    texts = split_line(line) if isinstance(line, str) else line
    try:
        steps = iter([_STEPS[text] for text in texts])
    except KeyError:
        return None
    table = _Table(board)
    tops, stacks, any_suit, up, full = table.tops, table.stacks, table.any_suit, _UP, _SET
    for source, target, least, change, offset in steps:
        run, onto = tops[source], tops[target]
        left = run - change
        if left >= up:
            tops[source] = left
            run = least | run & 255
        elif left >= 0:
            below = stacks[source].pop()
            tops[source] = below + up if 0 < below < up else below
        elif offset or not table.deal():
            return None
        elif table.needed > 0:
            continue
        else:
            break
        gap = onto - run + offset  # its last four bits are 0 if the ranks fit, its last eight if the suits do, too
        if not gap & 255:
            onto += change
            tops[target] = onto
            if onto < full and not any_suit:
                continue
        elif not gap & 15 or not onto:
            stacks[target].append(onto)
            tops[target] = run
            if not any_suit:
                continue
        else:
            return None
        table.remove_set(target)
        if table.needed <= 0:
            break
    return len(texts) if table.needed <= 0 and next(steps, None) is None else None


class _Table:
    """The columns and the stock, and what happens to them more rarely than a move."""

    def __init__(self, board: Board) -> None:
        variant = board.variant
        self.policy = variant.deal
        self.any_suit = variant.sets == "any"
        self.needed = variant.sets_needed - board.sets_done
        columns: Iterable[Sequence[int]] = board.columns
        self.stock = list(board.stock)
        if variant.unit == "any":  # the rules take all suits for one: cards become ranks
            columns = [[card & 15 for card in cards] for cards in columns]
            self.stock = [card & 15 for card in self.stock]
        self.width = len(board.columns)
        self.tops: list[int] = []
        self.stacks: list[list[int]] = []
        for cards, down in zip(columns, board.face_down, strict=True):
            stack = [_TABLE, *cards[:down]]
            top = stack.pop()
            for card in cards[down:]:
                if top & 255 == card + 1 and top >= _UP:
                    top += _UP - 1
                else:
                    stack.append(top)
                    top = _UP | card
            self.tops.append(top)
            self.stacks.append(stack)
        self.tops += [_NO_COLUMN] * (_MOST_COLUMNS + 1 - self.width)

    def deal(self) -> bool:
        """Deal a row of the stock and remove what that completes; False if it may not deal."""
        tops, width = self.tops, self.width
        targets = list(range(width))
        if self.policy == "blocked" and _TABLE in tops[:width]:
            return False
        if self.policy == "non-empty":
            targets = [column for column in targets if tops[column]] or [0]
        row = self.stock[: len(targets)]
        del self.stock[: len(targets)]
        aces = []
        for column, card in zip(targets, row, strict=False):
            top = tops[column]
            if top & 255 == card + 1:
                tops[column] = top + _UP - 1
            else:
                self.stacks[column].append(top)
                tops[column] = _UP | card
            if card & 15 == 1:
                aces.append(column)
        for column in aces:
            self.remove_set(column)
        return bool(row)

    def remove_set(self, column: int) -> None:
        """Remove a complete set from the top of a column, if there is one, and turn up what it leaves."""
        stack, top = self.stacks[column], self.tops[column]
        if self.any_suit:
            below = self._runs_of_set(column)
            if below < 0:
                return
            del stack[below + 1 :]
        elif top < _SET:
            return
        under = stack.pop()
        self.tops[column] = under + _UP if 0 < under < _UP else under
        self.needed -= 1

    def _runs_of_set(self, column: int) -> int:
        """Return where in a column's stack lies what is under the King-to-Ace sequence on top, -1 if there is none."""
        run, at, rank = self.tops[column], len(self.stacks[column]) - 1, 1
        while run >= _UP and run & 15 == rank:
            rank += run >> 8
            if rank > KING:
                return at
            run = self.stacks[column][at]
            at -= 1
        return -1
