"""Pools: what is in them depends on the order alone, they are checked, sampled and exported."""

import hashlib
import json
import time
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import DataError, SolverFault, StoreError, UsageError
from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.variants import load_variant
from pipeline.pools import pool as pools
from pipeline.pools.building import Order, build_pool
from pipeline.pools.rows import WonDeal, make_rows
from pipeline.referee.replay import verify_line
from pipeline.runs.settling import Settling

SPIDER_1 = load_variant("spider-1")
ORDER = Order(SPIDER_1, 20, node_limit=600, first_seed=3)  # so few positions win a part of the deals


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A dataset that the tests of this module share."""
    return tmp_path_factory.mktemp("pools")


@pytest.fixture(scope="module")
def built(data):
    return build_pool(ORDER, Settling(data, workers=1))


@pytest.fixture
def file(built, tmp_path):
    path = tmp_path / "pool.parquet"
    pools.write_pool(built, path)
    return path


def test_a_pool_holds_the_first_deals_that_are_won(built):
    header, rows = built.header, built.rows
    assert (len(rows), header.deals, header.first_seed, header.node_limit) == (20, 20, 3, 600)
    assert (header.last_seed, header.tried) == (rows[-1].seed, rows[-1].seed - 2)
    assert header.tried > 20
    assert [row.seed for row in rows] == sorted({row.seed for row in rows})
    for row in rows:
        assert verify_line(deal(SPIDER_1, row.seed), row.line).moves == row.moves
        assert row.positions <= 600
        assert row.score == 1300 - row.moves
        assert 1 <= row.difficulty <= 5
        fields = {"variant": "spider-1", "columns": row.columns, "face_down": row.face_down, "stock": row.stock}
        board = read_board(json.dumps(fields | {"numbering": "native", "seed": row.seed}))
        assert board == deal(SPIDER_1, row.seed)


def test_a_pool_does_not_depend_on_what_the_dataset_knew(built, tmp_path):
    settling = Settling(tmp_path, workers=1)
    settling.settle(SPIDER_1, "native", Seeds.of([range(10, 30)]), 5000)
    again = build_pool(ORDER, settling)
    assert again == built


def test_a_pool_is_built_of_known_verdicts_without_a_run(built, data):
    def no_run(_count):
        raise AssertionError

    class Idle(Settling):
        settle = no_run

    assert build_pool(ORDER, Idle(data)) == built


def test_many_deals_are_rated_by_workers(data):
    settling = Settling(data, workers=2)
    table = Store(data).read("spider-1", "native", WonDeal._fields)
    deals = [WonDeal(**row) for row in table.to_pylist() if row["line"] is not None]
    many = deals * (200 // len(deals) + 1)
    counted = []
    assert settling.each(make_rows, SPIDER_1, "native", many, counted.append) == make_rows(SPIDER_1, "native", many)
    assert sum(counted) == len(many)


def test_a_line_that_does_not_replay_is_a_fault():
    with pytest.raises(SolverFault, match="spider-1/native/5"):
        make_rows(SPIDER_1, "native", [WonDeal(5, 10, 1, "ab")])


@pytest.mark.parametrize(("numbering", "last"), [("kpat", 2**31 - 1), ("native", 2**63 - 1)])
def test_there_are_not_always_enough(tmp_path, numbering, last):
    settling = Settling(tmp_path, workers=1)
    with pytest.raises(DataError, match=f"spider-1/{numbering}: 0 of .*{last - 1}.*{last} "):
        build_pool(Order(SPIDER_1, 5, numbering, 1, first_seed=last - 1), settling)


def test_a_hopeless_variant_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.pools.building._HOPELESS", 5)
    with pytest.raises(DataError, match=r"spider-1/native: .* 1 positions"):
        build_pool(Order(SPIDER_1, 1, node_limit=1), Settling(tmp_path, workers=1))


def test_a_variant_whose_deals_are_all_lost_is_given_up(tmp_path, monkeypatch):
    """A larger limit would not help."""
    monkeypatch.setattr("pipeline.pools.building._HOPELESS", 5)
    one_pile = replace(load_variant("simple-simon"), id="one-pile", columns=(50, 1, 1), face_down=(49, 0, 0), suits=4)
    with pytest.raises(DataError, match=r"one-pile/native: .*lost"):
        build_pool(Order(one_pile, 1, first_seed=10), Settling(tmp_path, workers=1))


def test_a_dataset_of_other_rules_is_refused(built, data):
    other = replace(SPIDER_1, sets_needed=7)
    with pytest.raises(StoreError, match="rules_hash"):
        build_pool(Order(other, 5), Settling(data, workers=1))


# ---- files


def test_a_file_gives_the_pool_back(built, file):
    found = pools.read_pool(file)
    assert found == built
    assert found.variant() == SPIDER_1
    assert list(pools.faults(found, SPIDER_1)) == []


def test_the_same_pool_is_the_same_file(built, file, tmp_path):
    other = tmp_path / "other.parquet"
    pools.write_pool(build_pool(ORDER, Settling(tmp_path / "data", workers=1)), other)
    assert other.read_bytes() == file.read_bytes()


def test_the_checksum_can_be_computed_from_the_json(built):
    content = json.loads(pools.render(built, built.rows, "json"))
    digest = hashlib.sha256()
    for entry in content["deals"]:
        digest.update(json.dumps(list(entry.values()), separators=(",", ":")).encode() + b"\n")
    assert digest.hexdigest() == content["header"]["sha256"] == built.header.sha256


def test_an_old_file_stays_when_writing_fails(built, file, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(pq, "write_table", lambda *_args, **_named: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(StoreError, match="No space left"):
        pools.write_pool(built, file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def rewrite(file, change, header=None):
    """Write changed rows under the old header, or one with other entries."""
    table = pq.read_table(file)
    metadata = json.loads(table.schema.metadata[b"winnable.pool"]) | (header or {})
    rows = table.to_pylist()
    change(rows)
    changed = type(table).from_pylist(rows, table.schema)
    pq.write_table(changed.replace_schema_metadata({b"winnable.pool": json.dumps(metadata).encode()}), file)


def test_changed_rows_are_met_when_they_are_read(file):
    rewrite(file, lambda rows: rows[3].update(difficulty=6 - rows[3]["difficulty"], positions=1))
    with pytest.raises(DataError, match="sha256"):
        pools.read_pool(file)
    pools.read_pool(file, check=False)


def test_a_missing_row_is_met(file):
    rewrite(file, lambda rows: rows.pop())
    with pytest.raises(DataError, match=r"'deals': 20 .* 19"):
        pools.read_pool(file)


@pytest.mark.parametrize(
    ("change", "text", "replays"),
    [
        ({"line": "ab"}, "move 1", False),
        ({"line": "zz"}, "'zz'", False),
        ({"moves": 5}, "moves 5", True),
        ({"stock": "AS"}, "cards", True),
    ],
)
def test_faults_are_named(file, change, text, replays):
    rewrite(file, lambda rows: rows[2].update(change))
    found = pools.read_pool(file, check=False)
    (fault,) = pools.faults(found, SPIDER_1)
    assert fault.seed == found.rows[2].seed
    assert text in fault.text
    assert fault.replay is not replays


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ({"format": 2}, "'format': 2 .* 1"),
        ({"format": None}, "'format'"),
        ({"tried": "many"}, "'tried': 'many' .* int"),
        ({"rules": 5}, "'rules': 5 .* dict"),
    ],
)
def test_a_wrong_header_is_told(file, header, text):
    rewrite(file, lambda rows: None, header)
    with pytest.raises(DataError, match=text):
        pools.read_pool(file)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ({"rules": {}}, "'rules'"),
        ({"rules_hash": "0" * 16}, f"'rules_hash': '0+' .* {SPIDER_1.rules_hash}"),
        (
            {
                "rules": pools.rules_of(replace(SPIDER_1, sets_needed=7)),
                "rules_hash": replace(SPIDER_1, sets_needed=7).rules_hash,
            },
            f"'rules_hash': .* {SPIDER_1.rules_hash}",
        ),
    ],
)
def test_a_pool_of_other_rules_is_refused(file, header, text):
    rewrite(file, lambda rows: None, header)
    with pytest.raises(DataError, match=text):
        pools.read_pool(file, check=False).variant()


def test_what_is_no_pool_is_told(tmp_path, data):
    path = tmp_path / "no.parquet"
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"no\.parquet is not a readable Parquet file"):
        pools.read_pool(path)
    (part, *_) = Store(data).parts(Partition("spider-1", "native"))
    with pytest.raises(DataError, match=r"winnable\.pool"):
        pools.read_pool(part.path)


# ---- what games take


def test_a_sample_is_drawn_without_repeats_and_again_by_its_key(built):
    drawn = pools.sample(built, 8, range(1, 6), key=1)
    assert len({row.seed for row in drawn}) == 8
    assert drawn == pools.sample(built, 8, range(1, 6), key=1)
    assert drawn != pools.sample(built, 8, range(1, 6), key=2)


def test_a_sample_keeps_to_its_difficulties(built):
    level = built.rows[0].difficulty
    fitting = [row for row in built.rows if row.difficulty == level]
    assert sorted(pools.sample(built, len(fitting), range(level, level + 1), key=9)) == fitting
    with pytest.raises(UsageError, match=f"{len(fitting) + 1} .* {level} to {level}.* {len(fitting)}"):
        pools.sample(built, len(fitting) + 1, range(level, level + 1), key=9)


def test_exports_hold_every_deal(built):
    numbers = pools.render(built, built.rows, "numbers").split()
    assert numbers == [str(row.seed) for row in built.rows]
    text = pools.render(built, built.rows, "csv").splitlines()
    assert text[0] == ",".join(pools.PoolRow._fields)
    assert len(text) == 21
    assert text[1].split(",")[6].split("|") == list(built.rows[0].columns)


# ---- the bars


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("spider-1", 10_000), ("spider-4", 1000)])
def test_a_pool_takes_less_than_a_minute(tmp_path, name, count):
    start = time.perf_counter()
    variant = load_variant(name)
    made = build_pool(Order(variant, count), Settling(tmp_path, workers=2))
    assert time.perf_counter() - start < 60
    assert made.header.deals == count
    assert not list(pools.faults(made, variant))
