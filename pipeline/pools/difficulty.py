"""Difficulty: how hard a won deal is among the deals of its variant, 1 (the easiest fifth) to 5 (the hardest).

Three measures count: the positions the solver needed, the moves of its line, and the wins of `PLAYOUTS` seeded playouts
by a simple player (see `pipeline.pools.playouts`; without a win, the sets they removed). Each is ranked within a sample
of the variant's deals, shipped with the package: of 100 sample values, the number below it plus the number not above
it. The three ranks, that of the playouts reversed, add up to a score of 0 to 600. Four thresholds, the fifths of the
sample's own scores, turn the score into a level.

Everything is in whole numbers, so the same deal, positions and line give the same level on every machine. A variant
without a sample is compared with the samples of the six main variants together, its moves counted per two packs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.dataset.files import read_json
from pipeline.errors import DataError
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.variants import Variant
from pipeline.pools.playouts import play_out

PLAYOUTS = 3
LEVELS = range(1, 6)
CALIBRATION = Path(__file__).with_name("calibration.json")
_POINTS = 100  # values kept per measure of a sample
_TWO_PACKS = 104
_OTHERS = "others"


class Measures(NamedTuple):
    """The measures of a won deal; `playouts` is 1000 per win plus the sets removed, and more is easier."""

    positions: int
    moves: int
    playouts: int


class Scale(NamedTuple):
    """A sample to rank deals in: sorted values per measure, and the four thresholds of the score."""

    positions: tuple[int, ...]
    moves: tuple[int, ...]
    playouts: tuple[int, ...]
    levels: tuple[int, ...]

    def score(self, measures: Measures) -> int:
        """Return 0 (easier than the whole sample) to 600 (harder)."""
        return (
            _rank(self.positions, measures.positions)
            + _rank(self.moves, measures.moves)
            + 2 * len(self.playouts)
            - _rank(self.playouts, measures.playouts)
        )

    def level(self, measures: Measures) -> int:
        """Return the difficulty, 1 to 5."""
        return 1 + bisect_right(self.levels, self.score(measures))


def _rank(sample: Sequence[int], value: int) -> int:
    return bisect_left(sample, value) + bisect_right(sample, value)


def difficulty(board: Board, positions: int, moves: int) -> int:
    """Return the difficulty of a won deal, 1 to 5.

    Parameters
    ----------
    board
        The deal.
    positions, moves
        Positions the solver needed, and moves of its line.

    Raises
    ------
    DataError
        The shipped sample is missing or damaged.
    """
    scales, key = _scales(), (board.variant.id, board.variant.rules_hash)
    if key in scales:  # the same rules under another id are searched with other weights
        return scales[key].level(measure(board, positions, moves))
    return scales[_OTHERS, ""].level(measure(board, positions, moves, per_pack=True))


def measure(board: Board, positions: int, moves: int, *, per_pack: bool = False) -> Measures:
    """Measure a won deal.

    Parameters
    ----------
    board
        The deal.
    positions, moves
        Positions the solver needed, and moves of its line.
    per_pack
        Scale the moves to two packs.
    """
    won, sets = play_out(board, PLAYOUTS)
    if per_pack:
        moves = moves * _TWO_PACKS // board.variant.cards
    return Measures(positions, moves, won * 1000 + sets)


def measure_deals(variant: Variant, numbering: str, deals: Iterable[tuple[int, int, int]]) -> list[Measures]:
    """Measure numbered deals, given as (seed, positions, moves), in a worker."""
    return [measure(deal(variant, seed, numbering), positions, moves) for seed, positions, moves in deals]


def scale_of(measured: Sequence[Measures]) -> Scale:
    """Return the scale made from a sample of won deals.

    Raises
    ------
    ValueError
        The sample is empty.
    """
    if not measured:
        raise ValueError("no deal of the sample is won")
    positions, moves, playouts = (_thinned(values) for values in zip(*measured, strict=True))
    scale = Scale(positions, moves, playouts, ())
    scores = sorted(map(scale.score, measured))
    return scale._replace(levels=tuple(scores[len(scores) * fifth // 5] for fifth in range(1, 5)))


def _thinned(values: Iterable[int]) -> tuple[int, ...]:
    """Return evenly spaced values of a sample, sorted."""
    ordered = sorted(values)
    points = min(_POINTS, len(ordered))
    return tuple(ordered[(2 * i + 1) * len(ordered) // (2 * points)] for i in range(points))


@lru_cache
def _scales() -> dict[tuple[str, str], Scale]:
    """Return the shipped scales by id and rules hash, and the scale of all other variants.

    Raises
    ------
    DataError
        The shipped file is missing or damaged.
    """

    def parse(content: dict[str, Any]) -> dict[tuple[str, str], Scale]:
        scales = {(name, entry["rules_hash"]): _scale(entry) for name, entry in content["variants"].items()}
        return scales | {(_OTHERS, ""): _scale(content[_OTHERS])}

    return read_json(CALIBRATION, "sample of deals", parse, "; install winnable again", DataError)


def _scale(entry: dict[str, Any]) -> Scale:
    return Scale._make(tuple(entry[name]) for name in Scale._fields)
