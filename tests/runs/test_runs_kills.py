"""Processes killed at random moments: the table ends as if nothing had happened, and nobody is left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from runs_settlers import IDENTITY, Fake

from pipeline.dataset.store import Store
from pipeline.runs import run as runs

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")

HERE = Path(__file__).parent
DEALS = 400
SECONDS = 0.004
PATIENCE = 300  # seconds, for machines that have much else to do


class Process:
    """A driver in a session of its own, so that all it ever started can be found."""

    def __init__(self, data, trace, seconds=SECONDS, start=0, quick=0):
        arguments = [HERE / "runs_driver.py", data, 1, DEALS, seconds, trace, start, quick]
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": f"{HERE.parents[1]}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def members(self):
        """Return parent by process id of everything alive in the session."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            state, parent, _, session = fields[:4]
            if int(session) == self.pid and state not in "ZX":
                found[int(path.parent.name)] = int(parent)
        return found

    def workers(self):
        """Return the grandchildren: the fork server's children."""
        members = self.members()
        servers = {pid for pid, parent in members.items() if parent == self.pid}
        return [pid for pid, parent in members.items() if parent in servers]

    def wait_for_work(self, trace):
        deadline = time.monotonic() + PATIENCE
        while not (trace.exists() and trace.stat().st_size) and time.monotonic() < deadline:
            assert self.process.poll() in (None, 0), self.process.stderr.read()
            time.sleep(0.01)

    def end(self):
        """Wait for the end; return the exit code once nothing of the session is left."""
        _, errors = self.process.communicate(timeout=PATIENCE)
        self.errors = errors
        deadline = time.monotonic() + PATIENCE
        while self.members():
            assert time.monotonic() < deadline, f"left behind: {self.members()}"
            time.sleep(0.05)
        return self.process.returncode


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def undisturbed(settings_for, rows_in, tmp_path):
    runs.run(settings_for(f"1:{DEALS}", data="undisturbed", chunk=50), settler=Fake(), solver=IDENTITY)
    return rows_in(tmp_path / "undisturbed")


def rounds(tmp_path, seed):
    """Kill and resume until a run gets through; return how many kills there were."""
    dice = random.Random(seed)
    data, kills, code = tmp_path / "data", 0, None
    for attempt in range(100):
        trace = tmp_path / f"trace-{attempt}"
        process = Process(data, trace)
        process.wait_for_work(trace)
        for _ in range(dice.randint(0, 2) if attempt < 6 else 0):
            time.sleep(dice.uniform(0, 0.3))
            target = dice.choice(("worker", "parent", "both"))
            workers = process.workers()
            if target != "parent" and workers:
                kills += kill(dice.choice(workers))
            if target != "worker":
                kills += kill(process.pid)
        code = process.end()
        assert code in (0, -signal.SIGKILL), process.errors
        if code == 0:
            return kills
    raise AssertionError("never got through")


def check_work(tmp_path, kills):
    """Only what was in flight or finished in the last moments was done again."""
    done = Counter()
    for path in tmp_path.glob("trace-*"):
        done.update(path.read_text().split())
    assert len(done) == DEALS
    in_flight = 2 * 3 * 8
    a_moment = int(2 * 0.5 / SECONDS)  # what two workers finish between two flushes, generously
    assert sum(done.values()) - DEALS <= kills * (2 * in_flight + a_moment)


@pytest.mark.parametrize("seed", range(5))
def test_kill_and_resume(tmp_path, rows_in, undisturbed, seed):
    kills = rounds(tmp_path, seed)
    assert rows_in(tmp_path / "data") == undisturbed
    check_work(tmp_path, kills)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_kill_and_resume_fifty_times(tmp_path, rows_in, undisturbed, seed):
    test_kill_and_resume(tmp_path, rows_in, undisturbed, seed)


def test_a_killed_parent_leaves_nobody_behind(tmp_path):
    trace = tmp_path / "trace"
    process = Process(tmp_path / "data", trace)
    process.wait_for_work(trace)
    assert len(process.workers()) == 2
    kill(process.pid)
    assert process.end() == -signal.SIGKILL


def test_a_killed_worker_costs_nothing(tmp_path, rows_in, undisturbed):
    trace = tmp_path / "trace"
    process = Process(tmp_path / "data", trace)
    process.wait_for_work(trace)
    assert kill(process.workers()[0])
    assert process.end() == 0
    assert rows_in(tmp_path / "data") == undisturbed


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_drains_and_keeps_what_is_finished(tmp_path, rows_in, undisturbed, number, code):
    trace = tmp_path / "trace"
    process = Process(tmp_path / "data", trace)
    process.wait_for_work(trace)
    time.sleep(0.2)
    os.killpg(process.pid, number) if number == signal.SIGINT else kill(process.pid, number)
    assert process.end() == code, process.errors
    (rows,) = rows_in(tmp_path / "data").values()
    settled = set(trace.read_text().split())
    assert {str(row.seed) for row in rows} == settled, "all that was settled is kept"
    assert 0 < len(rows) < DEALS
    again = tmp_path / "again"
    process = Process(tmp_path / "data", again)
    assert process.end() == 0
    assert not settled & set(again.read_text().split())
    assert rows_in(tmp_path / "data") == undisturbed


def test_an_interrupt_does_not_wait_for_workers_that_still_start(tmp_path, settings_for, rows_in):
    process = Process(tmp_path / "data", tmp_path / "trace", start=1000)
    deadline = time.monotonic() + PATIENCE
    while not list((tmp_path / "data" / "runs").glob("*.log")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    kill(process.pid, signal.SIGINT)
    assert process.end() == 130
    assert rows_in(tmp_path / "data") == {}


def test_a_second_interrupt_ends_at_once(tmp_path):
    trace = tmp_path / "trace"
    # The first chunks land; the deals at hand then take longer than this test waits.
    process = Process(tmp_path / "data", trace, seconds=PATIENCE, quick=64)

    def wait_for(condition):
        deadline = time.monotonic() + PATIENCE / 2
        while not condition():
            assert process.process.poll() is None, process.process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def said(text):
        return any(text in log.read_text() for log in (tmp_path / "data" / "runs").glob("*.log"))

    try:
        wait_for(lambda: trace.exists() and len(trace.read_text().split()) == 66)
        kill(process.pid, signal.SIGINT)
        wait_for(lambda: said("stopping (interrupted)"))
        time.sleep(1)
        assert process.process.poll() is None, "the first one waits for the deals at hand"
        kill(process.pid, signal.SIGINT)
        _, errors = process.process.communicate(timeout=PATIENCE / 10)
    finally:
        for pid in process.members():
            kill(pid)
    assert process.process.returncode == -signal.SIGINT, errors
    assert len(Store(tmp_path / "data").read("spider-4")) == 64


def test_a_second_run_on_the_same_dataset_is_told_who_has_it(tmp_path, rows_in, undisturbed):
    trace = tmp_path / "trace"
    process = Process(tmp_path / "data", trace, seconds=1)
    process.wait_for_work(trace)
    other = Process(tmp_path / "data", tmp_path / "other")
    assert other.end() == 1
    assert f"in use by winnable run (pid {process.pid} on" in other.errors
    kill(process.pid)
    process.end()
    # A dead holder holds nothing.
    assert Process(tmp_path / "data", tmp_path / "third").end() == 0
    assert rows_in(tmp_path / "data") == undisturbed
