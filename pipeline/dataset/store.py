"""The dataset: partitions of disjoint parts under `outcomes/`, one row a deal.

    data/outcomes/variant=<id>/numbering=<name>/part-<first>-<last>.parquet
    data/runs/        manifests and logs
    data/quarantine/  what `verify --repair` took out
    data/.staging/    the lock, and what is being written

Reading needs no lock: a reader takes the parts that are there, and starts again if one was replaced meanwhile. Writing
needs `writing()`. Both first finish what a killed command left behind.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset import files, lock
from pipeline.dataset.journal import Journal
from pipeline.dataset.rows import join_tables, merge_tables, seeds_of, supersedes
from pipeline.dataset.schema import (
    COLUMNS,
    MOVE_OR_REPAIR,
    SCHEMA,
    VERSION,
    Footer,
    parse_part_name,
    read_footer,
    read_rows,
)
from pipeline.dataset.seeds import Seeds
from pipeline.errors import StoreError

PART_ROWS = 1_048_576  # a compacted part holds at most this many rows
SMALL_ROWS = 131_072  # a part of at most this many rows is rewritten at once when rows fall into its range

_ID = re.compile(r"[a-z0-9-]+")
T = TypeVar("T")


class Partition(NamedTuple):
    """What one set of deals is: a variant and a numbering."""

    variant: str
    numbering: str

    def __str__(self) -> str:
        return f"{self.variant}/{self.numbering}"


class Part(NamedTuple):
    """A file of a partition and what its footer says."""

    path: Path
    footer: Footer


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
        self.journal = Journal(self.staging, self.outcomes)
        self._writing = False
        self._footers: dict[Path, tuple[tuple[int, int, int], Footer]] = {}

    # ---- reading

    def partitions(self) -> list[Partition]:
        """List the partitions that hold a part, those of a variant together.

        Raises
        ------
        StoreError
            Something under `outcomes/` is not ours.
        """
        self.recover()
        found = []
        for above in entries(self.outcomes):
            check_folder(above, "variant")
            for folder in entries(above):
                check_folder(folder, "numbering")
                if any(self._part_paths(folder)):
                    found.append(Partition(above.name.partition("=")[2], folder.name.partition("=")[2]))
        return sorted(found)

    def parts(self, partition: Partition) -> list[Part]:
        """List a partition's parts by seed, their footers checked against their names and each other.

        Raises
        ------
        StoreError
            A part is damaged, foreign or newer, two parts overlap, or their rules differ.
        """
        return self._consistent(partition, lambda parts: parts)

    def read(self, variant: str, numbering: str = "native", columns: Sequence[str] | None = None) -> pa.Table:
        """Return a partition's rows by seed; an empty table if there is none.

        Parameters
        ----------
        columns
            Names of columns; all by default.

        Raises
        ------
        StoreError
            The partition cannot be trusted as it is.
        """
        names = list(COLUMNS if columns is None else columns)
        empty = SCHEMA.empty_table().select(names)

        def gather(parts: list[Part]) -> pa.Table:
            tables = [read_rows(part.path).select(names) for part in parts]
            return pa.concat_tables([empty, *tables]).unify_dictionaries()

        return self._consistent(Partition(variant, numbering), gather)

    def scan(self, partition: Partition) -> Iterator[pa.Table]:
        """Yield a partition's rows by seed, a part at a time."""
        done, parts = -1, self.parts(partition)
        while parts:
            try:
                table = read_rows(parts[0].path)
            except FileNotFoundError:
                parts = [part for part in self.parts(partition) if part.footer.last > done]
                continue
            yield table if parts[0].footer.first > done else table.filter(pc.greater(table["seed"], done))
            done = parts.pop(0).footer.last

    def rules_hash(self, partition: Partition) -> str | None:
        """Return the hash of the rules a partition was settled under; None if it is empty."""
        parts = self.parts(partition)
        return parts[0].footer.rules_hash if parts else None

    def check_rules(self, partition: Partition, rules_hash: str) -> None:
        """Refuse a partition that was settled under other rules.

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
        self, partition: Partition, seeds: Seeds, nodes: int, *, retry: bool = False, solver: str | None = None
    ) -> Seeds:
        """Return those of `seeds` that a run must settle.

        Parameters
        ----------
        nodes
            The run's node limit: a row unsettled at a smaller one is missing, one at this or a larger one is done.
        retry
            Whether rows left unsettled at this limit are missing too if one by `solver` would replace them; one at a
            larger limit stands whatever came of it, so it is done.
        """
        table = self.read(*partition, ["seed", "verdict", "node_limit", "solver"])
        return seeds.without(seeds_of(table)[done_mask(table, nodes, retry=retry, solver=solver)])

    def folder(self, partition: Partition) -> Path:
        """Return a partition's directory."""
        return self.outcomes / f"variant={partition.variant}" / f"numbering={partition.numbering}"

    def recover(self) -> None:
        """Finish what a killed command left: its journal, its postponed rows, its half-written files.

        Raises
        ------
        StoreError
            It cannot be finished (no access, or the journal is damaged).
        """
        if self._writing or not self.staging.is_dir():
            return
        if not self.journal.path.exists() and next(self.staging.glob("pending.*"), None) is None:
            return
        try:
            with self.writing("recovery"):
                return
        except lock.BusyError:
            self._wait_for_journal()

    # ---- writing

    @contextlib.contextmanager
    def writing(self, command: str, *, recover: bool = True) -> Iterator[None]:
        """Hold the dataset for writing; everything below `writing` needs it.

        Parameters
        ----------
        command
            What others are told that the holder is doing.
        recover
            Whether to finish first what a killed command left.

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
                if recover:
                    self.journal.finish()
                    self.journal.sweep()
                    self.merge_pending()
                yield
            finally:
                self._writing = False

    def add(self, partition: Partition, table: pa.Table) -> None:
        """Add rows, sorted by seed without repeats; where the partition has a seed already, the stronger row stands.

        Rows between the parts become parts of their own; a small part they fall into is split around them; rows that
        fall into a large part are postponed until `merge_pending`.
        """
        postponed = self._add(partition, table, SMALL_ROWS)
        if len(postponed):
            self.journal.postpone(*partition, postponed)

    def merge_pending(self) -> None:
        """Merge the postponed rows into their partitions."""
        waiting: dict[Partition, list[Path]] = {}
        for variant, numbering, path in self.journal.pending():
            waiting.setdefault(Partition(variant, numbering), []).append(path)
        for partition, paths in waiting.items():
            rows = SCHEMA.empty_table()
            for path in paths:
                rows = merge_tables(rows, read_rows(path))
            self._add(partition, rows, None)
            for path in paths:
                files.remove(path)

    def compact(self, partition: Partition, *, part_rows: int = PART_ROWS) -> tuple[int, int]:
        """Join neighbouring small parts; return the numbers of parts before and after.

        A part of more than half of `part_rows` rows and of the current schema stays as it is, so that a dataset that
        grows by a little every night is not rewritten every night.
        """
        parts = self.parts(partition)
        after = 0
        for group in _groups(parts, part_rows):
            after += 1
            if len(group) > 1 or group[0].footer.version != VERSION:
                rows = join_tables(read_rows(part.path) for part in group)
                self.journal.replace(self.folder(partition), [rows], [part.path for part in group])
        return len(parts), after

    # ---- within

    def _add(self, partition: Partition, table: pa.Table, at_most: int | None) -> pa.Table:
        """Add rows; return those that fall into a part of more than `at_most` rows."""
        if len(table) == 0:
            return table
        folder, parts, seeds = self.folder(partition), self.parts(partition), seeds_of(table)
        place = np.searchsorted([part.footer.first for part in parts], seeds, side="right") - 1
        lasts = np.array([*(part.footer.last for part in parts), -1])
        inside = seeds <= lasts[place]  # place -1, before the first part, finds the -1 at the end
        postponed = [table[:0]]
        starts = np.flatnonzero(np.diff(place * 2 + inside, prepend=-4))
        for start, stop in zip(starts, [*starts[1:], len(seeds)], strict=True):
            rows, part = table[start:stop], parts[place[start]] if inside[start] else None
            if part is None:
                self.journal.append(folder, rows)
            elif at_most is not None and part.footer.rows > at_most:
                postponed.append(rows)
            else:
                self.journal.replace(folder, _split_around(read_rows(part.path), rows), [part.path])
        return pa.concat_tables(postponed)

    def _consistent(self, partition: Partition, use: Callable[[list[Part]], T]) -> T:
        """Call `use` on the parts; again if another command replaced one of them meanwhile."""
        for _ in range(100):
            self.recover()
            with contextlib.suppress(FileNotFoundError):
                parts = self._read_parts(partition)
                result = use(parts)
                if self._writing or not self.journal.path.exists():
                    return result
            time.sleep(0.05)
        raise StoreError(f"{self.folder(partition)}: parts keep vanishing while they are read")

    def _read_parts(self, partition: Partition) -> list[Part]:
        folder = self.folder(partition)
        parts = [Part(path, self._footer(path)) for path in self._part_paths(folder)]
        parts.sort(key=lambda part: part.footer.first)
        for one, other in itertools.pairwise(parts):
            if other.footer.first <= one.footer.last:
                raise StoreError(
                    f"{folder}: {one.path.name} and {other.path.name} overlap, a seed may stand twice; run "
                    "'winnable verify'"
                )
            if one.footer.rules_hash != other.footer.rules_hash:
                raise StoreError(f"{folder}: {one.path.name} and {other.path.name} are of different rules (rules_hash)")
        return parts

    def _footer(self, path: Path) -> Footer:
        """Read a footer once: a long run lists its parts every few seconds."""
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._footers.get(path)
        if known is None or known[0] != stamp:
            known = self._footers[path] = stamp, read_footer(path)
        return known[1]

    def _part_paths(self, folder: Path) -> Iterator[Path]:
        for path in entries(folder):
            check_file(path)
            yield path

    def _wait_for_journal(self) -> None:
        """Give the process that holds the lock time to finish its replacement."""
        for _ in range(200):
            if not self.journal.path.exists():
                return
            time.sleep(0.05)
        raise StoreError(f"{self.data}: {lock.describe_holder(self.staging)} does not finish its replacement of parts")


def done_mask(table: pa.Table, nodes: int, *, retry: bool, solver: str | None) -> npt.NDArray[np.bool_]:
    """Return which rows (columns `verdict`, `node_limit`, `solver`) a run with this limit leaves as they are."""
    proved = pc.not_equal(table["verdict"].cast(pa.string()), "unsettled")
    far_enough = pc.greater_equal(table["node_limit"], nodes)
    if retry:
        known = table["solver"].cast(pa.string())
        older = [one for one in pc.unique(known).to_pylist() if supersedes(solver or "", one)]
        again = pc.and_(pc.equal(table["node_limit"], nodes), pc.is_in(known, pa.array(older, pa.string())))
        far_enough = pc.and_(far_enough, pc.invert(again))
    mask: npt.NDArray[np.bool_] = pc.or_(proved, far_enough).to_numpy().astype(bool)
    return mask


def _split_around(present: pa.Table, rows: pa.Table) -> list[pa.Table]:
    """Merge rows into those of a part; what lies before and after them stays apart unless the part is large."""
    if len(present) > SMALL_ROWS:
        return [merge_tables(present, rows)]
    seeds = seeds_of(rows)
    low, high = np.searchsorted(seeds_of(present), [seeds[0], seeds[-1] + 1])
    tables = [present[:low], merge_tables(present[low:high], rows), present[high:]]
    return [table for table in tables if len(table)]


def _groups(parts: Sequence[Part], part_rows: int) -> Iterator[list[Part]]:
    """Gather neighbours into groups of at most `part_rows` rows; large parts stay alone."""
    group: list[Part] = []
    rows = 0
    for part in parts:
        size = part.footer.rows
        alone = size > part_rows // 2
        if group and (alone or rows + size > part_rows):
            yield group
            group, rows = [], 0
        group.append(part)
        rows += size
        if alone:
            yield group
            group, rows = [], 0
    if group:
        yield group


def check_folder(path: Path, key: str) -> None:
    """Refuse what is no directory `key=<name>`."""
    name, _, value = path.name.partition("=")
    if name != key or not _ID.fullmatch(value) or not path.is_dir():
        raise StoreError(f"{path}: expected a directory {key}=<name>{MOVE_OR_REPAIR}")


def check_file(path: Path) -> None:
    """Refuse what is not called like a part."""
    if parse_part_name(path.name) is None or not path.is_file():
        raise StoreError(f"{path}: no part of winnable{MOVE_OR_REPAIR}")


def entries(folder: Path) -> list[Path]:
    """List a directory but for hidden entries, which every reader of Parquet datasets skips too."""
    if not folder.is_dir():
        return []
    with files.explained("read", folder):
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
