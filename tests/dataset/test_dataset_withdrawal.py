"""Withdrawing what a run planned."""

import json

import pytest
from dataset_rows import a_table

from pipeline.dataset.lock import BusyError
from pipeline.dataset.manifest import read_runs
from pipeline.dataset.store import Partition, Store
from pipeline.dataset.withdrawal import unfinished_runs, withdraw
from pipeline.errors import UsageError

SPIDER = Partition("spider-1", "native")


def a_manifest(store, name, *seeds, status="interrupted"):
    deals = [{"variant": "spider-1", "numbering": "native", "seeds": list(seeds), "node_limit": 1000}]
    content = {
        "run_id": name,
        "status": status,
        "started": f"2026-01-01T00:00:00+00:00-{name}",
        "finished": None,
        "machine": {"host": "h", "cores": 2, "system": "s"},
        "versions": {},
        "deals": deals,
    }
    (store.runs / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER, a_table(range(1, 21)))
    a_manifest(store, "done", "1:20", status="finished")
    a_manifest(store, "given-up", "11:1000", "2000")
    return store


def test_what_is_withdrawn_is_planned_no_longer(store):
    assert unfinished_runs(store) == ["given-up"]
    ((run, left),) = withdraw(store, ["given-up"]).items()
    assert (run, left) == ("given-up", ((SPIDER, 981),))
    assert {run.id: len(run.plans) for run in read_runs(store)} == {"done": 1, "given-up": 0}
    assert len(store.read(*SPIDER)) == 20
    before = (store.runs / "given-up.json").read_bytes()
    assert withdraw(store, ["given-up"]) == {"given-up": ()}
    assert (store.runs / "given-up.json").read_bytes() == before


def test_no_such_run_withdraws_nothing(store):
    with pytest.raises(UsageError, match=r"'none'.*given-up"):
        withdraw(store, ["given-up", "none"])
    assert unfinished_runs(store) == ["given-up"]


def test_a_run_at_work_is_not_withdrawn(store):
    with store.writing("run"), pytest.raises(BusyError):
        withdraw(Store(store.data), ["given-up"])
