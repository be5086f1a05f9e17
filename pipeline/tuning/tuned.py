"""What a tuning has found: the comparison on held-out deals, and the weights file with its provenance."""

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

UNSETTLED = 0.7  # penalty: an unsettled deal counts like one settled at twice the limit


class Effort(NamedTuple):
    """What a deal took."""

    settled: bool
    positions: int

    def value(self, limit: int) -> float:
        """Return its share of a candidate's value."""
        return math.log(max(1, self.positions) / limit) if self.settled else UNSETTLED


@dataclass(frozen=True, slots=True)
class Check:
    """Start and tuned weights on the same untouched deals of a variant.

    Attributes
    ----------
    deals, settled
        How many there were, and how many the start and the tuned weights settled.
    only_start, only_tuned
        Deals settled by one alone; `p_value` is the exact McNemar test's.
    ratio
        Positions of the tuned weights over those of the start on the deals both settled; None without any.
    """

    variant: str
    deals: int
    settled: tuple[int, int]
    only_start: int
    only_tuned: int
    p_value: float
    ratio: PairedRatio | None


def compare(variant: str, start: Sequence[Effort], tuned: Sequence[Effort]) -> Check:
    """Compare what start and tuned weights took, deal by deal."""
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
    """Return a weights file: how it came about in words, the beam, the weights, and its provenance as a table."""
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
        *[sentence(one) for one in checks],
    ]
    lines = [f"# {' '.join(line.split())}" for line in head]
    beam = {key: list(value) if isinstance(value, tuple) else value for key, value in plan.start._asdict().items()}
    del beam["weights"]
    named = dict(zip(identity["start"], weights, strict=True))
    lines += [*_table("[beam]", beam), *_table("[weights]", named), *_table("[provenance]", facts)]
    for one in checks:
        lines += _table("[[provenance.held_out]]", check_record(one))
    return "\n".join(lines) + "\n"


def sentence(one: Check) -> str:
    """Return a check in words."""
    said = f"Held out, {one.variant}: {one.settled[1]} of {one.deals} deals settled, {one.settled[0]} by the start"
    said += f" (exact McNemar p = {one.p_value:.3g})"
    if one.ratio is not None:
        low, high = one.ratio.interval
        said += f"; {one.ratio.geometric:.3f} times its positions (95% interval {low:.3f} to {high:.3f})"
    return said + "."


def check_record(one: Check) -> dict[str, Any]:
    """Return a check as one flat record; None for what cannot be told."""
    ratio = one.ratio
    finite = ratio is not None and math.isfinite(ratio.interval.high)
    return {
        "variant": one.variant,
        "deals": one.deals,
        "settled_start": one.settled[0],
        "settled_tuned": one.settled[1],
        "only_start": one.only_start,
        "only_tuned": one.only_tuned,
        "p_value": float(f"{one.p_value:.4g}"),
        "ratio": round(ratio.geometric, 4) if ratio else None,
        "ratio_low": round(ratio.interval.low, 4) if ratio and finite else None,
        "ratio_high": round(ratio.interval.high, 4) if ratio and finite else None,
        "ratio_in_sum": round(ratio.total, 4) if ratio else None,
    }


def _table(title: str, values: dict[str, Any]) -> list[str]:
    """Return the lines of a TOML table; its texts, numbers and lists look like JSON's, and it has no null."""
    return ["", title, *(f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None)]
