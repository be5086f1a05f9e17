"""How the engine's functions are compiled, and where the compiled code is kept.

Numba's cache notices an edit of a function's own file but not of the files of its callees: a caller would keep the old
callee. So the cache directory is named after all engine sources, numba's version and the processor.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import zlib
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

_config: Any = numba.config  # its settings are made at run time
HERE = pathlib.Path(__file__).parent
COMPLETE = 0  # stands for the complete search where widths are marked


def sources_hash() -> str:
    """Hash of everything the compiled code depends on (16 hex digits)."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(HERE.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_directory() -> pathlib.Path:
    """Directory of the compiled code: `WINNABLE_CACHE`, else `XDG_CACHE_HOME`/winnable, else ~/.cache/winnable."""
    base = os.environ.get("WINNABLE_CACHE")
    root = pathlib.Path(base) if base else pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "winnable"
    return root.expanduser() / sources_hash()


CACHE_DIRECTORY = cache_directory()


def _mark(width: int) -> pathlib.Path:
    """Return the file that marks a width as compiled; numba keeps what it compiles by the path of the sources."""
    return CACHE_DIRECTORY / f"compiled-{width}-{zlib.crc32(os.fsencode(HERE)):08x}"


def is_compiled(width: int) -> bool:
    """Whether the cache holds the search for boards of that width (see `mark_compiled`)."""
    return bool(_config.DISABLE_JIT) or _mark(width).exists()


def mark_compiled(width: int) -> None:
    """Note that the search for boards of that width is in the cache."""
    if not _config.DISABLE_JIT and CACHE_DIRECTORY.is_dir():
        _mark(width).touch()


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function (lazily, cached, bounds checked, no float errors, without the interpreter lock)."""
    previous, _config.CACHE_DIR = _config.CACHE_DIR, str(CACHE_DIRECTORY)
    try:  # numba reads the directory when it decorates; other users of numba in this process keep theirs
        return numba.njit(function, cache=True, error_model="numpy", boundscheck=True, nogil=True)
    finally:
        _config.CACHE_DIR = previous


def record(*fields: tuple[object, ...]) -> np.dtype[np.record]:
    """Return an aligned record type whose items have their fields as attributes, as compiled functions take it."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))  # type: ignore[return-value]
