"""The win-rate report: the outcomes of each variant, beside published figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.analysis.published import Beside, beside
from pipeline.analysis.samples import Sample
from pipeline.analysis.statistics import Quantiles, WinRate, win_rate
from pipeline.version import __version__

GENERATOR = f"winnable {__version__}"
LIMITS = (10_000, 167_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class VariantReport:
    """The report of one variant and numbering.

    Attributes
    ----------
    sample
        The outcomes themselves, for figures and lists of deals.
    node_limit
        See `Sample.node_limit`.
    rate
        Counts, bounds and interval; planned deals without an outcome count as unsettled.
    searched
        The same, over deals with an outcome.
    won_within
        Deals won within each limit; None if some deals were not searched that far.
    positions, moves
        Summaries of the positions of deals with an outcome, and of the moves of won lines; None without any.
    deals_per_second
        Deals settled per second of processor time; None if times were not kept.
    documented
        Published figures, with ours beside them.
    """

    sample: Sample
    node_limit: int
    rate: WinRate
    searched: WinRate
    won_within: dict[int, int | None]
    positions: Quantiles | None
    moves: Quantiles | None
    deals_per_second: float | None
    documented: tuple[Beside, ...]

    @property
    def label(self) -> str:
        """The variant's id, with the numbering unless it is native."""
        plain = self.sample.numbering == "native"
        return self.sample.variant.id if plain else f"{self.sample.variant.id} ({self.sample.numbering})"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a dataset, one entry a variant and numbering.

    Attributes
    ----------
    limits
        The numbers of positions within which wins are counted, ascending.
    date
        The night it is of, like 2026-11-30; None of any other report.
    """

    variants: tuple[VariantReport, ...]
    limits: tuple[int, ...] = LIMITS
    date: str | None = None

    @property
    def missing(self) -> int:
        """Deals planned without an outcome."""
        return sum(entry.sample.missing for entry in self.variants)

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers that settled its deals."""
        return tuple(sorted({solver for entry in self.variants for solver, _ in entry.sample.solvers}))


def report_of(samples: Sequence[Sample], within: Iterable[int] = (), date: str | None = None) -> Report:
    """Report samples in their order.

    Parameters
    ----------
    within
        Numbers of positions within which to count wins, besides `LIMITS`.
    date
        The night the report is of.
    """
    limits = tuple(sorted({*LIMITS, *within}))
    return Report(tuple(_report_variant(sample, limits) for sample in samples), limits, date)


def _report_variant(sample: Sample, limits: tuple[int, ...]) -> VariantReport:
    won, lost = sample.won.total, sample.lost.total
    rate = win_rate(sample.deals, won, lost)
    return VariantReport(
        sample=sample,
        node_limit=sample.node_limit,
        rate=rate,
        searched=win_rate(sample.searched, won, lost),
        won_within={limit: sample.won_within(limit) for limit in limits},
        positions=sample.positions_summary(),
        moves=sample.moves.quantiles(),
        deals_per_second=sample.timed / sample.seconds if sample.timed else None,
        documented=tuple(beside(figure, sample, rate) for figure in sample.variant.documented),
    )


def report_json(report: Report) -> dict[str, Any]:
    """Return the report as others read it: the fixed form, the same for the same dataset."""
    return {
        "generator": GENERATOR,
        "date": report.date,
        "solver": list(report.solvers),
        "variants": [_variant_json(entry) for entry in report.variants],
    }


def _variant_json(entry: VariantReport) -> dict[str, Any]:
    rate, positions = entry.rate, entry.positions
    return {
        "variant": entry.sample.variant.id,
        "numbering": entry.sample.numbering,
        "node_limit": entry.node_limit,
        "deals": rate.deals,
        "won": rate.won,
        "lost": rate.lost,
        "unsettled": rate.unsettled,
        "losses_checked": entry.sample.losses_checked,
        "proved_win_rate": rate.proved,
        "upper_bound": rate.upper_bound,
        "interval": list(rate.interval),
        "missing": entry.sample.missing,
        "searched": {
            "deals": entry.searched.deals,
            "proved_win_rate": entry.searched.proved,
            "upper_bound": entry.searched.upper_bound,
            "interval": list(entry.searched.interval),
        },
        "unfinished_runs": [asdict(run) for run in entry.sample.unfinished],
        "won_within": {str(limit): count for limit, count in entry.won_within.items()},
        "positions": {
            name: getattr(positions, name) if positions else None for name in ("mean", "median", "p90", "p99")
        },
        "documented": [
            {
                "source": figure.documented.source,
                "deals": figure.documented.deals,
                "node_limit": figure.documented.node_limit,
                "proved_win_rate": figure.documented.proved,
                "ours": figure.ours,
            }
            for figure in entry.documented
        ],
    }
