"""The signals that stop a run, as one exception, and what a stopped command has left."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False  # the module `typing` takes longer than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Ctrl-C; what batch systems and `kill` send; a terminal that closes.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_NOTHING = "no result was written"
#: So long may a command take to clean up after a signal [s], unless it says otherwise.
CLEAN_WITHIN = 10.0

#: What the command in progress has left so far, in words; the innermost last.
_left: list[Callable[[], str]] = []
#: How long it may take to clean up; the innermost last [s].
_within: list[float] = []


class Stopped(KeyboardInterrupt):
    """A signal requested the end of the process.

    Derived from KeyboardInterrupt: code that cleans up after Ctrl-C also cleans up after every
    other signal.
    """

    def __init__(self, number: int = signal.SIGINT, left: str = _NOTHING) -> None:
        super().__init__()
        self.number = number
        #: What the command has left, in words.
        self.left = left


@contextmanager
def leaving(words: Callable[[], str], within: float | None = None) -> Iterator[None]:
    """Encloses the work and the output of a command: a signal during the block prints `words`.

    Standard output is flushed at the end, so that a wait for a slow reader is within the block.

    Args:
        words: what the command has left so far.
        within: how long the command may take to end its run and to write its results after a
            signal [s]; None: `CLEAN_WITHIN`. Then, or at a second signal, the process is ended.
    """
    _left.append(words)
    _within.append(CLEAN_WITHIN if within is None else within)
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt as error:
        raise Stopped(number_of(error), words()) from error
    finally:
        _left.pop()
        _within.pop()


def making(what: str, path: str | os.PathLike[str]) -> Callable[[], str]:
    """For `leaving`: `what` counts as complete as soon as `path` has a new file or folder.

    Until then there is no result.
    """
    before = _identity(path)
    return lambda: _NOTHING if _identity(path) in (None, before) else f"{what} complete in {os.fspath(path)}"


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """What a rename changes; None where there is nothing. An empty folder is no result yet."""
    from pathlib import Path  # not before it is needed: the command begins with this module

    try:
        place = Path(path)
        if place.is_dir() and not any(place.iterdir()):
            return None
        found = place.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def number_of(error: BaseException) -> int:
    """The signal that caused an exception; SIGINT (Ctrl-C) where the exception does not say."""
    return next((e.number for e in _behind(error) if isinstance(e, Stopped)), int(signal.SIGINT))


def left_by(error: BaseException) -> str:
    """What the command that was stopped has left, in words."""
    return next((e.left for e in _behind(error) if isinstance(e, Stopped)), _NOTHING)


def left_now() -> str:
    """What the command in progress has left so far, in words."""
    return _left[-1]() if _left else _NOTHING


def clean_within() -> float:
    """How long the command in progress may take to clean up after a signal [s]."""
    return _within[-1] if _within else CLEAN_WITHIN


def message(number: int, left: str = _NOTHING) -> str:
    """The message for the user: which signal came, and what the command has left."""
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    return f"stopped by {name}; {left}"


def _behind(error: BaseException) -> tuple[BaseException | None, ...]:
    # click turns KeyboardInterrupt into an exception of its own.
    return (error, error.__cause__, error.__context__)
