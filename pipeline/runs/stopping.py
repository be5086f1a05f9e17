"""When a run is to stop early: signals and deadlines."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

log = logging.getLogger(__name__)

INTERRUPTED, TERMINATED, HUNG_UP, MAX_TIME = "interrupted", "terminated", "hung up", "max-time"
SIGNALS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
if hasattr(signal, "SIGHUP"):  # not on Windows
    SIGNALS[signal.SIGHUP] = HUNG_UP


class Signalled(KeyboardInterrupt):
    """SIGINT, SIGTERM or SIGHUP has ended the work: whatever drains on Ctrl-C drains on all of them.

    Not KeyboardInterrupt itself: once one has passed through `exec`, as when a dataclass is made, Python exits by the
    signal even if it was caught.

    Attributes
    ----------
    reason
        Which: a value of `SIGNALS`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Stopper:
    """Says when to stop: after the first SIGINT, SIGTERM or SIGHUP, or at a deadline.

    While it is entered, in the main thread, the first signal only asks for a stop; the second raises
    KeyboardInterrupt where it strikes, or what the program's own handler raises. SIGHUP stays ignored where it is
    (`nohup`).
    """

    def __init__(self, max_time: float | None = None) -> None:
        self.reason: str | None = None
        self.when_stopped: Callable[[], None] = lambda: None
        self._deadline = None if max_time is None else time.monotonic() + max_time
        self._before: dict[int, Any] = {}
        self._told = False

    def check(self) -> bool:
        """Return whether to stop; tells the workers the first time it is so."""
        if self.reason is None and self._deadline is not None and time.monotonic() >= self._deadline:
            self.reason = MAX_TIME
        if self.reason is not None and not self._told:
            self._told = True
            log.info("stopping (%s) after the deals at hand", self.reason)
            self.when_stopped()
        return self.reason is not None

    def __enter__(self) -> Stopper:
        if threading.current_thread() is threading.main_thread():
            for number, reason in SIGNALS.items():
                if reason != HUNG_UP or signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.reason not in SIGNALS.values():
            self.reason = SIGNALS[signal.Signals(number)]
            return
        if callable(self._before[number]):
            self._before[number](number, frame)
        raise KeyboardInterrupt
