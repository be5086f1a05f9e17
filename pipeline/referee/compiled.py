"""How the referee's functions are compiled: cached beside the engine's, by a hash of the referee's own sources."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from pipeline.referee.cache import cache_directory

_config: Any = numba.config  # its settings are made at run time
_HERE = pathlib.Path(__file__).parent


def _directory() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(_HERE.glob("*.py")):
        digest.update(path.read_bytes())
    return str(cache_directory() / f"referee-{digest.hexdigest()[:16]}")


DIRECTORY = _directory()


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called (cached, bounds checked, without the interpreter lock)."""
    previous, _config.CACHE_DIR = _config.CACHE_DIR, DIRECTORY
    try:  # numba reads the directory when it decorates; other users of numba in this process keep theirs
        return numba.njit(function, cache=True, boundscheck=True, nogil=True, error_model="numpy")
    finally:
        _config.CACHE_DIR = previous


def record(*fields: tuple[object, ...]) -> np.dtype[np.record]:
    """Return an aligned record type whose items have their fields as attributes, as compiled functions take it."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))  # type: ignore[return-value]
