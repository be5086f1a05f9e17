"""What every place to work has in common: `submit` gives a Future, `stop` and `close` end the work."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from pipeline.game.numbers import counted

T = TypeVar("T")
_FILES, _FILES_PER_WORKER = 32, 4  # open files of this process, at most: twice the measured number


class Executor(ABC):
    """A place to work.

    Attributes
    ----------
    size
        Number of workers.
    window
        How many tasks to keep in flight.
    lost
        What a future raises when the worker of its task has died.
    deserted
        Whether the cluster has no workers at present.
    """

    size = 1
    window = 1
    lost: tuple[type[BaseException], ...] = ()
    deserted = False

    @abstractmethod
    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Start a task."""

    def check(self) -> None:  # noqa: B027 - nothing to do for most
        """Raise a WinnableError if what was submitted will never end."""

    def has_mislaid(self, error: BaseException) -> bool:
        """Whether the error only means that a result was lost on its way, so that the task can run again."""
        return False

    def explain(self, error: BaseException) -> None:  # noqa: B027
        """Raise a WinnableError if the cause of a task's unforeseen error is known here."""

    def breaks_all(self, error: BaseException) -> bool:
        """Whether that death took every task in flight with it, so that `renew` is called for."""
        return False

    def renew(self) -> None:  # noqa: B027
        """Start new workers after one has died."""

    def stop(self) -> None:  # noqa: B027
        """Ask workers to return their chunks after the deal at hand."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        self.close(now=kind is not None)

    @abstractmethod
    def close(self, *, now: bool = False) -> None:
        """End the workers, after their chunks or now."""


def allow_files(size: int, each: int = _FILES_PER_WORKER) -> None:
    """Raise this process's limit on open files to what that many workers need for their pipes.

    At a lower limit Python's own helpers and Dask fail or hang, even at exit.

    Raises
    ------
    OSError
        The system does not allow so many.
    """
    try:
        import resource
    except ImportError:  # Windows knows no such limit
        return

    needed = _FILES + each * size
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise OSError(errno.EMFILE, f"{counted(size, 'worker')} may need {needed:,} open files, {hard:,} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
