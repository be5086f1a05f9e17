"""Settling deals with weights other than the shipped ones, for a comparison or a tuning."""

from __future__ import annotations

import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ConfigError
from pipeline.game.variants import Variant
from pipeline.runs.progress import Progress
from pipeline.runs.run import run
from pipeline.runs.settings import RunSettings
from pipeline.runs.summary import RunSummary
from pipeline.runs.workers import SolverSettler
from pipeline.solver import Solver

if TYPE_CHECKING:
    from pipeline.engine.weights import Parameters


class TrialSolver(Solver):
    """A solver that uses the given weights for every variant.

    Parameters
    ----------
    parameters
        The weights and the beam.
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self._parameters = parameters

    def _weights(self, variant: Variant) -> Parameters:
        return self._parameters


class TrialSettler(SolverSettler):
    """Settle deals in a worker, with the weights of a file.

    Parameters
    ----------
    weights
        The weights file.

    Raises
    ------
    ConfigError
        The file does not hold weights.
    """

    def __init__(self, weights: Path) -> None:
        super().__init__()
        self._solver = TrialSolver(read_weights(weights))
        self._file = weights

    def identity(self) -> str:
        """Return the `solver` of the rows settled with these weights."""
        return trial_identity(self._file)


def trial_identity(weights: Path) -> str:
    """Return the `solver` of rows settled with a weights file: the solver's id and a checksum of the file.

    Raises
    ------
    ConfigError
        The file does not hold weights.
    """
    from pipeline.version import solver_id

    read_weights(weights)
    return f"{solver_id()}-weights-{zlib.crc32(weights.read_bytes()):08x}"


def run_trial(settings: RunSettings, weights: Path | None, progress: Progress | None = None) -> RunSummary:
    """Settle the deals of a run's settings with the weights of a file.

    Parameters
    ----------
    settings
        The deals, the dataset and the workers.
    weights
        The weights file; None for the shipped weights.
    progress
        Receives the progress of the run.

    Raises
    ------
    ConfigError
        The file does not hold weights.
    """
    if weights is None:
        return run(settings, progress=progress)
    settler = partial(TrialSettler, weights.resolve())
    return run(settings, settler=settler, solver=trial_identity(weights), progress=progress)


def read_weights(path: Path) -> Parameters:
    """Read a weights file.

    Raises
    ------
    ConfigError
        The file does not hold weights.
    """
    from pipeline.engine.weights import read_parameters

    try:
        return read_parameters(path)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is not a valid weights file: {str(error).removeprefix(f'{path}: ')}") from error
