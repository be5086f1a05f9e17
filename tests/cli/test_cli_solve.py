"""`solve` and `deal` as a user calls them, and what all commands on one board share."""

import io
import json
import subprocess
import sys
from dataclasses import replace as changed
from pathlib import Path

import pytest
from cli_boards import LOST_SIMPLE_SIMON, SPIDER_1, board_file

from pipeline.cli.main import run_command
from pipeline.cli.solve import _shortened
from pipeline.game.deals import deal
from pipeline.game.forms import board_json, board_text, read_board
from pipeline.game.variants import load_variant, variant_ids
from pipeline.referee.replay import verify_line
from pipeline.solver import solve

SOLVE_KEYS = [
    *("variant", "numbering", "seed", "deal", "verdict", "positions", "expanded", "node_limit"),
    *("line", "steps", "moves", "score"),
]
SET_ON_TOP = "variant: spider-1\n1:\n2: [4S] KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S AS\n" + "".join(
    f"{number}:\n" for number in range(3, 11)
)


# ---- solve


def test_solve_json_holds_the_outcome_and_its_line_wins(solved):
    assert list(solved) == SOLVE_KEYS
    assert (solved["variant"], solved["numbering"], solved["seed"]) == ("spider-1", "native", 5)
    assert (solved["verdict"], solved["node_limit"]) == ("won", 1_000_000)
    assert verify_line(deal(SPIDER_1, 5), solved["line"]).moves == solved["moves"] == len(solved["steps"])
    assert solved["score"] == 500 - solved["moves"] + 800


def test_what_solve_prints_ends_in_one_newline(ok):
    for form in ("text", "json"):
        out = ok("solve", "--variant", "spider-1", "--seed", "5", "--format", form)
        assert out.endswith("\n")
        assert not out.endswith("\n\n")


def test_solve_text_says_the_same(ok, solved):
    lines = ok("solve", "--variant", "spider-1", "--seed", 5).splitlines()
    assert lines[0] == "spider-1/native/5: won"
    assert f"{solved['positions']:,} reached" in lines[1]
    assert lines[2].startswith(f"moves: {solved['moves']}, ")
    assert f"score: {solved['score']} " in lines[3]
    assert "104 at the end" in lines[3]
    assert lines[4] == f"line: {solved['line']}"
    assert lines[5:] == solved["steps"]


def test_solve_shorten_is_never_longer_and_wins(ok, solved):
    short = json.loads(ok("solve", "--variant", "spider-1", "--seed", 5, "--shorten", "--format", "json"))
    assert short["moves"] <= solved["moves"]
    assert verify_line(deal(SPIDER_1, 5), short["line"]).moves == short["moves"] == len(short["steps"])


def test_a_shorter_line_brings_all_that_is_said_of_it():
    outcome = solve(deal(SPIDER_1, 5), 10_000)
    short = _shortened(deal(SPIDER_1, 5), changed(outcome, deals=0))
    assert (short.moves, short.deals, short.score) == verify_line(deal(SPIDER_1, 5), short.line)
    assert short.deals == 5


@pytest.mark.parametrize("form", [board_text, board_json])
def test_solve_takes_a_board_from_a_file(ok, tmp_path, solved, form):
    found = json.loads(ok("solve", "--board", board_file(tmp_path, deal(SPIDER_1, 5), form), "--format", "json"))
    assert found == solved


def test_solve_takes_a_board_from_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "solve", "--board", "-", "--nodes", "1", "--format", "json"],
        input=board_text(deal(SPIDER_1, 5)),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["verdict"], found["positions"]) == ("unsettled", 1)
    assert [found[key] for key in ("line", "steps", "moves", "score")] == [None] * 4


def test_solve_proves_a_loss(ok):
    found = json.loads(ok("solve", "--variant", "simple-simon", "--seed", LOST_SIMPLE_SIMON, "--format", "json"))
    assert found["verdict"] == "lost"
    assert [found[key] for key in ("line", "steps", "moves", "score")] == [None] * 4


def test_the_environment_gives_the_limit_and_a_flag_outdoes_it(ok, winnable, monkeypatch):
    monkeypatch.setenv("WINNABLE_NODES", "3")
    words = "solve", "--variant", "spider-4", "--seed", 1, "--format", "json"
    assert json.loads(ok(*words))["node_limit"] == 3
    assert json.loads(ok(*words, "--nodes", 4))["node_limit"] == 4
    monkeypatch.setenv("WINNABLE_NODES", "many")
    code, _, err = winnable(*words)
    assert code == 3
    assert "WINNABLE_NODES" in err
    assert "'many'" in err


def test_a_compile_is_announced(ok, monkeypatch, capsys):
    def warm(variants, echo):
        echo("compiling")

    monkeypatch.setattr("pipeline.solver.warm", warm)
    assert run_command(["solve", "--variant", "spider-1", "--seed", "1", "--nodes", "1"]) == 0
    assert capsys.readouterr().err == "compiling\n"
    assert run_command(["solve", "--variant", "spider-1", "--seed", "1", "--nodes", "1", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ((), 2, "--variant V --seed N"),
        (("--variant", "spider-1"), 2, "give --seed N"),
        (("--seed", "1"), 2, "give --variant V"),
        (("--variant", "spider-1", "--seed", "-1"), 2, "--seed"),
        (("--variant", "spider-1", "--seed", str(2**63)), 2, "--seed"),
        (("--variant", "mrs-mop", "--seed", "1", "--numbering", "kpat"), 2, "mrs-mop has no numbering 'kpat'"),
        (("--variant", "spider-1", "--seed", "0", "--numbering", "kpat"), 2, "expected 1 to"),
        (("--variant", "spider-1", "--seed", "1", "--nodes", "0"), 2, "whole number"),
        (("--board", "nowhere.txt"), 2, "nowhere.txt"),
        (("--variant", "nowhere.toml", "--seed", "1"), 3, "nowhere.toml"),
    ],
)
def test_wrong_words_are_told_in_one_line(winnable, words, code, expected):
    got, out, err = winnable("solve", *words)
    assert (got, out) == (code, "")
    assert expected in err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"nonsense\n", "line 1: 'nonsense'"),
        (b"\xff\xfe\x00", "byte 0 is not UTF-8"),
        (b"{", "not JSON"),
        (b'{"columns": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"variant": "spider-1", "columns": [], "face_down": [], "stock": ""}', "spider-1 has 10"),
        (board_text(deal(SPIDER_1, 5)).replace("AS", "KS", 1).encode(), "KS occurs 9 times"),
        (b"# " + b"x" * 999_999, "larger than 1,000,000 bytes; not a board"),
        (SET_ON_TOP.encode(), "column 2: KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S AS is a set; it would have left"),
    ],
)
@pytest.mark.parametrize("command", [("solve", "--board"), ("hint",), ("replay",), ("deal", "--board")])
def test_a_wrong_file_is_three_and_named(winnable, tmp_path, content, expected, command):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    code, out, err = winnable(*command, path)
    assert (code, out) == (3, "")
    assert str(path) in err
    assert expected in err or (command == ("replay",) and content.startswith(b"{"))
    assert err.count("\n") == 1


def test_a_board_may_be_as_large_as_that(ok, tmp_path):
    path = board_file(tmp_path, deal(SPIDER_1, 5))
    text = path.read_bytes()
    path.write_bytes(text + b"#" * (1_000_000 - len(text)))
    assert ok("deal", "--board", path).encode() == text


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_what_never_ends_is_not_read_to_its_end(winnable, tmp_path):
    for words in (("hint", "/dev/zero"), ("replay", "/dev/zero"), ("deal", "--board", "/dev/zero")):
        assert winnable(*words) == (3, "", "Error: /dev/zero: larger than 1,000,000 bytes; not a board\n")
    path = tmp_path / "mine.toml"
    path.symlink_to("/dev/zero")
    said = f"Error: {path}: larger than 1,000,000 bytes, so it is not a variant\n"
    assert winnable("deal", "--variant", path, "--seed", 1) == (3, "", said)


def test_a_board_and_a_seed_exclude_each_other(winnable, tmp_path):
    path = board_file(tmp_path, deal(SPIDER_1, 5))
    assert winnable("solve", "--board", path, "--seed", 5)[0] == 2
    assert winnable("hint")[0] == 2
    assert winnable("hint", "--stream", path)[0] == 2


# ---- deal


@pytest.mark.parametrize("name", variant_ids())
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_printed_deal_is_read_back(ok, name, form):
    for numbering in load_variant(name).numberings:
        text = ok("deal", "--variant", name, "--seed", 12, "--numbering", numbering, "--format", form)
        assert read_board(text) == deal(load_variant(name), 12, numbering)


def test_deal_turns_one_form_into_another(ok, tmp_path):
    solvitaire = ok("deal", "--variant", "spider-4", "--seed", 3, "--format", "solvitaire")
    path = tmp_path / "deal.json"
    path.write_text(solvitaire)
    board = read_board(ok("deal", "--board", path, "--variant", "spider-4"))
    assert (board.columns, board.stock) == (deal(load_variant("spider-4"), 3).columns, board.stock)


# ---- deals by name, many boards, what one command writes and another reads


@pytest.mark.parametrize(
    ("words", "text", "code", "expected"),
    [
        (("solve", "nowhere"), "", 2, "'nowhere' is not a deal, and no file"),
        (("solve", "spider-2/ntive/7"), "", 2, "no numbering 'ntive'; did you mean 'native'?"),
        (("solve", "spider-2/seven/7"), "", 2, "no numbering 'seven'; they are: native, pysol"),
        (("solve", "spider-2/7"), "", 2, "such as spider-2/native/7"),
        (("pool", "biuld"), "", 2, "'biuld'; did you mean 'build'?"),
        (("variants", "spider-4"), "", 2, "'spider-4'; they are: check"),
        (("replay", "spider-1/native/5", "--from", "500", "--to", "122"), "", 2, "--from 500: the line has"),
        (
            ("replay", "spider-1/native/5", "--from", "9", "--to", "3"),
            "",
            2,
            "--from 9 --to 3: expected the first move",
        ),
        (("solve", "spider-4/pysol/0"), "", 2, "seed 0"),
        (("solve", "spider-4/native/1", "--seed", "2"), "", 2, "one of DEAL"),
        (("solve", "spider-4/native/1", "--variant", "spider-1"), "", 2, "--variant"),
        (("solve", "-", "--numbering", "pysol"), "{}", 2, "--numbering"),
        (("solve", "-"), '{"seed": 5}', 3, "--variant V"),
        (("solve", "-"), '{"variant": "spider-1"}', 3, "neither columns nor a seed"),
        (("replay", "-"), '{"header": {}, "deals": []}', 3, "a pool of many deals"),
        (("hint", "-"), '{"deal": "spider-1/native/1", "seed": 2}', 3, "seed: 2"),
        (("hint", "-"), '{"deal": "/etc/mine.toml/native/1"}', 3, "is not a deal's name"),
        (("hint", "-"), "mine.toml/native/1", 3, "'mine.toml' is not a packaged variant"),
        (("hint", "-"), '{"deal": "mine/native/1"}', 3, "--variant FILE"),
        (("hint", "--stream", "spider-4/native/1"), "", 2, "--stream"),
        (("solve", "--boards", "-", "--seed", "1"), "", 2, "--boards"),
        (("run", "--variant", "spider-4", "--numbering", "pysol", "--seeds", str(2**63)), "", 2, "a dataset holds"),
    ],
)
def test_what_is_missing_or_too_much_or_misspelled_is_named(winnable, monkeypatch, words, text, code, expected):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    got, out, err = winnable(*words)
    assert (got, out) == (code, "")
    assert expected in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words",
    [
        ("hint", "bord.txt"),
        ("solve", "--board", "bord.txt"),
        ("check", "./bord.txt"),
        ("run", "bord.txt"),
        ("run", "--variant", "spider-1", "--seeds-from", "bord.txt"),
        ("pool", "show", "bord.txt"),
        ("merge", "bord.txt"),
    ],
)
def test_of_a_file_that_is_not_there_the_nearest_is_told(winnable, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "board.txt").touch()
    code, out, err = winnable(*words)
    assert (code, out) == (2, "")
    assert "did you mean 'board.txt'?" in err
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "board.txt").touch()
    code, _, err = winnable(*(word.replace("bord.txt", "sub/bord.txt") for word in words))
    assert "did you mean 'sub/board.txt'?" in err


def test_many_boards_are_settled_into_a_table(ok, winnable, tmp_path):
    path = tmp_path / "boards.jsonl"
    own = board_json(changed(deal(SPIDER_1, 5), numbering=None, seed=None))
    path.write_text(
        json.dumps(own | {"id": "own"}) + '\n\nspider-2/kpat/7\n{"id": 3, "variant": "spider-1", "seed": 2}\n'
    )
    rows = [json.loads(line) for line in ok("solve", "--boards", path, "--format", "json").splitlines()]
    assert [(row["row"], row["id"], row["deal"], row["verdict"]) for row in rows] == [
        (1, "own", None, "won"),
        (3, None, "spider-2/kpat/7", "won"),
        (4, 3, "spider-1/native/2", "won"),
    ]
    assert verify_line(deal(SPIDER_1, 5), rows[0]["line"]).moves == rows[0]["moves"]
    table = ok("solve", "--boards", path, "--format", "csv").splitlines()
    assert len(table) == 4
    assert table[0].startswith("row,id,variant,numbering,seed,deal,verdict,")
    with path.open("a") as file:
        file.write("nonsense\n")
    code, out, err = winnable("solve", "--boards", path, "--format", "json")
    assert (code, len(out.splitlines()), "line 5" in err) == (5, 4, True)
    assert "line 5" in json.loads(out.splitlines()[-1])["error"]


@pytest.mark.parametrize(
    "name", ["spider-1/native/5", "spider-2/pysol/ms77", "simple-simon/pysol/#12345678901234567890"]
)
def test_every_command_on_one_deal_takes_its_name(ok, name):
    variant, numbering, seed = name.split("/")
    words = ("--variant", variant, "--numbering", numbering, "--seed", seed)
    for command in (("deal",), ("solve",), ("hint", "--nodes", "20000")):
        assert ok(*command, name) == ok(*command, *words)
    deal_text = ok("deal", name)
    assert read_board(deal_text).name == json.loads(ok("deal", name, "--format", "json"))["deal"]


def test_what_one_command_prints_the_next_one_takes(winnable, tmp_path, ok):
    written = tmp_path / "said"
    for first in (("deal", "--format", "json"), ("deal",), ("solve", "--format", "json"), ("hint", "--format", "json")):
        written.write_text(ok(first[0], "spider-1/native/5", *first[1:]))
        for command in ("deal", "solve", "hint", "replay"):
            assert winnable(command, written)[0] == 0, (first, command)
    written.write_text(ok("daily", "--variant", "spider-1", "--date", "2026-11-30", "--format", "json"))
    frames = json.loads(ok("replay", "spider-1/native/5", "--from", "3", "--to", "3", "--format", "json"))
    frame = tmp_path / "frame"
    frame.write_text(json.dumps(frames[0]))
    for command in ("deal", "solve", "hint", "replay"):
        assert winnable(command, written)[0] == winnable(command, frame)[0] == 0, command
    written.write_text(ok("deal", "spider-1/native/5", "--format", "solvitaire"))
    for command in ("deal", "solve", "hint", "replay"):
        assert winnable(command, written, "--variant", "spider-1")[0] == 0
        code, _, err = winnable(command, written)
        assert (code, "--variant V" in err) == (3, True)
