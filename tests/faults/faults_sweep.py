"""A command killed, or refused by its disk, at each of its durable steps: faults_sweep.py COMMAND HOW EVERY FOLDER.

A step is a write, an fsync, a rename, a removal or a new directory. The command is done over for every step, in a
forked process and a copy of its directory: killed at that step, or with that step and all after it failing. Then it is
done again undisturbed, and what it leaves must be what one leaves that was never disturbed. Prints a line of JSON: how
many steps there are, how many were swept, and what went wrong.
"""

import builtins
import contextlib
import errno
import io
import json
import os
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

from dataset_rows import a_row, rows_of, table_of
from faults_settler import IDENTITY, Easy
from runs_games import EASY, EASY_TOML, score_of, winning_line

from pipeline.cli.main import run_command
from pipeline.dataset.schema import VOLATILE
from pipeline.dataset.store import Part, Partition, Store
from pipeline.game.lines import split_line
from pipeline.game.variants import load_variant
from pipeline.runs import executors, run

GAMES = Partition("easy-game", "native")
GAME = ("--variant", "easy.toml", "--nodes", "500")
NIGHT = """
nodes = 500
[nightly]
seeds = 6
retry_nodes = 1500
retry_at_most = 4
verify_sample = 5
reports = "reports"
[variant."easy.toml"]
"""
COMMANDS = {
    "run": ("run", *GAME, "--seeds", "1:24", "--chunk", "5"),
    "nightly": ("nightly", "nightly.toml", "--date", "2026-11-30"),
    "pool": ("pool", "build", *GAME, "--count", "12", "--out", "pool.parquet"),
    "merge": ("merge", "other"),
    "repair": ("verify", "--variant", "easy.toml", "--repair"),
    "verify": ("verify", "--variant", "easy.toml", "--variant", "simple-simon", "--lost"),
    "export": ("export", "--out", "out.csv"),
    "report": ("report", "--variant", "easy.toml", "--out", "report", "--exceptions", "3"),
}
FAILURES = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}
STEPS = (("fsync", os), ("replace", os), ("rename", os), ("unlink", os), ("mkdir", os), ("open", io))


class Clock:
    """Counts steps; from one of them on, kills the process or fails."""

    def __init__(self, how, deadline):
        self.how, self.deadline, self.steps = how, deadline, 0

    def __enter__(self):
        self.before = [(name, owner, getattr(owner, name)) for name, owner in STEPS]
        for name, owner, call in self.before:
            setattr(owner, name, partial(self.step, name, call))
        builtins.open = io.open
        return self

    def __exit__(self, *_):
        for name, owner, call in self.before:
            setattr(owner, name, call)
        builtins.open = io.open

    def step(self, name, call, *arguments, **options):
        mode = str(arguments[1] if len(arguments) > 1 else options.get("mode", "r"))
        path = str(arguments[0])
        if (name == "open" and not set("wax+") & set(mode)) or path.startswith(("/dev", "/proc")):
            return call(*arguments, **options)
        self.steps += 1
        if self.deadline is not None and self.steps >= self.deadline:
            if self.how == "kill":
                if name == "open":
                    with contextlib.suppress(OSError), call(path, "wb") as file:
                        file.write(b"PAR1 half")
                os.kill(os.getpid(), signal.SIGKILL)
            code = FAILURES[self.how]
            raise OSError(code, os.strerror(code), path)
        return call(*arguments, **options)


def game_row(seed, **changes):
    line = winning_line(seed)
    moves = len(split_line(line))
    row = a_row(seed, line=line, moves=moves, deals=0, score=score_of(moves), rules_hash=EASY.rules_hash)
    return row._replace(solver=IDENTITY, **changes)


def prepare(folder, command):
    """Make the directory that a command works in."""
    folder.mkdir(parents=True)
    (folder / "easy.toml").write_text(EASY_TOML)
    (folder / "nightly.toml").write_text(NIGHT)
    os.chdir(folder)
    assert run_command(["run", *GAME, "--seeds", "1:10", "-q"]) == 0
    if command == "merge":
        assert run_command(["run", *GAME, "--seeds", "8:20", "--data", "other", "-q"]) == 0
    if command == "verify":
        store = Store(folder / "data")
        lost = [a_row(seed, "lost", rules_hash=load_variant("simple-simon").rules_hash) for seed in (12, 21, 25)]
        with store.writing("test"):
            store.add(Partition("simple-simon", "native"), table_of(lost))
    if command == "repair":
        store = Store(folder / "data")
        with store.writing("test"):
            spoilt = [game_row(20), game_row(21, line="ab"), game_row(22)]
            home = store.folder(GAMES)
            store.publish(Part(home / "part-50000-59999.parquet", 50000, 59999), table_of([game_row(50001)]))
            store.publish(Part(home / "part-55000-59999.parquet", 55000, 59999), table_of([game_row(55001)]))
            store.publish(Part(home / "part-40000-49999.parquet", 40000, 49999), table_of([game_row(40001)]))
            store.publish(Part(home / "part-32768-39999.parquet", 32768, 39999), table_of(spoilt_at(spoilt, 32768)))
        broken = home / "part-40000-49999.parquet"
        broken.write_bytes(broken.read_bytes()[:-5] + b"xxxxx")
        (store.runs / "r9.json").write_text("[]")


def spoilt_at(rows, first):
    return [game_row(first + place, line=row.line) for place, row in enumerate(rows)]


def state(folder):
    """Return all that a command is to leave, but for what differs from run to run."""
    store = Store(folder / "data")
    nothing = dict.fromkeys(VOLATILE)
    rows = {str(part): [row._replace(**nothing) for row in rows_of(store.read(*part))] for part in store.partitions()}
    files = {}
    for name in ("out.csv", "pool.parquet", "reports", "report", "data/checked-losses.json"):
        for path in [folder / name, *sorted((folder / name).rglob("*"))]:
            if path.is_file():
                digest = path.read_bytes() if path.suffix == ".csv" or "checked" in path.name else b""
                files[str(path.relative_to(folder))] = digest.decode().replace("\r", "")
    if (folder / "pool.parquet").exists():
        import pyarrow.parquet as pq

        with (folder / "pool.parquet").open("rb") as file:
            files["pool"] = str(pq.ParquetFile(file).read(use_threads=False).to_pylist())
    for name in list(files):
        if name == "out.csv":  # the last two columns differ from run to run
            files[name] = str([line.rsplit(",", 2)[0] for line in files[name].splitlines()])
    return repr((rows, files))


def forked(folder, words, how=None, deadline=None):
    """Do the command in a forked process; return its exit code, its steps and what it said."""
    said, steps = folder.with_suffix(".said"), folder.with_suffix(".steps")
    for path in (said, steps):
        path.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 70
        try:
            with Clock(how, deadline) as clock:
                code = run_command(words)
            Path(steps).write_text(f"{clock.steps}\n{state(folder)}")
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    number, _, left = (steps.read_text() if steps.exists() else "0\n").partition("\n")
    return os.waitstatus_to_exitcode(status), int(number), said.read_text(), left


def sweep(command, how, every, home):
    executors.make_processes = lambda *_: executors.InlineExecutor()
    os.environ |= {"WINNABLE_EXECUTOR": "inline", "WINNABLE_WORKERS": "1"}
    run.run.__kwdefaults__.update(settler=Easy(), solver=IDENTITY)
    words, template = COMMANDS[command], home / "template"
    for seed in range(1, 41):
        winning_line(seed)  # kept, for all that are forked
    prepare(template, command)

    def copy(name):
        shutil.copytree(template, home / name)
        return home / name

    os.chdir(copy("loaded"))
    with contextlib.redirect_stdout(io.StringIO()):
        assert run_command(words) == 0  # all it loads is loaded, for all that are forked
    os.chdir(home)
    code, steps, said, expected = forked(copy("undisturbed"), words)
    assert code == 0, said
    wrong, swept = [], 0
    for step in range(1, steps + 1, every):
        folder = copy(f"step-{step}")
        code, _, said, _ = forked(folder, words, how, step)
        swept += 1
        allowed = (-signal.SIGKILL,) if how == "kill" else (0, 1, 3)
        if code not in allowed or "Traceback" in said or (how != "kill" and code and len(said.splitlines()) < 1):
            wrong.append({"step": step, "code": code, "said": said[-2000:]})
        code, _, said, left = forked(folder, words)
        if code or "Traceback" in said or left != expected:
            wrong.append({"step": step, "again": code, "said": said[-2000:], "same": left == expected})
        shutil.rmtree(folder)
    return {"command": command, "how": how, "steps": steps, "swept": swept, "wrong": wrong}


if __name__ == "__main__":
    name, fault, stride, place = sys.argv[1:]
    print(json.dumps(sweep(name, fault, int(stride), Path(place))))
