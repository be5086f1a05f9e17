"""What runs in a worker: chunks of deals in, columns of outcomes out. Imports neither pandas nor pyarrow.

A worker makes its solver when its first chunk arrives, recomputes the bench signature and refuses to work if it differs
from the run's: another solver would write other rows.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from filelock import FileLock

from pipeline.errors import SolverFault
from pipeline.game.deals import deal
from pipeline.game.variants import Variant
from pipeline.solver import Outcome

log = logging.getLogger(__name__)

# Fields of an outcome that are columns of the dataset.
OUTCOME = ("seed", "verdict", "positions", "expanded", "node_limit", "line", "moves", "deals", "score")

NOTICE = logging.INFO + 5  # for the user to see, but not a warning
SENDING = 5.0  # seconds that a worker's last log records are given to arrive
_AFTER_QUEUES_CLOSE = 5  # multiprocessing's queues close at 10: their threads end once all is sent
FAULT, MEMORY, ERROR, KILLED = "fault", "memory", "error", "killed"


class Failure(NamedTuple):
    """A deal that could not be settled: `kind` is one of `FAULT`, `MEMORY`, `ERROR`, `KILLED`."""

    seed: int
    kind: str
    text: str


class Settler(Protocol):
    """Settles deals; each worker makes its own."""

    def identity(self) -> str:
        """Return the solver's id once the bench signature is recomputed here."""

    def settle(self, variant: Variant, numbering: str, seed: int, node_limit: int) -> Outcome:
        """Return the outcome of one deal."""


class SolverSettler:
    """The solver of this package; one worker compiles what is missing while the others wait."""

    modules = ("pipeline.engine.search",)  # loaded once, before workers are forked

    def __init__(self) -> None:
        from pipeline.solver import Solver

        self._solver = Solver()

    def identity(self) -> str:
        """Return the id of the solver here, with the bench signature if that is not what it should be."""
        from pipeline.engine.bench import signature
        from pipeline.version import SIGNATURE, solver_id

        computed = signature()
        return solver_id() if computed == SIGNATURE else f"{solver_id()} with bench {computed}"

    @staticmethod
    def warm(variants: Sequence[Variant]) -> float:
        """Compile what the variants need and the cache lacks, and load the referee, so that no deal's time has it in.

        Returns
        -------
        float
            Seconds that compiling took here, or waiting for another worker that compiled; 0 if nothing was missing.
        """
        from pipeline.engine.compiler import CACHE_DIRECTORY, COMPLETE, is_compiled
        from pipeline.engine.memory import width_of
        from pipeline.referee.replay import load
        from pipeline.solver import warm

        needed = {COMPLETE, *(width_of(len(variant.columns)) for variant in variants)}
        began, compiled = time.perf_counter(), all(map(is_compiled, needed))
        if not compiled:
            CACHE_DIRECTORY.mkdir(parents=True, exist_ok=True)
            with contextlib.ExitStack() as stack:
                with contextlib.suppress(OSError, NotImplementedError):  # a file system without locks: all compile
                    stack.enter_context(FileLock(CACHE_DIRECTORY / "lock"))
                warm(variants, lambda text: log.log(NOTICE, text), complete=True)
                load()
        load()
        return 0.0 if compiled else time.perf_counter() - began

    def settle(self, variant: Variant, numbering: str, seed: int, node_limit: int) -> Outcome:
        """Deal and solve."""
        return self._solver.solve(deal(variant, seed, numbering), node_limit)


@dataclass(frozen=True, slots=True)
class Setup:
    """What every worker of a run needs to know.

    Attributes
    ----------
    settler
        Makes the settler in the worker; an importable function or class. It comes from the caller of `run`, never
        from a file.
    solver
        What the settler's identity must be.
    run_id
        Which run; a worker makes one settler for each.
    variants
        What will be settled, so that what it needs can be compiled first.
    memory
        Most bytes a worker may hold; None for no cap.
    """

    settler: Callable[[], Settler]
    solver: str
    run_id: str
    variants: tuple[Variant, ...] = ()
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Deals handed to a worker at once.

    Attributes
    ----------
    job
        Number of the run's job.
    """

    job: int
    variant: Variant
    numbering: str
    seeds: Sequence[int]
    node_limit: int

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, part: slice) -> Chunk:
        return replace(self, seeds=self.seeds[part])


class ChunkResult(NamedTuple):
    """The result of a chunk.

    Attributes
    ----------
    columns
        The outcomes by column of the dataset, those that differ from deal to deal.
    done
        Deals settled or failed: a worker that is told to stop leaves the rest of the seeds.
    seconds
        Wall time of these.
    compiling
        Seconds the worker compiled before them, or waited for another to compile.
    """

    columns: dict[str, list[Any]]
    failures: list[Failure]
    done: int
    seconds: float
    compiling: float

    @property
    def settled(self) -> int:
        """Deals with an outcome."""
        return len(self.columns["seed"])


class HandshakeError(SolverFault):
    """A worker whose solver is not the run's."""


# ---- in the worker


class _Worker(threading.local):
    """The settler of this process, or of this thread where a Dask worker has several."""

    def __init__(self) -> None:
        self.run_id: str | None = None
        self.settler: Settler | None = None
        self.compiling = 0.0  # seconds, not yet reported

    def ready(self, setup: Setup) -> Settler:
        """Return the settler, made and compared on the first call."""
        if self.run_id != setup.run_id:
            warm = getattr(setup.settler, "warm", None)
            if warm is not None:
                self.compiling = warm(setup.variants)
            self.settler = setup.settler()
            identity = self.settler.identity()
            if identity != setup.solver:
                raise HandshakeError(
                    f"bench mismatch: worker {os.getpid()} on {_host()} computes solver {identity}, this run is of "
                    f"{setup.solver}; install the same winnable everywhere, and clear stale caches"
                )
            self.run_id = setup.run_id
            uncap_memory()
            if setup.memory is not None:
                _cap_memory(setup.memory)
        if self.settler is None:
            self.settler = setup.settler()
        return self.settler


_worker = _Worker()
_stop: Callable[[], object] = bool  # whether to return the chunk after the deal at hand
_before_cap: tuple[int, int] | None = None  # this process's limit of its address space


def settle_chunk(setup: Setup, chunk: Chunk) -> ChunkResult:
    """Settle a chunk; a deal that fails is reported, the others are settled.

    Raises
    ------
    HandshakeError
        This worker's solver is not the run's.
    """
    _worker.ready(setup)
    compiling, _worker.compiling = _worker.compiling, 0.0
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    failures: list[Failure] = []
    began = time.perf_counter()
    done = 0
    for seed in chunk.seeds:
        if _stop():
            break
        done += 1
        start = time.thread_time()
        outcome = _settle_one(setup, chunk, seed)
        if isinstance(outcome, Failure):
            failures.append(outcome)
            # Only here, where the memory of a deal that ran out of it is free again.
            log.error("%s %s %d: %s: %s", chunk.variant.id, chunk.numbering, seed, outcome.kind, outcome.text)
            continue
        seconds.append(time.thread_time() - start)
        outcomes.append(outcome)
    columns = {name: list(map(attrgetter(name), outcomes)) for name in OUTCOME} | {"seconds": seconds}
    return ChunkResult(columns, failures, done, time.perf_counter() - began, compiling)


def _settle_one(setup: Setup, chunk: Chunk, seed: int) -> Outcome | Failure:
    try:
        return _worker.ready(setup).settle(chunk.variant, chunk.numbering, seed, chunk.node_limit)
    except MemoryError:
        _worker.settler = None  # frees what the search has allocated; the next deal starts with a new settler
        return Failure(seed, MEMORY, "needs more memory than a worker may have")
    except SolverFault as error:
        return Failure(seed, FAULT, str(error))
    except Exception as error:
        log.info("%s %s %d failed:", chunk.variant.id, chunk.numbering, seed, exc_info=True)
        return Failure(seed, ERROR, f"{type(error).__name__}: {error}")


def be_ready(setup: Setup) -> int:
    """Make this worker's settler; return the worker's process id.

    Raises
    ------
    HandshakeError
        This worker's solver is not the run's.
    """
    _worker.ready(setup)
    return os.getpid()


def start_worker(stop: Any, log_queue: Any, level: int) -> None:
    """Prepare a worker process: it leaves signals to its parent, dies with it, and sends it what it logs.

    Parameters
    ----------
    stop
        A number shared with the parent: once it is not 0, finish the deal at hand, then return the chunk. No lock
        guards it, so a worker that is killed takes none along.
    log_queue
        Queue of the parent's MultiProcessingHandler; None if it keeps no log.
    level
        The parent's logging level.
    """
    use_stop(lambda: stop.value)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True, name="parent-watch").start()
    if log_queue is not None:
        log_queue.cancel_join_thread()  # that could block forever
        Finalize(None, _send_the_rest, exitpriority=_AFTER_QUEUES_CLOSE)
        root = logging.getLogger("pipeline")
        root.handlers[:] = [logging.handlers.QueueHandler(log_queue)]
        root.setLevel(level)
        root.propagate = False
        # The first record starts a thread, for which there may be no memory later.
        log.info("worker %d starts", os.getpid())


def use_stop(stop: Callable[[], object]) -> None:
    """Ask this after every deal whether to stop."""
    global _stop
    _stop = stop


def _die_with(sentinel: Any) -> None:
    wait([sentinel])
    os._exit(1)


def _send_the_rest() -> None:
    """Wait for the thread that sends this worker's records, but not for long: a killed worker may hold its lock."""
    deadline = time.monotonic() + SENDING
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":  # multiprocessing's own; the queue keeps it to itself
            thread.join(max(0.0, deadline - time.monotonic()))


def _cap_memory(most: int) -> None:
    """Limit the address space so that about `most` bytes may be resident, until `uncap_memory`.

    What is reserved but not resident now (code, thread stacks, the compiler's arenas) does not count.
    """
    global _before_cap
    try:
        import resource
    except ImportError:
        log.warning("this system cannot cap a worker's memory")
        return
    reserved, resident = _pages()
    limit = max(reserved - resident + most, reserved)
    _soft, hard = _before_cap = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def uncap_memory() -> None:
    """Take the cap away again where this process outlives its run: a notebook, a Dask worker."""
    global _before_cap
    if _before_cap is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, _before_cap)
        _before_cap = None


def _pages() -> tuple[int, int]:
    """Return reserved and resident bytes of this process; zeros where the system does not say."""
    try:
        words = Path("/proc/self/statm").read_text(encoding="ascii").split()
        reserved, resident, *_ = (int(word) * os.sysconf("SC_PAGESIZE") for word in words)
    except (OSError, ValueError):
        return 0, 0
    return reserved, resident


def _host() -> str:
    import socket

    return socket.gethostname()
