"""One row of the dataset, as workers make it: without pandas or pyarrow."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One outcome, in the order of the schema's columns."""

    seed: int
    verdict: str
    positions: int
    expanded: int
    node_limit: int
    line: str | None
    moves: int | None
    deals: int | None
    score: int | None
    solver: str
    rules_hash: str
    seconds: float
    run_id: str
