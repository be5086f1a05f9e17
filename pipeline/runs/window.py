"""The chunks of a run in flight: handed out, landed, counted."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from pipeline.runs import workers
from pipeline.runs.chunks import Job
from pipeline.runs.collect import Collector
from pipeline.runs.executor import Executor
from pipeline.runs.flight import STRIKES, Flight
from pipeline.runs.progress import Progress
from pipeline.runs.stopping import Stopper
from pipeline.runs.summary import FailedDeal, RunSummary
from pipeline.runs.workers import Chunk, ChunkResult, Failure, Setup

log = logging.getLogger(__name__)


class Window:
    """The chunks of a run.

    Parameters
    ----------
    jobs, summary
        What to do, and where to count it.
    executor, setup
        Where and with what.
    stopper
        Says when to stop handing out.
    collector
        Takes the outcomes.
    progress
        Follows the run.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        summary: RunSummary,
        executor: Executor,
        setup: Setup,
        stopper: Stopper,
        collector: Collector,
        progress: Progress,
    ) -> None:
        self._jobs, self._summary, self._executor = jobs, summary, executor
        self._stopper, self._collector, self._progress = stopper, collector, progress
        self._waiting = deque(job for job in jobs if job.missing)
        self._flight: Flight[Chunk, ChunkResult] = Flight(
            executor,
            lambda chunk: executor.submit(workers.settle_chunk, setup, chunk),
            lambda: executor.submit(workers.be_ready, setup).result(),
            stopper.check,
        )

    def drive(self) -> bool:
        """Work until nothing is left or the stopper says so and what is in flight has landed.

        Returns
        -------
        bool
            Whether the workers are at rest. They are not if the stop came while they were still starting (compiling
            may take a minute, and there is nothing to keep), or when there were none left.
        """
        while True:
            stopping = self._stopper.check()
            if not stopping:
                self._flight.launch(self._next_chunk)
            if not self._flight.busy:
                return True
            if stopping and (self._executor.deserted or not self._flight.proved):
                return False
            landed = self._flight.land()
            if landed is not None:
                self._take(*landed)
            self._collector.flush_if_due()

    def _next_chunk(self) -> Chunk | None:
        # Towards the end chunks get smaller, so that the workers finish together.
        at_most = 1 + self._summary.left // (4 * self._executor.size)
        while self._waiting:
            chunk = self._waiting[0].next_chunk(at_most)
            if chunk is not None:
                return chunk
            self._waiting.popleft()
        return None

    def _take(self, chunk: Chunk, result: ChunkResult | None) -> None:
        job = self._jobs[chunk.job]
        if result is None:
            (seed,) = chunk.seeds
            log.error("%s %s %d: kills its worker; given up", chunk.variant.id, chunk.numbering, seed)
            failures, done = [Failure(seed, workers.KILLED, f"killed its worker {STRIKES} times")], 1
        else:
            failures, done = result.failures, result.done
            job.pace.learn(result)
            self._summary.compiling = max(self._summary.compiling, result.compiling)
            self._collector.take(chunk, result)
            verdicts = result.columns["verdict"]
            job.counts.won += verdicts.count("won")
            job.counts.lost += verdicts.count("lost")
            job.counts.unsettled += verdicts.count("unsettled")
        job.counts.failed += len(failures)
        self._summary.failed += (FailedDeal(chunk.variant.id, chunk.numbering, failure) for failure in failures)
        self._progress.advance(job, done)
