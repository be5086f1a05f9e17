"""The program's first lines: SIGTERM ends it with its own exit code while the rest is still being loaded, too."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    from pipeline.cli.main import main as run

    run()
