"""Whatever a file holds, reading it ends in rows or in one error that names it."""

import contextlib
import json

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_rows import a_table
from hypothesis import given, settings
from runs_games import EASY

from pipeline.dataset.manifest import read_run
from pipeline.dataset.repair import proved_rows
from pipeline.dataset.schema import VERSION, digest, read_footer, read_rows, write_table
from pipeline.errors import StoreError

VALUES = {
    "text": pa.array(["x", "won", "9" * 40]),
    "bytes": pa.array([b"\xff\xfe", b"", b"ab-"], pa.binary()),
    "bad text": pa.Array.from_buffers(pa.string(), 3, pa.array([b"\xff", b"\xc3", b"ab"]).buffers()),
    "nothing": pa.nulls(3, pa.int64()),
    "null": pa.nulls(3),
    "numbers": pa.array([-1, 2**62, 3]),
    "unsigned": pa.array([1, 2, 2**64 - 1], pa.uint64()),
    "fractions": pa.array([float("nan"), float("inf"), -0.5]),
    "flags": pa.array([True, False, None]),
    "lists": pa.array([[1], [], None]),
    "structs": pa.array([{"a": 1}, {"a": None}, None]),
    "times": pa.array([0, 1, 2], pa.timestamp("ns")),
    "decimals": pa.array([1, 2, 3], pa.decimal128(20, 2)),
    "words": pa.array(["won", "won", "lost"]).dictionary_encode(),
}


def read_all(path):
    """Read a file with every reader; each may refuse it, and in one way only."""
    for read in (read_footer, read_rows):
        with contextlib.suppress(StoreError):
            read(path)
    proved_rows(path, EASY, "native")


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("column", a_table([1]).schema.names)
def test_a_column_of_any_kind(tmp_path, column, kind):
    table = a_table([1, 2, 3])
    place = table.schema.get_field_index(column)
    forged = table.set_column(place, column, VALUES[kind])
    marks = {b"winnable.schema": str(VERSION).encode(), b"winnable.digest": digest(forged)}
    path = tmp_path / "part-0-32767.parquet"
    pq.write_table(forged.replace_schema_metadata(marks), path)
    read_all(path)


@settings(max_examples=150, deadline=None)
@given(places=st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=1, max_size=8))
def test_any_bytes(tmp_path_factory, places):
    path = tmp_path_factory.mktemp("forged") / "part-0-32767.parquet"
    with path.open("wb") as file:
        write_table(a_table(range(1, 20)), file)
    content = bytearray(path.read_bytes())
    for place, value in places:
        content[-1 - place % len(content)] = value
    path.write_bytes(content)
    read_all(path)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MANIFEST = {
    "run_id": "r1",
    "status": "finished",
    "started": "2026-11-30T00:00:00+00:00",
    "finished": None,
    "versions": {"python": "3.11.7"},
    "machine": {"host": "host", "system": "Linux", "processor": "x86_64", "cores": 2},
    "deals": [{"variant": "easy-game", "numbering": "native", "seeds": ["1:12"], "node_limit": 1000}],
}


@settings(max_examples=150, deadline=None)
@given(
    key=st.sampled_from([*MANIFEST, *(f"deals.{key}" for key in MANIFEST["deals"][0])]),
    value=anything | st.sampled_from([float("inf"), 10**400, "9" * 5000]),
)
def test_any_manifest(tmp_path_factory, key, value):
    content = json.loads(json.dumps(MANIFEST))
    above, _, below = key.partition(".")
    if below:
        content[above][0][below] = value
    else:
        content[above] = value
    path = tmp_path_factory.mktemp("forged") / "r1.json"
    with contextlib.suppress(ValueError):
        path.write_text(json.dumps(content))
        with contextlib.suppress(StoreError):
            read_run(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"run_id": 1' + "0" * 5000 + "}", "\ufeff{}", ""])
def test_any_json(tmp_path, text):
    path = tmp_path / "r1.json"
    path.write_text(text)
    with pytest.raises(StoreError):
        read_run(path)
