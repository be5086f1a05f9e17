"""The relaxed game against its plain twin: the same verdicts, and the same steps on random walks."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
from engine_relaxed_twin import RelaxedGame, TooLargeError

from pipeline.engine.exhaust import Exhaust
from pipeline.engine.records import ANY_SUIT, SAME_SUIT, Rules, Start
from pipeline.engine.relaxation import MAX_STATES, no_set_possible
from pipeline.engine.relaxed import come_back, last_row, lay_row, leave, set_possible, set_up


def random_game(rng: random.Random) -> tuple[Rules, Start]:
    """A pack in few columns, some of it in order, with up to three rows of stock; the deal in any way."""
    width, suits = rng.randint(3, 9), rng.choice((1, 2, 4))
    cards = [suit % suits << 4 | rank for suit in range(4) for rank in range(1, 14)]
    rng.shuffle(cards)
    if rng.random() < 0.4:
        first = rng.randrange(40)
        cards[first:] = sorted(cards[first:], key=lambda card: (card >> 4, -(card & 15)))
    dealt = rng.choice((0, 0, width, rng.randrange(3 * width)))
    stock, cards = cards[:dealt], cards[dealt:]
    cuts = sorted(rng.choices(range(len(cards) + 1), k=width - 1))
    columns = tuple(tuple(cards[a:b]) for a, b in zip([0, *cuts], [*cuts, len(cards)], strict=True))
    rules = Rules(width, rng.randrange(3), SAME_SUIT, rng.choice((SAME_SUIT, SAME_SUIT, ANY_SUIT)), False, 4)
    return rules, Start(columns, (0,) * width, tuple(stock), 0)


def laid(rules: Rules, start: Start):
    """The compiled board and relaxation with a position, and the twin of it."""
    search, twin = Exhaust(rules), RelaxedGame(rules, start)
    search.start(start)
    m, a = search._board, search._relaxed[0]
    a.rows = len(twin.rows)
    return m, a, twin


def test_the_twin_finds_the_same_verdicts() -> None:
    rng = random.Random(1)
    found: Counter[object] = Counter()
    for number in range(400):
        m, a, twin = laid(*random_game(rng))
        with np.errstate(over="ignore"):
            verdict = bool(no_set_possible(m, a, MAX_STATES))
        try:
            expected = twin.no_set_possible(200)
        except TooLargeError:
            found["too large"] += 1
            continue
        assert verdict == expected, number
        found[verdict, twin.states > 20] += 1
    # Of the 400: lost 143 after a few states, 51 after more than twenty; not lost 87 and 71; 48 left out as too large.
    assert found["too large"] < 80
    assert min(found[verdict, many] for verdict in (True, False) for many in (True, False)) > 30


def test_the_twin_takes_the_same_steps() -> None:
    rng = random.Random(2)
    found: Counter[object] = Counter()
    for number in range(400):
        m, a, twin = laid(*random_game(rng))
        state = twin.first()
        with np.errstate(over="ignore"):
            set_up(m, a)
            while True:
                assert set_possible(m, a) == twin.allows_set(state), number
                found["a set is possible", twin.allows_set(state)] += 1
                following = [twin.leave(state, column) for column in range(twin.rules.columns)]
                assert leaving(m, a) == [after is not None for after in following], number
                found.update(("leaves", after is not None) for after in following)
                ways = [column for column, after in enumerate(following) if after is not None]
                dealt = twin.deal(state)
                if dealt is not None and (not ways or rng.random() < 0.25):
                    lay_row(m, a)
                    state = dealt
                elif ways:
                    column = rng.choice(ways)
                    leave(m, a, column)
                    state = following[column]
                else:
                    break
    # Some 16,000 cards may not leave and 13,600 may; a set is possible in 580 states, in 3,500 not.
    assert min(found.values()) > 200
    assert len(found) == 4


def leaving(m, a) -> list[bool]:
    """Whether the bound card of each column may leave; each is taken back."""
    result = []
    for column in range(int(m.columns)):
        old = int(a.start[column]) if a.pending[column] == 0 else ~int(last_row(int(a.pending[column])))
        result.append(bool(leave(m, a, column)))
        if result[-1]:
            come_back(m, a, column, old)
    return result
