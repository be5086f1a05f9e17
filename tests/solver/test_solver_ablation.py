"""Every loss proved again with each reduction of the complete search switched off, where the search still ends.

The switch is an edit of the source in a copy of the package, so nothing in the engine is there for this test's sake.
`pipeline/engine/SOUNDNESS.md` is the ledger of what is switched off here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import pipeline

PACKAGE = Path(pipeline.__file__).parent
LEDGER = (PACKAGE / "engine" / "SOUNDNESS.md").read_text()

# Name in the ledger -> file, what stands there, what stands there instead.
SWITCHES = {
    "none": [],
    "settled": [("packed.py", "while down > 0 and (m.link", "while False and (m.link")],
    "order": [("packed.py", "return column if m.dealt < m.stock_size else SHARED", "return column")],
    "empty": [
        ("packed.py", "if m.first[0] >= 0 and m.dealt == m.stock_size:", "if False:"),
        ("packed.py", "if onto_empty or (i == 0 and m.dealt == m.stock_size):", "if onto_empty:"),
    ],
    "folding": [("packed.py", "return _suit_class(card, finest) << 4 | card & 15", "return card")],
    "relaxation": [("exhaust.py", "return hopeless(m, relaxed) or (", "return (")],
    "rigid": [
        ("exhaust.py", " or (m.thorough and m.dealt == m.stock_size and stuck(m, rigid, states, RIGID_STATES))", "")
    ],
    "reach": [
        ("relaxation.py", "    if not set_reachable(m, a):\n        return True\n", ""),
        ("relaxation.py", "if set_reachable(m, a):\n                a.tried", "if True:\n                a.tried"),
    ],
    "unit end": [
        ("relaxed.py", "        shift(a, end, -1)\n        fits", "        fits"),
        ("relaxed.py", "        shift(a, end, 1)\n        if fits", "        if fits"),
    ],
    "asked anew": [("exhaust.py", "fresh = leads_on(m, move)", "fresh = True")],
}

PROGRAM = """
import sys
from pipeline.engine.exhaust import LOST, WON, Exhaust
from pipeline.engine.records import Start
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant
from pipeline.solver import engine_rules, folds

for name, numbering, seed in (word.split("/") for word in sys.argv[1:]):
    board = deal(load_variant(name), int(seed), numbering)
    search = Exhaust(engine_rules(board.variant))
    search.capacity = 200_000
    search.start(Start(board.columns, board.face_down, board.stock, board.sets_done))
    print({LOST: "lost", WON: "won"}.get(search.advance(200_000), "open"), search.positions)
"""

LOSSES = [
    *(f"simple-simon/native/{seed}" for seed in (12, 21, 25, 57, 68, 95, 133, 192, 242, 250, 428, 787)),
    *(f"spiderette/native/{seed}" for seed in (160, 211, 269, 435, 444, 460)),
    *(f"mrs-mop/native/{seed}" for seed in (97,)),
    *("spider-4/pysol/1748", "spider-4/pysol/14934", "spider-1/native/17459", "spider-easy/native/17459"),
]


def verdicts(tmp_path, edits):
    """Return the verdicts of the edited search on the losses."""
    shutil.copytree(PACKAGE, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in edits:
        path = tmp_path / "pipeline" / "engine" / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file} has changed: adapt the switch"
        path.write_text(text.replace(old, new))
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *LOSSES],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "WINNABLE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    return Counter(line.split()[0] for line in run.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SWITCHES)
def test_losses_are_lost_without_a_reduction(name, tmp_path):
    found = verdicts(tmp_path, SWITCHES[name])
    assert found["won"] == 0
    assert found.total() == len(LOSSES)
    ledger = re.search(rf"^\| `{name}` .*\| (\d+) of (\d+) \|$", LEDGER, re.MULTILINE)
    assert ledger, f"no row of {name} in the ledger"
    assert (found["lost"], len(LOSSES)) == tuple(map(int, ledger.groups()))


def test_each_switch_still_fits_the_source():
    for edits in SWITCHES.values():
        for file, old, _ in edits:
            assert (PACKAGE / "engine" / file).read_text().count(old) == 1, f"{file}: {old!r}"
