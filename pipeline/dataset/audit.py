"""Checking a dataset: every part against its name, its digest and its neighbours, every win by the referee.

Nothing here trusts what the store would refuse to read: an audit looks at each file by itself, and finds all faults
where the store stops at the first.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.manifest import read_run
from pipeline.dataset.replays import Replay, StoredLine, check_lines
from pipeline.dataset.rows import seeds_of
from pipeline.dataset.schema import MOVE_OR_REPAIR, REPAIR, VERSION, Footer, parse_part_name, read_footer, read_rows
from pipeline.dataset.store import Partition, Store, check_file, check_folder, entries
from pipeline.errors import SolverFault, StoreError
from pipeline.game.variants import Variant

# Kinds of findings.
FOREIGN = "foreign"  # no file or directory of ours
PART = "part"  # a part that cannot be read or whose rows cannot be trusted
RULES = "rules"  # settled under other rules
OVERLAP = "overlap"  # parts that may hold the same seed
LINE = "line"  # a row whose line does not replay
STAGING = "staging"  # what a killed command left and cannot be finished
MANIFEST = "manifest"  # a run's manifest that cannot be read
OLDER = "older"  # a part of an older schema: read as it is, made new by `compact`

KINDS = (FOREIGN, PART, RULES, OVERLAP, LINE, STAGING, MANIFEST, OLDER)
_PATIENCE, _PAUSE = 200, 0.05  # how often a partition is listed until nothing vanishes, and how many seconds apart


class Finding(NamedTuple):
    """A fault: its kind, the file, the row's place and seed in it if it is one row's, and what is wrong."""

    kind: str
    path: Path
    row: int | None
    seed: int | None
    text: str


@dataclass(slots=True)
class AuditResult:
    """What an audit looked at and found."""

    parts: int = 0
    rows: int = 0
    lines: int = 0
    unread: int = 0  # lines that were not replayed: their rules are not known
    findings: list[Finding] = field(default_factory=list)
    unknown: list[Partition] = field(default_factory=list)  # of variants whose rules nobody gave

    @property
    def faults(self) -> list[Finding]:
        """What is wrong; a part of an older schema is not."""
        return [finding for finding in self.findings if finding.kind != OLDER]

    def raise_if_faulty(self) -> None:
        """Raise what the exit code of `verify` follows from.

        Raises
        ------
        SolverFault
            A stored line does not replay.
        StoreError
            Something else is wrong.
        """
        faults = self.faults
        if not faults:
            return
        several = f"{len(faults)} faults; " if len(faults) > 1 else ""
        lines = [finding for finding in faults if finding.kind == LINE]
        first = (lines or faults)[0]
        place = "" if first.row is None else f": row {first.row} (seed {first.seed})"
        text = first.text.removeprefix(f"{first.path}: ")
        message = f"{several}{first.path}{place}: {text}; 'winnable verify --repair' puts it into quarantine"
        raise SolverFault(message) if lines else StoreError(message)


class Audit:
    """One pass over a dataset.

    Parameters
    ----------
    store
        The dataset.
    variants
        Rules by id, for the partitions whose lines are to be replayed.
    replay
        Replays lines: in this process, or in others.
    only
        Partitions to look at; None for all.
    """

    def __init__(
        self,
        store: Store,
        variants: Mapping[str, Variant],
        replay: Replay = check_lines,
        only: Callable[[Partition], bool] | None = None,
    ) -> None:
        self._store, self._variants, self._replay = store, variants, replay
        self._only = only or (lambda _partition: True)
        self._unfinished: StoreError | None = None
        self.result = AuditResult()

    def check(self, sample: int | None = None, advance: Callable[[int], None] | None = None) -> AuditResult:
        """Look at everything, or replay only a random sample of lines of each partition.

        Parameters
        ----------
        sample
            How many lines of each partition to replay, and to read only the parts they are in.
        advance
            Is told how many more rows have been looked at.
        """
        self._unfinished = self._check_staging()
        self._check_manifests()
        for partition, paths in self._partitions():
            self._check_partition(partition, paths, sample, advance or (lambda _rows: None))
        if self._unfinished is not None and not self.result.faults:
            self._find(STAGING, self._store.staging, str(self._unfinished))
        return self.result

    def count_rows(self) -> int:
        """Return how many rows the readable footers promise."""
        total = 0
        for _partition, paths in Audit(self._store, {}, only=self._only)._partitions():
            for path in paths:
                try:
                    total += read_footer(path).rows
                except (StoreError, FileNotFoundError):
                    continue
        return total

    # ---- the tree

    def _partitions(self) -> Iterator[tuple[Partition, list[Path]]]:
        for above in entries(self._store.outcomes):
            if not self._is_ours(check_folder, above, "variant"):
                continue
            for folder in entries(above):
                if not self._is_ours(check_folder, folder, "numbering"):
                    continue
                partition = Partition(above.name.partition("=")[2], folder.name.partition("=")[2])
                if self._only(partition):
                    yield partition, [path for path in entries(folder) if self._is_ours(check_file, path)]

    def _is_ours(self, check: Callable[..., None], path: Path, *key: str) -> bool:
        try:
            check(path, *key)
        except StoreError as error:
            self._find(FOREIGN, path, str(error))
            return False
        return True

    def _check_staging(self) -> StoreError | None:
        """Look at what a killed command left, and finish it if that can be done."""
        for path in sorted(self._store.staging.glob("pending.*")):
            try:
                read_rows(path)
            except FileNotFoundError:  # merged by another command
                continue
            except StoreError as error:
                self._find(STAGING, path, str(error))
        try:
            self._store.journal.check()
        except StoreError as error:
            self._find(STAGING, self._store.journal.path, str(error))
        try:
            self._store.recover()
        except StoreError as error:
            return error
        return None

    def _check_manifests(self) -> None:
        for path in sorted(self._store.runs.glob("*.json")):
            try:
                read_run(path)
            except StoreError as error:
                self._find(MANIFEST, path, str(error))

    # ---- one partition

    def _check_partition(
        self, partition: Partition, paths: Sequence[Path], sample: int | None, advance: Callable[[int], None]
    ) -> None:
        variant = self._variants.get(partition.variant)
        if variant is None and paths:
            self.result.unknown.append(partition)
        footers = self._check_footers(partition, variant, paths)
        chosen = None if sample is None else _choose(footers, sample)
        pending, done, seen = deque(footers), -1, -1
        while pending:
            path, footer = pending[0]
            wanted = None if chosen is None else chosen.get(path, np.zeros(0, int))
            try:
                if wanted is None or len(wanted):
                    self._check_rows(partition, variant, path, wanted, seen)
            except FileNotFoundError:  # joined by another command: go on in what it was joined into
                seen = done
                footers = self._check_footers(partition, variant, self._list_again(partition))
                pending = deque(pair for pair in footers if pair[1].last > seen)
                chosen = None if sample is None else _choose(pending, sample)
                continue
            pending.popleft()
            done = max(done, footer.last)
            self.result.parts += 1
            advance(footer.rows)

    def _check_footers(
        self, partition: Partition, variant: Variant | None, paths: Sequence[Path]
    ) -> list[tuple[Path, Footer]]:
        """Read the footers of a partition's parts, by seed; list them again while another command replaces some.

        Raises
        ------
        StoreError
            That does not end.
        """
        for _ in range(_PATIENCE):
            found: list[tuple[str, Path, str]] = []
            with contextlib.suppress(FileNotFoundError):
                footers = [(path, footer) for path in paths if (footer := _sound_footer(path, variant, found))]
                # A replacement takes the old parts away before the new ones come.
                if self._unfinished is not None or not self._store.journal.path.exists():
                    break
            time.sleep(_PAUSE)
            paths = self._list_again(partition)
        else:
            raise StoreError(f"{self._store.folder(partition)}: parts keep vanishing while they are read")
        footers.sort(key=lambda pair: pair[1].first)
        reaching = footers[0] if footers else None
        for path, footer in footers[1:]:
            assert reaching is not None
            if footer.first <= reaching[1].last:
                span = f"{footer.first} to {min(footer.last, reaching[1].last)}"
                found.append((OVERLAP, path, f"overlaps {reaching[0].name}: seeds {span} may stand twice"))
            if footer.last > reaching[1].last:
                reaching = path, footer
        for one in found:
            self._find(*one)
        return footers

    def _list_again(self, partition: Partition) -> list[Path]:
        """List the parts; what is not ours has been found the first time."""
        return [path for path in entries(self._store.folder(partition)) if parse_part_name(path.name)]

    def _check_rows(
        self, partition: Partition, variant: Variant | None, path: Path, wanted: np.ndarray | None, seen: int
    ) -> None:
        """Look at the rows of a part, but for the seeds up to `seen`, and replay those at the places `wanted`, or all.

        Raises
        ------
        FileNotFoundError
            The part has gone.
        """
        try:
            table = read_rows(path)
        except StoreError as error:
            self._find(PART, path, str(error))
            return
        first = int(np.searchsorted(seeds_of(table), seen, side="right"))
        self.result.rows += len(table) - first
        if wanted is None:
            table, places = table[first:], np.arange(first, len(table))
        else:
            table, places = table.take(wanted), wanted
        keep = pc.is_valid(table["line"])
        if variant is None:
            self.result.unread += int(pc.sum(keep).as_py() or 0)
            return
        table, places = table.filter(keep), places[keep.to_numpy()]
        self.result.lines += len(table)
        rows = stored_lines(table)
        where = {row.seed: int(place) for row, place in zip(rows, places, strict=True)}
        for seed, text in self._replay(variant, partition.numbering, rows):
            self.result.findings.append(Finding(LINE, path, where[seed], seed, text))

    def _find(self, kind: str, path: Path, text: str) -> None:
        for advice in (MOVE_OR_REPAIR, REPAIR):  # `verify` says it once, at the end
            text = text.removesuffix(advice)
        finding = Finding(kind, path, None, None, text.removeprefix(f"{path}: "))
        if finding not in self.result.findings:
            self.result.findings.append(finding)


def rules_of(store: Store, variant: str) -> Iterator[tuple[Path, set[str]]]:
    """Yield the directories of a variant's parts, each with the hashes of rules in the footers that can be read."""
    for folder in sorted(store.outcomes.glob(f"variant={variant}/numbering=*")):
        found = set()
        for path in folder.glob("part-*.parquet"):
            with contextlib.suppress(StoreError, FileNotFoundError):
                found.add(read_footer(path).rules_hash)
        yield folder, found


def _sound_footer(path: Path, variant: Variant | None, found: list[tuple[str, Path, str]]) -> Footer | None:
    """Read a part's footer; what is wrong with it goes to `found`, and the part is then left alone."""
    try:
        footer = read_footer(path)
    except StoreError as error:
        found.append((PART, path, str(error)))
        return None
    if variant is not None and footer.rules_hash != variant.rules_hash:
        found.append((RULES, path, f"rules_hash {footer.rules_hash}, that of {variant.id} is {variant.rules_hash}"))
        return None
    if footer.version != VERSION:
        found.append((OLDER, path, f"schema {footer.version}; 'winnable compact' makes it schema {VERSION}"))
    return footer


def stored_lines(table: pa.Table) -> list[StoredLine]:
    """Return the won rows of a table as a worker replays them."""
    columns = (table[name].to_pylist() for name in StoredLine._fields)
    return [StoredLine(*values) for values in zip(*columns, strict=True)]


def _choose(footers: Sequence[tuple[Path, Footer]], sample: int) -> dict[Path, np.ndarray]:
    """Draw rows of a partition, evenly from all, as places in their parts."""
    ends = np.cumsum([footer.rows for _, footer in footers])
    if len(ends) == 0:
        return {}
    drawn = np.sort(np.random.default_rng().choice(ends[-1], min(sample, int(ends[-1])), replace=False))
    part = np.searchsorted(ends, drawn, side="right")
    starts = np.concatenate([[0], ends[:-1]])
    return {footers[one][0]: drawn[part == one] - starts[one] for one in np.unique(part)}
