"""One variant's outcomes in counts, with the planned deals that have no outcome.

A sample keeps how often each number of positions occurs, not rows, so that its memory does not grow with the dataset;
every figure of a report is exact all the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis.plans import Missing, Plans, UnfinishedRun, planned
from pipeline.analysis.selection import check_present, partitions_of
from pipeline.analysis.statistics import Counts, Quantiles, Tally
from pipeline.dataset.losses import checked_losses
from pipeline.dataset.manifest import RunRecord
from pipeline.dataset.rows import count_values, seeds_of
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Store
from pipeline.game.variants import Variant

COLUMNS = ("seed", "verdict", "positions", "node_limit", "moves", "seconds", "solver", "run_id")
HARDEST = 10
_PENDING = 1_000_000  # distinct values that wait to be joined to a tally


class HardDeal(NamedTuple):
    """A deal that took many positions or is unsettled; the positions of an unsettled deal are its node limit."""

    seed: int
    verdict: str
    positions: int
    node_limit: int
    moves: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """Outcomes of one variant and numbering.

    Attributes
    ----------
    first, last
        The smallest and the largest seed with an outcome; 0 without any.
    won, lost, unsettled
        Positions of the deals of each verdict, of unsettled ones their node limits.
    moves
        Moves of the lines of won deals.
    losses_checked
        Lost deals that were proved again, each by a checked certificate.
    largest_limit
        The largest node limit of a deal with an outcome; 0 without any.
    timed, seconds
        The deals whose time was kept, and their processor time together.
    hardest
        At most `HARDEST` deals: unsettled ones first, then by positions, ties by seed.
    missing_at
        Deals without an outcome, which count as unsettled: pairs of a node limit and the number of deals planned with
        it; limit 0 for deals that no run planned.
    unfinished
        The runs that planned them.
    solvers, runs
        Deals settled by each solver version, and by each run.
    """

    variant: Variant
    numbering: str
    first: int
    last: int
    won: Tally
    lost: Tally
    unsettled: Tally
    moves: Tally
    losses_checked: int
    largest_limit: int
    timed: int
    seconds: float
    hardest: tuple[HardDeal, ...]
    missing_at: tuple[tuple[int, int], ...] = ()
    unfinished: tuple[UnfinishedRun, ...] = ()
    solvers: tuple[tuple[str, int], ...] = ()
    runs: tuple[tuple[str, int], ...] = ()

    @property
    def searched(self) -> int:
        """Number of deals with an outcome."""
        return self.won.total + self.lost.total + self.unsettled.total

    @property
    def missing(self) -> int:
        """Number of deals without an outcome."""
        return sum(count for _limit, count in self.missing_at)

    @property
    def deals(self) -> int:
        """Number of deals, missing ones included."""
        return self.searched + self.missing

    @property
    def open(self) -> bool:
        """Whether some deals are unsettled or missing."""
        return self.unsettled.total + self.missing > 0

    @property
    def node_limit(self) -> int:
        """The limit the whole sample was searched to.

        The smallest among the unsettled deals, those planned and missing included; the largest used if there are none.
        """
        limits = [*(limit for limit, _count in self.missing_at if limit), *self.unsettled.values[:1].tolist()]
        return min(limits, default=self.largest_limit)

    def won_within(self, limit: int) -> int | None:
        """Return the number of deals won within `limit` positions; None if some were not searched that far."""
        if limit > self.node_limit and self.open:
            return None
        return int(self.won.within(np.array([limit]))[0])

    def positions_summary(self) -> Quantiles | None:
        """Summarise the positions of the deals with an outcome, unsettled ones at their limit; None without any."""
        return Tally.joined([self.won, self.lost, self.unsettled]).quantiles()


def sample_of(
    tables: Iterable[pa.Table],
    variant: Variant,
    numbering: str,
    plans: Plans | None = None,
    wanted: Seeds | None = None,
    checked: Seeds | None = None,
) -> Sample:
    """Make a `Sample` of rows.

    Parameters
    ----------
    tables
        Rows with the columns `COLUMNS`, together by ascending seed; no table is empty.
    plans
        What runs planned.
    wanted
        The deals to count, all rows among them; by default those that were planned or have a row.
    checked
        Lost deals that were proved again; none by default.
    """
    positions = {verdict: _Growing() for verdict in ("won", "lost", "unsettled")}
    moves = _Growing()
    missing = Missing(plans or Plans(), wanted)
    solvers, runs = Counter[str](), Counter[str]()
    hardest: list[HardDeal] = []
    seconds: list[float] = []
    ends: list[int] = []
    timed = largest_limit = losses_checked = 0
    for table in tables:
        seeds = seeds_of(table)
        ends = [*ends[:1], *map(int, seeds[[0, -1]])]
        missing.pass_by(seeds)
        verdicts = table["verdict"].cast(pa.string())
        for verdict, tally in positions.items():
            tally.add(table["positions"].filter(pc.equal(verdicts, verdict)).to_numpy())
        if checked:
            losses_checked += int(checked.among(seeds[pc.equal(verdicts, "lost").to_numpy()]).sum())
        moves.add(table["moves"].drop_null().to_numpy())
        largest_limit = max(largest_limit, pc.max(table["node_limit"]).as_py())
        times = table["seconds"].cast(pa.float64()).to_numpy()
        timed += int((times > 0).sum())
        seconds.append(float(times[times > 0].sum()))
        solvers += count_values(table["solver"].cast(pa.string()))
        runs += count_values(table["run_id"].cast(pa.string()))
        hardest = _hardest(hardest, table)
    missing.finish()
    return Sample(
        variant=variant,
        numbering=numbering,
        first=ends[0] if ends else 0,
        last=ends[-1] if ends else 0,
        won=positions["won"].tally(),
        lost=positions["lost"].tally(),
        unsettled=positions["unsettled"].tally(),
        moves=moves.tally(),
        losses_checked=losses_checked,
        largest_limit=largest_limit,
        timed=timed,
        seconds=math.fsum(seconds),
        hardest=tuple(hardest),
        missing_at=missing.at,
        unfinished=missing.unfinished,
        solvers=tuple(sorted(solvers.items())),
        runs=tuple(sorted(runs.items())),
    )


class _Growing:
    """A tally of counts that come in turn."""

    def __init__(self) -> None:
        self._tallies: list[Tally] = []

    def add(self, counts: Counts) -> None:
        self._tallies.append(Tally.of(counts))
        if sum(tally.values.size for tally in self._tallies[1:]) > _PENDING:
            self._tallies = [self.tally()]

    def tally(self) -> Tally:
        return Tally.joined(self._tallies)


def _hardest(before: list[HardDeal], table: pa.Table) -> list[HardDeal]:
    """Return the hardest deals of those before, whose seeds are smaller, and of a table."""
    settled = pc.not_equal(table["verdict"].cast(pa.string()), "unsettled").to_numpy()
    order = np.lexsort((-table["positions"].to_numpy(), settled))[:HARDEST]
    hard = [HardDeal(**row) for row in table.select(HardDeal._fields).take(order).to_pylist()]
    return sorted([*before, *hard], key=lambda deal: (deal.verdict != "unsettled", -deal.positions))[:HARDEST]


def read_samples(
    store: Store,
    runs: Iterable[RunRecord] = (),
    *,
    variants: Sequence[Variant] = (),
    numbering: str | None = None,
    seeds: Seeds | None = None,
) -> list[Sample]:
    """Read a dataset: one sample per variant and numbering, the main variants first.

    Parameters
    ----------
    runs
        The runs of the dataset, for what they planned.
    variants, numbering
        What to read; by default all packaged variants. A warning names others in the dataset.
    seeds
        The deals to count, missing if they have no outcome; by default those that runs planned or settled.

    Raises
    ------
    StoreError
        The dataset cannot be read, has other rules, or has no such outcomes.
    """
    plans, checked = planned(runs), checked_losses(store)
    samples = []
    for partition, variant in partitions_of(store, variants, numbering, planned=plans):
        tables = store.scan(partition, COLUMNS, seeds)
        sample = sample_of(tables, variant, partition.numbering, plans.get(partition), seeds, checked.get(partition))
        if sample.searched or (sample.missing and seeds is None):
            samples.append(sample)
    check_present(store, [sample.variant.id for sample in samples], variants, seeds)
    return samples
