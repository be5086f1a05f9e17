"""The result of a tuning: the comparison on held-out deals, and the weights file with its provenance."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.analysis.statistics import Paired, compare_paired

if TYPE_CHECKING:
    from pipeline.tuning.tune import Tuning

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
    """Start (A) and tuned (B) weights on the same held-out deals of a variant."""

    variant: str
    paired: Paired


def compare(variant: str, start: Sequence[Effort], tuned: Sequence[Effort]) -> Check:
    """Compare two sets of weights on the same deals.

    Parameters
    ----------
    variant
        The id that names the comparison.
    start, tuned
        Effort per deal, in the same order.
    """
    settled = ([effort.settled for effort in side] for side in (start, tuned))
    positions = ([effort.positions for effort in side] for side in (start, tuned))
    return Check(variant, compare_paired(*settled, *positions))


def weights_text(
    tuning: Tuning, weights: Sequence[int], generations: int, held_out: range, checks: Sequence[Check]
) -> str:
    """Return the text of a weights file: its origin in words, the beam, the weights, and the provenance as TOML tables.

    Parameters
    ----------
    tuning, generations
        The tuning.
    weights
        The tuned weights, in thousandths of a point.
    held_out
        Seeds of the comparison.
    checks
        The comparison, per variant; empty if there was none.
    """
    identity = tuning.identity()
    facts: dict[str, Any] = {
        "variants": list(identity["variants"]),
        "rules": list(identity["variants"].values()),
        "start": tuning.start_name,
        "solver": identity["solver"],
        "method": "SepCMA (cmaes)",
        "node_limit": tuning.node_limit,
        "deals_a_generation": tuning.deals,
        "generations": generations,
        "population": tuning.population,
        "seed": tuning.seed,
        "training_seeds": f"{tuning.first_seed}:{tuning.first_seed + generations * tuning.deals - 1}",
    }
    if checks:
        facts["held_out_seeds"] = f"{held_out.start}:{held_out.stop - 1}"
    head = [
        f"Tuned for {', '.join(facts['variants'])} from {tuning.start_name}: {generations} generations of "
        f"{tuning.population} candidates, {tuning.deals} new deals each, {tuning.node_limit:,} positions a deal.",
        *[sentence(check) for check in checks],
    ]
    lines = [f"# {' '.join(line.split())}" for line in head]
    beam = {key: list(value) if isinstance(value, tuple) else value for key, value in tuning.start._asdict().items()}
    del beam["weights"]
    named = dict(zip(identity["start"], weights, strict=True))
    lines += [*_table("[beam]", beam), *_table("[weights]", named), *_table("[provenance]", facts)]
    for check in checks:
        lines += _table("[[provenance.held_out]]", check_record(check))
    return "\n".join(lines) + "\n"


def sentence(check: Check) -> str:
    """Return a check in words."""
    start, tuned = check.paired.reached
    text = f"Held out, {check.variant}: {tuned} of {check.paired.deals} deals settled, {start} by the start"
    text += f" (exact McNemar p = {check.paired.p_value:.3g})"
    if check.paired.ratio is not None:
        low, high = check.paired.ratio.interval
        text += f"; {check.paired.ratio.geometric:.3f} times its positions (95% interval {low:.3f} to {high:.3f})"
    return text + "."


def check_record(check: Check) -> dict[str, Any]:
    """Return a check as one flat record, with None where there is no ratio or its interval has no end."""
    ratio = check.paired.ratio
    finite = ratio is not None and math.isfinite(ratio.interval.high)
    return {
        "variant": check.variant,
        "deals": check.paired.deals,
        "settled_start": check.paired.reached[0],
        "settled_tuned": check.paired.reached[1],
        "only_start": len(check.paired.only_a),
        "only_tuned": len(check.paired.only_b),
        "p_value": float(f"{check.paired.p_value:.4g}"),
        "ratio": round(ratio.geometric, 4) if ratio else None,
        "ratio_low": round(ratio.interval.low, 4) if ratio and finite else None,
        "ratio_high": round(ratio.interval.high, 4) if ratio and finite else None,
        "ratio_in_sum": round(ratio.total, 4) if ratio else None,
    }


def _table(title: str, values: dict[str, Any]) -> list[str]:
    """Return the lines of a TOML table. Strings, numbers and lists look like JSON's; None is left out."""
    return ["", title, *(f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None)]
