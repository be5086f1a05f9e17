"""The daily deal: the same for everyone on a date, and proved winnable.

The rule: SHA-256 of the ASCII text ``winnable daily <variant> <date>`` (the date as 2026-11-30); its first thirteen
hexadecimal digits are the first candidate, a native seed of 52 bits, which JavaScript's numbers hold; the candidates go
up from there one by one; the first one proved winnable within 1,000,000 positions is the day's deal.

A stronger solver proves more and would change days that once skipped a candidate. So the numbers of skipped candidates
are data, frozen at the first release for the dates up to 2045-12-31; for those no solver is needed.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.dataset.files import read_json
from pipeline.errors import DataError, UsageError
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.variants import Variant, load_variant
from pipeline.solver import DEFAULT_LIMIT, Solver

FROZEN = Path(__file__).with_name("daily.json")
FIRST_DATE, LAST_DATE = datetime.date(2026, 1, 1), datetime.date(2045, 12, 31)
MOST_SKIPPED = 1000


@dataclass(frozen=True, slots=True)
class Daily:
    """The deal of a day.

    Attributes
    ----------
    board
        The deal.
    skipped
        Candidates before it that were not proved winnable.
    frozen
        Whether `skipped` is shipped data, the same in every later release, or was found by a search.
    """

    variant: Variant
    date: datetime.date
    board: Board
    skipped: int
    frozen: bool


def candidate(variant_id: str, date: datetime.date, skipped: int) -> int:
    """Return the candidate seed of a day after `skipped` others; 0 gives the first."""
    digest = hashlib.sha256(f"winnable daily {variant_id} {date.isoformat()}".encode("ascii")).hexdigest()
    return int(digest[:13], 16) + skipped


def is_frozen(variant: Variant, date: datetime.date) -> bool:
    """Return whether the deal of that day is shipped data."""
    return FIRST_DATE <= date <= LAST_DATE and _frozen_skips(variant.id, variant.rules_hash) is not None


def daily(variant: Variant | str, date: datetime.date | str, solver: Solver | None = None) -> Daily:
    """Return the deal of a day.

    Parameters
    ----------
    variant
        The game, or the id of a packaged one.
    date
        The day, or its ISO text such as "2026-11-30".
    solver
        Used where nothing is frozen; a new one by default.

    Raises
    ------
    UsageError
        The variant does not exist, or the text is not a date.
    DataError
        The shipped data are damaged, or no candidate is proved winnable.
    """
    variant = load_variant(variant) if isinstance(variant, str) else variant
    date = _read_date(date) if isinstance(date, str) else date
    if isinstance(date, datetime.datetime):  # and pandas' dates
        date = date.date()
    skips = _frozen_skips(variant.id, variant.rules_hash) if is_frozen(variant, date) else None
    if skips is not None:
        skipped = skips.get(date.isoformat(), 0)
        return Daily(variant, date, deal(variant, candidate(variant.id, date, skipped)), skipped, frozen=True)
    solver = solver or Solver()
    for skipped in range(MOST_SKIPPED):
        board = deal(variant, candidate(variant.id, date, skipped))
        if solver.solve(board, DEFAULT_LIMIT).verdict == "won":
            return Daily(variant, date, board, skipped, frozen=False)
    raise DataError(
        f"{variant.id}: none of the {MOST_SKIPPED} candidates of {date} is won within {DEFAULT_LIMIT:,} positions"
    )


def daily_json(day: Daily) -> dict[str, Any]:
    """Return the deal of a day as a JSON object."""
    return {
        "variant": day.variant.id,
        "date": day.date.isoformat(),
        "numbering": "native",
        "seed": day.board.seed,
        "skipped": day.skipped,
        "frozen": day.frozen,
        "board": board_json(day.board),
    }


def _read_date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r:.40} is not a valid date: expected one like 2026-11-30") from None


@lru_cache
def _frozen_skips(variant_id: str, rules_hash: str) -> dict[str, int] | None:
    """Return skipped candidates by date; None if nothing is frozen for a variant of that id and rules.

    The id matters: the same rules under another id have other candidates.
    """

    def parse(content: dict[str, Any]) -> dict[str, int] | None:
        entry = content["variants"].get(variant_id)
        if entry is None or entry["rules_hash"] != rules_hash:
            return None
        return {str(date): int(count) for date, count in entry["skipped"].items()}

    return read_json(FROZEN, "list of skipped candidates", parse, "; install winnable again", DataError)
