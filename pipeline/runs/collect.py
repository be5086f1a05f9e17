"""From chunk results to parts: rows are kept for a few seconds, then written as blocks of consecutive missing deals."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pipeline.dataset.rows import Row, table_of
from pipeline.dataset.store import Store
from pipeline.runs.chunks import Job
from pipeline.runs.workers import Chunk, ChunkResult

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 50_000
_COMPACT_EVERY = 64  # flushes; a run of hours leaves no thousands of parts behind when it is killed

Block = tuple[int, int, list[Row]]  # places first and stop among the missing deals of the job, rows by seed


class Collector:
    """Gathers the rows of a run and adds them to the store.

    Chunks end in any order. What adjoins, counted among the missing deals, goes into one part, so that a part's range
    holds no deal that is still being worked on.

    Parameters
    ----------
    store
        The dataset, held for writing.
    solver, run_id
        What the rows say of themselves.
    """

    def __init__(self, store: Store, jobs: Sequence[Job], solver: str, run_id: str) -> None:
        self._store, self._jobs = store, jobs
        self._solver, self._run_id = solver, run_id
        self._blocks: dict[int, list[Block]] = {}
        self._rows = 0
        self._flushed = time.monotonic()
        self._flushes = 0

    def take(self, chunk: Chunk, result: ChunkResult) -> None:
        """Keep a chunk's rows."""
        rules = chunk.variant.rules_hash
        own = self._solver, rules
        rows = [Row(*one[:9], *own, one.seconds, self._run_id) for one in result.settled]
        self._blocks.setdefault(chunk.job, []).append((chunk.first, chunk.first + result.done, rows))
        self._rows += len(rows)

    def flush_if_due(self) -> None:
        """Write what is kept if it has been kept long enough or is much."""
        if self._rows >= FLUSH_ROWS or time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        self._flushes += 1
        while self._blocks:
            job = next(iter(self._blocks))
            blocks = _joined(self._blocks[job])
            while blocks:
                self._store.add(self._jobs[job].partition, table_of(blocks[-1][2]))
                # Only now is it forgotten: a full disk leaves it for another try.
                self._rows -= len(blocks.pop()[2])
                self._blocks[job] = blocks
            del self._blocks[job]
            if self._flushes % _COMPACT_EVERY == 0:
                self._store.compact(self._jobs[job].partition)
        self._flushed = time.monotonic()


def _joined(blocks: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for first, stop, rows in sorted(blocks, key=lambda block: block[0]):
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], stop, joined[-1][2] + rows)
        else:
            joined.append((first, stop, list(rows)))
    return joined
