"""What a run costs beside the search: dealing, the referee, rows, parts. A benchmark; run it on an idle machine.

About 1.47 times the search for spider-1, whose dealing and referee take a quarter of the search; 1.1 for spider-4.
"""

import time

import pytest

from pipeline.game.deals import deal
from pipeline.game.variants import load_variant
from pipeline.runs.run import run
from pipeline.solver import Solver

NODES = 1_000_000


def cpu_of(action):
    start = time.process_time()
    action()
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(("name", "deals", "at_most"), [("spider-1", 20_000, 1.5), ("spider-4", 1_500, 1.15)])
def test_processor_time_of_a_run_over_that_of_its_searches(settings_for, name, deals, at_most, capsys):
    variant, solver = load_variant(name), Solver()
    run(settings_for("1:20", name, NODES, data="warm"))
    boards = [deal(variant, seed) for seed in range(101, 101 + deals)]
    solver.solve(boards[0], NODES)

    def search():
        for board in boards:
            solver._search(board, NODES)

    searched = cpu_of(search)
    whole = cpu_of(lambda: run(settings_for(f"101:{100 + deals}", name, NODES)))
    figures = f"{name}: search {1000 * searched / deals:.3f} ms a deal, run {1000 * whole / deals:.3f} ms"
    with capsys.disabled():
        print(f"\n{figures}, {whole / searched:.2f} times")
    assert whole <= at_most * searched, figures
