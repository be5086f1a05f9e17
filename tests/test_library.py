"""`pipeline` as a library."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pipeline
from pipeline.errors import UsageError


def test_every_name_is_there_and_itself():
    for name in pipeline.__all__:
        assert getattr(pipeline, name) is not None
    assert set(pipeline.__all__) <= set(dir(pipeline))
    assert pipeline.Variant.__module__.startswith("pipeline.game.variants")
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = pipeline.slove


def test_importing_it_loads_nothing_heavy():
    heavy = ("numba", "numpy", "pandas", "pyarrow", "matplotlib", "click")
    program = f"import sys, pipeline; print(*[n for n in {heavy!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_solve_and_settle_say_the_same():
    variant = pipeline.load_variant("spider-1")
    frame = pipeline.settle(variant, [5, 3, 5, 4], workers=1)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["seed"]) == [3, 4, 5]
    assert list(frame.columns[:4]) == ["variant", "numbering", "seed", "verdict"]
    for row in frame.itertuples():
        outcome = pipeline.solve(pipeline.deal(variant, row.seed))
        assert (row.verdict, row.positions, row.line) == (outcome.verdict, outcome.positions, outcome.line)


def test_settle_uses_and_keeps_a_dataset(tmp_path):
    first = pipeline.settle("spider-1", range(1, 5), workers=1, data=tmp_path)
    run_ids = set(first["run_id"])
    more = pipeline.settle("spider-1", range(2, 7), workers=1, data=str(tmp_path))
    assert list(more["seed"]) == [2, 3, 4, 5, 6]
    assert run_ids < set(more["run_id"])
    assert list(pipeline.load_outcomes(tmp_path)["seed"]) == [1, 2, 3, 4, 5, 6]
    some = pipeline.settle("spider-1", [1, 3, 6], workers=1, data=tmp_path)
    assert list(some["seed"]) == [1, 3, 6]


def test_settle_by_workers():
    frame = pipeline.settle("spider-easy", range(1, 4), nodes=2000, workers=2)
    assert len(frame) == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("spider-9", [1]), "spider-9"),
        (("spider-1", []), "no seeds"),
        (("spider-1", [-1]), "numbers in a dataset go from 0"),
        (("spider-1", [2**63]), "numbers in a dataset go from 0"),
        (("spider-1", [1, 2.0]), r"^seed 2\.0 is not a whole number$"),
        (("spider-1", ["1"]), "^seed '1' is not a whole number$"),
        (("spider-1", [True]), "^seed True is not a whole number$"),
        (("spider-1", "1:3"), "^seeds '1:3': expected numbers"),
        (("spider-1", 5), "^seeds 5: expected numbers"),
    ],
)
def test_settle_says_what_is_wrong(words, expected):
    with pytest.raises(UsageError, match=expected):
        pipeline.settle(*words)
    with pytest.raises(UsageError, match="no numbering 'kpat'"):
        pipeline.settle("mrs-mop", [1], numbering="kpat")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"nodes": "10k"}, "^nodes '10k' is not a whole number$"),
        ({"nodes": 0}, "^nodes 0: expected a whole number from 1 to 9223372036854775807$"),
        ({"nodes": 2**63}, "^nodes 9223372036854775808: expected"),
        ({"workers": -1}, "^workers -1: expected a whole number from 1 to 4096$"),
        ({"workers": 0}, "^workers 0: expected"),
        ({"workers": 1.5}, r"^workers 1\.5 is not a whole number$"),
    ],
)
def test_settle_says_which_number_is_wrong(words, expected):
    with pytest.raises(UsageError, match=expected):
        pipeline.settle("spider-1", [1], **words)


@pytest.mark.parametrize("limit", [500.7, "500", True, None, 0, -1, 2**63])
def test_solve_takes_a_limit_that_is_one(limit):
    board = pipeline.deal("spider-1", 1)
    for ask in (pipeline.solve, pipeline.hint):
        with pytest.raises(UsageError, match=r"^node_limit .*whole number"):
            ask(board, limit)


@pytest.mark.parametrize("date", ["2026-1-1", "today", "", "2026-02-30"])
def test_a_text_that_is_no_date(date):
    with pytest.raises(UsageError, match=f"'{date}' is not a valid date"):
        pipeline.daily("spider-1", date)


def test_seeds_may_be_integers_of_numpy():
    frame = pipeline.settle("spider-easy", np.array([3, 1], np.uint64), workers=1)
    again = pipeline.settle("spider-easy", frame["seed"], workers=1)
    assert list(again["seed"]) == list(frame["seed"]) == [1, 3]
    outcome = pipeline.solve(pipeline.deal("spider-1", np.int32(1)), np.int32(2000))
    assert outcome == pipeline.solve(pipeline.deal("spider-1", 1), 2000)
    assert type(outcome.node_limit) is int


def test_ids_and_dates_may_be_text():
    import datetime

    from pipeline import daily, deal, load_variant

    variant = load_variant("spider-1")
    assert deal("spider-1", 5) == deal(variant, 5)
    assert daily("spider-1", "2026-11-30") == daily(variant, datetime.date(2026, 11, 30))


def test_the_statistics_are_for_everyone():
    assert pipeline.wilson(8, 10).low < 0.8 < pipeline.wilson(8, 10).high
    assert pipeline.win_rate(10, 8, 1).upper_bound == 0.9
    assert pipeline.paired_ratio([1, 2], [2, 4]).geometric == pytest.approx(2)
    paired = pipeline.compare_paired([True, True, False], [False, True, True], [5, 5, 9], [9, 10, 2], seeds=[7, 8, 9])
    assert (paired.deals, paired.reached, paired.only_a, paired.only_b) == (3, (2, 2), (7,), (9,))
    assert (paired.p_value, paired.ratio.geometric) == (1, pytest.approx(2))
    with pytest.raises(ValueError, match="shapes"):
        pipeline.compare_paired([True], [True, False], [1], [1, 2])


def test_a_board_is_written_and_read_as_text_and_json():
    import json

    board = pipeline.deal("spider-2", 7)
    assert pipeline.read_board(pipeline.board_text(board)) == board
    assert pipeline.read_board(json.dumps(pipeline.board_json(board))) == board


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [("named_deal", (5,), "5"), ("solve", ("spider-1",), "spider-1"), ("advise", ("board", 0), "0")],
)
def test_a_wrong_kind_of_value_is_named(name, words, value):
    with pytest.raises(UsageError, match=value):
        getattr(pipeline, name)(*words)
