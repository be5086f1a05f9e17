"""The JSON Schemas beside the pools: what the commands print is valid, what it is not is found out."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

import pipeline.pools
from pipeline.cli.main import run_command
from pipeline.game.variants.layouts import NUMBERINGS
from pipeline.pools.stream import answer_stream

SCHEMAS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in (Path(pipeline.pools.__file__).parent / "schemas").glob("*.json")
}
DEAL = ("--variant", "spider-1", "--seed", "1")
SAID = {
    "board": [("deal", *DEAL)],
    "solve": [("solve", *DEAL), ("solve", *DEAL, "--nodes", "10")],
    "daily": [("daily", "--variant", "spider-1", "--date", "2026-11-30")],
}


def check(name, value):
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
    Draft202012Validator(SCHEMAS[name], registry=registry).validate(value)


@pytest.fixture
def said(capsys):
    """Run a command; return its JSON."""

    def run(*words):
        assert run_command([*map(str, words)]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", ["common", "pool"])
def test_a_schema_knows_every_numbering(name):
    (known,) = re.findall(r'"enum": (\["native".*?\])', json.dumps(SCHEMAS[name]))
    assert [numbering for numbering in json.loads(known) if numbering] == list(NUMBERINGS)


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, calls in SAID.items() for words in calls])
def test_what_a_command_prints_fits_its_schema(said, name, words):
    value = said(*words, "--format", "json")
    check(name, value)
    for key in value:
        with pytest.raises(ValidationError):
            check(name, {other: value[other] for other in value if other != key})
    with pytest.raises(ValidationError):
        check(name, value | {"more": 1})


def test_a_pool_fits_its_schema(said, tmp_path):
    path = tmp_path / "pool.parquet"
    words = ("--variant", "spider-1", "--count", "3", "--workers", "1", "--data", str(tmp_path / "data"))
    assert run_command(["pool", "build", *words, "--out", str(path), "-q"]) == 0
    value = said("pool", "export", path)
    check("pool", value)
    value["deals"][0]["difficulty"] = 6
    with pytest.raises(ValidationError):
        check("pool", value)


def test_hints_fit_their_schema(said, tmp_path):
    board = said("deal", *DEAL, "--format", "json")
    path = tmp_path / "board.json"
    path.write_text(json.dumps(board))
    for limit in ("167000", "10"):
        check("hint", said("hint", path, "--nodes", limit, "--format", "json"))
    won = board | {"columns": [""] * 10, "face_down": [0] * 10, "stock": "", "sets_done": 8}
    won |= {"numbering": None, "seed": None}
    answers = [json.loads(text) for text in answer_stream(map(json.dumps, (board, won, {})))]
    assert [answer.get("verdict") for answer in answers] == ["won", "won", None]
    for answer in answers:
        check("hint", answer)


def test_advice_on_unseen_cards_fits_the_schema_of_hints(said, tmp_path):
    board = said("deal", *DEAL, "--format", "json")
    hidden = [
        " ".join(["XX"] * down + cards.split()[down:])
        for cards, down in zip(board["columns"], board["face_down"], strict=True)
    ]
    path = tmp_path / "unseen.json"
    path.write_text(json.dumps(board | {"columns": hidden, "numbering": None, "seed": None, "deal": None}))
    check("hint", said("hint", path, "--fillings", "2", "--format", "json"))


def test_rows_of_many_boards_fit_their_schema(capsys, tmp_path):
    path = tmp_path / "boards.jsonl"
    path.write_text('{"id": 7, "deal": "spider-1/native/1"}\nspider-1/kpat/2\nnothing\n')
    assert run_command(["solve", "--boards", str(path), "--format", "json"]) == 5
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["verdict"] for row in rows] == ["won", "won", None]
    for row in rows:
        check("boards", row)
