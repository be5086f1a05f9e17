"""Collecting the results of chunks for a few seconds before they are added to the dataset."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pipeline.dataset.rows import join_tables, table_of
from pipeline.dataset.store import Store
from pipeline.runs.chunks import Job
from pipeline.runs.workers import Chunk, ChunkResult

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 50_000
_PATIENCE = 20  # the wait between flushes is at least this many times the last one's duration


class Collector:
    """Gathers the rows of a run and adds them to the store.

    Parameters
    ----------
    store
        The dataset, held for writing.
    jobs
        The run's jobs, which name the partitions.
    solver, run_id
        The values of these columns, the same in every row.
    """

    def __init__(self, store: Store, jobs: Sequence[Job], solver: str, run_id: str) -> None:
        self._store, self._jobs = store, jobs
        self._same = {"solver": solver, "run_id": run_id}
        self._columns: dict[int, dict[str, list[Any]]] = {}
        self._kept = 0
        self._due = time.monotonic() + FLUSH_SECONDS

    def take(self, chunk: Chunk, result: ChunkResult) -> None:
        """Keep a chunk's rows."""
        kept = self._columns.setdefault(chunk.job, {name: [] for name in result.columns})
        for name, values in result.columns.items():
            kept[name].extend(values)
        self._kept += result.settled

    def flush_if_due(self) -> None:
        """Write the rows if they have been kept for long or are many."""
        if self._kept >= FLUSH_ROWS or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Write the rows."""
        began = time.monotonic()
        while self._columns:
            number, columns = next(iter(self._columns.items()))
            job = self._jobs[number]
            table = table_of({**columns, **self._same, "rules_hash": job.deals.variant.rules_hash})
            self._store.add(job.deals.partition, join_tables([table]))
            del self._columns[number]  # only now, so that a full disk loses nothing
        self._kept = 0
        now = time.monotonic()
        self._due = now + max(FLUSH_SECONDS, _PATIENCE * (now - began))
