"""Comparisons: discordant deals, words, limits, forms."""

import csv
import io
import json

import pytest
from dataset_rows import Row, table_of
from scipy import stats

from pipeline.analysis import compare as comparing
from pipeline.analysis.sides import COLUMNS, side_of
from pipeline.analysis.statistics import mcnemar
from pipeline.game.variants import load_variant


def side(verdicts, positions=None, limit=1_000_000, first=1, variant="spider-4"):
    """Make a side of a text like "wwul", one letter a deal."""
    rows = []
    for place, letter in enumerate(verdicts):
        won = letter == "w"
        count = limit if letter == "u" else (positions[place] if positions else 100)
        verdict = {"w": "won", "l": "lost", "u": "unsettled"}[letter]
        extra = ("-", 1, 1, 1299) if won else (None,) * 4
        rows.append(Row(first + place, verdict, count, 1, limit, *extra, "0.1.0+7", "0" * 16, 0.1, "run-1"))
    return side_of([table_of(rows).select(COLUMNS)], load_variant(variant), "native")


def test_discordant_deals_and_the_ratio():
    a = side("wwuulw", [100, 200, 0, 0, 300, 50])
    b = side("wuwull", [200, 0, 10, 0, 300, 50])
    got = comparing.compare(a, b, "spider-4/native")
    assert (got.paired.deals, got.left_out, got.paired.reached) == (6, 0, (4, 4))
    assert (got.paired.only_a, got.paired.only_b) == ((2,), (3,))
    assert got.contradictions == (6,)
    assert got.paired.ratio.deals == 3
    assert got.paired.ratio.geometric == pytest.approx(2 ** (1 / 3))
    assert "a solver is wrong" in got.conclusions[0]


def test_two_variants_are_paired_by_what_is_won():
    a, b = side("wwwwwwwwwl"), side("wuuuuuullw", variant="spider-free-deal")
    got = comparing.compare(a, b, "spider-4 and spider-free-deal/native")
    assert (got.paired.reached, got.contradictions) == ((9, 2), ())
    assert (got.paired.only_a, got.paired.only_b) == ((2, 3, 4, 5, 6, 7, 8, 9), (10,))
    assert "More deals are won by A" in got.conclusions[0]
    assert comparing.comparison_json([got], "a", "b")["comparisons"][0]["variant"] == "spider-4 and spider-free-deal"


def test_only_common_deals_count():
    got = comparing.compare(side("wwww", first=1), side("wwww", first=3), "spider-4/native")
    assert (got.paired.deals, got.left_out) == (2, 4)
    none = comparing.compare(side("ww", first=1), side("ww", first=9), "spider-4/native")
    assert "no deal in common" in none.conclusions[0]
    assert none.paired.ratio is None


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("w" * 100, "w" * 100, "differ on less than 3.70% of all"),
        (
            "w" * 95 + "u" * 5,
            "w" * 100,
            "5 deals are settled by B only, 0 by A only (exact McNemar p = 0.062); below 6",
        ),
        ("w" * 90 + "u" * 10, "w" * 100, "More deals are settled by B: 10 deals are settled by B only, 0 by A only"),
        ("w" * 100, "w" * 90 + "u" * 10, "More deals are settled by A"),
        ("w" * 93 + "u" * 7, "u" * 4 + "w" * 96, "does not show"),
        ("w" * 95 + "u" * 5, "u" * 5 + "w" * 95, "does not show"),
    ],
)
def test_the_verdict_in_words(a, b, words):
    got = comparing.compare(side(a), side(b), "x/native")
    assert words in got.conclusions[0]


def test_effort_in_words():
    even = [100 + i % 7 for i in range(60)]
    more = [count * 2 + i % 3 for i, count in enumerate(even)]
    base = side("w" * 60, even)
    assert "exactly the same positions" in comparing.compare(base, base, "x").conclusions[1]
    assert comparing.compare(base, side("w" * 60, more), "x").conclusions[1].startswith("B needs more positions")
    assert comparing.compare(side("w" * 60, more), base, "x").conclusions[1].startswith("B needs fewer positions")
    swapped = side("w" * 60, even[::-1])
    assert "does not show" in comparing.compare(base, swapped, "x").conclusions[1]
    assert "No deal was settled by both" in comparing.compare(side("u"), side("u"), "x").conclusions[1]


def test_a_common_limit():
    a, b = side("www", [10, 500, 5000], limit=10_000), side("wwu", [10, 100, 0], limit=1000)
    plain = comparing.compare(a, b, "x")
    assert plain.paired.only_a == (3,)
    assert "The node limits differ: 10,000 and 1,000." in plain.conclusions
    cut = comparing.compare(a, b, "x", nodes=1000)
    assert (cut.node_limits, cut.paired.only_a, cut.paired.reached) == ((1000, 1000), (), (2, 2))
    with pytest.raises(ValueError, match=r"1,000 positions"):
        comparing.compare(a, b, "x", nodes=2000)


def test_the_number_of_deals_needed_gives_the_power_promised():
    needed = comparing.deals_needed(4, 12, 1000)
    discordant = round(needed * 16 / 1000)
    power = sum(
        stats.binom.pmf(k, discordant, 0.75)
        for k in range(discordant + 1)
        if mcnemar(k, discordant - k) < comparing.LEVEL and k > discordant / 2
    )
    assert 0.7 < power < 0.9
    assert comparing.deals_needed(5, 5, 1000) is None


def test_forms():
    found = [comparing.compare(side("wwu"), side("uww"), "spider-4/native")]
    read = json.loads(comparing.render(found, "before", "after", "json"))
    assert (read["a"], read["b"]) == ("before", "after")
    (entry,) = read["comparisons"]
    assert (entry["variant"], entry["numbering"], entry["only_a"], entry["only_b"]) == ("spider-4", "native", [1], [3])
    assert entry["positions_ratio"]["interval"] == [0, None]
    table = comparing.render(found, "before", "after", "table")
    assert table.startswith("A: before\nB: after\n")
    assert "A only: 1\n" in table
    assert "| spider-4 | 3 | 0 | 2 | 2 | 1 | 1 |" in comparing.render(found, "a", "b", "markdown")
    (line,) = csv.DictReader(io.StringIO(comparing.render(found, "a", "b", "csv")))
    assert (line["variant"], line["A only"]) == ("spider-4", "1")


def test_long_lists_are_cut():
    got = comparing.compare(side("w" * 50), side("u" * 50), "x")
    assert comparing.discordant_lines(got) == ["A only: " + ", ".join(map(str, range(1, 21))) + " and 30 more"]
