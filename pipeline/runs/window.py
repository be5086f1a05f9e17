"""The chunks in flight: a few a worker, and what is done when a worker dies with some of them."""

from __future__ import annotations

import contextlib
import logging
import queue
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import Protocol

from pipeline.errors import WinnableError
from pipeline.runs import workers
from pipeline.runs.chunks import Job, halves
from pipeline.runs.collect import Collector
from pipeline.runs.executors import Executor
from pipeline.runs.stopping import Stopper
from pipeline.runs.summary import FailedDeal, RunSummary
from pipeline.runs.workers import Chunk, ChunkResult, Failure, Setup

log = logging.getLogger(__name__)

STRIKES = 3  # times a deal must kill its worker, alone, before it is given up
CANCELLATIONS = 5  # times a cluster may cancel a chunk before the run is given up
_TICK = 0.2


class Progress(Protocol):
    """Is told what a run has come to."""

    def start(self, jobs: Sequence[Job]) -> None:
        """The workers are about to begin."""

    def advance(self, job: Job, deals: int) -> None:
        """So many more deals of a job are done; its counts say how they ended."""

    def end(self) -> None:
        """The last one is done."""


class NoProgress:
    """Is told and keeps quiet."""

    def start(self, jobs: Sequence[Job]) -> None:
        """Say nothing."""

    def advance(self, job: Job, deals: int) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class Window:
    """The chunks in flight.

    Parameters
    ----------
    jobs, summary
        What to do, and where to count it.
    executor, setup
        Where and with what.
    stopper
        Says when to stop handing out.
    collector
        Takes the rows.
    progress
        Is told.
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
        self._jobs, self._summary = jobs, summary
        self._executor, self._setup = executor, setup
        self._stopper, self._collector, self._progress = stopper, collector, progress
        self._waiting = deque(job for job in jobs if job.missing)
        self._flying: dict[Future[ChunkResult], Chunk] = {}
        self._landed: queue.SimpleQueue[Future[ChunkResult]] = queue.SimpleQueue()
        self._suspects: deque[Chunk] = deque()  # were in flight when a worker died; tried again alone
        self._proved = False  # whether a worker has ever returned something
        self._strikes: Counter[tuple[int, int]] = Counter()
        self._cancelled: deque[Chunk] = deque()  # the cluster dropped them; no deal's fault
        self._cancellations: Counter[tuple[int, int]] = Counter()

    def drive(self) -> bool:
        """Work until nothing is left or the stopper says so and what is in flight has landed.

        Returns
        -------
        bool
            Whether the workers are at rest. They are not if the stop came while they were still starting: compiling
            may take a minute, and there is nothing to keep.
        """
        while True:
            self._launch()
            if not self._flying:
                return True
            if not self._proved and self._stopper.check():
                return False
            self._executor.check()
            with contextlib.suppress(queue.Empty):
                self._land(self._landed.get(timeout=_TICK))
            self._collector.flush_if_due()

    def _launch(self) -> None:
        if self._stopper.check():
            return
        if self._suspects:
            if not self._flying:
                self._submit(self._suspects.popleft())
            return
        while len(self._flying) < self._executor.window:
            chunk = self._next_chunk()
            if chunk is None:
                return
            self._submit(chunk)

    def _next_chunk(self) -> Chunk | None:
        if self._cancelled:
            return self._cancelled.popleft()
        # Towards the end chunks get smaller, so that the workers finish together.
        at_most = 1 + self._summary.left // (4 * self._executor.size)
        while self._waiting:
            chunk = self._waiting[0].next_chunk(at_most)
            if chunk is not None:
                return chunk
            self._waiting.popleft()
        return None

    def _submit(self, chunk: Chunk) -> None:
        future = self._executor.submit(workers.settle_chunk, self._setup, chunk)
        self._flying[future] = chunk
        future.add_done_callback(self._landed.put)

    def _land(self, future: Future[ChunkResult]) -> None:
        chunk = self._flying.pop(future, None)
        if chunk is None:  # its whole pool was given up
            return
        try:
            result = future.result()
        except self._executor.lost as error:
            self._lose(chunk, error)
        except CancelledError:
            self._cancel(chunk)
        else:
            self._take(chunk, result)

    def _take(self, chunk: Chunk, result: ChunkResult) -> None:
        self._proved = True
        job = self._jobs[chunk.job]
        job.pace.learn(result)
        self._collector.take(chunk, result)
        verdicts = result.columns["verdict"]
        job.counts.won += verdicts.count("won")
        job.counts.lost += verdicts.count("lost")
        job.counts.unsettled += verdicts.count("unsettled")
        self._fail(chunk, result.failures)
        self._progress.advance(job, result.done)

    def _lose(self, chunk: Chunk, error: BaseException) -> None:
        lost = [chunk]
        if self._executor.breaks_all(error):
            lost += self._flying.values()
            self._flying.clear()
            self._executor.renew()
        if self._stopper.check():
            return
        if not self._proved:
            self._probe()
        if len(lost) > 1:
            log.warning("a worker died; the %d chunks in flight are tried again one by one", len(lost))
            self._suspects.extend(sorted(lost, key=lambda one: (one.job, one.first)))
        elif len(chunk.seeds) > 1:
            self._suspects.extendleft(reversed(halves(chunk)))
        else:
            self._strike(chunk)

    def _cancel(self, chunk: Chunk) -> None:
        """Hand a chunk out again that was cancelled, as by a restart of the cluster's workers.

        Raises
        ------
        WinnableError
            It has been cancelled too often.
        """
        key = chunk.job, chunk.first
        self._cancellations[key] += 1
        if self._cancellations[key] == CANCELLATIONS:
            raise WinnableError(
                f"the cluster has cancelled the same {len(chunk.seeds)} deals {CANCELLATIONS} times; what is settled "
                "is kept, the same command goes on from there"
            )
        self._cancelled.append(chunk)

    def _probe(self) -> None:
        """Find out whether workers can start at all, before deals are blamed.

        Raises
        ------
        WinnableError
            They cannot.
        """
        try:
            self._executor.submit(workers.be_ready, self._setup).result()
        except self._executor.lost as error:
            raise WinnableError(f"workers die while they start: {error}") from error
        self._proved = True

    def _strike(self, chunk: Chunk) -> None:
        """A deal was alone with a worker that died: its fault, or a coincidence."""
        key = chunk.job, chunk.seeds[0]
        self._strikes[key] += 1
        if self._strikes[key] < STRIKES:
            self._suspects.appendleft(chunk)
            return
        log.error("%s %s %d: kills its worker; given up", chunk.variant.id, chunk.numbering, chunk.seeds[0])
        failure = Failure(chunk.seeds[0], workers.KILLED, f"killed its worker {STRIKES} times")
        self._fail(chunk, [failure])
        self._progress.advance(self._jobs[chunk.job], 1)

    def _fail(self, chunk: Chunk, failures: Sequence[Failure]) -> None:
        self._jobs[chunk.job].counts.failed += len(failures)
        self._summary.failed += (FailedDeal(chunk.variant.id, chunk.numbering, failure) for failure in failures)
