"""The manifests in `runs/`: one per run, with what it planned and what failed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.dataset.schema import REPAIR
from pipeline.dataset.seeds import Seeds, parse_seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError, UsageError

WITHDRAWN = "withdrawn"  # key of a manifest: when its plan was withdrawn


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
    with naming(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        return RunRecord(
            id=_word(content["run_id"]),
            started=_word(content["started"]),
            finished=_word(content["finished"] or ""),
            status=_word(content["status"]),
            machine=_machine(content["machine"], content["versions"]),
            plans=() if content.get(WITHDRAWN) else tuple(_plans(content["deals"])),
        )


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn any error while a manifest is read into one that names the file.

    Raises
    ------
    StoreError
        The file cannot be read, or is not the manifest of a run.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, UsageError) as error:
        raise StoreError(f"{path}: not a valid manifest of a run: {_what_is_wrong(error)}{REPAIR}") from error


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from line {error.lineno}, column {error.colno} on"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, UsageError):
        return str(error)
    return "its values are not of the form that a run writes"


def _word(value: Any) -> str:
    """Return a word or two, as a run writes them: without markup and control characters for whoever prints them."""
    text = str(value)
    if not re.fullmatch(r"[\w.:+ -]{0,100}", text, re.ASCII):
        raise ValueError
    return text


def _plans(entries: list[dict[str, Any]]) -> Iterator[tuple[Partition, Plan]]:
    for entry in entries:
        seeds = Seeds.of(parse_seeds(text) for text in entry["seeds"])
        yield Partition(str(entry["variant"]), str(entry["numbering"])), Plan(seeds, int(entry["node_limit"]))


def _machine(machine: dict[str, Any], versions: dict[str, str]) -> str:
    programs = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "winnable")
    text = f"{machine['host']}, {machine['cores']} cores, {machine['system']}; {programs}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)
