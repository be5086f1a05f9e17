"""The search's memory: one structured record a board width, its parts laid out for speed.

Everything lives in a single block that functions take as a one-element array (or the record `m` in it): far faster
than passing arrays one by one. The large parts have the solver version's fixed capacity, so that a row never depends on
a machine; the operating system commits only the pages that a search touches.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from pipeline.engine.compiler import record
from pipeline.engine.weights import WEIGHT_NAMES

WIDTHS = (10, 16)  # numbers of columns that searches are compiled for
MAX_WIDTH = 16_384  # states a layer
LAND_FACTOR = 2  # a stage's pool is landed on so many times the width
POOL_FACTOR = 8  # a pool is cut when it holds so many times the width
MIN_POOL = 256
MAX_MOVES = 512  # of one position: 16 columns x (15 targets + 13 tails for one empty column) = 448
MAX_CHILDREN = 8 * MAX_WIDTH
MAX_NODES = 1 << 24  # survivors of a pass
MAX_RUNS = 1 << 23
COMPACT_FROM = 1 << 15  # runs: a megabyte
MAX_TABLE = 1 << 26
FIRST_TABLE = 1 << 12
MAX_STOCK = 256
MAX_MODES = 24
MAX_DOWN = 64
MAX_RUN = 32  # lengths of a run: two of twelve wrapped cards may meet before a set leaves


# A run: cards of one suit in sequence, lying on another run, on face-down cards or on the table. Everything about the
# column up to it sits here. Face-down cards (a stub) and the empty column are runs of length 0.
RUN = record(
    ("hash", "u8"),  # of the column up to this run
    ("closed", "i4"),  # score of the column without the terms of an open top run
    ("value", "i4"),  # score of the column when this run is on top
    ("below", "u4"),  # run it lies on
    ("ground", "u4"),  # stub: the column with its last card turned up; else the column below the chain's King
    ("card", "u1"),  # highest card
    ("top", "u1"),  # lowest card, the column's top
    ("len", "u1"),
    ("down", "u1"),  # face-down cards of the column
    ("chunks", "u1"),  # runs in the column
    ("ordered", "u1"),  # whether the column is one descending chain
    ("chain", "u1"),  # cards of the descending chain (any suits) that starts at a King; 0 if none
    ("unit", "u1"),  # cards that move together from the top
)


def state_record(columns: int) -> np.dtype[np.record]:
    """A position in the beam: 64 bytes for ten columns."""
    return record(
        ("key", "u8"),
        ("cols", "u4", columns),  # top run of each column
        ("score", "i4"),  # of columns and sets
        ("node", "u4"),
        ("sig", "u4"),  # hash of the face-down counts and sets done, for the diversity cap
        ("depth", "u2"),
        ("dealt", "u1"),
        ("done", "u1"),
    )


NODE = record(("parent", "u4"), ("move", "u2"))
CHILD = record(  # built when it is scored: becomes a state by taking over what the move changed
    ("order", "i8"),  # value << 32 | birth
    ("key", "u8"),
    ("signature", "u4"),  # what the diversity cap goes by
    ("slot", "u4"),  # parent
    ("source_run", "u4"),  # new top runs of the two columns of the move
    ("target_run", "u4"),
    ("score", "i4"),
    ("sig", "u4"),
    ("move", "u2"),
    ("done", "u1"),
    ("champion", "u1"),
)
WEIGHTS = record(*[(name, "i4") for name in WEIGHT_NAMES])


def width_of(columns: int) -> int:
    """Columns that the compiled search for so many has room for; those beyond stay empty and take no part."""
    return min(width for width in WIDTHS if width >= columns)


@functools.cache
def search_record(columns: int) -> np.dtype[np.record]:
    """The whole search for boards with room for so many columns."""
    state = state_record(columns)
    pool = (POOL_FACTOR + 1) * MAX_WIDTH
    entry = record(("order", "i8"), ("state", state), ("signature", "u4"), ("champion", "u1"))
    counters = [(name, "i8") for name in COUNTERS]
    return record(
        *counters,
        ("mask", "u8"),  # of the table
        ("tops", "u8"),  # bit set of the top cards of the state being expanded
        ("wants", "u8"),  # bit set of the cards that continue its top runs in suit
        ("touched", "u8"),  # keeps the early table reads alive
        ("seed", "u8"),  # of the pass's noise
        ("spare", state),
        ("root", state),
        # of the state being expanded
        ("col_key", "u8", columns),
        ("top_bit", "u8", columns),
        ("want_bit", "u8", columns),
        ("chunk_bit", "u8", columns),
        ("by_rank", "u8", 16),  # columns by the rank of their top card, as bits
        ("targets", "u8", columns),  # columns on which a column's top run fits, as bits
        ("move", "u2", MAX_MOVES),
        ("move_key", "u8", MAX_MOVES),
        ("stock", "u1", MAX_STOCK),
        ("want_of", "u8", 64),  # bit of the card that a card continues in suit
        ("run_score", "i4", MAX_RUN),  # of a run by its length
        ("w", WEIGHTS),
        ("modes", "i8", MAX_MODES),
        # of the beam
        ("values", "i4", (2, MAX_WIDTH)),
        ("states", state, (2, MAX_WIDTH)),
        ("children", CHILD, MAX_CHILDREN),
        ("orders", "i8", pool),
        ("kept", "i8", pool),  # which items a selection keeps
        ("alike", "u4", 1 << 19),  # hash map of the diversity cap, at least twice the pool
        ("n_entries", "i8", 2),
        ("entries", entry, (2, pool)),
        ("nodes", NODE, MAX_NODES),
        ("runs", RUN, MAX_RUNS),
        ("forward", "u4", MAX_RUNS),  # where compaction moves each run
        ("table", "u8", MAX_TABLE),
    )


COUNTERS = (
    "limit",  # positions allowed
    "positions",  # distinct positions reached, over all passes
    "expanded",  # positions whose moves were listed
    "births",  # of the pass: numbers the children
    "used",  # keys in the table
    "free_run",
    "compact_at",  # runs at which the arena is compacted
    "most_runs",  # largest arena of this search
    "first_run",  # runs of the root end here
    "n_nodes",
    "n_children",
    "n_moves",
    "empty_columns",  # of the state being expanded
    "no_way_on",  # whether no state of the stage could deal before this layer
    "tight",  # whether then it has too few runs to join any before the next row is dealt
    # rules
    "columns",
    "deal",
    "unit",
    "any_sets",
    "wrap",
    "sets_needed",
    "stock_size",
    "last_stage",
    # the pass
    "passes",
    "weighed",  # the last pass that asked for weights
    "full_width",  # grows from pass to pass
    "narrowing",  # divides it where every move is played
    "pass_width",
    "width",  # of the stage
    "last_width",  # per cent of the pass's width
    "first_width",
    "growth",  # per cent
    "layers",
    "last_layers",
    "n_modes",
    "brood",  # most children of a state that are kept
    "split",
    "force",  # whether only joins are played where there are any
    "considerate",  # unless that would take a place another run needs
    "turns",  # and moves that turn a card up or empty a column as well
    "cut",  # whether anything was cut in this pass
    "mode",
    "finished_modes",  # bits of the modes of which a pass ended without a cut: they can find nothing more
    "in_pass",
    "stage",
    "layer",
    "n_states",
    "current",
    "win_node",
    "win_move",
)


def make_memory(columns: int) -> npt.NDArray[np.record]:
    """Fresh memory for boards of so many columns (zeroed lazily by the operating system)."""
    return np.zeros(1, search_record(columns))
