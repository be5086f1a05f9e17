"""Pieces of work in flight, and what is done when a worker dies with some of them.

A piece whose worker died is tried again alone and halved until the deal that kills its worker is by itself. After
`STRIKES` deaths that deal is given up; everything else is done.
"""

from __future__ import annotations

import logging
import queue
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, Self, TypeVar

from pipeline.dataset.replays import Replay, check_lines
from pipeline.errors import WinnableError
from pipeline.game.variants import Variant
from pipeline.runs.executor import Executor

log = logging.getLogger(__name__)

STRIKES = 3  # times a deal must kill its worker, alone, before it is given up
CANCELLATIONS = 5  # times a cluster may cancel a piece before the work is given up
_TICK = 0.2  # seconds
_PIECE = 200  # deals `each` hands to a worker at once


class Piece(Protocol):
    """Deals that a worker gets at once; slicing gives a smaller piece."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Self: ...


D = TypeVar("D")
T = TypeVar("T")
P = TypeVar("P", bound=Piece)


@dataclass(slots=True)
class _Flown(Generic[P]):
    """A piece, how often it has killed its worker alone, and how often a cluster has cancelled it."""

    piece: P
    strikes: int = 0
    cancellations: int = 0


class Flight(Generic[P, T]):
    """The pieces in flight.

    Parameters
    ----------
    executor
        Where they are worked on.
    submit
        Starts the work on a piece.
    probe
        Raises one of the executor's `lost` if workers cannot even start: tried before the first piece is blamed.
    stopped
        Whether the work has been stopped, so that nobody is blamed any more.
    """

    def __init__(
        self,
        executor: Executor,
        submit: Callable[[P], Future[T]],
        probe: Callable[[], object] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._executor, self._submit, self._probe, self._stopped = executor, submit, probe, stopped
        self._flying: dict[Future[T], _Flown[P]] = {}
        self._landed: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self._suspects: deque[_Flown[P]] = deque()  # were in flight when a worker died; tried again alone
        self._cancelled: deque[_Flown[P]] = deque()  # the cluster dropped them; no deal's fault

    @property
    def busy(self) -> bool:
        """Whether a piece is in flight."""
        return bool(self._flying)

    @property
    def proved(self) -> bool:
        """Whether workers are known to start."""
        return self._probe is None

    def launch(self, waiting: Callable[[], P | None]) -> None:
        """Submit as many pieces as the executor's window holds; suspects first, one at a time.

        Parameters
        ----------
        waiting
            Returns the next piece; None when there are no more.
        """
        if self._suspects:
            if not self._flying:
                self._start(self._suspects.popleft())
            return
        while len(self._flying) < self._executor.window:
            if self._cancelled:
                self._start(self._cancelled.popleft())
            elif (piece := waiting()) is not None:
                self._start(_Flown(piece))
            else:
                return

    def land(self) -> tuple[P, T | None] | None:
        """Wait a moment for a piece to land.

        Returns
        -------
        tuple or None
            A piece and its result, None for a single deal that kills its worker; None if nothing has landed.

        Raises
        ------
        WinnableError
            Workers do not start, or the cluster is gone or cancels the same piece again and again.
        """
        self._executor.check()
        try:
            future = self._landed.get(timeout=_TICK)
        except queue.Empty:
            return None
        flown = self._flying.pop(future, None)
        if flown is None:  # its whole pool was given up
            return None
        try:
            result = future.result()
        except self._executor.lost as error:
            return self._lose(flown, error)
        except CancelledError:
            self._cancel(flown)
            return None
        except Exception as error:
            if self._executor.has_mislaid(error):
                self._cancel(flown)
                return None
            self._executor.explain(error)
            raise
        self._probe = None
        return flown.piece, result

    def _start(self, flown: _Flown[P]) -> None:
        future = self._submit(flown.piece)
        self._flying[future] = flown
        future.add_done_callback(self._landed.put)

    def _lose(self, flown: _Flown[P], error: BaseException) -> tuple[P, None] | None:
        lost = [flown]
        if self._executor.breaks_all(error):
            lost += self._flying.values()
            self._flying.clear()
            self._executor.renew()
        if self._stopped():
            return None
        if self._probe is not None:
            try:
                self._probe()
            except self._executor.lost as error:
                raise WinnableError(f"workers do not start: {error}") from error
            self._probe = None
        if len(lost) > 1:
            log.warning("a worker died; the %d chunks in flight are tried again one by one", len(lost))
            self._suspects.extend(lost)
        elif len(flown.piece) > 1:
            half = len(flown.piece) // 2
            self._suspects.extendleft((_Flown(flown.piece[half:]), _Flown(flown.piece[:half])))
        else:
            flown.strikes += 1
            if flown.strikes == STRIKES:
                return flown.piece, None
            self._suspects.appendleft(flown)
        return None

    def _cancel(self, flown: _Flown[P]) -> None:
        """Hand out again what was cancelled, as by a restart of the cluster's workers."""
        flown.cancellations += 1
        if flown.cancellations == CANCELLATIONS:
            raise WinnableError(
                f"the cluster has cancelled the same {len(flown.piece)} deals {CANCELLATIONS} times; what is settled "
                "is kept, the same command goes on from there"
            )
        self._cancelled.append(flown)


def each(
    executor: Executor,
    task: Callable[[Variant, str, Sequence[D]], list[T]],
    variant: Variant,
    numbering: str,
    deals: Sequence[D],
    advance: Callable[[int], None] = lambda _count: None,
    killed: Callable[[D], T] | None = None,
) -> list[T]:
    """Do a task on deals, a piece at a time; return the results in order.

    Parameters
    ----------
    task
        Returns the results of some deals of a variant and a numbering.
    advance
        Called with the number of deals done since the last call.
    killed
        Makes the result of a deal that kills its worker.

    Raises
    ------
    WinnableError
        A deal kills its worker and `killed` is None, or workers do not start.
    """
    results: dict[int, list[T]] = {}
    pieces = (range(at, min(at + _PIECE, len(deals))) for at in range(0, len(deals), _PIECE))
    flight: Flight[range, list[T]] = Flight(
        executor,
        lambda piece: executor.submit(task, variant, numbering, deals[piece.start : piece.stop]),
        probe=lambda: executor.submit(int).result(),
    )
    while True:
        flight.launch(lambda: next(pieces, None))
        if not flight.busy:
            return [result for at in sorted(results) for result in results[at]]
        landed = flight.land()
        if landed is None:
            continue
        piece, done = landed
        if done is None:
            deal = deals[piece.start]
            if killed is None:
                raise WinnableError(f"{variant.id} {numbering}: {deal!r:.80}: kills its worker, {STRIKES} times")
            done = [killed(deal)]
        results[piece.start] = done
        advance(len(piece))


def replay_with(executor: Executor) -> Replay:
    """Return what replays stored lines in the executor's workers; a line that kills its worker is a fault."""
    return partial(each, executor, check_lines, killed=lambda row: (row.seed, "replaying it kills the worker"))
