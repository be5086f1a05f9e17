"""One side of a comparison: a variant's outcomes deal by deal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis.selection import check_present, partitions_of
from pipeline.analysis.statistics import Counts, Flags
from pipeline.dataset.rows import seeds_of
from pipeline.dataset.schema import SCHEMA
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Store
from pipeline.game.variants import Variant

COLUMNS = ("seed", "verdict", "positions", "node_limit")


@dataclass(frozen=True, slots=True)
class Side:
    """Outcomes of one variant and numbering, by ascending seed; all arrays have shape (n,).

    Attributes
    ----------
    seeds, positions, node_limits
        int64.
    won, lost
        Flags; a deal with neither is unsettled.
    """

    variant: Variant
    numbering: str
    seeds: Counts
    won: Flags
    lost: Flags
    positions: Counts
    node_limits: Counts


def side_of(tables: Iterable[pa.Table], variant: Variant, numbering: str) -> Side:
    """Make a `Side` of rows with the columns `COLUMNS`, together by ascending seed."""
    table = pa.concat_tables([SCHEMA.empty_table().select(COLUMNS), *tables]).unify_dictionaries()
    verdicts = table["verdict"].cast(pa.string())
    return Side(
        variant=variant,
        numbering=numbering,
        seeds=seeds_of(table),
        won=pc.equal(verdicts, "won").to_numpy(),
        lost=pc.equal(verdicts, "lost").to_numpy(),
        positions=table["positions"].to_numpy(),
        node_limits=table["node_limit"].to_numpy(),
    )


def read_sides(
    store: Store, variants: Sequence[Variant] = (), numbering: str | None = None, seeds: Seeds | None = None
) -> list[Side]:
    """Read a dataset: one side per variant and numbering, the main variants first.

    Parameters
    ----------
    variants, numbering, seeds
        What to read; by default all deals of all packaged variants.

    Raises
    ------
    StoreError
        The dataset cannot be read, has other rules, or has no such outcomes.
    """
    sides = []
    for partition, variant in partitions_of(store, variants, numbering):
        side = side_of(store.scan(partition, COLUMNS, seeds), variant, partition.numbering)
        if side.seeds.size:
            sides.append(side)
    check_present(store, [side.variant.id for side in sides], variants, seeds)
    return sides
