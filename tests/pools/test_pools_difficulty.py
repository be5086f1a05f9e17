"""Playouts keep the rules, and difficulty is the same everywhere and means fifths."""

import json
import random

import pytest

from pipeline.game.deals import deal
from pipeline.game.moves import DEAL, Move
from pipeline.game.rules import Position
from pipeline.game.variants import MAIN_VARIANTS, load_variant, variant_ids
from pipeline.pools import difficulty, playouts
from pipeline.pools.difficulty import Measures, Scale, measure, scale_of
from pipeline.pools.playouts import Playouts, play_out


class Watched(playouts._Game):
    """A playout that the referee plays along with."""

    __slots__ = ("played", "referee")

    def __init__(self, board, tables, state):
        self.referee, self.played = Position(board), 0
        super().__init__(board, tables, state)
        self.compare()

    def _shift(self, source, target):
        move = Move(source, target, len(self.columns[source]) - self.starts[source])
        assert self.referee.fault(move) is None
        self.referee.play(move)
        super()._shift(source, target)
        self.played += 1
        self.compare()

    def _deal(self):
        dealt = super()._deal()
        if dealt:
            assert self.referee.fault(DEAL) is None
            self.referee.play(DEAL)
            self.compare()
        return dealt

    def compare(self):
        referee = self.referee
        assert (self.columns, self.down, self.stock) == (referee.columns, referee.face_down, referee.stock)
        assert self.left == referee.variant.sets_needed - referee.sets_done
        for column, cards in enumerate(self.columns):
            if cards:
                assert len(cards) - self.starts[column] == referee.unit_length(column)
            rank = cards[-1] & 15 if cards else 0
            assert [r for r in range(16) if self.by_rank[r] >> column & 1] == [rank]


@pytest.mark.parametrize("name", variant_ids())
def test_a_playout_keeps_the_rules_and_ends(name, monkeypatch):
    monkeypatch.setattr(playouts, "_Game", Watched)
    variant = load_variant(name)
    for seed in range(8):
        result = play_out(deal(variant, seed), 1)
        assert result.won in (0, 1)
        assert result.sets == variant.sets_needed or not result.won


def test_playouts_are_the_same_on_every_machine():
    found = {name: play_out(deal(load_variant(name), 7), 12) for name in ("spider-1", "spider-2", "spider-easy")}
    assert found == {
        "spider-1": Playouts(1, 19),
        "spider-2": Playouts(0, 2),
        "spider-easy": Playouts(5, 50),
    }


def test_playouts_differ_from_each_other_and_from_deal_to_deal():
    wins = [play_out(deal(load_variant("spider-1"), seed), 10).won for seed in range(10)]
    assert len(set(wins)) > 3
    assert any(0 < won < 10 for won in wins)


def test_a_sample_is_cut_into_fifths():
    generator = random.Random(1)
    sample = [
        Measures(round(generator.lognormvariate(8, 1)), round(generator.gauss(150, 20)), generator.randint(0, 3) * 1000)
        for _ in range(1000)
    ]
    scale = scale_of(sample)
    levels = [scale.level(one) for one in sample]
    assert all(170 <= levels.count(level) <= 230 for level in range(1, 6))
    assert {len(values) for values in scale[:3]} == {100}


def test_harder_in_one_thing_is_never_easier_in_all():
    scale = difficulty._scale(json.loads(difficulty.CALIBRATION.read_bytes())["variants"]["spider-1"])
    base = Measures(700, 110, 1010)
    for harder in (base._replace(positions=7000), base._replace(moves=150), base._replace(playouts=3)):
        assert scale.score(harder) > scale.score(base)
        assert scale.level(harder) >= scale.level(base)
    assert scale.score(Measures(0, 0, 10_000)) == 0
    assert scale.score(Measures(10**9, 10**4, -1)) == 600
    assert scale.level(Measures(0, 0, 10_000)) == 1
    assert scale.level(Measures(10**9, 10**4, -1)) == 5


def test_nothing_makes_no_scale():
    with pytest.raises(ValueError, match="no deal"):
        scale_of([])


def test_the_shipped_scales_are_those_of_the_rules():
    content = json.loads(difficulty.CALIBRATION.read_bytes())
    assert content["playouts"] == difficulty.PLAYOUTS
    assert set(content["variants"]) >= set(MAIN_VARIANTS)
    entries = [*content["variants"].items(), ("others", content["others"])]
    for name, entry in entries:
        if name != "others":
            assert entry["rules_hash"] == load_variant(name).rules_hash
            assert 0 < entry["won"] <= entry["deals"]
        assert len(entry["levels"]) == 4
        for values in (entry[key] for key in Scale._fields):
            assert values == sorted(values)


def test_difficulty_of_a_variant_without_a_scale_counts_moves_per_pack():
    from dataclasses import replace

    own = replace(load_variant("spiderette"), id="mine", sets_needed=3)
    assert (own.id, own.rules_hash) not in difficulty._scales()
    board = deal(own, 1)
    assert measure(board, 500, 60, per_pack=True).moves == 120
    assert difficulty.difficulty(board, 1, 1) < difficulty.difficulty(board, 10**6, 10**3) == 5


def test_the_same_rules_by_another_id_have_no_scale(monkeypatch):
    """Its deals are searched with other weights, so their positions are no measure by that scale."""
    from dataclasses import replace

    known = load_variant("spider-4")
    shipped = difficulty._scales()
    empty = Scale((), (), (), ())
    monkeypatch.setattr(difficulty, "_scales", lambda: shipped | {(known.id, known.rules_hash): empty})
    assert difficulty.difficulty(deal(known, 1), 10**6, 10**3) == 1
    assert difficulty.difficulty(deal(replace(known, id="mine"), 1), 10**6, 10**3) > 1


def test_a_damaged_scale_is_told(monkeypatch, tmp_path):
    from pipeline.errors import DataError

    monkeypatch.setattr(difficulty, "CALIBRATION", tmp_path / "calibration.json")
    difficulty._scales.cache_clear()
    try:
        with pytest.raises(DataError, match=r"calibration\.json"):
            difficulty.difficulty(deal(load_variant("spider-1"), 1), 1, 1)
    finally:
        monkeypatch.undo()
        difficulty._scales.cache_clear()
