"""The configuration echo: the source's tables beside the values of the runs.

Each value has its provenance.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasthop.harness.result import Evidence, parameter_set_json

if TYPE_CHECKING:
    from lasthop.harness.definition import Study

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def config_echo(study: Study, evidence: Evidence) -> dict[str, Any]:
    """What config.json holds."""
    sets: dict[str, Any] = {}
    for name, scenario in evidence.scenarios.items():
        effective = tomllib.loads(scenario.to_toml())
        sets[name] = {**parameter_set_json(study.parameter_set(name)), "scenario": effective}
    return {
        "study": study.name,
        "form": "quick" if study.quick else "full",
        "parameter_sets": sets,
        "tables": _tables(study, {name: s["scenario"] for name, s in sets.items()}),
        "groups": [
            {
                "name": g.name,
                "purpose": g.purpose,
                "seeds": g.seeds,
                "axes": {axis.name: list(axis.options) for axis in g.axes},
                "set": list(g.overrides),
            }
            for g in study.groups
        ],
        "readings": [{"name": r.name, "set": list(r.overrides), "about": r.about} for r in study.readings],
    }


def _tables(study: Study, scenarios: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in study.echo:
        ours = {
            name: ", ".join(dict.fromkeys(_text(_lookup(scenario, key), row.absent) for key in row.keys))
            for name, scenario in scenarios.items()
        }
        tables.setdefault(row.table, []).append(
            {"item": row.item, "paper": row.says, "keys": list(row.keys), "ours": ours if row.keys else {}}
        )
    return tables


def _lookup(scenario: Mapping[str, Any], key: str) -> Any:
    here: Any = scenario
    for part in key.split("."):
        if not isinstance(here, Mapping) or part not in here:
            return None
        here = here[part]
    return here


def _text(value: Any, absent: str = "off") -> str:
    if value is None:
        return absent
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return str(value)
