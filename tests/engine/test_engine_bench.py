"""The golden signature: a change of what the search does must be meant."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pipeline.engine import bench
from pipeline.version import SIGNATURE


def test_signature():
    assert bench.signature() == SIGNATURE


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_signature_without_the_compiler():
    program = "from pipeline.engine import bench; print(bench.signature())"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) == SIGNATURE


def test_deals_are_whole_packs():
    for game, (_, rules, suits, downs, sizes) in enumerate(bench.GAMES):
        start = bench.bench_start(game, 0)
        cards = sorted(card for pile in (*start.columns, start.stock) for card in pile)
        assert len(cards) == 13 * rules.sets_needed
        assert {card >> 4 for card in cards} == set(range(suits))
        assert tuple(map(len, start.columns)) == sizes
        assert start.face_down == downs
        assert start != bench.bench_start(game, 1)


def test_speed():
    speed = bench.speed(0.01)
    assert speed.deals >= 1
    assert speed.positions >= 1
    assert speed.seconds > 0
