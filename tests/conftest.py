"""Fixtures several rooms share: outcomes made up without a solver, boards laid by hand, won lines."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dataset_rows import Row, rows_of
from hypothesis import HealthCheck, settings

from pipeline.dataset.schema import VOLATILE
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Store
from pipeline.game.boards import Board
from pipeline.game.cards import parse_card
from pipeline.game.variants import load_variant
from pipeline.runs.settings import Deals, RunSettings

# A machine may be slow, or have other things to do.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

LINE = "ab2-ch"
# What compiles everything there is to compile, in two processes side by side.
COMPILING = (
    """
from pipeline.engine.search import compile_for
from pipeline.game.deals import deal
from pipeline.referee.check import check_certificate
from pipeline.referee.prove import prove
from pipeline.referee.replay import load

compile_for(10)
load()
check_certificate(prove(deal("simple-simon", 68)))
""",
    "from pipeline.engine.search import compile_complete, compile_for; compile_complete(); compile_for(16)",
)


def pytest_sessionstart(session):
    """Compile before the workers of pytest-xdist start: else each of them would compile the same."""
    if getattr(session.config.option, "dist", "no") != "no" and not hasattr(session.config, "workerinput"):
        programs = [subprocess.Popen([sys.executable, "-c", program]) for program in COMPILING]
        assert [program.wait() for program in programs] == [0, 0]


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


@pytest.fixture
def settings_for(tmp_path):
    """Make the settings of a run on a dataset of this test."""

    def make(seeds="1:100", variant="spider-4", nodes=1000, executor="inline", data="data", **changes):
        first, last = map(int, seeds.split(":"))
        deals = Deals(load_variant(variant), "native", Seeds.of([range(first, last + 1)]), nodes)
        values = {"data": tmp_path / data, "deals": (deals,), "workers": 2, "executor": executor} | changes
        return RunSettings(**values)

    return make


@pytest.fixture
def rows_in():
    """Read a dataset's rows by partition, without what differs from run to run."""

    def read(data):
        store = Store(data)
        nothing = dict.fromkeys(VOLATILE)
        return {part: [row._replace(**nothing) for row in rows_of(store.read(*part))] for part in store.partitions()}

    return read


def lay_board(variant, columns, stock="", *, sets_done=0, **rules):
    """Return a board of any cards; face-down ones in brackets: ``"[KD 3C] QS JS"``. Columns left out are empty."""
    variant = dataclasses.replace(load_variant(variant), **rules)
    columns = list(columns) + [""] * (len(variant.columns) - len(columns))
    halves = [column.removeprefix("[").split("]") if "]" in column else ["", column] for column in columns]
    cards = [tuple(map(parse_card, f"{down} {up}".split())) for down, up in halves]
    face_down = tuple(len(down.split()) for down, _ in halves)
    return Board(variant, None, None, tuple(cards), face_down, tuple(map(parse_card, stock.split())), sets_done)


@pytest.fixture(scope="session")
def lay():
    return lay_board


@pytest.fixture(scope="session")
def won_lines():
    """Variant, seed and line of won native deals."""
    lines = json.loads((Path(__file__).parent / "fixtures" / "won_lines.json").read_text())["lines"]
    return [(load_variant(entry["variant"]), entry["seed"], entry["line"]) for entry in lines]
