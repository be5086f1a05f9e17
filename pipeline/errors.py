"""The errors of `winnable`, each with the exit code of the command that raises it."""

from __future__ import annotations

import errno

_LIMITS = {
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close files of other programs: the system has no more",
    errno.EAGAIN: "allow more processes (ulimit -u), or fewer --workers",
    errno.ENOMEM: "free some memory, or fewer --workers",
}


def cause_of(error: OSError) -> str:
    """Return what the system says of an error and, where a limit of the system was met, the remedy."""
    said, remedy = error.strerror or str(error), _LIMITS.get(error.errno or 0)
    return f"{said}; {remedy}" if remedy else said


class WinnableError(Exception):
    """Base of the errors a user may meet. The text is one line naming file, field, value and what would be right."""

    exit_code = 1


class UsageError(WinnableError):
    """A wrong flag or argument."""

    exit_code = 2


class DataError(WinnableError):
    """Wrong contents: a file, a configuration, a dataset."""

    exit_code = 3


class ConfigError(DataError):
    """A configuration or an environment variable that is not valid."""


class VariantError(DataError):
    """Rules of a variant that are not valid."""


class BoardError(DataError):
    """A board that cannot be read, or whose cards are not those of its variant."""


class LineError(DataError):
    """A line that cannot be read or does not replay; names the move."""


class StoreError(DataError):
    """A dataset that cannot be read or written."""


class SolverFault(WinnableError):
    """The referee refutes the solver, or the bench signature differs."""

    exit_code = 4


class PartialFailure(WinnableError):
    """The run finished, but some of its deals failed."""

    exit_code = 5
