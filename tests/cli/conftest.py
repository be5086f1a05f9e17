"""Commands as a user calls them, in this process or in one of their own."""

import json
import subprocess
import sys

import pytest

from pipeline.cli.main import run_command


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
