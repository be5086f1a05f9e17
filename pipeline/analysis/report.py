"""The win-rate report: what the stored outcomes say of each variant, beside what others published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.analysis.published import Beside, beside
from pipeline.analysis.samples import Sample
from pipeline.analysis.statistics import Quantiles, WinRate, quantiles, win_rate

LIMITS = (10_000, 167_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class VariantReport:
    """What is reported of one variant and numbering.

    Attributes
    ----------
    sample
        The outcomes themselves, for figures and lists of deals.
    node_limit
        See `Sample.node_limit`.
    rate
        Counts, bounds and interval; planned deals without an outcome are unsettled ones.
    won_within
        Deals won within each of `LIMITS`; None where some deals were not searched that far.
    positions, moves
        Summaries of the positions of all deals, and of the moves of won lines; None of none.
    deals_per_second
        Deals settled in a second of one core's time; None if times were not kept.
    documented
        Figures others published, with ours beside them.
    """

    sample: Sample
    node_limit: int
    rate: WinRate
    won_within: dict[int, int | None]
    positions: Quantiles | None
    moves: Quantiles | None
    deals_per_second: float | None
    documented: tuple[Beside, ...]

    @property
    def label(self) -> str:
        """The variant's id, with the numbering where it is not our own."""
        plain = self.sample.numbering == "native"
        return self.sample.variant.id if plain else f"{self.sample.variant.id} ({self.sample.numbering})"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a dataset, one entry a variant and numbering."""

    variants: tuple[VariantReport, ...]


def report_of(samples: list[Sample]) -> Report:
    """Report samples in their order."""
    return Report(tuple(_report_variant(sample) for sample in samples))


def _report_variant(sample: Sample) -> VariantReport:
    rate = win_rate(sample.deals, int(sample.won.sum()), int(sample.lost.sum()))
    timed = sample.seconds[sample.seconds > 0]
    return VariantReport(
        sample=sample,
        node_limit=sample.node_limit,
        rate=rate,
        won_within={limit: sample.won_within(limit) for limit in LIMITS},
        positions=sample.positions_summary(),
        moves=quantiles(sample.moves[sample.won]),
        deals_per_second=float(timed.size / timed.sum()) if timed.size else None,
        documented=tuple(beside(figure, sample, rate) for figure in sample.variant.documented),
    )


def report_json(report: Report) -> dict[str, Any]:
    """Return the report as others read it: the fixed form, nothing volatile in it."""
    return {"variants": [_variant_json(entry) for entry in report.variants]}


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
        "proved_win_rate": rate.proved,
        "upper_bound": rate.upper_bound,
        "interval": list(rate.interval),
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
