"""Signals and dead helpers of Python's own: one clear line, the documented exit code, and the same command goes on."""

import signal
from pathlib import Path

import pytest
from faults_processes import TELLTALES, Command, kill, of_session
from runs_games import EASY_TOML

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")

DEALS = 60
SERVER, TRACKER = "forkserver", "resource_tracker"


@pytest.fixture
def words(tmp_path):
    (tmp_path / "easy.toml").write_text(EASY_TOML)
    return (
        "run",
        "--variant",
        "easy.toml",
        "--seeds",
        f"1:{DEALS}",
        "--nodes",
        "500",
        "--workers",
        "2",
        "--chunk",
        "2",
    )


def at_start(command):
    command.wait_for(lambda: command.children(SERVER))


def at_work(command):
    command.wait_for(lambda: len(command.begun()) > 10)


def check_goes_on(tmp_path, words, rows_in):
    """The same command again ends with the rows of an undisturbed one."""
    code, err = Command(tmp_path, *words, seconds=0).end()
    assert (code, [word for word in TELLTALES if word in err]) == (0, []), err
    (rows,) = rows_in(tmp_path / "data").values()
    assert [row.seed for row in rows] == list(range(1, DEALS + 1))
    assert [row.seed for row in rows if row.verdict == "unsettled"] == list(range(7, DEALS + 1, 7))


SIGNALS = {
    "Ctrl-C twice": ((signal.SIGINT,) * 2, 130),
    "Ctrl-C again and again": ((signal.SIGINT,) * 12, 130),
    "hang-up": ((signal.SIGHUP,), 129),
    "hang-up twice": ((signal.SIGHUP,) * 2, 129),
    "terminated twice": ((signal.SIGTERM,) * 2, 143),
    "hang-up, then terminated": ((signal.SIGHUP, signal.SIGTERM), (129, 143)),
}
LIKE_OTHERS = ("Ctrl-C twice", "hang-up")  # what they would find another case most likely finds, too


@pytest.mark.parametrize("when", [pytest.param(at_start, marks=pytest.mark.slow), at_work])
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in LIKE_OTHERS else case for case in SIGNALS]
)
def test_signals_to_the_group(tmp_path, words, rows_in, case, when):
    numbers, codes = SIGNALS[case]
    command = Command(tmp_path, *words, seconds=0.05)
    when(command)
    for number in numbers:
        command.signal(number)
    code, err = command.end(30)
    assert code in (codes if isinstance(codes, tuple) else (codes,)), err
    assert not [word for word in TELLTALES if word in err], err
    assert err.splitlines()[-1].endswith("; the same command goes on from here")
    check_goes_on(tmp_path, words, rows_in)


KILLS = {SERVER: [SERVER], TRACKER: [TRACKER], "both": [TRACKER, SERVER]}


@pytest.mark.parametrize("when", [at_start, at_work])
@pytest.mark.parametrize("case", [pytest.param(SERVER, marks=pytest.mark.slow), TRACKER, "both"])
def test_helpers_killed(tmp_path, words, rows_in, case, when):
    """The run does not even end: it starts them again."""
    command = Command(tmp_path, *words, seconds=0.05)
    when(command)
    for name in KILLS[case]:
        command.wait_for(lambda name=name: command.children(name))
        victims = command.children(name)
        kill(victims)
        command.wait_for(lambda victims=victims: not of_session(command.pid).keys() & victims)
    code, err = command.end()
    assert (code, [word for word in TELLTALES if word in err]) == (0, []), err
    check_goes_on(tmp_path, words, rows_in)


def test_a_fork_server_that_never_lives(tmp_path, words, rows_in):
    command = Command(tmp_path, *words)
    command.wait_for(lambda: kill(command.children(SERVER)))
    code, err = command.end()
    assert (code, [word for word in TELLTALES if word in err]) == (1, []), err
    assert err.splitlines()[-1].startswith("Error: workers do not start")
    check_goes_on(tmp_path, words, rows_in)


def test_a_dead_tracker_and_two_interrupts(tmp_path, words, rows_in):
    command = Command(tmp_path, *words, seconds=0.05)
    at_work(command)
    kill(command.children(TRACKER))
    command.signal(signal.SIGINT)
    command.signal(signal.SIGINT)
    code, err = command.end(30)
    assert (code, [word for word in TELLTALES if word in err]) == (130, []), err
    check_goes_on(tmp_path, words, rows_in)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "module", ["pipeline.cli.main", "click", "pipeline.cli.run", "pipeline.dataset.store", "numpy"]
)
def test_a_signal_while_the_program_is_loaded(tmp_path, words, number, module):
    command = Command(tmp_path, *words, moment=f"{module}:{number.name}")
    code, err = command.end(30)
    assert code == 128 + number, err
    assert not [word for word in TELLTALES if word in err], err
    assert len(err.splitlines()) <= 1


def test_a_command_under_nohup_outlives_its_terminal(tmp_path, words, rows_in):
    command = Command(tmp_path, *words, seconds=0.05, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    at_work(command)
    command.signal(signal.SIGHUP)
    code, err = command.end()
    assert (code, [word for word in TELLTALES if word in err]) == (0, []), err
    check_goes_on(tmp_path, words, rows_in)
