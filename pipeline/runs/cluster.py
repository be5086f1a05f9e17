"""Work on a Dask cluster: one already running, reached by its scheduler's address, or a local one."""

from __future__ import annotations

import contextlib
import inspect
import logging
import pickle
import time
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import Any, TypeVar

from pipeline.errors import UsageError, WinnableError, cause_of
from pipeline.runs.executor import Executor, allow_files
from pipeline.version import package_id

log = logging.getLogger(__name__)

T = TypeVar("T")
_WINDOW = 4  # chunks per thread; one more than for local processes, because the way is longer
_PATIENCE = "20s"
_EVERY = 5.0  # seconds between looks at whether there are workers
_FILES_PER_WORKER = 20  # open files of a local cluster, at most: twice the measured number
# Evaluated by the workers: one with another package might not know a function of ours.
_ASK = "(v := __import__('pipeline.version', fromlist=['_'])) and getattr(v, 'package_id', v.solver_id)()"


class _Call:
    """A pickle that calls a task when it is loaded.

    Unlike the task itself it can pass through a scheduler that lacks the package, and a worker that cannot load it
    reports the error. A worker that cannot load an ordinary task dies silently.
    """

    def __init__(self, task: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._call = task, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Any, ...]]:
        return self._call


class DaskExecutor(Executor):
    """Sends chunks to Dask workers, each of which makes its own solver and compares its bench signature.

    A worker that dies costs only its chunk: the scheduler gives it to another worker, and after a few deaths on the
    same chunk the run halves it until it finds the deal.

    Parameters
    ----------
    workers
        Processes of the local cluster.
    scheduler
        Address of a running cluster; None to start a local one. The certificates of one behind `tls://` are those of
        Dask's own configuration (`distributed.comm.tls`).

    Raises
    ------
    UsageError
        Dask is not installed, or the scheduler does not answer.
    WinnableError
        A worker has another version of the package, or the system allows too few open files for a local cluster.
    """

    def __init__(self, workers: int, scheduler: str | None = None) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise UsageError("the dask executor needs Dask; in a checkout: pip install '.[dask]'") from error
        self.lost = (distributed.KilledWorker,)
        self._dumps: Callable[[object], bytes] = import_module("cloudpickle").dumps  # also what a notebook defines
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it says of a scheduler that has gone
        cascade = import_module("distributed.cfexecutor")._cascade_future
        self._own = {inspect.unwrap(cascade).__code__}
        self._closed: type[BaseException] = distributed.client.ClosedClientError
        self._scheduler = scheduler
        self._cluster = None
        if scheduler is None:
            try:
                allow_files(workers, _FILES_PER_WORKER)
            except OSError as error:
                raise WinnableError(f"a local Dask cluster cannot start: {cause_of(error)}") from error
            self._cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        try:
            self._client = distributed.Client(self._cluster or scheduler, timeout=_PATIENCE)
        except (OSError, ValueError, TypeError) as error:  # the last one: tls:// without certificates
            raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from error
        self.size = sum(self._client.nthreads().values())
        if self.size == 0:
            self.close()
            raise UsageError(f"the Dask cluster at {scheduler} has no workers")
        self.window = _WINDOW * self.size
        self._look = time.monotonic() + _EVERY
        try:
            self._compare_packages()
        except WinnableError:
            self.close()
            raise
        with contextlib.suppress(ValueError, OSError):  # the latter: a worker that dies just now
            self._client.forward_logging("pipeline", logging.INFO)
        self._pool = self._client.get_executor(pure=False)

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Send the task to the scheduler.

        Raises
        ------
        WinnableError
            The scheduler has gone.
        """
        try:
            future: Future[T] = self._pool.submit(pickle.loads, self._dumps(_Call(task, arguments)))
        except self._closed as error:
            raise self._gone() from error
        return future

    def check(self) -> None:
        """Refuse to wait for a scheduler that has gone: futures of a closed client never end.

        Workers may come back, so the run waits for them and logs that it does.
        """
        if self._client.status not in ("running", "connecting", "newly-created"):
            raise self._gone()
        if time.monotonic() >= self._look:
            self._look = time.monotonic() + _EVERY
            with contextlib.suppress(OSError):  # the scheduler is on its way out, or back
                deserted = not self._client.nthreads()
                if deserted and not self.deserted:
                    log.warning("no worker is left on the Dask cluster; the run goes on when there is one again")
                self.deserted = deserted

    def has_mislaid(self, error: BaseException) -> bool:
        """Whether the error is Dask's own: the worker left while its result was being fetched.

        Dask then mistakes the result for an error and fails to unpack it, so the traceback ends in Dask's frame, not in
        the task's.
        """
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        return isinstance(error, ValueError | TypeError) and place is not None and place.tb_frame.f_code in self._own

    def explain(self, error: BaseException) -> None:
        """Name a worker with another package, such as one that came later: what it could not load was the error."""
        if not isinstance(error, WinnableError):
            with contextlib.suppress(OSError):  # the scheduler has gone, too
                self._compare_packages()

    def _compare_packages(self) -> None:
        ours = package_id()
        for address, answer in self._client.run(eval, _ASK, on_error="return").items():
            if answer == ours or isinstance(answer, OSError):  # it has left meanwhile
                continue
            theirs = f"winnable {answer}"
            if isinstance(answer, Exception):
                theirs = f"no usable winnable ({type(answer).__name__}: {answer})"
            raise WinnableError(
                f"the Dask worker at {address} has {theirs}, this program is winnable {ours}; install the same one on "
                "all machines of the cluster, restart the workers, and run the same command again"
            )

    def _gone(self) -> WinnableError:
        where = f"Dask scheduler at {self._scheduler}" if self._scheduler else "local Dask cluster"
        return WinnableError(f"the {where} has gone; what is settled is kept, the same command goes on from there")

    def close(self, *, now: bool = False) -> None:
        """Leave the cluster, and end it if it is ours."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
