"""Boards laid by hand, and won lines, for the tests of the game room."""

import dataclasses
import json
from pathlib import Path

import pytest

from pipeline.game.boards import Board
from pipeline.game.cards import parse_card
from pipeline.game.variants import load_variant

FIXTURES = Path(__file__).parents[1] / "fixtures"


def lay_board(variant, columns, stock="", *, sets_done=0, **rules):
    """Return a board of any cards; face-down ones in brackets: ``"[KD 3C] QS JS"``. Columns left out are empty."""
    variant = dataclasses.replace(load_variant(variant), **rules)
    columns = list(columns) + [""] * (len(variant.columns) - len(columns))
    halves = [column.removeprefix("[").split("]") if "]" in column else ["", column] for column in columns]
    cards = [tuple(map(parse_card, f"{down} {up}".split())) for down, up in halves]
    face_down = tuple(len(down.split()) for down, _ in halves)
    return Board(variant, None, None, tuple(cards), face_down, tuple(map(parse_card, stock.split())), sets_done)


@pytest.fixture(scope="session")
def lay():
    return lay_board


@pytest.fixture(scope="session")
def numbered_deals():
    return json.loads((FIXTURES / "numbered_deals.json").read_text())["deals"]


@pytest.fixture(scope="session")
def won_lines():
    """Variant, seed and line of won native deals."""
    lines = json.loads((FIXTURES / "won_lines.json").read_text())["lines"]
    return [(load_variant(entry["variant"]), entry["seed"], entry["line"]) for entry in lines]
