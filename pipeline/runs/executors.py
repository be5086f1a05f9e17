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
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.errors import cause_of
from pipeline.runs import workers
from pipeline.runs.executor import Executor, allow_files

if TYPE_CHECKING:
    from pipeline.runs.logs import RunLog
    from pipeline.runs.settings import RunSettings

log = logging.getLogger(__name__)

T = TypeVar("T")
_HAS_FORK_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_STARTING = threading.RLock()  # held while a process starts with another environment, which is all threads' own
_WINDOW = 3  # chunks a worker: one at hand, one waiting in its pipe, one landing


class InlineExecutor(Executor):
    """Works in the calling thread: for tests, notebooks and debuggers."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        workers.use_stop(self._stop.is_set)

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Do the task at once."""
        future: Future[T] = Future()
        try:
            future.set_result(task(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Set the event that is looked at after every deal."""
        self._stop.set()

    def close(self, *, now: bool = False) -> None:
        """Leave the calling process as it was."""
        workers.uncap_memory()


class ProcessExecutor(Executor):
    """Works in processes started by a fork server, or spawned where there is none.

    Parameters
    ----------
    size
        Number of workers.
    run_log
        Where the workers' log records go; None to keep none.
    """

    lost = (BrokenExecutor,)

    def __init__(self, size: int, run_log: RunLog | None = None) -> None:
        allow_files(size)
        self.size = size
        self.window = _WINDOW * size
        self._log = run_log
        start_resource_tracker()
        self._context = _context()
        self._stop = self._context.RawValue("b")  # an event's lock could die with a worker that holds it
        self._pool = self._new_pool()

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Send the task to a worker."""
        try:
            with _no_main():
                return self._pool.submit(task, *arguments)
        except BrokenExecutor as error:
            return _broken(error)
        except EOFError:
            return _broken(BrokenExecutor("what starts them has died"))
        except OSError as error:  # a fork server that has died, too
            return _broken(BrokenExecutor(cause_of(error)))

    def breaks_all(self, error: BaseException) -> bool:
        """A dead worker breaks the whole pool."""
        return isinstance(error, BrokenExecutor)

    def renew(self) -> None:
        """Build a new pool; the broken one has killed its workers already."""
        start_resource_tracker()  # also where it has died
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new_pool()

    def stop(self) -> None:
        """Set what the workers look at after every deal."""
        self._stop.value = 1

    def close(self, *, now: bool = False) -> None:
        """Shut the pool down; `now` kills workers in the middle of a deal."""
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        if now:
            for process in processes:
                process.kill()
        start_resource_tracker()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._log is not None:
            self._log.end_workers()

    def _new_pool(self) -> ProcessPoolExecutor:
        start_fork_server()  # also where it has died
        queue = self._log.worker_queue(self._context) if self._log is not None else None
        level = logging.getLogger("pipeline").getEffectiveLevel()
        return ProcessPoolExecutor(
            self.size,
            mp_context=self._context,
            initializer=workers.start_worker,
            initargs=(self._stop, queue, level),
        )


def _broken(error: BrokenExecutor) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def start_fork_server(modules: Sequence[str] = ()) -> None:
    """Start what forks the workers, if it does not run yet; it loads the modules while this process goes on.

    SIGINT and SIGHUP are blocked in it, which its children inherit: a worker turns SIGINT off itself, but not before it
    has started, and Ctrl-C at that moment would take it and, with it, all that is in flight. And it must not look for
    modules in the working directory, where a file may have the name of one of ours.
    """
    if not _HAS_FORK_SERVER:
        return
    from multiprocessing import forkserver

    # A server that runs already keeps what it has loaded.
    _context().set_forkserver_preload(["pipeline.runs.forked", *modules])
    start_resource_tracker()  # the server's start would, and unblock SIGINT again
    with _STARTING, _safe_path(), _blocked(signal.SIGINT, signal.SIGHUP):
        forkserver.ensure_running()


def start_resource_tracker() -> None:
    """Start what removes the semaphores of a killed program, if it does not run, or no longer, without a word.

    One that takes the place of a dead one shows a traceback for each semaphore that it was not told of, and each one
    warns of those that a killed program has left, as it removes them: nothing a user could do anything about.
    """
    if not _HAS_FORK_SERVER:
        return
    from multiprocessing import resource_tracker

    tracker = resource_tracker._resource_tracker

    def ensure_running() -> None:
        with _STARTING:
            if tracker._fd is None or not tracker._check_alive():  # type: ignore[attr-defined]
                with _safe_path(), _blocked(signal.SIGHUP), _no_stderr(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    type(tracker).ensure_running(tracker)

    # Each new semaphore asks the tracker for it, and each start of a fork server or a worker the module.
    tracker.ensure_running = resource_tracker.ensure_running = ensure_running  # type: ignore[method-assign]
    ensure_running()


@contextlib.contextmanager
def _blocked(*numbers: int) -> Iterator[None]:
    """Let processes that start now never receive these signals."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _no_stderr() -> Iterator[None]:
    """Let processes that start now write to no terminal."""
    try:
        kept = os.dup(2)
    except OSError:  # closed from the start
        yield
        return
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


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

        return DaskExecutor(settings.workers, settings.scheduler)
    return make_processes(settings.workers, run_log)


def make_processes(size: int, run_log: RunLog | None = None) -> Executor:
    """Return worker processes, or this process where the system lacks what they need to talk to each other."""
    try:
        return ProcessExecutor(size, run_log)
    except OSError as error:
        said = cause_of(error)
        if said == error.strerror:  # no /dev/shm, or none that can be written, as in some containers
            said += "; several processes need a writable /dev/shm"
        log.warning("worker processes cannot start, so this one does the work: %s", said)
        if run_log is not None:
            run_log.end_workers()
        return InlineExecutor()
