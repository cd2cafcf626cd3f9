"""`lasthop scenarios`: the annotated scenarios and campaigns that come with the package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lasthop._bundled import bundled, campaigns
from lasthop._errors import mistake
from lasthop._stop import leaving, making
from lasthop.cli import _completion, _output

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@click.group()
def scenarios() -> None:
    """List or copy the bundled scenarios and campaigns.

    \b
    Example:
      lasthop scenarios list
      lasthop scenarios copy umts-download
    """


@scenarios.command("list")
@_output.json_option
def list_(as_json: bool) -> None:
    """List the bundled scenarios and campaigns.

    \b
    Example:
      lasthop scenarios list
    """
    found = [(name, _description(path, "scenario"), str(path)) for name, path in bundled().items()]
    swept = [(name, _description(path, "campaign"), str(path)) for name, path in campaigns().items()]
    if as_json:
        keys = ("name", "description", "path")
        kinds = {"scenarios": found, "campaigns": swept}
        _output.json_object({kind: [dict(zip(keys, row, strict=True)) for row in rows] for kind, rows in kinds.items()})
        return
    _output.table(("scenario", "shows"), [row[:2] for row in found])
    _output.line()
    _output.table(("campaign", "shows"), [row[:2] for row in swept])
    _output.line()
    _output.line("Run one: lasthop run SCENARIO, lasthop sweep CAMPAIGN    Make it yours: lasthop scenarios copy NAME")


@scenarios.command()
@click.argument("name", shell_complete=_completion.bundled_scenarios)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--force", is_flag=True, help="Replace files that are there.")
@_output.json_option
def copy(name: str, folder: Path, force: bool, as_json: bool) -> None:
    """Copy a bundled scenario or campaign to FOLDER (default: here), to change and run it.

    A scenario comes with its traces.

    \b
    Example:
      lasthop scenarios copy umts-download
      lasthop run umts-download.toml
    """
    known = {**bundled(), **campaigns()}
    if name not in known:
        raise mistake(f"no bundled scenario or campaign is called '{name}'", f"there are: {', '.join(known)}")
    source = known[name]
    files = [Path(source.name), *_traces(source)]
    taken = [folder / f for f in files if (folder / f).exists()]
    if taken and not force:
        raise mistake(f"'{taken[0]}' is there already", "--force replaces it")
    written = [str(folder / f) for f in files]
    with leaving(making("the copy is", written[0])):
        _output.files({folder / f: (source.parent / f).read_bytes() for f in files})
        if as_json:
            _output.json_object({"written": written})
            return
        for path in written:
            _output.line(f"wrote {path}")
        _output.line(f"Run it: lasthop {'sweep' if name in campaigns() else 'run'} {written[0]}")


def _description(path: Path, kind: str) -> str:
    general = _toml(path).get(kind, {})
    return str(general.get("description", "")) if isinstance(general, dict) else ""


def _traces(path: Path) -> list[Path]:
    """The trace files that a scenario names, relative to it."""
    return sorted({Path(t) for t in _values("trace", _toml(path)) if (path.parent / t).is_file()})


def _values(key: str, node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for k, v in node.items():
            if k == key and isinstance(v, str):
                yield v
            else:
                yield from _values(key, v)


def _toml(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table
