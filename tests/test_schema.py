"""The flat list of keys behind `lasthop describe`."""

from __future__ import annotations

from typing import Any

from lasthop._schema import keys

SCHEMA: dict[str, Any] = {
    "$defs": {
        "Duration": {"type": "string", "title": "duration"},
        "Queue": {
            "oneOf": [
                {"const": "droptail"},
                {
                    "type": "object",
                    "properties": {"kind": {"const": "droptail"}, "packets": {"type": ["integer", "null"]}},
                },
                {"type": "object", "properties": {"kind": {"const": "red"}, "target": {"$ref": "#/$defs/Duration"}}},
            ]
        },
        "Link": {
            "type": "object",
            "required": ["between"],
            "properties": {
                "between": {"type": "array", "items": {"type": "string"}, "description": "The two ends."},
                "delay": {"anyOf": [{"$ref": "#/$defs/Duration"}, {"type": "null"}], "default": "1 ms"},
                "queue": {"anyOf": [{"$ref": "#/$defs/Queue"}, {"type": "null"}]},
            },
        },
    },
    "type": "object",
    "properties": {
        "link": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Link"}},
        "at": {"type": "array", "items": {"type": "object", "properties": {"t": {"$ref": "#/$defs/Duration"}}}},
    },
}


def test_tables_by_name_variants_and_lists_are_walked() -> None:
    found = {k.path: k for k in keys(SCHEMA)}
    assert list(found) == [
        "link.<name>.between",
        "link.<name>.delay",
        "link.<name>.queue",
        "link.<name>.queue(droptail).packets",
        "link.<name>.queue(red).target",
        "at[].t",
    ]
    assert found["link.<name>.between"].required
    assert found["link.<name>.between"].description == "The two ends."
    assert found["link.<name>.delay"].default == '"1 ms"'
    assert found["link.<name>.delay"].type == "duration"
    assert found["link.<name>.queue"].type == '"droptail" | "red"'
