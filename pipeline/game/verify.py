"""The referee's fast path, for proving won lines by the hundred thousand.

Columns are `bytes`, so what moves is a slice, and whether it is a unit or a set is one look into a set of all of them.
It says only whether a line wins; `pipeline.game.rules` turns a no into words, and its tests hold the two together.
"""

from __future__ import annotations

from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE
from pipeline.game.moves import MOVES_BY_TEXT, split_line
from pipeline.game.sequences import Sequences, sequences


def _deal(policy: str, columns: list[bytes], stock: bytes) -> int:
    """Deal a row of the stock; returns how many cards, 0 if it may not deal."""
    targets = list(range(len(columns)))
    if policy == "blocked":
        if not all(columns):
            return 0
    elif policy == "non-empty":
        targets = [column for column in targets if columns[column]] or [0]
    row = stock[: len(targets)]
    for i in range(len(row)):
        columns[targets[i]] += row[i : i + 1]
    return len(row)


def _remove_sets(kind: Sequences, columns: list[bytes], down: list[int], column: int) -> int:
    """Remove the complete sets on top of a column and turn up what they leave; returns how many."""
    removed = 0
    while len(columns[column]) - down[column] >= SET_SIZE:
        cards = columns[column]
        if cards[-SET_SIZE:].translate(kind.fold) not in kind.whole:
            break
        columns[column] = cards[:-SET_SIZE]
        if down[column] and down[column] == len(columns[column]):
            down[column] -= 1
        removed += 1
    return removed


def winning_moves(board: Board, line: str) -> int | None:
    """Return how many moves a line has if it wins the board with its last move; None if it does anything else.

    Raises
    ------
    LineError
        The text is no line.
    """
    variant = board.variant
    wrap, needed, done = variant.wrap, variant.sets_needed, board.sets_done
    fold, units, _ = sequences(variant.unit, wrap)
    sets = sequences(variant.sets, wrap)
    columns, down, stock = list(map(bytes, board.columns)), list(board.face_down), bytes(board.stock)
    width = len(columns)
    texts = split_line(line)
    moves = map(MOVES_BY_TEXT.__getitem__, texts)
    for source, target, count in moves:
        if count:
            if source >= width or target >= width:
                return None
            cards, onto = columns[source], columns[target]
            left = len(cards) - count
            if left < down[source]:
                return None
            unit = cards[left:]
            if count > 1 and unit.translate(fold) not in units:
                return None
            # One rank lower, as the low four bits tell. No unit may lie on itself, so source and target differ.
            if onto and (onto[-1] - unit[0]) & 15 != 1 and not (wrap and onto[-1] & 15 == ACE and unit[0] & 15 == KING):
                return None
            columns[source] = cards[:left]
            if left == down[source] and left:
                down[source] = left - 1
            columns[target] = onto + unit
            if not wrap and unit[-1] & 15 != ACE:
                continue
            done += _remove_sets(sets, columns, down, target)
        else:
            dealt = _deal(variant.deal, columns, stock)
            if not dealt:
                return None
            stock = stock[dealt:]
            for column in range(width):
                done += _remove_sets(sets, columns, down, column)
        if done >= needed:
            return len(texts) if next(moves, None) is None else None
    return None
