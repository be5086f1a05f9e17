"""Rows for the tests of this room; a deal's outcome is a function of its seed."""

from pipeline.dataset.rows import Row, table_of

SOLVER = "0.1.0+77"
RULES = "0123456789abcdef"


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
