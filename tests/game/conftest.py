"""Numbered deals of other programs, for the tests of the game room."""

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(scope="session")
def numbered_deals():
    return json.loads((FIXTURES / "numbered_deals.json").read_text())["deals"]
