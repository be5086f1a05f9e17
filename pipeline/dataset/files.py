"""Writing so that a kill or a power cut leaves either the old file or the new one.

Every change to a dataset on disk is one of the durable steps here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TextIO, TypeVar

from pipeline.errors import DataError, StoreError, UsageError

T = TypeVar("T")

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "choose a directory that can be written",
    errno.EACCES: "allow writing there or choose another directory",
    errno.EPERM: "allow writing there or choose another directory",
}


@contextlib.contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turn an OSError into a StoreError that names the action, the path and the remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0)
        advice = f"; {remedy} and run the same command again: what is finished is kept" if remedy else ""
        raise StoreError(f"cannot {action} {path}: {error.strerror or error}{advice}") from error


def make_directory(path: Path) -> None:
    """Create a directory with its parents."""
    with explained("create", path):
        path.mkdir(parents=True, exist_ok=True)


def write_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a new file and wait until it is on disk; if that fails, remove it."""
    with explained("write", path):
        try:
            with path.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise


def rename(source: Path, target: Path) -> None:
    """Move a file over another on the same file system, atomically."""
    with explained("write", target):
        source.replace(target)


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    with explained("remove", path):
        path.unlink(missing_ok=True)


def sync_directory(path: Path) -> None:
    """Wait until a directory's entries are on disk."""
    if os.name == "nt":  # directories cannot be opened there; renames are durable by themselves
        return
    with explained("write", path):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_json(
    path: Path, form: str, parse: Callable[[Any], T], remedy: str = "", error: type[DataError] = StoreError
) -> T:
    """Read a JSON file of one of our own forms.

    Parameters
    ----------
    form
        What the file should be, such as ``"manifest of a run"``.
    parse
        Takes the file's value and returns what is wanted of it; whatever it raises says that the form is another.
    remedy
        What to do about a file of another form; appended to the message.
    error
        What to raise.

    Raises
    ------
    DataError
        The file cannot be read, or is not of the form; names it, and the place or the value. Of the class `error`.
    """
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except OSError as fault:
        raise error(f"{path}: cannot be read: {fault.strerror or fault}") from fault
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, UsageError) as fault:
        raise error(f"{path}: not a valid {form}: {_what_is_wrong(fault)}{remedy}") from fault


def _what_is_wrong(fault: Exception) -> str:
    if isinstance(fault, KeyError):
        return f"it has no {fault.args[0]!r}"
    if isinstance(fault, json.JSONDecodeError):
        return f"no JSON from line {fault.lineno}, column {fault.colno} on"
    if isinstance(fault, UnicodeDecodeError):
        return f"byte {fault.start} is not UTF-8"
    if isinstance(fault, UsageError):
        return str(fault)
    return "its values are not of the form that winnable writes"


def write_json(path: Path, value: Any, staging: Path) -> None:
    """Write a JSON file atomically.

    Parameters
    ----------
    staging
        A directory on the same file system, for the file while it is incomplete.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    staged = staging / f"{path.name}.tmp"
    write_file(staged, lambda file: file.write(text.encode()))
    rename(staged, path)
    sync_directory(path.parent)


def target_of(path: Path) -> Path:
    """Return the file a path refers to, links resolved, so that a rename over it leaves the link.

    Raises
    ------
    StoreError
        It is a directory, a device, a pipe or something else that is not a regular file.
    """
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a regular file, and writing would replace it; expected the name of a file")
    return path.resolve()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` once it is complete; of one that fails nothing is left.

    Raises
    ------
    StoreError
        The file cannot be written, or `target_of` refuses to replace it.
    """
    path = target_of(path)
    partial = path.with_name(f"{path.name}.partial")
    with explained("write", path):
        try:
            with partial.open("w", encoding="utf-8", newline="") as file:
                yield file
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically by way of a hidden one beside it; makes its directory."""
    path = target_of(path)
    make_directory(path.parent)
    staged = path.with_name(f".{path.name}.tmp")
    try:
        write_file(staged, write)
        rename(staged, path)
    finally:
        remove(staged)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically (see `write_whole`)."""
    write_whole(path, lambda file: file.write(text.encode()))
