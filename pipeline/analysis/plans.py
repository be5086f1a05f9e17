"""The plans of runs, by which deals without an outcome are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.dataset.manifest import Plan, RunRecord
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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
            pieces.setdefault(plan.nodes, []).extend(plan.seeds.ranges)
        joined = tuple(Plan(Seeds.of(pieces[nodes]), nodes) for nodes in sorted(pieces, reverse=True))
        return cls(joined, tuple(by_run))

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
        found, counted, covered = [], 0, Seeds(())
        for plan in self.by_limit:
            covered = Seeds.of([*covered.ranges, *plan.seeds.without(had).ranges])
            inside = _common(covered, lacking)
            found.append((plan.nodes, inside - counted))
            counted = inside
        found.append((0, lacking.count - counted))
        return tuple((nodes, count) for nodes, count in found if count)

    def unfinished(self, had: npt.NDArray[np.int64], wanted: Seeds | None = None) -> tuple[UnfinishedRun, ...]:
        """Return the runs with deals that have no outcome, the oldest first (see `missing`)."""
        found = []
        for run, seeds in self.by_run:
            lacking = seeds.without(had)
            missing = lacking.count if wanted is None else _common(lacking, wanted)
            if missing:
                found.append(UnfinishedRun(run.id, run.status, seeds.count, missing))
        return tuple(found)


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


def _common(one: Seeds, other: Seeds) -> int:
    """Return the number of seeds in both."""
    return one.count + other.count - Seeds.of([*one.ranges, *other.ranges]).count
