"""A case: what is run, what must be recorded, and what must hold; read from TOML and checked before the first run."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasthop._core import LasthopError
from lasthop._scenario import Scenario
from lasthop._values import to_toml
from lasthop.campaign._faults import nearest
from lasthop.judging._language import FUNCTIONS, MOMENTS, NUMBER, NUMBERS, Checker, InLetError, Names
from lasthop.judging._places import Key, Places, tables_of, together
from lasthop.judging._syntax import (
    DIMENSIONS,
    UNITS,
    Binary,
    ExpressionError,
    Number,
    Parameter,
    Tree,
    Unary,
    parse,
)
from lasthop.judging._variables import built_in, known_variables

#: The controls that a candidate must not both be worse than: the standards-track algorithms of RFC 9743.
BASELINES = ("reno", "cubic")
#: The flow whose control is judged, in every scenario.
FLOW = "judged"
#: Octets of payload and options in a segment, and what a packet has on top: IPv4 20, TCP 20; timestamps take 12 of the
#: payload's octets.
MSS, HEADERS, TIMESTAMPS = 1460, 40, 12
PACKET = MSS + HEADERS

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}\Z")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")
_PATH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")
_MOST_PATHS = 200
_MOST_SEEDS = 1_000


@dataclass(frozen=True)
class CasePath:
    """A path of a case: what stands in braces, and scenario keys of its own."""

    name: str
    #: Values of `{name}`: seconds, bit/s, octets, packets, counts.
    parameters: Mapping[str, float]
    #: Powers of time and data of each.
    dimensions: Mapping[str, tuple[int, int]]
    scenario: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the quick form has it.
    quick: bool = True
    #: The values that the case gives; others follow from these.
    given: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Check:
    """An expression that must hold."""

    #: `pass.2`: the second of `pass`.
    name: str
    text: str
    tree: Tree


@dataclass(frozen=True)
class Reading:
    """A point in which the source contradicts itself: each reading with its expression."""

    text: str
    readings: tuple[Check, ...]


@dataclass(frozen=True)
class CaseMetric:
    """A number of a run that is compared between controls."""

    name: str
    text: str
    tree: Tree
    unit: str
    #: "larger" or "smaller": which is better; empty: it is shown and never flagged.
    better: str


@dataclass(frozen=True)
class Mutant:
    """A control with a mistake of purpose, which the case must find."""

    name: str
    #: The built-in control whose switch it is, or the class of the user's.
    cc: str
    #: What is changed, as the built-in's hidden table has it; empty for a class.
    switch: str
    #: The checks of which at least one must fail.
    fails: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A case, checked."""

    id: str
    title: str
    source: str
    about: str
    #: What the case cannot be run without: ids of what the simulator lacks.
    lacks: tuple[str, ...]
    #: Scenario keys without which this version cannot run the case, as the reference writes them.
    needs: tuple[str, ...]
    observables: tuple[str, ...]
    requires: tuple[Check, ...]
    passes: tuple[Check, ...]
    ambiguous: tuple[Reading, ...]
    shown: Mapping[str, Tree]
    chosen: tuple[str, ...]
    notes: tuple[str, ...]
    known: Mapping[str, str]
    let: Mapping[str, Tree]
    paths: tuple[CasePath, ...]
    base: str
    scenario: Mapping[str, Any]
    mutants: tuple[Mutant, ...]
    seeds: int
    quick_seeds: int
    plot: tuple[str, ...]
    #: Variables of the table `cc` that its expressions use.
    used: tuple[str, ...]
    #: Tables of a run that its expressions use, beside `cc`.
    tables: tuple[str, ...]
    #: What is compared between controls; with metrics the case is a comparative one.
    metrics: tuple[CaseMetric, ...]
    references: tuple[str, ...]
    #: The file and its text; the key of the case in it.
    file: str
    text: str
    key: Key
    folder: Path

    @property
    def digest(self) -> str:
        """Digest of all that the case says."""
        data: Any = Places(self.text, self.file).data
        for part in self.key:
            data = data[part]
        return hashlib.blake2b(json.dumps(data, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()

    @property
    def rounds(self) -> str:
        """The variable that counts round trips."""
        found = [name for name in self.observables if name.endswith("round_count")]
        return found[0] if found else "round"

    def names(self, variables: Mapping[str, bool]) -> Names:
        """What its expressions may use."""
        parameters = frozenset(p for path in self.paths for p in path.parameters)
        return Names(variables, self.let, parameters)

    def wants(self) -> tuple[str, ...]:
        """The variables that a control must expose: those that the case names, and those that it uses."""
        return tuple(dict.fromkeys((*self.observables, *self.used)))

    def seed(self, replication: int) -> int:
        """The seed of a replication, from 0: of the case and the replication alone."""
        digest = hashlib.blake2b(f"{self.id}/{replication}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") % 1_000_000_000


def load_cases(path: Path) -> list[Case]:
    """The cases of a file.

    Raises:
        LasthopError: the file has mistakes; the message shows each at its place.
    """
    return read_cases(Places.load(path), path.parent)


def parse_cases(text: str, name: str, folder: Path | None = None) -> list[Case]:
    """The cases of a TOML text; `name` is what messages call it."""
    return read_cases(Places(text, name), folder or Path())


def read_cases(file: Places, folder: Path) -> list[Case]:
    """The cases of a TOML text that was read."""
    for name in file.data:
        if name != "case":
            raise file.error(
                (name,), f"unknown table `{name}`", "a case is the table [case], several are [[case]]", at_key=True
            )
    tables = tables_of(file.data)
    if not tables:
        raise file.error(("case",), "there is no [case] in this file", "the guide 'Add a case' shows the smallest one")
    found: list[Case] = []
    errors: list[LasthopError] = []
    for key, _ in tables:
        reader = _Reader(file, key, folder)
        case = reader.read()
        errors += reader.errors
        if case is not None:
            found.append(case)
    if not errors:
        errors = list(_twice(file, tables, found))
    if errors:
        raise together(errors[:20])
    return found


def _twice(file: Places, tables: Sequence[tuple[Key, Any]], cases: Sequence[Case]) -> Iterator[LasthopError]:
    seen: set[str] = set()
    for (place, _), case in zip(tables, cases, strict=True):
        if case.id in seen:
            yield file.error((*place, "id"), f"there are two cases '{case.id}'", "ids are unique")
        seen.add(case.id)


class _Reader:
    """Reads one case; mistakes are collected, so that all are shown at once."""

    def __init__(self, file: Places, key: Key, folder: Path) -> None:
        self._file = file
        self._key = key
        self._folder = folder
        data: Any = file.data
        for part in key:
            data = data[part]
        self._data: Mapping[str, Any] = data
        self.errors: list[LasthopError] = []

    def read(self) -> Case | None:
        """The case; None: it has mistakes, which are in `errors`."""
        data = self._data
        for key in data:
            if key not in _KEYS:
                self._fault((key,), f"unknown key `{key}`", nearest(key, _KEYS), at_key=True)
        named = self._text("id", required=True)
        if named and not _ID.match(named):
            self._fault(("id",), f"'{named}' is no id of a case", "letters, digits, '-', '_' and '.', at most 40")
        title, source = self._text("title", required=True), self._text("source", required=True)
        observables = self._texts("observables")
        variables = self._variables(observables)
        paths = self._paths()
        let = self._let(variables)
        checks = {name: self._checks(name) for name in ("requires", "pass")}
        ambiguous = self._ambiguous()
        shown = {
            name: tree for name, text in self._table("shown").items()
            if (tree := self._expression(("shown", name), text)) is not None
        }  # fmt: skip
        parameters = frozenset(p for path in paths for p in path.parameters)
        checker = Checker(Names(variables, let, parameters))
        self._check(checker, let, checks, ambiguous, shown)
        plot = self._texts("plot")
        for number, name in enumerate(plot):
            if name not in variables:
                self._fault(("plot", number), f"there is no variable '{name}'", nearest(name, variables))
        nothing = not checks["pass"] and not shown and not self._table("metric")
        if nothing and not self._texts("lacks") and not self.errors:
            self._fault((), "the case checks nothing", "write what must hold into `pass`, or values into [case.shown]")
        scenario = self._table("scenario")
        base = self._text("base") or "one-flow"
        if base not in BASES:
            self._fault(("base",), f"there is no base '{base}'", nearest(base, BASES))
        if base == "none" and not scenario:
            self._fault(("base",), 'with base = "none" the case needs its own scenario', "write [case.scenario]")
        metrics, references = self._metrics(checker), self._references()
        if metrics and (checks["pass"] or checks["requires"]):
            self._fault((), "a case with metrics compares, and has no checks", "write `pass` into a case of its own")
        mutants = self._mutants({c.name for group in checks.values() for c in group})
        seeds = self._whole("seeds", 1, _MOST_SEEDS, 1)
        quick_seeds = self._whole("quick_seeds", 1, _MOST_SEEDS, min(seeds, 3))
        known = {k: str(v) for k, v in self._table("known").items()}
        if self.errors:
            return None
        used = {*checker.used, *(v for v in plot if v in variables)}
        return Case(
            named, title, source, self._text("about"), self._texts("lacks"), self._texts("needs"), observables,
            checks["requires"], checks["pass"], ambiguous, shown, self._texts("chosen"), self._texts("notes"), known,
            let, paths, base, scenario, mutants, seeds, quick_seeds, plot, tuple(sorted(used)),
            tuple(sorted(checker.tables)), metrics, references, self._file.name, self._file.text, self._key,
            self._folder,
        )  # fmt: skip

    def _fault(
        self, key: Key, message: str, help: str | None, within: tuple[int, int] | None = None, at_key: bool = False
    ) -> None:
        self.errors.append(self._file.error((*self._key, *key), message, help, within, at_key))

    def _text(self, name: str, required: bool = False) -> str:
        value = self._data.get(name)
        if value is None:
            if required:
                self._fault((), f"the case has no `{name}`", _KEYS[name])
            return ""
        if not isinstance(value, str) or (required and not value.strip()):
            self._fault((name,), f"`{name}` must be a text", _KEYS[name])
            return ""
        return value

    def _texts(self, name: str) -> tuple[str, ...]:
        value = self._data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self._fault((name,), f"`{name}` must be a list of texts", _KEYS[name])
            return ()
        return tuple(value)

    def _table(self, name: str) -> Mapping[str, Any]:
        value = self._data.get(name, {})
        if not isinstance(value, Mapping):
            self._fault((name,), f"`{name}` must be a table", f"[case.{name}]: {_KEYS[name]}")
            return {}
        return value

    def _whole(self, name: str, least: int, most: int, otherwise: int) -> int:
        value = self._data.get(name, otherwise)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._fault((name,), f"`{name}` must be a whole number from {least} to {most}", _KEYS[name])
            return otherwise
        return value

    def _variables(self, observables: Sequence[str]) -> dict[str, bool]:
        """All names of variables: those that controls have, and those that the case declares."""
        found = dict(known_variables())
        for number, name in enumerate(observables):
            bare, _, kind = name.partition(":")
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", bare):
                remedy = "names of the table `cc`: lasthop describe cc NAME lists them"
                self._fault(("observables", number), f"'{name}' is no name of a variable", remedy)
            if kind.strip() not in ("", "text"):
                self._fault(
                    ("observables", number), f"'{kind}' is no kind of variable", 'of a state write "NAME: text"'
                )
            found.setdefault(bare, kind.strip() == "text")
        return found

    def _let(self, variables: Mapping[str, bool]) -> dict[str, Tree]:
        found = {}
        for name, text in self._table("let").items():
            taken = name in variables or name in FUNCTIONS or name in MOMENTS or name in NUMBERS
            if taken or not _WORD.match(name):
                what = "has a meaning already" if taken else "is no name"
                self._fault(
                    ("let", name),
                    f"'{name}' {what}",
                    "letters, digits and '_', and no word of the language",
                    at_key=True,
                )
            tree = self._expression(("let", name), text)
            if tree is not None:
                found[name] = tree
        return found

    def _expression(self, key: Key, text: Any) -> Tree | None:
        if not isinstance(text, str):
            self._fault(key, "an expression is a text", 'write it in quotes, such as "max(cwnd, start, end) >= 4"')
            return None
        try:
            return parse(text)
        except ExpressionError as error:
            self._fault(key, error.message, error.help, (error.first, error.last))
            return None

    def _checks(self, name: str) -> tuple[Check, ...]:
        found = []
        for number, text in enumerate(self._texts(name)):
            tree = self._expression((name, number), text)
            if tree is not None:
                found.append(Check(f"{name}.{number + 1}", text, tree))
        return tuple(found)

    def _ambiguous(self) -> tuple[Reading, ...]:
        found = []
        entries = self._data.get("ambiguous", [])
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
            self._fault(
                ("ambiguous",), "`ambiguous` must be a list of tables", "[[case.ambiguous]] with text and readings"
            )
            return ()
        for number, entry in enumerate(entries):
            checks = []
            readings = entry.get("readings")
            if not isinstance(readings, Mapping) or len(readings) < 2:
                self._fault(("ambiguous", number), "an ambiguous point has two readings or more", _READINGS)
                continue
            for name, text in readings.items():
                tree = self._expression(("ambiguous", number, "readings", name), text)
                if tree is not None:
                    checks.append(Check(name, text, tree))
            found.append(Reading(str(entry.get("text", "")), tuple(checks)))
        return tuple(found)

    def _check(
        self,
        checker: Checker,
        let: Mapping[str, Tree],
        checks: Mapping[str, Sequence[Check]],
        ambiguous: Sequence[Reading],
        shown: Mapping[str, Tree],
    ) -> None:
        """Finds mistakes in the meaning of expressions."""
        if self.errors:  # a name whose expression cannot be read would be reported once more at each use
            return
        told: set[Key] = set()

        def tried(key: Key, tree: Tree, truth: bool) -> None:
            try:
                if truth:
                    checker.truth(tree)
                else:
                    checker.kind(tree)
            except ExpressionError as error:
                at: Key = ("let", error.name) if isinstance(error, InLetError) else key
                if at not in told:
                    told.add(at)
                    self._fault(at, error.message, error.help, (error.first, error.last))

        for name, tree in let.items():
            tried(("let", name), tree, truth=False)
        for group, entries in checks.items():
            for check in entries:
                tried((group, int(check.name.rpartition(".")[2]) - 1), check.tree, truth=True)
        for number, point in enumerate(ambiguous):
            for reading in point.readings:
                tried(("ambiguous", number, "readings", reading.name), reading.tree, truth=True)
        for name, tree in shown.items():
            tried(("shown", name), tree, truth=False)

    def _metrics(self, checker: Checker) -> tuple[CaseMetric, ...]:
        found = []
        for name, entry in self._table("metric").items():
            if not isinstance(entry, Mapping) or not set(entry) <= {"value", "unit", "better"}:
                self._fault(("metric", name), "a metric has value, unit and better", _KEYS["metric"])
                continue
            better = entry.get("better", "")
            if better not in ("", "larger", "smaller"):
                self._fault(("metric", name, "better"), f"'{better}' says not what is better", "larger or smaller")
            tree = self._expression(("metric", name, "value"), entry.get("value"))
            if tree is None or self.errors:
                continue
            try:
                if checker.kind(tree) != NUMBER:
                    self._fault(("metric", name, "value"), "a metric is a number", "such as mean(cwnd, late, end)")
            except ExpressionError as error:
                at: Key = ("let", error.name) if isinstance(error, InLetError) else ("metric", name, "value")
                self._fault(at, error.message, error.help, (error.first, error.last))
            found.append(CaseMetric(name, str(entry["value"]), tree, str(entry.get("unit", "")), str(better)))
        return tuple(found)

    def _references(self) -> tuple[str, ...]:
        names = self._texts("references")
        for number, name in enumerate(names):
            if name not in built_in():
                self._fault(("references", number), f"there is no control '{name}'", nearest(name, built_in()))
        return tuple(dict.fromkeys((*BASELINES, *names)))

    def _mutants(self, checks: set[str]) -> tuple[Mutant, ...]:
        found = []
        entries = self._data.get("mutant", [])
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
            self._fault(
                ("mutant",), "`mutant` must be a list of tables", "[[case.mutant]] with name, cc, switch and fails"
            )
            return ()
        for number, entry in enumerate(entries):
            for key in entry:
                if key not in ("name", "cc", "switch", "fails"):
                    self._fault(
                        ("mutant", number, key),
                        f"unknown key `{key}`",
                        "a mutant has name, cc, switch and fails",
                        at_key=True,
                    )
            fails = entry.get("fails", [])
            fails = [fails] if isinstance(fails, str) else fails
            if not isinstance(fails, list) or not fails:
                self._fault(("mutant", number), "a mutant names the checks that find it", 'such as fails = ["pass.2"]')
                continue
            for place, name in enumerate(fails):
                if name not in checks:
                    known = nearest(str(name), sorted(checks))
                    self._fault(("mutant", number, "fails", place), f"there is no check '{name}'", known)
            words = [str(entry.get(k, "")) for k in ("name", "cc", "switch")]
            if not words[0] or not words[1]:
                self._fault(("mutant", number), "a mutant has a name and a control", "name and cc of [[case.mutant]]")
            found.append(Mutant(words[0], words[1], words[2], tuple(map(str, fails))))
        return tuple(found)

    def _paths(self) -> tuple[CasePath, ...]:
        found = []
        table = self._table("paths")
        if not table:
            self._fault((), "the case has no path", 'such as [case.paths] p = { rate = "10 Mbit/s", rtt = "40 ms" }')
        if len(table) > _MOST_PATHS:
            self._fault(("paths",), f"{len(table)} paths are more than {_MOST_PATHS}", "split the case")
        for name, entry in table.items():
            if not _PATH_NAME.match(name):
                self._fault(
                    ("paths", name), f"'{name}' is no name of a path", "letters, digits, '-' and '_'", at_key=True
                )
            if not isinstance(entry, Mapping):
                self._fault(("paths", name), "a path is a table", '{ rate = "10 Mbit/s", rtt = "40 ms" }')
                continue
            path = self._path(name, entry)
            if path is not None:
                found.append(path)
        names: dict[str, set[str]] = {path.name: set(path.parameters) for path in found}
        every = set().union(*names.values()) if names else set()
        for name, has in names.items():
            for missing in sorted(every - has):
                self._fault(
                    ("paths", name), f"the path has no '{missing}', which others have", "every path has the same values"
                )
        return tuple(found)

    def _path(self, name: str, entry: Mapping[str, Any]) -> CasePath | None:
        values: dict[str, float] = {}
        dimensions: dict[str, tuple[int, int]] = {}
        for key, value in entry.items():
            if key in ("scenario", "quick"):
                continue
            number = self._quantity(("paths", name, key), value)
            if number is None:
                return None
            if not _WORD.match(key) or key in ("bdp", "ref", "mss", "octets", "jitter", "spread"):
                self._fault(
                    ("paths", name, key),
                    f"'{key}' cannot be given",
                    "it follows from rate and rtt",
                    at_key=True,
                )
                return None
            values[key], dimensions[key] = number
        for key, wanted, example in (("rate", (-1, 1), "10 Mbit/s"), ("rtt", (1, 0), "40 ms")):
            if dimensions.get(key) != wanted or not values[key] > 0:
                self._fault(("paths", name), f"a path has a `{key}` above 0", f'such as {key} = "{example}"')
                return None
        scenario = entry.get("scenario", {})
        if not isinstance(scenario, Mapping):
            self._fault(("paths", name, "scenario"), "`scenario` must be a table", "scenario keys of this path alone")
            return None
        quick = entry.get("quick", True)
        if not isinstance(quick, bool):
            self._fault(("paths", name, "quick"), "`quick` is true or false", "whether the quick form has this path")
            return None
        return CasePath(name, *derived(values, dimensions), scenario, quick, frozenset(values))

    def _quantity(self, key: Key, value: Any) -> tuple[float, tuple[int, int]] | None:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value), (0, 0)
        if isinstance(value, str):
            try:
                tree = parse(value)
            except ExpressionError:
                tree = None
            sign = 1.0
            if isinstance(tree, Unary) and tree.operator == "-":
                tree, sign = tree.of, -1.0
            if isinstance(tree, Number):
                return sign * tree.value, DIMENSIONS.get(tree.unit, (0, 0))
        self._fault(key, "this is no quantity", f"a number, or a text with a unit: {', '.join(UNITS)}")
        return None


def derived(
    values: Mapping[str, float], dimensions: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """The values of a path with those that follow: `bdp`, `ref`, `mss`, `buffer`."""
    found, units = dict(values), dict(dimensions)
    bdp = values["rate"] * values["rtt"] / 8 / PACKET
    given = "buffer_bdp" in values
    found.setdefault("buffer_bdp", 3.0)
    found["bdp"] = bdp
    found["ref"] = values["rate"] * (MSS - TIMESTAMPS) / PACKET
    found["mss"] = float(MSS - TIMESTAMPS)
    found.setdefault("buffer", max(1.0, math.ceil(found["buffer_bdp"] * bdp) + (0 if given else 10)))
    # One packet's time on the link, at least 0.1 ms; a start within a second or ten round trips.
    found["jitter"] = max(8 * PACKET / values["rate"], 1e-4)
    found["spread"] = max(1.0, 10 * values["rtt"])
    found["octets"] = math.ceil(4 * values["rate"] * values["rtt"] / 8) + 4_000_000
    for name in found:
        units.setdefault(name, _DERIVED.get(name, (0, 0)))
    return found, units


_DERIVED = {"ref": (-1, 1), "octets": (0, 1), "mss": (0, 1), "jitter": (1, 0), "spread": (1, 0)}
_READINGS = 'such as [[case.ambiguous]] text = "..." readings = { appendix = "...", text = "..." }'
_KEYS = {
    "id": 'a short name, such as id = "MINE-01"',
    "title": "one line: what the case is about",
    "source": "the document and its section, such as draft-ietf-ccwg-bbr@4ce5e87#exiting-drain-based-on-time",
    "about": "what the case asks for, in the judge's own words",
    "lacks": "what the simulator cannot do for this case, in words: the case is not-testable then",
    "observables": "variables of the table `cc` that the control must expose",
    "requires": "expressions that must hold for the case to say anything",
    "pass": "expressions that must hold",
    "ambiguous": "points in which the source contradicts itself",
    "shown": "values that are shown, by name",
    "chosen": "numbers that the source does not give",
    "notes": "what a reader should know",
    "known": "why a control fails, by its name: known differences",
    "let": "expressions by name",
    "paths": "paths by name: rate, rtt, buffer_bdp or buffer, and values of the case's own",
    "metric": 'numbers of a run that are compared: value, unit, and better = "larger" or "smaller"',
    "references": "controls that are shown beside the candidate, in addition to reno and cubic",
    "base": 'the scenario that is completed or overridden: "one-flow", "shared" or "none"',
    "scenario": "scenario keys; values of the path stand in braces",
    "mutant": "controls with a mistake, which the case must find",
    "seeds": "replications of each path",
    "quick_seeds": "replications of each path in the quick form",
    "needs": "scenario keys that the case uses and older versions lack, such as when or link.<name>.batch",
    "plot": "variables whose course the report shows",
}

#: The scenarios that a case completes or overrides.
BASES: dict[str, dict[str, Any]] = {
    "one-flow": {
        "link": {
            "bn": {
                "between": ["server", "client"],
                "rate": "{rate}",
                "delay": "{rtt} / 2",
                "queue": {"kind": "droptail", "packets": "{buffer}"},
            }
        },
        "flow": {
            FLOW: {
                "from": "server",
                "to": "client",
                "app": "bulk",
                "tcp": {
                    "profile": "linux-6",
                    "mss": f"{MSS} B",
                    "receive_buffer": "{octets}",
                    "send_buffer": "{octets}",
                },
            }
        },
        "output": {"cc": "change", "tcp": "off", "queues": False, "radio": False},
    },
    # Several flows: packets wait at the ends for random times of up to a packet's on the link, which breaks the phase
    # effects of drop-tail (S. Floyd, V. Jacobson, On traffic phase effects in packet-switched gateways, 1992).
    "shared": {
        "scenario": {"jitter": "{jitter}"},
        "link": {
            "bn": {
                "between": ["server", "client"],
                "rate": "{rate}",
                "delay": "{rtt} / 2",
                "queue": {"kind": "droptail", "packets": "{buffer}"},
            }
        },
        "flow": {
            FLOW: {
                "from": "server",
                "to": "client",
                "app": "bulk",
                "start_spread": "{spread}",
                "tcp": {"profile": "linux-6", "receive_buffer": "{octets}", "send_buffer": "{octets}"},
            }
        },
        "output": {"tcp": "interval", "radio": False},
    },
    "none": {},
}


def scenario_text(case: Case, path: CasePath, control: str, seed: int, sets: Mapping[str, Any] | None = None) -> str:
    """The scenario of a run as TOML.

    Raises:
        LasthopError: a value in braces has no meaning there; the message shows it in the case.
    """
    merged: dict[str, Any] = {"scenario": {"name": f"{case.id}-{path.name}"}}
    merged = _merged(merged, BASES[case.base])
    merged = _merged(merged, case.scenario)
    merged = _merged(merged, path.scenario)
    head = merged.setdefault("scenario", {})
    if "duration" in merged:  # `duration` may stand at the top, as in a case it is nearly always given
        head["duration"] = merged.pop("duration")
    head.setdefault("duration", "10 s")
    head["seed"] = seed
    flow = merged.setdefault("flow", {}).setdefault(FLOW, {})
    if isinstance(flow, dict):
        flow.setdefault("tcp", {})
        flow["tcp"].setdefault("cc", control)
    for trigger in merged.get("when", []):
        if isinstance(trigger, dict):
            trigger.setdefault("flow", FLOW)
    if sets:
        merged = _merged(merged, sets)
    return _dumped(_filled(merged, case, path, control, ("scenario",)))


def scenario_of(case: Case, path: CasePath, control: str, seed: int, cc: Mapping[str, Any]) -> Scenario:
    """The scenario of a run.

    Raises:
        LasthopError: the scenario has a mistake; where the case has the key, the message shows its place there.
    """
    text = scenario_text(case, path, control, seed)
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
        at: Key = (*case.key, "scenario")
        if key:
            parts = tuple(int(p) if p.isdigit() else p for p in key.replace('"', "").split("."))
            own: Key = (*case.key, "paths", path.name, "scenario", *parts)
            at = own if file.has(own) else (*case.key, "scenario", *parts)
            if parts[0] == "scenario" and not file.has(at):  # `duration` may stand at the top of a case's scenario
                at = (*case.key, *parts)
        found.append(file.error(at, f"scenario of path '{path.name}': {diagnostic['message']}", remedy))
    return together(found) if found else error


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables, one over the other. A queue or an application of another kind replaces the one below as a whole."""
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
    if value.strip() == "{cc}":
        return control
    text = value
    unit = _WITH_UNIT.match(text)
    if unit is not None:
        text = unit["body"]
    try:
        number, dimension = _quantity_of(parse(text), path)
    except ExpressionError as error:
        file = Places(case.text, case.file)
        at: Key = (*case.key, *key)
        own: Key = (*case.key, "paths", path.name, *key)
        at = own if file.has(own) else at
        raise file.error(at, error.message, error.help, (error.first, error.last)) from error
    return _written(number, dimension)


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


def varied(path: CasePath, vary: int, case: str) -> CasePath:
    """The path with its rate, delay and buffer times factors of 0.8 to 1.25 that are drawn from `vary`."""
    if not vary:
        return path
    values = {name: path.parameters[name] for name in path.given}
    for name in ("rate", "rtt", "buffer_bdp", "buffer"):
        if name in values:
            digest = hashlib.blake2b(f"{vary}/{case}/{path.name}/{name}".encode(), digest_size=8).digest()
            share = int.from_bytes(digest, "big") / 2**64
            values[name] *= 0.8 * (1.25 / 0.8) ** share
    units = {name: path.dimensions[name] for name in values}
    return CasePath(path.name, *derived(values, units), path.scenario, path.quick, path.given)
