"""The scenario of a run: the base, the keys of the case and of the path.

Values replace the names in braces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lasthop._core import LasthopError
from lasthop._scenario import Scenario
from lasthop._values import to_toml
from lasthop.campaign._faults import nearest
from lasthop.judging._paths import CasePath
from lasthop.judging._places import Key, Places, together
from lasthop.judging._syntax import DIMENSIONS, Binary, ExpressionError, Number, Parameter, Tree, Unary, parse
from lasthop.judging._variables import CONGESTION, known_variables
from lasthop.judging.case import FLOW, TCP, Case

#: The control of a run without the judged flow.
ALONE = ""
#: The profile of the TCP stacks that cases write, which a judgement may replace.
STACK = "linux-6"


@cache
def bases() -> Mapping[str, Mapping[str, Any]]:
    """The scenarios that a case completes or overrides, by name."""
    folder = Path(__file__).parent / "bases"
    return {**{file.stem: Places.load(file).data for file in sorted(folder.glob("*.toml"))}, "none": {}}


def scenario_text(
    case: Case,
    path: CasePath,
    control: str,
    seed: int,
    sets: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
    profile: str = STACK,
) -> str:
    """The scenario of a run as TOML; with the control `ALONE` without the judged flow.

    `keys` are what the judged flow has in `tcp`, or each flow of a judged rate control in `app`,
    unless the case says otherwise. Flows for which the case writes the profile `STACK` have
    `profile` in its place.

    Raises:
        LasthopError: a value in braces has no meaning there; the message shows it in the case.
    """
    merged: dict[str, Any] = {"scenario": {"name": f"{case.id}-{path.name}"}}
    merged = _merged(merged, bases()[case.base])
    merged = _merged(merged, case.scenario)
    merged = _merged(merged, path.scenario)
    head = merged.setdefault("scenario", {})
    if "duration" in merged:  # `duration` may stand at the top, as in a case it is nearly always given
        head["duration"] = merged.pop("duration")
    head.setdefault("duration", "10 s")
    head["seed"] = seed
    flow = merged.setdefault("flow", {}).setdefault(FLOW, {})
    if isinstance(flow, dict) and case.judges == CONGESTION:
        flow.setdefault("tcp", {})
        flow["tcp"].setdefault("cc", control)
        for key, value in (keys or {}).items():
            flow["tcp"].setdefault(key, value)
    if control == ALONE:
        del merged["flow"][FLOW]
    for trigger in merged.get("when", []):
        if isinstance(trigger, dict):
            trigger.setdefault("flow", FLOW)
    if sets:
        merged = _merged(merged, sets)
    filled = _filled(merged, case, path, control, ("scenario",))
    if case.judges != CONGESTION:
        for name, entry in filled["flow"].items():
            if not isinstance(entry, dict) or _control_of(entry) != control:
                continue
            filled["flow"][name] = (
                _as_tcp(entry) if control == TCP else {**entry, "app": {**(keys or {}), **entry["app"]}}
            )
    for entry in filled["flow"].values():
        tcp = entry.get("tcp") if isinstance(entry, dict) else None
        if isinstance(tcp, dict) and tcp.get("profile") == STACK:
            tcp["profile"] = profile
    return _dumped(filled)


def _control_of(flow: Mapping[str, Any]) -> Any:
    """The rate control of a flow; None: it has none."""
    app = flow.get("app")
    return app.get("control") if isinstance(app, Mapping) else None


def _as_tcp(flow: Mapping[str, Any]) -> dict[str, Any]:
    """A media flow as a bulk flow of TCP between the same nodes at the same times."""
    rest = {key: value for key, value in flow.items() if key not in ("app", "transport")}
    return {**rest, "app": "bulk", "tcp": {"profile": STACK, "cc": "cubic"}}


def scenario_of(
    case: Case,
    path: CasePath,
    control: str,
    seed: int,
    cc: Mapping[str, Any],
    keys: Mapping[str, Any] | None = None,
    profile: str = STACK,
) -> Scenario:
    """The scenario of a run; `keys` and `profile` as `scenario_text` takes them.

    Raises:
        LasthopError: the scenario has a mistake; where the case has the key, the message shows its
            place there.
    """
    text = scenario_text(case, path, control, seed, keys=keys, profile=profile)
    try:
        return Scenario.parse(text, f"scenario of {case.id}, path {path.name}", case.folder, cc=cc)
    except LasthopError as error:
        raise _placed(case, path, error) from error


def _placed(case: Case, path: CasePath, error: LasthopError) -> LasthopError:
    """A mistake of a scenario at its place in the case."""
    file = Places(case.text, case.file)
    found = []
    for diagnostic in getattr(error, "diagnostics", []):
        key = diagnostic.get("key")
        remedy = diagnostic.get("help")
        if diagnostic.get("severity") != "error":
            continue
        at: Key = (*case.key, "paths", path.name)  # without a key: a number that follows from the path's
        if key:
            words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^."]+)', key)]
            parts = tuple(int(word) if word.isdigit() else word for word in words)
            own: Key = (*case.key, "paths", path.name, "scenario", *parts)
            at = own if file.has(own) else (*case.key, "scenario", *parts)
            if parts[0] == "scenario" and not file.has(at):  # `duration` may stand at the top of a case's scenario
                at = (*case.key, *parts)
            inside = file.below(own) or file.below((*case.key, "scenario", *parts))
            if not file.has(at) and inside is not None:  # a table of which only keys stand in the case
                at = inside
            if len(parts) == 1 and get_close_matches(str(parts[0]), ["duration"]):
                remedy = "did you mean `duration`?"
            variable = _watched(case, parts)
            if variable in known_variables(case.judges) and variable not in case.variables:
                remedy = f'write observables = ["{variable}"]: a control without it is not-applicable then'
            if not file.has(at):  # a key of the base, whose value follows from the path
                at = (*case.key, "paths", path.name)
                remedy = remedy or f"`{key}` follows from the values of the path"
        found.append(file.error(at, f"scenario of path '{path.name}': {diagnostic['message']}", remedy))
    return together(found) if found else error


def _watched(case: Case, parts: Sequence[str | int]) -> str:
    """The variable of a `[[when]]` of a case; empty: it is another key."""
    if len(parts) != 3 or parts[0] != "when" or parts[2] != "var":
        return ""
    triggers = case.scenario.get("when", [])
    number = parts[1]
    here = isinstance(number, int) and number < len(triggers)
    return str(triggers[number].get("var", "")) if here else ""


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables, one over the other.

    A queue or an application of another kind replaces the one below as a whole.
    """
    found = {k: _copied(v) for k, v in below.items()}
    for key, value in above.items():
        here = found.get(key)
        other_kind = isinstance(value, Mapping) and "kind" in value
        if isinstance(here, dict) and isinstance(value, Mapping) and not other_kind:
            found[key] = _merged(here, value)
        elif isinstance(here, list) and isinstance(value, list) and key in ("at", "when"):
            found[key] = [*here, *(_copied(v) for v in value)]
        else:
            found[key] = _copied(value)
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


_WITH_UNIT = re.compile(r"(?P<body>.*\}.*?)\s+(?P<unit>packets|segments|rounds)\s*\Z", re.DOTALL)


def _filled(value: Any, case: Case, path: CasePath, control: str, key: Key) -> Any:
    """A value of a scenario with the path's values in the place of braces."""
    if isinstance(value, Mapping):
        return {k: _filled(v, case, path, control, (*key, k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(v, case, path, control, (*key, n)) for n, v in enumerate(value)]
    if not isinstance(value, str) or "{" not in value:
        return value
    if value.strip() in ("{cc}", "{control}"):
        return control
    text = value
    unit = _WITH_UNIT.match(text)
    if unit is not None:
        text = unit["body"]
    try:
        number, dimension = _quantity_of(_tree(text), path)
    except ExpressionError as error:
        file = Places(case.text, case.file)
        at: Key = (*case.key, *key)
        own: Key = (*case.key, "paths", path.name, *key)
        at = own if file.has(own) else at
        if not file.has(at) and key[:2] == ("scenario", "scenario"):  # `duration` may stand at the top
            at = (*case.key, *key[1:])
        raise file.error(at, error.message, error.help, (error.first, error.last)) from error
    return _written(number, dimension)


# The replications of a path differ by the seed alone.
_tree = lru_cache(maxsize=4096)(parse)


def _quantity_of(tree: Tree, path: CasePath) -> tuple[float, tuple[int, int]]:
    """A value of a scenario key: arithmetic of quantities."""
    place = (tree.first, tree.last)
    if isinstance(tree, Number):
        return tree.value, DIMENSIONS.get(tree.unit, (0, 0))
    if isinstance(tree, Parameter):
        if tree.name not in path.parameters:
            raise ExpressionError(
                f"the path '{path.name}' has no '{tree.name}'", nearest(tree.name, path.parameters), *place
            )
        return path.parameters[tree.name], path.dimensions[tree.name]
    if isinstance(tree, Unary) and tree.operator == "-":
        number, dimension = _quantity_of(tree.of, path)
        return -number, dimension
    if isinstance(tree, Binary) and tree.operator in ("+", "-", "*", "/"):
        (a, left), (b, right) = _quantity_of(tree.left, path), _quantity_of(tree.right, path)
        if tree.operator in ("+", "-"):
            if left != right:
                raise ExpressionError("these are different quantities", "add times to times, rates to rates", *place)
            return (a + b if tree.operator == "+" else a - b), left
        if tree.operator == "*":
            return a * b, (left[0] + right[0], left[1] + right[1])
        if b == 0:
            raise ExpressionError("a division by 0", "check the values of the path", *place)
        return a / b, (left[0] - right[0], left[1] - right[1])
    raise ExpressionError(
        "a value of a scenario is arithmetic of quantities",
        "numbers, {names} of the path, + - * / and parentheses",
        *place,
    )


def _written(number: float, dimension: tuple[int, int]) -> str | int | float:
    """A quantity as a scenario key takes it. Data that follow from rate and time are octets."""
    if dimension == (1, 0):
        return f"{_plain(number * 1e9)} ns"
    if dimension == (-1, 1):
        return f"{_plain(number)} bit/s"
    if dimension == (0, 1):
        return f"{math.ceil(number)} B"
    return int(number) if number == int(number) else math.ceil(number) if number > 4 else number


def _plain(number: float) -> str:
    return str(round(number))


def _dumped(tables: Mapping[str, Any]) -> str:
    """A scenario as TOML: a header for each table of two levels, what is below inline."""
    lines: list[str] = []
    for name, content in tables.items():
        if isinstance(content, list):
            for entry in content:
                lines += [f"[[{name}]]", *_rows(entry), ""]
        elif isinstance(content, Mapping):
            plain = {k: v for k, v in content.items() if not isinstance(v, Mapping)}
            if plain or not content:
                lines += [f"[{name}]", *_rows(plain), ""]
            for part, inner in content.items():
                if isinstance(inner, Mapping):
                    lines += [f"[{name}.{_part(part)}]", *_rows(inner), ""]
        else:
            lines.insert(0, f"{_part(name)} = {to_toml(content)}")
    return "\n".join(lines)


def _rows(table: Any) -> list[str]:
    if not isinstance(table, Mapping):
        return []
    return [f"{_part(key)} = {to_toml(value)}" for key, value in table.items()]


def _part(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
