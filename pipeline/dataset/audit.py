"""Checking a dataset: every part against its name, its digest and its neighbours, every win by the referee.

An audit looks at each file by itself and finds all faults; the store stops at the first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.manifest import read_run
from pipeline.dataset.replays import Replay, StoredLine, check_lines
from pipeline.dataset.schema import MOVE_OR_REPAIR, REPAIR, Footer, read_footer, read_rows
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Part, Partition, Store, walk
from pipeline.errors import SolverFault, StoreError
from pipeline.game.variants import Variant

# Kinds of findings.
FOREIGN = "foreign"  # a file or directory that winnable did not write
PART = "part"  # a part that cannot be read or whose rows cannot be trusted
RULES = "rules"  # settled under other rules
OVERLAP = "overlap"  # parts that may hold the same seed
LINE = "line"  # a row whose line does not replay
LOSS = "loss"  # a lost row that is not proved again
MANIFEST = "manifest"  # a run's manifest that cannot be read


class Finding(NamedTuple):
    """A fault: its kind, the file, what is wrong, and the place and seed of the row if a single row is at fault."""

    kind: str
    path: Path
    row: int | None
    seed: int | None
    text: str


@dataclass(slots=True)
class AuditResult:
    """What an audit has covered, and the faults it has found."""

    parts: int = 0
    rows: int = 0
    lines: int = 0
    losses: int = 0  # proved again, see `dataset.losses`
    unread: int = 0  # lines not replayed, because their rules are not known
    findings: list[Finding] = field(default_factory=list)
    unknown: list[Partition] = field(default_factory=list)  # of variants whose rules are not known

    def raise_if_faulty(self) -> None:
        """Raise the error that gives `verify` its exit code.

        Raises
        ------
        SolverFault
            A stored line does not replay, or a loss is not proved again.
        StoreError
            Something else is wrong.
        """
        faults = self.findings
        if not faults:
            return
        several = f"{len(faults)} faults; " if len(faults) > 1 else ""
        lines = [finding for finding in faults if finding.kind in (LINE, LOSS)]
        first = (lines or faults)[0]
        place = "" if first.row is None else f": row {first.row} (seed {first.seed})"
        text = first.text.removeprefix(f"{first.path}: ")
        message = f"{several}{first.path}{place}: {text}"
        if first.kind != LOSS:
            message += "; 'winnable verify --repair' puts it into quarantine"
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
        Whether to look at a partition; None for all.
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
        self.result = AuditResult()

    def check(self, sample: int | None = None, advance: Callable[[int], None] | None = None) -> AuditResult:
        """Check everything, or replay only a random sample of the lines of each partition.

        Parameters
        ----------
        sample
            Lines of each partition to replay; only the parts that hold them are read. None for all.
        advance
            Called with the number of rows checked since the last call.
        """
        self._check_manifests()
        for partition, parts in self._partitions():
            self._check_partition(partition, parts, sample, advance or (lambda _rows: None))
        return self.result

    def count_rows(self) -> int:
        """Return the number of rows by the footers that can be read."""
        total = 0
        for _partition, parts in Audit(self._store, {}, only=self._only)._partitions():
            for part in parts:
                with contextlib.suppress(StoreError, FileNotFoundError):
                    total += read_footer(part.path).rows
        return total

    # ---- the tree

    def _partitions(self) -> Iterator[tuple[Partition, list[Part]]]:
        return walk(self._store.outcomes, lambda path, error: self._find(FOREIGN, path, str(error)), self._only)

    def _check_manifests(self) -> None:
        for path in sorted(self._store.runs.glob("*.json")):
            try:
                read_run(path)
            except StoreError as error:
                self._find(MANIFEST, path, str(error))

    # ---- one partition

    def _check_partition(
        self, partition: Partition, parts: Sequence[Part], sample: int | None, advance: Callable[[int], None]
    ) -> None:
        variant = self._variants.get(partition.variant)
        if variant is None and parts:
            self.result.unknown.append(partition)
        footers = self._check_footers(variant, parts)
        chosen = None if sample is None else _choose(footers, sample)
        for path, footer in footers:
            wanted = None if chosen is None else chosen.get(path, np.zeros(0, int))
            if wanted is None or len(wanted):
                self._check_rows(partition, variant, path, wanted)
            self.result.parts += 1
            advance(footer.rows)

    def _check_footers(self, variant: Variant | None, parts: Sequence[Part]) -> list[tuple[Path, Footer]]:
        """Read the footers of a partition's parts, sorted by seed; leave out parts at fault."""
        reaching: Part | None = None
        for part in sorted(parts, key=lambda part: part.first):
            if reaching is not None and part.first <= reaching.last:
                both = Seeds.of([range(part.first, min(part.last, reaching.last) + 1)])
                self._find(OVERLAP, part.path, f"overlaps {reaching.path.name}: seeds that may stand twice: {both}")
            if reaching is None or part.last > reaching.last:
                reaching = part
        footers = []
        for path, _first, _last in parts:
            try:
                footer = read_footer(path)
            except FileNotFoundError:  # a repair has taken it out
                continue
            except StoreError as error:
                self._find(PART, path, str(error))
                continue
            if variant is not None and footer.rules_hash != variant.rules_hash:
                text = f"rules_hash {footer.rules_hash}, that of {variant.id} is {variant.rules_hash}"
                self._find(RULES, path, text)
                continue
            footers.append((path, footer))
        return sorted(footers, key=lambda pair: pair[1].first)

    def _check_rows(self, partition: Partition, variant: Variant | None, path: Path, wanted: np.ndarray | None) -> None:
        """Check the rows of a part, and replay those at the places `wanted`, or all."""
        try:
            table = read_rows(path)
        except FileNotFoundError:
            return
        except StoreError as error:
            self._find(PART, path, str(error))
            return
        self.result.rows += len(table)
        places = np.arange(len(table))
        if wanted is not None:
            places = wanted[wanted < len(table)]  # a repair may have shortened it
            table = table.take(places)
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


def refuse_other_rules(store: Store, variants: Iterable[Variant]) -> None:
    """Refuse a variant if all parts of a partition were settled under other rules: then the variant is wrong, not they.

    Raises
    ------
    StoreError
        Names the directory and both hashes.
    """
    for variant in variants:
        for folder in sorted(store.outcomes.glob(f"variant={variant.id}/numbering=*")):
            hashes = set()
            for path in folder.glob("part-*.parquet"):
                with contextlib.suppress(StoreError, FileNotFoundError):
                    hashes.add(read_footer(path).rules_hash)
            if hashes and variant.rules_hash not in hashes:
                raise StoreError(
                    f"{folder}: settled under other rules of {variant.id} than those of the file given (rules_hash "
                    f"{', '.join(sorted(hashes))}, the file's is {variant.rules_hash}); give the right file"
                )


def stored_lines(table: pa.Table) -> list[StoredLine]:
    """Return the won rows of a table as a worker replays them."""
    columns = (table[name].to_pylist() for name in StoredLine._fields)
    return [StoredLine(*values) for values in zip(*columns, strict=True)]


def _choose(footers: Sequence[tuple[Path, Footer]], sample: int) -> dict[Path, np.ndarray]:
    """Draw rows of a partition at random; return their places by part."""
    ends = np.cumsum([footer.rows for _, footer in footers])
    if len(ends) == 0:
        return {}
    drawn = np.sort(np.random.default_rng().choice(ends[-1], min(sample, int(ends[-1])), replace=False))
    part = np.searchsorted(ends, drawn, side="right")
    starts = np.concatenate([[0], ends[:-1]])
    return {footers[i][0]: drawn[part == i] - starts[i] for i in np.unique(part)}
