"""Merging datasets and writing them out."""

import csv
import io
import json

import pytest
from dataset_rows import RULES, a_row, a_table, rows_of, table_of

from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.dataset.transfer import export, merge
from pipeline.errors import StoreError

SPIDER = Partition("spider-4", "native")
OTHER = Partition("spider-1", "pysol")


def dataset(path, rows, partition=SPIDER, run="r1"):
    store = Store(path)
    with store.writing("test"):
        store.add(partition, table_of(rows))
        path = store.runs / f"{run}.json"
        content = json.loads(path.read_text()) if path.exists() else {"run_id": run, "deals": [], "failed": []}
        seeds = [f"{row.seed}:{row.seed}" for row in rows]
        content["deals"].append({**partition._asdict(), "seeds": seeds, "node_limit": 1000})
        path.write_text(json.dumps(content))
    return store


def planned_in(store, run="r1"):
    """Return what a run's manifest says was planned and what failed, by partition."""
    content = json.loads((store.runs / f"{run}.json").read_text())
    entries = {Partition(entry["variant"], entry["numbering"]): entry["seeds"] for entry in content["deals"]}
    assert len(entries) == len(content["deals"])
    return entries, [entry["seed"] for entry in content["failed"]]


def merged(target, source, partitions=None):
    with target.writing("merge"):
        return list(merge(target, source, partitions or source.partitions(), {}))


ROWS = {
    1: [a_row(1, positions=70), a_row(2, "unsettled"), a_row(3, "unsettled", node_limit=500), a_row(10)],
    2: [a_row(1, positions=50), a_row(2, "lost"), a_row(3, "unsettled", node_limit=900), a_row(4), a_row(11)],
}


def test_merging_keeps_the_stronger_rows_in_either_order_and_twice(tmp_path):
    first = dataset(tmp_path / "a", ROWS[1])
    assert merged(first, dataset(tmp_path / "b", ROWS[2], run="r2")) == [(SPIDER, 2, 3)]
    second = dataset(tmp_path / "c", ROWS[2])
    assert merged(second, dataset(tmp_path / "d", ROWS[1])) == [(SPIDER, 1, 0)]
    expected = [ROWS[2][0], ROWS[2][1], ROWS[2][2], ROWS[2][3], ROWS[1][3], ROWS[2][4]]
    assert rows_of(first.read(*SPIDER)) == rows_of(second.read(*SPIDER)) == expected
    assert merged(first, second) == [(SPIDER, 0, 0)]
    assert len(first.parts(SPIDER)) == 1
    assert sorted(path.name for path in first.runs.glob("*.json")) == ["r1.json", "r2.json"]


def test_merging_brings_new_partitions(tmp_path):
    target = Store(tmp_path / "new")
    source = dataset(tmp_path / "a", ROWS[1])
    dataset(tmp_path / "a", [a_row(5)], OTHER)
    assert merged(target, source) == [(OTHER, 1, 0), (SPIDER, 4, 0)]
    assert target.partitions() == [OTHER, SPIDER]


def test_merging_some_partitions_leaves_out_what_was_planned_of_the_others(tmp_path):
    target, source = Store(tmp_path / "new"), dataset(tmp_path / "a", ROWS[1])
    dataset(tmp_path / "a", [a_row(5)], OTHER)
    path = source.runs / "r1.json"
    failed = [{**partition._asdict(), "seed": seed} for partition, seed in ((SPIDER, 6), (OTHER, 7))]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"failed": failed}))
    assert merged(target, source, [SPIDER]) == [(SPIDER, 4, 0)]
    assert planned_in(target) == ({SPIDER: ["1:1", "2:2", "3:3", "10:10"]}, [6])
    for _ in range(2):
        merged(target, source, [OTHER])
        assert planned_in(target) == ({SPIDER: ["1:1", "2:2", "3:3", "10:10"], OTHER: ["5:5"]}, [6, 7])


def test_merging_brings_the_plan_of_a_partition_without_outcomes(tmp_path):
    target, source = Store(tmp_path / "new"), dataset(tmp_path / "a", [a_row(1)])
    dataset(tmp_path / "a", [], OTHER)
    assert merged(target, source, [SPIDER, OTHER]) == [(SPIDER, 1, 0)]
    assert planned_in(target) == ({SPIDER: ["1:1"], OTHER: []}, [])


def test_a_manifest_that_cannot_be_read_is_named(tmp_path):
    source = dataset(tmp_path / "a", [a_row(1)])
    (source.runs / "r2.json").write_text("[]")
    with pytest.raises(StoreError, match=r"r2\.json: not a valid manifest of a run"):
        merged(Store(tmp_path / "new"), source)


def test_datasets_that_contradict_each_other_are_not_merged(tmp_path):
    target = dataset(tmp_path / "a", ROWS[1])
    dataset(tmp_path / "a", [a_row(5)], OTHER)
    before = rows_of(target.read(*SPIDER)), rows_of(target.read(*OTHER))
    source = dataset(tmp_path / "b", [a_row(7), a_row(10, "lost")])
    dataset(tmp_path / "b", [a_row(6)], OTHER)
    with pytest.raises(StoreError, match=r"seed 10: lost by solver .* but won by solver"):
        merged(target, source)
    assert (rows_of(target.read(*SPIDER)), rows_of(target.read(*OTHER))) == before


def test_datasets_of_other_rules_are_not_merged(tmp_path):
    target = dataset(tmp_path / "a", ROWS[1])
    source = dataset(tmp_path / "b", [a_row(7, rules_hash="f" * 16)])
    with pytest.raises(StoreError, match=rf"settled under other rules of spider-4 \(rules_hash {RULES}"):
        merged(target, source)


def test_export_as_csv(tmp_path):
    store = dataset(tmp_path / "a", ROWS[1])
    out = io.StringIO()
    assert export(store, [SPIDER], out) == 4
    rows = list(csv.DictReader(out.getvalue().splitlines()))
    assert rows[0]["variant"] == "spider-4"
    assert (rows[0]["seed"], rows[0]["verdict"], rows[0]["seconds"]) == ("1", "won", "0.25")
    assert (rows[1]["line"], rows[1]["moves"]) == ("", "")


def test_export_as_json_lines_of_some_columns_and_seeds(tmp_path):
    store = dataset(tmp_path / "a", ROWS[1])
    out = io.StringIO()
    seeds = Seeds.of([range(2, 5), range(10, 11)])
    assert export(store, [SPIDER], out, "jsonl", ("seed", "line"), seeds) == 3
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines == [
        {"variant": "spider-4", "numbering": "native", "seed": 2, "line": None},
        {"variant": "spider-4", "numbering": "native", "seed": 3, "line": None},
        {"variant": "spider-4", "numbering": "native", "seed": 10, "line": "ab2-"},
    ]


def test_export_of_many_parts_is_in_order(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        for start in (40, 0, 20):
            store.add(SPIDER, a_table(range(start, start + 9)))
    out = io.StringIO()
    export(store, [SPIDER], out, "jsonl", ("seed",))
    seeds = [json.loads(line)["seed"] for line in out.getvalue().splitlines()]
    assert seeds == sorted(seeds)
    assert len(seeds) == 27
