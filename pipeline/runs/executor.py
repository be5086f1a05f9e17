"""What every place to work has in common: `submit` gives a Future, `stop` and `close` end the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


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
    """

    size = 1
    window = 1
    lost: tuple[type[BaseException], ...] = ()

    @abstractmethod
    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Start a task."""

    def check(self) -> None:  # noqa: B027 - nothing to do for most
        """Raise a WinnableError if what was submitted will never end."""

    def explain(self, error: BaseException) -> None:  # noqa: B027
        """Raise a WinnableError if the cause of a task's unforeseen error is known here."""

    def breaks_all(self, error: BaseException) -> bool:
        """Whether that death took every task in flight with it, so that `renew` is called for."""
        return False

    def renew(self) -> None:  # noqa: B027
        """Start new workers after one has died."""

    def stop(self) -> None:  # noqa: B027
        """Ask workers to return their chunks after the deal at hand."""

    @abstractmethod
    def close(self, *, now: bool = False) -> None:
        """End the workers, after their chunks or now."""
