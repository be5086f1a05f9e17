"""What a worker does to its process and to the cache."""

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path

import pytest

from pipeline.engine import compiler
from pipeline.errors import WinnableError
from pipeline.game.variants import load_variant
from pipeline.runs import workers
from pipeline.runs.executors import ProcessExecutor
from pipeline.runs.flight import each


def test_a_worker_takes_no_lock_when_all_widths_are_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "CACHE_DIRECTORY", tmp_path / "cache")
    compiler.CACHE_DIRECTORY.mkdir()
    for width in (compiler.COMPLETE, 10, 16):
        compiler.mark_compiled(width)
    monkeypatch.setattr(workers, "FileLock", None)
    variants = [load_variant(word) for word in ("spiderette", "spider-4", "big-divorce")]
    assert {len(variant.columns) for variant in variants} - {10, 16}
    workers.SolverSettler.warm(variants)


def test_what_is_compiled_is_known_by_the_place_of_the_sources(monkeypatch, tmp_path):
    """Numba keeps compiled code by the path of its sources: another installation's is no use."""
    monkeypatch.setattr(compiler, "CACHE_DIRECTORY", tmp_path)
    compiler.mark_compiled(10)
    assert compiler.is_compiled(10)
    monkeypatch.setattr(compiler, "HERE", tmp_path / "elsewhere")
    assert not compiler.is_compiled(10)


def test_workers_take_no_module_of_the_working_directory(tmp_path):
    program = Path(sys.executable).with_name("winnable")
    if not program.exists():
        pytest.skip("the program is not installed beside this Python")
    (tmp_path / "pipeline.py").write_text("raise SystemExit('not this one')")
    words = [program, "run", "--variant", "spider-1", "--seeds", "1:4", "--workers", "2"]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr


SCRIPT = """
from pipeline import settle
print("top")
print(settle("spider-1", range(1, 5), workers=2)["verdict"].tolist())
"""


@pytest.mark.parametrize("how", ["stdin", "file", "argument"])
def test_a_script_needs_no_guard_nor_a_file(tmp_path, how):
    """Workers load no script of the caller's: one on standard input could not be loaded, one without a guard loops."""
    (tmp_path / "script.py").write_text(SCRIPT)
    words = {"stdin": ["-"], "file": [str(tmp_path / "script.py")], "argument": ["-c", SCRIPT]}[how]
    done = subprocess.run(
        [sys.executable, *words], input=SCRIPT, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "top\n['won', 'won', 'won', 'won']\n"


def test_what_is_warm_has_the_referee_loaded():
    """It was compiled within the time of the first deal, whose deals a second were a hundredth of what they are."""
    program = (
        "from pipeline.runs.workers import SolverSettler\n"
        "from pipeline.game.variants import load_variant\n"
        "SolverSettler.warm([load_variant('spider-1')])\n"
        "from pipeline.referee.table import replay\n"
        "print(len(replay.signatures))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def double(_variant, _numbering, deals):
    if 777 in deals:
        os.kill(os.getpid(), signal.SIGKILL)
    return [2 * deal for deal in deals]


def test_a_deal_that_kills_its_worker_is_found_in_a_task_too():
    executor = ProcessExecutor(2)
    try:
        results = each(executor, double, None, "native", range(2000), killed=lambda deal: -deal)
    finally:
        executor.close()
    assert results == [-deal if deal == 777 else 2 * deal for deal in range(2000)]


def test_workers_that_cannot_start_are_no_deals_fault(monkeypatch):
    monkeypatch.setattr(ProcessExecutor, "submit", lambda *_: dead())
    executor = ProcessExecutor(1)
    try:
        with pytest.raises(WinnableError, match="workers do not start"):
            each(executor, double, None, "native", range(10), killed=lambda deal: -deal)
    finally:
        executor.close()


def dead():
    future = Future()
    future.set_exception(BrokenExecutor("dead"))
    return future


def test_sigterm_while_the_program_is_loaded():
    program = """
import os, signal, sys
from pipeline.cli import entry
class Kill:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGTERM)
sys.meta_path.insert(0, Kill())
entry.main()
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 143


def die_with_the_lock(_variant, _numbering, deals):
    """Be killed while looking whether to stop, and with whatever lock guards that."""
    guard = getattr(shared_stop(), "_cond", None)
    if 777 in deals and guard is not None:
        guard.acquire()
    if 777 in deals:
        os.kill(os.getpid(), signal.SIGKILL)
    return [bool(workers._stop()) for _ in deals]


def shared_stop():
    (cell,) = workers._stop.__closure__
    return cell.cell_contents


def test_a_killed_worker_takes_no_lock_along_that_others_wait_for():
    executor = ProcessExecutor(2)
    try:
        assert (
            each(executor, die_with_the_lock, None, "native", [1, 777, 3], killed=lambda _deal: None)[::2]
            == [False] * 2
        )
        executor.stop()
        assert executor.submit(die_with_the_lock, None, "", [1]).result(30) == [True]
    finally:
        executor.close(now=True)


DEAD_TRACKER = """
import os, signal, time
from multiprocessing import resource_tracker
from pipeline.runs.executors import start_resource_tracker

start_resource_tracker()
tracker = resource_tracker._resource_tracker
before = tracker._pid
resource_tracker.register("/a-semaphore", "semaphore")
os.kill(before, signal.SIGKILL)
os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
{asked}
resource_tracker.unregister("/a-semaphore", "semaphore")
print(tracker._pid != before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no resource tracker")
@pytest.mark.parametrize(
    "asked", ["resource_tracker.ensure_running()", "resource_tracker.getfd()", "tracker.ensure_running()"]
)
def test_a_dead_resource_tracker_is_replaced_without_a_word(asked):
    """Whatever asks for it: the fork server and each start of a worker ask the module, a semaphore the tracker."""
    run = subprocess.run([sys.executable, "-c", DEAD_TRACKER.format(asked=asked)], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n", "")
