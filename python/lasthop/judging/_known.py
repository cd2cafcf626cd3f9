"""Whether a case's expressions can have a value in a run.

For this the tables must be recorded and the moments must exist. Otherwise the value is not known in
any run: a mistake of the case, which is found before the first run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lasthop.campaign._faults import nearest
from lasthop.campaign.metrics import Metric, MetricError
from lasthop.judging._checker import OF_FLOWS
from lasthop.judging._evaluation import ANY_TIME
from lasthop.judging._functions import FUNCTIONS, MOMENT, MOMENTS
from lasthop.judging._paths import CasePath
from lasthop.judging._places import Key, Places, together
from lasthop.judging._syntax import Binary, Call, Name, Number, Parameter, Text, Tree, Unary, parse, parts_of
from lasthop.judging._variables import declared, known_variables
from lasthop.judging.case import Case

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop._core import LasthopError
    from lasthop._scenario import Scenario

#: Tables that a scenario records on request: the remedy, and whether its `output` has them.
_REQUESTED: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool]]] = {
    "cc": ('set output.cc = "change"', lambda output: output.get("cc", "off") != "off"),
    "tcp": ('set output.tcp = "interval"', lambda output: output.get("tcp", "interval") != "off"),
    "windows": ('set output.windows = "1 s"', lambda output: "windows" in output),
    "packets": ("set output.packets = true", lambda output: bool(output.get("packets") or output.get("explain"))),
    "queues": ("set output.queues = true", lambda output: bool(output.get("queues", True))),
}
#: Tables of a scenario whose entries are sources of events.
_SOURCES = ("flow", "link", "ue", "bearer", "cell", "station", "ap")
#: Moments are compared to this share of the duration.
_ROUNDING = 1e-9


def check_known(case: Case, path: CasePath, scenario: Scenario) -> None:
    """Checks the expressions of a case on a path.

    Raises:
        LasthopError: a table that they read is not recorded, or an interval or moment that does not
            depend on the run is not in it.
    """
    found = [*_Check(case, path, scenario).faults()]
    if found:
        raise together(found[:20])


class _Check:
    def __init__(self, case: Case, path: CasePath, scenario: Scenario) -> None:
        self._case = case
        self._path = path
        self._duration_s = scenario.duration
        tables = tomllib.loads(scenario.to_toml())
        self._tables_of = tables
        self._output = tables.get("output", {})
        apps = [flow.get("app") for flow in tables.get("flow", {}).values()]
        self._media = any(isinstance(app, dict) and app.get("kind") == "media" for app in apps)
        self._variables = {*known_variables(case.judges), *declared(case.observables, case.judges)}
        self._file = Places(case.text, case.file)

    def faults(self) -> Iterator[LasthopError]:
        """The mistakes of each expression."""
        for key, tree in _expressions(self._case, self._path.name):
            for part in _every(tree):
                for table in self._tables(part):
                    if table in _REQUESTED and not _REQUESTED[table][1](self._output):
                        what = f"this reads the table `{table}`, which the scenario does not record"
                        yield self._fault(key, part, what, _REQUESTED[table][0])
                if isinstance(part, Call) and part.function == "events":
                    yield from self._source(key, part)
                if isinstance(part, Call) and part.function not in ANY_TIME:
                    wrong = [*self._moments(key, part)]
                    yield from wrong or self._windows(key, part)

    def _source(self, key: Key, call: Call) -> Iterator[LasthopError]:
        """A source of events that the scenario does not have."""
        of = call.arguments[1] if len(call.arguments) > 1 else None
        if not isinstance(of, Text):
            return
        kind, _, name = of.value.partition("/")
        every = {k: [f"{k}/{n}" for n in self._tables_of.get(k, {})] for k in _SOURCES}
        known = [source for sources in every.values() for source in sources]
        # Names of nodes and bearers are not those of tables: ends of links, UEs, pairs of UEs.
        free = kind == "node" or (kind == "bearer" and not {"ue", "sidelink"}.isdisjoint(self._tables_of))
        # With `count` NAME-1, NAME-2 of NAME.
        if (free and name) or any(of.value == s or of.value.startswith(f"{s}-") for s in known):
            return
        remedy = next(
            (f"did you mean '{s}'?" for s in known if s.partition("/")[2] == of.value), nearest(of.value, known)
        )
        yield self._fault(key, of, f"the scenario has no source of events '{of.value}'", remedy)

    def _fault(self, key: Key, part: Tree, message: str, remedy: str) -> LasthopError:
        where = f"path '{self._path.name}': {message}"
        return self._file.error((*self._case.key, *key), where, remedy, (part.first, part.last))

    def _tables(self, part: Tree) -> frozenset[str]:
        """The tables that a part reads by itself."""
        if isinstance(part, Name):
            return frozenset({"cc"} if part.name in self._variables and part.name not in self._case.let else ())
        if not isinstance(part, Call):
            return frozenset()
        if part.function == "metric":
            text = part.arguments[0]
            try:
                return frozenset(Metric.parse("metric", text.value).tables if isinstance(text, Text) else ())
            except MetricError:  # the checker has said so
                return frozenset()
        if part.function in ("enter", "leave", "goodput", "rounds"):
            return frozenset({"cc"})
        table = OF_FLOWS.get(part.function)
        # Goodput of media flows is that of the table `media`.
        return frozenset() if table is None or (table == "tcp" and self._media) else frozenset({table})

    def _moments(self, key: Key, call: Call) -> Iterator[LasthopError]:
        """Mistakes in the moments of a function that do not depend on the run."""
        takes = FUNCTIONS[call.function].takes
        rounding = _ROUNDING * max(self._duration_s, 1.0)
        times = []
        for number, argument in enumerate(call.arguments):
            at = self._time(argument) if MOMENT in takes[min(number, len(takes) - 1)] else None
            if at is not None and not -rounding <= at <= self._duration_s + rounding:
                side = "before the beginning" if at < 0 else "after the end"
                what = f"{at:.6g} s is {side} of the run, which takes {self._duration_s:.6g} s"
                yield self._fault(key, argument, what, "a moment is from start to end")
                return
            times.append(at)
        if len(times) < 2 or call.function == "before":
            return
        first, last = times[-2:]
        if first is not None and last is not None and last <= first + rounding:
            what = f"the interval from {first:.6g} s to {last:.6g} s is empty"
            yield self._fault(key, call, what, "an interval goes from an earlier moment to a later one")

    def _windows(self, key: Key, call: Call) -> Iterator[LasthopError]:
        """A fixed interval in which no window of the table `windows` lies as a whole."""
        text = self._output.get("windows")
        if OF_FLOWS.get(call.function) != "windows" or text is None:
            return
        length = parse(text)
        first, last = (self._time(argument) for argument in call.arguments[-2:])
        if first is None or last is None or not isinstance(length, Number):
            return
        rounding = _ROUNDING * max(self._duration_s, 1.0)
        begins = math.ceil((first - rounding) / length.value) * length.value
        # The last window ends with the run.
        if begins >= self._duration_s or min(begins + length.value, self._duration_s) > last + rounding:
            what = f"no window of {text} lies between {first:.6g} s and {last:.6g} s"
            yield self._fault(key, call, what, "output.windows is the length of a window: set a shorter one")

    def _time(self, tree: Tree) -> float | None:
        """A moment that is the same in every run [s]; None: it is another value, or not known."""
        if isinstance(tree, Name):
            if tree.name in self._case.let:
                return self._time(self._case.let[tree.name])
            at = {"start": 0.0, "late": self._duration_s / 3, "end": self._duration_s}
            return at[tree.name] if tree.name in MOMENTS else None
        if isinstance(tree, Call) and tree.function == "shift":
            return _sum(self._time(tree.arguments[0]), self._number(tree.arguments[1]))
        if isinstance(tree, Binary) and tree.operator in ("+", "-"):
            by = self._number(tree.right)
            return _sum(self._time(tree.left), by if by is None or tree.operator == "+" else -by)
        return None

    def _number(self, tree: Tree) -> float | None:
        """A number that is the same in every run; None: it is none."""
        if isinstance(tree, Number):
            return tree.value
        if isinstance(tree, Parameter):
            return self._path.parameters.get(tree.name)
        if isinstance(tree, Name) and tree.name in self._case.let:
            return self._number(self._case.let[tree.name])
        if isinstance(tree, Unary) and tree.operator == "-":
            of = self._number(tree.of)
            return None if of is None else -of
        if isinstance(tree, Binary) and tree.operator in ("+", "-", "*", "/"):
            left, right = self._number(tree.left), self._number(tree.right)
            if left is None or right is None or (tree.operator == "/" and right == 0):
                return None
            return {"+": left + right, "-": left - right, "*": left * right}.get(tree.operator, left / (right or 1.0))
        return None


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def _every(tree: Tree) -> Iterator[Tree]:
    """All parts of a tree."""
    yield tree
    for part in parts_of(tree):
        yield from _every(part)


def _expressions(case: Case, path: str) -> Iterator[tuple[Key, Tree]]:
    """The expressions of a case that a path evaluates, with their keys."""
    for name, tree in case.let.items():
        yield ("let", name), tree
    for check in (*case.requires, *case.passes):
        group, _, number = check.name.rpartition(".")
        yield (group, int(number) - 1), check.tree
    for place, point in enumerate(case.ambiguous):
        for reading in point.readings:
            yield ("ambiguous", place, "readings", reading.name), reading.tree
    for name, tree in case.shown.items():
        yield ("shown", name), tree
    for metric in (m for m in case.metrics if m.on(path)):
        for key, of in (("value", metric.tree), ("most", metric.most), ("least", metric.least)):
            if of is not None:
                yield ("metric", metric.name, key), of
