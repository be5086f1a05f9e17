"""Deals for whole searches, with some that end in each way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from engine_table import start_of

from pipeline.engine.records import Start
from pipeline.engine.search import Search
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant
from pipeline.solver import engine_rules


@cache
def searcher(variant: str) -> Search:
    """The search of a variant, one for all tests."""
    return Search(engine_rules(load_variant(variant)), variant)


def numbered(variant: str, seed: int) -> Start:
    return start_of(deal(load_variant(variant), seed))


def facts(result):
    """A result as plain data that compares."""
    return result.verdict, result.positions, result.expanded, result.moves.tolist()


def found_without_compiler(deals, **capacities):
    """Facts of deals searched by the engine as plain Python, in another process, every warning an error."""
    job = json.dumps({"capacities": capacities, "deals": deals})
    run = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("engine_plain.py")), job],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [
        (verdict, positions, expanded, moves, passes)
        for verdict, positions, expanded, moves, passes in json.loads(run.stdout)
    ]
