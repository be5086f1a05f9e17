"""The result of a run: a summary for its caller, and its manifest in `runs/`, which `dataset.manifest` reads."""

from __future__ import annotations

import platform
import secrets
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.dataset.files import write_json
from pipeline.dataset.store import Store
from pipeline.errors import PartialFailure, SolverFault
from pipeline.game.numbers import counted
from pipeline.runs.chunks import Job
from pipeline.runs.settings import RunSettings, usable_cores
from pipeline.runs.stopping import SIGNALS, Signalled
from pipeline.runs.workers import FAULT, Failure

_SETTINGS = ("workers", "executor", "retry", "max_time", "memory", "chunk")
_PACKAGES = ("winnable", "numba", "numpy", "pyarrow")


class FailedDeal(NamedTuple):
    """A deal that could not be settled, and why."""

    variant: str
    numbering: str
    failure: Failure

    def __str__(self) -> str:
        return f"{self.variant} {self.numbering} {self.failure.seed}: {self.failure.text}"


@dataclass(slots=True)
class RunSummary:
    """The result of a run.

    Attributes
    ----------
    stopped
        The reason it ended early: `"interrupted"`, `"terminated"`, `"hung up"` or `"max-time"`; None if it did not.
    seconds, compiling
        Wall time, start and end of the workers included; and the part of it spent compiling.
    """

    run_id: str
    jobs: Sequence[Job]
    failed: list[FailedDeal] = field(default_factory=list)
    stopped: str | None = None
    seconds: float = 0.0
    compiling: float = 0.0

    @property
    def settled(self) -> int:
        """Deals settled by this run."""
        return sum(job.counts.settled for job in self.jobs)

    @property
    def left(self) -> int:
        """Deals planned and not settled."""
        return sum(job.counts.left for job in self.jobs)

    def raise_if_unfinished(self) -> None:
        """Raise the error that gives the command its exit code.

        Raises
        ------
        Signalled, SolverFault, PartialFailure
            See `raise_if_stopped` and `raise_if_failed`.
        """
        raise_if_stopped(self.stopped)
        raise_if_failed(self.failed)


def raise_if_stopped(reason: str | None) -> None:
    """Raise what stopped a run, if it was a signal.

    Raises
    ------
    Signalled
        A signal stopped it.
    """
    if reason is not None and reason in SIGNALS.values():
        raise Signalled(reason)


def raise_if_failed(failed: Sequence[FailedDeal]) -> None:
    """Raise an error that names the deals a run could not settle, if there are any.

    Raises
    ------
    SolverFault
        A deal's line did not replay.
    PartialFailure
        A deal failed in another way.
    """
    if not failed:
        return
    faults = [deal for deal in failed if deal.failure.kind == FAULT]
    shown = faults or failed
    named = "; ".join(str(deal) for deal in shown[:5]) + ("; ..." if len(shown) > 5 else "")
    if faults:
        raise SolverFault(f"solver fault in {counted(len(faults), 'deal')}, no row written: {named}")
    raise PartialFailure(f"{counted(len(shown), 'deal')} failed, everything else is done: {named}")


def new_run_id() -> str:
    """Return a run's name: its start and four random digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class Manifest:
    """The JSON file of a run, written when it begins and when it ends."""

    def __init__(self, store: Store, settings: RunSettings, solver: str, run_id: str) -> None:
        self._store, self._settings = store, settings
        self._solver, self._run_id = solver, run_id
        self._started = _now()

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.runs / f"{self._run_id}.json"

    def write(self, summary: RunSummary, status: str) -> None:
        """Write it; `status` is `running`, `finished`, `failed` or why the run stopped."""
        settings = self._settings
        content: dict[str, Any] = {
            "run_id": self._run_id,
            "status": status,
            "started": self._started,
            "finished": None if status == "running" else _now(),
            "seconds": round(summary.seconds, 3),
            "compiling": round(summary.compiling, 3),
            "solver": self._solver,
            "versions": {"python": platform.python_version(), **_versions()},
            "machine": {
                "host": socket.gethostname(),
                "system": platform.platform(),
                "processor": platform.machine(),
                "cores": usable_cores(),
            },
            "settings": {name: getattr(settings, name) for name in _SETTINGS}
            | {"shard": "/".join(map(str, settings.shard)) if settings.shard else None},
            "deals": [_job_entry(job) for job in summary.jobs],
            "failed": [
                {"variant": deal.variant, "numbering": deal.numbering, **deal.failure._asdict()}
                for deal in summary.failed
            ],
        }
        write_json(self.path, content, self._store.staging)


def _job_entry(job: Job) -> dict[str, Any]:
    return {
        "variant": job.deals.variant.id,
        "numbering": job.deals.numbering,
        "rules_hash": job.deals.variant.rules_hash,
        "seeds": job.deals.seeds.texts(),
        "node_limit": job.deals.node_limit,
        **asdict(job.counts),
        "left": job.counts.left,
    }


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
