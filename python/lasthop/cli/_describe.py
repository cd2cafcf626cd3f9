"""`lasthop describe`: every key, plug-in and table, from the core's own registries."""

from __future__ import annotations

import difflib
import json
from typing import Any

import click

from lasthop import _core
from lasthop._errors import mistake
from lasthop.cli import _completion, _output


@click.command()
@click.argument("what", nargs=-1, shell_complete=_completion.questions)
@click.option(
    "--schema", is_flag=True, help="Print the JSON Schema of scenario files (of campaigns: describe campaign --schema)."
)
@_output.json_option
def describe(what: tuple[str, ...], schema: bool, as_json: bool) -> None:
    """Explain keys of scenarios, plug-ins, and tables.

    \b
    WHAT is one of
      (nothing)            an overview
      keys                 every key of a scenario: type, default, meaning
      keys flow.ftp.tcp    the keys below a path (the word 'keys' may be left out)
      runtime              the keys that [[at]] may change during a run
      tables [NAME]        the tables that a run leaves, or the columns of one
      campaign [KEY]       every key of a campaign file, or those below a path
      KIND [NAME]          plug-ins of a kind, or one of them, with parameters
                           and sources; the kinds are cc, rate-control, profile,
                           cell-profile, scenario-profile, queue, scheduler, app
                           and trace-format; 'profile' shows those of whole
                           scenarios, of TCP stacks and of LTE cells

    \b
    Examples:
      lasthop describe cc vegas
      lasthop describe profile ns2
      lasthop describe link
      lasthop describe --schema > lasthop.schema.json
    """
    if schema:
        if what not in ((), ("campaign",)):
            raise click.UsageError("--schema takes nothing, or the word 'campaign'")
        text = _core.campaign_schema() if what else _core.json_schema()
        click.echo(json.dumps(json.loads(text), indent=2, ensure_ascii=False))
        return
    found = _Book().look_up(what)
    if as_json:
        _output.json_object(found)
    else:
        _show(found)


Entry = dict[str, Any]

_PROFILES = ("scenario-profile", "profile", "cell-profile")


class _Book:
    """What the core says about itself."""

    def __init__(self) -> None:
        facts: dict[str, list[Entry]] = json.loads(_core.describe())
        self.keys = facts.pop("keys")
        self.runtime = facts.pop("runtime")
        self.tables = facts.pop("tables")
        #: The keys of a campaign file.
        self.campaign: list[Entry] = json.loads(_core.describe_campaign())
        #: Everything else is a kind of plug-in with its entries.
        self.plugins = facts

    def look_up(self, what: tuple[str, ...]) -> dict[str, Any]:
        """The answer to a question, as data."""
        match what:
            case ():
                return {
                    "sections": self._sections(),
                    "plugins": {kind: _names(entries) for kind, entries in self.plugins.items()},
                    "tables": _names(self.tables),
                }
            case ("keys",):
                return {"keys": self.keys}
            case ("keys", path):
                return {"keys": self._below(path) or self._no_key(path)}
            case ("campaign",):
                return {"keys": self.campaign}
            case ("campaign", path):
                return {"keys": _at_or_below(path, self.campaign) or self._no_campaign_key(path)}
            case ("runtime",):
                return {"runtime": self.runtime}
            case ("runtime", key):
                return {"runtime": [_pick("runtime key", key, self.runtime, "key")]}
            case ("tables",):
                return {"tables": self.tables}
            case ("tables" | "table", name):
                return {"table": _pick("table", name, self.tables)}
            case ("plugins",):
                return {"plugins": self.plugins}
            case ("profile",):
                return {"plugins": {kind: self.plugins[kind] for kind in _PROFILES}}
            case ("profile", name):
                return self._profiles(name)
            case (kind,) if kind in self.plugins:
                return {"kind": kind, "plugins": self.plugins[kind]}
            case (kind, name) if kind in self.plugins:
                return {"kind": kind, "plugin": _pick(kind, name, self.plugins[kind])}
            case (path,) if keys := self._below(path):
                return {"keys": keys}
        raise self._unknown(what)

    def _profiles(self, name: str) -> dict[str, Any]:
        """Everything that a profile of this name sets: of a scenario, a stack, a cell.

        Many have one of them.
        """
        found = [(kind, e) for kind in _PROFILES for e in self.plugins[kind] if e["name"] == name]
        if not found:
            every = [e for kind in _PROFILES for e in self.plugins[kind]]
            _pick("profile", name, every)
        (kind, first), *others = found
        return {"kind": kind, "plugin": first, **dict(others)}

    def _below(self, path: str) -> list[Entry]:
        """The keys at and below a path, in which a user's own names stand for `<name>`."""
        return _at_or_below(path, self.keys)

    def _no_campaign_key(self, path: str) -> list[Entry]:
        close = difflib.get_close_matches(path, [k["path"] for k in self.campaign], 1)
        hint = f"did you mean '{close[0]}'?" if close else "'lasthop describe campaign' lists all"
        raise mistake(f"a campaign has no key '{path}'", hint)

    def _sections(self) -> list[str]:
        return list(dict.fromkeys(k["path"].split(".")[0] for k in self.keys))

    def _no_key(self, path: str) -> list[Entry]:
        """Names the nearest key to a path that leads nowhere."""
        words = path.split(".")
        meant = self._nearest(words)
        same_end = [k["path"] for k in self.keys if k["path"].split(".")[-1] == words[-1]]
        same_end.sort(key=lambda p: p.split(".")[0] != words[0])
        if meant is not None:
            hint = f"did you mean '{meant}'?"
        elif same_end:
            hint = f"there is '{same_end[0]}'" + (f" and {len(same_end) - 1} more" if len(same_end) > 1 else "")
        else:
            hint = "'lasthop describe keys' lists all"
        raise mistake(f"a scenario has no key '{path}'", hint)

    def _nearest(self, words: list[str]) -> str | None:
        """The path with each misspelt word replaced by the one that is near.

        None if a word is near to none.
        """
        known = [k["path"].split(".") for k in self.keys]
        found: list[str] = []
        for i, word in enumerate(words):
            here = {k[i] for k in known if len(k) > i}
            if word in here or here & {"<name>", "<n>"}:
                found.append(word)
                known = [k for k in known if len(k) > i and k[i] in (word, "<name>", "<n>")]
                continue
            close = difflib.get_close_matches(word, sorted(here), 1)
            if not close:
                return None
            found.append(close[0])
            known = [k for k in known if len(k) > i and k[i] == close[0]]
        return ".".join(found)

    def _unknown(self, what: tuple[str, ...]) -> Exception:
        said = " ".join(what)
        places = {name: f"{kind} {name}" for kind, entries in self.plugins.items() for name in _names(entries)}
        places |= {name: f"tables {name}" for name in _names(self.tables)}
        places |= {
            word: word
            for word in (*self._sections(), "keys", "runtime", "tables", "campaign", "plugins", *self.plugins)
        }
        if what[0] in places and len(what) > 1:
            return mistake(
                f"'lasthop describe {said}' has too many words", f"write: lasthop describe {places[what[0]]}"
            )
        if len(what) == 1 and "." in said:
            self._no_key(said)
        close = difflib.get_close_matches(what[0], places, 1)
        hint = f"did you mean 'lasthop describe {places[close[0]]}'? " if close else ""
        return mistake(f"nothing is called '{said}'", f"{hint}'lasthop describe' shows what there is")


def _names(entries: list[Entry], key: str = "name") -> list[str]:
    return [str(e[key]) for e in entries]


def _pick(kind: str, name: str, entries: list[Entry], key: str = "name") -> Entry:
    for entry in entries:
        if entry[key] == name:
            return entry
    known = _names(entries, key)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise mistake(f"there is no {kind} '{name}'", f"{hint}there are: {', '.join(known)}")


def _at_or_below(path: str, keys: list[Entry]) -> list[Entry]:
    words = path.split(".")
    return [k for k in keys if _leads_to(words, k["path"])]


def _leads_to(words: list[str], path: str) -> bool:
    """True if `path` is at or below `words`, where a user's own names may stand for `<name>`."""
    parts = path.split(".")
    if len(words) > len(parts):
        return False
    return all(part in (word, "<name>", "<n>") for word, part in zip(words, parts, strict=False))


def _show(found: dict[str, Any]) -> None:
    match found:
        case {"sections": _}:
            _show_overview(found)
        case {"keys": keys}:
            _show_keys(keys)
        case {"table": table}:
            _show_table(table)
        case {"kind": kind, "plugin": plugin}:
            _show_plugin(kind, plugin)
            for other in _PROFILES:
                if other in found:
                    _output.line()
                    _show_plugin(other, found[other])
        case {"kind": kind, "plugins": plugins}:
            _show_summaries(kind, plugins)
            _output.line(f"\nMore: lasthop describe {kind} NAME")
        case {"runtime": runtime}:
            _output.table(("key", "what changes"), [(k["key"], k["description"]) for k in runtime])
        case {"tables": tables}:
            _output.table(("table", "one row is"), [(t["name"], t["description"]) for t in tables])
            _output.line("\nMore: lasthop describe tables NAME")
        case {"plugins": plugins}:
            for kind, entries in plugins.items():
                _show_summaries(kind, entries)
                _output.line()


def _show_overview(found: dict[str, Any]) -> None:
    _output.line("Sections of a scenario (lasthop describe SECTION)", style="bold")
    _words(found["sections"])
    _output.line()
    _output.line("Plug-ins (lasthop describe KIND NAME)", style="bold")
    width = max(map(len, found["plugins"]), default=0)
    for kind, names in found["plugins"].items():
        _words(names, f"  {kind:<{width}}  ")
    _output.line("\nTables of a run (lasthop describe tables NAME)", style="bold")
    _words(found["tables"])
    _output.line("\nKeys that may change during a run: lasthop describe runtime")
    _output.line("Keys of a campaign file: lasthop describe campaign")


def _words(names: list[str], indent: str = "  ") -> None:
    _output.paragraph("  ".join(names), indent, further=" " * len(indent))


#: A table of keys needs as much beside the longest key for three columns that can be read.
_BESIDE_KEY = 70


def _show_keys(keys: list[Entry]) -> None:
    if len(keys) == 1:
        _show_key(keys[0])
        return
    if _output.narrower_than(max(len(k["path"]) for k in keys) + _BESIDE_KEY):
        _list_keys(keys)
        return
    rows = []
    for key in keys:
        kind = f" ({key['kind']})" if key.get("kind") else ""
        default = "required" if key["required"] else key.get("default") or ""
        rows.append((key["path"] + kind, key["type"], default, _flowing(key["description"])))
    _output.table(("key", "takes", "default", "meaning"), rows)


def _list_keys(keys: list[Entry]) -> None:
    """The keys one below the other.

    For a terminal on which a table of them would have columns of a few letters.
    """
    for key in keys:
        kind = f" ({key['kind']})" if key.get("kind") else ""
        default = "required" if key["required"] else f"default {key['default']}" if key.get("default") else ""
        _output.paragraph(key["path"] + kind, style="bold")
        _output.paragraph("; ".join(filter(None, (key["type"], default))), "    ")
        _output.paragraph(_flowing(key["description"]), "    ")


def _show_key(key: Entry) -> None:
    _output.paragraph(key["path"], style="bold")
    _output.paragraph(_flowing(key["description"]))
    _output.line()
    facts = {
        "of kind": key.get("kind"),
        "range": key.get("range"),
        "units": ", ".join(key.get("units") or ()),
        "default": "required" if key["required"] else key.get("default"),
        "example": key.get("example"),
    }
    _output.table(("takes", key["type"]), [(name, fact) for name, fact in facts.items() if fact])
    if key.get("names"):
        _output.line()
        _output.table(("name", "meaning"), [(name, _flowing(about)) for name, about in key["names"]])


def _flowing(text: str | None) -> str:
    """A text of several lines as one."""
    return " ".join((text or "").split())


def _show_table(table: Entry) -> None:
    _output.paragraph(f"{table['name']}: {_flowing(table['description'])}")
    _output.line()
    rows = [(c["name"], c.get("type", ""), c.get("unit") or "", c.get("description", "")) for c in table["columns"]]
    _output.table(("column", "type", "unit", "meaning"), rows)


def _show_summaries(kind: str, entries: list[Entry]) -> None:
    _output.table((kind, "what it is"), [(e["name"], e.get("summary", "")) for e in entries])


def _show_plugin(kind: str, plugin: Entry) -> None:
    head = {"cell-profile": "key of cell.NAME", "scenario-profile": "key"}.get(kind, "key of flow.NAME.tcp")
    _output.line(f"{kind} {plugin['name']}", style="bold")
    for key in ("summary", "source"):
        if plugin.get(key):
            _output.paragraph(("Source: " if key == "source" else "") + str(plugin[key]))
    if plugin.get("settings"):
        _output.line()
        rows = [(s["key"], str(s["value"]), s.get("source", "")) for s in plugin["settings"]]
        _output.table((head, "value", "source"), rows)
    if plugin.get("limits"):
        _output.line()
        _output.line("Not imitated or not set:")
    for limit in plugin.get("limits", ()):
        _output.paragraph(limit, indent="  - ", further="    ")
    if plugin.get("parameters"):
        _output.line()
        rows = [
            (
                p["name"],
                " ".join(filter(None, (str(p.get("default", "")), p.get("unit")))),
                p.get("summary") or p["source"],
            )
            for p in plugin["parameters"]
        ]
        about = "meaning" if plugin["parameters"][0].get("summary") else "source"
        _output.table(("parameter", "default", about), rows)
    if plugin.get("variables"):
        _output.line()
        rows = [(v["name"], v["unit"], v["about"]) for v in plugin["variables"]]
        _output.table(("variable in the table cc", "unit", "meaning"), rows)
    if plugin.get("l4s"):
        _output.line()
        _output.line("Its data is sent with ECT(1) (RFC 9331).")
    if plugin.get("mutants"):
        _output.line()
        _output.paragraph(f"Switches of mutants (lasthop judge --mutant): {', '.join(plugin['mutants'])}")
    if plugin.get("differs"):
        _output.line()
        _output.paragraph(f"How others differ: {_flowing(plugin['differs'])}")
