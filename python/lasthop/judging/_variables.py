"""The kinds of judged controls, and the variables of the table `cc` of built-in controls."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from lasthop import _core

#: What a case judges: a congestion control of TCP, or a rate control of media flows.
CONGESTION, RATE = "congestion-control", "rate-control"
KINDS = (CONGESTION, RATE)
#: The parts of `lasthop describe` that list them.
_PARTS = {CONGESTION: "cc", RATE: "rate-control"}


@cache
def profiles() -> list[str]:
    """The profiles of TCP stacks."""
    return [profile["name"] for profile in json.loads(_core.describe())["profile"]]


@cache
def _controls(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_core.describe())[_PARTS[kind]]
    return found


@cache
def _of_controls(kind: str = CONGESTION) -> dict[str, dict[str, bool]]:
    return {c["name"]: {v["name"]: v["unit"] == "text" for v in c.get("variables") or []} for c in _controls(kind)}


def built_in(kind: str = CONGESTION) -> list[str]:
    """The built-in controls of a kind."""
    return list(_of_controls(kind))


def variables_of(control: str, kind: str = CONGESTION) -> dict[str, bool]:
    """The variables of a built-in control and of every sender: name, and whether it is a state."""
    return dict(_of_controls(kind)[control])


@cache
def known_variables(kind: str = CONGESTION) -> dict[str, bool]:
    """The variables of all built-in controls of a kind."""
    return {name: state for variables in _of_controls(kind).values() for name, state in variables.items()}


def declared(observables: Iterable[str], kind: str = CONGESTION) -> dict[str, bool]:
    """The variables that a case declares: name, and whether it is a state.

    For variables of built-in controls, the control determines whether it is a state
    (`"NAME: text"`).
    """
    known = known_variables(kind)
    pairs = [name.partition(":") for name in observables]
    return {bare: known.get(bare, what.strip() == "text") for bare, _, what in pairs}


def units_of(observables: Iterable[str], kind: str = CONGESTION) -> dict[str, str]:
    """The units that a case gives variables which no built-in control has: `"NAME: UNIT"`."""
    known = known_variables(kind)
    pairs = [name.partition(":") for name in observables]
    return {name: unit.strip() for name, _, unit in pairs if unit.strip() not in ("", "text") and name not in known}


@cache
def _states(kind: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for control in _controls(kind):
        for variable in control.get("variables") or []:
            found.setdefault(variable["name"], {}).update(dict.fromkeys(variable.get("states") or []))
    return {name: tuple(states) for name, states in found.items() if states}


def states_of(observables: Iterable[str], kind: str = CONGESTION) -> dict[str, tuple[str, ...]]:
    """The states that variables of built-in controls can have.

    A variable that the case declares as `"NAME: text"` may have others.
    """
    own = {name for name, _, what in (entry.partition(":") for entry in observables) if what.strip() == "text"}
    return {name: states for name, states in _states(kind).items() if name not in own}


@cache
def switches_of(control: str, kind: str = CONGESTION) -> tuple[str, ...]:
    """The switches of a built-in control's mutants; none: there is no such control."""
    return tuple(next((c.get("mutants", ()) for c in _controls(kind) if c["name"] == control), ()))


@cache
def sends_ect1(control: str) -> bool:
    """Whether a built-in congestion control's data is sent with ECT(1)."""
    return any(c["l4s"] for c in _controls(CONGESTION) if c["name"] == control)


@cache
def sender(kind: str = CONGESTION) -> frozenset[str]:
    """Variables that every sender has."""
    every = [set(v) for v in _of_controls(kind).values()]
    return frozenset(set.intersection(*every)) if every else frozenset()


@cache
def _units() -> dict[str, str]:
    controls = [c for kind in KINDS for c in _controls(kind)]
    return {v["name"]: v["unit"] for c in controls for v in c.get("variables") or []}


def unit_of(variable: str) -> str:
    """The unit of a variable; empty for a plain number and for one that no built-in control has."""
    unit = _units().get(variable, "")
    return "" if unit == "text" else unit


@cache
def scenario_keys() -> frozenset[str]:
    """The keys of scenarios of this version.

    They are written as in the reference: `link.<name>.rate`.
    """
    return frozenset(key["path"] for key in json.loads(_core.describe())["keys"])
