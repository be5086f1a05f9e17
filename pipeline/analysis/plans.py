"""What runs planned and who they were, so that deals without an outcome can be counted and figures traced."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.batch.seeds import Seeds
from pipeline.batch.store import Partition, Store


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as a report names it; times are ISO 8601 in UTC."""

    id: str
    started: str
    ended: str
    machine: str
    settled: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The seeds that runs planned to settle, and the largest node limit they planned with."""

    seeds: Seeds
    nodes: int


def planned(store: Store) -> dict[Partition, Plan]:
    """Return what all runs of a dataset planned, by partition."""
    return {}
