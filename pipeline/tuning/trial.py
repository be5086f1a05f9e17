"""Deals settled with weights that are not the shipped ones, in a dataset that lasts as long as a comparison."""

from __future__ import annotations

import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.dataset.manifest import RunSummary
from pipeline.errors import ConfigError
from pipeline.game.variants import Variant
from pipeline.runs.run import run
from pipeline.runs.settings import RunSettings
from pipeline.runs.window import Progress
from pipeline.runs.workers import SolverSettler
from pipeline.solver import Solver

if TYPE_CHECKING:
    from pipeline.engine.weights import Parameters


class TrialSolver(Solver):
    """The solver with given weights in the place of the shipped ones."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self._parameters = parameters

    def _weights(self, variant: Variant) -> Parameters:
        return self._parameters


class TrialSettler(SolverSettler):
    """Settles deals with the weights of a file, in a worker.

    Raises
    ------
    ConfigError
        The file is no file of weights.
    """

    def __init__(self, weights: Path) -> None:
        super().__init__()
        self._solver = TrialSolver(read_weights(weights))
        self._file = weights

    def identity(self) -> str:
        """Return the name of the solver with these weights."""
        return trial_identity(self._file)


def trial_identity(weights: Path) -> str:
    """Return the version with a checksum of the weights: what a row's `solver` says."""
    from pipeline.version import solver_id

    read_weights(weights)
    return f"{solver_id()}-weights-{zlib.crc32(weights.read_bytes()):08x}"


def run_trial(settings: RunSettings, weights: Path | None, progress: Progress | None = None) -> RunSummary:
    """Settle the deals of the settings with the weights of a file; None for the shipped ones.

    Raises
    ------
    ConfigError
        The file is no file of weights.
    """
    if weights is None:
        return run(settings, progress=progress)
    settler = partial(TrialSettler, weights.resolve())
    return run(settings, settler=settler, solver=trial_identity(weights), progress=progress)


def read_weights(path: Path) -> Parameters:
    """Read a file of weights that a user named.

    Raises
    ------
    ConfigError
        The file is no file of weights.
    """
    from pipeline.engine.weights import read_parameters

    try:
        return read_parameters(path)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: no file of weights: {str(error).removeprefix(f'{path}: ')}") from error
