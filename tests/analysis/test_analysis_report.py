"""The report: counts, bounds, limits, published figures, forms."""

import csv
import dataclasses
import io
import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from dataset_rows import Row, table_of

from pipeline.analysis import published, report, tables
from pipeline.analysis.plans import Plans, planned
from pipeline.analysis.samples import sample_of
from pipeline.analysis.statistics import wilson, win_rate
from pipeline.dataset.manifest import Plan, RunRecord
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition
from pipeline.game.variants import Documented, load_variant


def row(seed, verdict, positions, limit=1_000_000, moves=100, seconds=0.5):
    won = verdict == "won"
    return Row(
        seed, verdict, positions, positions // 9, limit, "-" if won else None, moves if won else None,
        1 if won else None, 1300 - moves if won else None, "0.1.0+7", "0" * 16, seconds, "run-1",
    )  # fmt: skip


def sample(*rows, variant="spider-1", numbering="native", plans=None, missing_at=()):
    made = sample_of([table_of(rows)] if rows else [], load_variant(variant), numbering, plans)
    return dataclasses.replace(made, missing_at=missing_at or made.missing_at)


TEN = [
    row(1, "won", 100), row(2, "won", 10_000), row(3, "won", 10_001), row(4, "won", 167_000), row(5, "won", 900_000),
    row(6, "lost", 5_000), row(7, "unsettled", 1_000_000), row(8, "won", 50, moves=120),
    row(9, "won", 60, moves=140), row(10, "won", 70),
]  # fmt: skip


def test_the_json_is_exactly_the_agreed_form():
    got = report.report_json(report.report_of([sample(*TEN)]))
    positions = np.array([100, 10_000, 10_001, 167_000, 900_000, 5_000, 1_000_000, 50, 60, 70])
    assert list(got) == ["generator", "date", "solver", "variants"]
    assert (got["generator"].split()[0], got["date"], got["solver"]) == ("winnable", None, ["0.1.0+7"])
    (entry,) = got["variants"]
    documented = entry.pop("documented")
    assert entry == {
        "variant": "spider-1",
        "numbering": "native",
        "node_limit": 1_000_000,
        "deals": 10,
        "won": 8,
        "lost": 1,
        "unsettled": 1,
        "losses_checked": 0,
        "proved_win_rate": 0.8,
        "upper_bound": 0.9,
        "interval": [wilson(8, 10).low, wilson(9, 10).high],
        "missing": 0,
        "searched": {
            "deals": 10,
            "proved_win_rate": 0.8,
            "upper_bound": 0.9,
            "interval": [wilson(8, 10).low, wilson(9, 10).high],
        },
        "unfinished_runs": [],
        "won_within": {"10000": 5, "167000": 7, "1000000": 8},
        "positions": {
            "mean": positions.mean(),
            "median": np.median(positions),
            "p90": np.quantile(positions, 0.9),
            "p99": np.quantile(positions, 0.99),
        },
    }
    assert documented[:2] == [
        {
            "source": "statistics page of an online Spider",
            "deals": 513,
            "node_limit": 1_000_000,
            "proved_win_rate": 0.97,
            "ours": 0.8,
        },
        {
            "source": "the same page, at the limit of its hints",
            "deals": 100,
            "node_limit": 167_000,
            "proved_win_rate": 0.87,
            "ours": 0.7,
        },
    ]
    assert json.loads(json.dumps(got)) == got


def test_node_limit_is_the_smallest_among_unsettled_rows():
    rows = [row(1, "won", 10, limit=1000), row(2, "unsettled", 5000, limit=5000), row(3, "unsettled", 9000, limit=9000)]
    got = report.report_of([sample(*rows)]).variants[0]
    assert got.node_limit == 5000
    assert got.won_within == {10_000: None, 167_000: None, 1_000_000: None}
    assert got.documented[0].ours is None
    assert "5,000" in got.documented[0].conclusion


def test_node_limit_is_the_largest_used_when_all_is_settled():
    rows = [row(1, "won", 10, limit=1000), row(2, "lost", 20, limit=20_000)]
    got = report.report_of([sample(*rows)]).variants[0]
    assert got.node_limit == 20_000
    # Nothing is open, so more positions could change nothing.
    assert got.won_within == {10_000: 1, 167_000: 1, 1_000_000: 1}


def test_a_retry_at_a_larger_limit_moves_the_limit():
    rows = [row(1, "won", 10, limit=1000), row(2, "unsettled", 50_000, limit=50_000)]
    got = report.report_of([sample(*rows)]).variants[0]
    assert (got.node_limit, got.won_within[10_000], got.won_within[167_000]) == (50_000, 1, None)


def test_missing_deals_are_unsettled_deals():
    full = report.report_of([sample(*TEN)]).variants[0]
    assert report.report_of([sample(*TEN)], [500_000]).variants[0].won_within[500_000] == 7
    got = report.report_of([sample(*TEN, missing_at=((1_000_000, 10),))]).variants[0]
    assert (got.rate.deals, got.rate.won, got.rate.lost, got.rate.unsettled) == (20, 8, 1, 11)
    assert (got.rate.proved, got.rate.upper_bound) == (0.4, 0.95)
    assert got.searched == full.rate == full.searched
    assert got.positions == full.positions  # what is not known to be hard is not counted as if it were
    assert got.won_within == full.won_within
    shallow = report.report_of([sample(*TEN, missing_at=((100_000, 10),))]).variants[0]
    assert (shallow.node_limit, shallow.won_within) == (100_000, {10_000: 5, 167_000: None, 1_000_000: None})
    settled = [r for r in TEN if r.verdict != "unsettled"]
    beyond = report.report_of(
        [
            sample(
                *[r._replace(node_limit=20_000) for r in settled if r.positions < 20_000],
                missing_at=((20_000, 1),),
            )
        ]
    ).variants[0]
    assert beyond.won_within == {10_000: 5, 167_000: None, 1_000_000: None}


def test_missing_deals_have_the_largest_limit_that_each_was_planned_with():
    plans = Plans.of(
        [
            Plan(Seeds.of([range(1, 401)]), 10_000),
            Plan(Seeds.of([range(395, 401)]), 20_000),
            Plan(Seeds.of([range(399, 400)]), 5_000_000),
            Plan(Seeds.of([range(900, 901)]), 10_000_000),
        ]
    )
    had = np.array([*range(1, 21), 900])
    assert plans.missing(had) == ((5_000_000, 1), (20_000, 5), (10_000, 374))
    assert plans.missing(had, Seeds.of([range(15, 31), range(399, 410)])) == (
        (5_000_000, 1),
        (20_000, 1),
        (10_000, 10),
        (0, 9),
    )
    assert Plans().missing(had) == ()
    assert plans.seeds == Seeds.of([range(1, 401), range(900, 901)])
    rows = [row(int(seed), "won", 100 + int(seed)) for seed in had]
    got = report.report_of([sample(*rows, plans=plans)]).variants[0]
    assert got.sample.missing_at == plans.missing(had)
    assert got.positions.mean == 100 + had.mean()


def a_run(name, *plans, status="interrupted"):
    return RunRecord(name, "", "", status, "", tuple((Partition("spider-1", "native"), plan) for plan in plans))


def test_the_runs_that_left_deals_are_named_with_the_rate_without_them_and_the_remedy():
    plans = planned(
        [
            a_run("done", Plan(Seeds.of([range(1, 11)]), 1_000_000), status="finished"),
            a_run("given-up", Plan(Seeds.of([range(1, 1001)]), 1_000_000)),
        ]
    )[Partition("spider-1", "native")]
    had = np.arange(1, 11)
    assert plans.missing_by_run(had) == [0, 990]
    assert plans.missing_by_run(had, Seeds.of([range(5, 21)])) == [0, 10]
    made = report.report_of([sample(*TEN, plans=plans)])
    (run,) = made.variants[0].sample.unfinished
    assert (run.id, run.planned, run.missing) == ("given-up", 1000, 990)
    for text in (tables.text_report(made), tables.markdown_report(made)):
        text = " ".join(text.split())
        for part in ("given-up", "990", "80.00%", "0.80%", "winnable withdraw given-up", "--seeds"):
            assert part in text


def test_nothing_but_missing_deals():
    got = report.report_of([sample(missing_at=((1000, 5),))]).variants[0]
    assert (got.node_limit, got.rate.deals, got.rate.proved, got.rate.upper_bound) == (1000, 5, 0, 1)
    assert tuple(got.rate.interval)[1] == 1
    assert got.deals_per_second is None
    tables.text_report(report.Report((got,)))


def test_deals_per_second_of_one_core_ignores_untimed_deals():
    rows = [row(1, "won", 10, seconds=0.1), row(2, "won", 10, seconds=0.3), row(3, "won", 10, seconds=float("nan"))]
    assert report.report_of([sample(*rows)]).variants[0].deals_per_second == pytest.approx(5.0)


def made(won, deals, limit=1_000_000, lost=0):
    rows = [
        row(
            i,
            "won" if i < won else "lost" if i < won + lost else "unsettled",
            100 if i < won + lost else limit,
            limit=limit,
        )
        for i in range(deals)
    ]
    return sample(*rows)


@pytest.mark.parametrize(
    ("figure", "won", "deals", "lost", "words"),
    [
        (Documented("s", 1291, 1_000_000, 0.39), 990, 1000, 0, "a larger share, by 57.2 to 62.7 points"),
        (Documented("s", 1291, 1_000_000, 0.39), 100, 1000, 0, "a smaller share, by 25.7 to 32.1"),
        (Documented("s", 513, 1_000_000, 0.97), 98, 100, 0, "cannot be told apart"),
        (Documented("s", 10_000, None, 0.9731, 9731, 0, 269), 1000, 1000, 0, "At different limits"),
        (Documented("s", 1_000_000, None, 0.97448, 974_476, 25_467, 57), 974, 1000, 25, "the two agree"),
        (Documented("s", 1_000_000, None, 0.97448, 974_476, 25_467, 57), 900, 1000, 100, "ours is lower"),
        (Documented("s", 1_000_000, None, 0.97448, 974_476, 25_467, 57), 1000, 1000, 0, "ours is higher"),
        (Documented("s", 10_000, None, 0.9, 9_000, 900, 100, True), 800, 1000, 200, "at most 91.545% can be won"),
        (Documented("s", 10_000, None, 0.9, 9_000, 900, 100, True), 800, 1000, 200, "agrees with that"),
        (Documented("s", 10_000, None, 0.9, 9_000, 900, 100, True), 990, 1000, 10, "more than chance"),
        (Documented("s", None, None, 0.9962), 1000, 1000, 0, "not stated"),
    ],
)  # fmt: skip
def test_conclusions(figure, won, deals, lost, words):
    entry = report.report_of([made(won, deals, lost=lost)]).variants[0]
    assert words in published.beside(figure, entry.sample, entry.rate).conclusion


@pytest.mark.parametrize(("won", "words"), [(100, "no outcome"), (390, "no outcome"), (990, "a larger share")])
def test_what_missing_deals_could_change_is_not_concluded(won, words):
    half_done = dataclasses.replace(made(won, 1000), missing_at=((1_000_000, 500),))
    figure, rate = Documented("s", 1291, 1_000_000, 0.39), report.report_of([half_done]).variants[0].rate
    assert words in published.beside(figure, half_done, rate).conclusion
    assert "so it can only rise" in tables.text_report(report.report_of([half_done]))


def test_a_percentage_never_says_all_or_nothing_wrongly():
    assert published.percent(1) == "100.00%"
    assert published.percent(0) == "0.00%"
    assert published.percent(0.999999) == "99.99%"
    assert published.percent(0.000001) == "0.01%"
    assert published.percent(0.9745, 3) == "97.450%"
    assert published.points(-0.012, 0.034) == ("\N{MINUS SIGN}1.2", "+3.4")
    assert published.points(0.0037, 0.0042) == ("+0.37", "+0.42")
    assert published.points(-0.0002, 0.00003) == ("\N{MINUS SIGN}0.020", "+0.003")
    assert published.points(0, 0.0012) == ("+0.0", "+0.1")


def test_the_text_form_shows_bounds_interval_n_and_limit_together():
    text = tables.text_report(report.report_of([sample(*TEN), sample(*TEN, variant="spider-4", numbering="pysol")]))
    line = next(line for line in text.splitlines() if line.startswith("spider-1 "))
    assert line.split() == ["spider-1", "10", "8", "1", "1", "80.00%", "90.00%", "49.02%", "to", "98.21%", "1,000,000"]
    assert "spider-4 (pysol)" in text
    assert "the same page, at the limit of its hints" in text
    assert max(map(len, text.splitlines())) <= 200


def test_the_markdown_form():
    text = tables.markdown_report(report.report_of([sample(*TEN)]))
    assert "| spider-1 | 10 | 8 | 1 | 1 | 80.00% | 90.00% | 49.02% to 98.21% | 1,000,000 |" in text
    assert "cannot be told apart" in text or "smaller share" in text


def test_the_csv_form_has_one_line_a_variant():
    text = tables.csv_report(report.report_of([sample(*TEN), sample(*TEN[:3], variant="spider-4")]))
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["variant"] for line in lines] == ["spider-1", "spider-4"]
    assert lines[0]["won_within.167000"] == "7"
    assert float(lines[0]["interval_low"]) == wilson(8, 10).low
    assert tables.csv_report(report.Report(())) == ""


def test_limits_as_people_say_them():
    assert [tables.limit_text(n) for n in (10, 10_000, 167_000, 1_000_000, 1_500, 2_500_000)] == [
        "10", "10k", "167k", "1M", "1.5k", "2.5M",
    ]  # fmt: skip


def test_made_up_outcomes_add_up(made_up):
    rows = made_up("spider-2", range(1, 501), unsettled=0.02, lost=0.1)
    got = report.report_of([sample(*rows, variant="spider-2")]).variants[0]
    assert (got.rate.won, got.rate.lost, got.rate.unsettled) == (440, 50, 10)


@pytest.mark.parametrize("wanted", [None, Seeds.of([range(40, 461)]), Seeds.of([range(1, 30), range(700, 801)])])
def test_rows_say_the_same_together_and_a_few_at_a_time(made_up, wanted):
    rows = [r for r in made_up("spider-2", range(1, 501), unsettled=0.05, lost=0.1) if r.seed % 97]
    one, two = Plan(Seeds.of([range(1, 301), range(600, 650)]), 500), Plan(Seeds.of([range(200, 501)]), 2000)
    plans = planned([a_run("one", one), a_run("two", two)])[Partition("spider-1", "native")]
    plain = [r for r in rows if wanted is None or r.seed in wanted]
    table, variant = table_of(plain), load_variant("spider-2")
    cut = [0, 1, 7, 20, len(plain) - 3, len(plain)]
    whole = sample_of([table], variant, "native", plans, wanted)
    parts = sample_of([table[a:b] for a, b in itertools.pairwise(cut)], variant, "native", plans, wanted)
    made = [report.report_of([one]) for one in (whole, parts)]
    assert report.report_json(made[0]) == report.report_json(made[1])
    assert tables.text_report(made[0]) == tables.text_report(made[1])
    assert whole.hardest == parts.hardest
    assert (whole.first, whole.last, whole.missing_at) == (parts.first, parts.last, parts.missing_at)
    assert whole.unfinished == parts.unfinished
    assert whole.runs == parts.runs == (("20261130-000000-1", len(plain)),)
    hard = sorted(plain, key=lambda r: (r.verdict != "unsettled", -r.positions, r.seed))[:10]
    assert [d.seed for d in parts.hardest] == [r.seed for r in hard]
    won = [r for r in plain if r.verdict == "won"]
    assert (parts.won.total, parts.moves.total, parts.timed) == (len(won), len(won), len(plain))
    assert parts.won.quantiles().median == np.median([r.positions for r in won])
    assert parts.moves.quantiles().mean == pytest.approx(np.mean([r.moves for r in won]))
    had = np.array([r.seed for r in plain])
    assert parts.missing_at == plans.missing(had, wanted)


def test_a_sample_keeps_no_rows(made_up):
    rows, held = table_of(made_up("spider-1", range(5000))), []

    def tables():
        for part in range(20):
            held.append(pa.total_allocated_bytes())
            copy = rows.take(np.arange(len(rows)))
            yield copy.set_column(0, rows.schema.field(0), pc.add(copy["seed"], part * len(rows)))

    assert sample_of(tables(), load_variant("spider-1"), "native").searched == 20 * len(rows)
    assert max(held) < held[0] + 3 * rows.nbytes


def test_of_a_million_deals_each_one_shows():
    rate = win_rate(1_000_000, 999_994, 2)
    assert published.percent(rate.proved, rate.digits) == "99.9994%"
    assert tables.interval_text(rate).endswith("to 99.9999%")
    assert [win_rate(deals, deals, 0).digits for deals in (1, 1000, 10_000, 10_001, 100_000)] == [2, 2, 2, 3, 3]
