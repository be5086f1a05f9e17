"""What a dataset holds, and what a run would do; nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.manifest import RunRecord
from pipeline.dataset.rows import count_values, seeds_of
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.runs.chunks import Job
from pipeline.runs.settings import RunSettings


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """How far a partition is.

    Attributes
    ----------
    seeds
        Its smallest and largest seed; None if it has no deals.
    verdicts
        Number of deals by verdict.
    node_limits
        Number of unsettled deals by the node limit they were searched to.
    missing
        Deals that a run would settle.
    parts, size
        Number of its files, and bytes in them.
    """

    partition: Partition
    seeds: tuple[int, int] | None
    verdicts: Counter[str]
    node_limits: Counter[int]
    missing: int
    parts: int
    size: int


def status_of(
    store: Store, runs: Iterable[RunRecord], settings: RunSettings, numbering: str | None, node_limit: int | None
) -> list[PartitionStatus]:
    """Return how far the partitions are that the settings name.

    Parameters
    ----------
    store, runs
        The dataset and the records of its runs, whose plans say what is missing where the settings give no seeds.
    settings
        The deals to report on. Without seeds and file, the variants choose among the partitions present or planned.
    numbering
        The numbering to choose; None for all.
    node_limit
        The limit to count what is missing at; None for that of each plan.

    Raises
    ------
    StoreError
        A partition is damaged or was settled under other rules.
    """
    named = {deals.partition for deals in settings.deals}
    ids = {partition.variant for partition in named} if settings.named else ()
    exactly = settings.configured or any(deals.seeds for deals in settings.deals)
    statuses = []
    for partition, plan in sorted(_plans(store, runs, settings, node_limit).items()):
        if partition in named if exactly else partition.is_of(ids, numbering):
            statuses.append(_partition_status(store, partition, plan))
    return statuses


def _plans(
    store: Store, runs: Iterable[RunRecord], settings: RunSettings, node_limit: int | None
) -> dict[Partition, dict[int, Seeds]]:
    """Return, by partition, the seeds that should be searched, by node limit."""
    planned: dict[Partition, dict[int, list[range]]] = {partition: {} for partition in store.partitions()}
    for partition, plan in (entry for run in runs for entry in run.plans):
        planned.setdefault(partition, {}).setdefault(node_limit or plan.node_limit, []).extend(plan.seeds.ranges)
    plans = {
        partition: {limit: Seeds.of(ranges) for limit, ranges in by_limit.items()}
        for partition, by_limit in planned.items()
    }
    for deals in settings.deals:
        if deals.partition in plans or deals.seeds:
            store.check_rules(deals.partition, deals.variant.rules_hash)
        if deals.seeds:
            plans[deals.partition] = {deals.node_limit: deals.seeds}
    return plans


def _partition_status(store: Store, partition: Partition, plan: dict[int, Seeds]) -> PartitionStatus:
    verdicts, node_limits = Counter[str](), Counter[int]()
    ends: list[int] = []
    for table in store.scan(partition, ("seed", "verdict", "node_limit")):
        ends += seeds_of(table)[[0, -1]].tolist()
        words = table["verdict"].cast(pa.string())
        verdicts += count_values(words)
        node_limits += count_values(table["node_limit"].filter(pc.equal(words, "unsettled")))
    lacking = [store.missing(partition, seeds, limit) for limit, seeds in plan.items()]
    parts = store.parts(partition)
    return PartitionStatus(
        partition=partition,
        seeds=(ends[0], ends[-1]) if ends else None,
        verdicts=verdicts,
        node_limits=node_limits,
        missing=Seeds.of(piece for seeds in lacking for piece in seeds.ranges).count,
        parts=len(parts),
        size=sum(part.path.stat().st_size for part in parts),
    )


def estimate_seconds(store: Store, jobs: Sequence[Job], workers: int) -> float | None:
    """Estimate how long a run takes from the rates of the dataset itself.

    A new deal is assumed to take as long as the partition's deals on average, a deal tried again as long as its node
    limit takes at the partition's positions per second.

    Parameters
    ----------
    jobs
        What the run would settle.
    workers
        Number of workers that share the time.

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
        for table in store.scan(job.deals.partition, ("seed", "positions", "seconds")):
            spent += float(table["seconds"].to_numpy().astype(float).sum())
            positions += int(table["positions"].to_numpy().sum())
            rows += len(table)
            new = new.without(seeds_of(table))
        if spent <= 0:
            return None
        total += new.count * spent / rows + (job.missing.count - new.count) * job.deals.node_limit * spent / positions
    return total / workers
