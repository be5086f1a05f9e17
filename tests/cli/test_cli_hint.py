"""`hint` as a user calls it: on a board, on unseen cards, on a stream."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_boards import LOST_SIMPLE_SIMON, SPIDER_1, board_file, middle_of

from pipeline.errors import SolverFault
from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay
from pipeline.game.variants import load_variant
from pipeline.pools.stream import answer_stream
from pipeline.referee.replay import verify_line
from pipeline.solver import Solver

UNSEEN = Path(__file__).parents[1] / "fixtures" / "boards" / "unseen.txt"


def test_hint_begins_a_win(ok, tmp_path, solved):
    board = middle_of(solved)
    path = board_file(tmp_path, board)
    found = json.loads(ok("hint", path, "--format", "json"))
    assert (found["verdict"], found["node_limit"], found["seed"]) == ("won", 167_000, None)
    move = found["move"]
    assert move["proved"] is True
    replay(board, move["line"])
    assert found["line"].startswith(move["line"])
    assert verify_line(board, found["line"]).moves == found["moves"]
    solution = tmp_path / "hint.json"
    solution.write_text(json.dumps(found))
    assert ok("replay", solution).endswith(f"won in {found['moves']} moves\n")
    text = ok("hint", path)
    assert text.startswith(move["text"] + "\n")
    assert f"first of the {found['moves']} moves of a win" in text


def test_an_unsettled_hint_says_that_its_move_is_a_try(ok, tmp_path, solved):
    path = board_file(tmp_path, deal(load_variant("spider-4"), 2))
    found = json.loads(ok("hint", path, "--nodes", 50, "--format", "json"))
    assert (found["verdict"], found["moves"], found["move"]["proved"]) == ("unsettled", None, False)
    text = ok("hint", path, "--nodes", 50)
    assert text.startswith("unsettled: ")
    assert "not proved" in text
    assert text.endswith(found["move"]["text"] + "\n")


def test_a_lost_board_is_called_lost(ok, tmp_path):
    path = board_file(tmp_path, deal(load_variant("simple-simon"), LOST_SIMPLE_SIMON))
    found = json.loads(ok("hint", path, "--format", "json"))
    assert (found["verdict"], found["move"], found["moves"]) == ("lost", None, None)
    assert ok("hint", path).startswith("lost: ")


def test_a_won_board_needs_no_move(ok, tmp_path, solved):
    path = board_file(tmp_path, replay(deal(SPIDER_1, 5), solved["line"]).board())
    assert ok("hint", path).startswith("won already")
    found = json.loads(ok("hint", path, "--format", "json"))
    assert (found["verdict"], found["move"], found["moves"]) == ("won", None, 0)


def test_the_stream_answers_while_it_is_open(solved):
    boards = [deal(SPIDER_1, 1), middle_of(solved), deal(load_variant("spider-easy"), 2)]
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline", "hint", "--stream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for board in boards:
            process.stdin.write(json.dumps(board_json(board)) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert answer["verdict"] == "won"
            assert Position(board).fault(next(iter(parse_line(answer["move"]["line"])))) is None
        for bad, expected in (
            ("not a board", "not a board"),
            ("{}", "line 5: neither columns"),
            ("[1]", "line 6"),
            ("", "line 7"),
        ):
            process.stdin.write(f"{bad}\n")
            process.stdin.flush()
            assert expected in json.loads(process.stdout.readline())["error"]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(30) == 0


def test_a_board_too_large_for_memory_is_answered_and_the_next_one_is_solved(monkeypatch):
    searched, solver = [], Solver()

    def search(self, start, node_limit):
        searched.append(self)
        raise MemoryError

    lines = iter(["spider-1/native/1", "spider-1/native/1", "spider-1/native/1"])
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.engine.search.Search.solve", search)
        answers = answer_stream(lines, 1000, solver=solver)
        for number in (1, 2):
            error = json.loads(next(answers))["error"]
            assert (f"line {number}" in error, "1000 positions" in error) == (True, True)
    assert searched[0] is not searched[1]  # its memory was given back
    assert json.loads(next(answers))["verdict"] == "won"


def test_a_fault_in_the_stream_is_answered_and_ends_it_with_four(monkeypatch):
    from pipeline.pools import stream

    class Faulty:
        def hint(self, board, node_limit):
            raise SolverFault("spider-1 native 1: the line found does not replay")

    answers = stream.answer_stream([json.dumps(board_json(deal(SPIDER_1, 1)))] * 2, solver=Faulty())
    assert [json.loads(next(answers))["error"] for _ in range(2)] == [
        "spider-1 native 1: the line found does not replay"
    ] * 2
    with pytest.raises(SolverFault):
        next(answers)


def test_a_line_of_the_stream_is_not_read_to_its_end(winnable, monkeypatch):
    lines = b"x" * 3_000_000 + b"{}\n" + b"{}\n" + b"x" * 1_000_000 + b"\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    code, out, _ = winnable("hint", "--stream")
    large, missing, third = (json.loads(line)["error"] for line in out.splitlines())
    assert (code, large) == (0, "line 1: larger than 1,000,000 bytes; not a board")
    assert (missing[:15], third[:6]) == ("line 2: neither", "line 3")


def test_hint_advises_on_a_board_with_unseen_cards(ok, winnable):
    words = ("hint", UNSEEN, "--fillings", "5", "--nodes", "3000", "--draw", "2")
    found = json.loads(ok(*words, "--format", "json"))
    assert (found["unseen"], found["fillings"], found["draw"], found["node_limit"]) == (23, 5, 2, 3000)
    text = ok(*words)
    assert text == ok(*words)
    assert text.startswith("23 unseen cards")
    assert "assumed: " in text
    assert [line.split("  ")[-1] for line in text.splitlines()[2:-2]] == [move["text"] for move in found["moves"]]
    for command in ("solve", "replay", "deal"):
        code, _, err = winnable(command, UNSEEN)
        assert (code, "column 1" in err, "XX" in err) == (3, True, True)
    code, _, err = winnable("hint", "spider-1/native/1", "--draw", "2")
    assert (code, "--draw" in err) == (2, True)


def test_a_stock_that_can_never_be_dealt_is_told(ok):
    board = UNSEEN.with_name("too-few-to-deal.txt")
    for command in ("solve", "hint"):
        said = ok(command, board)
        assert "lost" in said.splitlines()[0]
        assert "3 cards" in said.splitlines()[-1]
    assert "never" not in ok("hint", "simple-simon/native/68")


def test_an_id_comes_back_and_every_line_gets_a_line():

    board = board_json(deal(SPIDER_1, 5))
    lines = [
        json.dumps(board | {"id": 7}),
        '{"id": "x", "deal": "spider-1/native/5"}',
        '{"id": null, "what": 1}',
        "",
        "spider-1/pysol/#1",
        json.dumps(board | {"id": [1, {"a": 2**60}]}),
        '{"id": 1, "variant": "spider-1", "seed": "5"}',
        '{"id": 2, "tableau piles": []}',
    ]
    answers = [json.loads(answer) for answer in answer_stream(lines)]
    assert len(answers) == len(lines)
    assert [answer.get("id", "none") for answer in answers] == [
        7,
        "x",
        None,
        "none",
        "none",
        [1, {"a": str(2**60)}],
        1,
        2,
    ]
    assert ["error" in answer for answer in answers] == [False, False, True, True, False, False, False, True]
    assert "--variant V" in answers[-1]["error"]
