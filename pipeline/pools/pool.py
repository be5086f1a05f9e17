"""Pools: lists of deals proved winnable, with their cards, so that a game needs none of our code.

A pool is a Parquet file with one row per deal, sorted by seed. Its header is JSON in the file's metadata (key
`winnable.pool`): the rules, the numbering, how the deals were searched, how many were tried, and the SHA-256 of the
rows. The digest is over each row in turn, as a JSON array of its values in the order of `PoolRow` (a seed beyond
2**53 - 1 as text), in ASCII without blanks, followed by a line feed. The JSON form of a pool has the same rows.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.dataset.files import write_whole
from pipeline.dataset.schema import READ_ERRORS
from pipeline.errors import DataError, LineError, UsageError
from pipeline.game.deals import deal
from pipeline.game.numbers import json_ready, json_text, write_csv
from pipeline.game.variants import RULE_FIELDS, Variant, load_variant, variant_ids, variant_of
from pipeline.pools.rows import PoolRow, cards_of
from pipeline.referee.replay import verify_line

FORMAT = 1
_KEY = b"winnable.pool"


_SCHEMA = pa.schema(
    [
        ("seed", pa.int64()),
        ("difficulty", pa.int8()),
        ("positions", pa.int64()),
        ("moves", pa.int16()),
        ("score", pa.int16()),
        ("line", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("face_down", pa.list_(pa.int8())),
        ("stock", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a pool.

    Attributes
    ----------
    variant, rules_hash, rules
        The game: its id, the hash of its rules, and the rules.
    numbering
        How a seed becomes a deal.
    node_limit
        Positions within which every deal of the pool was won.
    solvers
        Ids of the solvers that found the lines.
    levels
        Difficulties of the deals in the pool.
    first_seed, last_seed
        The deals tried; those not in the pool were not won within the limit, or are of another difficulty.
    tried, deals
        Number of deals tried, and number in the pool.
    sha256
        Digest of the rows, 64 hexadecimal digits.
    format
        Version of this format.
    """

    variant: str
    rules_hash: str
    rules: dict[str, Any]
    numbering: str
    node_limit: int
    solvers: tuple[str, ...]
    levels: tuple[int, ...]
    first_seed: int
    last_seed: int
    tried: int
    deals: int
    sha256: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool: its header and its rows by seed."""

    header: Header
    rows: tuple[PoolRow, ...]

    def variant(self) -> Variant:
        """Return the game, with the rules in the header.

        Raises
        ------
        DataError
            The rules are not valid, do not have the hash in the header, or differ from this program's variant of that
            id.
        """
        header = self.header
        names = {"id": header.variant, "name": header.variant, "numberings": ["native", header.numbering]}
        variant = variant_of(header.rules | names, "field 'rules'")
        rules_hash = variant.rules_hash
        if rules_hash != header.rules_hash:
            raise DataError(
                f"field 'rules_hash': {header.rules_hash!r} is not the hash of the pool's rules: expected {rules_hash}"
            )
        if header.variant not in variant_ids():
            return variant
        known = load_variant(header.variant)
        if known.rules_hash != rules_hash:
            raise DataError(
                f"field 'rules_hash': {rules_hash!r} is not the hash of this program's {header.variant}: expected "
                f"{known.rules_hash}; build the pool again"
            )
        return known


def rules_of(variant: Variant) -> dict[str, Any]:
    """Return a variant's rules as a header has them."""
    values = {field: getattr(variant, field) for field in RULE_FIELDS}
    return {field: list(value) if isinstance(value, tuple) else value for field, value in values.items()}


def sha256(rows: Iterable[PoolRow]) -> str:
    """Return the SHA-256 of rows (see the top of this file), 64 hexadecimal digits."""
    total = hashlib.sha256()
    for row in rows:
        total.update(json.dumps(json_ready(row), separators=(",", ":")).encode("ascii") + b"\n")
    return total.hexdigest()


# ---- files


def write_pool(pool: Pool, path: Path) -> None:
    """Write a pool; an existing file is replaced only when the new one is complete.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    header = json.dumps(asdict(pool.header), separators=(",", ":"))
    columns = list(zip(*pool.rows, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(values, field.type) for field, values in zip(_SCHEMA, columns, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=_SCHEMA.with_metadata({_KEY: header.encode()}))
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def read_pool(path: Path, *, check: bool = True) -> Pool:
    """Read a pool.

    Parameters
    ----------
    path
        The Parquet file.
    check
        Compare the rows with the digest in the header.

    Raises
    ------
    DataError
        The file is not a pool, of a newer format, or damaged; names the fault.
    """
    try:
        with path.open("rb") as file:
            # Not `read_table`: the thread it starts may outlive a short command and abort its exit.
            table = pq.ParquetFile(file, pre_buffer=False).read(use_threads=False)
    except READ_ERRORS as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} is not a readable Parquet file: {first_line}") from error
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise DataError(f"{path} is not a pool: expected the key {_KEY.decode()} in its metadata")
    try:
        header = _read_header(json.loads(text))
        table = table.select(_SCHEMA.names).cast(_SCHEMA)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(f"{path}: damaged: {error}") from error
    if any(column.null_count for column in table.columns):
        raise DataError(f"{path}: damaged: a row lacks a value")
    lists = (table[name].to_pylist() for name in _SCHEMA.names)
    rows = tuple(PoolRow._make(map(_frozen, values)) for values in zip(*lists, strict=True))
    pool = Pool(header, rows)
    if check and (fault := content_fault(pool)):
        raise DataError(f"{path}: {fault}")
    return pool


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read_header(values: Any) -> Header:
    if not isinstance(values, dict) or not isinstance(values.get("format"), int):
        raise ValueError("field 'format' of the header is missing")
    if values["format"] > FORMAT:
        raise ValueError(f"field 'format': {values['format']} is newer than this program's {FORMAT}: update winnable")
    kinds = {"int": int, "str": str, "dict[str, Any]": dict, "tuple[str, ...]": list, "tuple[int, ...]": list}
    for field in fields(Header):
        kind = kinds[str(field.type)]
        if not isinstance(values.get(field.name), kind):
            raise ValueError(f"field {field.name!r}: {values.get(field.name)!r} is not a valid {kind.__name__}")
    known = {field.name: values[field.name] for field in fields(Header)}
    return Header(**known | {key: tuple(known[key]) for key in ("solvers", "levels")})


def content_fault(pool: Pool) -> str | None:
    """Return how rows and header disagree; None if they agree."""
    if len(pool.rows) != pool.header.deals:
        return f"field 'deals': {pool.header.deals} is not the number of rows: expected {len(pool.rows)}"
    digest = sha256(pool.rows)
    if digest != pool.header.sha256:
        return f"field 'sha256': {pool.header.sha256[:16]}... is not the digest of the rows: expected {digest[:16]}..."
    return None


class Fault(NamedTuple):
    """A fault in a row. `replay` is true if its line does not win."""

    seed: int
    text: str
    replay: bool


def faults(pool: Pool, variant: Variant, advance: Callable[[int], None] = lambda _count: None) -> Iterator[Fault]:
    """Replay every line, compare the cards with the deal, and yield the faults.

    Parameters
    ----------
    pool, variant
        The pool and its game.
    advance
        Called with 1 before each row.
    """
    numbering = pool.header.numbering
    for row in pool.rows:
        advance(1)
        try:
            board = deal(variant, row.seed, numbering)
            win = verify_line(board, row.line)
        except (LineError, UsageError) as error:
            yield Fault(row.seed, str(error), replay=True)
            continue
        if (row.columns, row.face_down, row.stock) != cards_of(board):
            yield Fault(row.seed, f"its cards are not those of {numbering} deal {row.seed}", replay=False)
        expected = win.moves, win.score
        if (row.moves, row.score) != expected:
            stored = f"moves {row.moves}, score {row.score}"
            yield Fault(row.seed, f"its line has moves, score {expected}, the row says {stored}", replay=False)


# ---- what games take


def sample(pool: Pool, count: int, levels: Sequence[int], key: int) -> list[PoolRow]:
    """Draw deals of some difficulties at random, without repeats.

    Parameters
    ----------
    key
        The same key draws the same deals.

    Raises
    ------
    UsageError
        The pool has fewer such deals.
    """
    fitting = [row for row in pool.rows if row.difficulty in levels]
    if len(fitting) < count:
        which = f" of difficulty {levels[0]} to {levels[-1]}" if len(levels) < len(range(1, 6)) else ""
        raise UsageError(f"{count} is not a valid number of deals{which}: the pool has {len(fitting)}")

    def order(row: PoolRow) -> bytes:
        return hashlib.sha256(f"winnable sample {key} {row.seed}".encode()).digest()

    return sorted(fitting, key=order)[:count]


def render(pool: Pool, rows: Sequence[PoolRow], form: str) -> str:
    """Return rows as JSON (with the header), CSV, or plain seeds, one per line."""
    if form == "numbers":
        return "".join(f"{row.seed}\n" for row in rows)
    if form == "json":
        deals = ",\n".join("  " + json_text(row._asdict()) for row in rows)
        return f'{{"header": {json_text(asdict(pool.header))},\n"deals": [\n{deals}\n]}}\n'
    out = io.StringIO()
    plain = ((*row[:6], "|".join(row.columns), " ".join(map(str, row.face_down)), row.stock) for row in rows)
    write_csv(out, PoolRow._fields, plain)
    return out.getvalue()
