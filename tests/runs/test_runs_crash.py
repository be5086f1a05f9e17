"""A kill between any two durable steps loses nothing and doubles nothing."""

import errno
import os
import shutil
import subprocess
import sys

import pyarrow.dataset
import pytest
from dataset_clock import Clock
from dataset_rows import a_row, a_table, rows_of, table_of

from pipeline.dataset import store as store_module
from pipeline.dataset import transfer
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError

SPIDER = Partition("spider-4", "native")


def base(store):
    store.add(SPIDER, a_table(range(10, 20)))
    store.add(SPIDER, a_table(range(30, 36), verdict="unsettled"))


NEW = [a_row(12), a_row(33), a_row(31, node_limit=2000, verdict="unsettled"), a_row(40)]


def add(store):
    store.add(SPIDER, table_of(sorted(NEW)))


def merge(store):
    source = Store(store.data.parent / "source")
    if not source.outcomes.exists():
        with source.writing("test"):
            add(source)
    list(transfer.merge(store, source, [SPIDER], {}))


@pytest.mark.parametrize("block", [8, 1000])
@pytest.mark.parametrize("action", [add, merge])
def test_a_kill_at_any_step(tmp_path, monkeypatch, action, block):
    monkeypatch.setattr(store_module, "BLOCK", block)
    clock = Clock(monkeypatch)

    template = Store(tmp_path / "template")
    with template.writing("test"):
        base(template)

    def prepared(name):
        shutil.copytree(template.data, tmp_path / name)
        return Store(tmp_path / name)

    def act(store):
        def locked():
            with store.writing("test"):
                action(store)

        return locked

    undisturbed = prepared("undisturbed")
    act(undisturbed)()
    steps = clock.run(act(prepared("counted")))
    old = rows_of(prepared("before").read(*SPIDER))
    expected = rows_of(undisturbed.read(*SPIDER))
    assert old != expected
    for step in range(1, steps + 1):
        store = prepared(f"killed-{step}")
        clock.run(act(store), step)
        # Whoever comes next, with whatever reader, finds of each part the old rows or the new ones, and no deal twice.
        rows = {row.seed: row for row in rows_of(store.read(*SPIDER))}
        outside = pyarrow.dataset.dataset(store.outcomes, partitioning="hive").to_table()["seed"].to_pylist()
        assert sorted(outside) == list(rows)
        known = {row.seed: {row} for row in old}
        for row in expected:
            known.setdefault(row.seed, set()).add(row)
        assert all(row in known[seed] for seed, row in rows.items())
        assert rows.keys() >= {row.seed for row in old}
        # And the same action again ends where the undisturbed one did.
        act(Store(store.data))()
        assert rows_of(store.read(*SPIDER)) == expected
        assert not [path for path in store.staging.iterdir() if path.suffix in (".parquet", ".tmp")]


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    store = Store(tmp_path)
    with store.writing("test"):
        base(store)
    before = rows_of(store.read(*SPIDER))

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    advice = r"cannot write .*No space left on device; free some space and run the same"
    with pytest.raises(StoreError, match=advice), store.writing("test"):
        add(store)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    assert rows_of(Store(tmp_path).read(*SPIDER)) == before
    with store.writing("test"):
        add(store)
        assert not list(store.staging.glob("new-*"))


def run_in_small_disk(script, size="600k"):
    """Run a Python script whose directory `disk` is a file system of that size; skip where that is not allowed."""
    program = f"mount -t tmpfs -o size={size} tmpfs disk && exec {sys.executable} -c '{script}'"
    return ["unshare", "-rm", "sh", "-c", program]


def test_a_disk_that_is_really_full(tmp_path):
    (tmp_path / "disk").mkdir()
    script = """
import os
from dataset_rows import a_row
from dataset_rows import table_of
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError
part = Partition("spider-4", "native")
store = Store("disk/data")
added, stopped = 0, None
try:
    with store.writing("test"):
        for start in range(0, 100000, 2000):
            lines = [os.urandom(120).hex() for _ in range(2000)]
            store.add(part, table_of(a_row(start + i, line=line) for i, line in enumerate(lines)))
            added += 2000
except StoreError as error:
    stopped = str(error)
assert "No space left on device; free some space" in stopped, stopped
assert len(Store("disk/data").read(*part)) == added > 0
print("kept", added)
"""
    if subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)], capture_output=True
    ).returncode:
        pytest.skip("no private mounts here")
    done = subprocess.run(
        run_in_small_disk(script.replace("'", '"')),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kept ")
