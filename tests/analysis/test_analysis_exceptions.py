"""The exceptions of a dataset: deals not won, and the hardest wins, across parts."""

import csv

import pytest
from dataset_rows import a_row, table_of

from pipeline.analysis.exceptions import exceptions_of, write_exceptions
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store

GAME = Partition("spider-4", "native")


@pytest.fixture
def store(tmp_path):
    """Rows in three parts; wins of 11 to 19 positions but two."""
    rows = [a_row(seed, positions=11 + seed % 9) for seed in range(1, 100_001, 997)]
    rows += [a_row(70_000, positions=700), a_row(33_000, positions=700), a_row(40_000, positions=800)]
    rows += [a_row(50_000, "lost", 5), a_row(90_000, "unsettled"), a_row(3, "unsettled")]
    store = Store(tmp_path / "data")
    with store.writing("test"):
        store.add(GAME, table_of(sorted(rows)))
    assert len(store.parts(GAME)) > 2
    return store


def test_deals_not_won_come_by_seed_and_then_the_hardest_wins(store):
    rows = exceptions_of(store, GAME, 3)
    assert rows["seed"].to_pylist() == [3, 50_000, 90_000, 40_000, 33_000, 70_000]
    assert rows["verdict"].to_pylist() == ["unsettled", "lost", "unsettled", "won", "won", "won"]


def test_more_wins_than_there_are_are_all_of_them(store):
    assert len(exceptions_of(store, GAME, 10**9)) == 101 + 3 + 3


def test_seeds_choose_among_the_deals(store):
    rows = exceptions_of(store, GAME, 1, Seeds.of([range(33_001, 60_001)]))
    assert rows["seed"].to_pylist() == [50_000, 40_000]


def test_the_file_names_variant_verdict_positions_and_limit(store, tmp_path):
    path = tmp_path / "exceptions.csv"
    write_exceptions(store, [GAME, Partition("spider-1", "native")], 1, path)
    header, *rows = csv.reader(path.read_text().splitlines())
    assert header == ["variant", "numbering", "seed", "verdict", "positions", "node_limit"]
    assert rows[1] == ["spider-4", "native", "50000", "lost", "5", "1000"]
    assert len(rows) == 4
    assert rows[3] == ["spider-4", "native", "40000", "won", "800", "1000"]
