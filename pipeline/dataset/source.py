"""A dataset that is only read, as another's that is merged: what a killed command left in it is read as if finished."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from pipeline.dataset.rows import merge_tables
from pipeline.dataset.schema import COLUMNS, SCHEMA, read_rows
from pipeline.dataset.store import Part, Partition, Store
from pipeline.errors import StoreError

T = TypeVar("T")


class Source(Store):
    """A dataset in which nothing is written, not even to finish what a killed command left.

    Its journal's new parts are read where they are staged, in the place of the parts they replace; rows that wait to
    be merged into a part are merged as they are read.
    """

    def recover(self) -> None:
        """Leave everything as it is."""

    def read(self, variant: str, numbering: str = "native", columns: Sequence[str] | None = None) -> pa.Table:
        """Return a partition's rows by seed (see `Store.read`), those that wait in `.staging/` included."""
        waiting = self._waiting(Partition(variant, numbering))
        if not len(waiting):
            return super().read(variant, numbering, columns)
        rows = merge_tables(super().read(variant, numbering), waiting)
        return rows.select(list(COLUMNS if columns is None else columns))

    def scan(self, partition: Partition) -> Iterator[pa.Table]:
        """Yield a partition's rows by seed, a part at a time unless some wait in `.staging/`."""
        waiting = self._waiting(partition)
        if len(waiting):
            yield merge_tables(super().read(*partition), waiting)
        else:
            yield from super().scan(partition)

    def _waiting(self, partition: Partition) -> pa.Table:
        """Read the postponed rows; before the parts, because a writer at work merges them into those."""
        rows = SCHEMA.empty_table()
        for variant, numbering, path in self.journal.pending():
            if partition == (variant, numbering):
                with contextlib.suppress(FileNotFoundError):
                    rows = merge_tables(rows, read_rows(path))
        return rows

    def _consistent(self, partition: Partition, use: Callable[[list[Part]], T]) -> T:
        for _ in range(100):
            self.journal.check()
            before = self.journal.replacement()
            with contextlib.suppress(FileNotFoundError):
                result = use(self._read_parts(partition))
                if self.journal.replacement() == before:
                    return result
            time.sleep(0.05)
        raise StoreError(f"{self.folder(partition)}: parts keep vanishing while they are read")

    def _part_paths(self, folder: Path) -> Iterator[Path]:
        replacement = self.journal.replacement()
        if replacement is None or replacement[0] != folder:
            yield from super()._part_paths(folder)
            return
        _, come, go = replacement
        staged = {name: self.staging / file for name, file in come.items() if (self.staging / file).exists()}
        yield from staged.values()
        yield from (path for path in super()._part_paths(folder) if path.name not in {*go, *staged})
