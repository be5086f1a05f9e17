"""What a dataset holds and what a run would do, without changing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.rows import seeds_of
from pipeline.dataset.store import Partition, Store
from pipeline.runs.chunks import Job


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """How far a partition is.

    Attributes
    ----------
    first, last
        Its smallest and largest seed.
    node_limits
        Node limit and number of the unsettled deals at it, ascending.
    parts, size
        Number of its files, and bytes in them.
    """

    partition: Partition
    deals: int
    won: int
    lost: int
    unsettled: int
    first: int
    last: int
    node_limits: tuple[tuple[int, int], ...]
    parts: int
    size: int


def status_of(store: Store, partition: Partition) -> PartitionStatus:
    """Return how far a partition is.

    Raises
    ------
    StoreError
        The partition cannot be trusted as it is.
    """
    counts: Counter[str] = Counter()
    limits: Counter[int] = Counter()
    first = last = 0
    for table in store.scan(partition, ("seed", "verdict", "node_limit")):
        if not counts:
            first = int(seeds_of(table)[0])
        last = int(seeds_of(table)[-1])
        verdicts = table["verdict"].cast(pa.string())
        counts.update(dict(zip(*_tally(verdicts), strict=True)))
        limits.update(dict(zip(*_tally(table.filter(pc.equal(verdicts, "unsettled"))["node_limit"]), strict=True)))
    parts = store.parts(partition)
    return PartitionStatus(
        partition=partition,
        deals=counts.total(),
        won=counts["won"],
        lost=counts["lost"],
        unsettled=counts["unsettled"],
        first=first,
        last=last,
        node_limits=tuple(sorted(limits.items())),
        parts=len(parts),
        size=sum(part.path.stat().st_size for part in parts),
    )


def _tally(column: pa.ChunkedArray) -> tuple[list[Any], list[int]]:
    """Return the values of a column and how often each is in it."""
    tally = pc.value_counts(column)
    return tally.field("values").to_pylist(), tally.field("counts").to_pylist()


def estimate_seconds(store: Store, jobs: Sequence[Job], workers: int) -> float | None:
    """Estimate how long a run takes from the rates of the dataset itself.

    A new deal is taken to cost what the partition's deals cost on average, a deal tried again what its node limit
    costs at the partition's positions per second.

    Returns
    -------
    float or None
        Seconds of wall time; None if some deals are of a partition without rows.
    """
    total = 0.0
    for job in jobs:
        if not job.missing:
            continue
        spent, positions, rows, new = 0.0, 0, 0, job.missing
        for table in store.scan(job.partition, ("seed", "positions", "seconds")):
            spent += float(table["seconds"].to_numpy().astype(float).sum())
            positions += int(table["positions"].to_numpy().sum())
            rows += len(table)
            new = new.without(seeds_of(table))
        if spent <= 0:
            return None
        total += new.count * spent / rows + (job.missing.count - new.count) * job.deals.nodes * spent / positions
    return total / workers
