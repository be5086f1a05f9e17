"""The statistics of a million deals: exceptions tally with the report, and a sample of all deals is settled again."""

import csv
import json
from itertools import groupby
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from pipeline.game.deals import deal
from pipeline.game.variants import load_variant
from pipeline.solver import Solver

REPORTS = Path(__file__).parent.parent / "reports" / "million"
HARDEST = 1000  # wins of each partition among the exceptions
CHEAP = 150_000  # positions of a deal that is settled again in every test run


class Exceptional(NamedTuple):
    seed: int
    verdict: str
    positions: int
    node_limit: int


def read_exceptions():
    with (REPORTS / "exceptions.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {
        key: [
            Exceptional(int(seed), verdict, int(positions), int(limit))
            for _, _, seed, verdict, positions, limit in some
        ]
        for key, some in groupby(rows, key=lambda row: (row[0], row[1]))
    }


EXCEPTIONS = read_exceptions()
REPORT = {
    (entry["variant"], entry["numbering"]): entry
    for entry in json.loads((REPORTS / "report.json").read_text())["variants"]
}
solver = Solver()


def settled(variant, numbering, seed, limit):
    outcome = solver.solve(deal(load_variant(variant), seed, numbering), limit)
    return outcome.verdict, outcome.positions


def drawn(rows, number):
    return Random("sample").sample(rows, min(number, len(rows)))


def test_every_partition_has_its_exceptions():
    assert list(EXCEPTIONS) == list(REPORT)


@pytest.mark.parametrize("key", EXCEPTIONS)
def test_the_exceptions_tally_with_the_report(key):
    rows, entry = EXCEPTIONS[key], REPORT[key]
    for verdict in ("lost", "unsettled"):
        assert sum(row.verdict == verdict for row in rows) == entry[verdict]
    wins = [row.positions for row in rows if row.verdict == "won"]
    assert wins == sorted(wins, reverse=True)
    assert len(wins) == HARDEST
    assert entry["missing"] == 0


@pytest.mark.parametrize("key", EXCEPTIONS)
def test_exceptions_come_out_again(key):
    for verdict in ("lost", "won"):
        for row in drawn([row for row in EXCEPTIONS[key] if row.verdict == verdict and row.positions <= CHEAP], 2):
            assert (*key, row.seed, *settled(*key, row.seed, row.node_limit)) == (
                *key,
                row.seed,
                verdict,
                row.positions,
            )


@pytest.mark.parametrize("key", EXCEPTIONS)
def test_all_other_deals_are_won_more_easily(key):
    named = {row.seed for row in EXCEPTIONS[key]}
    easiest = min(row.positions for row in EXCEPTIONS[key] if row.verdict == "won")
    seeds = [seed for seed in range(1, REPORT[key]["deals"] + 1) if seed not in named]
    for seed in drawn(seeds, 3):
        verdict, positions = settled(*key, seed, REPORT[key]["node_limit"])
        assert (*key, seed, verdict) == (*key, seed, "won")
        assert positions <= easiest


@pytest.mark.slow
@pytest.mark.parametrize("key", EXCEPTIONS)
def test_the_hardest_come_out_again(key):
    rows = EXCEPTIONS[key]
    for verdict in ("lost", "unsettled"):
        for row in drawn([row for row in rows if row.verdict == verdict], 3):
            assert settled(*key, row.seed, row.node_limit)[0] == verdict
    hardest = next(row for row in rows if row.verdict == "won")
    assert settled(*key, hardest.seed, hardest.node_limit) == ("won", hardest.positions)
