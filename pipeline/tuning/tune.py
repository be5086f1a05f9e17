"""The search for better weights: a separable evolution strategy that minimises the effort on new deals.

A candidate is a vector of weights, each in units of its start (`units`), so that one step size fits all. Its value is
the mean over deals of log(positions / limit), with a fixed penalty for an unsettled deal: ratios of effort are
minimised, so a hard deal counts as much as an easy one. All candidates of a generation get the same deals, and each
generation gets new ones, so nothing is learned by heart. The result is the centre of the last distribution, not the
luckiest candidate.

The result depends on the plan alone, not on the number of workers or on interruptions: the state on disk holds the
values of past generations, and replaying them brings the strategy back to where it was.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.dataset.files import read_json, write_text
from pipeline.errors import DataError, UsageError, WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant
from pipeline.tuning.trial import TrialSolver, read_weights
from pipeline.tuning.tuned import Check, Effort, compare

if TYPE_CHECKING:
    from cmaes import SepCMA

    from pipeline.engine.weights import Parameters
    from pipeline.runs.executor import Executor

FIRST_SEED = 900_000_000
PUBLISHED = (range(1, 100_001), range(5_000_001, 5_002_001))  # seeds with published figures
STEP = 0.25  # first standard deviation, in the start's units
SMALLEST_UNIT = 300  # thousandths of a point, so that a weight starting at 0 varies, too
LARGEST_WEIGHT = 2**24 - 1
CHUNK = 8  # deals per task
STATE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is tuned, and on which deals.

    Attributes
    ----------
    variants
        The games, each with the same weight.
    start, start_name
        The initial weights, and the name the user gave them.
    deals
        Deals per variant and generation.
    node_limit
        Node limit per deal.
    population
        Candidates per generation, at least 4.
    seed
        Seed of the strategy's random numbers.
    first_seed
        First native seed used. Each generation takes the next `deals` seeds, the final check those after the last.
    """

    variants: tuple[Variant, ...]
    start: Parameters
    start_name: str
    deals: int
    node_limit: int
    population: int
    seed: int
    first_seed: int

    def seeds(self, generation: int) -> range:
        """Return the seeds of a generation, counted from 0."""
        first = self.first_seed + generation * self.deals
        return range(first, first + self.deals)

    def untouched(self, generations: int, count: int) -> range:
        """Return `count` seeds after those of the generations, for the check."""
        first = self.seeds(generations).start
        return range(first, first + count)

    def check_seeds(self, generations: int, held_out: int) -> None:
        """Refuse a plan that uses seeds with published figures.

        Raises
        ------
        UsageError
            Training or check would use such a seed.
        """
        used = range(self.first_seed, self.first_seed + generations * self.deals + held_out)
        for taken in PUBLISHED:
            if used.start < taken.stop and taken.start < used.stop:
                raise UsageError(
                    f"--first-seed {self.first_seed} is not a valid first seed: tuning would use seeds {used.start} to "
                    f"{used[-1]}, and seeds {taken.start} to {taken.stop - 1} have published figures; expected others"
                )

    def identity(self) -> dict[str, Any]:
        """Return, as JSON values, what a saved state must have in common with this tuning."""
        from pipeline.version import solver_id

        return {
            "variants": {variant.id: variant.rules_hash for variant in self.variants},
            "start": named(self.start),
            "deals": self.deals,
            "node_limit": self.node_limit,
            "population": self.population,
            "seed": self.seed,
            "first_seed": self.first_seed,
            "solver": solver_id(),
        }


class Generation(NamedTuple):
    """The values of a generation's candidates and of the start, on the same deals; lower is better."""

    values: tuple[float, ...]
    start: float
    checksum: int  # of the candidates, to notice if the strategy no longer draws the same ones


@dataclass(slots=True)
class History:
    """The generations so far, kept in a file if there is a path.

    Parameters
    ----------
    tuning
        The tuning.
    path
        The state file: read if it exists, replaced as a whole after each generation.

    Raises
    ------
    DataError
        The file is not the state of a tuning, or of another plan; names the difference.
    """

    tuning: Tuning
    path: Path | None = None
    generations: list[Generation] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.generations = self._read(self.path)

    def _read(self, path: Path) -> list[Generation]:
        saved, generations = read_json(path, "tuning state", _saved, error=DataError)
        for key, value in self.tuning.identity().items():
            if saved.get(key) != value:
                differs = "other initial weights" if key == "start" else f"{key} {saved.get(key)}, not {value}"
                raise DataError(f"{path}: belongs to a tuning with {differs}; give another --state, or remove it")
        if any(len(generation.values) != self.tuning.population for generation in generations):
            raise DataError(f"{path}: field 'generations': expected {self.tuning.population} values in each")
        return generations

    def add(self, generation: Generation) -> None:
        """Add a generation, and save it."""
        self.generations.append(generation)
        if self.path is not None:
            entries = [entry._asdict() for entry in self.generations]
            content = {"format": STATE_FORMAT, "plan": self.tuning.identity(), "generations": entries}
            write_text(self.path, json.dumps(content, indent=1) + "\n")


def tune(
    tuning: Tuning,
    generations: int,
    history: History,
    executor: Executor,
    report: Callable[[int, Generation], None] = lambda _number, _generation: None,
) -> Parameters:
    """Search for better weights and return them.

    Parameters
    ----------
    tuning
        What to tune.
    generations
        How many to do in all.
    history
        The generations done before; new ones are added.
    executor
        Where deals are settled.
    report
        Called with each new generation's number, from 1, and the generation.

    Raises
    ------
    UsageError
        `cmaes` is not installed.
    DataError
        The strategy no longer draws the candidates of the history.
    """
    strategy = _strategy(tuning)
    for number in range(generations):
        vectors = [strategy.ask() for _ in range(tuning.population)]
        candidates = [with_weights(tuning, vector) for vector in vectors]
        checksum = zlib.crc32(repr([candidate.weights for candidate in candidates]).encode())
        if number == len(history.generations):
            efforts = settle_all(executor, tuning, [tuning.start, *candidates], tuning.seeds(number))
            start, *values = [_mean_value(by_variant, tuning.node_limit) for by_variant in efforts]
            history.add(Generation(tuple(values), start, checksum))
            report(number + 1, history.generations[number])
        generation = history.generations[number]
        if generation.checksum != checksum:
            raise DataError(
                f"generation {number + 1} of the state has other candidates: another cmaes or numpy drew them; "
                "expected the same versions, or a new --state"
            )
        strategy.tell(list(zip(vectors, generation.values, strict=True)))
    return with_weights(tuning, strategy.mean)


def check(tuning: Tuning, tuned: Parameters, seeds: range, executor: Executor) -> list[Check]:
    """Compare start and tuned weights on the same deals.

    Parameters
    ----------
    seeds
        Held-out native seeds, which no generation has used.

    Returns
    -------
    list of Check
        One per variant.
    """
    start, other = settle_all(executor, tuning, [tuning.start, tuned], seeds)
    return [compare(variant.id, start[variant.id], other[variant.id]) for variant in tuning.variants]


# ---- weights and vectors


def units(start: Parameters) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the unit of each weight, float64 of shape (weights,): its initial size, at least `SMALLEST_UNIT`."""
    return np.maximum(np.abs(np.array(start.weights, np.float64)), SMALLEST_UNIT)


def with_weights(tuning: Tuning, vector: np.ndarray[Any, np.dtype[np.float64]]) -> Parameters:
    """Return the plan's start with the weights of a vector (in `units`), rounded and within `LARGEST_WEIGHT`."""
    raw = np.clip(np.rint(vector * units(tuning.start)), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    return tuning.start._replace(weights=tuple(int(value) for value in raw))


def _strategy(tuning: Tuning) -> SepCMA:
    require_cmaes()
    from cmaes import SepCMA

    start = np.array(tuning.start.weights, np.float64) / units(tuning.start)
    return SepCMA(mean=start, sigma=STEP, seed=tuning.seed, population_size=tuning.population)


def require_cmaes() -> None:
    """Check early that the evolution strategy is installed.

    Raises
    ------
    UsageError
        It is not installed.
    """
    try:
        import cmaes  # noqa: F401
    except ImportError:
        raise UsageError("tune needs the package cmaes: pip install '.[tune]' in a checkout") from None


def default_start(variant: Variant) -> str:
    """Return the name of the shipped weights used for a variant."""
    from pipeline.engine import weights

    return variant.id if (weights.HERE / f"{variant.id}.toml").exists() else "default"


def read_start(word: str) -> Parameters:
    """Read the initial weights.

    Parameters
    ----------
    word
        The name of a shipped set, or a file (x.toml).

    Raises
    ------
    UsageError
        There is no such set or file.
    ConfigError
        The file does not hold weights.
    """
    from pipeline.engine import weights

    path = Path(word) if word.endswith(".toml") or "/" in word else weights.HERE / f"{word}.toml"
    if not path.exists():
        names = ", ".join(sorted(shipped.stem for shipped in weights.HERE.glob("*.toml")))
        raise UsageError(f"--from {word} is not a weights file or a set of weights: expected a file or one of {names}")
    return read_weights(path)


# ---- settling deals


def settle_all(
    executor: Executor, tuning: Tuning, candidates: Sequence[Parameters], seeds: range
) -> list[dict[str, list[Effort]]]:
    """Settle the seeds of each variant with several sets of weights.

    Returns
    -------
    list of dict
        For each set of weights the efforts by variant, in the order of the seeds.

    Raises
    ------
    WinnableError
        A worker died.
    """
    pieces = [seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK)]
    futures = [
        {
            variant.id: [executor.submit(settle, variant, parameters, piece, tuning.node_limit) for piece in pieces]
            for variant in tuning.variants
        }
        for parameters in candidates
    ]
    return [{name: _join(executor, parts) for name, parts in by_variant.items()} for by_variant in futures]


def _join(executor: Executor, parts: Sequence[Future[list[Effort]]]) -> list[Effort]:
    try:
        return [effort for part in parts for effort in part.result()]
    except executor.lost as error:
        raise WinnableError(f"a worker died: {error}; with --state the same command continues") from error


def settle(variant: Variant, parameters: Parameters, seeds: range, node_limit: int) -> list[Effort]:
    """Settle native deals with the given weights, in a worker; one effort per seed."""
    solver = TrialSolver(parameters)
    outcomes = [solver.solve(deal(variant, seed), node_limit) for seed in seeds]
    return [Effort(outcome.verdict != "unsettled", outcome.positions) for outcome in outcomes]


def _mean_value(by_variant: dict[str, list[Effort]], limit: int) -> float:
    values = [effort.value(limit) for efforts in by_variant.values() for effort in efforts]
    return math.fsum(values) / len(values)


def named(parameters: Parameters) -> dict[str, int]:
    """Return the weights by name, in thousandths of a point."""
    from pipeline.engine.weights import WEIGHT_NAMES

    return dict(zip(WEIGHT_NAMES, parameters.weights, strict=True))


def _saved(content: dict[str, Any]) -> tuple[dict[str, Any], list[Generation]]:
    """Return the plan and the generations of a saved state."""
    if content["format"] != STATE_FORMAT:
        raise UsageError(f"field 'format': {content['format']!r}: expected {STATE_FORMAT}")
    entries = content["generations"]
    return dict(content["plan"]), [
        Generation(tuple(map(float, entry["values"])), float(entry["start"]), int(entry["checksum"]))
        for entry in entries
    ]
