"""Files and folders that appear whole or not at all; the core writes them.

Both are written as `NAME.PROCESS.partial` in the same folder, and renamed when they are complete:
after a full disk or Ctrl-C the earlier file or folder is unchanged. Symbolic links are followed; a
device or a pipe is refused.
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
        A sentence for each unfinished file of these names that a killed process had left: that it
        was removed, or why it was not.

    Raises:
        LasthopError: one of the names is that of a folder or of something else than a regular file,
            or a file cannot be written.
    """
    return _core.write_files([(p, c.encode() if isinstance(c, str) else c) for p, c in files.items()])


class Earlier(NamedTuple):
    """The content of a folder that may be replaced."""

    #: A JSON object in it, by which it is recognised.
    file: str
    #: Keys of this object.
    keys: tuple[str, ...]
    #: The other files and folders in it. With one more than these it is not replaced.
    names: tuple[str, ...]


@contextmanager
def whole_folder(path: Path, replaces: Earlier | None = None) -> Iterator[Path]:
    """Yields a folder to write into, which is renamed to `path` at the end of the block.

    Args:
        path: absent, empty, or an earlier folder that may be replaced.
        replaces: the content by which an earlier folder is recognised; None: no folder is replaced.

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
    """Prevents other processes from writing `what`, some files in `folder`, during the block.

    `folder` is made where it is missing, and removed at the end if it is empty.

    Raises:
        FolderInUseError: another process is writing them.
    """
    claim = _core.ResultFolder.claim(folder, what)
    try:
        yield
    finally:
        claim.discard()


def is_there(path: Path) -> bool:
    """Whether `path` is a file or folder; False where the name is too long for one."""
    try:
        return path.exists()
    except OSError:
        return False


def resolved(path: Path) -> Path:
    """`path` without symbolic links and without `..`; as it is written where it has neither."""
    real = path.resolve()
    return path if ".." not in path.parts and real == path.absolute() else real
