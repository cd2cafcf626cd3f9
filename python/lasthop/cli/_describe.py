"""`lasthop describe`: every key, plug-in and table, from the core's own registries."""

from __future__ import annotations

import difflib
import json
from typing import Any

import click

from lasthop import _core
from lasthop._errors import mistake
from lasthop.cli import _output


@click.command()
@click.argument("what", nargs=-1)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files, for editors.")
@_output.json_option
def describe(what: tuple[str, ...], schema: bool, as_json: bool) -> None:
    """Explain what a scenario may say and what a run leaves behind.

    \b
    WHAT is one of
      (nothing)            an overview
      scenario             every key of a scenario: type, default, meaning
      flow.ftp.tcp         the keys below a path
      runtime              the keys that [[at]] may change while a run goes on
      tables               the tables that a run leaves
      table NAME           the columns of one, with units
      KIND [NAME]          plug-ins of a kind, or one of them: cc, profile, app, queue, ...

    \b
    Examples:
      lasthop describe cc vegas
      lasthop describe link
      lasthop describe --schema > lasthop.schema.json
    """
    if schema:
        click.echo(json.dumps(json.loads(_core.json_schema()), indent=2, ensure_ascii=False))
        return
    book = _Book()
    found = book.look_up(what)
    if as_json:
        _output.json_object(found)
    else:
        _show(found, book)


class _Book:
    """What the core says about itself."""

    def __init__(self) -> None:
        facts = json.loads(_core.describe())
        self.plugins: dict[str, list[dict[str, Any]]] = facts["plugins"]
        self.tables: dict[str, dict[str, Any]] = {t["name"]: t for t in facts["tables"]}
        self.runtime: list[dict[str, Any]] = facts["runtime"]
        self.keys: list[dict[str, Any]] = facts["keys"]

    def look_up(self, what: tuple[str, ...]) -> dict[str, Any]:
        """The answer to a question, as data."""
        match what:
            case ():
                return {"sections": self._sections(), "plugins": self._names(), "tables": list(self.tables)}
            case ("scenario" | "keys",):
                return {"keys": self.keys}
            case ("tables",):
                return {"tables": list(self.tables.values())}
            case ("table", name):
                return {"table": self._pick(name, self.tables, "table")}
            case ("runtime",):
                return {"runtime": self.runtime}
            case ("plugins",):
                return {"plugins": self.plugins}
            case (kind,) if kind in self.plugins:
                return {"kind": kind, "plugins": self.plugins[kind]}
            case (kind, name) if kind in self.plugins:
                by_name = {p["name"]: p for p in self.plugins[kind]}
                return {"kind": kind, "plugin": self._pick(name, by_name, kind)}
            case (path,) if keys := self._below(path):
                return {"keys": keys}
        raise self._unknown(" ".join(what))

    def _below(self, path: str) -> list[dict[str, Any]]:
        """The keys at and below a path, in which a user's own names stand for `<name>`."""
        words = path.split(".")
        return [k for k in self.keys if _leads_to(words, k["path"])]

    def _sections(self) -> list[str]:
        return list(dict.fromkeys(k["path"].split(".")[0] for k in self.keys))

    def _names(self) -> dict[str, list[str]]:
        return {kind: [p["name"] for p in plugins] for kind, plugins in self.plugins.items()}

    def _pick(self, name: str, known: dict[str, dict[str, Any]], kind: str) -> dict[str, Any]:
        if name in known:
            return known[name]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise mistake(f"there is no {kind} '{name}'", f"{hint}there are: {', '.join(known)}")

    def _unknown(self, what: str) -> Exception:
        words = [*self.plugins, *self.tables, *self._sections(), "scenario", "runtime", "tables"]
        words += [p["name"] for plugins in self.plugins.values() for p in plugins]
        close = difflib.get_close_matches(what, words, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        return mistake(f"nothing is called '{what}'", f"{hint}'lasthop describe' shows what there is")


def _leads_to(words: list[str], path: str) -> bool:
    """True if `path` is at or below `words`, where a user's own names may stand for `<name>`."""
    parts = path.split(".")
    if len(words) > len(parts):
        return False
    return all(part in (word, "<name>", "<n>") for word, part in zip(words, parts, strict=False))


def _show(found: dict[str, Any], book: _Book) -> None:
    if "sections" in found:
        _show_overview(found)
    elif "keys" in found:
        _show_keys(found["keys"])
    elif "table" in found:
        _show_table(found["table"])
    elif "plugin" in found:
        _show_plugin(found["kind"], found["plugin"])
    elif "kind" in found:
        _output.table((found["kind"], ""), [(p["name"], p.get("summary", "")) for p in found["plugins"]])
        _output.line(f"\nMore: lasthop describe {found['kind']} NAME")
    elif "runtime" in found:
        _output.table(("key", "changes"), [(k["key"], k["description"]) for k in found["runtime"]])
    elif "tables" in found:
        _output.table(("table", ""), [(t["name"], t["description"]) for t in book.tables.values()])
        _output.line("\nMore: lasthop describe table NAME")
    else:
        for kind, plugins in found["plugins"].items():
            _output.table((kind, ""), [(p["name"], p.get("summary", "")) for p in plugins])
            _output.line()


def _show_overview(found: dict[str, Any]) -> None:
    _output.line("Sections of a scenario (lasthop describe SECTION)", style="bold")
    _output.line(f"  {'  '.join(found['sections'])}\n")
    _output.line("Plug-ins (lasthop describe KIND NAME)", style="bold")
    width = max(map(len, found["plugins"]), default=0)
    for kind, names in found["plugins"].items():
        _output.line(f"  {kind:<{width}}  {'  '.join(names)}")
    _output.line("\nTables of a run (lasthop describe table NAME)", style="bold")
    _output.line(f"  {'  '.join(found['tables'])}")


def _show_keys(keys: list[dict[str, Any]]) -> None:
    rows = []
    for key in keys:
        kind = f" ({key['kind']})" if key.get("kind") else ""
        takes = f"{key['type']}, {key['range']}" if key.get("range") else key["type"]
        default = "required" if key["required"] else key.get("default") or ""
        rows.append((key["path"] + kind, takes, default, _meaning(key)))
    _output.table(("key", "takes", "default", "meaning"), rows)


def _meaning(key: dict[str, Any]) -> str:
    about = " ".join(str(key.get("description") or "").split())
    return f"{about} Such as {key['example']}." if key.get("example") and not key.get("default") else about


def _show_table(table: dict[str, Any]) -> None:
    _output.line(f"{table['name']}: {table['description']}\n")
    rows = [(c["name"], c.get("type", ""), c.get("unit") or "", c.get("description", "")) for c in table["columns"]]
    _output.table(("column", "type", "unit", "meaning"), rows)


def _show_plugin(kind: str, plugin: dict[str, Any]) -> None:
    _output.line(f"{kind} {plugin['name']}", style="bold")
    for key in ("summary", "source"):
        if plugin.get(key):
            _output.line(str(plugin[key]))
    parameters = plugin.get("parameters") or []
    if parameters:
        _output.line()
        rows = [(p["name"], str(p.get("default", "")), p.get("summary", "")) for p in parameters]
        _output.table(("parameter", "default", "meaning"), rows)
