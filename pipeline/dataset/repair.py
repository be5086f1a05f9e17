"""Mending what an audit found: into quarantine with it, and what can be proved is kept. Nothing is deleted."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.dataset import files
from pipeline.dataset.audit import (
    FOREIGN,
    KINDS,
    LINE,
    MANIFEST,
    OLDER,
    OVERLAP,
    PART,
    RULES,
    STAGING,
    Finding,
    stored_lines,
)
from pipeline.dataset.replays import check_lines
from pipeline.dataset.rows import join_tables, merge_tables, seeds_of
from pipeline.dataset.schema import SCHEMA, read_footer, read_rows
from pipeline.dataset.store import Partition, Store
from pipeline.game.variants import Variant


class Repair:
    """Mends a dataset; the store must be held for writing, without recovery.

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

    def mend(self, findings: Sequence[Finding]) -> Iterator[str]:
        """Do what the findings ask for; yield what was done, a line each."""
        paths = {
            kind: list(dict.fromkeys(finding.path for finding in findings if finding.kind == kind)) for kind in KINDS
        }
        for path in (*paths[FOREIGN], *paths[RULES], *paths[STAGING]):
            yield self._move(path)
        for path in paths[MANIFEST]:
            yield self._move(path)
            yield f"{path}: what this run planned is no longer known; deals it left open no longer count as missing"
        self._store.journal.finish()
        kept = []
        for path in paths[PART]:
            kept.append((path, *self._proved(path)))
            yield self._move(path)
        for path in paths[LINE]:
            seeds = [one.seed for one in findings if one.path == path and one.seed is not None]
            yield self._drop_rows(path, seeds)
        for folder in dict.fromkeys(path.parent for path in paths[OVERLAP]):
            yield from self._untangle(folder)
        for path, partition, rows in kept:
            if len(rows):
                self._store.add(partition, rows)
                yield f"{path}: {len(rows)} wins that replay are kept"
        for path in paths[OLDER]:
            if path.exists():
                self._store.journal.replace(path.parent, [read_rows(path)], [path])
                yield f"{path}: written again in the current schema"

    def _proved(self, path: Path) -> tuple[Partition, pa.Table]:
        partition = Partition(path.parent.parent.name.partition("=")[2], path.parent.name.partition("=")[2])
        variant = self._variants.get(partition.variant)
        return partition, SCHEMA.empty_table() if variant is None else proved_rows(path, variant, partition.numbering)

    def _drop_rows(self, path: Path, seeds: Sequence[int]) -> str:
        copy = self._copy(path)
        table = read_rows(path)
        rest = _without(table, seeds)
        self._store.journal.replace(path.parent, [rest] if len(rest) else [], [path])
        return f"{path}: {len(table) - len(rest)} rows taken out; the part as it was is {copy}"

    def _untangle(self, folder: Path) -> Iterator[str]:
        """Merge the parts of a partition that overlap; where two contradict each other, the win that replays stands."""
        spans = sorted((read_footer(path)[1:3], path) for path in folder.glob("part-*.parquet"))
        group: list[Path] = []
        end = -1
        for (first, last), path in [*spans, ((sys.maxsize, 0), folder)]:
            if first > end:
                if len(group) > 1:
                    yield self._merge(folder, group)
                group = []
            group.append(path)
            end = max(end, last)

    def _merge(self, folder: Path, group: Sequence[Path]) -> str:
        for path in group:
            self._copy(path)
        merged = SCHEMA.empty_table()
        for path in group:
            table = read_rows(path)
            merged = merge_tables(_without_refuted(merged, table), _without_refuted(table, merged))
        self._store.journal.replace(folder, [merged], group)
        return f"{folder}: {', '.join(path.name for path in group)} merged; copies are in {self._home}"

    def _move(self, path: Path) -> str:
        target = self._place(path)
        files.rename(path, target)
        files.sync_directory(path.parent)
        return f"{path}: moved to {target}"

    def _copy(self, path: Path) -> Path:
        target = self._place(path)
        with path.open("rb") as source:
            files.write_file(target, lambda file: shutil.copyfileobj(source, file))
        return target

    def _place(self, path: Path) -> Path:
        target = self._home / path.relative_to(self._store.data)
        files.make_directory(target.parent)
        return target


def proved_rows(path: Path, variant: Variant, numbering: str) -> pa.Table:
    """Return the wins of a damaged part that the referee confirms; none if it cannot be read at all."""
    try:
        with path.open("rb") as file:
            table = pq.read_table(file, columns=SCHEMA.names, use_threads=False, pre_buffer=False).cast(SCHEMA)
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return SCHEMA.empty_table()
    whole = pc.and_(pc.is_valid(table["moves"]), pc.and_(pc.is_valid(table["deals"]), pc.is_valid(table["score"])))
    won = pc.and_(pc.equal(table["verdict"].cast(pa.string()), "won"), pc.and_(pc.is_valid(table["line"]), whole))
    within = pc.less_equal(table["positions"], table["node_limit"])
    same = pc.equal(table["rules_hash"].cast(pa.string()), variant.rules_hash)
    table = table.filter(pc.and_(pc.and_(won, within), same))
    table = _without(table, [seed for seed, _ in check_lines(variant, numbering, stored_lines(table))])
    return join_tables([table.take(np.unique(seeds_of(table), return_index=True)[1])])


def _without(table: pa.Table, seeds: Sequence[int]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["seed"], pa.array(seeds, pa.int64()))))


def _without_refuted(table: pa.Table, other: pa.Table) -> pa.Table:
    """Drop the rows that say lost of a deal that `other` has won: its line has replayed."""
    won = other.filter(pc.equal(other["verdict"].cast(pa.string()), "won"))["seed"]
    lost = pc.and_(pc.equal(table["verdict"].cast(pa.string()), "lost"), pc.is_in(table["seed"], won.combine_chunks()))
    return table.filter(pc.invert(lost))
