"""`pool` and `daily` as a user calls them."""

import datetime
import json
import os
import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from pipeline.cli.main import run_command
from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.variants import MAIN_VARIANTS, load_variant
from pipeline.pools import daily as days
from pipeline.referee.replay import verify_line
from pipeline.runs.stopping import Signalled

BUILD = ("pool", "build", "--variant", "spider-1", "--count", "12", "--workers", "1")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    assert run_command([*BUILD, "--out", str(folder / "pool.parquet"), "--data", str(folder / "data"), "-q"]) == 0
    return folder / "pool.parquet"


def test_build_says_what_it_made(winnable, pool, tmp_path):
    again = tmp_path / "again.parquet"
    code, out, err = winnable(*BUILD, "--out", again, "--data", pool.parent / "data")
    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {again}: 12 won deals, 12 tried\n")
    assert again.read_bytes() == pool.read_bytes()


def test_another_pool_is_replaced_by_force_only(winnable, pool, tmp_path):
    out, data = tmp_path / "pool.parquet", ("--data", pool.parent / "data", "-q")
    out.write_bytes(pool.read_bytes())
    for words in (("--first-seed", 2), ("--nodes", 5000), ("--difficulty", "1:4"), ("--count", 11)):
        code, _, err = winnable(*BUILD, *words, "--out", out, *data)
        assert code == 2, words
        assert str(out) in err
        assert "--force" in err
        assert out.read_bytes() == pool.read_bytes()
    assert winnable(*BUILD, "--count", 13, "--out", out, *data)[0] == 0  # the same pool, longer
    assert winnable(*BUILD, "--out", out, "--force", *data)[0] == 0
    assert out.read_bytes() == pool.read_bytes()
    out.write_text("my notes")
    assert winnable(*BUILD, "--out", out, *data)[0] == 2
    assert out.read_text() == "my notes"


def test_the_deals_settled_beyond_the_count_are_told_and_make_a_larger_pool(winnable, pool, tmp_path):
    out = tmp_path / "pool.parquet"
    _, _, err = winnable(*BUILD, "--out", out, "--data", pool.parent / "data")
    count = int(re.search(r"--count (\d+)", err)[1])
    assert count > 12
    code, _, err = winnable(*BUILD, "--count", count, "--out", out, "--data", pool.parent / "data")
    assert (code, "settled in" in err) == (0, False)


def test_a_pool_of_a_difficulty(ok, pool, tmp_path):
    out = tmp_path / "pool.parquet"
    ok(*BUILD, "--difficulty", "2:3", "--out", out, "--data", tmp_path / "data", "-q")
    header = json.loads(ok("pool", "show", out, "--format", "json"))
    assert (header["deals"], header["levels"]) == (12, [2, 3])
    rows = json.loads(ok("pool", "export", out))["deals"]
    assert {row["difficulty"] for row in rows} <= {2, 3}
    whole = {row["seed"]: row["difficulty"] for row in json.loads(ok("pool", "export", pool))["deals"]}
    seeds = [row["seed"] for row in rows if row["seed"] <= 12]
    assert seeds == [seed for seed, level in whole.items() if level in (2, 3)]


def test_verify_is_content_with_a_good_pool(ok, pool):
    assert ok("pool", "verify", pool) == f"{pool}: all 12 lines replay; cards, counts and checksum are right\n"


def changed(pool, tmp_path, **values):
    table = pq.read_table(pool)
    rows = table.to_pylist()
    rows[4].update(values)
    path = tmp_path / "changed.parquet"
    pq.write_table(type(table).from_pylist(rows, table.schema), path)
    return path, rows[4]["seed"]


def test_verify_finds_a_line_that_does_not_replay(winnable, pool, tmp_path):
    path, seed = changed(pool, tmp_path, line="ab")
    code, out, err = winnable("pool", "verify", path)
    assert (code, out) == (4, "")
    assert err.startswith(f"Error: {path}: 1 line does not replay: seed {seed}: move 1: ")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"stock": "AS"}, "seed {seed}: "),
        ({"moves": 1}, "seed {seed}: "),
        ({"positions": 1}, "sha256"),
    ],
)
def test_verify_finds_other_damage(winnable, pool, tmp_path, values, expected):
    path, seed = changed(pool, tmp_path, **values)
    code, out, err = winnable("pool", "verify", path)
    assert (code, out) == (3, "")
    assert err.startswith(f"Error: {path}: ")
    assert expected.format(seed=seed) in err


@pytest.mark.parametrize("command", ["verify", "show", "sample", "export"])
def test_what_is_no_pool_is_three(winnable, tmp_path, command):
    path = tmp_path / "no.parquet"
    path.write_text("nonsense")
    code, out, err = winnable("pool", command, path)
    assert (code, out) == (3, "")
    assert err.startswith(f"Error: {path} ")
    assert winnable("pool", command, tmp_path / "nowhere")[0] == 2


def test_show_tells_header_and_difficulties(ok, pool):
    shown = json.loads(ok("pool", "show", pool, "--format", "json"))
    assert (shown["variant"], shown["numbering"], shown["deals"], shown["tried"]) == ("spider-1", "native", 12, 12)
    assert sum(shown["difficulties"].values()) == 12
    text = ok("pool", "show", pool)
    assert f"sha256: {shown['sha256']}\n" in text
    assert f"difficulty 5: {shown['difficulties']['5']} deal" in text


def test_sample_draws(ok, pool):
    seeds = [int(line) for line in ok("pool", "sample", pool, "--count", 5, "--draw", 1).split()]
    assert len(set(seeds)) == 5
    assert set(seeds) <= set(range(1, 13))
    assert seeds == [int(line) for line in ok("pool", "sample", pool, "--count", 5, "--draw", 1).split()]
    assert len(ok("pool", "sample", pool).split()) == 1


def test_a_short_command_ends_in_peace(pool):
    """Arrow's threads must not be there when the process ends: it was aborted now and then."""
    for _ in range(12):
        words = [sys.executable, "-m", "pipeline", "pool", "sample", str(pool)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", ["2:4", "2..4"])
def test_sample_keeps_to_the_difficulty(ok, pool, text):
    levels = json.loads(ok("pool", "show", pool, "--format", "json"))["difficulties"]
    count = levels["2"] + levels["3"] + levels["4"]
    drawn = json.loads(ok("pool", "sample", pool, "--difficulty", text, "--count", count, "--format", "json"))
    assert all(2 <= entry["difficulty"] <= 4 for entry in drawn["deals"])
    assert len(drawn["deals"]) == count


def test_sample_says_what_is_wrong(winnable, pool):
    code, _, err = winnable("pool", "sample", pool, "--count", 13)
    assert (code, " 12" in err, " 13" in err) == (2, True, True)
    for wrong in ("0", "6", "4:2", "easy"):
        code, _, err = winnable("pool", "sample", pool, "--difficulty", wrong)
        assert code == 2
        assert f"{wrong!r}" in err


def test_export_writes_every_form(ok, pool, tmp_path):
    content = json.loads(ok("pool", "export", pool))
    assert [entry["seed"] for entry in content["deals"]] == list(range(1, 13))
    for entry in content["deals"]:
        assert verify_line(deal(load_variant("spider-1"), entry["seed"]), entry["line"]).moves == entry["moves"]
    assert ok("pool", "export", pool, "--format", "numbers") == "".join(f"{n}\n" for n in range(1, 13))
    assert ok("pool", "export", pool, "--format", "csv", "--out", tmp_path / "pool.csv") == ""
    assert (tmp_path / "pool.csv").read_text().count("\n") == 13


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_what_is_written_takes_the_place_of_no_pipe_and_no_link(winnable, pool, tmp_path):
    data = ("--data", pool.parent / "data")
    for words in ((*BUILD, "--force", *data), ("export", *data)):
        pipe, link, target = (tmp_path / f"{words[0]}-{name}" for name in ("pipe", "link", "target"))
        os.mkfifo(pipe)
        code, out, err = winnable(*words, "--out", pipe)
        assert (code, out) == (2, "")
        assert err.startswith(f"Error: --out {pipe}")
        assert pipe.is_fifo()
        target.write_text("old")
        link.symlink_to(target.name)
        assert winnable(*words, "--out", link)[0] == 0
        assert link.is_symlink()
        assert target.stat().st_size > 100
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--count", "0"), 2, "--count"),
        (("--count", "5", "--numbering", "kpat", "--variant", "mrs-mop"), 2, "mrs-mop"),
        (("--count", "5", "--numbering", "kpat", "--first", "0"), 2, "expected 1 to"),
        (("--count", "5", "--variant", "mine.toml"), 3, "mine.toml"),
    ],
)
def test_wrong_orders_are_refused(winnable, tmp_path, words, code, expected):
    got, out, err = winnable("pool", "build", "--variant", "spider-1", "--out", tmp_path / "x.parquet", *words)
    assert (got, out) == (code, "")
    assert expected in err
    assert not (tmp_path / "x.parquet").exists()


def test_a_place_that_is_not_there_is_told_before_the_work(winnable, pool, tmp_path):
    for words in ((*BUILD, "--data", tmp_path), ("pool", "export", pool), ("pool", "sample", pool)):
        code, _, err = winnable(*words, "--out", tmp_path / "nowhere" / "x.parquet")
        assert (code, str(tmp_path / "nowhere") in err) == (2, True)


def test_the_ending_of_the_file_says_its_form(ok, winnable, pool, tmp_path):
    for command in ("export", "sample"):
        ok("pool", command, pool, "--out", tmp_path / "some.csv")
        assert (tmp_path / "some.csv").read_text().startswith("seed,difficulty,")
        ok("pool", command, pool, "--out", tmp_path / "some.json")
        assert json.loads((tmp_path / "some.json").read_text())["deals"]
        code, _, err = winnable("pool", command, pool, "--out", tmp_path / "x.json", "--format", "csv")
        assert (code, "json" in err, "csv" in err) == (2, True, True)
        code, _, err = winnable("pool", command, pool, "--out", tmp_path / "x.parquet")
        assert (code, "json, csv" in err) == (2, True)
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize("flag", ["--first-seed", "--first"])
def test_the_first_seed_has_one_name_in_pools_and_tuning(winnable, tmp_path, flag):
    words = ("pool", "build", "--variant", "spider-1", "--count", "5", "--out", tmp_path / "x.parquet")
    code, _, err = winnable(*words, flag, "0", "--numbering", "kpat")
    assert (code, "seed 0 " in err) == (2, True)
    code, _, err = winnable("tune", "--variant", "spider-1", "--out", tmp_path / "x.toml", flag, "5000000")
    assert (code, "--first-seed 5000000" in err) == (2, True)


@pytest.mark.parametrize(("reason", "code"), [("interrupted", 130), ("terminated", 143)])
def test_a_signal_ends_the_build_with_its_code(winnable, tmp_path, monkeypatch, reason, code):
    def stop(*_args):
        raise Signalled(reason)

    monkeypatch.setattr("pipeline.pools.building.build_pool", stop)
    got, _, err = winnable(*BUILD, "--out", tmp_path / "x.parquet", "--data", tmp_path)
    assert got == code
    assert "pool build" in err or "same command" in err


# ---- daily


def test_daily_prints_a_board_that_is_read_back(ok):
    words = ("daily", "--variant", "spider-4", "--date", "2026-11-30")
    text = ok(*words)
    assert text.startswith("# daily deal of 2026-11-30\n")
    found = json.loads(ok(*words, "--format", "json"))
    board = found.pop("board")
    assert read_board(text) == read_board(json.dumps(board)) == deal(load_variant("spider-4"), found["seed"])
    assert ok(*words, "--format", "numbers") == f"{found['seed']}\n"
    assert (found["variant"], found["date"], found["numbering"], found["frozen"]) == (
        *("spider-4", "2026-11-30"),
        *("native", True),
    )


def test_daily_differs_from_day_to_day_and_game_to_game(ok):
    seeds = {
        ok("daily", "--variant", name, "--date", f"2027-02-0{day}", "--format", "numbers")
        for name in MAIN_VARIANTS
        for day in range(1, 5)
    }
    assert len(seeds) == 24


def test_daily_is_of_today_by_default(ok):
    before = datetime.datetime.now(datetime.UTC).date()
    seed = int(ok("daily", "--variant", "spider-1", "--format", "numbers"))
    after = datetime.datetime.now(datetime.UTC).date()
    assert seed in {days.daily(load_variant("spider-1"), date).board.seed for date in (before, after)}


def test_a_day_that_is_not_frozen_is_said_to_be_so(winnable):
    code, out, err = winnable("daily", "--variant", "spider-1", "--date", "2050-01-01", "--format", "json")
    assert code == 0
    assert json.loads(out)["frozen"] is False
    assert "spider-1 2050-01-01" in err
    assert winnable("daily", "--variant", "spider-1", "--date", "2050-01-01", "-q")[2] == ""


@pytest.mark.parametrize("date", ["2026-02-30", "20261130", "tomorrow", "2026-W49-1", ""])
def test_a_wrong_date_is_told(winnable, date):
    code, out, err = winnable("daily", "--variant", "spider-1", "--date", date)
    assert (code, out) == (2, "")
    assert f"{date!r}" in err
