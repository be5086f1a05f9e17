"""Texts that are markup, formulas or control characters: pages, tables and CSV show them and do nothing else."""

import csv
import json
from html.parser import HTMLParser

import pytest
from dataset_rows import rows_of, table_of
from faults_settler import IDENTITY, Easy
from runs_games import EASY_TOML

from pipeline.analysis.tables import markdown_text
from pipeline.cli.main import run_command
from pipeline.dataset.store import Store
from pipeline.game.numbers import csv_value
from pipeline.runs import run as runs

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)> | [a](http://a) {{7*7}}"
FORMULA = "=cmd|' /C calc'!A0"
CONTROL = "a\x1b]0;title\x07\x1b[31m"


class Page(HTMLParser):
    """Collects what a browser would do."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, value in attributes if name.startswith("on") or "alert" in (value or "")]


@pytest.fixture
def winnable(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "easy.toml").write_text(EASY_TOML)
    (tmp_path / "evil.toml").write_text(EASY_TOML.replace('"Easy Game"', json.dumps(MARKUP)))
    settler = {"settler": Easy(), "solver": IDENTITY}
    monkeypatch.setattr(runs.run, "__kwdefaults__", runs.run.__kwdefaults__ | settler)
    monkeypatch.setenv("WINNABLE_EXECUTOR", "inline")

    def call(*words):
        code = run_command(words)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    assert call("run", "--variant", "evil.toml", "--seeds", "1:20", "--nodes", "500")[0] == 0
    return call


def change_manifest(tmp_path, **changes):
    (path,) = (tmp_path / "data" / "runs").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


@pytest.mark.parametrize("variant", ["evil.toml", "easy.toml"])
def test_pages_show_markup_as_text(winnable, tmp_path, variant):
    machine = {"host": MARKUP, "system": MARKUP, "processor": MARKUP, "cores": 2}
    change_manifest(tmp_path, machine=machine, versions={MARKUP: MARKUP})
    code, page, _ = winnable("report", "--variant", variant, "--format", "html")
    assert code == 0
    found = Page(page)
    assert not found.handlers
    assert not {"script", "img"} & set(found.tags)
    plain = winnable("report", "--variant", "easy.toml", "--format", "html")[1]
    assert Page(plain).tags == found.tags, "the page is the same but for its words"


@pytest.mark.parametrize("key", ["run_id", "status", "started", "finished"])
@pytest.mark.parametrize("text", [MARKUP, FORMULA, CONTROL, "a\nb", "x" * 1000])
def test_a_manifest_with_a_word_that_no_run_writes_is_refused(winnable, tmp_path, key, text):
    path = change_manifest(tmp_path, **{key: text})
    for command in ("report", "status"):
        code, out, err = winnable(command, "--variant", "easy.toml")
        assert (code, out) == (3, "")
        assert path.name in err
    assert winnable("merge", "data", "--data", "other")[0] == 3


def test_a_host_cannot_write_to_the_terminal(winnable, tmp_path):
    change_manifest(tmp_path, machine={"host": CONTROL, "system": "a\nb", "processor": "", "cores": 2})
    for form in ("table", "markdown", "csv", "json", "html"):
        code, out, _ = winnable("report", "--variant", "easy.toml", "--format", form)
        assert code == 0
        assert not {"\x1b", "\x07"} & set(out)


def test_markdown_cells(winnable):
    assert markdown_text("a <= 10k | b") == r"a <= 10k \| b"
    assert markdown_text("<b>[x](y)") == r"\<b>\[x](y)"
    assert winnable("report", "--variant", "easy.toml", "--format", "markdown")[0] == 0


@pytest.mark.parametrize("text", [FORMULA, "+1", "@SUM(A1)", "\t=1", "-2+3+cmd|' /C calc'!A0"])
def test_no_cell_of_an_export_is_a_formula(winnable, tmp_path, text):
    store = Store(tmp_path / "data")
    (partition,) = store.partitions()
    rows = [row._replace(solver=text, run_id=text) for row in rows_of(store.read(*partition))]
    with store.writing("test"):
        (part,) = store.parts(partition)
        store.publish(part, table_of(rows))
    code, out, _ = winnable("export")
    assert code == 0
    for row in csv.DictReader(out.splitlines()):
        assert (row["solver"], row["run_id"]) == (f"'{text}", f"'{text}")
        assert row["line"] in {one.line or "" for one in rows}


@pytest.mark.parametrize("value", ["-ab2-ch", "-----", "ab", "", None, -3, 2.5])
def test_other_cells_are_as_they_are(value):
    assert csv_value(value) == value


@pytest.mark.parametrize("value", ["-1+1", "-2+3", "-(1)", "=1", "@a", "+1", "-2-3", "\t=1"])
def test_what_a_spreadsheet_would_compute_is_a_text(value):
    assert csv_value(value) == f"'{value}"
