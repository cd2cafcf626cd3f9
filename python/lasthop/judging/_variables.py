"""The variables of the table `cc` that built-in controls expose."""

from __future__ import annotations

import json
from functools import cache

from lasthop import _core


@cache
def _of_controls() -> dict[str, dict[str, bool]]:
    controls = json.loads(_core.describe())["cc"]
    return {c["name"]: {v["name"]: v["unit"] == "text" for v in c.get("variables") or []} for c in controls}


def built_in() -> list[str]:
    """The built-in controls."""
    return list(_of_controls())


def variables_of(control: str) -> dict[str, bool]:
    """The variables of a built-in control and of every sender: name, and whether it is a state."""
    return dict(_of_controls()[control])


@cache
def known_variables() -> dict[str, bool]:
    """The variables of all built-in controls."""
    return {name: state for variables in _of_controls().values() for name, state in variables.items()}


@cache
def switches_of(control: str) -> tuple[str, ...]:
    """The switches of a built-in control's mutants; none: there is no such control."""
    controls = json.loads(_core.describe())["cc"]
    return tuple(next((c["mutants"] for c in controls if c["name"] == control), ()))


@cache
def sends_ect1(control: str) -> bool:
    """Whether a built-in control's data is sent with ECT(1)."""
    controls = json.loads(_core.describe())["cc"]
    return any(c["l4s"] for c in controls if c["name"] == control)


def _common() -> frozenset[str]:
    every = [set(v) for v in _of_controls().values()]
    return frozenset(set.intersection(*every)) if every else frozenset()


#: Variables that every sender has.
SENDER = _common()


@cache
def _units() -> dict[str, str]:
    controls = json.loads(_core.describe())["cc"]
    return {v["name"]: v["unit"] for c in controls for v in c.get("variables") or []}


def unit_of(variable: str) -> str:
    """The unit of a variable; empty for a plain number and for one that no built-in control has."""
    unit = _units().get(variable, "")
    return "" if unit == "text" else unit


@cache
def scenario_keys() -> frozenset[str]:
    """The keys of scenarios that this version knows, as the reference writes them: `link.<name>.rate`."""
    return frozenset(key["path"] for key in json.loads(_core.describe())["keys"])
