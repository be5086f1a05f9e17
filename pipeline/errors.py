"""The errors of `winnable`, each with the exit code its command ends with."""

from __future__ import annotations


class WinnableError(Exception):
    """Base of every error a user may meet; its text is one clear line."""

    exit_code = 1


class UsageError(WinnableError):
    """A wrong flag or argument."""

    exit_code = 2


class DataError(WinnableError):
    """Contents that are wrong: a file, a configuration, a dataset."""

    exit_code = 3


class ConfigError(DataError):
    """A run configuration or an environment variable that cannot be used."""


class VariantError(DataError):
    """A variant's rules that make no game."""


class BoardError(DataError):
    """A board that cannot be read, or whose cards are not those of its variant."""


class LineError(DataError):
    """A line that cannot be read, or that does not replay; names the move."""


class StoreError(DataError):
    """A dataset that cannot be read or written as it is."""


class SolverFault(WinnableError):
    """The solver claimed what the referee refutes, or its bench signature differs."""

    exit_code = 4


class PartialFailure(WinnableError):
    """The run finished, but some of its deals failed."""

    exit_code = 5
