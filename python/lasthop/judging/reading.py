"""Reads cases from TOML, and checks them before the first run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lasthop._core import LasthopError
from lasthop.campaign._faults import nearest
from lasthop.judging._checker import SHARES, Checker, InLetError
from lasthop.judging._dimensions import PLAIN, UNITS_OF_VARIABLES, Dimensions, agreed, of_unit, unit_in_words
from lasthop.judging._functions import FUNCTIONS, MOMENTS, NUMBER, NUMBERS, Names
from lasthop.judging._paths import CasePath, derived
from lasthop.judging._places import Key, Places, tables_of, together
from lasthop.judging._scenario import bases
from lasthop.judging._syntax import DIMENSIONS, UNITS, Call, ExpressionError, Number, Tree, Unary, left_of, parse
from lasthop.judging._variables import (
    CONGESTION,
    KINDS,
    built_in,
    declared,
    known_variables,
    states_of,
    switches_of,
    units_of,
)
from lasthop.judging.case import BASELINES, FLOW, Case, CaseMetric, Check, Mutant, Reading

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}\Z")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")
_PATH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")
_MOST_PATHS = 200
_MOST_SEEDS = 1_000


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
        judges = self._judges()
        observables = self._texts("observables")
        variables = self._variables(observables, judges)
        paths = self._paths()
        let = self._let(variables)
        checks = {name: self._checks(name) for name in ("requires", "pass")}
        ambiguous = self._ambiguous()
        shown = {
            name: tree for name, text in self._table("shown").items()
            if (tree := self._expression(("shown", name), text)) is not None
        }  # fmt: skip
        parameters = frozenset(p for path in paths for p in path.parameters)
        flows = self._flows(self._text("base") or "one-flow", paths)
        names = Names(variables, let, parameters, units_of(observables, judges), states_of(observables, judges), flows)
        checker = Checker(names)
        dimensions = Dimensions(names, checker, agreed([path.dimensions for path in paths]))
        units = self._check(checker, dimensions, let, checks, ambiguous, shown)
        plot = self._texts("plot")
        for number, name in enumerate(plot):
            if name not in variables:
                remedy = nearest(name, variables, "lasthop describe cc NAME lists the variables of a control")
                self._fault(("plot", number), f"there is no variable '{name}'", remedy)
        nothing = not checks["pass"] and not shown and not self._table("metric")
        if nothing and not self._texts("lacks") and not self.errors:
            self._fault((), "the case checks nothing", "write what must hold into `pass`, or values into [case.shown]")
        scenario = self._table("scenario")
        self._seeds(scenario, ("scenario",))
        base = self._text("base") or "one-flow"
        if base not in bases():
            self._fault(("base",), f"there is no base '{base}'", nearest(base, bases()))
        if base == "none" and not scenario:
            self._fault(("base",), 'with base = "none" the case needs its own scenario', "write [case.scenario]")
        for path in paths if base == "none" and scenario and not self._texts("lacks") else ():
            of = [table.get("flow", {}) for table in (scenario, path.scenario)]
            if not any(isinstance(flows, Mapping) and FLOW in flows for flows in of):
                remedy = f"name the flow whose control is judged so: [case.scenario.flow.{FLOW}]"
                self._fault(("scenario",), f"the judged flow is called `{FLOW}`, and there is none", remedy)
                break
        metrics, references = self._metrics(checker, dimensions, paths), self._references(judges)
        if metrics and (checks["pass"] or checks["requires"]):
            self._fault((), "a case with metrics compares, and has no checks", "write `pass` into a case of its own")
        mutants = self._mutants({c.name for group in checks.values() for c in group}, judges)
        without = self._without_mutant(checks["pass"], mutants)
        seeds = self._whole("seeds", 1, _MOST_SEEDS, 1)
        quick_seeds = self._whole("quick_seeds", 1, _MOST_SEEDS, min(seeds, 3))
        l4s = self._data.get("l4s", False)
        if not isinstance(l4s, bool):
            self._fault(("l4s",), "`l4s` is true or false", _KEYS["l4s"])
        if references[len(BASELINES[judges]) :] and not metrics:
            self._fault(
                ("references",), "a case without metrics compares nothing", "write [case.metric.NAME], or remove it"
            )
        known, excluded = self._reasons("known"), self._reasons("excluded")
        if self.errors:
            return None
        used = {*checker.used, *(v for v in plot if v in variables)}
        return Case(
            named, title, source, self._text("about"), self._texts("lacks"), self._texts("needs"), observables,
            checks["requires"], checks["pass"], ambiguous, shown, self._texts("chosen"), self._texts("notes"), known,
            let, paths, base, scenario, mutants, seeds, quick_seeds, plot, tuple(sorted(used)),
            metrics, references, l4s, judges, self._file.name, self._file.text,
            self._key, self._folder, units, excluded, without,
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
            self._fault((name,), f"`{name}` must be a list of texts", f'{_KEYS[name]}, such as {name} = ["..."]')
            return ()
        return tuple(value)

    def _table(self, name: str) -> Mapping[str, Any]:
        value = self._data.get(name, {})
        if not isinstance(value, Mapping):
            self._fault((name,), f"`{name}` must be a table", f"[case.{name}]: {_KEYS[name]}")
            return {}
        return value

    def _reasons(self, name: str) -> dict[str, str]:
        """A table of texts by the names of controls."""
        table = self._table(name)
        for control, why in table.items():
            if not isinstance(why, str) or not why.strip():
                self._fault((name, control), "a reason is a text", f"[case.{name}]: {_KEYS[name]}")
        return {control: str(why) for control, why in table.items()}

    def _whole(self, name: str, least: int, most: int, otherwise: int) -> int:
        value = self._data.get(name, otherwise)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._fault((name,), f"`{name}` must be a whole number from {least} to {most}", _KEYS[name])
            return otherwise
        return value

    def _seeds(self, scenario: Mapping[str, Any], key: Key) -> None:
        """A scenario of a case has no seed: the judge sets it for each replication."""
        head = scenario.get("scenario")
        places: list[Key] = [("seed",)] if "seed" in scenario else []
        places += [("scenario", "seed")] if isinstance(head, Mapping) and "seed" in head else []
        for at in places:
            message = "the seed follows from the case's id and the number of the replication"
            self._fault((*key, *at), message, "remove it; `seeds` of the case is the number of replications")

    def _flows(self, base: str, paths: Sequence[CasePath]) -> frozenset[str]:
        """The names of the flows of all scenarios of the case."""
        tables = [bases().get(base, {}), self._table("scenario"), *(path.scenario for path in paths)]
        of = [table["flow"] for table in tables if isinstance(table.get("flow"), Mapping)]
        return frozenset(name for flows in of for name in flows)

    def _judges(self) -> str:
        """What the case judges."""
        judges = self._text("judges") or CONGESTION
        if judges in KINDS:
            return judges
        self._fault(("judges",), f"'{judges}' is nothing that a case judges", nearest(judges, KINDS))
        return CONGESTION

    def _variables(self, observables: Sequence[str], judges: str) -> dict[str, bool]:
        """All names of variables: those that controls have, and those that the case declares."""
        for number, name in enumerate(observables):
            bare, _, kind = name.partition(":")
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", bare):
                remedy = "names of the table `cc`: lasthop describe cc NAME lists them"
                self._fault(("observables", number), f"'{name}' is no name of a variable", remedy)
            if kind.strip() not in ("", "text", *UNITS_OF_VARIABLES):
                self._fault(
                    ("observables", number),
                    f"'{kind.strip()}' is no unit of a variable",
                    f'of a state write "NAME: text", else one of {", ".join(UNITS_OF_VARIABLES)}',
                )
        return {**known_variables(judges), **declared(observables, judges)}

    def _let(self, variables: Mapping[str, bool]) -> dict[str, Tree]:
        found = {}
        for name, text in self._table("let").items():
            taken = name in variables or name in FUNCTIONS or name in MOMENTS or name in NUMBERS
            if taken or not _WORD.match(name):
                what = "has a meaning already" if taken else "is no name"
                self._fault(
                    ("let", name),
                    f"'{name}' {what}",
                    "the letters a to z, digits and '_', and no word of the language",
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
            for key in entry.keys() - {"text", "readings"}:
                remedy = nearest(key, ("text", "readings"))
                self._fault(("ambiguous", number, key), f"unknown key `{key}`", remedy, at_key=True)
            if not isinstance(entry.get("text", ""), str):
                self._fault(("ambiguous", number, "text"), "`text` must be a text", _READINGS)
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
        dimensions: Dimensions,
        let: Mapping[str, Tree],
        checks: Mapping[str, Sequence[Check]],
        ambiguous: Sequence[Reading],
        shown: Mapping[str, Tree],
    ) -> dict[str, str]:
        """Finds mistakes in the meaning of expressions; returns the units of values by name."""
        if self.errors:  # a name whose expression cannot be read would be reported once more at each use
            return {}
        units: dict[str, str] = {}
        reported: set[Key] = set()

        def tried(key: Key, tree: Tree, truth: bool, name: str = "", of: Tree | None = None) -> None:
            try:
                if truth:
                    checker.truth(tree)
                else:
                    checker.kind(tree)
                dimensions.of(tree)
                if key[0] == "pass" and not reported:  # a path may be required to have some value
                    checker.of_run(tree)
                    checker.can_fail(tree)
                if name:
                    units[name] = unit_in_words(dimensions.of(of or tree))
            except ExpressionError as error:
                at: Key = ("let", error.name) if isinstance(error, InLetError) else key
                if at not in reported:
                    reported.add(at)
                    self._fault(at, error.message, error.help, (error.first, error.last))

        for name, tree in let.items():
            tried(("let", name), tree, truth=False)
        for group, entries in checks.items():
            for check in entries:
                side = left_of(check.tree)
                named = check.name if side is not None else ""
                tried((group, int(check.name.rpartition(".")[2]) - 1), check.tree, True, named, side)
        for number, point in enumerate(ambiguous):
            for reading in point.readings:
                tried(("ambiguous", number, "readings", reading.name), reading.tree, truth=True)
        for name, tree in shown.items():
            tried(("shown", name), tree, False, name)
        return units

    def _metrics(self, checker: Checker, dimensions: Dimensions, paths: Sequence[CasePath]) -> tuple[CaseMetric, ...]:
        found = []
        for name, entry in self._table("metric").items():
            if not isinstance(entry, Mapping):
                self._fault(("metric", name), "a metric is a table", _KEYS["metric"])
                continue
            for key in entry:
                if key not in _METRIC_KEYS:
                    self._fault(("metric", name, key), f"unknown key `{key}`", nearest(key, _METRIC_KEYS), at_key=True)
            metric = self._metric(checker, dimensions, name, entry)
            if metric is not None:
                found.append(metric)
        names = {m.name: m for m in found}
        for metric in found if not self.errors else ():
            for number, pattern in enumerate(metric.paths):
                if not any(fnmatchcase(path.name, pattern) for path in paths):
                    known = nearest(pattern, [path.name for path in paths])
                    self._fault(("metric", metric.name, "paths", number), f"no path fits '{pattern}'", known)
            of = names.get(metric.harm)
            if metric.harm and (of is None or not of.better or of.harm):
                remedy = 'name a metric of this case with a value and better = "larger" or "smaller"'
                self._fault(("metric", metric.name, "harm"), f"there is no harm to '{metric.harm}'", remedy)
        return tuple(found)

    def _metric(
        self, checker: Checker, dimensions: Dimensions, name: str, entry: Mapping[str, Any]
    ) -> CaseMetric | None:
        better, harm = entry.get("better", ""), entry.get("harm", "")
        if better not in ("", "larger", "smaller"):
            self._fault(("metric", name, "better"), f"`better` is not '{better}'", "write larger or smaller")
        if not isinstance(harm, str) or (harm and "value" in entry):
            self._fault(("metric", name), "a metric has a `value` or names whose `harm` it is", _KEYS["metric"])
            return None
        flags, patterns = entry.get("flags", True), entry.get("paths", [])
        if not isinstance(flags, bool):
            self._fault(("metric", name, "flags"), "`flags` is true or false", _METRIC_KEYS["flags"])
        if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
            self._fault(("metric", name, "paths"), "`paths` is a list of texts", _METRIC_KEYS["paths"])
            return None
        bounds = [
            self._number(checker, dimensions, name, key, entry[key]) if key in entry else None
            for key in ("most", "least")
        ]
        if any(b is not None for b in bounds) and not str(entry.get("by", "")).strip():
            self._fault(("metric", name), "a bound has a document", _METRIC_KEYS["by"])
        tree = None if harm else self._number(checker, dimensions, name, "value", entry.get("value"))
        if tree is None and not harm:
            return None
        for key, bound in zip(("most", "least"), bounds, strict=True):
            if bound is None or self.errors:
                continue
            here, of = dimensions.of(bound), PLAIN if tree is None else dimensions.of(tree)  # harm is a share
            if here is not None and of is not None and not here.agrees(of):
                self._fault(("metric", name, key), f"the bound is {here}, the metric {of}", "write the bound's unit")
        unit = str(entry.get("unit", ""))
        if tree is not None and not self.errors:
            self._unit(checker, dimensions, name, tree, unit)
        return CaseMetric(
            name, str(entry.get("value", "")), tree, unit, "smaller" if harm else str(better),
            bool(flags), harm, tuple(patterns), bounds[0], bounds[1], str(entry.get("by", "")),
        )  # fmt: skip

    def _unit(self, checker: Checker, dimensions: Dimensions, name: str, tree: Tree, unit: str) -> None:
        """The value depends on the run, and is in the unit that stands behind it."""
        if not checker.reads(tree):
            what = "this does not depend on the control: no variable, event or metric of the run is in it"
            self._fault(("metric", name, "value"), what, "such as mean(cwnd, late, end)")
        of = dimensions.of(tree)
        # A value over one of its unit is a number: `x / 1 Mbit/s`. So is a share.
        share = isinstance(tree, Call) and tree.function in SHARES
        exact = of is not None and of.data is not None and not of.unit and (of != PLAIN or share)
        if unit not in UNITS or of is None or not exact:
            return
        if not of.agrees(of_unit(unit)):
            self._fault(("metric", name, "unit"), f"the value is {of}, and its unit '{unit}'", "write the value's unit")
        elif UNITS[unit] != 1:
            base = unit_in_words(of)
            remedy = f"end the value with `/ 1 {unit}`" + (f', or write unit = "{base}"' if base else "")
            self._fault(("metric", name, "unit"), f"the value is {of}, not in {unit}", remedy)

    def _number(self, checker: Checker, dimensions: Dimensions, metric: str, key: str, text: Any) -> Tree | None:
        """The expression of a key of a metric, which must come to a number.

        None: a mistake was found.
        """
        tree = self._expression(("metric", metric, key), text)
        if tree is None or self.errors:
            return None
        try:
            if checker.kind(tree) != NUMBER:
                self._fault(("metric", metric, key), "a metric is a number", "such as mean(cwnd, late, end)")
            dimensions.of(tree)
        except ExpressionError as error:
            at: Key = ("let", error.name) if isinstance(error, InLetError) else ("metric", metric, key)
            self._fault(at, error.message, error.help, (error.first, error.last))
        return tree

    def _references(self, judges: str) -> tuple[str, ...]:
        names = self._texts("references")
        for number, name in enumerate(names):
            if name not in built_in(judges):
                self._fault(("references", number), f"there is no control '{name}'", nearest(name, built_in(judges)))
        return tuple(dict.fromkeys((*BASELINES[judges], *names)))

    def _mutants(self, checks: set[str], judges: str) -> tuple[Mutant, ...]:
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
            has = switches_of(words[1], judges)
            if words[2] and words[1] in built_in(judges) and words[2] not in has:
                remedy = nearest(words[2], has) if has else "write the mistake into a class of your own"
                self._fault(("mutant", number, "switch"), f"`{words[1]}` has no switch '{words[2]}'", remedy)
            elif words[2] and words[1] not in built_in(judges):
                remedy = nearest(words[1], built_in(judges))
                if ":" in words[1]:
                    remedy = "a class has its mistake in itself; a switch is of a built-in control"
                self._fault(("mutant", number, "cc"), f"'{words[1]}' is no built-in control", remedy)
            found.append(Mutant(words[0], words[1], words[2], tuple(map(str, fails))))
        return tuple(found)

    def _without_mutant(self, checks: Sequence[Check], mutants: Sequence[Mutant]) -> dict[str, str]:
        """Checks that no mutant makes fail, with the reason."""
        found = {name: str(why) for name, why in self._table("without_mutant").items()}
        known = [check.name for check in checks]
        for name in found:
            if name not in known:
                self._fault(("without_mutant", name), f"there is no check '{name}'", nearest(name, known), at_key=True)
            named = [mutant.name for mutant in mutants if name in mutant.fails]
            if named:
                what = f"the mutant '{named[0]}' names '{name}'"
                self._fault(("without_mutant", name), what, "remove the reason", at_key=True)
        return found

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
            if key in ("scenario", "quick", "seeds"):
                if key == "scenario" and isinstance(value, Mapping):
                    self._seeds(value, ("paths", name, "scenario"))
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
            if key not in dimensions:
                self._fault(("paths", name), f"the path has no `{key}`", f'such as {key} = "{example}"')
                return None
            if dimensions[key] != wanted or not values[key] > 0:
                what = "a rate" if key == "rate" else "a time"
                self._fault(
                    ("paths", name, key),
                    f"`{key}` must be {what} above 0, with its unit",
                    f'such as {key} = "{example}"',
                )
                return None
        if not math.isfinite(values["rate"] * values["rtt"]):
            self._fault(("paths", name), "rate times rtt is no finite number", "such as 10 Mbit/s and 40 ms")
            return None
        for key in ("buffer_bdp", "buffer"):
            if key in values and (dimensions[key] != (0, 0) or values[key] < 0):
                what = "bandwidth-delay products" if key == "buffer_bdp" else "packets"
                self._fault(("paths", name, key), f"`{key}` is a number of {what} from 0 on", f"such as {key} = 3")
                return None
        scenario = entry.get("scenario", {})
        if not isinstance(scenario, Mapping):
            self._fault(("paths", name, "scenario"), "`scenario` must be a table", "scenario keys of this path alone")
            return None
        quick = entry.get("quick", True)
        if not isinstance(quick, bool):
            self._fault(("paths", name, "quick"), "`quick` is true or false", "whether the quick form has this path")
            return None
        seeds = entry.get("seeds", 0)
        if "seeds" in entry and (type(seeds) is not int or not 1 <= seeds <= _MOST_SEEDS):
            said = f"`seeds` is a whole number from 1 to {_MOST_SEEDS}"
            self._fault(("paths", name, "seeds"), said, "without it a path has the seeds of the case")
            return None
        return CasePath(name, *derived(values, dimensions), scenario, quick, frozenset(values), seeds)

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
            if isinstance(tree, Number) and math.isfinite(tree.value):
                return sign * tree.value, DIMENSIONS.get(tree.unit, (0, 0))
        self._fault(key, "this is no quantity", f"a number, or a text with a unit: {', '.join(UNITS)}")
        return None


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
    "excluded": 'controls that the case does not judge, by name, and why; "ECT(1)": those that send it',
    "let": "expressions by name",
    "paths": "paths by name: rate, rtt, buffer_bdp or buffer, and values of the case's own",
    "metric": 'numbers of a run that are compared: value, unit, better = "larger" or "smaller", or harm = "METRIC"',
    "references": "controls that are shown beside the candidate, in addition to reno and cubic (rate controls: tcp)",
    "base": 'the scenario that is completed or overridden: "one-flow", "shared", "media" or "none"',
    "scenario": "scenario keys; values of the path stand in braces",
    "mutant": "controls with a mistake, which the case must find",
    "without_mutant": "checks that no mutant makes fail, by name, and why",
    "seeds": "replications of each path",
    "quick_seeds": "replications of each path in the quick form",
    "needs": "scenario keys that the case uses and older versions lack, such as when or link.<name>.batch",
    "l4s": "true: the case is for controls that send ECT(1); for others it is not-applicable",
    "judges": 'what is judged: "congestion-control" (default) or "rate-control", that of media flows',
    "plot": "variables whose course the report shows",
}
_METRIC_KEYS = {
    "value": "an expression that comes to a number",
    "unit": "what stands behind the number",
    "better": "larger or smaller",
    "flags": "false: it is shown, and a worse candidate is not flagged",
    "harm": "a metric of the other flows: how much worse it is with the judged flow than without",
    "paths": "patterns of the paths that have this metric",
    "most": "a document's bound: a larger mean is flagged",
    "least": "a document's bound: a smaller mean is flagged",
    "by": "the document of the bound, with its section",
}
