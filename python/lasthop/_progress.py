"""Progress on stderr: a bar on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = "bool | Callable[[float], None]"
"""`True`: a bar on a terminal, lines elsewhere. A function: called with the share done, 0 to 1."""

#: Time between two lines, and before the first one [s].
LINE_INTERVAL = 10.0


class Lines:
    """Progress for a log: a line on stderr every ten seconds; shorter work has none."""

    def __init__(self, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._clock = clock
        self._began = self._last = clock()

    def show(self, share: float, what: str = "", left: str | None = None) -> None:
        """Writes a line if it is time for one.

        Args:
            share: done, 0 to 1.
            what: the progress in words, such as "12 of 40 runs".
            left: the remaining time in words, "" for none; None: estimated from the share.
        """
        now = self._clock()
        if now - self._last < LINE_INTERVAL:
            return
        self._last = now
        spent = now - self._began
        if left is None:
            left = f"about {spent * (1 - share) / share:.0f} s to go" if 0 < share < 1 else ""
        done = what or f"{share:.0%}"
        print(f"{self._label}: {done} after {spent:.0f} s{left and f', {left}'}", file=sys.stderr, flush=True)


@contextmanager
def share_bar(label: str, wanted: Progress = True) -> Iterator[Callable[[float], None] | None]:
    """Yields a function that takes the share done, or None when nothing is to be shown."""
    if callable(wanted):
        yield wanted
        return
    if wanted not in (True, False):
        raise TypeError(f"progress is True, False or a function, not {wanted!r}")
    if not wanted or sys.stderr is None:
        yield None
        return
    if not sys.stderr.isatty():
        yield Lines(label).show
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)
