"""The page of all nights."""

import json
import re

import pytest

from pipeline.analysis.nights import next_pages, nights_page
from pipeline.errors import DataError


def write_night(reports, date, *entries):
    (reports / date).mkdir(parents=True)
    keys = ("variant", "numbering", "deals", "won", "lost", "unsettled", "node_limit", "proved_win_rate",
            "upper_bound", "interval")  # fmt: skip
    content = {"variants": [dict(zip(keys, entry, strict=True)) for entry in entries]}
    (reports / date / "report.json").write_text(json.dumps(content))


def entry(deals, won, variant="spider-4", numbering="native"):
    return (variant, numbering, deals, won, 0, deals - won, 1_000_000, won / deals, 1.0, [won / deals - 0.01, 1.0])


def test_nights_newest_first_with_their_trend(tmp_path):
    write_night(tmp_path, "2026-11-29", entry(1000, 980))
    write_night(tmp_path, "2026-11-30", entry(2000, 1970), entry(500, 490, numbering="pysol"))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "2026-12-01").mkdir()
    page = nights_page(tmp_path)
    assert re.findall(r'<a href="([^"]+)">', page) == [
        "2026-11-30/report.html",
        "2026-11-30/report.html",
        "2026-11-29/report.html",
    ]
    assert page.count("<svg") == 1
    assert "98.50%" in page
    assert "Spider (pysol deals)" in page
    assert "2,500" in page
    assert "http:" not in page
    assert nights_page(tmp_path) == page


@pytest.mark.parametrize(
    ("lost", "unsettled", "words"),
    [((0, 0), (20, 60), "backlog of 40"), ((10, 50), (10, 10), "40 more deals are proved lost")],
)
def test_a_backlog_is_told_from_losses(tmp_path, lost, unsettled, words):
    for date, low, open_ in zip(("2026-11-29", "2026-11-30"), lost, unsettled, strict=True):
        won = 1000 - low - open_
        values = ("spider-4", "native", 1000, won, low, open_, 10**6, won / 1000, 1 - low / 1000, [won / 1001, 1.0])
        write_night(tmp_path, date, values)
    assert words in nights_page(tmp_path)


def test_a_night_links_to_the_one_after_it_and_never_changes(tmp_path):
    assert next_pages(tmp_path) == {}
    write_night(tmp_path, "2026-11-28", entry(1000, 980))
    write_night(tmp_path, "2026-11-29", entry(1000, 980))
    write_night(tmp_path, "2026-11-30", entry(2000, 1970))
    pages = next_pages(tmp_path)
    assert list(pages) == [tmp_path / "2026-11-29" / "next.html", tmp_path / "2026-11-30" / "next.html"]
    assert ["../2026-11-30/report.html" in page for page in pages.values()] == [True, False]
    assert ["../index.html" in page for page in pages.values()] == [False, True]


@pytest.mark.parametrize("name", ["none", "empty"])
def test_no_night_yet(tmp_path, name):
    (tmp_path / "empty").mkdir()
    assert "still to come" in nights_page(tmp_path / name)


def test_one_night_has_no_trend(tmp_path):
    write_night(tmp_path, "2026-11-29", entry(1000, 980))
    page = nights_page(tmp_path)
    assert "A trend needs two nights" in page
    assert "<svg" not in page


def test_what_reports_say_is_escaped(tmp_path):
    write_night(tmp_path, "2026-11-29", entry(10, 9, variant="<img src=x onerror=alert(1)>"))
    assert "<img" not in nights_page(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"variants": [{}]}', '{"variants": 5}'])
def test_a_damaged_report_names_its_file(tmp_path, text):
    (tmp_path / "2026-11-29").mkdir()
    (tmp_path / "2026-11-29" / "report.json").write_text(text)
    with pytest.raises(DataError, match=r"report\.json"):
        nights_page(tmp_path)
