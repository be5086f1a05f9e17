"""Settling deals for the library and for pools: runs into a dataset, and tasks for worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.seeds import Seeds, check_span, given_seeds
from pipeline.errors import UsageError
from pipeline.game.deals import check_numbering
from pipeline.game.variants import Variant
from pipeline.runs.executors import make_executor
from pipeline.runs.flight import each
from pipeline.runs.progress import Progress
from pipeline.runs.run import run
from pipeline.runs.settings import Deals, RunSettings, usable_cores
from pipeline.runs.summary import RunSummary

D = TypeVar("D")
T = TypeVar("T")
_INLINE = 64  # deals that are not worth starting a worker for


@dataclass(frozen=True, slots=True)
class Settling:
    """How deals are settled.

    Attributes
    ----------
    data
        The dataset to read known rows from and to add new ones to.
    workers
        Worker processes; None for one per core.
    progress, echo
        Follow the run and get its messages; None for neither.
    """

    data: Path
    workers: int | None = None
    progress: Progress | None = None
    echo: Callable[[str], None] | None = None

    def settings(self, deals: Sequence[Deals]) -> RunSettings:
        """Return the settings of a run over some deals."""
        workers = self.workers or usable_cores()
        return RunSettings(self.data, tuple(deals), workers, executor="inline" if workers == 1 else "processes")

    def settle(self, variant: Variant, numbering: str, seeds: Seeds, node_limit: int) -> RunSummary:
        """Settle what the dataset lacks of these deals.

        Parameters
        ----------
        variant, numbering, seeds
            The deals.
        node_limit
            Most positions per deal.

        Raises
        ------
        Signalled
            A signal ended it early; what is settled is kept in the dataset.
        SolverFault, PartialFailure
            A deal could not be settled.
        """
        summary = run(
            self.settings([Deals(variant, numbering, seeds, node_limit)]), progress=self.progress, echo=self.echo
        )
        summary.raise_if_unfinished()
        return summary

    def each(
        self,
        task: Callable[[Variant, str, Sequence[D]], list[T]],
        variant: Variant,
        numbering: str,
        deals: Sequence[D],
        advance: Callable[[int], None] = lambda _count: None,
    ) -> list[T]:
        """Do a task on deals, in worker processes if there are many; return results in order (see `flight.each`)."""
        if len(deals) <= _INLINE:
            return task(variant, numbering, deals)
        with make_executor(self.settings([])) as executor:
            return each(executor, task, variant, numbering, deals, advance)


def seeds_of_deals(variant: Variant, numbering: str, seeds: Iterable[SupportsIndex]) -> Seeds:
    """Return numbers of deals as a set of seeds.

    Parameters
    ----------
    variant, numbering
        What the numbers must belong to.
    seeds
        Whole numbers, such as a range, a list or a numpy array, in any order, repeated or not.

    Raises
    ------
    UsageError
        The variant has no such numbering, the numbering no such number, or there are none; or these are no integers.
    """
    check_numbering(variant, numbering)
    wanted = given_seeds(seeds)
    if not wanted:
        raise UsageError("no seeds: there is nothing to settle")
    check_span(wanted, numbering)
    return wanted


def won_within(table: pa.Table, node_limit: int) -> pa.ChunkedArray:
    """Return which rows were won within `node_limit` positions, as a run at that limit would have won them."""
    return pc.and_(pc.equal(table["verdict"].cast(pa.string()), "won"), pc.less_equal(table["positions"], node_limit))
