"""Everything that leaves as JSON means the same to JavaScript, whose whole numbers end at 2**53 - 1."""

import datetime
import json
import shutil
import subprocess

import pytest

from pipeline.cli.main import run_command
from pipeline.game.forms import read_board
from pipeline.game.numbers import json_text
from pipeline.game.variants import MAIN_VARIANTS
from pipeline.pools.daily import daily
from pipeline.pools.stream import answer_stream, settle_lines

LARGE = 2**63 - 5
ECHO = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8'))))"


@pytest.fixture
def through_javascript():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")

    def echo(text):
        return subprocess.run([node, "-e", ECHO], input=text, capture_output=True, text=True, check=True).stdout

    return echo


@pytest.fixture
def said(capsys):
    def run(*words):
        assert run_command([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def dataset(tmp_path, capsys):
    data = tmp_path / "data"
    words = ["--variant", "spider-1", "--seeds", f"{LARGE}:{LARGE + 4}", "--workers", "1", "--data", str(data), "-q"]
    assert run_command(["run", *words]) == 0
    capsys.readouterr()
    return data


def same(text, echoed):
    assert json.loads(echoed) == json.loads(text)


@pytest.mark.parametrize("name", [f"spider-1/native/{LARGE}", "spider-2/pysol/99999999999999999999"])
@pytest.mark.parametrize("command", ["deal", "solve", "hint", "replay"])
def test_what_is_said_of_a_deal(said, through_javascript, tmp_path, name, command):
    text = said(command, name, "--format", "json")
    echoed = through_javascript(text)
    same(text, echoed)
    if command != "replay":
        again = tmp_path / "echoed.json"
        again.write_text(echoed)
        assert read_board(echoed).name == name
        assert said("deal", again) == said("deal", name)


def test_what_is_said_of_a_dataset(said, through_javascript, dataset):
    for words in (("status", "--format", "json"), ("report", "--format", "json")):
        text = said(*words, "--data", dataset)
        same(text, through_javascript(text))
    lines = said("export", "--data", dataset, "--format", "jsonl").splitlines()
    assert [int(json.loads(line)["seed"]) for line in lines] == [*range(LARGE, LARGE + 5)]
    for line in lines:
        same(line, through_javascript(line))


def test_a_pool_keeps_its_hash(said, through_javascript, tmp_path, dataset):
    words = ("--variant", "spider-1", "--count", "3", "--first-seed", LARGE, "--workers", "1", "--data", dataset, "-q")
    said("pool", "build", *words, "--out", tmp_path / "pool.parquet")
    text = said("pool", "export", tmp_path / "pool.parquet", "--format", "json")
    same(text, through_javascript(text))
    echoed = json.loads(through_javascript(text))
    assert int(echoed["deals"][0]["seed"]) >= LARGE
    program = (
        "const crypto = require('crypto'); const pool = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "const rows = pool.deals.map(row => JSON.stringify(Object.values(row)) + '\\n').join('');"
        "process.stdout.write(crypto.createHash('sha256').update(rows).digest('hex'))"
    )
    done = subprocess.run(["node", "-e", program], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == echoed["header"]["sha256"]


def test_streams(through_javascript):
    lines = [f'{{"id": 1, "deal": "spider-1/native/{LARGE}"}}', f'{{"variant": "spider-1", "seed": "{LARGE}"}}']
    answers = list(answer_stream(lines))
    for text in (*answers, *map(json_text, settle_lines(lines))):
        same(text, through_javascript(text))
        assert f"spider-1/native/{LARGE}" in text


def test_a_daily_deal_can_be_found_in_javascript(said, through_javascript):
    program = (
        "const hash = require('crypto').createHash('sha256').update('winnable daily spider-1 2031-05-06');"
        "process.stdout.write(String(parseInt(hash.digest('hex').slice(0, 13), 16)))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    text = said("daily", "--variant", "spider-1", "--date", "2031-05-06", "--format", "json")
    found = json.loads(through_javascript(text))
    assert found["seed"] == int(done.stdout) + found["skipped"]


def test_no_daily_seed_is_too_large_for_javascript():
    for name in MAIN_VARIANTS:
        for day in range(0, 7000, 97):
            assert daily(name, datetime.date(2026, 1, 1) + datetime.timedelta(day)).board.seed < 2**53


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**53 - 1, str(2**53 - 1)),
        (2**53, f'"{2**53}"'),
        (-(2**53), f'"-{2**53}"'),
        (float("nan"), "null"),
        (True, "true"),
    ],
)
def test_numbers_that_javascript_lacks(value, text):
    assert json_text([value, {"a": (value,)}]) == f'[{text}, {{"a": [{text}]}}]'
