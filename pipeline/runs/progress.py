"""Progress of a run. Imports nothing, so that a command with a progress bar need not load what runs need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.runs.chunks import Job


class Progress:
    """Follows a run; this one keeps quiet."""

    def start(self, jobs: Sequence[Job]) -> None:
        """Take note that the workers are about to begin."""

    def advance(self, job: Job, deals: int) -> None:
        """Take note that `deals` more of a job are done; the job's counts say how they ended."""

    def end(self) -> None:
        """Take note that the last one is done."""
