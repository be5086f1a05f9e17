"""`replay` as a user calls it."""

import json
from dataclasses import replace as changed

import pytest
from cli_boards import SPIDER_1, board_file, middle_of

from pipeline.game.deals import deal
from pipeline.game.forms import board_json, board_text, read_board


def test_replay_shows_each_position(ok, tmp_path, solved):
    path = tmp_path / "solved.json"
    path.write_text(json.dumps(solved))
    frames = json.loads(ok("replay", path, "--format", "json"))
    assert [frame["move"] for frame in frames] == list(range(solved["moves"] + 1))
    assert [f"{frame['move']}. {frame['step']}" for frame in frames[1:]] == solved["steps"]
    assert (frames[-1]["score"], frames[-1]["sequence_points"], frames[-1]["won"]) == (solved["score"], 104, True)
    assert read_board(json.dumps(frames[0]["board"])).columns == deal(SPIDER_1, 5).columns
    text = ok("replay", path, "--from", 3, "--to", 4)
    assert text.startswith(f"{solved['steps'][2]} (score 497, ")
    assert f"\n{solved['steps'][3]} (score 496, " in text
    assert ok("replay", path).endswith(f"won in {solved['moves']} moves\n")


def test_replay_takes_a_line_from_anywhere(ok, tmp_path, solved):
    wanted = ok("replay", "--variant", "spider-1", "--seed", 5, "--line", solved["line"])
    assert ok("replay", "--variant", "spider-1", "--seed", 5) == wanted
    text = tmp_path / "game.txt"
    text.write_text(board_text(deal(SPIDER_1, 5)) + f"line: {solved['line']}\n")
    assert ok("replay", text) == wanted
    game = tmp_path / "game.json"
    game.write_text(json.dumps(board_json(deal(SPIDER_1, 5)) | {"line": solved["line"]}))
    assert ok("replay", game) == wanted
    row = tmp_path / "row.json"  # of a pool
    cards = {
        key: value for key, value in board_json(deal(SPIDER_1, 5)).items() if key in ("columns", "face_down", "stock")
    }
    row.write_text(json.dumps({"seed": 5, "difficulty": 1, "positions": 536, "line": solved["line"]} | cards))
    assert ok("replay", row, "--variant", "spider-1") == wanted
    assert ok("replay", "spider-1/native/5", "--line", solved["line"]) == wanted


def test_the_solution_of_a_game_under_way_replays_on_its_board(ok, winnable, tmp_path, solved):
    board = middle_of(solved)
    path, solution = board_file(tmp_path, changed(board, numbering="native", seed=5)), tmp_path / "solution.json"
    solution.write_text(ok("solve", "--board", path, "--format", "json"))
    found = json.loads(solution.read_text())
    assert (found["numbering"], found["seed"]) == (None, None)
    assert ok("replay", solution).endswith(f"won in {found['moves']} moves\n")
    assert ok("deal", solution, "--format", "json") == ok("deal", path, "--format", "json")


def test_replay_shortens_and_makes_a_page(ok, winnable, tmp_path, solved):
    page = tmp_path / "win.html"
    code, out, err = winnable("replay", "--variant", "spider-1", "--seed", 5, "--shorten", "--html", page)
    assert (code, out, err) == (0, "", f"wrote {page}\n")
    assert page.read_text().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--line", "ab"), 3, "move 1: "),
        (("--line", "zz"), 3, "move 1: 'zz'"),
        (("--from", "9", "--to", "8"), 2, "--from 9 --to 8"),
        (("--to", "9999"), 2, "--to 9999: the line has 112 moves"),
        (("--nodes", "1"), 3, "spider-1/native/5: unsettled after 1 position"),
        (("--html", "x.html", "--from", "500", "--to", "1"), 2, "--html shows the whole line"),
        (("--html", "x.html", "--format", "json"), 2, "leave out --from, --to and --format json"),
        (("--html", "nowhere/x.html"), 2, "--html nowhere/x.html: there is no directory nowhere"),
    ],
)
def test_what_cannot_be_replayed_is_told(winnable, words, code, expected):
    got, out, err = winnable("replay", "--variant", "spider-1", "--seed", 5, *words)
    assert (got, out) == (code, "")
    assert expected in err


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        ({"line": 5}, 3, "line: 5"),
        ({"seed": "x"}, 3, "seed: 'x', but deal names spider-1/native/5"),
        ({"seed": "x", "deal": None}, 3, "seed 'x'"),
        ({"seed": -1, "deal": None}, 3, "seed -1"),
        ({"seed": None, "deal": None}, 3, "neither columns nor a seed"),
        ({"variant": "spider-9"}, 3, "spider-9"),
        ({"numbering": "mine", "deal": None}, 3, "numbering: 'mine'"),
        ({"deal": "spider-1/native/x"}, 3, "seed 'x'"),
    ],
)
def test_a_wrong_solution_is_told(winnable, tmp_path, solved, change, code, expected):
    path = tmp_path / "solved.json"
    path.write_text(json.dumps(solved | change))
    got, out, err = winnable("replay", path)
    assert (got, out) == (code, "")
    assert expected in err
    assert path.name in err
