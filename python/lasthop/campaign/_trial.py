"""Every point of a campaign tried against its base scenario before the first run."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from lasthop._core import LasthopError
from lasthop.campaign._faults import MOST, Faults, Key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop._core import Diagnostic
    from lasthop._core import Scenario as Core
    from lasthop.campaign.jobs import Label, Point
    from lasthop.campaign.plan import Axis

#: All points are tried up to so many; of more each label at least once, and the first points.
MOST_TRIED = 20_000
#: Tables of each run; the last two depend on the applications.
_AT_THE_END = ("flows", "applications", "quality")
#: What may make a scenario record a table.
_REMEDIES = (
    "output.{}=true",
    "output.radio=true",
    "output.queues=true",
    "output.tcp=interval",
    "output.cc=change",
    "output.windows=1 s",
)

Reads = Mapping[str, Key]
"""Tables that are read, each with the place that says so."""


def common(base: Core, sets: Sequence[str], places: Sequence[Key], faults: Faults) -> Core | None:
    """The base scenario with the values that the campaign sets in each run."""
    try:
        return base.with_set(sets)
    except LasthopError as error:
        before = len(base.source()[2])
        for found in _errors(error, base):
            index = _override(found, before)
            if index is None:
                faults.add(("set",), f"the base scenario with [set]: {found['message']}", found["help"])
            else:
                _blame(found, places[index], sets[index], faults, at_key=True)
        return None


def check_points(
    base: Core, points: Sequence[Point], axes: Sequence[Axis], reads: Reads, faults: Faults, *, flags: bool = False
) -> None:
    """Tries points; a mistake is reported at the axis value that causes it, in the campaign file.

    With `flags` remedies name options of the command line instead of keys of a file.
    """
    before = len(base.source()[2])
    wrong: set[tuple[str, Label]] = set()
    lacking = dict(reads)
    for point in _chosen(points):
        if wrong.intersection(point.labels):
            continue
        if len(faults) >= MOST:
            return
        try:
            tried = base.with_set(point.overrides)
        except LasthopError as error:
            wrong |= _Blame(base, axes, point, before, faults).of(error)
            continue
        recorded = {*tried.recorded(), *_AT_THE_END} if lacking else set()
        for table in [t for t in lacking if t not in recorded]:
            somewhere = table in base.recorded()
            _no_table(tried, table, lacking.pop(table), described(point.labels) if somewhere else "", faults, flags)


def _chosen(points: Sequence[Point]) -> Sequence[Point]:
    """All points; of very many those with a label that none before has, and the first ones."""
    if len(points) <= MOST_TRIED:
        return points
    seen: set[tuple[str, Label]] = set()
    chosen: dict[int, Point] = {p.index: p for p in points[:MOST_TRIED]}
    for point in points:
        if not seen.issuperset(point.labels):
            seen.update(point.labels)
            chosen[point.index] = point
    return list(chosen.values())


class _Blame:
    """Which value of which axis makes a point impossible."""

    def __init__(self, base: Core, axes: Sequence[Axis], point: Point, before: int, faults: Faults) -> None:
        self.base, self.axes, self.point, self.before, self.faults = base, axes, point, before, faults
        self.chosen = [axis.labels.index(label) for axis, (_, label) in zip(axes, point.labels, strict=True)]

    def of(self, error: LasthopError) -> set[tuple[str, Label]]:
        """Notes the mistakes; returns the labels that are wrong at each point."""
        wrong: set[tuple[str, Label]] = set()
        owners = [(a, i) for a, (axis, at) in enumerate(zip(self.axes, self.chosen, strict=True))
                  for i in range(len(axis.settings[at]))]  # fmt: skip
        for found in _errors(error, self.base):
            index = _override(found, self.before)
            if index is not None and index < len(owners):
                a, i = owners[index]
                _blame(found, self.axes[a].places[self.chosen[a]][i], self.point.overrides[index], self.faults)
            else:
                a = self.turning()
                place = next(iter(self.axes[a].places[self.chosen[a]]), ("axis", self.axes[a].name))
                self.faults.add(place, f"{found['message']} (at {described(self.point.labels)})", found["help"])
            if self.alone(a):
                wrong.add(self.point.labels[a])
        return wrong

    def turning(self) -> int:
        """The axis whose value turns the scenario from right to wrong.

        The axes are taken one after the other.
        """
        good = -1
        for count in range(len(self.axes)):
            if self.works([*range(count)]):
                good = count
        return max(good, 0)

    def alone(self, axis: int) -> bool:
        """Whether the value of one axis is wrong without those of the others."""
        return not self.works([axis])

    def works(self, axes: Sequence[int]) -> bool:
        overrides = [o for a in axes for o in self.axes[a].settings[self.chosen[a]]]
        try:
            self.base.with_set(overrides)
        except LasthopError:
            return False
        return True


def described(labels: Sequence[tuple[str, Any]]) -> str:
    """A point in words: `cc = reno, buffer = 50`."""
    shown = ((name, str(label).lower() if isinstance(label, bool) else label) for name, label in labels)
    return ", ".join(f"{name} = {label}" for name, label in shown)


def _errors(error: LasthopError, base: Core) -> list[Diagnostic]:
    return [_explained(d, base) for d in error.diagnostics if d["severity"] == "error"]


_MISSING = re.compile(r"the key `(\w+)` is missing in `(\w+)\.([^`.]+)`")


def _explained(found: Diagnostic, base: Core) -> Diagnostic:
    """A remedy for a key of something that the base scenario does not have.

    Such a key makes a new one, which then lacks its other keys.
    """
    match = _MISSING.fullmatch(found["message"])
    if match is None:
        return found
    missing, kind, name = match[1], match[2], match[3].strip('"')
    there = list(declared(base, kind))
    if name in there:
        return found
    near = get_close_matches(name, there, 1, 0.3)
    meant = f"did you mean `{near[0]}`?" if near else f"it has: {', '.join(there) or 'none'};"
    explained = copy(found)
    explained["message"] = f"the base scenario has no {kind} `{name}`"
    explained["help"] = f"{meant} a new {kind} would need `{missing}`, too"
    return explained


def declared(base: Core, kind: str) -> Sequence[str]:
    """The names of a scenario's flows, links, UEs and so on, as its tables have them."""
    return tuple(tomllib.loads(base.to_toml()).get(kind, {}))


def _override(found: Diagnostic, before: int) -> int | None:
    """Which of the overrides a mistake is in, from 0; None: it is elsewhere."""
    number = found.get("set")
    return number - before - 1 if number is not None and number > before else None


def _blame(found: Diagnostic, place: Key, override: str, faults: Faults, *, at_key: bool = False) -> None:
    """A mistake in an override, at the key or the value that it was made of."""
    key = override.partition("=")[0]
    in_key = found["column"] is not None and found["column"] <= len(key)
    message = found["message"]
    if in_key and place[0] == "axis" and place[2] in ("values", "range"):
        faults.add((*place[:2], "key"), message, found["help"])
        return
    if in_key and place[0] == "axis" and place[2] == "zip":
        place = place[:4]
    if key.rpartition(".")[2] not in message:
        message += f", for `{key}`"
    faults.add(place, message, found["help"], at_key=in_key and (at_key or place[0] == "axis"))


def _no_table(core: Core, table: str, place: Key, where: str, faults: Faults, flags: bool) -> None:
    at = f" at {where}" if where else ""
    faults.add(place, f"the scenario does not record the table '{table}'{at}", _remedy(core, table, flags))


def _remedy(core: Core, table: str, flags: bool) -> str:
    """The key that makes the scenario record the table, found by trying."""
    for text in (r.format(table) for r in _REMEDIES):
        try:
            found = table in core.with_set([text]).recorded()
        except LasthopError:
            continue
        if found:
            key, _, value = text.partition("=")
            if flags:
                return f"--set {text} records it"
            return f'[set] "{key}" = {value if value == "true" else repr(value)} records it'
    return f"'lasthop describe tables {table}' says which runs have it"
