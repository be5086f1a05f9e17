"""The page of all nights."""

import json
import re

import pytest

from pipeline.analysis.nights import nights_page
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
    assert "spider-4 (pysol)" in page
    assert "2,500" in page
    assert "http" not in page
    assert nights_page(tmp_path) == page


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
