"""The same deals on a Dask cluster on loopback give the same table, also when a worker is killed."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from runs_settlers import IDENTITY, Fake

from pipeline import version
from pipeline.errors import UsageError, WinnableError
from pipeline.runs import run as runs
from pipeline.runs.cluster import DaskExecutor
from pipeline.runs.workers import HandshakeError
from pipeline.version import package_id

distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def run(settings, **options):
    return runs.run(settings, settler=Fake(**options), solver=IDENTITY)


def test_a_local_cluster_gives_the_same_table(settings_for, rows_in, tmp_path):
    run(settings_for("1:200"))
    summary = run(settings_for("1:200", data="dask", executor="dask"), raises=frozenset())
    assert summary.settled == 200
    assert rows_in(tmp_path / "dask") == rows_in(tmp_path / "data")


def test_a_killed_worker_costs_nothing(settings_for, rows_in, tmp_path):
    run(settings_for("1:300"))
    with local_cluster() as cluster:
        killed = []

        def kill_one():
            time.sleep(0.7)
            process = next(iter(cluster.workers.values())).process.process
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        settings = settings_for("1:300", data="dask", executor="dask", scheduler=cluster.scheduler_address)
        summary = run(settings, seconds=0.01)
        killer.join()
    assert killed
    assert summary.failed == []
    assert rows_in(tmp_path / "dask") == rows_in(tmp_path / "data")


def local_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    )


def test_chunks_that_a_restart_of_the_cluster_cancels_are_handed_out_again(settings_for):
    with local_cluster() as cluster:

        def restart():
            time.sleep(0.7)
            with distributed.Client(cluster.scheduler_address) as client:
                client.restart()

        other = threading.Thread(target=restart)
        other.start()
        settings = settings_for("1:200", executor="dask", scheduler=cluster.scheduler_address, chunk=4)
        summary = run(settings, seconds=0.01)
        other.join()
    assert (summary.settled, summary.left, summary.stopped) == (200, 0, None)


def test_a_cluster_that_goes_away_ends_the_run(settings_for, monkeypatch):
    monkeypatch.setattr("pipeline.runs.cluster._PATIENCE", "1s")
    with local_cluster() as cluster:
        address = cluster.scheduler_address
        end = threading.Timer(1.5, cluster.close)
        end.start()
        with pytest.raises(WinnableError, match=rf"the Dask scheduler at {address} has gone; what is settled is kept"):
            run(settings_for("1:100000", executor="dask", scheduler=address, chunk=4), seconds=0.01)
        end.join()


@pytest.mark.parametrize("max_time", [pytest.param(None, marks=pytest.mark.slow), 3.0])
def test_without_workers_the_run_waits_and_says_so(settings_for, monkeypatch, caplog, max_time):
    monkeypatch.setattr("pipeline.runs.cluster._EVERY", 0.1)
    with local_cluster() as cluster:

        def desert():
            time.sleep(0.7)
            cluster.scale(0)
            while "no worker is left" not in caplog.text:
                time.sleep(0.05)
            if max_time is None:
                cluster.scale(1)

        other = threading.Thread(target=desert, daemon=True)
        other.start()
        address = cluster.scheduler_address
        settings = settings_for("1:400", executor="dask", scheduler=address, chunk=4, max_time=max_time)
        summary = run(settings, seconds=0.01)
        other.join(10)
    assert (summary.left > 0, summary.stopped) == ((False, None) if max_time is None else (True, "max-time"))
    assert caplog.text.count("no worker is left") == 1


def test_a_result_lost_on_its_way_is_settled_again(settings_for, monkeypatch):
    """Simulate a worker that leaves right after its task: Dask has the result but no longer calls it finished."""
    seen, status = set(), distributed.Future.status

    def status_of(future):
        if sys._getframe(1).f_code.co_name == "_cascade_future" and future.key not in seen and len(seen) < 2:
            seen.add(future.key)
            return "lost"
        return status.fget(future)

    monkeypatch.setattr(distributed.Future, "status", property(status_of))
    summary = run(settings_for("1:20", executor="dask", workers=1, chunk=10))
    assert (len(seen), summary.settled, summary.left) == (2, 20, 0)


def test_a_remote_worker_with_another_solver_is_refused(settings_for):
    with pytest.raises(HandshakeError, match="bench mismatch"):
        run(settings_for("1:20", executor="dask", workers=1), identity="0.1.0+1")


@contextlib.contextmanager
def dask(program, *words, package=""):
    """Run Dask's scheduler or worker as a program of its own, which looks for modules in `package` first."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *words, "--no-dashboard"]
    places = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": places, "PYTHONSAFEPATH": "1"}  # not in the directory it is started from
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def other_package(path, changed):
    """Make a directory with a package that is not this program's: one file is another, or there is nothing in it."""
    package = path / "other" / "pipeline"
    if changed is None:
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    else:
        shutil.copytree(version.ENGINE.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / changed).write_text("changed = True\n")
    return package.parent


def wait_for_workers(address, count=1):
    with distributed.Client(address, timeout="30s") as client:
        client.wait_for_workers(count, timeout=30)


@pytest.mark.parametrize(
    ("late", "changed"), [(False, None), (False, "engine/moves.py"), (True, None), (True, "runs/workers.py")]
)
def test_a_worker_with_another_package_is_named(settings_for, tmp_path, late, changed):
    with contextlib.ExitStack() as stack, local_cluster() as cluster:
        address = cluster.scheduler_address
        other = dask("worker", address, "--no-nanny", package=other_package(tmp_path, changed))
        settings = settings_for("1:2000", executor="dask", scheduler=address, chunk=4)
        if late:
            timer = threading.Timer(0.5, stack.enter_context, [other])
            timer.start()
            stack.callback(timer.join)
        else:
            stack.enter_context(other)
            wait_for_workers(address, 3)
        with pytest.raises(
            WinnableError, match=rf"the Dask worker at tcp://.* has .*{re.escape(package_id())}"
        ) as error:
            run(settings, seconds=0.01)
        assert "install the same one" in str(error.value)


def test_a_scheduler_needs_no_package(settings_for, tmp_path):
    tests = Path(__file__).parent  # where the worker finds the settler
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    where = ("--host", "127.0.0.1", "--port", address.rpartition(":")[2])
    with (
        dask("scheduler", *where, package=other_package(tmp_path, None)),
        dask("worker", address, "--no-nanny", package=tests),
    ):
        wait_for_workers(address)
        assert run(settings_for("1:20", executor="dask", scheduler=address)).settled == 20


def certificates(path):
    """Make an authority and a certificate for 127.0.0.1; skip where openssl is not there."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [*make.split(), "-keyout", path / "key.pem", "-out", path / "cert.pem"], check=True, capture_output=True
    )
    return path / "cert.pem", path / "cert.pem", path / "key.pem"


def test_a_cluster_behind_tls(settings_for, rows_in, tmp_path):
    authority, certificate, key = map(str, certificates(tmp_path))
    names = {
        f"tls_{role}_{kind}": file
        for role in ("scheduler", "worker", "client")
        for kind, file in (("cert", certificate), ("key", key))
    }
    security = distributed.Security(tls_ca_file=authority, require_encryption=True, **names)
    run(settings_for("1:60"))
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="tls://127.0.0.1",
        security=security,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        assert cluster.scheduler_address.startswith("tls://")
        settings = settings_for("1:60", data="dask", executor="dask", scheduler=cluster.scheduler_address)
        with pytest.raises(UsageError, match="no Dask scheduler answers at tls://"):
            run(settings)
        keys = ("ca-file", "client.cert", "client.key")
        files = (authority, certificate, key)
        with config.set({f"distributed.comm.tls.{name}": file for name, file in zip(keys, files, strict=True)}):
            run(settings)
    assert rows_in(tmp_path / "dask") == rows_in(tmp_path / "data")


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("pipeline.runs.cluster._PATIENCE", "1s")
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        DaskExecutor(1, "tcp://127.0.0.1:9")
