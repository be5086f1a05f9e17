"""The manifests in `runs/`: one per run, with what it planned and what failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pipeline.dataset.files import read_json
from pipeline.dataset.schema import REPAIR
from pipeline.dataset.seeds import Seeds, parse_texts
from pipeline.dataset.store import Partition, Store
from pipeline.errors import UsageError

WITHDRAWN = "withdrawn"  # key of a manifest: when its plan was withdrawn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """Seeds planned to be settled at one node limit."""

    seeds: Seeds
    node_limit: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a report says of a run.

    Attributes
    ----------
    started, finished
        ISO 8601 in UTC; `finished` is empty while the run lasts or if it was killed.
    plans
        The deals it was to settle; empty if the plan was withdrawn.
    """

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
    return sorted((read_run(path) for path in paths), key=lambda run: (run.started, run.id))


def read_run(path: Path) -> RunRecord:
    """Read one manifest.

    Raises
    ------
    StoreError
        It cannot be read; names the file.
    """
    return read_manifest(path, _record)


def read_manifest(path: Path, parse: Callable[[dict[str, Any]], T]) -> T:
    """Read what `parse` takes of a manifest; raises StoreError as `read_run` does."""
    return read_json(path, "manifest of a run", parse, REPAIR)


def _record(content: dict[str, Any]) -> RunRecord:
    return RunRecord(
        id=_word(content["run_id"]),
        started=_word(content["started"]),
        finished=_word(content["finished"] or ""),
        status=_word(content["status"]),
        machine=_machine(content["machine"], content["versions"]),
        plans=() if content.get(WITHDRAWN) else tuple(_plans(content["deals"])),
    )


def _word(value: Any) -> str:
    """Return a word or two, as a run writes them: without markup and control characters for whoever prints them."""
    text = str(value)
    if not re.fullmatch(r"[\w.:+ -]{0,100}", text, re.ASCII):
        raise UsageError(f"{text[:40]!r} is not a plain word")
    return text


def _plans(entries: list[dict[str, Any]]) -> Iterator[tuple[Partition, Plan]]:
    for entry in entries:
        plan = Plan(parse_texts(entry["seeds"]), int(entry["node_limit"]))
        yield Partition(str(entry["variant"]), str(entry["numbering"])), plan


def _machine(machine: dict[str, Any], versions: dict[str, str]) -> str:
    programs = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "winnable")
    text = f"{machine['host']}, {machine['cores']} cores, {machine['system']}; {programs}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)
