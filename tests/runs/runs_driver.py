"""A run of its own process, for tests that kill it: runs_driver.py DATA FIRST LAST SECONDS TRACE START QUICK."""

import multiprocessing
import sys
from pathlib import Path

from runs_settlers import IDENTITY, Fake

from pipeline.dataset.seeds import Seeds
from pipeline.game.variants import load_variant
from pipeline.runs import collect
from pipeline.runs import run as runs
from pipeline.runs.settings import Deals, RunSettings


def main(data, first, last, seconds, trace, start, quick):
    multiprocessing.set_start_method("forkserver")
    collect.FLUSH_SECONDS = 0.2
    deals = Deals(load_variant("spider-4"), "native", Seeds.of([range(int(first), int(last) + 1)]), 1000)
    settings = RunSettings(Path(data), (deals,), workers=2, chunk=8)
    fake = Fake(seconds=float(seconds), quick=int(quick), trace=trace, start=float(start))
    summary = runs.run(settings, settler=fake, solver=IDENTITY)
    if summary.stopped is not None:
        return {"interrupted": 130, "terminated": 143}[summary.stopped]
    summary.raise_if_unfinished()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
