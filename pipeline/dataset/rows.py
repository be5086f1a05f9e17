"""Rows, and which of two rows about one deal stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.row import Row
from pipeline.dataset.schema import COLUMNS, SCHEMA
from pipeline.errors import StoreError

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def replaces(new: Row, old: Row) -> bool:
    """Decide whether `new` takes the place of `old`, a row about the same deal.

    Nothing proved gives way to something weaker: a proof stands against anything unsettled, and against a proof of
    the same that took more positions (or, with as many positions, more moves). Of two unsettled rows the larger limit
    stands; at the same limit that of the later solver.

    Raises
    ------
    StoreError
        One says won and the other lost: one of two solvers is wrong, and no row can stand.
    """
    if "unsettled" not in (new.verdict, old.verdict):
        if new.verdict != old.verdict:
            raise StoreError(
                f"seed {new.seed}: {new.verdict} by solver {new.solver} but {old.verdict} by solver {old.solver}; "
                "one of them is wrong: run 'winnable verify' on both datasets"
            )
        return (new.positions, new.moves or 0) < (old.positions, old.moves or 0)
    if new.verdict != "unsettled" or old.verdict != "unsettled":
        return old.verdict == "unsettled"
    if new.node_limit != old.node_limit:
        return new.node_limit > old.node_limit
    return supersedes(new.solver, old.solver)


def supersedes(new: str, old: str) -> bool:
    """Decide whether what solver `new` left unsettled stands in the place of what `old` did, at the same limit."""
    return new != old and _version(new) >= _version(old)


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Return rows as a table in the dataset's schema."""
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    arrays = []
    for field, values in zip(SCHEMA, columns, strict=True):
        if pa.types.is_dictionary(field.type):
            arrays.append(pa.array(values, pa.string()).dictionary_encode().cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def rows_of(table: pa.Table) -> list[Row]:
    """Return a table's rows."""
    return [Row(*values) for values in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)]


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
    """Find the deals that two tables share, and which of their rows stand.

    Returns
    -------
    in_old, in_new : ndarray of int64, shape (shared,)
        Where the shared deals are.
    taken : ndarray of bool, shape (shared,)
        Whether the new row replaces the old one.

    Raises
    ------
    StoreError
        Two rows contradict each other.
    """
    shared, in_old, in_new = np.intersect1d(seeds_of(old), seeds_of(new), assume_unique=True, return_indices=True)
    taken = np.zeros(len(shared), bool)
    if len(shared):
        differs = _differ(old.take(in_old), new.take(in_new))
        pairs = zip(rows_of(new.take(in_new[differs])), rows_of(old.take(in_old[differs])), strict=True)
        taken[differs] = [replaces(n, o) for n, o in pairs]
    return in_old, in_new, taken


def _differ(old: pa.Table, new: pa.Table) -> Flags:
    """Return where two tables of the same seeds differ in what `replaces` looks at; where they do not, `old` stands."""
    differs = np.zeros(len(old), bool)
    for name in ("verdict", "positions", "node_limit", "moves", "solver"):
        left, right = (
            table[name].cast(pa.string()) if name in ("verdict", "solver") else table[name] for table in (old, new)
        )
        same = pc.or_(pc.fill_null(pc.equal(left, right), False), pc.and_(left.is_null(), right.is_null()))
        differs |= ~same.to_numpy()
    return differs


def _without(table: pa.Table, places: npt.NDArray[Any]) -> pa.Table:
    keep = np.ones(len(table), bool)
    keep[places] = False
    return table.filter(pa.array(keep))


def _version(solver: str) -> tuple[int, ...]:
    numbers = solver.partition("+")[0].split(".")
    return tuple(int(n) for n in numbers if n.isdecimal())
