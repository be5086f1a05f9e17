"""Commands killed or refused by its disk at each durable step, and then done again: nothing is lost or doubled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults_processes import environment

COMMANDS = ("run", "nightly", "pool", "merge", "repair", "verify", "export", "report")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def sweep(tmp_path, command, how, every):
    words = [Path(__file__).with_name("faults_sweep.py"), command, how, every, tmp_path / "sweep"]
    paths = os.pathsep.join([environment()["PYTHONPATH"], str(Path(__file__).parents[1] / "dataset")])
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env=environment() | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        timeout=580,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["wrong"], json.dumps(found["wrong"][:3], indent=1)
    assert found["steps"] > 1
    print(f"{command} {how}: {found['swept']} of {found['steps']} steps")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "ENOSPC", "EIO"])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_step(tmp_path, command, how):
    sweep(tmp_path, command, how, 1)


@pytest.mark.parametrize(
    ("command", "how"),
    [("run", "kill"), ("repair", "kill"), ("verify", "kill"), ("merge", "ENOSPC"), ("export", "EIO")],
)
def test_some_steps(tmp_path, command, how):
    sweep(tmp_path, command, how, 7)
