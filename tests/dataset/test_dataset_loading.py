import numpy as np
import pandas as pd
import pytest
from dataset_rows import a_row, table_of

from pipeline.dataset.loading import load_outcomes
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError, UsageError
from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.variants import load_variant

SPIDER = load_variant("spider-4")
OWN_ID = "my-own"


@pytest.fixture
def data(tmp_path):
    """Seeds 1 to 6 of spider-4 in two parts, won, lost and unsettled in turn; one row of a variant of one's own."""
    rows = [a_row(seed, ("won", "lost", "unsettled")[seed % 3], rules_hash=SPIDER.rules_hash) for seed in range(1, 7)]
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(Partition("spider-4", "native"), table_of(rows[:3]))
        store.add(Partition("spider-4", "native"), table_of(rows[3:]))
        store.add(Partition(OWN_ID, "native"), table_of([a_row(1)]))
    return tmp_path


def test_only_the_columns_verdicts_and_seeds_asked_for(data):
    frame = load_outcomes(data, "spider-4", columns=["seed", "moves"], verdict=["won", "lost"], seeds=range(2, 7))
    assert list(frame.columns) == ["variant", "numbering", "seed", "moves"]
    assert list(frame["seed"]) == [3, 4, 6]
    assert list(load_outcomes(data, SPIDER, verdict="unsettled")["seed"]) == [2, 5]
    assert list(load_outcomes(data, "spider-4", seeds=np.array([9, 4, 1], np.uint8))["seed"]) == [1, 4]
    assert list(load_outcomes(data, "spider-4", seeds=frame["seed"])["seed"]) == [3, 4, 6]
    assert len(load_outcomes(data, "spider-4", seeds=[])) == 0


def test_integers_stay_integers_where_some_are_null(data):
    frame = load_outcomes(data, "spider-4")
    assert frame["moves"].dtype == frame["deals"].dtype == frame["score"].dtype == pd.Int16Dtype()
    assert frame["seed"].dtype == frame["positions"].dtype == np.int64
    assert list(frame["moves"].isna()) == [True, True, False, True, True, False]
    assert load_outcomes(data, "spider-4", verdict="lost")["score"].dtype == pd.Int16Dtype()


def test_cards_by_name(data):
    frame = load_outcomes(data, "spider-4", columns=["seed"], cards=True)
    board = board_json(deal(SPIDER, 4))
    assert frame.loc[3, "columns"] == board["columns"]
    assert frame.loc[3, "columns"][0].split()[0].endswith(("C", "D", "H", "S"))
    assert (frame.loc[3, "face_down"], frame.loc[3, "stock"]) == (board["face_down"], board["stock"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"columns": ["seed", "line", "sead"]}, "column 'sead'.*seed"),
        ({"verdict": "win"}, "verdict 'win'.*won"),
        ({"seeds": "1:3"}, "seeds '1:3'"),
        ({"seeds": [1.0]}, r"seed 1\.0"),
        ({"variants": "spidr-4"}, "spidr-4"),
        ({"variants": OWN_ID, "cards": True}, f"{OWN_ID}.*read_variant"),
        ({"variants": "spider-4", "columns": ["moves"], "cards": True}, "'seed'"),
    ],
)
def test_what_is_wrong_is_named(data, words, expected):
    with pytest.raises(UsageError, match=expected):
        load_outcomes(data, **words)


def test_a_variant_of_other_rules_is_refused(data):
    from dataclasses import replace

    other = replace(load_variant("spider-1"), id="spider-4")
    with pytest.raises(StoreError, match="rules"):
        load_outcomes(data, other)
