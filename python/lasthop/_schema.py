"""The scenario's JSON Schema as a flat list of keys: path, type, default, description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

Node: TypeAlias = "dict[str, Any]"

NAME = "<name>"


@dataclass(frozen=True)
class Key:
    """One key of a scenario."""

    path: str
    """Dotted path; `<name>` stands for a name that the user chooses."""
    type: str
    """What it takes: "quantity", "integer", `"droptail" | "red"`, ..."""
    default: str | None
    """The default in TOML's notation; None: must be given (`required`) or may be absent."""
    required: bool
    description: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def keys(schema: Node) -> list[Key]:
    """Every key of a scenario, in the order of the schema."""
    return list(_Walk(schema).object(schema, "", ()))


class _Walk:
    def __init__(self, root: Node) -> None:
        self.defs: Node = root.get("$defs", {})

    def object(self, node: Node, prefix: str, seen: tuple[str, ...], defaults: Any = None) -> Iterator[Key]:
        """The keys below a table."""
        required = set(node.get("required", ()))
        given = defaults if isinstance(defaults, dict) else {}
        for name, child in node.get("properties", {}).items():
            if name == "kind" and "const" in child:
                continue
            here = given.get(name, child.get("default"))
            yield from self.value(child, f"{prefix}{name}", seen, name in required, here)
        free = node.get("additionalProperties")
        if isinstance(free, dict):
            yield from self.value(free, f"{prefix}{NAME}", seen, False, None)

    def value(self, child: Node, path: str, seen: tuple[str, ...], required: bool, default: Any) -> Iterator[Key]:
        """The key itself when it takes a plain value, and the keys below it when it takes a table."""
        node, names = self.resolve(child)
        if any(n in seen for n in names):
            return
        seen = (*seen, *names)
        about = _sentence(child.get("description") or node.get("description") or "")
        variants = [self.resolve(v)[0] for v in node.get("oneOf") or node.get("anyOf") or ()]
        tables = [v for v in [node, *variants] if "properties" in v or isinstance(v.get("additionalProperties"), dict)]
        plain = [t for v in (variants or [node]) if (t := self.plain(v))]
        kinds = [json.dumps(k) for v in variants if (k := _kind(v)) is not None]
        alternatives = list(dict.fromkeys([*plain, *kinds]))
        if alternatives:
            shown = None if default is None else _toml(default)
            yield Key(path, " | ".join(alternatives), shown, required, about)
        if node.get("type") == "array" and not plain:
            tables = [self.resolve(node.get("items", {}))[0]]
            path += "[]"
        for table in tables:
            kind = _kind(table)
            yield from self.object(table, f"{path}." if kind is None else f"{path}({kind}).", seen, default)

    def plain(self, node: Node) -> str:
        """The type of a plain value; empty for a table."""
        if "const" in node:
            return json.dumps(node["const"])
        if "enum" in node:
            return " | ".join(json.dumps(v) for v in node["enum"] if v is not None)
        kind = node.get("type")
        if isinstance(kind, list):
            kind = next((k for k in kind if k != "null"), None)
        if kind == "string":
            return str(node.get("title") or node.get("format") or "text").lower()
        if kind == "array":
            items = self.resolve(node.get("items", {}))[0]
            inner = self.plain(items)
            return f"[{inner}, ...]" if inner else ""
        return kind if kind in ("integer", "number", "boolean") else ""

    def resolve(self, node: Node) -> tuple[Node, list[str]]:
        """Follows `$ref` (and the `allOf` and `anyOf`-with-null around it)."""
        names: list[str] = []
        while True:
            options = node.get("anyOf") or node.get("allOf")
            if options is not None:
                real = [o for o in options if o.get("type") != "null"]
                if len(real) == 1:
                    node = real[0]
                    continue
            if "$ref" not in node:
                return node, names
            name = node["$ref"].rsplit("/", 1)[-1]
            names.append(name)
            node = self.defs[name]


def _kind(node: Node) -> str | None:
    kind = node.get("properties", {}).get("kind", {})
    return kind.get("const") if isinstance(kind, dict) else None


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _toml(value: Any) -> str:
    from lasthop._values import to_toml

    try:
        return to_toml(value)
    except TypeError:
        return ""
