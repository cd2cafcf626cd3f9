"""What goes to the terminal: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop._files import write_all_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from lasthop._core import Diagnostic

json_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output, and nothing else there."
)


def stdout() -> Console:
    """The console for results. Made anew each time: tests and pipes exchange the stream."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def stderr() -> Console:
    """The console for warnings and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def json_object(value: Any) -> None:
    """The one object of `--json`."""
    click.echo(json_text(value, indent=2))


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON for standard output, with null for what JSON has no number for."""
    escaped = not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    return json.dumps(_finite(value), indent=indent, ensure_ascii=escaped, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    """`value` with null for what JSON has no number for, and decimals of SQL as numbers."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = (), wrap: bool = False) -> None:
    """A plain table on stdout; columns whose index is in `right` hold numbers.

    In a pipe a row is one line, however long, so that grep and awk see it whole; with `wrap`, for
    tables that hold sentences, a row is wrapped there too.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    grid = Table(box=None, pad_edge=False, show_header=any(headers), header_style="bold", padding=(0, 2, 0, 0))
    numbers = set(right)
    for i, header in enumerate(headers):
        # A unit in brackets would be taken for a style.
        grid.add_column(Text(header), justify="right" if i in numbers else "left", no_wrap=i == 0, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    if console.is_terminal:
        console.print(grid)
        return
    wide = Console(highlight=False, width=shutil.get_terminal_size((100, 24)).columns if wrap else 100_000)
    with wide.capture() as text:
        wide.print(grid)
    click.echo("\n".join(row.rstrip() for row in text.get().splitlines()))


def line(text: str = "", style: str = "") -> None:
    """A line on stdout, taken literally and never broken."""
    from rich.text import Text

    stdout().print(Text(text, style=style), soft_wrap=True)


def paragraph(text: str, indent: str = "", style: str = "", further: str | None = None) -> None:
    """A text on stdout, wrapped at words to the width of a terminal; in a pipe one line.

    The first line begins with `indent`, the others with `further`, or with as much.
    """
    console = stdout()
    if not console.is_terminal:
        line(indent + text, style)
        return
    further = indent if further is None else further
    wrapped = textwrap.wrap(
        text, max(console.width, 20), initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )
    for row in wrapped or [indent]:
        line(row, style)


def narrower_than(columns: int) -> bool:
    """Whether a terminal has fewer columns."""
    console = stdout()
    return console.is_terminal and console.width < columns


#: So many warnings that differ only in names and numbers are shown; ten thousand flows may all have
#: one.
MOST_ALIKE = 10


def warnings(found: Sequence[Diagnostic]) -> None:
    """Prints the warnings of a scenario on stderr.

    Of many similar ones it prints the first, and the number of the others.
    """
    if not found:
        return
    from rich.text import Text

    console = stderr()
    alike: Counter[str] = Counter()
    for w in found:
        kind = re.sub(r"`[^`]*`|\d[\d.]*", "...", w["message"])
        alike[kind] += 1
        if alike[kind] > MOST_ALIKE:
            continue
        head = Text("warning", style="yellow bold").append(f": {w['message']}", style="not bold default")
        console.print(head, soft_wrap=True)
        if w["file"]:
            place = ":".join(str(p) for p in (w["file"], w["line"], w["column"]) if p is not None)
            console.print(Text(f"  --> {place}"), soft_wrap=True)
        if w["help"]:
            console.print(Text(f"  help: {w['help']}"), soft_wrap=True)
    for kind, count in alike.items():
        if count > MOST_ALIKE:
            note(f"{count - MOST_ALIKE:,} more warnings: {kind} (`lasthop validate --json` lists all)")


def files(contents: Mapping[Path, str | bytes]) -> None:
    """Writes files, all or none; says what was done with those that a killed command had left."""
    for said in write_all_whole(contents):
        note(said)


def note(text: str) -> None:
    """Something that the user should know, on stderr."""
    from rich.text import Text

    stderr().print(Text("note", style="bold").append(f": {text}", style="not bold default"), soft_wrap=True)
