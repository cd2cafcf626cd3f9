"""The scenario's keys as a page, from its JSON Schema."""

from __future__ import annotations

import json
import re
from typing import Any

Schema = dict[str, Any]


def scenario_page(root: Schema) -> str:
    """One section per table of a scenario file; one row per key."""
    return _Page(root).text()


class _Page:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.out: list[str] = []
        self.quantities: dict[str, Schema] = {}
        self.seen: dict[str, str] = {}

    def text(self) -> str:
        self.section("", self.root, 2)
        head = ["# Scenario keys\n", *_paragraphs(self.root)]
        head.append("`NAME` stands for a name of your choice. A key without a default must be given.\n")
        return "\n".join([*head, *self.quantity_table(), *self.out])

    def quantity_table(self) -> list[str]:
        if not self.quantities:
            return []
        out = [
            "## Quantities\n",
            "A quantity is a text with its unit.\n",
            "| type | what | units | example |",
            "|---|---|---|---|",
        ]
        for name, schema in sorted(self.quantities.items()):
            units = ", ".join(f"`{u}`" for u in schema["x-units"])
            example = f'`"{schema["examples"][0]}"`' if schema.get("examples") else ""
            out.append(f"| {name} | {_cell(schema.get('description', ''))} | {units} | {example} |")
        return [*out, ""]

    def section(self, path: str, schema: Schema, level: int) -> None:
        """The keys of the object at `path`, then the objects below it."""
        rows, below = [], []
        required = set(schema.get("required", ()))
        for key, raw in schema.get("properties", {}).items():
            sub, nested = self.look(raw)
            child = f"{path}.{key}" if path else key
            default = raw.get("default", sub.get("default"))
            shown = "" if default is None or isinstance(default, dict) else f"`{_cell(_toml(default))}`"
            if key in required and default is None:
                shown = "required"
            rows.append(f"| `{key}` | {self.type_of(raw)} | {shown} | {_cell(_text(raw, sub))} |")
            below += [(child + tail, s, name) for tail, s, name in nested]
        if rows and path:
            self.out += ["| key | type | default | what |", "|---|---|---|---|", *rows, ""]
        for child, sub, variant in below:
            self.object_section(child, sub, variant, level)

    def object_section(self, path: str, schema: Schema, variant: str | None, level: int) -> None:
        title = f"`[{path}]`" + (f', `kind = "{variant}"`' if variant else "")
        mark = json.dumps(schema, sort_keys=True)
        self.out.append(f"{'#' * min(level, 5)} {title}\n")
        if mark in self.seen:
            self.out.append(f"The same keys as {self.seen[mark]}.\n")
            return
        self.seen[mark] = title
        self.out += _paragraphs(schema)
        self.section(path, schema, level + 1)

    def look(self, raw: Schema) -> tuple[Schema, list[tuple[str, Schema, str | None]]]:
        """Resolves a key's schema; names the objects behind it as (tail of the path, schema, variant)."""
        schema = self.resolve(raw)
        nested: list[tuple[str, Schema, str | None]] = []
        for option in self.options(schema):
            extra = option.get("additionalProperties")
            if option.get("properties"):
                kind = self.resolve(option["properties"].get("kind", {})).get("const")
                nested.append(("", option, kind))
            elif isinstance(extra, dict) and extra:
                _, more = self.look(extra)
                nested += [(".NAME" + tail, s, name) for tail, s, name in more]
            elif option.get("type") == "array" and isinstance(option.get("items"), dict):
                _, more = self.look(option["items"])
                nested += [("[]" + tail, s, name) for tail, s, name in more]
        return schema, nested

    def options(self, schema: Schema) -> list[Schema]:
        """The alternatives of a schema, nested ones flattened, `null` left out."""
        branches = schema.get("oneOf") or schema.get("anyOf")
        if not branches:
            return [schema]
        flat = [o for b in branches for o in self.options(self.resolve(b))]
        return [o for o in flat if o.get("type") != "null"]

    def resolve(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            target = self.root["$defs"][name]
            if "x-units" in target:
                self.quantities[name] = target
            return {**self.resolve(target), "x-name": name, **{k: v for k, v in schema.items() if k != "$ref"}}
        if len(schema.get("allOf", ())) == 1:
            rest = {k: v for k, v in schema.items() if k != "allOf"}
            return {**self.resolve(schema["allOf"][0]), **rest}
        return schema

    def type_of(self, raw: Schema) -> str:
        names: list[str] = []
        for option in self.options(self.resolve(raw)):
            for name in self.names_of(option):
                if name not in names:
                    names.append(name)
        return _cell(" or ".join(names)) if len(names) <= 3 else _cell(", ".join(names))

    def names_of(self, schema: Schema) -> list[str]:
        if "const" in schema:
            return [f"`{json.dumps(schema['const'])}`"]
        if "enum" in schema:
            return [f"`{json.dumps(v)}`" for v in schema["enum"] if v is not None]
        if "x-units" in schema:
            return [schema.get("x-name", "quantity")]
        if "properties" in schema or "additionalProperties" in schema:
            return ["table"]
        kinds = schema.get("type", "any")
        kinds = [kinds] if isinstance(kinds, str) else [k for k in kinds if k != "null"]
        words = {"string": "text", "integer": "whole number", "array": "list", "object": "table"}
        return [words.get(k, k) + self.range_of(schema) for k in kinds]

    @staticmethod
    def range_of(schema: Schema) -> str:
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is None and high is None:
            return ""
        if high is None:
            return f" (from {low:g})"
        return f" ({low if low is not None else ''} to {high:g})"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _text(raw: Schema, resolved: Schema) -> str:
    """What stands at the key; the type's own text only when the key says nothing."""
    return _plain(raw.get("description") or ("" if "x-units" in resolved else resolved.get("description", "")))


def _paragraphs(schema: Schema) -> list[str]:
    text = _plain(schema.get("description", ""))
    return [text.replace("<", "&lt;") + "\n"] if text else []


def _plain(text: str) -> str:
    """Rustdoc links as plain code."""
    return re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)
