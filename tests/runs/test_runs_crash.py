"""A kill between any two durable steps loses nothing and doubles nothing."""

import errno
import os
import shutil
import subprocess
import sys

import pytest
from dataset_rows import a_row, a_table

from pipeline.dataset import files
from pipeline.dataset import store as store_module
from pipeline.dataset.rows import rows_of, table_of
from pipeline.dataset.source import Source
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError

SPIDER = Partition("spider-4", "native")
STEPS = ("make_directory", "write_file", "rename", "remove", "sync_directory")


class Killed(BaseException):
    """Like a SIGKILL: nothing catches it."""


class Clock:
    """Counts durable steps and kills at one of them; a file that was being written is left torn."""

    def __init__(self, monkeypatch):
        self.steps, self.deadline = 0, None
        for name in STEPS:
            monkeypatch.setattr(files, name, self.wrap(getattr(files, name)))

    def wrap(self, step):
        def counted(*arguments):
            self.steps += 1
            if self.deadline is not None and self.steps >= self.deadline:
                if step.__name__ == "write_file":
                    arguments[0].write_bytes(b"PAR1 half")
                raise Killed
            return step(*arguments)

        return counted

    def run(self, action, deadline=None):
        self.steps, self.deadline = 0, deadline
        try:
            action()
        except Killed:
            pass
        finally:
            self.deadline = None
        return self.steps


def base(store):
    store.add(SPIDER, a_table(range(10, 20)))
    store.add(SPIDER, a_table(range(30, 36), verdict="unsettled"))


NEW = [a_row(12), a_row(33), a_row(31, node_limit=2000, verdict="unsettled"), a_row(40)]


def add(store):
    store.add(SPIDER, table_of(sorted(NEW)))


def merge(store):
    store.merge_pending()


def compact(store):
    store.compact(SPIDER)


def state_of(data):
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in data.rglob("*")}


@pytest.mark.parametrize("small", [0, 1000], ids=["postponed", "at once"])
@pytest.mark.parametrize("action", [add, merge, compact])
def test_a_kill_at_any_step(tmp_path, monkeypatch, action, small):
    monkeypatch.setattr(store_module, "SMALL_ROWS", small)
    clock = Clock(monkeypatch)

    template = Store(tmp_path / "template")
    with template.writing("test"):
        base(template)
        if action is not add:
            add(template)

    def prepared(name):
        shutil.copytree(template.data, tmp_path / name)
        return Store(tmp_path / name)

    def act(store):
        def locked():
            with store.writing("test"):
                action(store)

        return locked

    undisturbed = prepared("undisturbed")
    steps = clock.run(act(undisturbed))
    old = rows_of(prepared("before").read(*SPIDER))
    expected = rows_of(undisturbed.read(*SPIDER))
    if action is add:
        assert old != expected
    for step in range(1, steps + 1):
        store = prepared(f"killed-{step}")
        clock.run(act(store), step)
        # Who only reads changes nothing, and finds what will be there when it is finished.
        left = state_of(store.data)
        source = Source(store.data)
        found = rows_of(source.read(*SPIDER))
        assert [row for table in source.scan(SPIDER) for row in rows_of(table)] == found
        assert source.partitions() == [SPIDER]
        assert state_of(store.data) == left
        # Whoever comes next reads either state, row by row, and never a deal twice.
        after = Store(store.data)
        assert rows_of(after.read(*SPIDER)) == found
        rows = {row.seed: row for row in rows_of(after.read(*SPIDER))}
        assert len(rows) == len(after.read(*SPIDER))
        known = {row.seed: {row} for row in old}
        for row in expected:
            known.setdefault(row.seed, set()).add(row)
        assert all(row in known[seed] for seed, row in rows.items())
        assert rows.keys() >= {row.seed for row in old}
        # And the same action again ends where the undisturbed one did.
        with after.writing("test"):
            if action is add:
                add(after)
            after.merge_pending()
            action(after)
            after.merge_pending()
        assert rows_of(after.read(*SPIDER)) == expected
        assert not [path for path in after.staging.iterdir() if path.suffix in (".parquet", ".tmp")]


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
from pipeline.dataset.rows import table_of
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
