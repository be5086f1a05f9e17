"""Progress bars on standard error, if it is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.runs.window import Progress

if TYPE_CHECKING:
    from pipeline.runs.chunks import Job


def wanted(verbosity: int) -> bool:
    """Return whether to draw: not with `--quiet`, and not into a file or a pipe."""
    return verbosity >= 0 and sys.stderr.isatty()


class RunBar(Progress):
    """A bar over all deals of a run, with the verdicts so far."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._jobs: Sequence[Job] = ()

    def start(self, jobs: Sequence[Job]) -> None:
        """Draw the bar."""
        from tqdm import tqdm

        self._jobs = jobs
        left = sum(job.counts.left for job in jobs)
        self._bar = tqdm(total=left, unit="deal", smoothing=0.1, dynamic_ncols=True, file=sys.stderr)

    def advance(self, job: Job, deals: int) -> None:
        """Advance the bar."""
        counts = {
            name: sum(getattr(one.counts, name) for one in self._jobs)
            for name in ("won", "lost", "unsettled", "failed")
        }
        shown = [f"{name} {count}" for name, count in counts.items() if count or name != "failed"]
        self._bar.set_description_str(job.deals.variant.id, refresh=False)
        self._bar.set_postfix_str(", ".join(shown), refresh=False)
        self._bar.update(deals)

    def end(self) -> None:
        """Close the bar and leave it on the screen."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def counting(total: int, unit: str, verbosity: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar over items while a block runs; yield what is told how many more are done."""
    from tqdm import tqdm

    with tqdm(total=total, unit=unit, disable=not wanted(verbosity), dynamic_ncols=True, file=sys.stderr) as bar:

        def advance(count: int) -> None:
            bar.update(count)

        yield advance
