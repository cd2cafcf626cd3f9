"""The scenario's keys as a page, from the list that `lasthop describe` prints too."""

from __future__ import annotations

import html
import re
from typing import Any

Key = dict[str, Any]
# Types whose values are written with a unit.
HEAD = ["| key | type | default | what |", "|---|---|---|---|"]


ABOUT = (
    "`<name>` stands for a name of your choice, `<n>` for the number of an element, from 0. A key without a\n"
    "default may be absent, unless it is required.\n"
)


def scenario_page(keys: list[Key]) -> str:
    """One section per table of a scenario file, one row per key."""
    return page(["# Scenario keys\n", ABOUT, *quantities(keys)], keys)


def campaign_page(keys: list[Key]) -> str:
    """One section per table of a campaign file, one row per key."""
    return page(["# Campaign keys\n", ABOUT, *tables_by_name(keys)], keys)


def tables_by_name(keys: list[Key]) -> list[str]:
    """The tables whose keys are the user's own names."""
    deeper = {parent(k).removesuffix(".<name>") for k in keys}
    named = [k for k in keys if not parent(k) and k["path"] not in deeper]
    return ["## Tables by name\n", *HEAD, *(row(k) for k in named), ""]


def page(out: list[str], keys: list[Key]) -> str:
    """`out`, then one section per table."""
    sections = by_table(keys)
    about: dict[tuple[str, str | None], str] = {}
    for k in keys:
        for kind in (k.get("kind"), None):
            about.setdefault((k["path"], kind), k.get("description", ""))
    #: Tables that are the same key of several kinds: the kind is that of a table above.
    inner = {(k["path"], k.get("kind")) for k in keys}
    seen: dict[tuple[str, ...], str] = {}
    for (table, kind), members in sections.items():
        below = "below " if kind and (plain(table), kind) in inner else ""
        title = f"`[{table}]`" + (f', {below}`kind = "{kind}"`' if kind else "")
        out.append(f"## {title}\n")
        if text := about.get((plain(table), kind)) or about.get((plain(table), None)):
            out.append(prose(text) + "\n")
        rows = tuple(row(k) for k in members)
        twin = next((t for other, t in seen.items() if set(rows) <= set(other)), None)
        if twin:
            out.append(f"Keys as in {twin}: {', '.join(f'`{last(k)}`' for k in members)}.\n")
        else:
            out += [*HEAD, *rows, ""]
            seen[rows] = title
    return "\n".join(out)


def by_table(keys: list[Key]) -> dict[tuple[str, str | None], list[Key]]:
    """Keys by the table they stand in (and by its kind, where several are possible)."""
    kinds: dict[str, set[str]] = {}
    for k in keys:
        if k.get("kind"):
            kinds.setdefault(parent(k), set()).add(k["kind"])
    sections: dict[tuple[str, str | None], list[Key]] = {}
    for k in keys:
        if parent(k):
            kind = k.get("kind") if len(kinds.get(parent(k), ())) > 1 else None
            sections.setdefault((parent(k), kind), []).append(k)
    return sections


def plain(table: str) -> str:
    """The key that holds a table, which may be one of several by name or number."""
    return table.removesuffix(".<name>").removesuffix(".<n>")


def parent(key: Key) -> str:
    """The table of a key."""
    return str(key["path"]).rpartition(".")[0]


def last(key: Key) -> str:
    """A key's own name."""
    return str(key["path"]).rpartition(".")[2]


def row(key: Key) -> str:
    """One line of a table. Names to choose from are explained below the description."""
    default = "required" if key.get("required") else cell(key.get("default") or "")
    if default and not default.startswith(("required", "the ")):  # a value; else words
        default = f"`{default}`"
    kind = cell(key["type"])
    kind = f"`{kind}`" if '"' in kind else kind
    text = prose(cell(key.get("description", "")))
    for name, what in key.get("names", ()):
        if what:
            text += f"<br>`{name}`: {prose(cell(what))}"
    return f"| `{last(key)}` | {kind} | {default} | {text} |"


def quantities(keys: list[Key]) -> list[str]:
    """The types that are written with a unit."""
    found = {k["type"]: k for k in keys if k.get("units")}
    out = [
        "## Quantities\n",
        "A quantity is a text with its unit.\n",
        "| type | range | units | example |",
        "|---|---|---|---|",
    ]
    for name, k in sorted(found.items()):
        units = ", ".join(f"`{u}`" for u in k["units"])
        out.append(f"| {name} | {cell(k.get('range', ''))} | {units} | `{cell(k.get('example', ''))}` |")
    return [*out, ""]


def cell(text: object) -> str:
    """Text that a table cell can hold."""
    return " ".join(str(text).split()).replace("|", "\\|")


def prose(text: str) -> str:
    """Rustdoc links as plain code; angle brackets outside code as text."""
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else html.escape(p, quote=False) for p in parts)
