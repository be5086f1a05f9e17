"""Make the data this room ships. For maintainers; not a command of `winnable`.

    python -m pipeline.pools.prepare calibration [--variant V ...] [--deals 500]
    python -m pipeline.pools.prepare daily [--variant V ...]

`calibration` measures the won deals among the first native deals of each variant, for `pipeline.pools.difficulty`; use
one solver for all entries of a file. `daily` freezes the skipped candidates of each day, for `pipeline.pools.daily`;
frozen variants are not computed again, so the days of a release never change.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.game.variants import MAIN_VARIANTS, Variant, load_variant
from pipeline.pools import daily, difficulty
from pipeline.runs.settling import Settling, won_within
from pipeline.solver import DEFAULT_LIMIT
from pipeline.version import solver_id

NUMBERING = "native"


def calibrate(variants: Sequence[Variant], deals: int, settling: Settling) -> dict[str, Any]:
    """Return the content of the calibration file: a scale per variant, and one of the main variants together."""
    entries: dict[str, Any] = {}
    together: list[difficulty.Measures] = []
    for variant in variants:
        won = _won_deals(variant, Seeds.of([range(1, deals + 1)]), settling)
        measured = settling.each(difficulty.measure_deals, variant, NUMBERING, won)
        entries[variant.id] = {"rules_hash": variant.rules_hash, "deals": deals, "won": len(won)} | _lists(measured)
        if variant.id in MAIN_VARIANTS:
            together += measured
    return {
        "solver": solver_id(),
        "node_limit": DEFAULT_LIMIT,
        "playouts": difficulty.PLAYOUTS,
        "variants": entries,
        "others": _lists(together),
    }


def _lists(measured: Sequence[difficulty.Measures]) -> dict[str, list[int]]:
    return {name: list(values) for name, values in difficulty.scale_of(measured)._asdict().items()}


def freeze(variants: Sequence[Variant], known: dict[str, Any], settling: Settling) -> dict[str, Any]:
    """Return the content of the daily file: the known one, with the skipped candidates of variants it lacks."""
    entries = dict(known.get("variants", {}))
    for variant in variants:
        if variant.id not in entries:
            skipped = skipped_candidates(variant, _dates(), settling)
            entries[variant.id] = {"rules_hash": variant.rules_hash, "solver": solver_id(), "skipped": skipped}
    return {
        "first": daily.FIRST_DATE.isoformat(),
        "last": daily.LAST_DATE.isoformat(),
        "node_limit": DEFAULT_LIMIT,
        "variants": entries,
    }


def skipped_candidates(variant: Variant, dates: Sequence[datetime.date], settling: Settling) -> dict[str, int]:
    """Return by date the number of candidates before the first won one, without the dates that skip none."""
    skipped = dict.fromkeys(dates, 0)
    open_dates = list(dates)
    while open_dates:
        candidates = {date: daily.candidate(variant.id, date, skipped[date]) for date in open_dates}
        won = {seed for seed, *_ in _won_deals(variant, Seeds.of_numbers(candidates.values()), settling)}
        open_dates = [date for date in open_dates if candidates[date] not in won]
        for date in open_dates:
            skipped[date] += 1
    return {date.isoformat(): count for date, count in skipped.items() if count}


def _dates() -> list[datetime.date]:
    days = (daily.LAST_DATE - daily.FIRST_DATE).days + 1
    return [daily.FIRST_DATE + datetime.timedelta(day) for day in range(days)]


def _won_deals(variant: Variant, seeds: Seeds, settling: Settling) -> list[tuple[int, int, int]]:
    """Settle deals and return (seed, positions, moves) of those won within the limit."""
    store, partition = Store(settling.data), Partition(variant.id, NUMBERING)
    missing = store.missing(partition, seeds, DEFAULT_LIMIT)
    if missing:
        settling.settle(variant, NUMBERING, missing, DEFAULT_LIMIT)
    table = store.read(*partition, ["seed", "verdict", "positions", "moves"])
    table = table.filter(pc.and_(won_within(table, DEFAULT_LIMIT), pc.is_valid(table["moves"])))
    values = zip(*(table[name].to_pylist() for name in ("seed", "positions", "moves")), strict=True)
    return [(seed, positions, moves) for seed, positions, moves in values if seed in seeds]


def text_of(content: Any, depth: int = 0) -> str:
    """Return JSON with only the members of objects on lines of their own, so that a change is a short diff."""
    if not isinstance(content, dict) or not content:
        return json.dumps(content)
    blanks = " " * (2 * depth + 2)
    members = (f"{blanks}{json.dumps(key)}: {text_of(value, depth + 1)}" for key, value in content.items())
    return "{\n" + ",\n".join(members) + "\n" + " " * (2 * depth) + "}"


def main(words: Sequence[str] | None = None) -> None:
    """Make one of the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("calibration", "daily"))
    parser.add_argument("--variant", action="append", help="repeatable; default: the six main ones")
    parser.add_argument("--deals", type=int, default=500, help="deals per variant to calibrate on")
    parser.add_argument("--workers", type=int, help="default: one per core")
    parser.add_argument("--data", type=Path, help="dataset to use and extend; default: a temporary one")
    parser.add_argument("--out", type=Path, help="default: the package's own file")
    given = parser.parse_args(words)
    variants = [load_variant(name) for name in given.variant or MAIN_VARIANTS]
    with tempfile.TemporaryDirectory(prefix="winnable-") as scratch:
        settling = Settling(given.data or Path(scratch), given.workers, echo=_say)
        make: dict[str, Callable[[], str]] = {
            "calibration": lambda: text_of(calibrate(variants, given.deals, settling)) + "\n",
            "daily": lambda: text_of(freeze(variants, _known(), settling)) + "\n",
        }
        text = make[given.what]()
    out = given.out or {"calibration": difficulty.CALIBRATION, "daily": daily.FROZEN}[given.what]
    out.write_text(text, encoding="ascii")
    _say(f"wrote {out}")


def _known() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(daily.FROZEN.read_bytes()) if daily.FROZEN.exists() else {}
    return known


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
