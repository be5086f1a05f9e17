"""Where compiled code is kept: a directory that nobody else may write to, since what lies in it is run."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import tempfile
from pathlib import Path

from pipeline.errors import ConfigError

log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """Return `WINNABLE_CACHE`, else `XDG_CACHE_HOME`/winnable, else ~/.cache/winnable.

    Where that cannot be written, a directory of this user among the system's temporary ones stands in, and
    `WINNABLE_CACHE` names it from then on: numba would keep the code beside the sources, and not notice that these
    change. To be called before anything of the engine is loaded, which reads that variable.

    Raises
    ------
    ConfigError
        Others may write to the directory, or to one in it; names it.
    """
    base = os.environ.get("WINNABLE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "winnable")  # noqa: PTH118
    folder = Path(os.path.expanduser(base))  # noqa: PTH111 - Path's own raises where there is no home
    if not _is_writable(folder):
        named, folder = folder, Path(tempfile.gettempdir()) / f"winnable-{getattr(os, 'geteuid', int)()}"
        os.environ["WINNABLE_CACHE"] = str(folder)
        if not folder.exists():
            log.warning(
                "%s cannot be written; compiled code is kept in %s (WINNABLE_CACHE names another)", named, folder
            )
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700)
    for path in (folder, *folder.glob("*/")):
        with contextlib.suppress(FileNotFoundError, AttributeError):  # the latter: Windows
            _refuse_shared(path, path.stat())
    return folder


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _refuse_shared(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()):
        what, remedy = f"belongs to another user (number {found.st_uid})", ""
    elif found.st_mode & stat.S_IWOTH:
        what, remedy = "others may write to this directory", f"chmod o-w {path}, or "
    else:
        return
    raise ConfigError(
        f"{path}: {what}, and the compiled code in it is run: {remedy}set WINNABLE_CACHE to a directory of your own"
    )
