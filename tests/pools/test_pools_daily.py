"""The daily deal: its rule, its golden days, and that what is frozen stays so."""

import csv
import datetime
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from pipeline.errors import DataError
from pipeline.game.deals import deal
from pipeline.game.variants import MAIN_VARIANTS, load_variant
from pipeline.pools import daily as days
from pipeline.pools import prepare
from pipeline.runs.settling import Settling
from pipeline.solver import Outcome, Solver

FIXTURE = Path(__file__).parents[1] / "fixtures" / "daily_deals.csv"
GOLDEN = list(csv.DictReader(FIXTURE.read_text(encoding="ascii").splitlines()))
DAY = datetime.date(2026, 11, 30)


class NoSolver:
    """Frozen days ask no solver."""


class Picky:
    """A solver that proves no candidate but the fourth of each day."""

    def __init__(self):
        self.asked = []

    def solve(self, board, node_limit):
        self.asked.append((board.seed, node_limit))
        verdict = "won" if len(self.asked) == 4 else "unsettled"
        return Outcome(board.variant.id, "native", board.seed, verdict, 1, 1, node_limit)


def test_the_rule():
    digest = hashlib.sha256(b"winnable daily spider-4 2026-11-30").hexdigest()
    assert days.candidate("spider-4", DAY, 0) == int(digest[:13], 16)
    assert days.candidate("spider-4", DAY, 3) == int(digest[:13], 16) + 3


def test_every_candidate_is_one_of_javascripts_whole_numbers(monkeypatch):
    monkeypatch.setattr(days.hashlib, "sha256", lambda text: SimpleNamespace(hexdigest=lambda: "f" * 64))
    assert days.candidate("spider-4", DAY, days.MOST_SKIPPED) < 2**53


def golden_days():
    """Return sixty frozen days of the main variants as CSV: the first ten with skips, and evenly spaced others."""
    frozen = json.loads(days.FROZEN.read_bytes())["variants"]
    dates = [days.FIRST_DATE + datetime.timedelta(n) for n in range((days.LAST_DATE - days.FIRST_DATE).days + 1)]
    skipping = sorted({date for name in MAIN_VARIANTS for date in frozen[name]["skipped"]})[:10]
    others = [date for date in dates if date.isoformat() not in skipping]
    wanted = 60 - len(skipping)
    chosen = [*map(datetime.date.fromisoformat, skipping)]
    chosen += [others[i * (len(others) - 1) // (wanted - 1)] for i in range(wanted)]
    found = [days.daily(name, date) for date in sorted(chosen) for name in MAIN_VARIANTS]
    lines = (f"{day.date},{day.variant.id},{day.board.seed},{day.skipped}\n" for day in found)
    return "date,variant,seed,skipped\n" + "".join(lines)


def test_the_golden_days_are_what_is_frozen():
    assert FIXTURE.read_text(encoding="ascii") == golden_days()


@pytest.mark.parametrize("name", MAIN_VARIANTS)
def test_golden_days(name):
    variant = load_variant(name)
    golden = [entry for entry in GOLDEN if entry["variant"] == name]
    for entry in golden:
        date = datetime.date.fromisoformat(entry["date"])
        found = days.daily(variant, date, NoSolver())
        assert (found.board.seed, found.skipped, found.frozen) == (int(entry["seed"]), int(entry["skipped"]), True)
        assert found.board == deal(variant, int(entry["seed"]))


@pytest.mark.parametrize("name", MAIN_VARIANTS)
def test_a_day_is_proved_winnable(name):
    solver = Solver()
    for month in (3, 9):
        board = days.daily(load_variant(name), datetime.date(2031, month, 17)).board
        assert solver.solve(board).verdict == "won"


def test_every_day_to_the_last_is_frozen():
    content = json.loads(days.FROZEN.read_bytes())
    assert (content["first"], content["last"]) == ("2026-01-01", "2045-12-31")
    for name in MAIN_VARIANTS:
        entry = content["variants"][name]
        assert entry["rules_hash"] == load_variant(name).rules_hash
        for date, skipped in entry["skipped"].items():
            assert days.is_frozen(load_variant(name), datetime.date.fromisoformat(date))
            assert 0 < skipped < 10


def test_what_is_frozen_is_never_computed_again():
    known = json.loads(days.FROZEN.read_bytes())
    assert prepare.freeze([load_variant(name) for name in MAIN_VARIANTS], known, settling=None) == known


def test_other_days_are_found_now():
    variant, solver = load_variant("spider-4"), Picky()
    date = datetime.date(2046, 1, 1)
    found = days.daily(variant, date, solver)
    first = days.candidate("spider-4", date, 0)
    assert solver.asked == [(first + skipped, 1_000_000) for skipped in range(4)]
    assert (found.board.seed, found.skipped, found.frozen) == (first + 3, 3, False)
    assert not days.daily(load_variant("mrs-mop"), DAY, Picky()).frozen


def test_a_date_may_be_a_text_or_have_a_time():
    found = days.daily("spider-1", DAY)
    assert days.daily("spider-1", DAY.isoformat()) == days.daily("spider-1", pd.Timestamp(DAY)) == found
    assert found.date == DAY


def test_a_variant_of_other_rules_has_no_frozen_days():
    from dataclasses import replace

    assert not days.is_frozen(replace(load_variant("spider-4"), sets_needed=7), DAY)


def test_the_same_rules_by_another_id_have_no_frozen_days():
    """Their candidates are others, so what is known of the packaged variant's says nothing of them."""
    from dataclasses import replace

    mine, solver, date = replace(load_variant("spider-4"), id="mine"), Picky(), datetime.date(2036, 5, 23)
    found = days.daily(mine, date, solver)
    first = days.candidate("mine", date, 0)
    assert [seed for seed, _ in solver.asked] == [first + skipped for skipped in range(4)]
    assert (found.board.seed, found.skipped, found.frozen) == (first + 3, 3, False)
    assert not days.is_frozen(mine, date)


def test_a_day_without_any_proof_is_told(monkeypatch):
    monkeypatch.setattr(days, "MOST_SKIPPED", 3)
    with pytest.raises(DataError, match="3 candidates of 2046-01-01"):
        days.daily(load_variant("spider-4"), datetime.date(2046, 1, 1), Picky())


def test_damaged_data_are_told(monkeypatch, tmp_path):
    path = tmp_path / "daily.json"
    path.write_text("{}")
    monkeypatch.setattr(days, "FROZEN", path)
    days._frozen_skips.cache_clear()
    try:
        with pytest.raises(DataError, match=r"daily\.json"):
            days.daily(load_variant("spider-4"), DAY, NoSolver())
    finally:
        monkeypatch.undo()
        days._frozen_skips.cache_clear()


# ---- making the data


def test_freezing_skips_what_is_not_won(monkeypatch):
    dates = [DAY + datetime.timedelta(day) for day in range(4)]
    lost = {days.candidate("spider-4", dates[1], 0), *(days.candidate("spider-4", dates[3], n) for n in range(2))}
    monkeypatch.setattr(
        prepare, "_won_deals", lambda variant, seeds, settling: [(seed, 1, 1) for seed in seeds if seed not in lost]
    )
    found = prepare.skipped_candidates(load_variant("spider-4"), dates, None)
    assert found == {dates[1].isoformat(): 1, dates[3].isoformat(): 2}


def test_freezing_and_daily_agree_on_real_deals(tmp_path, monkeypatch):
    variant = load_variant("spider-1")
    dates = [datetime.date(2046, 2, day) for day in range(1, 8)]
    for module in (prepare, days):
        monkeypatch.setattr(module, "DEFAULT_LIMIT", 600)  # so that some are skipped
    frozen = prepare.skipped_candidates(variant, dates, Settling(tmp_path, workers=1))
    assert frozen
    solver = Solver()
    for date in dates:
        assert days.daily(variant, date, solver).skipped == frozen.get(date.isoformat(), 0)


def test_calibration_of_a_few_deals(tmp_path):
    variant = load_variant("spider-1")
    content = prepare.calibrate([variant], 12, Settling(tmp_path, workers=1))
    entry = content["variants"]["spider-1"]
    assert (entry["deals"], entry["won"], len(entry["positions"]), len(entry["levels"])) == (12, 12, 12, 4)
    assert content["others"] == {key: entry[key] for key in content["others"]}
    assert json.loads(prepare.text_of(content)) == content
