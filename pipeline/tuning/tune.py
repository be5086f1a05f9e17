"""The search for better weights: a separable evolution strategy over what deals cost that nobody has seen.

A candidate is a vector of weights in units of the start's own (`units`), so that one step size fits all. Its value is
the mean over deals of log(positions / limit), plus a penalty where the deal stays unsettled: what is minimised is
effort, by ratios, and a hard deal counts as much as an easy one. All candidates of a generation get the same deals, and
each generation gets new ones: nothing is learned by heart. The answer is the centre of the last distribution, not the
luckiest candidate.

The outcome depends on the plan alone, never on the number of workers or on interruptions: the state on disk holds only
the values found, and the strategy is brought back to where it was by telling it those again.
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

from pipeline.dataset.files import write_text
from pipeline.errors import DataError, UsageError, WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant
from pipeline.tuning.trial import TrialSolver, read_weights
from pipeline.tuning.tuned import Check, Effort, compare

if TYPE_CHECKING:
    from cmaes import SepCMA

    from pipeline.engine.weights import Parameters
    from pipeline.runs.executors import Executor

FIRST_SEED = 900_000_000
PUBLISHED = (range(1, 100_001), range(5_000_001, 5_002_001))  # seeds that figures are published of
STEP = 0.25  # first standard deviation, in the start's units
SMALLEST_UNIT = 300  # thousandths of a point: also a weight that starts at nothing is tried
LARGEST_WEIGHT = 2**24 - 1
CHUNK = 8  # deals a task
STATE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What is searched for, and on what.

    Attributes
    ----------
    variants
        The games whose deals count, alike.
    start, start_name
        Where the search begins, and what the user calls it.
    deals
        Deals of each variant in a generation.
    nodes
        Node limit of a deal.
    population
        Candidates of a generation, at least 4.
    seed
        Of the strategy's random numbers.
    first_seed
        First native seed used; a generation takes `deals` seeds, the check at the end those after the last one.
    """

    variants: tuple[Variant, ...]
    start: Parameters
    start_name: str
    deals: int
    nodes: int
    population: int
    seed: int
    first_seed: int

    def seeds(self, generation: int) -> range:
        """Return the seeds of a generation, counted from 0."""
        first = self.first_seed + generation * self.deals
        return range(first, first + self.deals)

    def untouched(self, generations: int, count: int) -> range:
        """Return so many seeds after those of the generations."""
        first = self.seeds(generations).start
        return range(first, first + count)

    def check_seeds(self, generations: int, held_out: int) -> None:
        """Refuse seeds that published figures rest on.

        Raises
        ------
        UsageError
            Training or check would use some.
        """
        used = range(self.first_seed, self.first_seed + generations * self.deals + held_out)
        for taken in PUBLISHED:
            if used.start < taken.stop and taken.start < used.stop:
                raise UsageError(
                    f"--first-seed {self.first_seed}: seeds {used.start} to {used[-1]} would be used, but figures are "
                    f"published of {taken.start} to {taken.stop - 1}; tuning on them would flatter those"
                )

    def identity(self) -> dict[str, Any]:
        """Return what a state must have been made with to go on, as JSON values."""
        from pipeline.version import solver_id

        return {
            "variants": {variant.id: variant.rules_hash for variant in self.variants},
            "start": named(self.start),
            "deals": self.deals,
            "nodes": self.nodes,
            "population": self.population,
            "seed": self.seed,
            "first_seed": self.first_seed,
            "solver": solver_id(),
        }


class Generation(NamedTuple):
    """What a generation found: the values of its candidates and of the start on the same deals (lower is better)."""

    values: tuple[float, ...]
    start: float
    checksum: int  # of the candidates, to notice when the strategy no longer makes the same ones


@dataclass(slots=True)
class History:
    """The generations so far; with a path they are on disk, replaced as a whole after each, and read from there.

    Raises
    ------
    DataError
        The file is no state of a tuning, or of another plan: says what differs.
    """

    plan: Plan
    path: Path | None = None
    generations: list[Generation] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.generations = self._read(self.path)

    def _read(self, path: Path) -> list[Generation]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != STATE_FORMAT:
                raise ValueError(f"format {content['format']!r}, expected {STATE_FORMAT}")
            found, generations = dict(content["plan"]), [_generation(entry) for entry in content["generations"]]
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: no state of a tuning: {type(error).__name__}: {error}") from error
        for key, value in self.plan.identity().items():
            if found.get(key) != value:
                differs = "other weights to start from" if key == "start" else f"{key} {found.get(key)}, not {value}"
                raise DataError(f"{path}: is of a tuning with {differs}; take another --state, or remove it")
        if any(len(generation.values) != self.plan.population for generation in generations):
            raise DataError(f"{path}: a generation without {self.plan.population} values")
        return generations

    def add(self, generation: Generation) -> None:
        """Keep one more generation."""
        self.generations.append(generation)
        if self.path is not None:
            entries = [entry._asdict() for entry in self.generations]
            content = {"format": STATE_FORMAT, "plan": self.plan.identity(), "generations": entries}
            write_text(self.path, json.dumps(content, indent=1) + "\n")


def tune(
    plan: Plan,
    generations: int,
    history: History,
    executor: Executor,
    report: Callable[[int, Generation], None] = lambda _number, _found: None,
) -> Parameters:
    """Search for so many generations; return the weights found.

    Parameters
    ----------
    history
        Is added to after each generation; those already in it are not done again.
    executor
        Where deals are settled.
    report
        Is told each new generation and its number, counted from 1.

    Raises
    ------
    UsageError
        `cmaes` is not installed.
    DataError
        The strategy no longer makes the candidates whose values the history holds.
    """
    strategy = _strategy(plan)
    for number in range(generations):
        vectors = [strategy.ask() for _ in range(plan.population)]
        candidates = [with_weights(plan, vector) for vector in vectors]
        checksum = zlib.crc32(repr([candidate.weights for candidate in candidates]).encode())
        if number == len(history.generations):
            efforts = settle_all(executor, plan, [plan.start, *candidates], plan.seeds(number))
            start, *values = [_mean_value(found, plan.nodes) for found in efforts]
            history.add(Generation(tuple(values), start, checksum))
            report(number + 1, history.generations[number])
        found = history.generations[number]
        if found.checksum != checksum:
            raise DataError(
                f"generation {number + 1} in the state had other candidates: it was made with another cmaes or numpy"
            )
        strategy.tell(list(zip(vectors, found.values, strict=True)))
    return with_weights(plan, strategy.mean)


def check(plan: Plan, tuned: Parameters, seeds: range, executor: Executor) -> list[Check]:
    """Compare start and tuned weights on deals that neither has seen, variant by variant."""
    start, other = settle_all(executor, plan, [plan.start, tuned], seeds)
    return [compare(variant.id, start[variant.id], other[variant.id]) for variant in plan.variants]


# ---- weights and vectors


def units(start: Parameters) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the unit of each weight, shape (weights,): its size at the start, or `SMALLEST_UNIT`."""
    return np.maximum(np.abs(np.array(start.weights, np.float64)), SMALLEST_UNIT)


def with_weights(plan: Plan, vector: np.ndarray[Any, np.dtype[np.float64]]) -> Parameters:
    """Return the start's beam with the weights of a vector, rounded and within what a weights file may hold."""
    raw = np.clip(np.rint(vector * units(plan.start)), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    return plan.start._replace(weights=tuple(int(value) for value in raw))


def _strategy(plan: Plan) -> SepCMA:
    require_cmaes()
    from cmaes import SepCMA

    start = np.array(plan.start.weights, np.float64) / units(plan.start)
    return SepCMA(mean=start, sigma=STEP, seed=plan.seed, population_size=plan.population)


def require_cmaes() -> None:
    """Import the evolution strategy, before anything else takes time.

    Raises
    ------
    UsageError
        It is not installed.
    """
    try:
        import cmaes  # noqa: F401
    except ImportError:
        raise UsageError("tune needs the package cmaes; in a checkout: pip install '.[tune]'") from None


def default_start(variant: Variant) -> str:
    """Return the name of the weights that a variant is searched with."""
    from pipeline.engine import weights

    return variant.id if (weights.HERE / f"{variant.id}.toml").exists() else "default"


def read_start(word: str) -> Parameters:
    """Read the weights to begin with: a shipped set by name, or a file (x.toml).

    Raises
    ------
    UsageError
        There is no such set.
    ConfigError
        The file is no file of weights.
    """
    from pipeline.engine import weights

    path = Path(word) if word.endswith(".toml") or "/" in word else weights.HERE / f"{word}.toml"
    if not path.exists():
        names = ", ".join(sorted(shipped.stem for shipped in weights.HERE.glob("*.toml")))
        raise UsageError(f"--from {word}: no such file, and no such set of weights; the sets are: {names}")
    return read_weights(path)


# ---- settling deals


def settle_all(
    executor: Executor, plan: Plan, several: Sequence[Parameters], seeds: range
) -> list[dict[str, list[Effort]]]:
    """Settle the seeds of every variant with several sets of weights; of each set the efforts by variant.

    Raises
    ------
    WinnableError
        A worker died.
    """
    pieces = [seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK)]
    futures = [
        {
            variant.id: [executor.submit(settle, variant, one, piece, plan.nodes) for piece in pieces]
            for variant in plan.variants
        }
        for one in several
    ]
    return [{name: _join(executor, parts) for name, parts in by_variant.items()} for by_variant in futures]


def _join(executor: Executor, parts: Sequence[Future[list[Effort]]]) -> list[Effort]:
    try:
        return [effort for part in parts for effort in part.result()]
    except executor.lost as error:
        raise WinnableError(f"a worker died: {error}; with --state the same command goes on") from error


def settle(variant: Variant, parameters: Parameters, seeds: range, nodes: int) -> list[Effort]:
    """Settle native deals with given weights, in a worker."""
    solver = TrialSolver(parameters)
    outcomes = [solver.solve(deal(variant, seed), nodes) for seed in seeds]
    return [Effort(outcome.verdict != "unsettled", outcome.positions) for outcome in outcomes]


def _mean_value(by_variant: dict[str, list[Effort]], limit: int) -> float:
    values = [effort.value(limit) for efforts in by_variant.values() for effort in efforts]
    return math.fsum(values) / len(values)


def named(parameters: Parameters) -> dict[str, int]:
    """Return weights by name."""
    from pipeline.engine.weights import WEIGHT_NAMES

    return dict(zip(WEIGHT_NAMES, parameters.weights, strict=True))


def _generation(entry: dict[str, Any]) -> Generation:
    return Generation(tuple(map(float, entry["values"])), float(entry["start"]), int(entry["checksum"]))
