"""The tables of runs, from the core's own registry."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from lasthop import _core


@cache
def run_tables() -> dict[str, dict[str, Any]]:
    """The tables that runs leave, by name: description, columns, series; in the order of the documentation."""
    return {t["name"]: t for t in json.loads(_core.describe())["tables"] if t["of"] == "run"}


@cache
def on_request() -> frozenset[str]:
    """The tables that a run has only where the scenario sets the key of the same name in `[output]`."""
    keys = {key["path"]: key for key in json.loads(_core.describe())["keys"]}
    switches = {path for path, key in keys.items() if key["type"] == "true or false" and key.get("default") != "true"}
    return frozenset(t for t in run_tables() if f"output.{t}" in switches)


def series_of(table: str) -> tuple[str, ...]:
    """The columns that tell the series of a table of samples apart; of others, and of unknown tables: none."""
    return tuple(run_tables().get(table, {}).get("series", ()))
