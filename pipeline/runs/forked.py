"""What the fork server loads before it forks workers, and no other process.

A worker that starts while its parent ends finds the semaphores and pipes gone that it is to use. The fork server would
show a traceback for it, on a terminal where all has been said.
"""

from __future__ import annotations

import sys
from types import TracebackType

from pipeline.runs import workers as workers

_GONE = (EOFError, ConnectionError, FileNotFoundError)


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, _GONE):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _show
