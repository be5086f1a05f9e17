"""Tables of rows, and which of two rows about one deal stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.schema import SCHEMA
from pipeline.errors import StoreError

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def supersedes(new: str, old: str) -> bool:
    """Decide whether what solver `new` left unsettled stands in the place of what `old` did, at the same limit."""
    return new != old and _version(new) >= _version(old)


def table_of(columns: Mapping[str, Sequence[Any] | str]) -> pa.Table:
    """Return columns as a table in the dataset's schema.

    Parameters
    ----------
    columns
        Values by name of column, as many of each; a text stands for a column that is the same in every row.
    """
    rows = len(columns["seed"])
    arrays = []
    for field in SCHEMA:
        values = columns[field.name]
        words = pa.types.is_dictionary(field.type)
        kind = pa.string() if words else field.type
        array = pa.repeat(pa.scalar(values, kind), rows) if isinstance(values, str) else pa.array(values, kind)
        arrays.append(array.dictionary_encode().cast(field.type) if words else array)
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def seeds_of(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return a table's seeds as int64."""
    seeds: npt.NDArray[np.int64] = table["seed"].to_numpy()
    return seeds


def join_tables(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of all tables, sorted by seed."""
    joined = pa.concat_tables([SCHEMA.empty_table(), *tables]).unify_dictionaries()
    seeds = seeds_of(joined)
    if not np.all(seeds[1:] > seeds[:-1]):
        joined = joined.take(np.argsort(seeds, kind="stable"))
    return joined.combine_chunks()


def merge_tables(old: pa.Table, new: pa.Table) -> pa.Table:
    """Return the rows of two tables, each without repeated seeds; where both have a seed, the one that stands.

    `old` itself comes back where nothing of `new` stands beside or against it.

    Raises
    ------
    StoreError
        Two rows contradict each other.
    """
    in_old, in_new, taken = contest(old, new)
    if len(in_new) == len(new) and not taken.any():
        return old
    return join_tables([_without(old, in_old[taken]), _without(new, in_new[~taken])])


def contest(old: pa.Table, new: pa.Table) -> tuple[Places, Places, Flags]:
    """Find the deals that two tables share, and decide which of their rows stand.

    Nothing proved gives way to something weaker: a proof stands against anything unsettled, and against a proof of
    the same that took more positions (or, with as many positions, more moves). Of two unsettled rows the one with
    the larger limit stands, and at equal limits the one of the later solver.

    Parameters
    ----------
    old, new
        Rows in the dataset's schema, each sorted by seed, without repeats.

    Returns
    -------
    in_old, in_new : ndarray of int64, shape (shared,)
        Where the shared deals are.
    taken : ndarray of bool, shape (shared,)
        Whether the new row replaces the old one.

    Raises
    ------
    StoreError
        One row says won and the other lost: one of two solvers is wrong, and no row can stand.
    """
    shared, in_old, in_new = np.intersect1d(seeds_of(old), seeds_of(new), assume_unique=True, return_indices=True)
    pair = old.take(in_old), new.take(in_new)
    old_verdicts, new_verdicts = (np.array(words_of(table, "verdict"), object) for table in pair)
    old_open, new_open = old_verdicts == "unsettled", new_verdicts == "unsettled"
    contradictions = np.flatnonzero(~old_open & ~new_open & (old_verdicts != new_verdicts))
    solvers = tuple(words_of(table, "solver") for table in pair)
    if len(contradictions):
        place = contradictions[0]
        raise StoreError(
            f"seed {shared[place]}: {new_verdicts[place]} by solver {solvers[1][place]} but {old_verdicts[place]} by "
            f"solver {solvers[0][place]}; one of them is wrong: run 'winnable verify' on both datasets"
        )
    old_limits, new_limits = _numbers(pair, "node_limit")
    later_pairs = {(a, b): supersedes(b, a) for a, b in {*zip(*solvers, strict=True)}}
    later = np.array([later_pairs[both] for both in zip(*solvers, strict=True)], bool)
    old_positions, new_positions = _numbers(pair, "positions")
    old_moves, new_moves = _numbers(pair, "moves")
    shorter = (new_positions < old_positions) | ((new_positions == old_positions) & (new_moves < old_moves))
    further = (new_limits > old_limits) | ((new_limits == old_limits) & later)
    return in_old, in_new, np.where(old_open, ~new_open | further, ~new_open & shorter)


def words_of(table: pa.Table, name: str) -> list[str]:
    """Return a column of words as texts."""
    words: list[str] = table[name].cast(pa.string()).to_pylist()
    return words


def count_values(column: pa.ChunkedArray) -> Counter[Any]:
    """Count how often each value is in a column."""
    return Counter({entry["values"]: entry["counts"] for entry in pc.value_counts(column).to_pylist()})


def _numbers(tables: Iterable[pa.Table], name: str) -> Iterator[Places]:
    """Yield a column of each table, null as 0."""
    return (pc.fill_null(table[name], 0).to_numpy() for table in tables)


def _without(table: pa.Table, places: npt.NDArray[Any]) -> pa.Table:
    keep = np.ones(len(table), bool)
    keep[places] = False
    return table.filter(pa.array(keep))


def _version(solver: str) -> tuple[int, ...]:
    numbers = solver.partition("+")[0].split(".")
    return tuple(int(n) for n in numbers if n.isdecimal())
