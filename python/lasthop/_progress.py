"""Progress bars: on stderr, only when somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = "bool | Callable[[float], None]"
"""`True`: a bar on the terminal. A function: called with the share done, 0 to 1."""


@contextmanager
def share_bar(label: str, wanted: Progress = True) -> Iterator[Callable[[float], None] | None]:
    """Yields a function that takes the share done, or None when nothing is to be shown."""
    if callable(wanted):
        yield wanted
        return
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)
