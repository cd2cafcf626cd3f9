"""What a shell completes: names of scenarios, studies and keys."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from lasthop import LasthopError, Scenario, _core
from lasthop._bundled import bundled
from lasthop._bundled import campaigns as bundled_campaigns

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import click

#: Stand for a user's own name in a documented key, and for the number of an element.
_PLACES = ("<name>", "<n>")


def scenarios(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of bundled scenarios, and files."""
    return [_paths("file", incomplete), *_starting(bundled(), incomplete)]


def campaigns(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of bundled campaigns, words of `lasthop sweep`, and files."""
    names = [*bundled_campaigns(), "prune", "index"]
    return [_paths("file", incomplete), *_starting(names, incomplete)]


def axes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of `--axis KEY=A,B`, with the names of the base scenario's own tables.

    The names are known only where a base is given.
    """
    return [] if "=" in incomplete else _parts(_keys(ctx.params.get("base")), incomplete, "=")


def bundled_scenarios(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of bundled scenarios."""
    return _starting(bundled(), incomplete)


def studies(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of studies, and folders."""
    from lasthop import harness

    names = (s.name for s in harness.list_studies())
    return [_paths("dir", incomplete), *_starting(names, incomplete)]


def controls(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of built-in congestion controls and rate controls, and files."""
    facts = json.loads(_core.describe())
    names = sorted({c["name"] for part in ("cc", "rate-control") for c in facts[part]})
    return [_paths("file", incomplete), *_starting(names, incomplete)]


def profiles(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the profiles of TCP stacks."""
    return _starting([p["name"] for p in json.loads(_core.describe())["profile"]], incomplete)


def assignments(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of `--set KEY=VALUE`, a part at a time.

    Where a scenario is given, the names of its tables are included.
    """
    if "=" in incomplete:
        return []
    # An option that waits for its value keeps click from giving the words before it their places.
    words = [word for word in ctx.args if not word.startswith("-")]
    given = ctx.params.get("scenario") or ctx.params.get("base") or next(iter(words), None)
    return _parts(_keys(given), incomplete, "=")


def questions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `lasthop describe` explains: kinds and tables, then names of a kind; keys."""
    facts = json.loads(_core.describe())
    said = list(ctx.params.get("what") or ())
    kinds = [kind for kind in facts if kind not in ("keys", "runtime", "tables")]
    match said:
        case []:
            found = _starting((*kinds, "keys", "runtime", "tables", "campaign"), incomplete)
            return [*found, *_parts([k["path"] for k in facts["keys"]], incomplete, "")]
        case ["keys"]:
            return _parts([k["path"] for k in facts["keys"]], incomplete, "")
        case ["campaign"]:
            return _parts([k["path"] for k in json.loads(_core.describe_campaign())], incomplete, "")
        case ["runtime"]:
            return _starting((k["key"] for k in facts["runtime"]), incomplete)
        case ["tables" | "table"]:
            return _starting((t["name"] for t in facts["tables"]), incomplete)
        case [kind] if kind in kinds:
            return _starting((e["name"] for e in facts[kind]), incomplete)
    return []


def _paths(kind: str, incomplete: str) -> CompletionItem:
    """Files or folders, which bash completes itself where no name fits.

    The first item of a list: click's script for bash removes the items before it.
    """
    return CompletionItem(incomplete, type=kind)


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _keys(scenario: str | None) -> list[str]:
    documented = [str(k["path"]) for k in json.loads(_core.describe())["keys"]]
    own = _tables(scenario) if scenario else {}
    return [key for path in documented for key in _named(path, own)]


def _tables(scenario: str) -> dict[str, list[str]]:
    """The names that a scenario gives: `flow` to `["ftp", "web"]`."""
    try:
        effective = tomllib.loads(Scenario.load(scenario).to_toml())
    except LasthopError:
        return {}
    return {table: list(body) for table, body in effective.items() if isinstance(body, dict)}


def _named(path: str, own: dict[str, list[str]]) -> list[str]:
    """A documented key for each name of the scenario's tables."""
    parts = path.split(".")
    if len(parts) < 2 or parts[1] not in _PLACES or not own:
        return [path]
    return [".".join((parts[0], name, *parts[2:])) for name in own.get(parts[0], [])]


def _parts(keys: Iterable[str], incomplete: str, end: str) -> list[CompletionItem]:
    """The next part of each key that begins with `incomplete`.

    `flow.ftp.`, or all of it and `end`.
    """
    found: dict[str, None] = {}
    inner = {key.rpartition(".")[0] for key in keys}
    for key in keys:
        if key.startswith(incomplete):
            stop = key.find(".", len(incomplete))
            found[key[: stop + 1] if stop >= 0 else key + ("." if key in inner else end)] = None
    return [CompletionItem(text) for text in found]
