"""Commands that meet, and clocks that go back."""

import json
import shutil
from pathlib import Path

import pytest
from faults_processes import TELLTALES, Command
from faults_settler import IDENTITY, Easy
from runs_games import EASY_TOML

from pipeline.cli.main import run_command
from pipeline.runs import run as runs

GAME = ("--variant", "easy.toml", "--nodes", "500", "--workers", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "easy.toml").write_text(EASY_TOML)
    monkeypatch.chdir(tmp_path)
    settler = {"settler": Easy(), "solver": IDENTITY}
    monkeypatch.setattr(runs.run, "__kwdefaults__", runs.run.__kwdefaults__ | settler)
    monkeypatch.setenv("WINNABLE_EXECUTOR", "inline")
    return tmp_path


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_a_dataset_is_merged_while_it_is_written(folder, capsys, rows_in):
    """What is there is taken in, and nobody may write into the one that is written."""
    assert run_command(["run", *GAME, "--seeds", "30:45", "--data", "target"]) == 0
    command = Command(folder, "run", *GAME, "--seeds", "1:40", "--data", "source", seconds=0.1)
    command.wait_for(lambda: len(command.begun()) > 4)
    merges = refusals = 0
    while command.process.poll() is None:
        assert run_command(["merge", "source", "--data", "target"]) == 0
        capsys.readouterr()
        assert run_command(["merge", "target", "--data", "source"]) in (0, 3)
        refusals += "in use by winnable run" in capsys.readouterr().err
        merges += 1
    code, err = command.end()
    assert (code, [word for word in TELLTALES if word in err]) == (0, []), err
    assert merges
    assert refusals
    for words in (["source", "--data", "target"], ["target", "--data", "source"]):
        assert run_command(["merge", *words]) == 0
    (one,), (other,) = rows_in(folder / "source").values(), rows_in(folder / "target").values()
    assert one == other
    assert [row.seed for row in one] == list(range(1, 46))


def test_a_clock_that_goes_back_between_runs(folder, capsys):
    assert run_command(["run", *GAME, "--seeds", "1:10"]) == 0
    (path,) = (folder / "data" / "runs").glob("*.json")
    content = json.loads(path.read_text())
    later = {"started": "2999-01-01T00:00:00+00:00", "finished": "1999-01-01T00:00:00+00:00", "run_id": "later"}
    (path.parent / "later.json").write_text(json.dumps(content | later))
    assert run_command(["run", *GAME, "--seeds", "1:20"]) == 0
    capsys.readouterr()
    for words in (
        ["status"],
        ["report", "--variant", "easy.toml", "--out", "out"],
        ["verify", "--variant", "easy.toml"],
    ):
        assert run_command(words) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_clock_that_goes_back_between_nights(folder, capsys):
    """The night that the clock names has been: the user is told which date is expected, and nothing is done."""
    night = '[nightly]\nseeds = 5\nretry_nodes = 1500\nretry_at_most = 2\nreports = "reports"\n[variant."easy.toml"]\n'
    (folder / "nightly.toml").write_text(f"nodes = 500\n{night}")
    assert run_command(["nightly", "nightly.toml", "--date", "2026-12-02"]) == 0
    shutil.copytree("data", "before")
    capsys.readouterr()
    assert run_command(["nightly", "nightly.toml", "--date", "2026-11-30"]) == 2
    err = capsys.readouterr().err
    assert "2026-12-02" in err
    assert len(err.splitlines()) == 1
    assert run_command(["nightly", "nightly.toml", "--date", "2026-12-02"]) == 0
    assert run_command(["nightly", "nightly.toml", "--date", "2026-12-03"]) == 0
