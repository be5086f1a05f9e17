"""The dataset: partitions of disjoint parts under `outcomes/`, one row per deal.

    data/outcomes/variant=<id>/numbering=<name>/part-<first>-<last>.parquet
    data/runs/        manifests and logs
    data/quarantine/  what `verify --repair` took out
    data/.staging/    the lock, and what is being written

A part holds the rows of the seeds that its name spans, normally a block of 32,768: `part-32768-65535.parquet`. To add
rows, the whole part is written to `.staging/` and renamed into place, so every reader finds each deal exactly once, as
it was before or after. Reading needs no lock; writing needs `writing()`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset import files, lock
from pipeline.dataset.rows import merge_tables, seeds_of, supersedes
from pipeline.dataset.schema import (
    COLUMNS,
    MOVE_OR_REPAIR,
    SCHEMA,
    parse_part_name,
    part_name,
    read_footer,
    read_rows,
    write_table,
)
from pipeline.dataset.seeds import Seeds
from pipeline.errors import StoreError

if TYPE_CHECKING:
    from pipeline.game.variants import Variant

BLOCK = 32_768  # seeds a new part spans, less those of parts that are there

T = TypeVar("T")
_ID = re.compile(r"[a-z0-9-]+")


class Partition(NamedTuple):
    """A variant and a numbering: one set of deals."""

    variant: str
    numbering: str

    def is_of(self, variants: Collection[str], numbering: str | None) -> bool:
        """Whether it is of one of these variants, any without one, and of this numbering, any if None."""
        return (not variants or self.variant in variants) and numbering in (None, self.numbering)

    def __str__(self) -> str:
        return f"{self.variant}/{self.numbering}"


class Part(NamedTuple):
    """A file of a partition and the seeds that its name spans, both ends included."""

    path: Path
    first: int
    last: int

    def span(self) -> tuple[int, int]:
        """Return both ends."""
        return self.first, self.last


class Store:
    """A dataset on disk.

    Parameters
    ----------
    data
        The directory that holds `outcomes/`; it need not exist yet.
    """

    def __init__(self, data: str | Path) -> None:
        self.data = Path(data)
        self.outcomes = self.data / "outcomes"
        self.runs = self.data / "runs"
        self.staging = self.data / ".staging"
        self.quarantine = self.data / "quarantine"
        self._writing = False

    @classmethod
    def existing(cls, data: str | Path) -> Store:
        """Open a dataset that must exist.

        Raises
        ------
        StoreError
            The directory is not a dataset.
        """
        store = cls(data)
        if not store.outcomes.is_dir():
            raise StoreError(f"{data}: not a dataset: expected a directory with outcomes/, as 'winnable run' makes")
        return store

    # ---- reading

    def partitions(self) -> list[Partition]:
        """List the partitions that hold a part, those of a variant together.

        Raises
        ------
        StoreError
            There is a foreign file or directory under `outcomes/`.
        """
        return sorted(partition for partition, parts in walk(self.outcomes) if parts and self.parts(partition))

    def choose(
        self, variants: Sequence[Variant], numbering: str | None = None, also: Iterable[Partition] = ()
    ) -> list[Partition]:
        """List the partitions of some variants and a numbering.

        Parameters
        ----------
        variants
            The variants; all without any.
        numbering
            The numbering; None for all.
        also
            Other partitions to choose from, such as planned ones.

        Raises
        ------
        StoreError
            One was settled under other rules than those of its variant.
        """
        rules = {variant.id: variant.rules_hash for variant in variants}
        chosen = [partition for partition in sorted({*self.partitions(), *also}) if partition.is_of(rules, numbering)]
        for partition in chosen:
            if partition.variant in rules:
                self.check_rules(partition, rules[partition.variant])
        return chosen

    def parts(self, partition: Partition) -> list[Part]:
        """List a partition's parts by seed.

        Raises
        ------
        StoreError
            A file is not named like a part, or two parts span the same seed.
        """
        folder = self.folder(partition)
        parts = sorted(map(part_of, entries(folder)), key=Part.span)
        for part, after in itertools.pairwise(parts):
            if after.first <= part.last:
                raise StoreError(
                    f"{folder}: {part.path.name} and {after.path.name} overlap, a seed may stand twice; run "
                    "'winnable verify'"
                )
        return parts

    def scan(
        self, partition: Partition, columns: Sequence[str] = COLUMNS, seeds: Seeds | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of `seeds`, by default of all, in ascending order, a part at a time.

        Parameters
        ----------
        columns
            Names of the columns to yield, in this order.

        Raises
        ------
        StoreError
            A part is damaged, foreign or newer, or the rules of two parts differ.
        """
        rules: str | None = None
        for part in self.parts(partition):
            wanted = None if seeds is None else seeds.between(part.first, part.last + 1)
            if wanted is not None and not wanted:
                continue
            try:
                table = read_rows(part.path)
            except FileNotFoundError:  # a repair has taken it out
                continue
            here = table["rules_hash"][0].as_py()
            if rules not in (None, here):
                raise StoreError(f"{part.path}: rules_hash {here}, that of the parts before it is {rules}")
            rules = here
            if wanted is not None:
                table = table.filter(pa.array(wanted.among(seeds_of(table))))
            if len(table):
                yield table.select(list(columns))

    def read(self, variant: str, numbering: str = "native", columns: Sequence[str] = COLUMNS) -> pa.Table:
        """Return all of a partition's rows by seed, none if there is no such partition (see `scan`)."""
        tables = self.scan(Partition(variant, numbering), columns)
        return pa.concat_tables([SCHEMA.empty_table().select(list(columns)), *tables]).unify_dictionaries()

    def rules_hash(self, partition: Partition) -> str | None:
        """Return the hash of the rules a partition was settled under; None if it is empty."""
        for part in self.parts(partition):
            with contextlib.suppress(FileNotFoundError):
                return read_footer(part.path).rules_hash
        return None

    def check_rules(self, partition: Partition, rules_hash: str) -> None:
        """Refuse a partition that was settled under other rules.

        Parameters
        ----------
        rules_hash
            `Variant.rules_hash` of the rules in use.

        Raises
        ------
        StoreError
            Its rules are not those of `rules_hash`.
        """
        stored = self.rules_hash(partition)
        if stored not in (None, rules_hash):
            raise StoreError(
                f"{self.folder(partition)}: settled under other rules of {partition.variant} (rules_hash {stored}, the "
                f"variant's is {rules_hash}); use another --data, or give your variant another id"
            )

    def missing(
        self, partition: Partition, seeds: Seeds, node_limit: int, *, retry: bool = False, solver: str | None = None
    ) -> Seeds:
        """Return those of `seeds` that a run must settle.

        Parameters
        ----------
        node_limit
            The run's node limit: a row unsettled at a smaller one is missing, one at this or a larger one is done.
        retry
            Whether rows left unsettled at this limit are missing too if one by `solver` would replace them; one at a
            larger limit stands whatever came of it, so it is done.
        """
        if not seeds:
            return seeds
        missing: list[range] = []
        next_seed = seeds.first
        columns = ("seed", "verdict", "node_limit", "solver")
        for table in self.scan(partition, columns, seeds):
            stop = int(seeds_of(table)[-1]) + 1
            done = seeds_of(table)[done_mask(table, node_limit, retry=retry, solver=solver)]
            missing += seeds.between(next_seed, stop).without(done).ranges
            next_seed = stop
        return Seeds.of([*missing, *seeds.between(next_seed, seeds.last + 1).ranges])

    def folder(self, partition: Partition) -> Path:
        """Return a partition's directory."""
        return self.outcomes / f"variant={partition.variant}" / f"numbering={partition.numbering}"

    # ---- writing

    @contextlib.contextmanager
    def writing(self, command: str) -> Iterator[None]:
        """Hold the dataset for writing; everything below `writing` needs it.

        Parameters
        ----------
        command
            The name others see for what the holder is doing.

        Raises
        ------
        StoreError
            Another process writes, or the directory cannot be written.
        """
        if self._writing:
            yield
            return
        files.make_directory(self.outcomes)
        files.make_directory(self.runs)
        with lock.hold(self.staging, command, timeout=1.0):
            self._writing = True
            try:
                for path in [*self.staging.glob("*.tmp"), *self.staging.glob("new-*.parquet")]:
                    files.remove(path)  # a killed command had not finished it
                yield
            finally:
                self._writing = False

    def add(self, partition: Partition, table: pa.Table) -> None:
        """Add rows; where the partition has a seed already, the stronger row stands (see `rows.contest`).

        Each part that gets rows is replaced in one step; killed between two parts, the same call again adds the rest.

        Parameters
        ----------
        table
            Rows in the dataset's schema, sorted by seed, without repeats.

        Raises
        ------
        StoreError
            A row contradicts the one that is there, or is of other rules; a part is damaged; the disk is full.
        """
        parts, seeds = self.parts(partition), seeds_of(table)
        start = 0
        while start < len(table):
            part = self._home(partition, parts, int(seeds[start]))
            stop = int(np.searchsorted(seeds, part.last, side="right"))
            rows = table[start:stop]
            present = read_rows(part.path) if part in parts else rows[:0]
            if len(present):
                check_same_rules(part.path, present, rows)
            merged = merge_tables(present, rows)
            if merged is not present:
                self.publish(part, merged)
            start = stop

    def publish(self, part: Part, table: pa.Table) -> None:
        """Replace a part by rows, in one step."""
        files.make_directory(part.path.parent)
        staged = self.staging / f"new-{os.getpid()}.parquet"
        files.write_file(staged, lambda file: write_table(table, file))
        files.rename(staged, part.path)
        files.sync_directory(part.path.parent)

    def _home(self, partition: Partition, parts: Sequence[Part], seed: int) -> Part:
        """Return the part that spans a seed; a new one spans what no other does of the seed's block."""
        after = bisect_right([part.first for part in parts], seed)
        first, last = seed - seed % BLOCK, seed - seed % BLOCK + BLOCK - 1
        if after > 0:
            if seed <= parts[after - 1].last:
                return parts[after - 1]
            first = max(first, parts[after - 1].last + 1)
        if after < len(parts):
            last = min(last, parts[after].first - 1)
        return Part(self.folder(partition) / part_name(first, last), first, last)


def done_mask(table: pa.Table, node_limit: int, *, retry: bool, solver: str | None) -> npt.NDArray[np.bool_]:
    """Return which rows a run leaves as they are.

    Parameters
    ----------
    table
        Rows with the columns `verdict`, `node_limit` and `solver`.
    node_limit, retry, solver
        The run's; see `Store.missing`.

    Returns
    -------
    ndarray of bool, shape (rows,)
    """
    proved = pc.not_equal(table["verdict"].cast(pa.string()), "unsettled")
    far_enough = pc.greater_equal(table["node_limit"], node_limit)
    if retry:
        known = table["solver"].cast(pa.string())
        older = [old for old in pc.unique(known).to_pylist() if supersedes(solver or "", old)]
        again = pc.and_(pc.equal(table["node_limit"], node_limit), pc.is_in(known, pa.array(older, pa.string())))
        far_enough = pc.and_(far_enough, pc.invert(again))
    mask: npt.NDArray[np.bool_] = pc.or_(proved, far_enough).to_numpy().astype(bool)
    return mask


def walk(
    outcomes: Path,
    foreign: Callable[[Path, StoreError], object] | None = None,
    only: Callable[[Partition], bool] = lambda _partition: True,
) -> Iterator[tuple[Partition, list[Part]]]:
    """Yield the partitions under `outcomes/`, each with its parts, also those that overlap.

    Parameters
    ----------
    foreign
        Called with each foreign file or directory, which is then left out.
    only
        Which partitions to look into.

    Raises
    ------
    StoreError
        There is a foreign file or directory, and no `foreign` to call.
    """

    def ours(folder: Path, read: Callable[[Path], T]) -> Iterator[tuple[Path, T]]:
        for path in entries(folder):
            try:
                yield path, read(path)
            except StoreError as error:
                if foreign is None:
                    raise
                foreign(path, error)

    for above, variant in ours(outcomes, partial(_key_of, key="variant")):
        for folder, numbering in ours(above, partial(_key_of, key="numbering")):
            if only(partition := Partition(variant, numbering)):
                yield partition, [part for _, part in ours(folder, part_of)]


def _key_of(path: Path, key: str) -> str:
    """Return the value in the name of a directory `key=<value>`; refuse any other name."""
    name, _, value = path.name.partition("=")
    if name != key or not _ID.fullmatch(value) or not path.is_dir():
        raise StoreError(f"{path}: expected a directory {key}=<name>{MOVE_OR_REPAIR}")
    return value


def part_of(path: Path) -> Part:
    """Return a file as a part; refuse one that is not named like a part."""
    span = parse_part_name(path.name)
    if span is None or not path.is_file():
        raise StoreError(f"{path}: not a part of a dataset{MOVE_OR_REPAIR}")
    return Part(path, *span)


def check_same_rules(path: Path, present: pa.Table, rows: pa.Table) -> None:
    """Refuse rows of other rules than those of a part."""
    old, new = (table["rules_hash"][0].as_py() for table in (present, rows))
    if old != new:
        raise StoreError(f"{path}: settled under other rules (rules_hash {old}) than the rows to add ({new})")


def entries(folder: Path) -> list[Path]:
    """List a directory without its hidden entries, which every reader of Parquet datasets skips."""
    if not folder.is_dir():
        return []
    with files.explained("read", folder):
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
