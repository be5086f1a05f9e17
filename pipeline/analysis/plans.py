"""What runs planned and who they were, so that deals without an outcome can be counted and figures traced."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.batch.seeds import Seeds, parse_seeds
from pipeline.batch.store import Partition, Store
from pipeline.errors import StoreError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Plan:
    """Seeds planned to be settled at one node limit."""

    seeds: Seeds
    nodes: int


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


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as a report names it; times are ISO 8601 in UTC, the end empty while it runs or if it was killed."""

    id: str
    started: str
    finished: str
    status: str
    machine: str
    plans: tuple[tuple[Partition, Plan], ...]


def read_runs(store: Store) -> list[RunRecord]:
    """Read the manifests of a dataset, oldest first.

    Raises
    ------
    StoreError
        One cannot be read; names the file.
    """
    paths = sorted(store.runs.glob("*.json")) if store.runs.is_dir() else []
    return sorted((_read_run(path) for path in paths), key=lambda run: (run.started, run.id))


def planned(runs: Iterable[RunRecord]) -> dict[Partition, Plans]:
    """Join what runs planned, by partition."""
    plans: dict[Partition, list[Plan]] = {}
    for run in runs:
        for partition, plan in run.plans:
            plans.setdefault(partition, []).append(plan)
    return {partition: Plans.of(several) for partition, several in plans.items()}


def _read_run(path: Path) -> RunRecord:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return RunRecord(
            id=str(content["run_id"]),
            started=str(content["started"]),
            finished=str(content["finished"] or ""),
            status=str(content["status"]),
            machine=_machine(content["machine"], content["versions"]),
            plans=tuple(_plans(content["deals"])),
        )
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise StoreError(f"{path}: no manifest of a run: {type(error).__name__}: {error}") from error


def _plans(entries: list[dict[str, Any]]) -> Iterator[tuple[Partition, Plan]]:
    for entry in entries:
        seeds = Seeds.of(parse_seeds(text) for text in entry["seeds"])
        yield Partition(str(entry["variant"]), str(entry["numbering"])), Plan(seeds, int(entry["node_limit"]))


def _machine(machine: dict[str, Any], versions: dict[str, str]) -> str:
    programs = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "winnable")
    return f"{machine['host']}, {machine['cores']} cores, {machine['system']}; {programs}"
