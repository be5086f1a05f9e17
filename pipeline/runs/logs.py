"""One log of a run: what the parent and its workers say, in a file and on the terminal.

Workers send their records through the queue of a `MultiProcessingHandler` (multiprocessing-logging); in the parent they
pass through the same loggers as its own. A worker that is killed may take its queue's lock along, so new workers get a
new queue, and nothing here waits for an old one.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from pathlib import Path
from typing import Any

from multiprocessing_logging import MultiProcessingHandler

from pipeline.runs.workers import NOTICE

ROOT = "pipeline"
FORMAT = "%(asctime)s %(levelname)-7s %(processName)s %(message)s"


class TerminalHandler(logging.Handler):
    """Writes to stderr without tearing a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record above the bar."""
        from tqdm import tqdm

        with contextlib.suppress(OSError):  # the terminal may be gone
            tqdm.write(self.format(record), file=sys.stderr)


class _Pass(logging.Handler):
    """Hands a worker's record to the logger it was meant for."""

    def emit(self, record: logging.LogRecord | None) -> None:
        """Handle the record here; None says that no more will come."""
        if record is None:
            raise EOFError
        target = logging.getLogger(record.name)
        if target.isEnabledFor(record.levelno):
            target.handle(record)


class _Receiver(MultiProcessingHandler):  # type: ignore[misc]
    """Receives from the workers of one pool.

    Parameters
    ----------
    context
        The pool's multiprocessing context: the handler would make its queue in the program's default one.
    """

    def __init__(self, context: Any) -> None:
        super().__init__("worker-logs", sub_handler=_Pass())
        self.queue = context.Queue(-1)
        self.queue.cancel_join_thread()
        try:
            self.queue.qsize()
        except NotImplementedError:  # macOS; the handler asks for it when it closes
            self.queue.qsize = lambda: int(not self.queue.empty())

    def end(self) -> None:
        """Stop once what the workers have sent is through."""
        self.queue.put(None)
        self.close()


class _LogFile(logging.FileHandler):
    """A run's log file. The run goes on if it cannot be written: the rows matter more."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, if there is room."""
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in `logging`
        """Report a faulty record, but not a faulty disk."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            super().close()


class RunLog:
    """The log file of a run, open until `close`.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._logger = logging.getLogger(ROOT)
        self._level = self._logger.level
        self._file = _LogFile(path, encoding="utf-8", errors="backslashreplace", delay=True)
        self._file.setFormatter(logging.Formatter(FORMAT))
        self._file.setLevel(logging.INFO)
        self._logger.addHandler(self._file)
        if self._logger.getEffectiveLevel() > logging.INFO:
            self._logger.setLevel(logging.INFO)
        self._receiver: _Receiver | None = None

    def worker_queue(self, context: Any) -> Any:
        """Return a new queue for the workers of a new pool; the old pool must be dead."""
        self.end_workers()
        self._receiver = _Receiver(context)
        return self._receiver.queue

    def end_workers(self) -> None:
        """Stop receiving."""
        if self._receiver is not None:
            self._receiver.end()
            self._receiver = None

    def close(self) -> None:
        """Close the file."""
        self.end_workers()
        self._logger.removeHandler(self._file)
        self._file.close()
        self._logger.setLevel(self._level)


class _Plain(logging.Formatter):
    """Names the level of what is more or less than a notice."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.levelno == NOTICE else f"{record.levelname}: {text}"


def show_on_terminal(verbosity: int) -> None:
    """Show the package's log on stderr from now on: notices and warnings, with `-v` all, with `-q` errors only."""
    logger = logging.getLogger(ROOT)
    handler = TerminalHandler()
    handler.setFormatter(_Plain("%(message)s"))
    level = logging.ERROR if verbosity < 0 else (NOTICE, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    handler.setLevel(level)
    for old in [known for known in logger.handlers if isinstance(known, TerminalHandler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(min(level, logging.INFO))
