"""Cutting what is missing into chunks of about equal time, by the pace of the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.dataset.seeds import Seeds, len_of
from pipeline.runs.settings import Deals
from pipeline.runs.workers import Chunk, ChunkResult

CHUNK_SECONDS = 0.3
CHUNK_DEALS = 4096
_FIRST_CHUNK = 4
_GROWTH = 4


@dataclass(slots=True)
class JobCounts:
    """How a job's deals ended: planned in all, present before, and settled or failed in this run."""

    planned: int
    present: int
    won: int = 0
    lost: int = 0
    unsettled: int = 0
    failed: int = 0

    @property
    def settled(self) -> int:
        """Deals settled in this run."""
        return self.won + self.lost + self.unsettled

    @property
    def left(self) -> int:
        """Deals still without an outcome."""
        return self.planned - self.present - self.settled - self.failed


@dataclass(slots=True)
class Pace:
    """The size of the next chunk.

    Attributes
    ----------
    fixed
        The number of deals, if it is not to adapt.
    """

    fixed: int | None = None
    _size: int = _FIRST_CHUNK
    _deals: float = 0.0
    _seconds: float = 0.0

    def learn(self, result: ChunkResult) -> None:
        """Take a chunk's time into account; older ones fade."""
        self._deals = self._deals * 0.8 + result.done
        self._seconds = self._seconds * 0.8 + result.seconds

    def size(self) -> int:
        """Return the number of deals of the next chunk."""
        if self.fixed is not None:
            return self.fixed
        if self._deals:
            wanted = CHUNK_SECONDS * self._deals / max(self._seconds, 1e-9)
            self._size = max(1, int(min(wanted, self._size * _GROWTH, CHUNK_DEALS)))
        return self._size


@dataclass(slots=True)
class Job:
    """One variant's missing deals within a run, handed out in order."""

    number: int
    deals: Deals
    missing: Seeds
    pace: Pace
    counts: JobCounts
    _left: deque[range] = field(default_factory=deque)

    @classmethod
    def of(cls, number: int, deals: Deals, missing: Seeds, chunk: int | None) -> Job:
        """Make the job that settles the `missing` ones of `deals`."""
        planned = deals.seeds.count
        counts = JobCounts(planned, planned - missing.count)
        return cls(number, deals, missing, Pace(chunk), counts, deque(missing.ranges))

    def next_chunk(self, at_most: int) -> Chunk | None:
        """Hand out the next deals; None when there are no more."""
        wanted = max(1, min(self.pace.size(), at_most))
        pieces: list[range] = []
        while wanted and self._left:
            piece = self._left.popleft()
            if len_of(piece) > wanted:
                self._left.appendleft(range(piece.start + wanted, piece.stop))
                piece = range(piece.start, piece.start + wanted)
            pieces.append(piece)
            wanted -= len(piece)
        if not pieces:
            return None
        seeds: Sequence[int] = pieces[0] if len(pieces) == 1 else [seed for piece in pieces for seed in piece]
        return Chunk(self.number, self.deals.variant, self.deals.numbering, seeds, self.deals.node_limit)
