"""Withdrawing a run's plan, so that its unsettled deals no longer count in reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pipeline.dataset.files import write_json
from pipeline.dataset.manifest import WITHDRAWN, read_manifest, read_runs
from pipeline.dataset.rows import seeds_of
from pipeline.dataset.store import Partition, Store
from pipeline.errors import UsageError


def unfinished_runs(store: Store) -> list[str]:
    """Return the runs with planned deals that have no outcome, oldest first."""
    return [run for run, left in _left(store).items() if left]


def withdraw(store: Store, runs: Sequence[str]) -> dict[str, tuple[tuple[Partition, int], ...]]:
    """Withdraw the plans of runs; what they settled stays.

    Parameters
    ----------
    runs
        Ids of runs.

    Returns
    -------
    dict
        By run its planned deals without an outcome, by partition; empty if its plan was withdrawn already.

    Raises
    ------
    UsageError
        The dataset has no such run.
    BusyError
        Another process, perhaps one of these runs, writes to the dataset.
    """
    with store.writing("withdraw"):
        left = _left(store)
        for run in runs:
            if run not in left:
                some = ", ".join([name for name, open_ in left.items() if open_][-5:]) or "none"
                raise UsageError(f"run {run!r}: {store.runs} has no such run; runs with deals left: {some}")
        for run in runs:
            path = store.runs / f"{run}.json"
            content = read_manifest(path, dict)
            if not content.get(WITHDRAWN):
                content[WITHDRAWN] = datetime.now(UTC).isoformat(timespec="seconds")
                write_json(path, content, store.staging)
    return {run: left[run] for run in runs}


def _left(store: Store) -> dict[str, tuple[tuple[Partition, int], ...]]:
    """Count each run's planned deals without an outcome, by partition."""
    records = read_runs(store)
    planned = {partition for run in records for partition, _ in run.plans}
    settled = {partition: seeds_of(store.read(*partition, ["seed"])) for partition in planned}
    left = {}
    for run in records:
        counts = [(partition, plan.seeds.without(settled[partition]).count) for partition, plan in run.plans]
        left[run.id] = tuple((partition, count) for partition, count in counts if count)
    return left
