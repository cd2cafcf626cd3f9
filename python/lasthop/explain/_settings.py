"""The TCP settings of a flow in the scenario of a run."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from lasthop import _core

#: Octets of a unit.
UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def table_at(tables: Any, *path: str | None) -> dict[str, Any]:
    """The table at a path of keys; empty where there is none, or something else.

    The manifest of another program, or of another version, may hold anything.
    """
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables if isinstance(tables, dict) else {}


def texts_at(table: dict[str, Any], key: str) -> list[str]:
    """The list of names that a key has; empty where it has none, or something else."""
    found = table.get(key)
    return [str(one) for one in found] if isinstance(found, list) else []


def flow_table(scenario: dict[str, Any], flow: str) -> str:
    """The name of the table `[flow.NAME]` of a flow: of `web-3` and `web@2`, `web`."""
    name, groups = flow.split("@", maxsplit=1)[0], table_at(scenario, "flow")
    found = [g for g in groups if name == g or name.startswith(f"{g}-")]
    return str(max(found, key=len, default=name))


def tcp_setting(scenario: dict[str, Any], flow: str, key: str) -> str | None:
    """A value of the flow's TCP as text, as the scenario or its profile has it.

    None: neither has it.
    """
    tcp = table_at(scenario, "flow", flow_table(scenario, flow), "tcp")
    if key in tcp:
        value = tcp[key]
        return str(value).lower() if isinstance(value, bool) else str(value)
    return _profiles().get(str(tcp.get("profile", "rfc")), {}).get(key)


@cache
def _profiles() -> dict[str, dict[str, str]]:
    described = json.loads(_core.describe())["profile"]
    return {p["name"]: {s["key"]: s["value"] for s in p["settings"]} for p in described}


def octets_of(text: str | None) -> int | None:
    """Octets of a size such as `64 kB`; None: the text is not a size."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]+)\s*", text or "")
    if match is None or match[2] not in UNITS:
        return None
    try:
        return round(float(match[1]) * UNITS[match[2]])
    except ValueError:
        return None
