"""Places that lack something: locks, shared memory, file handles, readable names, a cache of one's own."""

import errno
import fcntl
import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from faults_processes import TELLTALES, Command, environment
from faults_settler import IDENTITY, Easy
from runs_games import EASY_TOML

from pipeline.cli.main import run_command
from pipeline.dataset import lock
from pipeline.dataset.store import Store
from pipeline.errors import StoreError
from pipeline.runs import executors
from pipeline.runs import run as runs

RUN = ("run", "--variant", "easy.toml", "--seeds", "1:40", "--nodes", "500", "--workers", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "easy.toml").write_text(EASY_TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seeds_in(rows_in, data):
    (rows,) = rows_in(data).values()
    return [row.seed for row in rows]


# ---- a file system without locks


@pytest.fixture(params=["ENOSYS", "ENOLCK", "EOPNOTSUPP"])
def no_locks(monkeypatch, request):
    def refuse(*_):
        code = getattr(errno, request.param)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)


@pytest.mark.usefixtures("no_locks")
def test_without_locks_a_file_stands_in(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    with one.writing("run"):
        with pytest.raises(StoreError, match=rf"in use by winnable run \(pid {os.getpid()} on"), other.writing("merge"):
            pass
        assert lock.current_holder(tmp_path / ".staging") is not None
    with other.writing("merge"):
        pass
    assert lock.current_holder(tmp_path / ".staging") is None


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("host", ["here", "elsewhere"])
def test_without_locks_what_a_dead_process_left(tmp_path, monkeypatch, host):
    """One of this host is known to be dead; of another host's, the user must say so."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with monkeypatch.context() as patch, Store(tmp_path).writing("run"):
        patch.setattr(os, "getpid", lambda: dead.pid)
        if host == "elsewhere":
            patch.setattr(lock.socket, "gethostname", lambda: "elsewhere")
        left = tmp_path / "left"
        with lock.hold(left, "run"):
            shutil.copytree(left, tmp_path / "copy")
    if host == "here":
        with lock.hold(tmp_path / "copy", "merge"):
            return
    with pytest.raises(StoreError, match=r"on elsewhere .*remove .*holder.json"), lock.hold(tmp_path / "copy", "merge"):
        pass


# ---- no shared memory


@pytest.mark.parametrize(("code", "remedy"), [(errno.EROFS, "/dev/shm"), (errno.EMFILE, "ulimit -n")])
def test_where_no_process_can_start_all_is_done_in_this_one(folder, monkeypatch, capsys, rows_in, code, remedy):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(executors.ProcessExecutor, "_new_pool", refuse)
    monkeypatch.setattr(runs.run, "__kwdefaults__", runs.run.__kwdefaults__ | {"settler": Easy(), "solver": IDENTITY})
    assert run_command(RUN) == 0
    err = capsys.readouterr().err
    assert os.strerror(code) in err
    assert [word for word in ("/dev/shm", "ulimit -n") if word in err] == [remedy]
    assert seeds_in(rows_in, folder / "data") == list(range(1, 41))
    assert run_command(("verify", "--variant", "easy.toml")) == 0


def test_with_a_shared_memory_that_cannot_be_written(folder, rows_in):
    program = f'mount -t tmpfs -o ro tmpfs /dev/shm && exec {sys.executable} $0 0 trace - "$@"'
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True).returncode:
        pytest.skip("no private mounts here")
    driver = Path(__file__).with_name("faults_driver.py")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", program, driver, *RUN],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert seeds_in(rows_in, folder / "data") == list(range(1, 41))


# ---- few file handles


def test_sixty_four_file_handles(folder, rows_in):
    command = Command(folder, *RUN, seconds=0, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    code, err = command.end()
    assert (code, [word for word in TELLTALES if word in err]) == (0, []), err
    assert seeds_in(rows_in, folder / "data") == list(range(1, 41))


def test_a_soft_limit_is_raised(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    code, err = Command(folder, *RUN, seconds=0, preexec_fn=limit).end()
    assert code == 0
    assert "worker processes cannot start" not in err


@pytest.mark.parametrize("most", [6, 9, 12, 22])
def test_too_few_file_handles(folder, most, rows_in):
    """Workers are not even started, so that none of Python's own helpers meets the limit: this process works."""
    command = Command(
        folder, *RUN, seconds=0, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    )
    code, err = command.end()
    assert code == 0, err
    assert not [word for word in (*TELLTALES, "/dev/shm", "Errno") if word in err], err
    assert f"2 workers may need 40 open files, {most} are allowed; allow more open files (ulimit -n)" in err
    assert seeds_in(rows_in, folder / "data") == list(range(1, 41))


def test_too_few_file_handles_for_dask(folder):
    pytest.importorskip("distributed")
    limits = (40, 40)
    command = Command(
        folder, *RUN, "--executor", "dask", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    )
    code, err = command.end(30)
    assert code == 1
    assert "2 workers may need 72 open files, 40 are allowed" in err.splitlines()[-1]


# ---- names that are no plain text


ODD_NAMES = [b"two\nlines", b"with space", b"a#b?c%20d", b"quote'\"$(x)", b"-dash", "ünïcødé-日本".encode()]


@pytest.mark.parametrize("name", [b"caf\xe9", *(pytest.param(name, marks=pytest.mark.slow) for name in ODD_NAMES)])
def test_directories_of_any_name(folder, name, rows_in):
    (folder / os.fsdecode(name)).mkdir()
    shutil.copy(folder / "easy.toml", folder / os.fsdecode(name))
    home = os.fsencode(folder) + b"/" + name

    def winnable(*words):
        driver = [sys.executable, Path(__file__).with_name("faults_driver.py"), "0", "", "-", *words]
        return subprocess.run(
            driver, env=environment() | {"LC_ALL": "C.UTF-8"}, cwd=home, capture_output=True, timeout=120, check=False
        )

    for words in (
        [*RUN[:-1], "1", "--data", home + b"/data"],
        ["status", "--data", home + b"/data"],
        ["verify", "--variant", home + b"/easy.toml", "--data", home + b"/data"],
        ["report", "--data", home + b"/data", "--variant", "easy.toml", "--out", home + b"/report"],
        ["export", "--data", home + b"/data", "--out", home + b"/out.csv"],
        ["merge", home + b"/data", "--data", home + b"/other"],
    ):
        done = winnable(*words)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode(errors="replace")
    (rows,) = rows_in(os.fsdecode(home + b"/other")).values()
    assert [row.seed for row in rows] == list(range(1, 41))
    part = next(Path(os.fsdecode(home + b"/data")).rglob("part-*.parquet"))
    part.write_bytes(b"PAR1")
    done = winnable("verify", "-q", "--data", home + b"/data")
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, "a name with a line break, too, stays on the one line"


# ---- a cache of compiled code


def winnable(cache, temporary, *words):
    where = {"WINNABLE_CACHE": str(cache), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "pipeline", *words]
    return subprocess.run(command, env=environment() | where, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("below", ["", "referee-0123456789abcdef"])
@pytest.mark.parametrize("fault", ["others may write", "belongs to another user"])
def test_a_cache_that_others_may_write_to_is_refused(tmp_path, below, fault):
    """By what would load code from it, and by nothing else."""
    cache = tmp_path / "cache" / below
    cache.mkdir(parents=True)
    if fault == "others may write":
        cache.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(cache, 1234, -1)
    else:
        pytest.skip("only root gives directories away")
    for words in (["variants"], ["--help"], ["solve", "--help"], ["deal", "--variant", "spider-1", "--seed", "1"]):
        assert winnable(tmp_path / "cache", tmp_path, *words).returncode == 0
    done = winnable(tmp_path / "cache", tmp_path, "solve", "--variant", "spider-1", "--seed", "1")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"Error: {cache}: {fault}")
    assert ("chmod" in done.stderr) == (fault == "others may write")
    assert len(done.stderr.splitlines()) == 1


def test_where_no_cache_can_be_written_another_stands_in(tmp_path):
    """Code is not kept beside the sources, where numba misses edits to them; one warning names the directory used."""
    program = "from pipeline.engine import compiler; from pipeline.referee import compiled"
    program = f"import os, pipeline.solver; {program}; print(compiler.CACHE_DIRECTORY, compiled.DIRECTORY)"
    said = []
    for _ in range(2):
        where = {"WINNABLE_CACHE": "/dev/null/cache", "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment() | where, capture_output=True, text=True, check=True)
        engine, referee = map(Path, done.stdout.split())
        assert engine.parent == referee.parent == tmp_path / f"winnable-{os.geteuid()}"
        assert stat.S_IMODE(engine.parent.stat().st_mode) == 0o700
        said.append(done.stderr)
    assert "/dev/null/cache cannot be written" in said[0]
    assert said[1] == ""
