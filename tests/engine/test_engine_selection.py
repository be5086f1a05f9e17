"""Selection against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from engine_table import Table
from engine_twins import chosen
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engine.compiler import jit
from pipeline.engine.selection import choose, cutoff, select
from pipeline.game.variants import load_variant
from pipeline.solver import engine_rules


@jit
def choose_children(memory, n, keep):
    return choose(memory[0], memory[0].children, n, keep)


@jit
def select_children(memory, n, keep):
    return select(memory[0], memory[0].children, n, keep)


@jit
def select_entries(memory, n, keep):
    return select(memory[0], memory[0].entries[0], n, keep)


@pytest.fixture(scope="module")
def table():
    return Table(engine_rules(load_variant("spider-4")))


ITEMS = st.lists(
    st.tuples(st.integers(-50, 50), st.one_of(st.integers(0, 6), st.integers(0, 2**32 - 1))), min_size=1, max_size=80
)


@settings(deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.data())
def test_cutoff(values, data):
    keep = data.draw(st.integers(1, len(values)))
    array = np.array(values, np.int64)
    assert cutoff(array, len(values), keep) == sorted(values, reverse=True)[keep - 1]
    assert sorted(array.tolist()) == sorted(values)


@settings(deadline=None)
@given(ITEMS, st.integers(1, 90))
def test_choice(table, items, keep):
    orders = [(value << 32) + birth for birth, (value, _) in enumerate(items)]
    signatures = [signature for _, signature in items]
    expected = chosen(orders, signatures, keep)
    n = len(items)
    for choice, array in ((select_children, "children"), (select_entries, "entries")):
        place = table.memory[array][0] if array == "children" else table.memory[array][0, 0]
        place["order"][:n] = orders
        place["signature"][:n] = signatures
        table.m.cut = 0
        if array == "children":
            assert choose_children(table.memory, n, keep) == len(expected)
            assert table.m.kept[: len(expected)].tolist() == expected
        assert choice(table.memory, n, keep) == len(expected)
        assert place["order"][: len(expected)].tolist() == [orders[i] for i in expected]
        assert int(table.m.cut) == (n > keep)
