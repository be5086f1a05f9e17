"""The exceptions of a dataset: every deal that was not won, and the wins that took the most positions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.files import replacing
from pipeline.dataset.schema import SCHEMA
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.game.numbers import write_csv

COLUMNS = ("seed", "verdict", "positions", "node_limit")
_PLAIN = pa.schema([(name, pa.string() if name == "verdict" else pa.int64()) for name in COLUMNS])
HARDEST_FIRST = (("positions", "descending"), ("seed", "ascending"))


def exceptions_of(store: Store, partition: Partition, hardest: int, seeds: Seeds | None = None) -> pa.Table:
    """Return a partition's deals that were not won, by seed, and after them its hardest wins.

    Parameters
    ----------
    hardest
        Number of wins to return: those with the most positions, hardest first; of equal ones the smaller seed.
    seeds
        Which deals; all by default.

    Returns
    -------
    pyarrow.Table
        `seed`, `positions`, `node_limit` (int64) and `verdict` (string).

    Raises
    ------
    StoreError
        See `Store.scan`.
    """
    wins = SCHEMA.empty_table().select(list(COLUMNS)).cast(_PLAIN)
    not_won = [wins]
    for part in store.scan(partition, COLUMNS, seeds):
        rows = part.cast(_PLAIN)
        won = pc.equal(rows["verdict"], "won")
        not_won.append(rows.filter(pc.invert(won)))
        wins = pa.concat_tables([wins, rows.filter(won)])
        wins = wins.take(pc.select_k_unstable(wins, min(hardest, len(wins)), list(HARDEST_FIRST)))
    return pa.concat_tables([*not_won, wins])


def write_exceptions(
    store: Store, partitions: Iterable[Partition], hardest: int, path: Path, seeds: Seeds | None = None
) -> None:
    """Write the exceptions of partitions as CSV: `variant`, `numbering`, and the columns of `exceptions_of`."""
    with replacing(path) as file:
        rows = (
            (*partition, *row.values())
            for partition in partitions
            for row in exceptions_of(store, partition, hardest, seeds).to_pylist()
        )
        write_csv(file, (*Partition._fields, *COLUMNS), rows)
