"""Where chunks are worked on: in this process, in worker processes, on a Dask cluster.

All three are used in the same way: `submit` gives a Future, `stop` asks for chunks to end after the deal at hand,
`renew` replaces workers of which one has died, `close` ends them.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pipeline.runs import workers

if TYPE_CHECKING:
    from pipeline.runs.logs import RunLog
    from pipeline.runs.settings import RunSettings

T = TypeVar("T")
_HAS_FORK_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_WINDOW = 3  # chunks a worker: one at hand, one waiting in its pipe, one landing


class Executor(Protocol):
    """What the batch room needs of a place to work."""

    size: int
    window: int  # how many tasks to keep in flight
    lost: tuple[type[BaseException], ...]  # what a future raises when the worker of its chunk has died

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Start a task."""

    def check(self) -> None:
        """Raise a WinnableError if what was submitted will never end."""

    def breaks_all(self, error: BaseException) -> bool:
        """Whether that death took every task in flight with it, so that `renew` is called for."""

    def renew(self) -> None:
        """Start new workers after one has died."""

    def stop(self) -> None:
        """Ask workers to return their chunks after the deal at hand."""

    def close(self, *, now: bool = False) -> None:
        """End the workers, after their chunks or now."""


class InlineExecutor:
    """Works in the calling thread: for tests, notebooks and debuggers."""

    size = 1
    window = 1
    lost: tuple[type[BaseException], ...] = ()

    def __init__(self) -> None:
        self._stop = threading.Event()
        workers.use_stop(self._stop)

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Do the task at once."""
        future: Future[T] = Future()
        try:
            future.set_result(task(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def check(self) -> None:
        """Nothing is in flight."""

    def breaks_all(self, error: BaseException) -> bool:
        """There is no worker that could die."""
        return False

    def renew(self) -> None:
        """There is no worker to replace."""

    def stop(self) -> None:
        """Set the event that is looked at after every deal."""
        self._stop.set()

    def close(self, *, now: bool = False) -> None:
        """Leave the calling process as it was."""
        workers.uncap_memory()


class ProcessExecutor:
    """Works in processes started by a fork server, or spawned where there is none.

    Parameters
    ----------
    size
        Number of workers.
    run_log
        Where the workers' log records go; None to keep none.
    """

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, size: int, run_log: RunLog | None = None) -> None:
        self.size = size
        self.window = _WINDOW * size
        self._log = run_log
        start_fork_server()
        self._context = _context()
        self._stop = self._context.Event()
        self._pool = self._new_pool()

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Send the task to a worker."""
        try:
            with _no_main():
                return self._pool.submit(task, *arguments)
        except BrokenExecutor as error:
            broken: Future[T] = Future()
            broken.set_exception(error)
            return broken

    def check(self) -> None:
        """A pool that breaks fails all its futures."""

    def breaks_all(self, error: BaseException) -> bool:
        """A dead worker breaks the whole pool."""
        return isinstance(error, BrokenExecutor)

    def renew(self) -> None:
        """Build a new pool; the broken one has killed its workers already."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new_pool()

    def stop(self) -> None:
        """Set the event the workers look at after every deal."""
        self._stop.set()

    def close(self, *, now: bool = False) -> None:
        """Shut the pool down; `now` kills workers in the middle of a deal."""
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        if now:
            for process in processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._log is not None:
            self._log.end_workers()

    def _new_pool(self) -> ProcessPoolExecutor:
        queue = self._log.worker_queue(self._context) if self._log is not None else None
        level = logging.getLogger("pipeline").getEffectiveLevel()
        return ProcessPoolExecutor(
            self.size,
            mp_context=self._context,
            initializer=workers.start_worker,
            initargs=(self._stop, queue, level),
        )


def start_fork_server(modules: Sequence[str] = ()) -> None:
    """Start what forks the workers, if it does not run yet; it loads the modules while this process goes on.

    SIGINT is blocked in it, which its children inherit: a worker turns the signal off itself, but not before it has
    started, and Ctrl-C at that moment would take it and, with it, all that is in flight. And it must not look for
    modules in the working directory, where a file may have the name of one of ours.
    """
    if not _HAS_FORK_SERVER:
        return
    from multiprocessing import forkserver, resource_tracker

    _context().set_forkserver_preload([workers.__name__, *modules])
    with _safe_path():
        resource_tracker.ensure_running()  # it would unblock the signal again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Let Python processes that start now search no working directory for modules."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """Let worker processes that start now load no script of the caller's.

    Their tasks are ours alone. So a script needs no guard, one on standard input can be no file to load again, and what
    it does at its top is not done once a worker.
    """
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _context() -> Any:
    return multiprocessing.get_context("forkserver" if _HAS_FORK_SERVER else "spawn")


def make_executor(settings: RunSettings, run_log: RunLog | None = None) -> Executor:
    """Return the executor that the settings ask for.

    Raises
    ------
    UsageError
        Dask is asked for and not installed, or its cluster does not answer.
    """
    if settings.executor == "inline":
        return InlineExecutor()
    if settings.executor == "dask":
        from pipeline.runs.cluster import DaskExecutor

        return DaskExecutor(settings.workers, settings.scheduler, settings.tls)
    return ProcessExecutor(settings.workers, run_log)
