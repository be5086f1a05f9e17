"""Fixtures several rooms share: outcomes made up without a solver."""

import numpy as np
import pytest

from pipeline.batch.rows import Row
from pipeline.game.variants import load_variant

LINE = "ab2-ch"


def made_up_rows(variant, seeds, *, limit=1_000_000, unsettled=0.02, lost=0.0, median=4000, key=1, solver="0.1.0+1"):
    """Return plausible outcomes: log-normal positions, the hardest deals unsettled, the next hardest lost."""
    seeds = list(seeds)
    rng = np.random.default_rng((key, len(seeds)))
    positions = np.exp(rng.normal(np.log(median), 1.4, len(seeds))).astype(int).clip(20, limit - 1)
    rank = positions.argsort().argsort() / max(1, len(seeds))
    moves = rng.integers(100, 200, len(seeds))
    rules_hash = load_variant(variant).rules_hash
    rows = []
    for place, seed in enumerate(seeds):
        verdict = "won"
        if rank[place] >= 1 - unsettled:
            verdict = "unsettled"
        elif rank[place] >= 1 - unsettled - lost:
            verdict = "lost"
        won = verdict == "won"
        count = limit if verdict == "unsettled" else int(positions[place])
        rows.append(
            Row(
                seed=seed,
                verdict=verdict,
                positions=count,
                expanded=count // 9,
                node_limit=limit,
                line=LINE if won else None,
                moves=int(moves[place]) if won else None,
                deals=5 if won else None,
                score=1300 - int(moves[place]) if won else None,
                solver=solver,
                rules_hash=rules_hash,
                seconds=count / 1e6,
                run_id="20261130-000000-1",
            )
        )
    return rows


@pytest.fixture(scope="session")
def made_up():
    """The function above, for tests, which cannot import this file."""
    return made_up_rows
