"""`tune` from the command line, with the real solver on a few small searches."""

import json
import tomllib

import pytest

from pipeline.cli.main import run_command
from pipeline.engine.weights import read_parameters

SMALL = ("--variant", "spider-1", "--deals", "3", "--nodes", "1500", "--population", "4", "--held-out", "12")


def winnable(capsys, *words):
    code = run_command(list(map(str, words)))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """The weights of two generations by one worker."""
    path = tmp_path_factory.mktemp("tune") / "whole.toml"
    assert run_command(["tune", *SMALL, "--generations", "2", "--workers", "1", "--out", str(path), "-q"]) == 0
    return path


def test_stopped_and_gone_on_with_more_workers_it_ends_the_same(capsys, tuned, tmp_path):
    state, out = tmp_path / "state.json", tmp_path / "parts.toml"
    command = ("tune", *SMALL, "--state", state, "--out", out)
    code, _, err = winnable(capsys, *command, "--generations", 1, "--workers", 1)
    assert code == 0
    assert "generation 1 of 1: " in err
    code, printed, err = winnable(capsys, *command, "--generations", 2, "--workers", 2, "--format", "json")
    assert code == 0
    assert "after generation 1" in err
    assert "generation 1 of 2" not in err
    assert out.read_text() == tuned.read_text()
    (entry,) = json.loads(printed)
    assert {key: value for key, value in entry.items() if value is not None} == provenance(out)["held_out"][0]
    read_parameters(out)


def provenance(path):
    return tomllib.loads(path.read_text())["provenance"]


def test_the_file_compares_and_starts_the_next_tuning(capsys, tuned, tmp_path):
    seeds = ("--variant", "spider-1", "--seeds", "1:5", "--nodes", 1500, "--workers", 1)
    code, out, _ = winnable(capsys, "compare", "shipped", tuned, *seeds)
    assert code == 0
    assert f"B: {tuned}" in out
    again = tmp_path / "again.toml"
    code, out, err = winnable(
        capsys,
        "tune",
        *SMALL,
        "--held-out",
        0,
        "--generations",
        1,
        "--from",
        tuned,
        "--out",
        again,
        "--workers",
        1,
        "-q",
    )
    assert (code, out, err) == (0, "", "")
    assert provenance(again)["start"] == "whole.toml"
    assert "held_out" not in provenance(again)


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("--out", "x.toml"), 2, "--variant"),
        (("--variant", "spider-4"), 2, "'--out'"),
        (("--variant", "spider-4", "--out", "x.toml", "--first-seed", "5000000"), 2, "--first-seed 5000000"),
        (("--variant", "spider-4", "--out", "x.toml", "--from", "spider-9"), 2, "--from spider-9"),
        (("--variant", "spider-4", "--out", "x.toml", "--population", "3"), 2, "population"),
    ],
)
def test_wrong_usage(capsys, monkeypatch, tmp_path, words, code, named):
    monkeypatch.chdir(tmp_path)
    got, out, err = winnable(capsys, "tune", *words)
    assert (got, out) == (code, "")
    assert named in err
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_is_none(capsys, tmp_path):
    state = tmp_path / "state.json"
    state.write_text("no")
    code, _, err = winnable(capsys, "tune", *SMALL, "--out", tmp_path / "x.toml", "--state", state)
    assert code == 3
    assert "state.json" in err
