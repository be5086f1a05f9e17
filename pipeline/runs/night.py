"""A night's plan: which new deals, which old ones again, and how far it has come.

The plan is made once and kept in `data/nights/<date>.json`, because "the next deals" change while the night works.
Every step asks the dataset what is left of the plan, so a killed night continues where it was, and a finished one does
nothing. Deals that an earlier night did not reach are added to the next plan.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset import lock
from pipeline.dataset.files import make_directory, read_json, write_json
from pipeline.dataset.rows import count_values, seeds_of
from pipeline.dataset.schema import VERDICTS
from pipeline.dataset.seeds import Seeds, parse_texts
from pipeline.dataset.store import Partition, Store
from pipeline.game.deals import DATASET_SEEDS
from pipeline.runs.settings import NIGHTLY, Deals, NightlySettings, RunSettings

RUNNING = "running"  # or killed
CUT = "cut"  # its time was up: a report was made, deals are left
FAULTY = "faulty"  # the dataset did not stand the check; no report
FINISHED = "finished"
FORMAT = 1

DEFAULTS = NightlySettings(**{setting.key: setting.default for setting in NIGHTLY})


@dataclass(slots=True)
class Night:
    """A night's plan and its result.

    Attributes
    ----------
    new
        Deals to settle at the run's node limit, by partition.
    retry
        Unsettled deals to try again at the larger limit; a partition is in it once its new deals are done.
    summary
        The night in numbers, once it is over.
    """

    date: str
    status: str = RUNNING
    new: dict[Partition, Seeds] = field(default_factory=dict)
    retry: dict[Partition, Seeds] = field(default_factory=dict)
    summary: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a set of deals has ended so far; `missing` deals have no outcome yet."""

    deals: int
    won: int
    lost: int
    unsettled: int

    @property
    def missing(self) -> int:
        """Deals without an outcome."""
        return self.deals - self.won - self.lost - self.unsettled

    def record(self) -> dict[str, int]:
        """Return all counts by name."""
        return {**asdict(self), "missing": self.missing}


class Nights:
    """The nights of a dataset.

    Parameters
    ----------
    store
        The dataset.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.folder = store.data / "nights"

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Keep other nights away from the dataset.

        Raises
        ------
        BusyError
            Another night is at work.
        """
        with lock.hold(self.folder / ".lock", "nightly"):
            yield

    def dates(self) -> list[str]:
        """Return the dates of the nights so far, oldest first."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def load(self, day: str) -> Night:
        """Return a night, a new one if there is none of that date.

        Raises
        ------
        StoreError
            Its file is damaged.
        """

        def parse(content: dict[str, Any]) -> Night:
            if content["format"] != FORMAT or content["status"] not in (RUNNING, CUT, FAULTY, FINISHED):
                raise ValueError
            new, retry = (
                {Partition(*name.split("/")): parse_texts(texts) for name, texts in content[key].items()}
                for key in ("new", "retry")
            )
            return Night(day, content["status"], new, retry, content["summary"])

        path = self.folder / f"{day}.json"
        return read_json(path, "file of a night", parse, "; remove it to begin anew") if path.exists() else Night(day)

    def save(self, night: Night) -> None:
        """Keep a night."""
        content = {
            "format": FORMAT,
            "date": night.date,
            "status": night.status,
            "new": _plan_json(night.new),
            "retry": _plan_json(night.retry),
            "summary": night.summary,
        }
        make_directory(self.folder)
        make_directory(self.store.staging)
        write_json(self.folder / f"{night.date}.json", content, self.store.staging)

    def plan(self, night: Night, deals: Iterable[Deals], settings: NightlySettings) -> None:
        """Plan the new deals of each variant that has no plan yet, and the deals that earlier nights left.

        Parameters
        ----------
        night
            The night to plan; changed in place.
        deals
            The variants and numberings; their own seeds do not count.
        settings
            How many deals, and from which seed on.
        """
        unfinished = [old for old in map(self.load, self.dates()) if old.date < night.date and old.status != FINISHED]
        own = dict(settings.seeds_of)
        for job in deals:
            partition = job.partition
            if partition not in night.new:
                table = self.store.read(*partition, ["seed"])
                allowed = DATASET_SEEDS[job.numbering]
                settled = seeds_of(table)
                left = Seeds.of(piece for old in unfinished for piece in old.new.get(partition, Seeds(())).ranges)
                left = left.without(settled)
                taken = np.union1d(settled, np.fromiter(left, np.int64))
                fresh = Seeds.of([range(max(settings.first_seed, allowed.start), allowed.stop)]).without(taken)
                fresh = fresh.slice(0, own.get(job.variant.id, settings.seeds))
                night.new[partition] = Seeds.of([*left.ranges, *fresh.ranges])

    def plan_retries(self, night: Night, deals: Iterable[Deals], settings: NightlySettings) -> None:
        """Choose the unsettled deals to try again, the smallest seeds first, for each variant without a choice."""
        for job in deals:
            partition = job.partition
            if partition not in night.retry:
                table = self.store.read(*partition, ["seed", "verdict", "node_limit"])
                open_ = pc.equal(table["verdict"].cast(pa.string()), "unsettled")
                eligible = table.filter(pc.and_(open_, pc.less(table["node_limit"], settings.retry_nodes)))
                night.retry[partition] = Seeds.of_numbers(seeds_of(eligible)[: settings.retry_at_most].tolist())

    def standing(self, partition: Partition, seeds: Seeds) -> Standing:
        """Count how some deals have ended."""
        table = self.store.read(*partition, ["seed", "verdict"])
        wanted = pa.array(seeds.among(seeds_of(table)))
        verdicts = count_values(table["verdict"].cast(pa.string()).filter(wanted))
        return Standing(seeds.count, *(verdicts[word] for word in VERDICTS))

    def distrusted(self, night: Night) -> bool:
        """Whether the last check of the dataset found a fault, so that all must be checked."""
        for day in reversed([day for day in self.dates() if day <= night.date]):
            status = self.load(day).status
            if status != RUNNING:
                return status == FAULTY
        return False


def run_settings(settings: RunSettings, plan: dict[Partition, Seeds], node_limit: int | None = None) -> RunSettings:
    """Return the settings of the run that settles a plan, at least at `node_limit`."""
    jobs = []
    for job in settings.deals:
        seeds = plan.get(job.partition, Seeds(()))
        if seeds:
            jobs.append(
                replace(
                    job,
                    seeds=seeds,
                    node_limit=job.node_limit if node_limit is None else max(node_limit, job.node_limit),
                )
            )
    return replace(settings, deals=tuple(jobs), shard=None, report=False)


def read_date(text: str) -> str:
    """Read a date like 2026-11-30.

    Raises
    ------
    ValueError
        It is none.
    """
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        raise ValueError("a date like 2026-11-30")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ValueError(f"a date like 2026-11-30 ({error})") from None


def _plan_json(plan: dict[Partition, Seeds]) -> dict[str, list[str]]:
    return {str(partition): seeds.texts() for partition, seeds in plan.items()}
