"""The command `winnable`: a table of commands loaded on demand, and the mapping of errors to exit codes.

Nothing is imported for a command until it runs, so that `winnable --help` answers at once: the one-line helps below
are the only thing said twice, and a test holds them equal to the commands' own.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.abc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import NamedTuple, NoReturn

import click

from pipeline.cli.groups import Group
from pipeline.errors import WinnableError, cause_of
from pipeline.runs.stopping import INTERRUPTED, SIGNALS, Signalled

_PATIENCE = 5.0  # seconds for threads and child processes to end, after the last message
_GOES_ON = "pipeline.cli.goes_on"


class Entry(NamedTuple):
    """Where a command lives, the heading it is listed under, and its one-line help."""

    target: str
    section: str
    help: str


_SETTLE, _LOOK, _ONE, _GAMES, _SOLVER = "Settle deals", "Reports", "One deal", "For games", "The solver"

COMMANDS: dict[str, Entry] = {
    "run": Entry("pipeline.cli.run:run", _SETTLE, "Settle numbered deals into the dataset."),
    "status": Entry("pipeline.cli.run:status", _SETTLE, "Show what is done, what is missing, and at which limits."),
    "verify": Entry("pipeline.cli.dataset:verify", _SETTLE, "Replay every stored line and check every part."),
    "merge": Entry("pipeline.cli.dataset:merge", _SETTLE, "Merge the outcomes of another dataset."),
    "export": Entry("pipeline.cli.dataset:export", _SETTLE, "Write outcomes as CSV or JSON lines."),
    "withdraw": Entry("pipeline.cli.dataset:withdraw", _SETTLE, "Give up the deals that a run has left."),
    "nightly": Entry("pipeline.cli.nightly:nightly", _SETTLE, "Do a night's work: new seeds, retries, checks, report."),
    "report": Entry("pipeline.cli.report:report", _LOOK, "Report win rates with their bounds."),
    "compare": Entry("pipeline.cli.report:compare", _LOOK, "Compare solvers, datasets or variants on the same seeds."),
    "solve": Entry("pipeline.cli.solve:solve", _ONE, "Settle one deal and print the line that wins it."),
    "hint": Entry("pipeline.cli.hint:hint", _ONE, "Show the first move of a winning line from a board."),
    "deal": Entry("pipeline.cli.solve:deal", _ONE, "Print a numbered deal."),
    "replay": Entry("pipeline.cli.replay:replay", _ONE, "Replay a line move by move, or make a page of it."),
    "prove": Entry("pipeline.cli.prove:prove", _ONE, "Write a certificate that a board is lost."),
    "check": Entry("pipeline.cli.prove:check", _ONE, "Check certificates that boards are lost."),
    "variants": Entry("pipeline.cli.solve:variants", _ONE, "List the variants and describe their rules."),
    "pool": Entry("pipeline.cli.pools:group", _GAMES, "Build, check and sample lists of deals proved winnable."),
    "daily": Entry("pipeline.cli.pools:daily", _GAMES, "Print the daily deal of a date."),
    "bench": Entry("pipeline.cli.solve:bench", _SOLVER, "Compute the bench signature and measure the speed."),
    "tune": Entry("pipeline.cli.tune:tune", _SOLVER, "Search for better evaluation weights."),
}


def goes_on() -> None:
    """Note that the same command continues where this one stops; a message about a signal says so."""
    click.get_current_context().meta[_GOES_ON] = True


class LazyGroup(Group):
    """A group whose commands are imported when they are called and listed from the table when they are not."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module; None for a name that is not in the table."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command), f"{entry.target} is not a command"
        keep_lines(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands under their headings without importing one."""
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            rows = [(name, entry.help) for name, entry in COMMANDS.items() if entry.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)


def keep_lines(command: click.Command) -> None:
    r"""Make Click's mark for lines to be left alone, a backspace, of the `\b` that raw docstrings hold."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    for below in getattr(command, "commands", {}).values():
        keep_lines(below)


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from pipeline.version import SIGNATURE, __version__

    click.echo(f"winnable {__version__} (bench signature {SIGNATURE})")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command has its own --help. Exit codes: 0 done, 1 unexpected, 2 wrong usage, 3 bad data or "
    "configuration, 4 solver fault, 5 some deals failed, 129 hung up, 130 interrupted, 143 terminated.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and the bench signature of the solver.",
)
def cli() -> None:
    r"""Prove which numbered deals of the Spider family can be won.

    \b
    Example:
      winnable run --variant spider-4 --seeds 1:200
      winnable report
    """


keep_lines(cli)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Parameters
    ----------
    arguments
        The words after the program's name; those of the process by default.
    """
    _prepare_process()
    _catch_signals()
    code = run_command(arguments)
    code = _flush_streams() or code
    _ignore_signals()
    if code > 128 and "multiprocessing.resource_tracker" not in sys.modules:
        os._exit(code)  # Arrow's threads may be at work yet, and abort in Python's shutdown
    # What still runs has nothing to do any more: a worker at a long deal, a connection whose other end is silent.
    last = threading.Timer(_PATIENCE, os._exit, [code])
    last.daemon = True
    last.start()
    sys.exit(code)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; only an unforeseen error leaves a traceback."""
    if "_WINNABLE_COMPLETE" in os.environ:
        cli.main(prog_name="winnable")  # Click writes the shell's completion and exits
    words = sys.argv[1:] if arguments is None else list(arguments)
    meta: dict[str, object] = {}
    try:
        # Not cli.main(): it would end a closed pipe with exit 1 and hide which signal stopped the command.
        with cli.make_context("winnable", words) as context:
            meta = context.meta
            cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except WinnableError as error:
        return _complain(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        _ignore_signals()
        reason = stop.reason if isinstance(stop, Signalled) else INTERRUPTED
        number = next(number for number, name in SIGNALS.items() if name == reason)
        hint = "; the same command goes on from here" if _GOES_ON in meta else ""
        return _complain(f"{reason}{hint}", 128 + number)
    except BrokenPipeError:
        return _silence_stdout()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _complain(f"{place}{cause_of(error)}", 2 if error.errno == errno.ENAMETOOLONG else 1)
    except MemoryError:
        return _complain("out of memory; a smaller --nodes or fewer --workers needs less", 1)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _prepare_process() -> None:
    """Choose how processes start: that belongs to the program, not the library."""
    import multiprocessing

    _open_closed_streams()
    sys.meta_path.insert(0, _NoPandas())
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("forkserver", force=True)


def _catch_signals() -> None:
    """Turn the signals that end a program into exceptions; those that whoever started it wants ignored stay so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise_signalled)


def _ignore_signals() -> None:
    """Let no signal that the program has caught disturb the last steps."""
    for number in SIGNALS:
        if signal.getsignal(number) is _raise_signalled:
            signal.signal(number, signal.SIG_IGN)


def _raise_signalled(number: int, _frame: FrameType | None) -> NoReturn:
    raise Signalled(SIGNALS[signal.Signals(number)])


class _NoPandas(importlib.abc.Loader):
    """Refuses to load pandas: no command uses it, but pyarrow would, to know its frames, for 35 MB and 0.3 seconds."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        """Find pandas and leave every other module to the finders after this one."""
        return ModuleSpec(name, self) if name == "pandas" else None

    def exec_module(self, module: ModuleType) -> None:
        raise ModuleNotFoundError("pandas is not used here", name=module.__name__)


def _open_closed_streams() -> None:
    """Stand in for streams that were closed before the start (`<&-`, `>&-`), before another file gets their place."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _complain(text: str, code: int) -> int:
    with contextlib.suppress(OSError):  # stderr may be gone as well
        click.echo(f"Error: {' '.join(text.splitlines())}", err=True)
    return code


def _silence_stdout() -> int:
    """Point stdout at nothing: its reader has gone, and Python would complain once more while it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _flush_streams() -> int:
    """Write out what is buffered, so that a reader who left or a full disk is met here and not in the shutdown."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _silence_stdout()
    except OSError as error:
        _silence_stdout()
        return _complain(f"cannot write the output: {error.strerror}", 1)
    return 0
