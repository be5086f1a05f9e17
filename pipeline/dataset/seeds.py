"""Sets of seeds as sorted, disjoint ranges, so that a billion seeds take next to no memory."""

from __future__ import annotations

import itertools
import operator
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

from pipeline.errors import DataError, UsageError
from pipeline.game.deals import DATASET_SEEDS
from pipeline.game.numbers import whole_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LAST_SEED = 2**63 - 1
_LINES_AT_MOST = 20_000_000


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds in ascending order.

    Attributes
    ----------
    ranges
        Non-empty ranges of step 1, ascending, neither overlapping nor adjoining.
    """

    ranges: tuple[range, ...]

    @classmethod
    def of(cls, ranges: Iterable[range]) -> Seeds:
        """Join ranges given in any order, overlapping or not."""
        joined: list[range] = []
        for piece in sorted((r for r in ranges if len_of(r)), key=lambda r: r.start):
            if joined and piece.start <= joined[-1].stop:
                joined[-1] = range(joined[-1].start, max(joined[-1].stop, piece.stop))
            else:
                joined.append(range(piece.start, piece.stop))
        return cls(tuple(joined))

    @classmethod
    def of_numbers(cls, numbers: Iterable[int]) -> Seeds:
        """Gather single seeds, in any order and repeated or not."""
        return cls.of(range(n, n + 1) for n in numbers)

    @property
    def count(self) -> int:
        """The number of seeds."""
        return sum(map(len_of, self.ranges))

    @property
    def first(self) -> int:
        """The smallest seed."""
        return self.ranges[0].start

    @property
    def last(self) -> int:
        """The largest seed."""
        return self.ranges[-1].stop - 1

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        for piece in self.ranges:
            yield from piece

    def __contains__(self, seed: object) -> bool:
        try:
            seed = operator.index(seed)  # type: ignore[arg-type]
        except TypeError:
            return False
        place = bisect_right(self.ranges, seed, key=lambda r: r.start) - 1
        return place >= 0 and seed < self.ranges[place].stop

    def __str__(self) -> str:
        texts = [str(r.start) if len_of(r) == 1 else f"{r.start}:{r.stop - 1}" for r in self.ranges]
        return ", ".join(texts if len(texts) <= 6 else [*texts[:3], f"... {len(texts) - 4} more ...", texts[-1]])

    def texts(self) -> list[str]:
        """Return the ranges as `A:B`, both ends included, for JSON."""
        return [f"{piece.start}:{piece.stop - 1}" for piece in self.ranges]

    def slice(self, start: int, stop: int) -> Seeds:
        """Return the seeds at positions `start` to `stop - 1` of the ascending order."""
        pieces = []
        for piece in self.ranges:
            size = len_of(piece)
            low, high = max(0, start), min(size, stop)
            if low < high:
                pieces.append(range(piece.start + low, piece.start + high))
            start, stop = start - size, stop - size
            if stop <= 0:
                break
        return Seeds(tuple(pieces))

    def between(self, start: int, stop: int) -> Seeds:
        """Return the seeds from `start` to `stop - 1`."""
        low = max(0, bisect_right(self.ranges, start, key=lambda r: r.start) - 1)
        pieces = (
            range(max(piece.start, start), min(piece.stop, stop))
            for piece in itertools.takewhile(lambda piece: piece.start < stop, self.ranges[low:])
        )
        return Seeds(tuple(filter(len_of, pieces)))

    def shard(self, number: int, shards: int) -> Seeds:
        """Return the `number`-th (from 1) of `shards` contiguous parts whose sizes differ by at most one."""
        count = self.count
        return self.slice(count * (number - 1) // shards, count * number // shards)

    def among(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which of `numbers`, an ascending int64 array, are seeds of this set; shape of `numbers`."""
        inside = numbers < 0
        for piece in self.ranges:
            low, high = numbers.searchsorted(piece.start), numbers.searchsorted(piece.stop - 1, side="right")
            inside[low:high] = True
        return inside

    def without(self, done: npt.NDArray[np.int64]) -> Seeds:
        """Return the seeds that are not in `done`, a strictly ascending int64 array."""
        pieces = []
        for piece in self.ranges:
            low, high = done.searchsorted(piece.start), done.searchsorted(piece.stop - 1, side="right")
            inside = done[low:high]
            if len(inside) == 0:
                pieces.append(piece)
                continue
            # A gap opens after every number whose follower is not the next one.
            breaks = (inside[1:] - inside[:-1] > 1).nonzero()[0]
            starts = [piece.start, *(int(n) + 1 for n in inside[breaks]), int(inside[-1]) + 1]
            stops = [int(inside[0]), *(int(n) for n in inside[breaks + 1]), piece.stop]
            pieces.extend(range(a, b) for a, b in zip(starts, stops, strict=True) if a < b)
        return Seeds(tuple(pieces))


def given_seeds(seeds: Iterable[SupportsIndex]) -> Seeds:
    """Return the seeds a caller gives: a range, a list, a numpy array, a column of a frame.

    Raises
    ------
    UsageError
        These are no whole numbers.
    """
    if isinstance(seeds, Seeds):
        return seeds
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise UsageError(f"seeds {seeds!r:.40}: expected numbers, such as range(1, 101) or [3, 5]")
    if isinstance(seeds, range) and seeds.step == 1:
        return Seeds.of([seeds])
    return Seeds.of_numbers(whole_number("seed", seed) for seed in seeds)


def check_span(seeds: Seeds, numbering: str) -> None:
    """Check that a dataset can hold seeds of a numbering.

    Raises
    ------
    UsageError
        It cannot; names the span it can hold.
    """
    allowed = DATASET_SEEDS[numbering]
    if seeds and (seeds.first < allowed.start or seeds.last >= allowed.stop):
        span = f"{allowed.start} to {allowed.stop - 1}"
        raise UsageError(f"seeds {seeds}: {numbering} numbers in a dataset go from {span}")


def len_of(piece: range) -> int:
    """Return the length of a range of step 1, which may exceed the range of `len`."""
    return max(0, piece.stop - piece.start)


def parse_seeds(text: str) -> range:
    """Read `A:B` (both included) or `A` as a range of seeds.

    Raises
    ------
    UsageError
        It is not of that form, descends, or leaves 0 to 2**63 - 1.
    """
    match = re.fullmatch(r"\s*([0-9][0-9_]*)\s*(?::\s*([0-9][0-9_]*)\s*)?", text, re.ASCII)
    if match is None or len(text) > 64:
        raise UsageError(f"{text[:40]!r} is not a valid seed: expected A or A:B (both included), for example 1:1000")
    first = int(match[1])
    last = int(match[2]) if match[2] is not None else first
    if first > last:
        raise UsageError(
            f"{text!r} is not a valid range of seeds: expected A:B with A <= B; did you mean {last}:{first}?"
        )
    if last > LAST_SEED:
        raise UsageError(f"{text!r} is not a valid seed: expected at most {LAST_SEED} (2**63 - 1), all a dataset holds")
    return range(first, last + 1)


def parse_texts(texts: list[str]) -> Seeds:
    """Return the seeds that `Seeds.texts` was made of; a TypeError or a UsageError of anything else."""
    if not isinstance(texts, list):
        raise TypeError(f"{texts!r} is not a list")
    return Seeds.of(map(parse_seeds, texts))


def read_seeds(path: str | Path) -> Seeds:
    """Read a file of seeds: a number or `A:B` per line; blank lines and text after a `#` are ignored.

    Parameters
    ----------
    path
        The file; `-` is standard input.

    Raises
    ------
    DataError
        The file cannot be read, has a line that is not valid (names it), or has no seed.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        lines = raw.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} is not a text file (byte {error.start} is not UTF-8): expected a seed per line"
        ) from error
    if len(lines) > _LINES_AT_MOST:
        raise DataError(
            f"{name}: expected at most {_LINES_AT_MOST:,} lines, not {len(lines):,}; write ranges A:B instead"
        )
    seeds = Seeds.of(_seed_lines(lines, name))
    if not seeds:
        raise DataError(f"{name} has no seed: expected a number per line")
    return seeds


def _seed_lines(lines: Sequence[str], name: str) -> Iterator[range]:
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            try:
                yield parse_seeds(text)
            except UsageError as error:
                raise DataError(f"{name}: line {number}: {error}") from None
