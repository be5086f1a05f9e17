"""Progress bars on standard error, if it is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from pipeline.runs.progress import Progress

if TYPE_CHECKING:
    from pipeline.runs.chunks import Job


def _bar(verbosity: int, **options: Any) -> tqdm[Any]:
    """Return a bar; it is not drawn with `--quiet`, nor into a file or a pipe."""
    hidden = verbosity < 0 or not sys.stderr.isatty()
    return tqdm(disable=hidden, dynamic_ncols=True, file=sys.stderr, **options)


class RunBar(Progress):
    """A bar over all deals of a run, with the verdicts so far."""

    def __init__(self, verbosity: int) -> None:
        self._verbosity = verbosity
        self._bar: tqdm[Any] | None = None
        self._jobs: Sequence[Job] = ()

    def start(self, jobs: Sequence[Job]) -> None:
        """Draw the bar."""
        self._jobs = jobs
        self._bar = _bar(self._verbosity, total=sum(job.counts.left for job in jobs), unit="deal", smoothing=0.1)

    def advance(self, job: Job, deals: int) -> None:
        """Advance the bar."""
        if self._bar is None or self._bar.disable:
            return
        counts = {
            name: sum(getattr(job.counts, name) for job in self._jobs)
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
    """Draw a progress bar while a block runs; yield the function that advances it by a number of items."""
    with _bar(verbosity, total=total, unit=unit) as bar:

        def advance(count: int) -> None:
            bar.update(count)

        yield advance
