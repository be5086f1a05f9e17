"""The engine's kernels, one position at a time, and boards for them: what the tests of this room share."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.engine.beam import expand
from pipeline.engine.compiler import jit
from pipeline.engine.evaluation import mobility, ranks_of
from pipeline.engine.memory import MAX_MOVES, state_record, width_of
from pipeline.engine.moves import SPLIT_ANYWHERE, deal_row, full_key, list_moves, may_deal, note_columns, play
from pipeline.engine.records import DEAL, Rules, Start
from pipeline.engine.search import Search
from pipeline.engine.table import clear_table
from pipeline.engine.weights import Parameters
from pipeline.game.boards import Board
from pipeline.game.rules import Position
from pipeline.game.variants import Variant, load_variant
from pipeline.solver import folds

i8 = np.int64


@jit
def unfold(memory, split, filters, states, keys):
    """Play every listed move, then the deal if it is allowed, from the root; returns how many and whether dealt."""
    m = memory[0]
    m.split = split
    m.force, m.considerate, m.turns = filters & 1, filters >> 1 & 1, filters >> 2 & 1
    empty = list_moves(m, m.root)
    for j in range(m.n_moves):
        m.spare = m.root
        m.free_run = play(m, m.spare, i8(m.move[j]))
        states[j] = m.spare
        keys[j] = full_key(m, m.spare)
    n = m.n_moves
    dealt = may_deal(m, m.root, empty)
    if dealt:
        m.spare = m.root
        m.free_run = deal_row(m, m.spare)
        states[n] = m.spare
        keys[n] = full_key(m, m.spare)
        n += 1
    return n, dealt


@jit
def expand_root(memory, brood):
    """Let the beam expand the root in an empty table and keep so many children; returns how many it kept."""
    m = memory[0]
    clear_table(m)
    m.positions = m.expanded = m.n_children = m.births = m.current = 0
    m.limit = 1 << 40
    m.brood = brood
    m.n_entries[:] = 0
    m.values[0, 0] = 0
    expand(m, m.root, 0)
    return m.n_children


@jit
def across(memory):
    """The part of the root's value that looks across its columns."""
    m = memory[0]
    note_columns(m, m.root)
    return mobility(m, m.tops, ranks_of(m.tops), m.empty_columns)


class Child(NamedTuple):
    """A position that a move leads to, as the engine has it."""

    move: int
    listed_key: int | None  # that of the move list; a deal has none
    key: int
    state: Any
    columns: tuple[int, ...]  # top runs
    score: int
    sig: int
    dealt: int
    done: int


_MEMORY: dict[int, Any] = {}


class Table:
    """The engine's memory with one position in it, the root.

    All tables of a width share their memory: lay a position before using one again.
    """

    def __init__(self, rules: Rules, parameters: Parameters | str = "default") -> None:
        self.search = Search(rules, parameters)
        width = width_of(rules.columns)
        self.search._memory = _MEMORY.setdefault(width, type(self.search._memory)(width))
        self.memory = self.search._memory.array
        self.m = self.memory[0]
        self.rules = rules
        self.states = np.zeros(MAX_MOVES, state_record(width))
        self.keys = np.zeros(MAX_MOVES, np.uint64)

    def lay(self, start: Start) -> None:
        with np.errstate(over="ignore"):
            self.search._memory.owner = None
            self.search._set_up(start)
        self.columns = [()]  # cards of the column up to each run
        self.downs = [0]

    def children(self, split: int = SPLIT_ANYWHERE, filters: int = 0) -> list[Child]:
        with np.errstate(over="ignore"):
            n, dealt = unfold(self.memory, split, filters, self.states, self.keys)
        self._read_runs()
        listed = self.m.move[: n - dealt].tolist() + [DEAL] * dealt
        listed_keys = self.m.move_key[: n - dealt].tolist() + [None] * dealt
        states = self.states[:n].copy()
        fields = [states[name].tolist() for name in ("cols", "score", "sig", "dealt", "done")]
        return list(map(Child, listed, listed_keys, self.keys[:n].tolist(), states, *fields))

    def go(self, child: Child) -> None:
        """Make a child the root."""
        self.m.root = child.state
        self.m.root.key = child.key

    def _read_runs(self) -> None:
        runs = self.memory["runs"][0]
        known, end = len(self.columns), int(self.m.free_run)
        parts = [runs[name][known:end].tolist() for name in ("card", "len", "below", "down")]
        for card, length, below, down in zip(*parts, strict=True):
            cards = tuple(run_cards(card, length)) if length else (card,)
            self.columns.append(self.columns[below] + cards if below < len(self.columns) else cards)
            self.downs.append(down)

    def cards_of(self, columns: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Cards and face-down counts of columns given by their top runs."""
        width = self.rules.columns
        assert not any(columns[width:])
        return tuple(self.columns[run] for run in columns[:width]), tuple(self.downs[run] for run in columns[:width])


def run_cards(head: int, length: int) -> list[int]:
    """The cards of a run from its head down; an Ace is followed by a King."""
    return [head & 0x30 | ((head & 15) - 1 - i) % 13 + 1 for i in range(length)]


def start_of(board: Board | Position, *, fold: bool | None = None) -> Start:
    """The engine's start from a board, suits folded where they never matter."""
    mask = 15 if (folds(board.variant) if fold is None else fold) else 63
    columns = tuple(tuple(card & mask for card in column) for column in board.columns)
    stock = tuple(card & mask for card in board.stock)
    return Start(columns, tuple(board.face_down), stock, board.sets_done)


def same_position(start: Start) -> tuple[object, ...]:
    """What makes two positions the same: ordered columns while there is stock, their multiset after that."""
    columns = list(zip(start.columns, start.face_down, strict=True))
    return (tuple(columns if start.stock else sorted(columns)), len(start.stock))


# ---------------------------------------------------------------- boards of any rules


def any_variant(columns: int, deal: str, unit: str, sets: str, wrap: bool) -> Variant:
    return dataclasses.replace(
        load_variant("spider-4"),
        id="any",
        packs=1,
        columns=(1,) * columns,
        face_down=(0,) * columns,
        deal=deal,
        unit=unit,
        sets=sets,
        wrap=wrap,
        sets_needed=4,
    )


def orderly_board(variant: Variant, seed: int, disorder: int) -> Board | None:
    """A board of four sets, nearly in order, so that sets are completed soon; None if one lies there already."""
    rng = random.Random(seed)
    suits = rng.choice((1, 2, 4))
    width = len(variant.columns)
    cards = [suit % suits << 4 | rank for suit in range(4) for rank in range(13, 0, -1)]
    turn = rng.randrange(52) if variant.wrap else 0
    cards = cards[turn:] + cards[:turn]
    for _ in range(disorder):
        i, j = rng.randrange(52), rng.randrange(52)
        cards[i], cards[j] = cards[j], cards[i]
    stock = rng.choice((0, 0, rng.randrange(2 * width)))
    cards, rest = cards[stock:], cards[:stock]
    rng.shuffle(rest)
    cuts = sorted(rng.choices(range(len(cards) + 1), k=width - 1))
    columns = [tuple(cards[a:b]) for a, b in zip([0, *cuts], [*cuts, len(cards)], strict=True)]
    rng.shuffle(columns)
    downs = tuple(rng.randrange(len(c)) if len(c) > 1 and rng.random() < 0.5 else 0 for c in columns)
    board = Board(variant, None, None, tuple(columns), downs, tuple(rest), 0)
    return None if any(holds_set(board, column) for column in range(width)) else board


def holds_set(board: Board, column: int) -> bool:
    """Whether a complete set lies anywhere in a column: in a game it would have left."""
    position = Position(board)
    while len(position.columns[column]) > board.face_down[column]:
        if position.has_set(column):
            return True
        position.columns[column].pop()
    return False
