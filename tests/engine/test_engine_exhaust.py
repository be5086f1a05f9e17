"""The complete search against a plain brute force on thousands of tiny deals, both ways."""

from __future__ import annotations

import itertools
import os
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from pipeline.engine.exhaust import FULL, LOST, PAUSED, WON, Exhaust
from pipeline.engine.records import DEAL, Rules, Start

HERE = pathlib.Path(__file__).parent

BLOCKED, ALL, NON_EMPTY = 0, 1, 2
SUIT, COLOUR, ANY = 0, 1, 2

# ---------------------------------------------------------------- the brute force: the rules once more, in plain words


class Place(NamedTuple):
    columns: tuple[tuple[int, ...], ...]
    down: tuple[int, ...]
    stock: tuple[int, ...]
    sets: int


def follows(rules: Rules, under: int, over: int, kind: int | None) -> bool:
    if under % 16 != over % 16 + 1 and not (rules.wrap and (under % 16, over % 16) == (1, 13)):
        return False
    same_colour = (under // 16 in (1, 2)) == (over // 16 in (1, 2))
    return kind is None or kind == ANY or (same_colour if kind == COLOUR else under // 16 == over // 16)


def tail_length(rules: Rules, cards: tuple[int, ...], down: int, kind: int) -> int:
    length = min(1, len(cards))
    while length < len(cards) - down and follows(rules, cards[-length - 1], cards[-length], kind):
        length += 1
    return length


def settled(rules: Rules, columns: list[tuple[int, ...]], down: list[int], stock: tuple[int, ...], sets: int) -> Place:
    for i in range(len(columns)):
        while True:
            if columns[i] and down[i] >= len(columns[i]):
                down[i] -= 1
            elif tail_length(rules, columns[i], down[i], rules.sets) >= 13:
                columns[i] = columns[i][:-13]
                sets += 1
            else:
                break
    return Place(tuple(columns), tuple(down), stock, sets)


def after(rules: Rules, place: Place, move: int) -> Place:
    columns, stock = list(place.columns), place.stock
    if move == DEAL:
        places = [i for i in range(rules.columns) if rules.deal != NON_EMPTY or columns[i]] or [0]
        for i, card in zip(places, stock, strict=False):
            columns[i] += (card,)
        stock = stock[len(places) :]
    else:
        source, target, count = move % 16, move // 16 % 16, move // 256
        columns[target] += columns[source][-count:]
        columns[source] = columns[source][:-count]
    return settled(rules, columns, list(place.down), stock, place.sets)


def legal(rules: Rules, place: Place) -> Iterator[int]:
    if place.stock and (rules.deal != BLOCKED or all(place.columns)):
        yield DEAL
    for source, cards in enumerate(place.columns):
        for count in range(1, tail_length(rules, cards, place.down[source], rules.unit) + 1):
            for target, onto in enumerate(place.columns):
                if target != source and (not onto or follows(rules, onto[-1], cards[-count], None)):
                    yield source | target << 4 | count << 8


def brute_force(rules: Rules, start: Start, limit: int) -> tuple[bool | None, int]:
    """Whether the deal can be won (None: too many positions to tell) and how many positions there are."""
    first = Place(start.columns, start.face_down, start.stock, start.sets_done)
    seen, todo = {first}, [first]
    while todo:
        place = todo.pop()
        for move in legal(rules, place):
            child = after(rules, place, move)
            if child.sets >= rules.sets_needed:
                return True, len(seen) + 1
            if child not in seen:
                seen.add(child)
                todo.append(child)
        if len(seen) > limit:
            return None, len(seen)
    return False, len(seen)


# ---------------------------------------------------------------- tiny deals


def tiny_deal(rules: Rules, rng: random.Random, sets: int, suits: int, disorder: int) -> Start:
    """A deal of a few sets, near enough to order that a good part can be won."""
    suit = rng.sample(range(4), suits)
    cards = [suit[i % suits] << 4 | rank for i in range(sets) for rank in range(13, 0, -1)]
    for _ in range(disorder):
        i, j = rng.randrange(len(cards)), rng.randrange(len(cards))
        cards[i], cards[j] = cards[j], cards[i]
    stock = rng.choice((0, 0, rng.randrange(2 * rules.columns), rng.randrange(3 * rules.columns)))
    table, rest = cards[stock:], cards[:stock]
    rng.shuffle(rest)
    cuts = sorted(rng.choices(range(len(table) + 1), k=rules.columns - 1))
    columns = [table[a:b] for a, b in itertools.pairwise([0, *cuts, len(table)])]
    rng.shuffle(columns)
    down = [rng.randrange(len(c)) if len(c) > 1 and rng.random() < 0.7 else 0 for c in columns]
    place = settled(rules, [tuple(c) for c in columns], down, tuple(rest), rules.sets_needed - sets)
    return Start(place.columns, place.down, place.stock, place.sets)


def replays(rules: Rules, start: Start, line: np.ndarray) -> bool:
    place = Place(*start)
    for move in line.tolist():
        assert place.sets < rules.sets_needed
        assert move in set(legal(rules, place))
        place = after(rules, place, move)
    return place.sets >= rules.sets_needed


def settle(search: Exhaust, start: Start) -> int:
    search.start(start)
    return search.advance(10_000_000)


ALL_RULES = [
    (columns, deal, unit, sets, wrap)
    for columns in (3, 4, 5)
    for deal in (BLOCKED, ALL, NON_EMPTY)
    for unit, sets in ((SUIT, SUIT), (COLOUR, SUIT), (ANY, SUIT), (SUIT, ANY), (ANY, ANY), (COLOUR, ANY))
    for wrap in (False, True)
]


@pytest.mark.parametrize("part", range(4))
def test_agrees_with_brute_force(part: int) -> None:
    deals_each = int(os.environ.get("EXHAUST_DEALS", "12"))
    lost = won = 0
    for number, (columns, deal, unit, sets, wrap) in enumerate(ALL_RULES):
        if number % 4 != part:
            continue
        rules = Rules(columns, deal, unit, sets, wrap, 4)
        search = Exhaust(rules)
        rng = random.Random(f"{number}")
        for _ in range(deals_each):
            suits = rng.choice((1, 2, 2))
            start = tiny_deal(rules, rng, rng.choice((1, 1, 2)), suits, rng.choice((3, 6, 12, 40)))
            truth, positions = brute_force(rules, start, 1500)
            if truth is None:
                continue
            verdict = settle(search, start)
            assert verdict == (WON if truth else LOST), (rules, start)
            if truth:
                assert replays(rules, start, search.line()), (rules, start)
                won += 1
            else:
                assert search.positions <= positions, (rules, start)
                lost += 1
    assert min(won, lost) > 4 * deals_each


# ---------------------------------------------------------------- how it is driven


ONE_PACK = [suit << 4 | rank for suit in range(4) for rank in range(1, 14)]


def layout(seed: int, sizes: tuple[int, ...], open_: bool = False) -> Start:
    """A deal of one pack into columns; the rest is the stock."""
    cards = ONE_PACK.copy()
    random.Random(seed).shuffle(cards)
    columns = []
    for size in sizes:
        columns.append(tuple(cards[:size]))
        del cards[:size]
    return Start(tuple(columns), tuple(0 if open_ else size - 1 for size in sizes), tuple(cards), 0)


SPIDERETTE = Rules(7, BLOCKED, SUIT, SUIT, False, 4)
TRIANGLE = (1, 2, 3, 4, 5, 6, 7)


def test_slices_do_not_matter() -> None:
    search = Exhaust(SPIDERETTE)
    for seed in range(6):
        start = layout(seed, TRIANGLE)
        search.start(start)
        assert (search.positions, search.advance(0)) == (1, PAUSED)
        whole = search.advance(20_000), search.positions, search.expanded
        assert search.positions <= 20_001
        search.start(start)
        verdict, step = PAUSED, 1
        while verdict == PAUSED and search.positions < 20_001:
            before = search.positions
            verdict = search.advance(min(step, 20_001 - before))
            assert search.positions <= before + step
            step = step * 3 % 1009
        assert (verdict, search.positions, search.expanded) == whole
        assert search.advance(0) == verdict


@pytest.mark.parametrize("step", [1, 2, 7, 2_997, 2_998, 2_999, 3_000, 3_001])
def test_slices_do_not_matter_between_attempts(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a stock the search starts over after so many positions; a slice may end just there."""
    monkeypatch.setattr("pipeline.engine.exhaust.ATTEMPT", 3_000)
    search = Exhaust(Rules(10, BLOCKED, SUIT, SUIT, False, 4))
    start = layout(2, (8, 8, 8, 7, 6, 5, 4, 3, 2, 1))
    search.start(start)
    whole = search.advance(20_000), search.positions, search.expanded
    assert (whole[0], search.positions) == (PAUSED, 20_001)
    search.start(start)
    expanded = 0
    while search.positions < 20_001:
        reached = search.positions
        assert search.advance(min(step if reached < 3_100 else 2_999, 20_001 - reached)) == PAUSED
        assert reached < search.positions <= reached + max(step, 2_999)
        assert search.expanded >= expanded
        expanded = search.expanded
    assert (PAUSED, search.positions, search.expanded) == whole


def test_same_without_the_compiler() -> None:
    code = """
from test_engine_exhaust import *
search = Exhaust(SPIDERETTE)
for seed in range(2):
    search.start(layout(seed, TRIANGLE))
    print(search.advance(25), search.positions, search.expanded, int(search._board.key[0]))
"""
    output = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled, "PYTHONWARNINGS": "error::RuntimeWarning"}
        output.append(subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=HERE, text=True))
    assert output[0] == output[1]
    assert output[0].count("\n") == 2


def test_a_start_that_is_won() -> None:
    search = Exhaust(Rules(3, BLOCKED, SUIT, SUIT, False, 4))
    assert settle(search, Start(((), (), ()), (0, 0, 0), (), 4)) == WON
    assert len(search.line()) == 0


def test_line_only_after_a_win() -> None:
    search = Exhaust(Rules(3, BLOCKED, SUIT, SUIT, False, 4))
    assert settle(search, Start(((1,), (2,), (4,)), (0, 0, 0), (), 3)) == LOST
    with pytest.raises(ValueError, match="only after a win"):
        search.line()


def test_gives_up_at_its_capacity() -> None:
    search = Exhaust(Rules(10, BLOCKED, SUIT, SUIT, False, 4))
    search.capacity = 5_000
    search.start(layout(3, (8, 8, 8, 7, 6, 5, 4, 3, 2, 1), open_=True))
    assert search.advance(1_000_000) == FULL
    assert search.positions == 5_000
    assert search.advance(1_000_000) == FULL


def test_relaxation_proves_a_dead_end_at_once() -> None:
    # The last row buries all of column 1 under a King, and no other column can be emptied.
    kings = Start(((1, 13), (2, 29), (4, 45)), (0, 0, 0), (6, 8, 10), 2)
    search = Exhaust(Rules(3, BLOCKED, SUIT, SUIT, False, 4))
    assert settle(search, kings) == LOST
    assert search.positions == 1
