"""`solve`, `hint`, `deal`, `replay`, `variants` and `bench` as a user calls them."""

import io
import json
import subprocess
import sys
from dataclasses import replace as changed
from pathlib import Path

import pytest

from pipeline.cli.main import run_command
from pipeline.cli.solve import _shortened
from pipeline.errors import SolverFault
from pipeline.game import variants
from pipeline.game.deals import deal
from pipeline.game.forms import board_json, board_text, read_board
from pipeline.game.rules import Position, replay
from pipeline.game.variants import load_variant, variant_ids
from pipeline.referee.replay import verify_line
from pipeline.solver import solve

VARIANTS = Path(variants.__file__).parent
SPIDER_1 = load_variant("spider-1")
SOLVE_KEYS = [
    *("variant", "numbering", "seed", "deal", "verdict", "positions", "expanded", "node_limit"),
    *("line", "steps", "moves", "score"),
]
LOST_SIMPLE_SIMON = 68
SET_ON_TOP = "variant: spider-1\n1:\n2: [4S] KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S AS\n" + "".join(
    f"{number}:\n" for number in range(3, 11)
)


@pytest.fixture
def winnable(capsys):
    """Run a command in this process; return exit code, stdout, stderr."""

    def run(*words):
        code = run_command([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def ok(winnable):
    """Run a command that must succeed; return stdout."""

    def run(*words):
        code, out, err = winnable(*words)
        assert code == 0, err
        return out

    return run


@pytest.fixture(scope="module")
def solved():
    """The JSON that `solve` prints for a deal."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "solve", "--variant", "spider-1", "--seed", "5", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def board_file(tmp_path, board, form=board_text):
    path = tmp_path / "board"
    path.write_text(form(board) if form is board_text else json.dumps(form(board)), encoding="utf-8")
    return path


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
    said = f"Error: {path}: larger than 1,000,000 bytes; not a variant\n"
    assert winnable("deal", "--variant", path, "--seed", 1) == (3, "", said)


def test_a_line_of_the_stream_is_not_read_to_its_end(winnable, monkeypatch):
    lines = b"x" * 3_000_000 + b"{}\n" + b"{}\n" + b"x" * 1_000_000 + b"\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    code, out, _ = winnable("hint", "--stream")
    large, missing, third = (json.loads(line)["error"] for line in out.splitlines())
    assert (code, large) == (0, "line 1: larger than 1,000,000 bytes; not a board")
    assert (missing[:15], third[:6]) == ("line 2: neither", "line 3")


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


# ---- hint


def middle_of(solved):
    moves = solved["moves"] // 2
    from pipeline.game.lines import parse_line

    return replay(deal(SPIDER_1, 5), parse_line(solved["line"])[:moves]).board()


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
            assert Position.of(board).fault(next(iter(parse(answer["move"]["line"])))) is None
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


def parse(line):
    from pipeline.game.lines import parse_line

    return parse_line(line)


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


# ---- replay


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
        (("--to", "9999"), 2, "the line has moves 1 to"),
        (("--nodes", "1"), 3, "spider-1/native/5: unsettled at 1 positions"),
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


# ---- variants


def test_variants_are_listed_and_described(ok):
    text = ok("variants")
    listed = json.loads(ok("variants", "--format", "json"))
    assert [entry["id"] for entry in listed] == variant_ids()
    for entry in listed:
        assert f"{entry['id']} ({entry['name']}; " in text
        assert entry["description"] == load_variant(entry["id"]).describe()
        assert entry["rules_hash"] == load_variant(entry["id"]).rules_hash


def test_a_variant_of_ones_own_is_checked(ok, winnable, tmp_path):
    path = tmp_path / "mine.toml"
    text = (
        (VARIANTS / "spiderette.toml").read_text().replace('"spiderette"', '"mine"').replace('"Spiderette"', '"Mine"')
    )
    path.write_text(text)
    out = ok("variants", "check", path)
    assert out.startswith(f"{path}: fine\nmine (Mine; ")
    for words in (("variants", "check", path, "--format", "json"), ("variants", "--format", "json", "check", path)):
        assert json.loads(ok(*words))["columns"] == [1, 2, 3, 4, 5, 6, 7]
    path.write_text(text.replace('"blocked"', '"block"'))
    code, out, err = winnable("variants", "check", path)
    assert (code, out) == (3, "")
    assert str(path) in err
    assert 'deal is "block"; allowed: "blocked"' in err


# ---- bench


def test_bench_prints_the_signature_and_the_speed(ok):
    from pipeline.version import SIGNATURE

    found = json.loads(ok("bench", "--seconds", 0, "--format", "json"))
    assert list(found) == ["signature", "positions_per_second"]
    assert found["signature"] == SIGNATURE
    assert found["positions_per_second"] > 10_000
    assert ok("bench", "--seconds", 0).startswith(f"signature: {SIGNATURE}\n")


def test_a_bench_mismatch_is_four(winnable, monkeypatch):
    monkeypatch.setattr("pipeline.version.SIGNATURE", 1)
    code, out, err = winnable("bench", "--seconds", 0)
    assert code == 4
    assert out.startswith("signature: ")
    assert "bench mismatch" in err


# ---- boards with unseen cards, streams of boards, names of deals

UNSEEN = Path(__file__).parents[1] / "fixtures" / "boards" / "unseen.txt"


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


@pytest.mark.parametrize(
    ("words", "text", "code", "expected"),
    [
        (("solve", "nowhere"), "", 2, "'nowhere' is not a deal"),
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
def test_what_is_missing_or_too_much_is_named(winnable, monkeypatch, words, text, code, expected):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    got, out, err = winnable(*words)
    assert (got, out) == (code, "")
    assert expected in err
    assert "Traceback" not in err


def test_an_id_comes_back_and_every_line_gets_a_line():
    from pipeline.pools.stream import answer_stream

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
