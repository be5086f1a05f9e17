"""TOML files read strictly: a fault names the file, the key, the value and what is allowed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

import msgspec

from pipeline.errors import DataError, VariantError
from pipeline.game.spelling import closest

FILE_BYTES = 1_000_000  # no file that people write for us, a variant, a board or a configuration, is larger
T = TypeVar("T")


def convert(table: dict[str, Any], kind: type[T], source: str) -> T:
    """Return a TOML table as a value of a class; the annotation of each of its fields says what is allowed.

    Raises
    ------
    VariantError
        A key is unknown or missing, or a value is not allowed.
    """
    hints = get_type_hints(kind, include_extras=True)
    for key in table:
        if key not in hints:
            hint = closest(key, hints) or f"; allowed: {', '.join(hints)}"
            raise VariantError(f"{source}: unknown key {key!r}{hint}")
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        named = re.search(r"(?:field `|at `\$\.)(\w+)", str(error))
        if named is None or named[1] not in hints:
            raise VariantError(f"{source}: {error}") from error
        fail(table, named[1], source, _allowed(hints[named[1]], table.get(named[1])))


def fail(table: dict[str, Any], key: str, source: str, allowed: str) -> NoReturn:
    """Raise the `VariantError` that names file, key, value and what is allowed."""
    said = f"is {_toml(table[key])}" if key in table else "is missing"
    raise VariantError(f"{source}: {key} {said}; allowed: {allowed}")


def _allowed(hint: Any, value: object) -> str:
    """Return what the annotation of a field says of it."""
    words = get_args(hint)
    for meta in (meta for part in (hint, *words) for meta in getattr(part, "__metadata__", ())):
        return str(meta.description)
    return ", ".join(map(_toml, words)) + (closest(value, words) if isinstance(value, str) else "")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def read_toml(path: Path, what: str, error: type[DataError]) -> dict[str, Any]:
    """Return the contents of a TOML file.

    Parameters
    ----------
    what
        What the file should be, such as ``"variant"``.
    error
        What to raise.

    Raises
    ------
    DataError
        It cannot be read, or is no TOML. Of the class `error`.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as fault:
        raise error(f"{path}: cannot be read: {fault.strerror or fault}") from fault
    if len(raw) > FILE_BYTES:
        raise error(f"{path}: larger than {FILE_BYTES:,} bytes, so it is not a {what}")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise error(f"{path}: not TOML: byte {fault.start} is not UTF-8") from fault
    except (ValueError, RecursionError) as fault:  # a number of thousands of digits is a plain ValueError
        raise error(f"{path}: not TOML: {str(fault)[:200]}") from fault
