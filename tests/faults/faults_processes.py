"""A command in a session of its own, and who is who in it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PATIENCE = 120  # seconds, for machines that have much else to do
TELLTALES = ("Traceback", "resource_tracker", "semaphore", "KeyError", "Exception ignored", "most recent call")


def environment():
    paths = [HERE.parents[1], HERE, HERE.parent / "runs"]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


def of_session(leader):
    """Return parent by process id of everything alive in a session."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, _, session, *_ = path.read_text().rpartition(")")[2].split()
            if int(session) == leader and state not in "ZX":
                found[int(path.parent.name)] = int(parent)
    return found


def kill(pids, number=signal.SIGKILL):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Command:
    """A command line at work; its deals take so many seconds, and are written to a file when they are begun."""

    def __init__(self, folder, *words, seconds=0.02, moment="-", **options):
        self.trace = folder / f"trace-{time.monotonic_ns()}"
        program = [sys.executable, HERE / "faults_driver.py", seconds, self.trace, moment, *words]
        self._out, self._err = (folder / name for name in ("stdout", "stderr"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            streams = {"stdout": out, "stderr": err, "stdin": subprocess.DEVNULL, "env": environment()}
            self.process = subprocess.Popen(
                list(map(str, program)), cwd=folder, start_new_session=True, **(streams | options)
            )
        self.pid = self.process.pid

    def children(self, word):
        """Return the children whose command line has a word: `forkserver` or `resource_tracker`."""
        found = []
        for pid, parent in of_session(self.pid).items():
            with contextlib.suppress(OSError):
                if parent == self.pid and word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def workers(self):
        members = of_session(self.pid)
        servers = self.children("forkserver")
        return [pid for pid, parent in members.items() if parent in servers]

    def begun(self):
        return self.trace.read_text().split() if self.trace.exists() else []

    def wait_for(self, condition):
        """Wait until something is so, or the command has ended."""
        deadline = time.monotonic() + PATIENCE
        while not condition() and self.process.poll() is None:
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.01)

    def signal(self, number, pause=0.05):
        """Send a signal to all of the session, as a terminal does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        time.sleep(pause)

    def end(self, patience=PATIENCE):
        """Return exit code and standard error once nothing of the session is left."""
        try:
            code = self.process.wait(patience)
            deadline = time.monotonic() + 20
            while of_session(self.pid):
                assert time.monotonic() < deadline, f"left behind: {of_session(self.pid)}"
                time.sleep(0.05)
        finally:
            kill(of_session(self.pid))
            self.process.wait()
        return code, self._err.read_text()
