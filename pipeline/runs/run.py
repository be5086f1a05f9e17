"""A run: it cuts what is missing into chunks, keeps a window of them in flight and writes their rows as parts.

A run may be killed at any moment: what it has written stands, and the same run again settles the rest. A deal that
kills its worker is found (see `flight`) and named; everything else is settled.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Sequence

from pipeline.dataset.files import remove
from pipeline.dataset.store import Store
from pipeline.errors import UsageError, WinnableError
from pipeline.game.numbers import counted
from pipeline.runs import workers
from pipeline.runs.chunks import Job
from pipeline.runs.collect import Collector
from pipeline.runs.executor import allow_files
from pipeline.runs.executors import make_executor, start_fork_server
from pipeline.runs.logs import RunLog
from pipeline.runs.progress import Progress
from pipeline.runs.settings import RunSettings
from pipeline.runs.stopping import INTERRUPTED, Stopper
from pipeline.runs.summary import Manifest, RunSummary, new_run_id
from pipeline.runs.window import Window
from pipeline.runs.workers import Settler, Setup

log = logging.getLogger(__name__)


def run(
    settings: RunSettings,
    *,
    settler: Callable[[], Settler] = workers.SolverSettler,
    solver: str | None = None,
    progress: Progress | None = None,
    echo: Callable[[str], None] | None = None,
) -> RunSummary:
    """Settle those deals of the settings that the dataset lacks.

    Parameters
    ----------
    settler
        Makes what settles deals, in each worker; the package's solver by default.
    solver
        That settler's identity; needed with a settler of your own.
    progress
        Follows the run.
    echo
        Called with each message for the user, one line.

    Returns
    -------
    RunSummary
        Also of a run that SIGINT, SIGTERM, SIGHUP or its `max_time` ended early: `stopped` says so. A second signal
        raises KeyboardInterrupt at once.

    Raises
    ------
    StoreError
        The dataset is damaged, in use, of other rules, or cannot be written.
    HandshakeError
        A worker's solver is not this program's.
    """
    began = time.monotonic()
    if solver is None:
        from pipeline.version import solver_id

        solver = solver_id()
    if settings.executor == "processes":
        try:
            allow_files(settings.workers)
        except OSError:
            pass  # `make_executor` meets it, too, and says what is lacking
        else:
            start_fork_server(getattr(settler, "modules", ()))
    say = echo or (lambda _text: None)
    store = Store(settings.data)
    with Stopper(settings.max_time) as stopper, store.writing("run"):
        jobs = plan_jobs(settings, store, solver)
        summary = RunSummary(new_run_id(), jobs)
        if not any(job.missing for job in jobs):
            planned = sum(job.counts.planned for job in jobs)
            say(f"nothing to do: all {planned:,} deals are settled, or were searched to this limit")
            return summary
        manifest = Manifest(store, settings, solver, summary.run_id)
        manifest.write(summary, "running")
        status: str | None = "failed"
        run_log = RunLog(store.runs / f"{summary.run_id}.log")
        try:
            variants = tuple(job.deals.variant for job in jobs if job.missing)
            setup = Setup(settler, solver, summary.run_id, variants, settings.memory)
            _settle(settings, store, jobs, summary, setup, stopper, progress or Progress(), run_log)
            status = summary.stopped or "finished"
        except KeyboardInterrupt:
            status = stopper.reason or INTERRUPTED
            raise
        except UsageError:  # nothing was begun, so nothing was planned
            status = None
            raise
        except Exception as error:
            log.info("the run failed: %s", error)  # whoever catches it tells the user
            raise
        finally:
            summary.seconds = time.monotonic() - began
            with contextlib.suppress(WinnableError) if sys.exc_info()[0] else contextlib.nullcontext():
                if status is None:
                    remove(manifest.path)
                else:
                    manifest.write(summary, status)
            run_log.close()
    seconds = f"{summary.seconds - summary.compiling:.1f} s"
    before = f", after {summary.compiling:.1f} s of compiling" if summary.compiling else ""
    say(f"run {summary.run_id}: {counted(summary.settled, 'deal')} settled in {seconds}{before}")
    return summary


def plan_jobs(settings: RunSettings, store: Store, solver: str) -> list[Job]:
    """Return the deals of the settings that the dataset lacks, one job per variant.

    Parameters
    ----------
    solver
        The identity of the solver that would settle them, which decides what `retry` means.

    Raises
    ------
    StoreError
        A partition is damaged or of other rules.
    """
    store.partitions()  # refuses foreign files anywhere in the dataset
    jobs = []
    for number, deals in enumerate(settings.deals):
        partition = deals.partition
        store.check_rules(partition, deals.variant.rules_hash)
        missing = store.missing(partition, deals.seeds, deals.node_limit, retry=settings.retry, solver=solver)
        jobs.append(Job.of(number, deals, missing, settings.chunk))
    return jobs


def _settle(
    settings: RunSettings,
    store: Store,
    jobs: Sequence[Job],
    summary: RunSummary,
    setup: Setup,
    stopper: Stopper,
    progress: Progress,
    run_log: RunLog,
) -> None:
    executor = make_executor(settings, run_log)
    collector = Collector(store, jobs, setup.solver, setup.run_id)
    window = Window(jobs, summary, executor, setup, stopper, collector, progress)
    stopper.when_stopped = executor.stop
    now = True
    try:
        progress.start(jobs)
        log.info("run %s: %d deals with %d workers", summary.run_id, summary.left, executor.size)
        now = not window.drive()
    finally:
        progress.end()
        try:
            collector.flush()
        finally:
            executor.close(now=now)
    summary.stopped = stopper.reason
    if summary.left and summary.stopped is None:
        raise WinnableError(f"{summary.left:,} deals are left; run the same command again to settle them")
    log.info(
        "run %s: %d settled, %d failed, %d left", summary.run_id, summary.settled, len(summary.failed), summary.left
    )
