"""What runs planned and who they were, so that deals without an outcome can be counted and figures traced."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.batch.seeds import Seeds, parse_seeds
from pipeline.batch.store import Partition, Store
from pipeline.errors import StoreError, UsageError


@dataclass(frozen=True, slots=True)
class Plan:
    """The seeds that runs planned to settle, and the largest node limit they planned with."""

    seeds: Seeds
    nodes: int


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


def planned(runs: Iterable[RunRecord]) -> dict[Partition, Plan]:
    """Join what runs planned, by partition."""
    plans: dict[Partition, list[Plan]] = {}
    for run in runs:
        for partition, plan in run.plans:
            plans.setdefault(partition, []).append(plan)
    return {partition: _join(several) for partition, several in plans.items()}


def _join(plans: list[Plan]) -> Plan:
    return Plan(Seeds.of(piece for plan in plans for piece in plan.seeds.ranges), max(plan.nodes for plan in plans))


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
