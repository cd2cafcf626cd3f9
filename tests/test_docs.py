"""The documentation's own tools: drawings are fresh, generators survive what they will meet."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_the_drawing_of_a_segments_way_is_fresh() -> None:
    drawn = load(DOCS / "draw_segment_way.py").drawing()
    assert (DOCS / "images" / "segment-way.svg").read_text(encoding="utf-8") == drawn


SCHEMA: dict[str, Any] = {
    "title": "Scenario",
    "description": "A scenario.",
    "properties": {
        "seed": {"type": "integer", "minimum": 0, "default": 1, "description": "The seed."},
        "link": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Link"}, "default": {}},
        "at": {"type": "array", "items": {"$ref": "#/$defs/At"}},
    },
    "required": ["link"],
    "$defs": {
        "Link": {
            "type": "object",
            "description": "A wired link.",
            "properties": {
                "delay": {"$ref": "#/$defs/Duration", "default": "0 s", "description": "Propagation | delay."},
                "queue": {"anyOf": [{"$ref": "#/$defs/Queue"}, {"type": "null"}]},
            },
        },
        "Queue": {
            "oneOf": [
                {"type": "string", "enum": ["droptail", "headdrop"]},
                {
                    "type": "object",
                    "properties": {
                        "kind": {"const": "droptail"},
                        "packets": {"type": ["integer", "null"], "description": "Most packets."},
                    },
                    "required": ["kind"],
                },
            ]
        },
        "At": {"type": "object", "properties": {"t": {"$ref": "#/$defs/Duration"}}, "required": ["t"]},
        "Duration": {"type": "string", "description": "a time", "examples": ["10 ms"], "x-units": ["ms", "s"]},
    },
}


def test_the_scenario_page_has_every_key_with_type_default_and_text() -> None:
    page = load(DOCS / "_ext" / "schema.py").scenario_page(SCHEMA)
    assert '| `delay` | Duration | `"0 s"` | Propagation \\| delay. |' in page
    assert "| `t` | Duration | required |" in page
    assert '| Duration | a time | `ms`, `s` | `"10 ms"` |' in page
    assert "## `[link.NAME]`" in page
    assert '`[link.NAME.queue]`, `kind = "droptail"`' in page
    assert "| `packets` | whole number |  | Most packets. |" in page


def test_a_docstring_becomes_markdown() -> None:
    doc = """Does it.

        x = do(1)

    Args:
        n: how often;
            at least once.

    Raises:
        ValueError: never.
    """
    text = load(DOCS / "_ext" / "docstrings.py").markdown(doc)
    assert "```python\nx = do(1)\n```" in text
    assert "- `n`: how often; at least once." in text
    assert "**Raises**" in text


def test_the_bench_table_shows_what_was_measured_and_nothing_else() -> None:
    fill = load(DOCS / "fill_bench.py")
    text = fill.table([{"name": "dumbbell1", "sim_s_per_s": 312.4, "instructions": 2.5e9}])
    assert "| `dumbbell1` | 312 |  |  |  | 2.5 G |" in text


def test_every_test_that_the_validation_page_names_exists() -> None:
    page = (DOCS / "validation.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:crates|tests)/[\w/.]+)`: `(\w+)`", page)
    assert named
    missing = [
        f"{path}: {name}"
        for path, name in named
        if not (DOCS.parent / path).is_file()
        or not re.search(rf"\b(fn|def) {name}\(", (DOCS.parent / path).read_text())
    ]
    assert missing == []
