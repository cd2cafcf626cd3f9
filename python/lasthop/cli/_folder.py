"""The result folder of a command: which one it is, and what may be in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from lasthop import FolderInUseError
from lasthop._core import clear_stale, not_of_a_run
from lasthop._errors import mistake
from lasthop._files import resolved
from lasthop.cli import _output

T = TypeVar("T")


def first_free(default: Path, out: Path | None, force: bool, make: Callable[[Path], T]) -> T:
    """What `make` returns for the first folder that is not in use.

    Args:
        default: the folder, if `out` names none; then the same with the numbers from 2 on.
        out: the only folder.
        force: `default` is the only folder if `out` names none.
        make: called with a folder; FolderInUseError: it has an earlier run's results, or a run in
            progress has it.

    Raises:
        FolderInUseError: the only folder is in use.
    """
    if out or force:
        return make(out or default)
    for number in count(1):
        with suppress(FolderInUseError):
            return make(default if number == 1 else default.with_name(f"{default.name}-{number}"))
    raise AssertionError("numbers have no end")


def claimed(folder: Path, force: bool) -> Path:
    """The real folder of a run's results, without what a killed run has left beside it.

    Raises:
        FolderInUseError: it has content, and that is not to be replaced.
        LasthopError: it is a file, or has content that is not a run's.
    """
    real = resolved(folder)
    for note in clear_stale(real):
        _output.note(note)
    if real.exists() and not real.is_dir():
        raise mistake(f"'{folder}' is a file; the results need a folder")
    if not real.is_dir() or not any(real.iterdir()):
        return real
    if not force:
        raise mistake(
            f"the folder '{folder}' is not empty",
            "--force replaces its results; --out DIR takes another folder",
            FolderInUseError,
        )
    if why := not_of_a_run(real):
        raise mistake(
            f"--force does not delete the folder '{folder}': {why}",
            "move what is yours elsewhere, or take another folder with --out DIR",
        )
    return real
