"""The plans of runs, by which deals without an outcome are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.dataset.manifest import Plan, RunRecord
from pipeline.dataset.seeds import LAST_SEED, Seeds
from pipeline.dataset.store import Partition


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run with planned deals that have no outcome; other runs may have planned the same ones.

    Attributes
    ----------
    planned, missing
        Deals it planned of one partition, and those of them that have no outcome.
    """

    id: str
    status: str
    planned: int
    missing: int


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of several runs for one partition.

    Attributes
    ----------
    by_limit
        One plan a node limit, the largest first; a seed may be in several, and the first one counts.
    by_run
        What each run planned, the oldest first.
    """

    by_limit: tuple[Plan, ...] = ()
    by_run: tuple[tuple[RunRecord, Seeds], ...] = ()

    @classmethod
    def of(cls, plans: Iterable[Plan], by_run: Iterable[tuple[RunRecord, Seeds]] = ()) -> Plans:
        """Join plans in any order, overlapping or not."""
        pieces: dict[int, list[range]] = {}
        for plan in plans:
            pieces.setdefault(plan.node_limit, []).extend(plan.seeds.ranges)
        joined = tuple(Plan(Seeds.of(pieces[node_limit]), node_limit) for node_limit in sorted(pieces, reverse=True))
        return cls(joined, tuple(by_run))

    def between(self, start: int, stop: int) -> Plans:
        """Return what was planned of the seeds `start` to `stop - 1`."""
        return Plans(
            tuple(Plan(plan.seeds.between(start, stop), plan.node_limit) for plan in self.by_limit),
            tuple((run, seeds.between(start, stop)) for run, seeds in self.by_run),
        )

    @property
    def seeds(self) -> Seeds:
        """All planned seeds."""
        return Seeds.of(piece for plan in self.by_limit for piece in plan.seeds.ranges)

    def missing(self, had: npt.NDArray[np.int64], wanted: Seeds | None = None) -> tuple[tuple[int, int], ...]:
        """Count the deals without an outcome, by the largest node limit each was planned with.

        Parameters
        ----------
        had
            Strictly ascending seeds that have an outcome.
        wanted
            The deals to count; by default those that were planned.

        Returns
        -------
        tuple of (int, int)
            Node limits and counts, the largest limit first; limit 0 for deals that no run planned.
        """
        lacking = (self.seeds if wanted is None else wanted).without(had)
        by_limit, counted, covered = [], 0, Seeds(())
        for plan in self.by_limit:
            covered = Seeds.of([*covered.ranges, *plan.seeds.without(had).ranges])
            inside = _common(covered, lacking)
            by_limit.append((plan.node_limit, inside - counted))
            counted = inside
        by_limit.append((0, lacking.count - counted))
        return tuple((node_limit, count) for node_limit, count in by_limit if count)

    def missing_by_run(self, had: npt.NDArray[np.int64], wanted: Seeds | None = None) -> list[int]:
        """Count for each run its deals without an outcome (see `missing`)."""
        lacking = [seeds.without(had) for _run, seeds in self.by_run]
        return [seeds.count if wanted is None else _common(seeds, wanted) for seeds in lacking]


class Missing:
    """The deals without an outcome, counted while those with one go by in ascending order.

    Parameters
    ----------
    plans
        The plans of one partition.
    wanted
        The deals to count; by default those that were planned.
    """

    def __init__(self, plans: Plans, wanted: Seeds | None = None) -> None:
        self._plans, self._wanted = plans, wanted
        self._next_seed = 0
        self._at = Counter[int]()
        self._by_run = [0] * len(plans.by_run)

    def pass_by(self, had: npt.NDArray[np.int64]) -> None:
        """Take strictly ascending seeds that have an outcome, above those taken before."""
        self._count(int(had[-1]) + 1, had)

    def finish(self) -> None:
        """Count what was planned beyond the last outcome."""
        self._count(LAST_SEED + 1, np.empty(0, np.int64))

    def _count(self, stop: int, had: npt.NDArray[np.int64]) -> None:
        plans = self._plans.between(self._next_seed, stop)
        wanted = self._wanted.between(self._next_seed, stop) if self._wanted is not None else None
        self._at.update(dict(plans.missing(had, wanted)))
        self._by_run = [n + more for n, more in zip(self._by_run, plans.missing_by_run(had, wanted), strict=True)]
        self._next_seed = stop

    @property
    def at(self) -> tuple[tuple[int, int], ...]:
        """Node limits and counts, as `Plans.missing` returns them."""
        return tuple(sorted(self._at.items(), reverse=True))

    @property
    def unfinished(self) -> tuple[UnfinishedRun, ...]:
        """The runs with deals that have no outcome, the oldest first."""
        return tuple(
            UnfinishedRun(run.id, run.status, seeds.count, missing)
            for (run, seeds), missing in zip(self._plans.by_run, self._by_run, strict=True)
            if missing
        )


def planned(runs: Iterable[RunRecord]) -> dict[Partition, Plans]:
    """Join the plans of runs that are not withdrawn, by partition."""
    plans: dict[Partition, list[tuple[RunRecord, Plan]]] = {}
    for run in runs:
        for partition, plan in run.plans:
            plans.setdefault(partition, []).append((run, plan))
    return {
        partition: Plans.of((plan for _, plan in several), ((run, plan.seeds) for run, plan in several))
        for partition, several in plans.items()
    }


def _common(a: Seeds, b: Seeds) -> int:
    return a.count + b.count - Seeds.of([*a.ranges, *b.ranges]).count
