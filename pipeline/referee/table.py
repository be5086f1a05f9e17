"""The rules of `game.rules` once more, compiled: a board as one record, changed in place as moves are played."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE, is_red
from pipeline.game.codes import ENGINE_DEAL
from pipeline.game.variants import Variant
from pipeline.referee.compiled import jit, record

Bytes = npt.NDArray[np.uint8]

MOST_COLUMNS, MOST_CARDS = 16, 208
LAYS, UNIT, SET = 1, 2, 4  # bits of `links[below, card]`
BLOCKED, ALL, NON_EMPTY = 0, 1, 2
WON, NOT_WON, ILLEGAL, WON_ALREADY = 0, 1, 2, 3

TABLE = record(
    # the rules; `links` tells what a card may be on the one below it
    ("columns", "i8"),
    ("policy", "i8"),
    ("needed", "i8"),
    ("links", "u1", (64, 64)),
    ("suits", "i8"),  # mask: 3 if sets are of one suit, else 0
    ("wrap", "i8"),
    # the board; cards bottom to top, `downs` of them face down; the stock in deal order, `dealt` cards of it gone
    ("heights", "i8", MOST_COLUMNS),
    ("downs", "i8", MOST_COLUMNS),
    ("cards", "u1", (MOST_COLUMNS, MOST_CARDS)),
    ("stock", "u1", MOST_CARDS),
    ("stock_size", "i8"),
    ("dealt", "i8"),
    ("sets", "i8"),
    ("gone", "i8", 4),  # sets since the table was laid out, by suit; all as the first if suits do not matter
)
Table = npt.NDArray[np.void]  # of one TABLE


@lru_cache(maxsize=256)
def _rules(columns: int, deal: str, unit: str, sets: str, wrap: bool, needed: int) -> Table:
    table = np.zeros(1, TABLE)
    t = table[0]
    t.columns, t.needed, t.suits, t.wrap = columns, needed, 3 if sets == "suit" else 0, int(wrap)
    t.policy = {"blocked": BLOCKED, "all": ALL, "non-empty": NON_EMPTY}[deal]
    same = {"suit": lambda a, b: a >> 4 == b >> 4, "any": lambda a, b: True}
    same["colour"] = lambda a, b: is_red(a) == is_red(b)
    for below in range(64):
        for card in range(64):
            if below & 15 == (card & 15) + 1 or (wrap and (below & 15, card & 15) == (ACE, KING)):
                t.links[below, card] = LAYS + UNIT * same[unit](below, card) + SET * same[sets](below, card)
    return table


def empty_table(variant: Variant) -> Table:
    """Return a table without cards, with the rules of a variant."""
    v = variant
    rules = _rules(len(v.columns), v.deal, v.unit, v.sets, v.wrap, v.sets_needed)
    return rules.view(np.uint8).copy().view(TABLE)  # numpy copies bytes four times as fast as a record's fields


def packed(board: Board) -> Bytes:
    """Return a board as bytes for `lay_out`: sets done, heights, face-down counts, cards of the columns, stock."""
    counts = bytes([board.sets_done, *map(len, board.columns), *board.face_down])
    return np.frombuffer(bytearray(b"".join([counts, *map(bytes, board.columns), bytes(board.stock)])), np.uint8)


@jit
def lay_out(t, board):
    """Lay a packed board out."""
    t.sets = board[0]
    t.gone[:] = 0
    t.dealt = 0
    at = 1 + 2 * t.columns
    for column in range(t.columns):
        t.heights[column] = board[1 + column]
        t.downs[column] = board[1 + t.columns + column]
        for i in range(t.heights[column]):
            t.cards[column, i] = board[at]
            at += 1
    t.stock_size = len(board) - at
    for i in range(t.stock_size):
        t.stock[i] = board[at + i]


@jit
def settle(t, column):
    """Remove complete sets from a column and turn up its top card, until neither is left to do."""
    while t.heights[column] > 0:
        height = t.heights[column]
        if t.downs[column] == height:
            t.downs[column] -= 1
            continue
        if height - t.downs[column] < SET_SIZE:
            return
        for i in range(height - 1, height - SET_SIZE, -1):
            if t.links[t.cards[column, i - 1], t.cards[column, i]] & SET == 0:
                return
        t.gone[t.cards[column, height - 1] >> 4 & t.suits] += 1
        t.heights[column] -= SET_SIZE
        t.sets += 1


@jit
def unit_length(t, column):
    """Return how many cards on top of a column move together; any fewer of them do, too."""
    first = t.heights[column] - 1
    while first > t.downs[column] and t.links[t.cards[column, first - 1], t.cards[column, first]] & UNIT != 0:
        first -= 1
    return t.heights[column] - first if t.heights[column] > 0 else 0


@jit
def deal_row(t):
    """Deal a row; return whether that is legal."""
    occupied = 0
    for column in range(t.columns):
        occupied += t.heights[column] > 0
    if t.dealt == t.stock_size or (t.policy == BLOCKED and occupied < t.columns):
        return False
    for column in range(t.columns):
        passed_by = t.policy == NON_EMPTY and t.heights[column] == 0 and (occupied > 0 or column > 0)
        if not passed_by and t.dealt < t.stock_size:
            t.cards[column, t.heights[column]] = t.stock[t.dealt]
            t.heights[column] += 1
            t.dealt += 1
    for column in range(t.columns):
        settle(t, column)
    return True


@jit
def may_move(t, source, target, count):
    """Whether cards on top of a column may go to another one, if they move together."""
    if source == target:
        return False
    height = t.heights[target]
    return height == 0 or t.links[t.cards[target, height - 1], t.cards[source, t.heights[source] - count]] & LAYS != 0


@jit
def move_cards(t, source, target, count):
    """Move cards from one column to another, legally."""
    start, height = t.heights[source] - count, t.heights[target]
    for i in range(count):
        t.cards[target, height + i] = t.cards[source, start + i]
    t.heights[target] += count
    t.heights[source] = start
    settle(t, source)
    settle(t, target)


@jit
def play(t, move):
    """Play a move, given as the engine's number; return whether it is legal."""
    if move == ENGINE_DEAL:
        return deal_row(t)
    source, target, count = move & 15, move >> 4 & 15, move >> 8
    if source >= t.columns or target >= t.columns or not 1 <= count <= unit_length(t, source):
        return False
    if not may_move(t, source, target, count):
        return False
    move_cards(t, source, target, count)
    return True


@jit
def replay(table, board, moves):
    """Play a line from a packed board; return how it ends, the moves played, the deals among them, the sets done."""
    t = table[0]
    lay_out(t, board)
    deals = 0
    for number in range(len(moves)):
        if t.sets >= t.needed:
            return WON_ALREADY, number, deals, t.sets
        move = np.int64(moves[number])
        if not play(t, move):
            return ILLEGAL, number, deals, t.sets
        deals += move == ENGINE_DEAL
    return WON if t.sets >= t.needed else NOT_WON, len(moves), deals, t.sets
