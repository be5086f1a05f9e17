"""Forged pools and certificates: whatever a file holds, reading it ends in what it says or in one error."""

import contextlib

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults_settler import IDENTITY, Easy
from hypothesis import given, settings
from runs_games import EASY, EASY_TOML

from pipeline.cli.main import run_command
from pipeline.errors import WinnableError
from pipeline.pools.pool import read_pool
from pipeline.referee.certificate import read_certificate
from pipeline.runs import run as runs

VALUES = {
    "text": "x",
    "bytes": b"\xff\xfe",
    "nothing": None,
    "number": 2**62,
    "negative": -1,
    "fraction": float("nan"),
    "flag": True,
    "list": [1],
    "struct": {"a": 1},
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    (folder / "easy.toml").write_text(EASY_TOML)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WINNABLE_EXECUTOR", "inline")
        defaults = runs.run.__kwdefaults__ | {"settler": Easy(), "solver": IDENTITY}
        patch.setattr(runs.run, "__kwdefaults__", defaults)
        words = ("pool", "build", "--variant", "easy.toml", "--nodes", "500", "--count", "6", "--out", "pool.parquet")
        assert run_command((*words, "--workers", "1")) == 0
    return folder / "pool.parquet"


def read(path):
    with contextlib.suppress(WinnableError):
        read_pool(path)


@pytest.mark.parametrize("kind", VALUES)
def test_a_pool_with_a_column_of_any_kind(pool, tmp_path, kind):
    with pool.open("rb") as file:
        table = pq.ParquetFile(file).read(use_threads=False)
    for place, name in enumerate(table.schema.names):
        forged = table.set_column(place, name, pa.array([VALUES[kind]] * len(table)))
        pq.write_table(forged.replace_schema_metadata(table.schema.metadata), tmp_path / "forged.parquet")
        try:
            assert read_pool(tmp_path / "forged.parquet") == read_pool(pool), "True is 1"
        except WinnableError:
            assert run_command(("pool", "verify", str(tmp_path / "forged.parquet"))) in (3, 4)


@settings(max_examples=100, deadline=None)
@given(places=st.lists(st.tuples(st.integers(0, 2**14), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_pool_of_any_bytes(pool, tmp_path_factory, places):
    content = bytearray(pool.read_bytes())
    for place, value in places:
        content[-1 - place % len(content)] = value
    path = tmp_path_factory.mktemp("forged") / "pool.parquet"
    path.write_bytes(content)
    read(path)


def test_a_pool_whose_names_are_not_text(pool, tmp_path):
    content = pool.read_bytes()
    assert b"seed" in content
    (tmp_path / "forged.parquet").write_bytes(content.replace(b"seed", b"\x80eed"))
    with pytest.raises(WinnableError):
        read_pool(tmp_path / "forged.parquet")


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_a_certificate_of_any_bytes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("forged") / "any.certificate"
    path.write_bytes(content)
    with pytest.raises(WinnableError):
        read_certificate(path)


def test_the_game_is_the_one_of_the_pool(pool):
    assert read_pool(pool).header.rules_hash == EASY.rules_hash
