"""Files and folders that appear whole or not at all; the core writes them.

Both are written beside their name as `NAME.PROCESS.partial` and renamed when all is written: a full
disk or Ctrl-C leaves what was there before. Symbolic links stand for what they point to; a device
or a pipe is refused.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lasthop import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def write_all_whole(files: Mapping[Path, str | bytes]) -> list[str]:
    """Writes files, with the folders that they need: all of them, or none.

    Returns:
        A sentence for each unfinished file of these names that a killed process had left: it was
            removed, or why not.

    Raises:
        LasthopError: one of them is a folder or no regular file, or cannot be written.
    """
    return _core.write_files([(p, c.encode() if isinstance(c, str) else c) for p, c in files.items()])


class Earlier(NamedTuple):
    """What a folder holds that may be replaced."""

    #: A JSON object in it, by which it is recognised.
    file: str
    #: Keys of this object.
    keys: tuple[str, ...]
    #: The other files and folders in it. With one more than these it is not replaced.
    names: tuple[str, ...]


@contextmanager
def whole_folder(path: Path, replaces: Earlier | None = None) -> Iterator[Path]:
    """Yields the folder to write in, which becomes `path` at the end of the block.

    Args:
        path: absent, empty, or an earlier folder that may be replaced.
        replaces: what such an earlier folder holds; None: no folder is replaced.

    Raises:
        FolderInUseError: `path` holds something else, or is being written.
    """
    folder = _core.ResultFolder(path, replaces)
    try:
        yield Path(folder.partial)
        folder.publish()
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)  # a write that fails does not say where
        raise
    finally:
        folder.discard()


@contextmanager
def claimed(folder: Path, what: str) -> Iterator[None]:
    """Keeps other processes from making `what`, some files in `folder`, while the block runs.

    `folder` is made where it is missing, and removed at the end if it is empty.

    Raises:
        FolderInUseError: another process is making them.
    """
    claim = _core.ResultFolder.claim(folder, what)
    try:
        yield
    finally:
        claim.discard()


def is_there(path: Path) -> bool:
    """Whether `path` is a file or folder; a name that is too long for one is none."""
    try:
        return path.exists()
    except OSError:
        return False


def resolved(path: Path) -> Path:
    """`path` without symbolic links and without `..`; as it is written where it has neither."""
    real = path.resolve()
    return path if ".." not in path.parts and real == path.absolute() else real
