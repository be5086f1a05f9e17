"""Outputs that cannot be written: one line, exit code 3, what was there before is kept, and nothing half done stays."""

import contextlib
import logging
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from faults_processes import environment
from runs_games import EASY_TOML

from pipeline.cli.main import run_command
from pipeline.runs.logs import RunLog

DATA = ("--data", "data", "--variant", "easy.toml")
OUTPUTS = {
    "report/report.html": ("report", *DATA, "--out", "report"),
    "report/report.csv": ("report", *DATA, "--out", "report", "--format", "csv"),
    "report/exceptions.csv": ("report", *DATA, "--out", "report", "--format", "csv", "--exceptions", "3"),
    "out.csv": ("export", *DATA, "--out", "out.csv"),
    "pool.parquet": ("pool", "build", *DATA, "--count", "3", "--out", "pool.parquet"),
    "pool.json": ("pool", "export", "three.parquet", "--out", "pool.json"),
    "page.html": ("replay", "spider-1/native/5", "--html", "page.html"),
    "lost.xz": ("prove", "spider-4/pysol/14934", "--out", "lost.xz"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset and a pool, and all compiled that the commands need."""
    path = tmp_path_factory.mktemp("outputs")
    (path / "easy.toml").write_text(EASY_TOML)
    with contextlib.chdir(path):
        assert run_command(("run", "-q", *DATA, "--seeds", "1:20", "--nodes", "500", "--executor", "inline")) == 0
        for words in (("pool", "build", *DATA, "--count", "3", "--out", "three.parquet"), *OUTPUTS.values()):
            assert run_command(words) == 0, words
    return path


def check_fails(folder, place, limit=None):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *OUTPUTS[place]],
        cwd=folder,
        env=environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith(("wrote ", "still at it"))]
    assert (done.returncode, len(said)) == (3, 1), done.stderr
    assert said[0].startswith("Error: ")
    assert place.partition("/")[0] in said[0]
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after.keys() == before.keys()
    assert [path for path in before if path.parent.name != "report" and after[path] != before[path]] == []


def let_no_file_grow():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("place", OUTPUTS)
def test_on_a_full_disk(folder, place):
    check_fails(folder, place, let_no_file_grow)


@pytest.mark.parametrize("place", [place for place in OUTPUTS if place.startswith("report")])
def test_where_a_directory_has_the_name(folder, place):
    kept = (folder / place).rename(folder / "kept")
    (folder / place).mkdir()
    try:
        check_fails(folder, place)
    finally:
        (folder / place).rmdir()
        kept.rename(folder / place)


def test_a_log_that_cannot_be_written_disturbs_nothing(tmp_path, capfd):
    for path in (Path("/dev/full"), tmp_path / "nowhere" / "run.log"):
        log = RunLog(path)
        logging.getLogger("pipeline.runs").info("hello")
        log.close()
    assert capfd.readouterr().err == ""
