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


def planned(store: Store) -> dict[Partition, tuple[Seeds, int]]:
    """Return the seeds all runs of a dataset planned, and the largest node limit, of each partition."""
    return {}
