"""From chunk results to parts: rows are kept for a few seconds, then added to the dataset."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pipeline.dataset.row import Row
from pipeline.dataset.rows import table_of
from pipeline.dataset.store import Store
from pipeline.runs.chunks import Job
from pipeline.runs.workers import Chunk, ChunkResult

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 50_000
_PATIENCE = 20  # times as long as the last flush took is waited for the next


class Collector:
    """Gathers the rows of a run and adds them to the store.

    Parameters
    ----------
    store
        The dataset, held for writing.
    jobs
        The run's jobs, which say where the rows go.
    """

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        self._store, self._jobs = store, jobs
        self._rows: dict[int, list[Row]] = {}
        self._kept = 0
        self._due = time.monotonic() + FLUSH_SECONDS

    def take(self, chunk: Chunk, result: ChunkResult) -> None:
        """Keep a chunk's rows."""
        self._rows.setdefault(chunk.job, []).extend(result.rows)
        self._kept += len(result.rows)

    def flush_if_due(self) -> None:
        """Write what is kept if it has been kept long enough or is much."""
        if self._kept >= FLUSH_ROWS or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        began = time.monotonic()
        while self._rows:
            job, rows = next(iter(self._rows.items()))
            self._store.add(self._jobs[job].partition, table_of(sorted(rows, key=lambda row: row.seed)))
            del self._rows[job]  # only now: a full disk leaves it for another try
        self._kept = 0
        now = time.monotonic()
        self._due = now + max(FLUSH_SECONDS, _PATIENCE * (now - began))
