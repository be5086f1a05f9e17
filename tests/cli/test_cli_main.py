"""The command line as a whole: help without imports, exit codes, signals, closed pipes."""

import importlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pipeline.cli import main as entry
from pipeline.cli import options
from pipeline.errors import (
    BoardError,
    ConfigError,
    LineError,
    PartialFailure,
    SolverFault,
    StoreError,
    UsageError,
    VariantError,
    WinnableError,
)
from pipeline.runs.stopping import SIGNALS

HEAVY = ("numba", "llvmlite", "numpy", "pandas", "pyarrow", "matplotlib", "jinja2", "scipy", "tqdm", "distributed")


def winnable(*words, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *words], capture_output=True, text=True, timeout=60, check=False, **kwargs
    )


def run_with(monkeypatch, capsys, action):
    """Run a command `boom` made of `action`; return its exit code and what it wrote to stderr."""
    command = click.Command("boom", callback=action)
    module = type(sys)("boom_commands")
    module.boom = command
    monkeypatch.setitem(sys.modules, "boom_commands", module)
    monkeypatch.setitem(entry.COMMANDS, "boom", entry.Entry("boom_commands:boom", "Test", "Fail."))
    code = entry.run_command(["boom"])
    return code, capsys.readouterr().err


def test_help_imports_nothing_heavy_and_is_fast():
    program = (
        "import sys, time; start = time.process_time()\n"
        "from pipeline.cli.main import run_command\n"
        "assert run_command(['--help']) == 0\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert not heavy, heavy\n"
        "print('SECONDS', time.process_time() - start)\n"
    )
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            ).stdout.rpartition("SECONDS")[2]
        )
        for _ in range(5)
    )
    assert best < 0.3


def test_a_progress_bar_loads_nothing_that_reads_data():
    program = "import sys, pipeline.cli.progress; sys.exit(any(name in sys.modules for name in ('pyarrow', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="needs the times of child processes")
def test_the_whole_help_process_is_fast():
    times = []
    for _ in range(3):
        before = os.times()
        assert winnable("--help").returncode == 0
        after = os.times()
        # Processor time: what else the machine does must not fail the test.
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(times) < 0.3


def test_help_lists_every_command_under_a_heading():
    text = winnable("-h").stdout
    for name, command in entry.COMMANDS.items():
        assert f"{command.section}:" in text
        assert any(line.split()[:1] == [name] and command.help in line for line in text.splitlines())


@pytest.mark.parametrize("name", entry.COMMANDS)
def test_the_table_says_what_the_command_says(name):
    module, _, attribute = entry.COMMANDS[name].target.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert (
        command.get_short_help_str(limit=200) == entry.COMMANDS[name].help.rstrip(".")
        or command.get_short_help_str(limit=200) == entry.COMMANDS[name].help
    )


def leaf_commands():
    for name in entry.COMMANDS:
        command = entry.cli.get_command(click.Context(entry.cli), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", child) for sub, child in command.commands.items())
        yield name, command


def test_every_command_has_both_help_flags_an_example_and_help_for_each_option(capsys):
    for name, command in leaf_commands():
        for flag in ("-h", "--help"):
            assert entry.run_command([*name.split(), flag]) == 0
            text = capsys.readouterr().out
            assert text.startswith(f"Usage: winnable {name}")
        assert "winnable " + name in text.split("Options:")[0].split("\n", 1)[1], f"{name} shows no example"
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.help, f"{name} {param.opts[0]} has no help"


def test_version_names_the_bench_signature():
    from pipeline.version import SIGNATURE, __version__

    done = winnable("--version")
    assert done.returncode == 0
    assert __version__ in done.stdout
    assert str(SIGNATURE) in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("rnu",), "did you mean 'run'?"),
        (("--frobnicate",), "No such option"),
        (("report", "--variant", "spider-5"), "did you mean 'spider-"),
        (("report", "--variant", "solitaire"), "spider-4"),
        (("report", "--format", "xml"), "'xml' is not one of"),
    ],
)
def test_wrong_usage_is_two_with_one_clear_line(words, expected):
    done = winnable(*words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WinnableError, 1),
        (UsageError, 2),
        (BoardError, 3),
        (ConfigError, 3),
        (LineError, 3),
        (StoreError, 3),
        (VariantError, 3),
        (SolverFault, 4),
        (PartialFailure, 5),
    ],
)
def test_each_error_has_its_exit_code_and_one_line(monkeypatch, capsys, error, code):
    def action():
        raise error("file.toml: key 'nodes'\nmust be positive")

    assert run_with(monkeypatch, capsys, action) == (code, "Error: file.toml: key 'nodes' must be positive\n")


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "n" * 3000),
        ("report", "--data", "n" * 3000),
        ("prove", "spider-1/native/17459", "--out", "n" * 300),
        ("pool", "build", "--variant", "spider-1", "--count", "1", "--out", "n" * 300 + ".json"),
    ],
)
def test_a_name_that_is_too_long_is_wrong_usage(monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    done = winnable(*words)
    assert done.returncode in (2, 3)
    assert "nnnn" in done.stderr
    assert "Traceback" not in done.stderr
    assert not any(tmp_path.rglob("n*"))


def test_system_errors_are_one_line(monkeypatch, capsys):
    def full_disk():
        raise OSError(28, "No space left on device", "data/outcomes/part")

    assert run_with(monkeypatch, capsys, full_disk) == (1, "Error: data/outcomes/part: No space left on device\n")

    def no_memory():
        raise MemoryError

    code, text = run_with(monkeypatch, capsys, no_memory)
    assert code == 1
    assert "memory" in text
    assert "Traceback" not in text


def test_an_unforeseen_error_keeps_its_traceback(monkeypatch, capsys):
    def bug():
        raise ZeroDivisionError("a bug")

    code, text = run_with(monkeypatch, capsys, bug)
    assert code == 1
    assert "Traceback" in text


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (entry.Signalled("interrupted"), 130, "interrupted"),
        (entry.Signalled("terminated"), 143, "terminated"),
        (entry.Signalled("hung up"), 129, "hung up"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_interrupts(monkeypatch, capsys, error, code, word):
    def action():
        raise error

    got, text = run_with(monkeypatch, capsys, action)
    assert (got, text) == (code, f"Error: {word}\n")

    def resumable():
        entry.goes_on()
        raise error

    got, text = run_with(monkeypatch, capsys, resumable)
    assert got == code
    assert text.endswith(f"{word}; the same command goes on from here\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (1, 129)])
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_signals_end_a_running_command_with_their_code(number, code):
    program = (
        "import sys, time, types, click\n"
        "from pipeline.cli import main as entry\n"
        "module = types.ModuleType('naps')\n"
        "module.nap = click.Command('nap', callback=lambda: (print('ready', flush=True), time.sleep(60)))\n"
        "sys.modules['naps'] = module\n"
        "entry.COMMANDS['nap'] = entry.Entry('naps:nap', 'Test', 'Sleep.')\n"
        "entry.main(['nap'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    assert stderr == f"Error: {SIGNALS[number]}\n", "sleeping does not go on from here"


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_closed_pipe_is_quiet(size):
    program = (
        "import sys, types, click\n"
        "from pipeline.cli import main as entry\n"
        "module = types.ModuleType('talks')\n"
        f"module.talk = click.Command('talk', callback=lambda: click.echo('x\\n' * {size}))\n"
        "sys.modules['talks'] = module\n"
        "entry.COMMANDS['talk'] = entry.Entry('talks:talk', 'Test', 'Talk.')\n"
        "sys.stdin.readline()\n"
        "entry.main(['talk'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.close()
        stderr = process.stderr.read()
    assert stderr == ""
    assert process.returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX shells")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--help >&-", 0, ""),
        ("--version >&- <&-", 0, ""),
        ("deal --variant spider-1 --seed 1 >&-", 0, ""),
        ("hint --stream >&-", 0, ""),
        ("hint - <&-", 3, "Error: <stdin>: holds no board"),
    ],
)
def test_streams_that_are_closed_from_the_start_are_quiet(words, code, said):
    command = f"echo '{{}}' | {shlex.quote(sys.executable)} -m pipeline {words}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_told():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (options.SEEDS, "1:3", range(1, 4)),
        (options.SEEDS, "7", range(7, 8)),
        (options.SEEDS, "0:9223372036854775807", range(2**63)),
        (options.DURATION, "90", 90),
        (options.DURATION, "10m", 600),
        (options.DURATION, "1h30m", 5400),
        (options.SHARD, "3/16", (3, 16)),
        (options.COUNT, "167k", 167_000),
        (options.COUNT, "10M", 10_000_000),
        (options.COUNT, "1_000", 1000),
        (options.COUNT, 5, 5),
        (options.VARIANT, "spider-4", "spider-4"),
        (options.VARIANT, "games/mine.toml", "games/mine.toml"),
    ],
)
def test_values_are_read(kind, text, expected):
    assert kind.convert(text, None, None) == expected


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (options.SEEDS, "", "A:B"),
        (options.SEEDS, "5:1", "1:5"),
        (options.SEEDS, "1:2:3", "A:B"),
        (options.SEEDS, "1.5", "A:B"),
        (options.SEEDS, "9223372036854775808", "9223372036854775807"),
        (options.SEEDS, "\u0661:\u0662", "A:B"),
        (options.DURATION, "5x", "1h30m"),
        (options.DURATION, "0", "1h30m"),
        (options.SHARD, "5/4", "3/16"),
        (options.SHARD, "0/4", "3/16"),
        (options.COUNT, "0", "whole number"),
        (options.COUNT, "1.5", "whole number"),
        (options.VARIANT, "spider-44", "did you mean"),
    ],
)
def test_wrong_values_are_refused_with_what_is_right(kind, text, words):
    with pytest.raises(click.BadParameter) as caught:
        kind.convert(text, None, None)
    assert words in str(caught.value)
    assert text in str(caught.value)


def test_quiet_and_verbose_are_one_number():
    @click.command()
    @options.verbosity_options
    def command(verbosity):
        click.echo(verbosity)

    runner = CliRunner()
    assert [runner.invoke(command, words).output for words in ([], ["-q"], ["-vv"])] == ["0\n", "-1\n", "2\n"]
    assert runner.invoke(command, ["-q", "-v"]).exit_code == 2


def test_the_dataset_is_the_flag_the_variable_or_data(monkeypatch):
    monkeypatch.setenv("WINNABLE_DATA", "elsewhere")
    assert options.data_directory(None) == Path("elsewhere")
    assert options.data_directory(Path("here")) == Path("here")
    monkeypatch.delenv("WINNABLE_DATA")
    assert options.data_directory(None) == Path("data")


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (("verify",), "WINNABLE_WORKERS"),
        (("tune", "--variant", "spider-1", "--out", "x.toml", "--population", "4"), "WINNABLE_WORKERS"),
        (("tune", "--variant", "spider-1", "--out", "x.toml", "--population", "4"), "WINNABLE_NODES"),
        (("pool", "build", "--variant", "spider-1", "--count", "1", "--out", "x"), "WINNABLE_WORKERS"),
        (("pool", "build", "--variant", "spider-1", "--count", "1", "--out", "x"), "WINNABLE_NUMBERING"),
        (("solve", "--variant", "spider-1", "--seed", "1"), "WINNABLE_NODES"),
        (("deal", "--variant", "spider-1", "--seed", "1"), "WINNABLE_NUMBERING"),
        (("status",), "WINNABLE_NODES"),
        (("compare", "shipped", "shipped", "--variant", "spider-1", "--seeds", "1"), "WINNABLE_WORKERS"),
    ],
)
def test_a_variable_is_read_wherever_its_flag_is(capsys, monkeypatch, tmp_path, words, variable):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "outcomes").mkdir(parents=True)
    monkeypatch.setenv(variable, "nonsense")
    assert entry.run_command(list(words)) == 3
    assert capsys.readouterr().err.startswith(f"Error: {variable} = 'nonsense': expected ")


def test_workers_are_those_of_the_flag_the_variable_or_a_core_each(monkeypatch):
    from pipeline.runs.settings import usable_cores

    monkeypatch.setenv("WINNABLE_WORKERS", "3")
    assert (options.worker_count(None), options.worker_count(5)) == (3, 5)
    monkeypatch.delenv("WINNABLE_WORKERS")
    assert options.worker_count(None) == usable_cores()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("solve --variant spider-4", ["spider-4", "spider-4-packs"]),
        ("run --variant open-spider-free-deal-", [f"open-spider-free-deal-{suits}" for suits in (1, 2, 3)]),
        ("deal simple-simon/", ["simple-simon/native/", "simple-simon/pysol/", "simple-simon/ms/"]),
        ("export --columns seed,po", ["seed,positions"]),
        ("export --columns li", ["line"]),
        ("solve --numbering k", ["kpat"]),
    ],
)
def test_the_shell_completes_ids_columns_and_names(words, expected):
    environment = {**os.environ, "_WINNABLE_COMPLETE": "bash_complete", "COMP_WORDS": f"winnable {words}"}
    environment["COMP_CWORD"] = str(len(words.split()))
    done = subprocess.run(
        [sys.executable, "-m", "pipeline"], env=environment, capture_output=True, text=True, check=False
    )
    found = [line.split(",", 1) for line in done.stdout.splitlines()]
    assert [word for kind, word in found if kind == "plain"] == expected, done.stderr
