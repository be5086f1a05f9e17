"""What a dataset holds and what a run would do, without changing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

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
    table = store.read(*partition, ["seed", "verdict", "node_limit"])
    parts = store.parts(partition)
    seeds, verdicts = seeds_of(table), table["verdict"].cast(pa.string()).to_numpy()
    limits, counts = np.unique(table["node_limit"].to_numpy()[verdicts == "unsettled"], return_counts=True)
    return PartitionStatus(
        partition=partition,
        deals=len(table),
        won=int((verdicts == "won").sum()),
        lost=int((verdicts == "lost").sum()),
        unsettled=int((verdicts == "unsettled").sum()),
        first=int(seeds[0]) if len(seeds) else 0,
        last=int(seeds[-1]) if len(seeds) else 0,
        node_limits=tuple((int(limit), int(count)) for limit, count in zip(limits, counts, strict=True)),
        parts=len(parts),
        size=sum(part.path.stat().st_size for part in parts),
    )


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
        table = store.read(*job.partition, ["seed", "positions", "seconds"])
        spent = float(table["seconds"].to_numpy().astype(float).sum())
        if spent <= 0:
            return None
        new = job.missing.without(seeds_of(table)).count
        a_position = spent / float(table["positions"].to_numpy().sum())
        total += new * spent / len(table) + (job.missing.count - new) * job.deals.nodes * a_position
    return total / workers
