"""Temporary folders of guests, which are removed also after their program was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What their names begin with.
PREFIX = "lasthop-guest-"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder in TMPDIR, which is removed at the end of the block.

    It is locked while it is in use, and the kernel unlocks it when the process ends. A folder
    without a lock was left by a program that a signal has ended: such folders are removed first.
    """
    _remove_left()
    folder, lock = _new()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _new() -> tuple[Path, int]:
    """A folder, and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Another program may take it for one that was left, until it is locked.
        if (lock := _lock(folder)) is not None:
            if os.fstat(lock).st_nlink > 0:
                return folder, lock
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """The descriptor that holds the lock of a folder.

    None: another process holds it, or there is no such folder.
    """
    # The module is one of Unix alone, and the package is imported elsewhere too.
    import fcntl

    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _remove_left() -> None:
    """Removes folders of this user that no process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and (lock := _lock(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
