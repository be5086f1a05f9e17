"""Replacing parts of a partition as one step, whatever is killed in between.

New parts are first written whole to `.staging/`. A single new part is then renamed into place. A replacement (rows
merged into an existing part, parts joined) first writes a journal that names what comes and what goes; from then on
it can be finished by whoever finds it, as often as needed. Rows that belong into a large existing part wait in
`.staging/` as *pending* tables until the end of the run, or until the next command finds them.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pyarrow as pa

from pipeline.dataset import files
from pipeline.dataset.rows import seeds_of
from pipeline.dataset.schema import parse_part_name, part_name, write_table
from pipeline.errors import StoreError

_PENDING = re.compile(r"pending\.([a-z0-9-]+)\.([a-z0-9-]+)\.\d+\.\d+\.parquet")
_numbers = itertools.count(1)


class Journal:
    """The durable steps on one dataset; its caller holds the lock.

    Parameters
    ----------
    staging
        `.staging/`, on the same file system as `outcomes`.
    outcomes
        `outcomes/`.
    """

    def __init__(self, staging: Path, outcomes: Path) -> None:
        self.staging = staging
        self.outcomes = outcomes
        self.path = staging / "journal.json"

    def append(self, folder: Path, table: pa.Table) -> None:
        """Add one part of new rows, sorted by seed, whose range no part of the folder overlaps."""
        files.make_directory(folder)
        seeds = seeds_of(table)
        self._publish(self._stage(table), folder / part_name(seeds[0], seeds[-1]))
        files.sync_directory(folder)

    def replace(self, folder: Path, tables: Sequence[pa.Table], gone: Sequence[Path]) -> None:
        """Put parts made of `tables` in the place of the parts `gone`, all or nothing."""
        files.make_directory(folder)
        come = {}
        for table in tables:
            seeds = seeds_of(table)
            come[part_name(seeds[0], seeds[-1])] = self._stage(table).name
        plan = {
            "folder": folder.relative_to(self.outcomes).as_posix(),
            "come": come,
            "go": sorted(path.name for path in gone if path.name not in come),
        }
        files.write_json(self.path, plan, self.staging)
        self.finish()

    def finish(self) -> None:
        """Finish the replacement that the journal names, if there is one."""
        self.check()
        replacement = self.replacement()
        if replacement is None:
            return
        folder, come, go = replacement
        for name in go:
            files.remove(folder / name)
        for name, staged in come.items():
            if (self.staging / staged).exists():
                self._publish(self.staging / staged, folder / name)
        files.sync_directory(folder)
        files.remove(self.path)
        files.sync_directory(self.staging)

    def check(self) -> None:
        """Refuse a journal that cannot be finished.

        Raises
        ------
        StoreError
            It is none of ours, or the parts it promises are nowhere.
        """
        replacement = self.replacement()
        if replacement is None:
            return
        folder, come, _ = replacement
        for name, staged in come.items():
            if not (self.staging / staged).exists() and not (folder / name).exists():
                raise StoreError(f"{self.path}: neither {staged} nor {folder / name} exists")

    def postpone(self, variant: str, numbering: str, table: pa.Table) -> None:
        """Keep rows, sorted by seed, until they are merged into their partition."""
        staged = self._stage(table)
        name = f"pending.{variant}.{numbering}.{os.getpid()}.{next(_numbers)}.parquet"
        self._publish(staged, self.staging / name)
        files.sync_directory(self.staging)

    def pending(self) -> Iterator[tuple[str, str, Path]]:
        """List what was postponed: variant, numbering and file."""
        for path in sorted(self.staging.glob("pending.*.parquet")):
            match = _PENDING.fullmatch(path.name)
            if match is None:
                raise StoreError(f"{path}: no pending table of winnable; move it away")
            yield match[1], match[2], path

    def sweep(self) -> None:
        """Remove what killed commands left half written."""
        for path in [*self.staging.glob("*.tmp"), *self.staging.glob("new-*.parquet")]:
            files.remove(path)

    def _stage(self, table: pa.Table) -> Path:
        path = self.staging / f"new-{os.getpid()}-{next(_numbers)}.parquet"

        def write(file: IO[bytes]) -> None:
            write_table(table, file)

        files.write_file(path, write)
        return path

    def _publish(self, staged: Path, target: Path) -> None:
        files.rename(staged, target)

    def replacement(self) -> tuple[Path, dict[str, str], list[str]] | None:
        """Read the journal; its names must stay within the dataset.

        Returns
        -------
        tuple or None
            The partition's folder, the staged files by the names they get in it, and the names that go; None if
            there is no journal.

        Raises
        ------
        StoreError
            It is none of ours.
        """
        try:
            plan: Any = json.loads(self.path.read_text(encoding="utf-8"))
            folder, come, go = PurePosixPath(plan["folder"]), dict(plan["come"]), list(plan["go"])
            sound = (
                re.fullmatch(r"variant=[a-z0-9-]+/numbering=[a-z0-9-]+", str(folder))
                and all(parse_part_name(name) for name in [*come, *go])
                and all(re.fullmatch(r"new-\d+-\d+\.parquet", name) for name in come.values())
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error
        if not sound:
            raise StoreError(f"{self.path}: no journal of winnable")
        return self.outcomes / folder, come, go
