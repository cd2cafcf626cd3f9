"""What the commands that make many runs have in common: options, progress, an estimate in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop import _format
from lasthop._progress import Lines
from lasthop.cli import _output

if TYPE_CHECKING:
    from lasthop.campaign.conduct import Estimate, Event

jobs_option = click.option(
    "--jobs", type=click.IntRange(min=0), metavar="N", default=0, help="Runs at a time. [one per core]"
)


class _StorePath(click.Path):
    """A folder that has a name.

    An empty one, as an unset variable gives it, is not the current folder.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("the store's folder has no name.", param, ctx)
        return super().convert(value, param, ctx)


store_option = click.option(
    "--store",
    type=_StorePath(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where finished runs are kept. [LASTHOP_STORE, else results/store]",
)
#: The names that --executor takes.
EXECUTORS = click.Choice(("threads", "processes", "ray"))


@contextmanager
def bar(name: str, *, shown: bool) -> Iterator[Callable[[Event], None] | None]:
    """Progress: a bar with rate, time to go and failures on a terminal, lines elsewhere."""
    if not shown or sys.stderr is None:
        yield None
        return
    time_to_go = _TimeToGo()
    if not sys.stderr.isatty():
        lines = Lines(name)
        yield lambda event: lines.show(event.done / max(event.total, 1), _how_far(event), time_to_go.after(event))
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[far]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown_bar:
        task = shown_bar.add_task(name, total=None, far="")

        def report(event: Event) -> None:
            far = ", ".join(filter(None, (_how_far(event), time_to_go.after(event))))
            shown_bar.update(task, completed=event.done, total=event.total, far=far)

        yield report


class _TimeToGo:
    """The time to go in words. Where runs were added to the plan, more may be added."""

    def __init__(self) -> None:
        self._planned: int | None = None

    def after(self, event: Event) -> str:
        """The words for an event, "" before anything is known."""
        if self._planned is None:
            self._planned = event.total
        if event.eta_s is None:
            return ""
        about = "at least" if event.total > self._planned else "about"
        return f"{about} {_format.duration(event.eta_s)} to go"


def _how_far(event: Event) -> str:
    taken = f", {event.taken:,} found" if event.taken else ""
    failed = f", {event.failed:,} failed" if event.failed else ""
    rate = f" ({event.rate:.3g} runs/s)" if event.rate else ""
    return f"{event.done:,} of {event.total:,} runs{taken}{failed}{rate}"


def estimate_json(found: Estimate) -> dict[str, Any]:
    """An estimate as `--dry-run --json` prints it."""
    keys = ("runs", "found", "probes", "run_s", "spread", "seconds", "octets", "workers", "executor")
    return {key: getattr(found, key) for key in keys}


def tell_estimate(found: Estimate) -> None:
    """An estimate as `--dry-run` prints it."""
    _output.line(f"Runs: {_span(found.runs, '{:,}'.format)}, of them {found.found:,} in the store")
    if not found.probes:
        return
    least, mean, most = (_format.duration(s) for s in found.run_s)
    _output.line(f"A run takes {mean} of a core ({least} to {most} in {found.probes} probes)")
    where = f"{found.workers} at a time, {found.executor}"
    _output.line(f"Time: {_span(found.seconds, _format.duration)} ({where})")
    _output.line(f"Store: {_span(found.octets, octets)}")


def octets(size: float) -> str:
    """A size with its unit: `12.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _span(ends: tuple[Any, Any], form: Callable[[Any], str]) -> str:
    low, high = (form(end) for end in ends)
    return low if low == high else f"{low} to {high}"
