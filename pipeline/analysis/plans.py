"""What runs planned, so that deals without an outcome can be counted."""

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
class Plans:
    """What several runs planned of one partition.

    Attributes
    ----------
    by_limit
        One plan a node limit, the largest first; a seed may be in several, and the first one counts.
    """

    by_limit: tuple[Plan, ...] = ()

    @classmethod
    def of(cls, plans: Iterable[Plan]) -> Plans:
        """Join plans in any order, overlapping or not."""
        pieces: dict[int, list[range]] = {}
        for plan in plans:
            pieces.setdefault(plan.nodes, []).extend(plan.seeds.ranges)
        return cls(tuple(Plan(Seeds.of(pieces[nodes]), nodes) for nodes in sorted(pieces, reverse=True)))

    @property
    def seeds(self) -> Seeds:
        """All that was planned."""
        return Seeds.of(piece for plan in self.by_limit for piece in plan.seeds.ranges)

    def missing(self, had: npt.NDArray[np.int64], wanted: Seeds | None = None) -> tuple[tuple[int, int], ...]:
        """Count the deals without an outcome by the largest node limit that each was planned with.

        Parameters
        ----------
        had
            Strictly ascending seeds that have an outcome.
        wanted
            The deals to count; by default those that were planned.

        Returns
        -------
        tuple of (int, int)
            Node limits and counts, the largest limit first; at 0 those that nobody planned.
        """
        lacking = (self.seeds if wanted is None else wanted).without(had)
        found, counted, covered = [], 0, Seeds(())
        for plan in self.by_limit:
            covered = Seeds.of([*covered.ranges, *plan.seeds.without(had).ranges])
            inside = covered.count + lacking.count - Seeds.of([*covered.ranges, *lacking.ranges]).count
            found.append((plan.nodes, inside - counted))
            counted = inside
        found.append((0, lacking.count - counted))
        return tuple((nodes, count) for nodes, count in found if count)


def planned(runs: Iterable[RunRecord]) -> dict[Partition, Plans]:
    """Join what runs planned, by partition."""
    plans: dict[Partition, list[Plan]] = {}
    for run in runs:
        for partition, plan in run.plans:
            plans.setdefault(partition, []).append(plan)
    return {partition: Plans.of(several) for partition, several in plans.items()}
