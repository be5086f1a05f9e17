"""The evaluation's weights and the beam's parameters, one TOML file a set, with their provenance."""

from __future__ import annotations

import functools
import pathlib
import tomllib
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent

WEIGHT_NAMES = (
    "empty",  # each empty column
    "more_empty",  # on top of that, each after the first
    "join",  # same-suit pair
    "run_square",  # squared length of a same-suit run
    "mixed",  # descending pair of two suits
    "break_",  # (cost) a card on one it does not fit
    "break_up",  # (cost) the same, going up
    "down",  # (cost) face-down card
    "down_column",  # (cost) column with face-down cards
    "down_pair",  # descending neighbours face down, or a card on its rank's neighbour face down
    "down_runs",  # (cost) runs in a column with face-down cards, each
    "king_base",  # King at the bottom of a column with nothing face down
    "base_chain",  # each card of the descending chain from such a King
    "ordered",  # column that is one descending chain
    "top_king",  # (cost) King on top of others
    "top_ranks",  # distinct ranks on top
    "same_ready",  # top run whose same-suit parent is on top of a column
    "mixed_ready",  # top run with any parent on top
    "shallowest",  # (cost) runs and face-down cards of the shallowest column
    "set_done",  # completed set
    "depth",  # (cost) move
    "noise",  # amplitude of the pass's noise
)


class Parameters(NamedTuple):
    """Weights (thousandths of a point) and the beam's shape."""

    weights: tuple[int, ...]  # in the order of WEIGHT_NAMES
    first_width: int
    growth: int  # per cent
    brood: int  # most children of a state that are kept
    layers: int
    last_layers: int
    modes: tuple[int, ...]  # of the passes in turn, each a sum of:
    # 1 parts of runs go onto same-suit parents, 2 joins are forced: where there are any, nothing else is played,
    # 4 unless more runs would go there than there are places, 8 but moves that turn up a card are played too,
    # 16 every legal move is played
    last_width: int = 100  # of the last stage, the only one without a stock: per cent of the others' width
    narrowing: int = 8  # divides the width of passes that play every move
    complete_first: int = 0  # of two packs: positions of the complete search once the beam has reached 100,000, and
    complete_share: int = 5  # on top of that for each thousand of the beam's


@functools.cache
def load_parameters(name: str) -> Parameters:
    """Read `weights/<name>.toml`, or the default when there is no such file."""
    path = HERE / f"{name}.toml"
    return read_parameters(path if path.exists() else HERE / "default.toml")


def read_parameters(path: pathlib.Path) -> Parameters:
    """Read a weights file; raise ValueError naming the file and what is wrong."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    weights, beam = data.get("weights", {}), data.get("beam", {})
    if set(weights) != set(WEIGHT_NAMES):
        raise ValueError(f"{path}: [weights] differs in {sorted(set(weights) ^ set(WEIGHT_NAMES))}")
    if not all(isinstance(value, int) and abs(value) < 2**24 for value in weights.values()):
        raise ValueError(f"{path}: [weights] holds integers below {2**24} in size")
    return Parameters(tuple(weights[name] for name in WEIGHT_NAMES), **{**beam, "modes": tuple(beam["modes"])})
