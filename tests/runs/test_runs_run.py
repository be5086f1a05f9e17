"""Runs: what is missing is settled once, in any chunks, by any workers; what fails is named."""

import json
import multiprocessing
import os
import re
import resource
import signal
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from dataset_rows import rows_of
from runs_settlers import IDENTITY, Fake, outcome, speak

from pipeline.dataset import files
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import PartialFailure, SolverFault, StoreError, UsageError, WinnableError
from pipeline.game.variants import load_variant
from pipeline.runs import run as runs
from pipeline.runs.executors import InlineExecutor
from pipeline.runs.logs import RunLog
from pipeline.runs.progress import Progress
from pipeline.runs.settings import Deals
from pipeline.runs.window import Window
from pipeline.runs.workers import HandshakeError

SPIDER = Partition("spider-4", "native")


def run(settings, **options):
    return runs.run(settings, settler=Fake(**options), solver=IDENTITY)


def manifest_of(settings, summary):
    return json.loads((settings.data / "runs" / f"{summary.run_id}.json").read_text())


def test_a_run_settles_its_deals_and_leaves_one_part(settings_for, rows_in):
    settings = settings_for("1:100")
    summary = run(settings)
    rows = rows_in(settings.data)[SPIDER]
    assert [row.seed for row in rows] == list(range(1, 101))
    variant = load_variant("spider-4")
    for row in rows:
        expected = outcome(variant, "native", row.seed, 1000)
        assert (row.verdict, row.positions, row.line) == (expected.verdict, expected.positions, expected.line)
        assert (row.solver, row.rules_hash) == (IDENTITY, variant.rules_hash)
    counts = summary.jobs[0].counts
    assert (counts.planned, counts.present, counts.settled, counts.left) == (100, 0, 100, 0)
    assert counts.won == sum(row.verdict == "won" for row in rows)
    assert [part.path.name for part in Store(settings.data).parts(SPIDER)] == ["part-0-32767.parquet"]
    assert not list((settings.data / ".staging").glob("*.parquet"))


def test_the_manifest_says_what_was_done(settings_for):
    settings = settings_for("1:50")
    summary = run(settings, raises={7})
    manifest = manifest_of(settings, summary)
    assert manifest["status"] == "finished"
    assert manifest["solver"] == IDENTITY
    assert manifest["deals"][0]["seeds"] == ["1:50"]
    assert manifest["deals"][0]["won"] + manifest["deals"][0]["lost"] + manifest["deals"][0]["unsettled"] == 49
    assert manifest["failed"] == [
        {
            "variant": "spider-4",
            "numbering": "native",
            "seed": 7,
            "kind": "error",
            "text": "ValueError: no outcome for 7",
        }
    ]
    assert "no outcome for 7" in (settings.data / "runs" / f"{summary.run_id}.log").read_text()


def test_the_same_run_again_does_nothing(settings_for, tmp_path):
    settings = settings_for("1:100")
    run(settings)
    before = sorted((path, path.stat().st_mtime_ns) for path in settings.data.rglob("*.parquet"))
    trace = tmp_path / "trace"
    summary = run(settings, trace=str(trace))
    assert (summary.settled, summary.jobs[0].counts.present) == (0, 100)
    assert not trace.exists()
    assert sorted((path, path.stat().st_mtime_ns) for path in settings.data.rglob("*.parquet")) == before


def test_a_larger_limit_settles_only_what_was_unsettled_at_a_smaller_one(settings_for, rows_in, tmp_path):
    run(settings_for("1:200", nodes=500))
    unsettled = [row.seed for row in rows_in(tmp_path / "data")[SPIDER] if row.verdict == "unsettled"]
    trace = tmp_path / "trace"
    run(settings_for("1:200", nodes=1500), trace=str(trace))
    assert sorted(map(int, trace.read_text().split())) == unsettled
    run(settings_for("1:200", nodes=1500, data="fresh"))
    rows, fresh = rows_in(tmp_path / "data")[SPIDER], rows_in(tmp_path / "fresh")[SPIDER]
    assert [row._replace(node_limit=0) for row in rows] == [row._replace(node_limit=0) for row in fresh]
    assert {row.node_limit for row in rows if row.seed in unsettled} == {1500}


def test_a_smaller_limit_leaves_everything_as_it_is(settings_for, rows_in, tmp_path):
    run(settings_for("1:100", nodes=1000))
    before = rows_in(tmp_path / "data")
    assert run(settings_for("1:100", nodes=100)).settled == 0
    assert rows_in(tmp_path / "data") == before


def test_retry_settles_what_another_solver_left_unsettled(settings_for, tmp_path):
    settings = settings_for("1:100", nodes=800)
    run(settings)
    again = replace(settings, retry=True)
    assert run(again).settled == 0
    newer = Fake(identity="0.2.0+1")
    summary = runs.run(again, settler=newer, solver="0.2.0+1")
    assert summary.settled == summary.jobs[0].counts.unsettled > 0
    assert runs.run(again, settler=newer, solver="0.2.0+1").settled == 0
    solvers = {row.verdict: row.solver for row in rows_of(Store(settings.data).read("spider-4"))}
    assert solvers == {"won": IDENTITY, "lost": IDENTITY, "unsettled": "0.2.0+1"}


@pytest.mark.parametrize(("nodes", "solver"), [(500, "0.2.0+1"), (800, "0.0.9+1")])
def test_retry_does_not_settle_again_what_no_new_row_would_replace(settings_for, nodes, solver):
    run(settings_for("1:100", nodes=800))
    again = settings_for("1:100", nodes=nodes, retry=True)
    assert runs.run(again, settler=Fake(identity=solver), solver=solver).settled == 0


@pytest.mark.parametrize("chunk", [1, 7, 64, None])
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_chunks_and_workers_make_no_difference(settings_for, rows_in, tmp_path, chunk, executor):
    two = (
        Deals(load_variant("spider-1"), "native", Seeds.of([range(5, 60), range(90, 99)]), 700),
        Deals(load_variant("spider-4"), "pysol", Seeds.of([range(1, 40)]), 900),
    )
    run(settings_for(data="plain", deals=two))
    run(settings_for(data="other", deals=two, chunk=chunk, executor=executor))
    assert rows_in(tmp_path / "other") == rows_in(tmp_path / "plain")
    assert len(rows_in(tmp_path / "plain")) == 2


def test_shards_together_are_the_whole(settings_for, rows_in, tmp_path):
    run(settings_for("1:100"))
    parts = set()
    for number in range(1, 8):
        whole = settings_for("1:100", data="shards")
        deals = replace(whole.deals[0], seeds=whole.deals[0].seeds.shard(number, 7))
        run(replace(whole, deals=(deals,)))
        names = {path.name for path in (tmp_path / "shards" / "outcomes").rglob("*.parquet")}
        assert len(names) >= 1
        parts |= names
    assert rows_in(tmp_path / "shards") == rows_in(tmp_path / "data")


def test_failed_deals_are_no_rows_and_are_tried_again(settings_for, rows_in, tmp_path):
    settings = settings_for("1:60")
    summary = run(settings, raises={11}, hungry={23})
    with pytest.raises(PartialFailure, match=r"2 deals failed.*spider-4 native 11.*ValueError") as caught:
        summary.raise_if_unfinished()
    assert caught.value.exit_code == 5
    assert {deal.failure.kind for deal in summary.failed} == {"error", "memory"}
    assert {row.seed for row in rows_in(settings.data)[SPIDER]} == set(range(1, 61)) - {11, 23}
    assert run(settings).settled == 2
    assert len(rows_in(settings.data)[SPIDER]) == 60


def test_a_run_whose_deals_all_fail_has_no_rows(settings_for, rows_in):
    settings = settings_for("1:30")
    assert len(run(settings, raises=frozenset(range(31))).failed) == 30
    assert rows_in(settings.data) == {}


def test_a_solver_fault_outranks_other_failures(settings_for, rows_in):
    settings = settings_for("1:60")
    summary = run(settings, raises={11}, faulty={30})
    with pytest.raises(SolverFault, match=r"1 deal, no row written: spider-4 native 30: .*does not replay") as caught:
        summary.raise_if_unfinished()
    assert caught.value.exit_code == 4
    assert {row.seed for row in rows_in(settings.data)[SPIDER]} == set(range(1, 61)) - {11, 30}


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_worker_with_another_solver_is_refused(settings_for, rows_in, executor):
    settings = settings_for("1:60", executor=executor)
    with pytest.raises(HandshakeError, match=r"bench mismatch.*computes solver 0\.1\.0\+1, this run is of"):
        run(settings, identity="0.1.0+1")
    assert rows_in(settings.data) == {}
    manifest = json.loads(next((settings.data / "runs").glob("*.json")).read_text())
    assert manifest["status"] == "failed"


def test_a_partition_of_other_rules_is_refused(settings_for, tmp_path):
    run(settings_for("1:9"))
    other = replace(load_variant("spider-4"), sets="any")
    deals = Deals(other, "native", Seeds.of([range(10, 20)]), 1000)
    with pytest.raises(StoreError, match="other rules of spider-4"):
        run(settings_for(deals=(deals,)))


def test_max_time_stops_cleanly(settings_for, rows_in):
    settings = settings_for("1:100000", max_time=0.5)
    summary = run(settings, seconds=0.005)
    assert summary.stopped == "max-time"
    assert summary.seconds < 3
    assert 0 < summary.settled == len(rows_in(settings.data)[SPIDER]) < 1000
    assert summary.left == 100000 - summary.settled
    assert manifest_of(settings, summary)["status"] == "max-time"


@pytest.mark.parametrize("size", [1, 20])
def test_a_deal_that_kills_its_worker_is_found_and_the_rest_goes_on(settings_for, rows_in, size):
    settings = settings_for("1:60", executor="processes", chunk=size)
    summary = run(settings, kills={17, 42})
    assert sorted((deal.failure.seed, deal.failure.kind) for deal in summary.failed) == [(17, "killed"), (42, "killed")]
    assert {row.seed for row in rows_in(settings.data)[SPIDER]} == set(range(1, 61)) - {17, 42}
    assert [entry["seed"] for entry in sorted(manifest_of(settings, summary)["failed"], key=lambda e: e["seed"])] == [
        17,
        42,
    ]


def test_workers_log_into_the_runs_file(settings_for):
    settings = settings_for("1:60", executor="processes")
    summary = run(settings, raises={5, 50})
    text = (settings.data / "runs" / f"{summary.run_id}.log").read_text()
    assert "ValueError: no outcome for 5\n" in text
    assert "spider-4 native 50: error: ValueError" in text
    assert "ForkServerProcess" in text or "SpawnProcess" in text


def test_the_last_words_of_a_worker_reach_the_log(tmp_path):
    """They take a while to send, and it exits at once."""
    context = multiprocessing.get_context("spawn")
    run_log = RunLog(tmp_path / "log")
    words = "x" * (16 << 20)
    worker = context.Process(target=speak, args=(context.Value("i", lock=False), run_log.worker_queue(context), words))
    worker.start()
    worker.join()
    run_log.close()
    assert (tmp_path / "log").read_text().count("x") >= len(words)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is capped by way of /proc")
def test_a_deal_over_the_memory_cap_fails_alone_and_its_worker_lives(settings_for, rows_in):
    settings = settings_for("1:60", executor="processes", chunk=10)
    assert run(settings_for("1:60", executor="processes", data="uncapped"), greedy={17}).failed == []
    summary = run(replace(settings, memory=200 << 20), greedy={17, 55})
    assert sorted((deal.failure.seed, deal.failure.kind) for deal in summary.failed) == [(17, "memory"), (55, "memory")]
    assert {row.seed for row in rows_in(settings.data)[SPIDER]} == set(range(1, 61)) - {17, 55}
    assert "worker died" not in (settings.data / "runs" / f"{summary.run_id}.log").read_text()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is capped by way of /proc")
@pytest.mark.parametrize("raises", [frozenset(), frozenset(range(31))])
def test_a_cap_on_memory_ends_with_an_inline_run(settings_for, raises):
    before = resource.getrlimit(resource.RLIMIT_AS)
    seen = []

    class Watching(Progress):
        def advance(self, job, deals):
            seen.append(resource.getrlimit(resource.RLIMIT_AS))

    settings = settings_for("1:30", memory=1 << 30)
    runs.run(settings, settler=Fake(raises=raises), solver=IDENTITY, progress=Watching())
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert seen[0] != before


def test_a_run_that_cannot_write_says_so_and_can_be_resumed(settings_for, rows_in, monkeypatch):
    settings = settings_for("1:60")
    real = files.write_file

    def full(path, write):
        if path.name.startswith("new-"):
            raise StoreError(f"cannot write {path}: No space left on device")
        real(path, write)

    monkeypatch.setattr(files, "write_file", full)
    with pytest.raises(StoreError, match="No space left on device"):
        run(settings)
    monkeypatch.setattr(files, "write_file", real)
    assert json.loads(next((settings.data / "runs").glob("*.json")).read_text())["status"] == "failed"
    assert run(settings).settled == 60
    assert len(rows_in(settings.data)[SPIDER]) == 60


class Compiling(Fake):
    @staticmethod
    def warm(_variants):
        time.sleep(0.3)
        return 0.3


def test_the_time_of_compiling_is_told_apart(settings_for):
    said = []
    summary = runs.run(settings_for("1:5"), settler=Compiling(), solver=IDENTITY, echo=said.append)
    assert summary.compiling == 0.3 < summary.seconds
    assert re.fullmatch(r"run \S+: 5 deals settled in \d\.\d s, after 0\.3 s of compiling", said[-1])
    assert float(said[-1].split()[6]) < summary.seconds - 0.2


class Cancelling(InlineExecutor):
    """An executor that cancels every chunk so many times."""

    def __init__(self, times):
        super().__init__()
        self.times, self.seen = times, Counter()

    def submit(self, task, *arguments):
        first = arguments[1].seeds[0]
        self.seen[first] += 1
        if self.seen[first] > self.times:
            return super().submit(task, *arguments)
        future = Future()
        future.cancel()
        return future


def test_cancelled_chunks_are_handed_out_again(settings_for, rows_in, monkeypatch):
    monkeypatch.setattr(runs, "make_executor", lambda *_: Cancelling(2))
    settings = settings_for("1:60", chunk=7)
    summary = run(settings)
    assert (summary.settled, summary.left) == (60, 0)
    assert len(rows_in(settings.data)[SPIDER]) == 60


def test_a_run_whose_chunks_are_always_cancelled_ends(settings_for, monkeypatch):
    monkeypatch.setattr(runs, "make_executor", lambda *_: Cancelling(1000))
    settings = settings_for("1:60", chunk=7)
    with pytest.raises(WinnableError, match=r"cancelled the same 7 deals 5 times; .* the same command goes on"):
        run(settings)
    assert json.loads(next((settings.data / "runs").glob("*.json")).read_text())["status"] == "failed"


def test_a_run_that_leaves_deals_for_no_reason_is_not_finished(settings_for, monkeypatch):
    monkeypatch.setattr(Window, "drive", lambda _self: True)
    settings = settings_for("1:60")
    with pytest.raises(WinnableError, match="60 deals"):
        run(settings)
    assert json.loads(next((settings.data / "runs").glob("*.json")).read_text())["status"] == "failed"


class Stillborn:
    """A settler whose worker dies while it starts."""

    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_cannot_start_end_the_run(settings_for):
    with pytest.raises(WinnableError, match="workers do not start"):
        runs.run(settings_for("1:1000000", executor="processes"), settler=Stillborn, solver=IDENTITY)


def test_a_run_that_cannot_begin_plans_nothing(settings_for, monkeypatch):
    def refuse(*_):
        raise UsageError("the dask executor needs Dask")

    monkeypatch.setattr("pipeline.runs.run.make_executor", refuse)
    settings = settings_for("1:60")
    with pytest.raises(UsageError):
        run(settings)
    assert not list((settings.data / "runs").glob("*.json"))
