"""The value of positions against a plain twin, and against a position built anew."""

from __future__ import annotations

import random

import pytest
from engine_table import Table, across, any_variant, expand_root, orderly_board, start_of
from engine_twins import across_value, score_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.engine.records import DEAL, Start
from pipeline.engine.weights import WEIGHT_NAMES, Parameters
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant, variant_ids
from pipeline.solver import engine_rules

RULES = [("suit", "suit", False), ("colour", "suit", False), ("any", "suit", False), ("suit", "any", False),
         ("any", "any", False), ("suit", "suit", True), ("any", "any", True)]  # fmt: skip
BEAM = {"first_width": 4, "growth": 150, "layers": 60, "last_layers": 300, "brood": 3, "modes": (0, 1, 2, 3)}
ALL = 1000  # children


def parameters(**weights: int) -> Parameters:
    """A set of weights, 0 if not named."""
    return Parameters(tuple(weights.get(name, 0) for name in WEIGHT_NAMES), **BEAM)


def random_parameters(rng: random.Random, *, wrap: bool) -> Parameters:
    """Weights without noise; without the chain's, too, where a King may lie within one: it is paid loosely there."""
    without = ("noise", "base_chain") if wrap else ("noise",)
    return parameters(**{name: rng.randrange(-10_000, 10_000) for name in WEIGHT_NAMES if name not in without})


def weights_of(table: Table) -> dict[str, int]:
    return dict(zip(WEIGHT_NAMES, table.search.parameters.weights, strict=True))


def root_of(table: Table, done: int) -> Start:
    return Start(*table.cards_of(table.m.root.cols.tolist()), (), done)


def check(table: Table, children: list) -> None:
    """Compare the score of every child, and the values the beam gives them, with the twin's."""
    w, rules = weights_of(table), table.rules
    starts = {}
    for child in children:
        start = Start(*table.cards_of(child.columns), (), child.done)
        starts.setdefault(child.key, start)
        assert child.score == score_of(rules, w, start)
    table.m.split, table.m.force, table.m.seed = 2, 0, 1
    depth = int(table.m.root.depth) + 1
    found = table.memory["children"][0][: expand_root(table.memory, ALL)]
    alike = {}
    for key, order, score, signature, move, done in zip(
        *(found[name].tolist() for name in ("key", "order", "score", "signature", "move", "done")), strict=True
    ):
        start = starts[key]
        assert score == score_of(rules, w, start)
        assert order >> 32 == score + across_value(rules, w, start) - w["depth"] * depth
        ranks = frozenset(column[-1] & 15 for column in start.columns if column)
        traits = (start.sets_done, start.face_down, ranks)
        if move != DEAL:
            assert done == start.sets_done
            assert alike.setdefault(signature, traits) == traits
    assert len(set(alike.values())) == len(alike)


def walk(table: Table, steps: int, rng: random.Random) -> None:
    for _ in range(steps):
        children = table.children()
        if not children or any(child.done == table.rules.sets_needed for child in children):
            break
        check(table, children)
        children = table.children()
        table.go(rng.choice(children))
        start = root_of(table, int(table.m.root.done))
        assert across(table.memory) == across_value(table.rules, weights_of(table), start)


@pytest.mark.parametrize("variant", variant_ids())
def test_deals(variant):
    variant = load_variant(variant)
    rng = random.Random(variant.id)
    table = Table(engine_rules(variant), random_parameters(rng, wrap=variant.wrap))
    table.lay(start_of(deal(variant, 3)))
    walk(table, 20, rng)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 16), st.sampled_from(RULES), st.integers(0, 2**32), st.integers(0, 40))
def test_orderly_boards(columns, rules, seed, disorder):
    board = orderly_board(any_variant(columns, "all", *rules), seed, disorder)
    assume(board)
    rng = random.Random(seed)
    weights = random_parameters(rng, wrap=board.variant.wrap)
    table = Table(engine_rules(board.variant), weights)
    table.lay(start_of(board))
    walk(table, 8, rng)


@pytest.mark.parametrize("variant", variant_ids())
def test_walked_to_is_as_good_as_laid_out(variant):
    """Score and place of every column do not depend on the way to a position."""
    variant = load_variant(variant)
    rng = random.Random(variant.id)
    table = Table(engine_rules(variant))
    table.lay(start_of(deal(variant, 5)))
    for _ in range(30):
        children = table.children()
        if not children:
            break
        table.go(rng.choice(children))
    root = table.m.root.copy()
    start = root_of(table, int(root.done))._replace(stock=start_of(deal(variant, 5)).stock[int(root.dealt) :])
    table.lay(start)
    assert int(table.m.root.score) == int(root.score)


def test_noise_is_bounded_and_differs_by_pass():
    table = Table(engine_rules(load_variant("spider-1")), parameters(noise=1000))
    table.lay(start_of(deal(load_variant("spider-1"), 1)))
    values = []
    table.m.split, table.m.force = 2, 0
    for seed in range(1, 60):
        table.m.seed = seed
        orders = table.memory["children"][0]["order"][: expand_root(table.memory, ALL)]
        values.append((orders >> 32).tolist())
    together = [value for each in values for value in each]
    assert min(together) >= -500
    assert max(together) < 500
    assert abs(sum(together) / len(together)) < 60
    assert max(together) - min(together) > 900
    assert len(set(map(tuple, values))) == len(values)


@pytest.mark.parametrize("brood", [1, 2, 3, 7])
def test_the_best_of_a_brood_are_kept(brood):
    table = Table(engine_rules(load_variant("spider-1")))
    for seed in range(10):
        table.lay(start_of(deal(load_variant("spider-1"), seed)))
        table.m.split, table.m.force, table.m.seed = 2, 0, 1
        children = table.memory["children"][0]
        every = children["order"][: expand_root(table.memory, ALL)].tolist()
        kept = children["order"][: expand_root(table.memory, brood)].tolist()
        assert sorted(kept) == sorted(every)[-brood:]
