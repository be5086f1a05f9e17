"""The games of one pack: nearly all deals are settled, and how that lies to the rates others published.

Blake and Gent's program Solvitaire gives 97.450 +/- 0.034% (Simple Simon) and 99.620 +/- 0.018% (Spiderette) of random
deals as winnable. Ours are fewer, by more than chance and whatever becomes of the deals left unsettled. By its public
source and the presets in it, Solvitaire's rules differ from ours in that

- a set leaves only when it is the whole column, and need not leave at all;
- two cards or more join another column only in their own suit;
- Spiderette's stock deals onto empty columns, too.

None of these explains the gap: most deals that we prove lost end before a set is near, or a column empty; and moving
sequences of any suits together would not close it (95.1% of 1,000 deals of Simple Simon are won then). A King that
may be laid on an Ace does: with it 97.70% of 10,000 deals of Simple Simon are won and 2.28% lost (theirs: 97.45% and
2.55%), and 99.62% of 5,000 of Spiderette (theirs: 99.62%). The source that is public forbids it, though. So these
tests hold our losses by other means: small ones are proved again by the referee alone, by trying everything; and with
that one rule changed, both intervals hold the published rate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.analysis.statistics import WinRate, win_rate
from pipeline.game.deals import deal
from pipeline.game.rules import Position
from pipeline.game.variants import Variant, load_variant, read_variant
from pipeline.solver import Solver

DEALS = range(1, 301)
CONFIGS = Path(__file__).parents[2] / "configs"


def settle(variant: Variant, limit: int) -> WinRate:
    """Settle the first native deals of a game."""
    solver = Solver()
    verdicts = Counter(solver.solve(deal(variant, seed), limit).verdict for seed in DEALS)
    return win_rate(len(DEALS), verdicts["won"], verdicts["lost"])


def published(name: str) -> float:
    (figure,) = load_variant(name).documented
    assert figure.proved is not None
    return figure.proved


@pytest.mark.parametrize(
    ("name", "limit", "settled"),
    [
        ("simple-simon", 2_000_000, 0.99),
        ("spiderette", 200_000, 0.88),
        pytest.param("spiderette", 2_000_000, 0.95, marks=pytest.mark.slow),
    ],
)
def test_most_deals_are_settled(name, limit, settled):
    rate = settle(load_variant(name), limit)
    assert rate.won + rate.lost >= settled * rate.deals
    # Not the same game, then: the published rate is above all that ours can be. Should this ever fail, losses are gone.
    assert rate.interval.high < published(name)


@pytest.mark.parametrize("name", ["simple-simon", "spiderette"])
def test_with_kings_on_aces_the_published_rate_is_met(name):
    wrapped = read_variant(CONFIGS / "wrapped" / f"{name}-wrapped.toml")
    assert replace(wrapped, id=name, name=load_variant(name).name, wrap=False, documented=()) == replace(
        load_variant(name), documented=()
    ), "the same game but for the one rule"
    rate = settle(wrapped, 100_000)
    assert rate.interval.low < published(name) < rate.interval.high
    assert rate.won + rate.lost >= 0.95 * rate.deals


def lost_by_the_referee(name: str, seed: int, most: int) -> bool:
    """Whether no line wins, by trying everything: positions are told apart by all that is in them."""
    position = Position.of(deal(load_variant(name), seed))
    seen = set()
    trail = [(iter(position.legal_moves()), None)]
    while trail:
        moves, _ = trail[-1]
        for move in moves:
            played = position.play(move)
            assert not position.won, f"{name} {seed} is won"
            place = (*map(bytes, position.columns), *position.face_down, len(position.stock), position.sets_done)
            if place not in seen:
                seen.add(place)
                assert len(seen) <= most
                trail.append((iter(position.legal_moves()), played))
                break
            position.undo(played)
        else:
            _, played = trail.pop()
            if played:
                position.undo(played)
    return True


# Lost in fewer than 20,000 positions, though none is merged with another or given up.
LOST = [
    *(("spiderette", seed) for seed in (160, 211, 269, 20084, 20246)),
    *(("simple-simon", seed) for seed in (21, 25, 68, 133)),
]


@pytest.mark.parametrize(("name", "seed"), LOST)
def test_losses_are_losses_by_the_referee_alone(name, seed):
    assert Solver().solve(deal(load_variant(name), seed), 200_000).verdict == "lost"
    assert lost_by_the_referee(name, seed, 50_000)
