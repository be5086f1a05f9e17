"""Merging one dataset into another, and exporting outcomes as CSV or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TextIO

from pipeline.dataset import files
from pipeline.dataset.losses import checked_losses, note_checked
from pipeline.dataset.manifest import read_manifest
from pipeline.dataset.rows import contest, seeds_of
from pipeline.dataset.schema import COLUMNS
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.game.numbers import json_text, write_csv
from pipeline.game.variants import Variant

_ROWS = 4096  # converted to Python objects at a time


def merge(
    target: Store, source: Store, partitions: Sequence[Partition], variants: Mapping[str, Variant]
) -> Iterator[tuple[Partition, int, int]]:
    """Merge the outcomes of another dataset; of two about the same deal the stronger stands.

    Nothing is changed if the datasets contradict each other. The same merge again finishes one that was killed.

    Parameters
    ----------
    target, source
        The dataset to merge into, held for writing, and the one that is only read.
    partitions
        What to merge: outcomes, and which deals were planned.
    variants
        Rules by id, which the source must have been settled under.

    Yields
    ------
    Partition, int, int
        What was merged: deals new to the target, and deals whose outcome was replaced.

    Raises
    ------
    StoreError
        One of the datasets is damaged, their rules differ, or one says won and the other lost.
    """
    counts, hashes = {}, {}
    for partition in partitions:
        rules = source.rules_hash(partition)
        if rules is None:
            continue
        if partition.variant in variants:
            source.check_rules(partition, variants[partition.variant].rules_hash)
        target.check_rules(partition, rules)
        counts[partition], hashes[partition] = _compare(target, source, partition), rules
    checked = checked_losses(source)
    _merge_manifests(target, source, partitions)
    for partition, (added, replaced) in counts.items():
        if added or replaced:
            for table in source.scan(partition):
                target.add(partition, table)
        note_checked(target, partition, hashes[partition], checked.get(partition, Seeds(())))
        yield partition, added, replaced


def _compare(target: Store, source: Store, partition: Partition) -> tuple[int, int]:
    """Count the deals that the target lacks, and those of which the source knows more."""
    added = replaced = 0
    for table in source.scan(partition):
        first, last = map(int, seeds_of(table)[[0, -1]])
        added += len(table)
        for present in target.scan(partition, seeds=Seeds.of([range(first, last + 1)])):
            shared, _, taken = contest(present, table)
            added -= len(shared)
            replaced += int(taken.sum())
    return added, replaced


def _merge_manifests(target: Store, source: Store, partitions: Collection[Partition]) -> None:
    """Copy what the source's manifests say of some partitions: which deals were planned, and which failed."""
    for path in sorted(source.runs.glob("*.json")):
        if not re.fullmatch(r"[0-9A-Za-z-]+\.json", path.name):
            continue
        copy = target.runs / path.name
        content = read_manifest(path, _checked)
        kept = read_manifest(copy, _checked) if copy.exists() else {**content, "deals": [], "failed": []}
        # An earlier merge may have taken in other partitions of the same run.
        new = {*partitions} - {_partition(entry) for entry in kept["deals"]}
        entries = [entry for entry in content["deals"] if _partition(entry) in new]
        if entries:
            kept["deals"] += entries
            kept["failed"] += [entry for entry in content["failed"] if _partition(entry) in new]
            files.write_json(copy, kept, target.staging)


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    for entry in [*content["deals"], *content.setdefault("failed", [])]:
        _partition(entry)
    return content


def _partition(entry: dict[str, Any]) -> Partition:
    return Partition(entry["variant"], entry["numbering"])


def export(
    store: Store,
    partitions: Sequence[Partition],
    out: TextIO,
    form: str = "csv",
    columns: Sequence[str] = COLUMNS,
    seeds: Seeds | None = None,
) -> int:
    """Write outcomes, `variant` and `numbering` first, partition by partition and by seed.

    Parameters
    ----------
    form
        `"csv"` with a header, where null is empty, or `"jsonl"`, an object a line.
    columns
        Columns of the dataset to write.
    seeds
        Which deals; all by default.

    Returns
    -------
    int
        Number of rows.
    """
    header = (*Partition._fields, *columns)
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        for partition in partitions:
            for table in store.scan(partition, columns, seeds):
                for batch in table.to_batches(_ROWS):
                    values = batch.to_pydict()
                    if "seconds" in values:  # single precision: no digits that were never measured
                        values["seconds"] = [float(f"{value:.7g}") for value in values["seconds"]]
                    yield from ((*partition, *row) for row in zip(*values.values(), strict=True))
                count += len(table)

    if form == "csv":
        write_csv(out, header, rows())
    else:
        out.writelines(json_text(dict(zip(header, row, strict=True))) + "\n" for row in rows())
    return count
