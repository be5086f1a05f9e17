"""One writer per dataset: a lock that names its holder and ends with its process."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from pipeline.dataset.files import explained, make_directory, write_json
from pipeline.errors import StoreError

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}  # as on some network file systems


class BusyError(StoreError):
    """The dataset has another writer."""


@contextlib.contextmanager
def hold(staging: Path, command: str, timeout: float = 0.0) -> Iterator[None]:
    """Hold the dataset's lock while the body runs.

    The lock is the operating system's, so it ends with its process however that dies. Where the file system has no
    such locks, a lock file stands in, and one left by a dead process of this host is taken over.

    Parameters
    ----------
    staging
        The dataset's `.staging/`.
    command
        The name others see for what the holder is doing.
    timeout
        Seconds to wait for another holder.

    Raises
    ------
    BusyError
        If another process holds it, naming that process.
    """
    make_directory(staging)
    holder = staging / "holder.json"
    lock = _acquire(staging, holder, timeout)
    try:
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        mine = {"command": command, "pid": os.getpid(), "host": socket.gethostname(), "since": since}
        write_json(holder, mine, staging)
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def current_holder(staging: Path) -> str | None:
    """Return who holds the dataset now; None if nobody does."""
    holder = staging / "holder.json"
    if not holder.exists():
        return None
    try:
        _acquire(staging, holder, 0.0).release()
    except BusyError:
        return describe_holder(staging)
    except StoreError:  # a place nobody can write to
        return None
    return None


def describe_holder(staging: Path) -> str:
    """Return who holds the lock, by its own account."""
    holder = _read_holder(staging / "holder.json")
    if not holder:
        return "another process"
    command, pid, host, since = (holder.get(key) for key in ("command", "pid", "host", "since"))
    return f"winnable {command} (pid {pid} on {host} since {since})"


def _acquire(staging: Path, holder: Path, timeout: float) -> BaseFileLock:
    lock: BaseFileLock = FileLock(staging / "lock", thread_local=False)
    if not _has_locks(staging):
        lock = SoftFileLock(staging / "soft-lock", thread_local=False)
        if _is_dead(_read_holder(holder)):
            Path(lock.lock_file).unlink(missing_ok=True)
        elif holder.exists():
            remedy = f"if it has died, remove {holder} and {lock.lock_file}: this file system has no locks to tell by"
            raise BusyError(f"{staging.parent} is in use by {describe_holder(staging)}; {remedy}")
    _try(lock, staging, timeout)
    return lock


def _has_locks(folder: Path) -> bool:
    """Return whether files here can be locked, by trying it on an unnamed one; True on systems without `flock`."""
    try:
        import fcntl

        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows
        return True
    except OSError as error:
        return error.errno not in _NO_LOCKS
    return True


def _try(lock: BaseFileLock, staging: Path, timeout: float) -> None:
    with explained("lock", Path(lock.lock_file)):
        try:
            lock.acquire(timeout=timeout, poll_interval=0.05)
        except Timeout:  # an OSError too
            raise BusyError(
                f"{staging.parent} is in use by {describe_holder(staging)}; wait for it, or use another --data and "
                "merge later"
            ) from None


def _read_holder(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_dead(holder: dict[str, Any]) -> bool:
    pid = holder.get("pid")
    if holder.get("host") != socket.gethostname() or not isinstance(pid, int) or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
