"""The dataset: what is added is read back, whatever the order, and by every reader of Parquet."""

import itertools

import hypothesis.strategies as st
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from dataset_rows import RULES, SOLVER, a_row, a_table, replaces, rows_of, table_of
from hypothesis import given, settings

from pipeline.dataset import store as store_module
from pipeline.dataset.loading import load_outcomes
from pipeline.dataset.schema import SCHEMA, part_name, read_footer
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Part, Partition, Store
from pipeline.errors import StoreError, UsageError

SPIDER = Partition("spider-4", "native")


def names(store, partition=SPIDER):
    return [part.path.name for part in store.parts(partition)]


def test_a_new_dataset_is_empty(tmp_path):
    store = Store(tmp_path / "data")
    assert store.partitions() == []
    assert store.parts(SPIDER) == []
    assert store.read("spider-4").schema.equals(SCHEMA)
    assert not (tmp_path / "data").exists()
    with pytest.raises(StoreError, match=r"data: not a dataset: .*outcomes/"):
        load_outcomes(tmp_path / "data")
    (tmp_path / "data" / "outcomes").mkdir(parents=True)
    assert len(load_outcomes(tmp_path / "data")) == len(load_outcomes(tmp_path / "data", ["spider-1"])) == 0


def test_added_rows_are_read_back(tmp_path):
    store = Store(tmp_path)
    rows = [a_row(3), a_row(1, "unsettled"), a_row(2, "lost")]
    with store.writing("test"):
        store.add(SPIDER, table_of(sorted(rows)))
    assert names(store) == ["part-0-32767.parquet"]
    assert rows_of(Store(tmp_path).read("spider-4")) == sorted(rows)
    assert store.partitions() == [SPIDER]
    assert store.rules_hash(SPIDER) == RULES
    store.check_rules(SPIDER, RULES)
    with pytest.raises(StoreError, match=r"other rules of spider-4.*another --data"):
        store.check_rules(SPIDER, "f" * 16)


def test_every_common_reader_reads_the_dataset_as_it_is(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table(range(1, 6)))
        store.add(Partition("spider-1", "pysol"), a_table(range(3)))
    whole = pyarrow.dataset.dataset(tmp_path / "outcomes", partitioning="hive").to_table()
    assert whole.num_rows == 8
    frame = pd.read_parquet(tmp_path / "outcomes")
    assert sorted(frame["variant"].astype(str).unique()) == ["spider-1", "spider-4"]
    own = load_outcomes(tmp_path)
    assert list(own.columns[:3]) == ["variant", "numbering", "seed"]
    assert own.groupby(["variant", "numbering"], observed=True).size().to_dict() == {
        ("spider-1", "pysol"): 3,
        ("spider-4", "native"): 5,
    }
    assert len(load_outcomes(tmp_path, ["spider-1"])) == len(load_outcomes(tmp_path, "spider-1")) == 3
    with pytest.raises(UsageError, match=r"unknown variant 'spidr-4'.*spider-4"):
        load_outcomes(tmp_path, ["spidr-4"])
    assert len(load_outcomes(tmp_path, numbering="native")) == 5


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_other_libraries_read_the_dataset_as_it_is(tmp_path, library):
    module = pytest.importorskip(library)
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table(range(1, 6)))
    files = str(tmp_path / "outcomes" / "**" / "*.parquet")
    if library == "polars":
        frame = module.read_parquet(files, hive_partitioning=True)
        assert frame["variant"].unique().to_list() == ["spider-4"]
        assert frame.height == 5
    else:
        query = f"select variant, count(*) from read_parquet('{files}', hive_partitioning=true) group by 1"
        assert module.sql(query).fetchall() == [("spider-4", 5)]


def test_no_rows_change_nothing(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table([]))
        assert store.partitions() == []
        store.add(SPIDER, a_table([1]))
        store.add(SPIDER, a_table([]))
    assert names(store) == ["part-0-32767.parquet"]


def test_blocks_are_parts_and_no_other_is_written(tmp_path):
    store = Store(tmp_path)
    last = 2**63 - 1
    with store.writing("test"):
        store.add(SPIDER, a_table([5, 32767, 32768, last]))
        assert names(store) == [
            "part-0-32767.parquet",
            "part-32768-65535.parquet",
            f"part-{last - 32767}-{last}.parquet",
        ]
        before = [part.path.stat().st_ino for part in store.parts(SPIDER)]
        store.add(SPIDER, a_table([6]))
        store.add(SPIDER, a_table([5]))
    after = [part.path.stat().st_ino for part in store.parts(SPIDER)]
    assert [one == other for one, other in zip(before, after, strict=True)][1:] == [True, True]
    assert [row.seed for row in rows_of(store.read("spider-4"))] == [5, 6, 32767, 32768, last]
    assert list(store.missing(SPIDER, Seeds.of([range(last - 1, last + 1)]), 1)) == [last - 1]


def test_new_parts_span_what_the_ones_there_leave_of_their_block(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        for first, last in ((10, 19), (32760, 40000)):
            store.publish(Part(store.folder(SPIDER) / part_name(first, last), first, last), a_table([first, last]))
        store.add(SPIDER, a_table([1, 15, 30, 32767, 40001]))
    assert names(store) == [
        "part-0-9.parquet",
        "part-10-19.parquet",
        "part-20-32759.parquet",
        "part-32760-40000.parquet",
        "part-40001-65535.parquet",
    ]
    seeds = [1, 10, 15, 19, 30, 32760, 32767, 40000, 40001]
    assert [row.seed for row in rows_of(store.read("spider-4"))] == seeds
    some = store.scan(SPIDER, seeds=Seeds.of([range(15, 20), range(30, 32761)]))
    assert [row.seed for table in some for row in rows_of(table)] == seeds[2:6]


@settings(max_examples=25, deadline=None)
@given(
    batches=st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1, max_size=6),
    block=st.sampled_from([1, 4, 100]),
)
def test_any_order_of_batches_gives_disjoint_parts_and_every_row_once(tmp_path_factory, batches, block):
    path = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "BLOCK", block)
        store = Store(path)
        with store.writing("test"):
            for batch in batches:
                store.add(SPIDER, a_table(sorted(batch)))
    seeds = sorted(set().union(*batches))
    assert [row.seed for row in rows_of(store.read("spider-4"))] == seeds
    assert len(store.parts(SPIDER)) == len({seed // block for seed in seeds})
    wanted = Seeds.of([range(3, 28)])
    assert list(store.missing(SPIDER, wanted, 1)) == sorted(set(wanted) - set(seeds))


def test_rows_of_other_rules_are_not_added(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table([1]))
        with pytest.raises(StoreError, match="other rules"):
            store.add(SPIDER, a_table([2], rules_hash="f" * 16))
    assert [row.seed for row in rows_of(store.read("spider-4"))] == [1]


def test_what_is_missing(tmp_path):
    store = Store(tmp_path)
    rows = [a_row(1), a_row(2, "unsettled"), a_row(3, "lost"), a_row(4, "unsettled", node_limit=5000)]
    with store.writing("test"):
        store.add(SPIDER, table_of(rows))
    seeds = Seeds.of([range(1, 7)])

    def missing(nodes, **options):
        return list(store.missing(SPIDER, seeds, nodes, **options))

    assert missing(500) == [5, 6]
    assert missing(1000) == [5, 6]
    assert missing(1001) == [2, 5, 6]
    assert missing(9999) == [2, 4, 5, 6]
    assert missing(1000, retry=True, solver="0.2.0+1") == [2, 5, 6]
    assert missing(5000, retry=True, solver="0.2.0+1") == [2, 4, 5, 6]
    assert missing(1000, retry=True, solver="0.0.9+1") == [5, 6]
    assert missing(1000, retry=True, solver=SOLVER) == [5, 6]
    assert list(store.missing(Partition("spider-4", "pysol"), seeds, 1)) == [1, 2, 3, 4, 5, 6]


def test_one_dataset_has_one_writer(tmp_path):
    store, other = Store(tmp_path), Store(tmp_path)
    with store.writing("run"):
        with pytest.raises(StoreError, match=r"in use by winnable run \(pid \d+ on .*\)"), other.writing("run"):
            pass
        store.add(SPIDER, a_table([1]))
        assert len(other.read("spider-4")) == 1
    with other.writing("test"):
        other.add(SPIDER, a_table([2]))


STRENGTHS = [
    # weaker ... stronger; two of one group do not replace each other
    [a_row(1, "unsettled", node_limit=100)],
    [a_row(1, "unsettled", node_limit=1000)],
    [a_row(1, "unsettled", node_limit=1000, solver="0.10.0+5")],
    [a_row(1, "unsettled", node_limit=5000, solver="0.0.9+5")],
    [a_row(1, positions=90), a_row(1, positions=90, solver="0.2.0+1"), a_row(1, positions=90, node_limit=100)],
    [a_row(1, positions=90, moves=1)],
    [a_row(1, positions=50, moves=9), a_row(1, positions=50, moves=9, solver="0.0.1+1", node_limit=60)],
]


@pytest.mark.parametrize(("weak", "strong"), list(itertools.combinations(range(len(STRENGTHS)), 2)))
def test_the_stronger_row_stands(weak, strong):
    for one, other in itertools.product(STRENGTHS[weak], STRENGTHS[strong]):
        assert replaces(other, one)
        assert not replaces(one, other)


@pytest.mark.parametrize("group", STRENGTHS)
def test_an_equal_row_stands(group):
    for one, other in itertools.product(group, group):
        assert not replaces(one, other)


def test_lost_replaces_unsettled_and_contradicts_won():
    lost = a_row(1, "lost", positions=300)
    assert replaces(lost, STRENGTHS[3][0])
    assert not replaces(STRENGTHS[3][0], lost)
    assert replaces(lost._replace(positions=200), lost)
    assert not replaces(lost, lost)
    with pytest.raises(StoreError, match=r"seed 1: won by solver .* but lost by"):
        replaces(a_row(1), lost)


def test_footer_says_what_a_part_holds(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table([7, 9]))
    footer = read_footer(store.folder(SPIDER) / "part-0-32767.parquet")
    assert (footer.rows, footer.first, footer.last, footer.rules_hash) == (2, 7, 9, RULES)
    assert pa.parquet.read_schema(store.folder(SPIDER) / "part-0-32767.parquet").field("seconds").metadata[b"volatile"]
