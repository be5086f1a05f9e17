"""The format of a part: its columns, its version and its digest.

A part is a Parquet file of one partition (variant and numbering, which stand in its path only), sorted by seed. Its
metadata hold the schema's version and a digest of its rows, so that damage shows when the part is read, not in a
published figure.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.dataset.seeds import LAST_SEED
from pipeline.errors import StoreError

VERSION = 2
VERDICTS = ("won", "lost", "unsettled")

REPAIR = "; run 'winnable verify --repair'"  # the remedy for a damaged part
MOVE_OR_REPAIR = "; move it away, or run 'winnable verify --repair'"  # and for a foreign file
_VERSION_KEY, _DIGEST_KEY = b"winnable.schema", b"winnable.digest"

# What pyarrow raises for bytes that are not a Parquet file, or a damaged one.
READ_ERRORS = (OSError, ValueError, TypeError, LookupError, ArithmeticError, pa.ArrowException)

_NAME = re.compile(r"part-(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})\.parquet")
_WORD = pa.dictionary(pa.int32(), pa.string())


def _field(name: str, kind: pa.DataType, about: str, *, null: bool = False, volatile: bool = False) -> pa.Field:
    about_it = {"about": about} | ({"volatile": "differs from run to run"} if volatile else {})
    return pa.field(name, kind, nullable=null, metadata=about_it)


SCHEMA = pa.schema(
    [
        _field("seed", pa.int64(), "number of the deal in its numbering"),
        _field("verdict", _WORD, "won (line proves it), lost (proved) or unsettled (at node_limit)"),
        _field(
            "positions",
            pa.int64(),
            "positions reached that were new to their pass of the search, the deal included; at most node_limit",
        ),
        _field("expanded", pa.int64(), "positions whose moves were listed"),
        _field("node_limit", pa.int64(), "limit on positions"),
        _field(
            "line",
            pa.string(),
            "moves of the win: source column a-p, target column a-p, number of cards 2-9 A-D if more than one; "
            "- is a stock deal",
            null=True,
        ),
        _field("moves", pa.int16(), "moves of the line, stock deals included", null=True),
        _field("deals", pa.int16(), "stock deals of the line", null=True),
        _field("score", pa.int16(), "500 - moves + 100 a set", null=True),
        _field("solver", _WORD, "version and hash of the engine"),
        _field("rules_hash", _WORD, "of the variant's rules"),
        _field("seconds", pa.float32(), "processor time of the search", volatile=True),
        _field("run_id", _WORD, "the run that settled it, see runs/", volatile=True),
    ],
    metadata={_VERSION_KEY: str(VERSION)},
)
COLUMNS: tuple[str, ...] = tuple(SCHEMA.names)
VOLATILE = ("seconds", "run_id")


class Footer(NamedTuple):
    """What a part's metadata say; `first` and `last` are the smallest and the largest seed of its rows."""

    rows: int
    first: int
    last: int
    rules_hash: str


def part_name(first: int, last: int) -> str:
    """Return the file name of a part that spans these seeds, both included."""
    return f"part-{first}-{last}.parquet"


def parse_part_name(name: str) -> tuple[int, int] | None:
    """Return the first and last seed that a part spans by its file name; None if it is not the name of a part."""
    match = _NAME.fullmatch(name)
    if match is None or not int(match[1]) <= int(match[2]) <= LAST_SEED:
        return None
    return int(match[1]), int(match[2])


def write_table(table: pa.Table, file: IO[bytes]) -> None:
    """Write rows, sorted by seed, as a part."""
    table = table.replace_schema_metadata({_VERSION_KEY: str(VERSION), _DIGEST_KEY: digest(table)})
    words = [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)]
    pq.write_table(table, file, compression="zstd", use_dictionary=words)


def read_footer(path: Path) -> Footer:
    """Read a part's footer and compare it with the part's name.

    Raises
    ------
    FileNotFoundError
        The part is gone: a repair has removed it.
    StoreError
        It is not a readable part, is of another version, or has seeds outside the span of its name.
    """
    with _reading(path):
        with _opened(path) as file:
            metadata = pq.read_metadata(file)
        _check_version(metadata.metadata, path)
        if metadata.num_rows == 0:
            raise StoreError(f"{path}: holds no row{REPAIR}")
        first, last = map(int, _bounds(metadata, "seed", path))
        rules, other = map(str, _bounds(metadata, "rules_hash", path))
        _check_name(path, first, last)
        if rules != other:
            raise StoreError(f"{path}: rows of different rules: rules_hash {rules} and {other}{REPAIR}")
        return Footer(metadata.num_rows, first, last, rules)


def read_rows(path: Path) -> pa.Table:
    """Read a part, its digest checked.

    Raises
    ------
    FileNotFoundError
        The part is gone: a repair has removed it.
    StoreError
        It cannot be read, its rows are not those that were written, or they are not valid.
    """
    with _reading(path):
        with _opened(path) as file:
            table = pq.ParquetFile(file, pre_buffer=False).read(use_threads=False)
        _check_version(table.schema.metadata, path)
        table.validate(full=True)
        if table.schema.metadata.get(_DIGEST_KEY) != digest(table):
            raise StoreError(f"{path}: its rows are not those that were written (digest differs){REPAIR}")
        if table.schema.names != SCHEMA.names:
            names = ", ".join(table.schema.names)
            raise StoreError(f"{path}: columns are not those of schema {VERSION}: {names}{REPAIR}")
        table = table.cast(SCHEMA)
        problem = rows_problem(table)
        if problem:
            raise StoreError(f"{path}: {problem}{REPAIR}")
        seeds = table["seed"]
        _check_name(path, seeds[0].as_py(), seeds[-1].as_py())
        return table


def _opened(path: Path) -> pa.NativeFile:
    """Open a file by the bytes of its name: Arrow refuses names that are not UTF-8."""
    return pa.OSFile(os.fsencode(path))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn any error that a file's contents cause into one that names the file.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        It cannot be read; a repair is suggested unless the system refused to read it.
    """
    try:
        yield
    except (FileNotFoundError, StoreError):
        raise
    except READ_ERRORS as error:
        remedy = "" if getattr(error, "errno", None) else REPAIR
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise StoreError(f"{path}: not a readable part: {text}{remedy}") from error


def _check_name(path: Path, first: int, last: int) -> None:
    name = parse_part_name(path.name)
    if name is not None and not name[0] <= first <= last <= name[1]:
        raise StoreError(f"{path}: its name says seeds {name[0]} to {name[1]}, it holds {first} to {last}{REPAIR}")


def digest(table: pa.Table) -> bytes:
    """Return 16 hexadecimal digits of SHA-256 over names and values, whatever the encoding and the chunks."""
    total = hashlib.sha256()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        total.update(f"{name}:{len(column)};".encode())
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        if values.null_count:
            total.update(np.packbits(values.is_null().to_numpy(zero_copy_only=False)).data)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            total.update(pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype("<i8").data)
            total.update(_text_of(values))
        elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            total.update(np.ascontiguousarray(pc.fill_null(values, 0).to_numpy(zero_copy_only=False)).data)
        else:
            total.update(str(values.type).encode())
    return total.hexdigest()[:16].encode()


def rows_problem(table: pa.Table) -> str | None:
    """Say what is wrong with the first row that no command could have written, naming its seed; None if nothing is."""
    if any(table[field.name].null_count for field in SCHEMA if not field.nullable) or not len(table):
        return "a value is missing" if len(table) else "holds no row"
    seeds = table["seed"].to_numpy()
    order = np.flatnonzero(seeds[1:] <= seeds[:-1])
    if len(order):
        seed = seeds[order[0] + 1]
        return f"seed {seed} stands twice" if seed == seeds[order[0]] else f"seed {seed} is out of order"
    verdict = table["verdict"].cast(pa.string())
    won, has_line = pc.equal(verdict, "won"), pc.is_valid(table["line"])
    complete = pc.and_(pc.and_(pc.is_valid(table["moves"]), pc.is_valid(table["deals"])), pc.is_valid(table["score"]))
    within = pc.and_(pc.greater_equal(table["positions"], 0), pc.less_equal(table["positions"], table["node_limit"]))
    unsettled = pc.equal(verdict, "unsettled")
    rules = (
        (pc.is_in(verdict, pa.array(VERDICTS)), "the verdict is none of won, lost, unsettled"),
        (pc.and_(pc.equal(won, has_line), pc.equal(won, complete)), "a line, moves, deals and score are for won only"),
        (within, "positions are not between 0 and node_limit"),
        (pc.or_(pc.invert(unsettled), pc.equal(table["positions"], table["node_limit"])), "unsettled below its limit"),
        (pc.greater_equal(table["seed"], 0), "a negative seed"),
        (pc.equal(table["rules_hash"].cast(pa.string()), table["rules_hash"][0].cast(pa.string())), "other rules"),
    )
    for holds, text in rules:
        broken = np.flatnonzero(~holds.to_numpy(zero_copy_only=False))
        if len(broken):
            return f"row of seed {seeds[broken[0]]}: {text}"
    return None


def _check_version(metadata: dict[bytes, bytes] | None, path: Path) -> None:
    text = (metadata or {}).get(_VERSION_KEY)
    if text is None:
        raise StoreError(f"{path}: not written by winnable (no schema version in it){MOVE_OR_REPAIR}")
    version = int(text) if re.fullmatch(rb"[0-9]{1,9}", text) else 0
    if version > VERSION:
        raise StoreError(f"{path}: schema {version} is newer than this program's {VERSION}; update winnable")
    if version != VERSION:
        raise StoreError(f"{path}: schema {text[:20].decode(errors='replace')!r} is unknown{REPAIR}")


def _bounds(metadata: Any, column: str, path: Path) -> tuple[Any, Any]:
    place = next((i for i in range(metadata.num_columns) if metadata.schema.column(i).path == column), None)
    if place is None:
        raise StoreError(f"{path}: has no column {column!r}{REPAIR}")
    chunks = [metadata.row_group(i).column(place).statistics for i in range(metadata.num_row_groups)]
    if any(chunk is None or not chunk.has_min_max for chunk in chunks):
        raise StoreError(f"{path}: not written by winnable (no statistics of {column!r}){REPAIR}")
    return min(chunk.min for chunk in chunks), max(chunk.max for chunk in chunks)


def _text_of(values: pa.Array) -> memoryview | bytes:
    """Return the bytes of a string array in order; null entries hold none."""
    if len(values) == 0:
        return b""
    wide = pa.types.is_large_string(values.type)
    _, offsets, data = values.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32)[values.offset : values.offset + len(values) + 1]
    return memoryview(data)[ends[0] : ends[-1]]
