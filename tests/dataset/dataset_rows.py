"""Rows as tuples, for tests: tables of them; a made-up deal's outcome is a function of its seed."""

from typing import NamedTuple

from pipeline.dataset import rows
from pipeline.dataset.schema import COLUMNS

SOLVER = "0.1.0+77"
RULES = "0123456789abcdef"


class Row(NamedTuple):
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


def table_of(several):
    columns = list(zip(*several, strict=True)) or [()] * len(COLUMNS)
    return rows.table_of(dict(zip(COLUMNS, columns, strict=True)))


def rows_of(table):
    return [Row(*values) for values in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)]


def replaces(new, old):
    """Whether one of two rows about the same deal takes the place of the other."""
    return rows.contest(table_of([old]), table_of([new]))[2].tolist() == [True]


def a_row(seed, verdict="won", positions=None, node_limit=1000, solver=SOLVER, **changes):
    won = verdict == "won"
    positions = (node_limit if verdict == "unsettled" else 10 + seed % 50) if positions is None else positions
    row = Row(
        seed=seed,
        verdict=verdict,
        positions=positions,
        expanded=positions // 4,
        node_limit=node_limit,
        line="ab2-" if won else None,
        moves=2 if won else None,
        deals=1 if won else None,
        score=1298 if won else None,
        solver=solver,
        rules_hash=RULES,
        seconds=0.25,
        run_id="r1",
    )
    return row._replace(**changes)


def a_table(seeds, **changes):
    return table_of(a_row(seed, **changes) for seed in seeds)
