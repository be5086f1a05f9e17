import os

import pytest

from pipeline.batch.config import Deals, RunSettings
from pipeline.batch.rows import rows_of
from pipeline.batch.schema import VOLATILE
from pipeline.batch.seeds import Seeds
from pipeline.batch.store import Store
from pipeline.game.variants import load_variant


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """No test here cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def settings_for(tmp_path):
    """Make the settings of a run on a dataset of this test."""

    def make(seeds="1:100", variant="spider-4", nodes=1000, executor="inline", data="data", **changes):
        first, last = map(int, seeds.split(":"))
        deals = Deals(load_variant(variant), "native", Seeds.of([range(first, last + 1)]), nodes)
        values = {"data": tmp_path / data, "deals": (deals,), "workers": 2, "executor": executor} | changes
        return RunSettings(**values)

    return make


@pytest.fixture
def rows_in():
    """Read a dataset's rows by partition, without what differs from run to run."""

    def read(data):
        store = Store(data)
        nothing = dict.fromkeys(VOLATILE)
        return {part: [row._replace(**nothing) for row in rows_of(store.read(*part))] for part in store.partitions()}

    return read
