"""Repairing a dataset: files at fault go into quarantine, what can be proved is kept, nothing is deleted.

A file at fault is first copied into quarantine and then replaced, in one step, by the rows of it that stand. If the
repair is killed, the next one finds the fault again or the rows that were kept.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.dataset import files
from pipeline.dataset.audit import FOREIGN, LINE, MANIFEST, OVERLAP, PART, RULES, Finding, stored_lines
from pipeline.dataset.manifest import read_runs
from pipeline.dataset.replays import check_lines
from pipeline.dataset.rows import join_tables, merge_tables, seeds_of
from pipeline.dataset.schema import READ_ERRORS, SCHEMA, parse_part_name, part_name, read_rows
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Part, Partition, Store, entries, part_of
from pipeline.errors import StoreError
from pipeline.game.numbers import counted
from pipeline.game.variants import Variant, variant_ids

MOST_RANGES = 20  # of seeds in a suggested command; beyond that, one range from the first to the last


class Repair:
    """Mends a dataset; the store must be held for writing.

    Parameters
    ----------
    store
        The dataset.
    variants
        Rules by id; wins are proved by them again.
    """

    def __init__(self, store: Store, variants: Mapping[str, Variant]) -> None:
        self._store, self._variants = store, variants
        self._home = store.quarantine / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        self._copied: set[Path] = set()
        self._seeds: dict[Partition, list[Seeds]] = {}  # of the parts at fault, as they were
        self._limits: dict[Partition, int] = {}

    def mend(self, findings: Sequence[Finding]) -> Iterator[str]:
        """Repair each finding; yield a line about each step."""

        def paths(*kinds: str) -> list[Path]:
            return list(dict.fromkeys(finding.path for finding in findings if finding.kind in kinds))

        for path in paths(RULES):
            self._note(path)
        for path in paths(FOREIGN, RULES, MANIFEST):
            yield self._move(path)
        for path in paths(MANIFEST):
            yield f"{path}: what this run planned is no longer known; deals it left open no longer count as missing"
        for path in paths(PART):
            yield from self._keep_proved(path)
        for path in paths(LINE):
            wrong = [finding.seed for finding in findings if finding.path == path and finding.seed is not None]
            yield self._replace(path, _without(read_rows(path), wrong))
        for folder in dict.fromkeys(path.parent for path in paths(PART, OVERLAP)):
            yield from self._untangle(folder)
        plans = [entry for run in read_runs(self._store) for entry in run.plans]
        for partition, parts in self._seeds.items():
            planned = [plan for key, plan in plans if key == partition]
            seeds = Seeds.of(piece for part in parts for piece in part.ranges)
            if planned:
                pieces = [piece for plan in planned for piece in plan.seeds.ranges]
                seeds = Seeds.of(some for piece in pieces for some in seeds.between(piece.start, piece.stop).ranges)
                self._limits.setdefault(partition, max(plan.node_limit for plan in planned))
            yield from self._to_settle(partition, seeds)

    def _to_settle(self, partition: Partition, seeds: Seeds) -> Iterator[str]:
        """Say how many deals have lost their rows, and which command settles them again."""
        gone = self._store.missing(partition, seeds, 1)
        if gone:
            variant = partition.variant if partition.variant in variant_ids() else f"FILE-OF-{partition.variant}"
            words = ["winnable", "run", "--data", str(self._store.data), "--variant", variant]
            some = gone.texts() if len(gone.ranges) <= MOST_RANGES else [f"{gone.first}:{gone.last}"]
            words += [word for text in some for word in ("--seeds", text)]
            words += ["--numbering", partition.numbering] if partition.numbering != "native" else []
            words += ["--nodes", str(self._limits[partition])] if partition in self._limits else []
            yield f"{partition}: {counted(gone.count, 'deal')} to settle again: {shlex.join(words)}"

    def _note(self, path: Path) -> None:
        """Note the deals of a part at fault: those of its rows, or of its name if they cannot be trusted."""
        partition = _partition_of(path)
        try:
            rows = read_rows(path)
            seeds = Seeds.of_numbers(seeds_of(rows).tolist())
            self._limits[partition] = max(self._limits.get(partition, 1), pc.max(rows["node_limit"]).as_py())
        except StoreError:
            span = parse_part_name(path.name)
            seeds = Seeds.of([range(span[0], span[1] + 1)] if span else [])
        self._seeds.setdefault(partition, []).append(seeds)

    def _keep_proved(self, path: Path) -> Iterator[str]:
        """Replace a part whose rows cannot be trusted by its wins that replay."""
        partition = _partition_of(path)
        variant = self._variants.get(partition.variant)
        rows = SCHEMA.empty_table() if variant is None else proved_rows(path, variant, partition.numbering)
        yield self._replace(path, rows)
        if len(rows):
            yield f"{path}: {counted(len(rows), 'win')} that replayed are kept"

    def _replace(self, path: Path, rows: pa.Table) -> str:
        """Put rows into the place of a part, of which a copy goes into quarantine first."""
        copy = self._copy(path)
        part = part_of(path)
        if len(rows):
            part = _spanning(path.parent, [part.span(), seeds_of(rows)[[0, -1]].tolist()])  # its name may be wrong
            if part.path != path and part.path.exists():
                part = part_of(path)
                rows = rows.filter(
                    pc.and_(pc.greater_equal(rows["seed"], part.first), pc.less_equal(rows["seed"], part.last))
                )
        if len(rows):
            self._store.publish(part, rows)
        if not len(rows) or part.path != path:
            self._remove(path)
        return f"{path}: replaced by its {counted(len(rows), 'row')} that stand; as it was, it is now {copy}"

    def _untangle(self, folder: Path) -> Iterator[str]:
        """Merge the parts of a partition that overlap; where two contradict each other, the win that replays stands."""
        group: list[Part] = []
        for part in [*sorted(map(part_of, entries(folder)), key=Part.span), None]:
            if group and (part is None or part.first > max(member.last for member in group)):
                if len(group) > 1:
                    yield self._merge(folder, group)
                group = []
            if part is not None:
                group.append(part)

    def _merge(self, folder: Path, group: Sequence[Part]) -> str:
        merged = SCHEMA.empty_table()
        for part in group:
            self._copy(part.path)
            table = read_rows(part.path)
            merged = merge_tables(_without_refuted(merged, table), _without_refuted(table, merged))
        whole = _spanning(folder, list(map(Part.span, group)))
        self._store.publish(whole, merged)
        for part in group:
            if part.path != whole.path:
                self._remove(part.path)
        return f"{folder}: {', '.join(part.path.name for part in group)} merged; copies are in {self._home}"

    def _move(self, path: Path) -> str:
        target = self._place(path)
        files.rename(path, target)
        files.sync_directory(path.parent)
        return f"{path}: moved to {target}"

    def _copy(self, path: Path) -> Path:
        target = self._place(path)
        if path not in self._copied:  # else it is the part as this repair found it
            self._copied.add(path)
            self._note(path)
            with path.open("rb") as source:
                files.write_file(target, lambda file: shutil.copyfileobj(source, file))
            files.sync_directory(target.parent)
        return target

    def _remove(self, path: Path) -> None:
        files.remove(path)
        files.sync_directory(path.parent)

    def _place(self, path: Path) -> Path:
        target = self._home / path.relative_to(self._store.data)
        files.make_directory(target.parent)
        return target


def _partition_of(path: Path) -> Partition:
    return Partition(*(folder.name.partition("=")[2] for folder in (path.parent.parent, path.parent)))


def _spanning(folder: Path, spans: Sequence[Sequence[int]]) -> Part:
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    return Part(folder / part_name(first, last), first, last)


def proved_rows(path: Path, variant: Variant, numbering: str) -> pa.Table:
    """Return the wins of a damaged part that the referee confirms; none if it cannot be read at all."""
    try:
        with path.open("rb") as file:
            table = pq.ParquetFile(file, pre_buffer=False).read(columns=SCHEMA.names, use_threads=False)
        table = _readable(table).cast(SCHEMA)
        table.validate(full=True)
    except READ_ERRORS:
        return SCHEMA.empty_table()
    whole = pc.and_(pc.is_valid(table["moves"]), pc.and_(pc.is_valid(table["deals"]), pc.is_valid(table["score"])))
    won = pc.and_(pc.equal(table["verdict"].cast(pa.string()), "won"), pc.and_(pc.is_valid(table["line"]), whole))
    within = pc.less_equal(table["positions"], table["node_limit"])
    same = pc.equal(table["rules_hash"].cast(pa.string()), variant.rules_hash)
    table = table.filter(pc.and_(pc.and_(won, within), same))
    table = _without(table, [seed for seed, _ in check_lines(variant, numbering, stored_lines(table))])
    return join_tables([table.take(np.unique(seeds_of(table), return_index=True)[1])])


def _readable(table: pa.Table) -> pa.Table:
    """Drop the rows with a text that is not UTF-8."""
    try:
        table.validate(full=True)
        return table
    except pa.ArrowInvalid:
        keep = np.ones(len(table), bool)
        for place, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type):
                values = [_text(value) for value in table.column(place).cast(pa.binary()).to_pylist()]
                keep &= [value is not None or field.nullable for value in values]
                table = table.set_column(place, field.name, pa.array(values, pa.string()))
        return table.filter(pa.array(keep))


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _without(table: pa.Table, seeds: Sequence[int]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["seed"], pa.array(seeds, pa.int64()))))


def _without_refuted(table: pa.Table, other: pa.Table) -> pa.Table:
    """Drop the rows that say lost of a deal that `other` has won: its line has replayed."""
    won = other.filter(pc.equal(other["verdict"].cast(pa.string()), "won"))["seed"]
    lost = pc.and_(pc.equal(table["verdict"].cast(pa.string()), "lost"), pc.is_in(table["seed"], won.combine_chunks()))
    return table.filter(pc.invert(lost))
