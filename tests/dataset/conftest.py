import os

import pytest


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """No test here cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
