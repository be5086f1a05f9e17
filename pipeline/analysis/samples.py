"""One variant's outcomes as arrays, with the planned deals that have no outcome."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis.plans import Plans, UnfinishedRun, planned
from pipeline.analysis.statistics import Counts, Flags, Quantiles, quantiles
from pipeline.dataset.manifest import RunRecord
from pipeline.dataset.rows import seeds_of
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError
from pipeline.game.variants import Variant, load_variant, variant_ids

log = logging.getLogger(__name__)

COLUMNS = ("seed", "verdict", "positions", "node_limit", "moves", "score", "seconds", "solver", "run_id")


@dataclass(frozen=True, slots=True)
class Sample:
    """Outcomes of one variant and numbering, by ascending seed.

    Attributes
    ----------
    seeds, positions, node_limits
        int64, shape (n,); the positions of an unsettled deal are its node limit.
    won, lost
        Flags, shape (n,); a deal with neither is unsettled.
    moves, scores
        int64, shape (n,); 0 unless won.
    seconds
        float64, shape (n,): processor time per deal, NaN if it was not kept.
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
    seeds: Counts
    won: Flags
    lost: Flags
    positions: Counts
    node_limits: Counts
    moves: Counts
    scores: Counts
    seconds: np.ndarray
    missing_at: tuple[tuple[int, int], ...] = ()
    unfinished: tuple[UnfinishedRun, ...] = ()
    solvers: tuple[tuple[str, int], ...] = ()
    runs: tuple[tuple[str, int], ...] = ()

    @property
    def unsettled(self) -> Flags:
        """Flags of the unsettled deals, shape (n,)."""
        return ~(self.won | self.lost)

    @property
    def missing(self) -> int:
        """Number of deals without an outcome."""
        return sum(count for _limit, count in self.missing_at)

    @property
    def deals(self) -> int:
        """Number of deals, missing ones included."""
        return int(self.seeds.size) + self.missing

    @property
    def node_limit(self) -> int:
        """The limit the whole sample was searched to.

        The smallest among the unsettled deals, those planned and missing included; the largest used if there are none.
        """
        limits = [limit for limit, _count in self.missing_at if limit]
        if self.unsettled.any():
            limits.append(int(self.node_limits[self.unsettled].min()))
        if limits:
            return min(limits)
        return int(self.node_limits.max()) if self.seeds.size else 0

    def won_within(self, limit: int) -> int | None:
        """Return the number of deals won within `limit` positions; None if some were not searched that far."""
        if limit > self.node_limit and (self.missing or self.unsettled.any()):
            return None
        return int((self.positions[self.won] <= limit).sum())

    def positions_summary(self) -> Quantiles | None:
        """Summarise the positions of all deals, missing ones at their planned limit; None without deals."""
        return quantiles(self.positions, [(limit or self.node_limit, count) for limit, count in self.missing_at])


def sample_of(
    table: pa.Table,
    variant: Variant,
    numbering: str,
    missing_at: tuple[tuple[int, int], ...] = (),
    unfinished: tuple[UnfinishedRun, ...] = (),
) -> Sample:
    """Make a `Sample` of a table with the columns `COLUMNS`, sorted by seed."""
    verdict = table.column("verdict")
    won, lost = (_numpy(pc.equal(verdict, word)).astype(bool) for word in ("won", "lost"))
    limits = _numpy(table.column("node_limit"))
    # The search may end a little before its limit; the deal was still given all of it.
    positions = np.where(won | lost, _numpy(table.column("positions")), limits)
    return Sample(
        variant=variant,
        numbering=numbering,
        seeds=_numpy(table.column("seed")),
        won=won,
        lost=lost,
        positions=positions,
        node_limits=limits,
        moves=_numpy(pc.fill_null(table.column("moves").cast(pa.int64()), 0)),
        scores=_numpy(pc.fill_null(table.column("score").cast(pa.int64()), 0)),
        seconds=_numpy(table.column("seconds").cast(pa.float64())),
        missing_at=missing_at,
        unfinished=unfinished,
        solvers=_tally(table.column("solver")),
        runs=_tally(table.column("run_id")),
    )


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
    plans = planned(runs)
    asked = {variant.id: variant for variant in variants}
    found, left_out = [], []
    for partition in _in_order({*store.partitions(), *plans}):
        if (not asked or partition.variant in asked) and numbering in (None, partition.numbering):
            variant = asked.get(partition.variant) or _packaged(partition.variant)
            if variant is None:
                left_out.append(partition.variant)
                continue
            sample = _read_sample(store, partition, variant, plans.get(partition, Plans()), seeds)
            if sample.seeds.size or (sample.missing and seeds is None):
                found.append(sample)
    if left_out:
        names = ", ".join(dict.fromkeys(left_out))
        text = f"{store.data}: {names} did not come with winnable: expected its file, by --variant"
        if not found:
            raise StoreError(text)
        log.warning("%s; left out", text)
    absent = [name for name in asked if name not in {sample.variant.id for sample in found}]
    if absent or not found:
        what = ", ".join(absent) or "any variant"
        where = "" if seeds is None else f" among seeds {seeds}"
        raise StoreError(f"{store.data} has no outcomes of {what}{where}: settle deals by 'winnable run' first")
    return found


def _in_order(partitions: Iterable[Partition]) -> list[Partition]:
    known = {name: place for place, name in enumerate(variant_ids())}
    return sorted(partitions, key=lambda p: (known.get(p.variant, len(known)), p))


def _packaged(name: str) -> Variant | None:
    return load_variant(name) if name in variant_ids() else None


def _read_sample(store: Store, partition: Partition, variant: Variant, plans: Plans, only: Seeds | None) -> Sample:
    store.check_rules(partition, variant.rules_hash)
    table = store.read(*partition, columns=list(COLUMNS))
    if only is not None:
        table = table.filter(pa.array(only.among(seeds_of(table))))
    had = seeds_of(table)
    return sample_of(table, variant, partition.numbering, plans.missing(had, only), plans.unfinished(had, only))


def _numpy(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_numpy())


def _tally(column: pa.ChunkedArray) -> tuple[tuple[str, int], ...]:
    counts = pc.value_counts(column.cast(pa.string())).to_pylist()
    return tuple(sorted((str(entry["values"]), int(entry["counts"])) for entry in counts if entry["values"]))
