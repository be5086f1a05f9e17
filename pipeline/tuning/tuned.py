"""The result of a tuning: the comparison on held-out deals, and the weights file with its provenance."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.analysis.statistics import PairedRatio, mcnemar, paired_ratio

if TYPE_CHECKING:
    from pipeline.tuning.tune import Plan

UNSETTLED = 0.7  # about log 2: an unsettled deal counts as one settled at twice the limit


class Effort(NamedTuple):
    """What one deal took: whether it was settled, and the positions reached."""

    settled: bool
    positions: int

    def value(self, limit: int) -> float:
        """Return log(positions / limit), or `UNSETTLED`: the deal's part of a candidate's value (lower is better)."""
        return math.log(max(1, self.positions) / limit) if self.settled else UNSETTLED


@dataclass(frozen=True, slots=True)
class Check:
    """Start and tuned weights on the same held-out deals of a variant.

    Attributes
    ----------
    deals, settled
        Number of deals, and the numbers settled with the start and with the tuned weights.
    only_start, only_tuned
        Deals settled with one set of weights only.
    p_value
        Of the exact McNemar test on `only_start` and `only_tuned`.
    ratio
        Positions with the tuned weights over those with the start, on deals settled with both; None if there are none.
    """

    variant: str
    deals: int
    settled: tuple[int, int]
    only_start: int
    only_tuned: int
    p_value: float
    ratio: PairedRatio | None


def compare(variant: str, start: Sequence[Effort], tuned: Sequence[Effort]) -> Check:
    """Compare two sets of weights on the same deals.

    Parameters
    ----------
    variant
        The id that names the comparison.
    start, tuned
        Effort per deal, in the same order.
    """
    pairs = list(zip(start, tuned, strict=True))
    only_start = sum(a.settled and not b.settled for a, b in pairs)
    only_tuned = sum(b.settled and not a.settled for a, b in pairs)
    both = np.array([(max(1, a.positions), max(1, b.positions)) for a, b in pairs if a.settled and b.settled], np.int64)
    return Check(
        variant=variant,
        deals=len(pairs),
        settled=(sum(a.settled for a, _ in pairs), sum(b.settled for _, b in pairs)),
        only_start=only_start,
        only_tuned=only_tuned,
        p_value=mcnemar(only_start, only_tuned),
        ratio=paired_ratio(both[:, 0], both[:, 1]) if len(both) else None,
    )


def weights_text(plan: Plan, weights: Sequence[int], generations: int, held_out: range, checks: Sequence[Check]) -> str:
    """Return the text of a weights file: its origin in words, the beam, the weights, and the provenance as TOML tables.

    Parameters
    ----------
    plan, generations
        The tuning.
    weights
        The tuned weights, in thousandths of a point.
    held_out
        Seeds of the comparison.
    checks
        The comparison, per variant; empty if there was none.
    """
    identity = plan.identity()
    facts: dict[str, Any] = {
        "variants": list(identity["variants"]),
        "rules": list(identity["variants"].values()),
        "start": plan.start_name,
        "solver": identity["solver"],
        "method": "SepCMA (cmaes)",
        "node_limit": plan.nodes,
        "deals_a_generation": plan.deals,
        "generations": generations,
        "population": plan.population,
        "seed": plan.seed,
        "training_seeds": f"{plan.first_seed}:{plan.first_seed + generations * plan.deals - 1}",
    }
    if checks:
        facts["held_out_seeds"] = f"{held_out.start}:{held_out.stop - 1}"
    head = [
        f"Tuned for {', '.join(facts['variants'])} from {plan.start_name}: {generations} generations of "
        f"{plan.population} candidates, {plan.deals} new deals each, {plan.nodes:,} positions a deal.",
        *[sentence(check) for check in checks],
    ]
    lines = [f"# {' '.join(line.split())}" for line in head]
    beam = {key: list(value) if isinstance(value, tuple) else value for key, value in plan.start._asdict().items()}
    del beam["weights"]
    named = dict(zip(identity["start"], weights, strict=True))
    lines += [*_table("[beam]", beam), *_table("[weights]", named), *_table("[provenance]", facts)]
    for check in checks:
        lines += _table("[[provenance.held_out]]", check_record(check))
    return "\n".join(lines) + "\n"


def sentence(check: Check) -> str:
    """Return a check in words."""
    text = (
        f"Held out, {check.variant}: {check.settled[1]} of {check.deals} deals settled, {check.settled[0]} by the start"
    )
    text += f" (exact McNemar p = {check.p_value:.3g})"
    if check.ratio is not None:
        low, high = check.ratio.interval
        text += f"; {check.ratio.geometric:.3f} times its positions (95% interval {low:.3f} to {high:.3f})"
    return text + "."


def check_record(check: Check) -> dict[str, Any]:
    """Return a check as one flat record, with None where there is no ratio or its interval has no end."""
    ratio = check.ratio
    finite = ratio is not None and math.isfinite(ratio.interval.high)
    return {
        "variant": check.variant,
        "deals": check.deals,
        "settled_start": check.settled[0],
        "settled_tuned": check.settled[1],
        "only_start": check.only_start,
        "only_tuned": check.only_tuned,
        "p_value": float(f"{check.p_value:.4g}"),
        "ratio": round(ratio.geometric, 4) if ratio else None,
        "ratio_low": round(ratio.interval.low, 4) if ratio and finite else None,
        "ratio_high": round(ratio.interval.high, 4) if ratio and finite else None,
        "ratio_in_sum": round(ratio.total, 4) if ratio else None,
    }


def _table(title: str, values: dict[str, Any]) -> list[str]:
    """Return the lines of a TOML table. Strings, numbers and lists look like JSON's; None is left out."""
    return ["", title, *(f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None)]
