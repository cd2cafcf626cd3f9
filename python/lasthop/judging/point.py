"""One run of a case: its checks, their values, and the data for the report."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lasthop import _core
from lasthop._results import Results
from lasthop._scenario import Scenario
from lasthop.campaign.store import Entry, run_key
from lasthop.campaign.work import COST, OTHER_BUILD, Made, RunFailedError, Stage, ended_by
from lasthop.judging._evaluation import Evaluation, Found
from lasthop.judging._failures import broken, sides_of
from lasthop.judging._limits import held_back
from lasthop.judging._paths import CasePath
from lasthop.judging._recording import Moment, Recording, Unknown, thinned
from lasthop.judging._scenario import ALONE, STACK, scenario_of, scenario_text
from lasthop.judging._syntax import bounds_of, left_of
from lasthop.judging._thresholds import thresholds
from lasthop.judging._variables import CONGESTION, declared, known_variables, unit_of
from lasthop.judging._words import number, quantity
from lasthop.judging.case import FLOW, Case, Check, Reading
from lasthop.judging.control import Control


@dataclass(frozen=True)
class Point:
    """A run to judge: a case on a path with a replication."""

    case: int
    path: CasePath
    replication: int
    #: The control of the run: the judged one, or in a comparative case a reference.
    control: str


@dataclass(frozen=True)
class Task:
    """A run to make."""

    key: str
    point: Point
    item: str


class Work:
    """Makes the runs of a judgement and judges each; its tables are discarded.

    Args:
        cases: the cases.
        control: what is judged.
        profile: of the TCP stacks.
    """

    def __init__(self, cases: list[Case], control: Control, profile: str = STACK) -> None:
        self.cases = cases
        self.control = control
        self.profile = profile

    def __call__(self, task: Task, stopped: Callable[[], bool]) -> Made:
        """Makes a run.

        Args:
            task: which.
            stopped: called about every 50 ms of the run; true ends it.

        Raises:
            RunFailedError: the run gave no result.
            KeyboardInterrupt: it was given up.
        """
        # The runs of a program take no time of this process.
        clock = time.thread_time if self.control.program is None else time.monotonic
        began = clock()
        case = self.cases[task.point.case]
        with Stage("scenario") as stage:
            seed = case.seed(task.point.replication)
            named = task.point.control
            control = self.control if named == self.control.name else Control(named, judged=case.judges)
            scenario = scenario_of(case, task.point.path, control.name, seed, control.cc, control.keys, self.profile)
            if run_key(scenario.hash, control.code) != task.key:
                raise RunFailedError(OTHER_BUILD)
            stage.now = "run"
            with self._run(case, task.point, control, scenario, stopped) as run:
                stage.now = "judgement"
                found = judged(case, task.point.path, run, scenario, control)
        spent = clock() - began
        content = json.dumps(found, sort_keys=True, ensure_ascii=False).encode()
        return Made((Entry(COST, COST, spent), Entry(task.item, "judged", content=content)), spent)

    @contextmanager
    def _run(
        self, case: Case, point: Point, control: Control, scenario: Scenario, stopped: Callable[[], bool]
    ) -> Iterator[Results]:
        """The results of a run, for as long as the block lasts."""
        if control.program is None:
            yield Results(_core.run(scenario.core, None, ended_by(stopped)))
            return
        seed = case.seed(point.replication)
        text = scenario_text(case, point.path, control.name, seed, keys=control.keys, profile=self.profile)
        with control.program.run(text, case.folder, stopped) as run:
            yield run


def item_of(case: Case, path: CasePath) -> str:
    """The item under which the store has a judgement.

    It depends on the case, the path and the sources of the package `judging`.
    """
    said = json.dumps([case.digest, path.name, sorted(path.parameters.items())])
    return f"judged {hashlib.blake2b((said + _sources()).encode(), digest_size=16).hexdigest()}"


@lru_cache(maxsize=1)
def _sources() -> str:
    """Digest of the code that judges a run, and of the metrics that it uses.

    How it is shown does not count.
    """
    from lasthop.campaign import metrics

    hasher = hashlib.blake2b(digest_size=16)
    hasher.update(np.__version__.encode())
    here = Path(__file__).parent
    names = (
        "_by_flow", "_dimensions", "_evaluation", "_failures", "_limits", "_paths", "_recording", "_scenario",
        "_shares", "_syntax", "_thresholds", "_words", "case", "point", "reading",
    )  # fmt: skip
    files = [here / f"{name}.py" for name in names]
    for path in (*files, *sorted(Path(metrics.__file__).parent.glob("*.py"))):
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def judged(case: Case, path: CasePath, run: Results, scenario: Scenario, control: Control) -> dict[str, Any]:
    """The judgement of a run, as plain data.

    Keys: `verdict`, `why`, `checks`, `values`, `readings` (of ambiguous points), `series` (for
        figures), `states`. For a comparative case: `values`, `limits`, `unknown` and
        `unknown_limits` (why a metric or a limit has no value), and `held_back`.
    """
    flow, duration_s = FLOW, scenario.duration
    recording = Recording(run, flow, duration_s)
    of_control = control.variables() if control.name != ALONE else {}
    variables = {**known_variables(case.judges), **declared(case.observables, case.judges), **of_control}
    evaluation = Evaluation(recording, case.names(variables), path.parameters, case.rounds)
    alone = control.name == ALONE or case.judges != CONGESTION
    limited = None if alone else held_back(scenario, run, recording, path.parameters["mss"])
    if case.metrics:
        wanted = [metric for metric in case.metrics if metric.on(path.name)]
        found = {m.name: evaluation.of(m.tree) for m in wanted if m.tree is not None}
        sides = [(m.name, side, getattr(m, side)) for m in wanted for side in ("most", "least")]
        bounds = {(name, side): evaluation.of(tree) for name, side, tree in sides if tree is not None}
        # An infinite bound is none.
        bounds = {at: value for at, value in bounds.items() if not _infinite(value)}
        limits: dict[str, dict[str, float | None]] = {}
        for (name, side), value in bounds.items():
            limits.setdefault(name, {})[side] = _plain(value)
        return {
            "verdict": "shown", "why": "", "values": {name: _plain(value) for name, value in found.items()},
            "unknown": {name: _why(value) for name, value in found.items() if _plain(value) is None},
            "limits": limits,
            "unknown_limits": {name: _why(value) for (name, _), value in bounds.items() if _plain(value) is None},
            "held_back": limited,
        }  # fmt: skip
    requires = [_checked(evaluation, check) for check in case.requires]
    passes = [_checked(evaluation, check) for check in case.passes]
    courses: list[dict[str, Any]] = []
    for check, outcome in zip(case.passes, passes, strict=True):
        if outcome["holds"] is False and (broke := broken(evaluation, recording, check.tree)) is not None:
            outcome["first"] = {"time_s": round(broke["time_s"], 9), "values": broke["values"]}
            courses += [{"check": check.name, "of": broke["sides"]}] if broke["sides"] else []
    failing = [c for c, outcome in zip(case.passes, passes, strict=True) if outcome["holds"] is False]
    for check in case.passes if not failing else ():
        if not courses and (of := sides_of(evaluation, recording, check.tree)):
            courses = [{"check": check.name, "of": of}]
    readings = [_read(evaluation, point) for point in case.ambiguous]
    verdict, why = _verdict(requires, passes, readings, limited, case.units)
    values = {name: _number(evaluation.of(tree)) for name, tree in case.shown.items()}
    if verdict in ("pass", "shown"):
        known = {name: value for name, value in values.items() if value is not None}
        why = ", ".join(f"{name} {quantity(value, case.units.get(name, ''))}" for name, value in known.items())
        shown = {name: evaluation.of(tree) for name, tree in case.shown.items()}
        missing = [f"{name} is not known: {x.why}" for name, x in shown.items() if isinstance(x, Unknown)]
        if not why and passes:
            why = "1 check holds" if len(passes) == 1 else f"{len(passes)} checks hold"
        elif not why:
            why = "; ".join(missing)
    return {
        "verdict": verdict,
        "why": why,
        "checks": [*requires, *passes],
        "values": values,
        "readings": readings,
        "moments": _moments(case, evaluation),
        "sides": courses,
        "thresholds": thresholds(evaluation, failing or case.passes, _plotted(case, variables)),
        "series": {
            name: thinned(recording.steps(name), recording.times, duration_s) for name in _plotted(case, variables)
        },
        "states": {name: _states(recording, name) for name in case.plot if variables.get(name)},
    }


def _plotted(case: Case, variables: Mapping[str, bool]) -> list[str]:
    return [name for name in case.plot if not variables.get(name)]


def _states(recording: Recording, name: str, most: int = 300) -> list[list[Any]]:
    rows, texts = recording.texts(name)
    found = [[round(recording.event(int(row)).time_s, 9), text] for row, text in zip(rows, texts, strict=True)]
    return found[:most]


def _moments(case: Case, evaluation: Evaluation) -> dict[str, float]:
    found = {}
    for name, tree in case.let.items():
        value = evaluation.of(tree)
        if isinstance(value, Moment):
            found[name] = round(value.time_s, 9)
    return found


def _checked(evaluation: Evaluation, check: Check) -> dict[str, Any]:
    value = evaluation.of(check.tree)
    found: dict[str, Any] = {"name": check.name, "expr": check.text}
    side = left_of(check.tree)
    if side is not None:
        left = _number(evaluation.of(side))
        if left is not None:
            found["left"] = left
    if isinstance(value, Unknown):
        return {**found, "holds": None, "why": value.why}
    bounds = [_number(evaluation.of(bound)) for bound in bounds_of(check.tree)] if "left" in found else []
    if bounds and None not in bounds:
        found["right"] = bounds
    return {**found, "holds": bool(value)}


def _read(evaluation: Evaluation, point: Reading) -> dict[str, Any]:
    """The readings of a point, and of those that are not known why."""
    found = {check.name: _checked(evaluation, check) for check in point.readings}
    unknown = {name: f"{of['expr']} is not known: {of['why']}" for name, of in found.items() if of["holds"] is None}
    return {
        "text": point.text,
        "readings": {name: of["holds"] for name, of in found.items()},
        **({"unknown": unknown} if unknown else {}),
    }


def _plain(value: Found) -> float | None:
    """A finite number, or nothing."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _infinite(value: Found) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _why(value: Found) -> str:
    """Why there is no finite number."""
    return value.why if isinstance(value, Unknown) else "its value is not finite"


def _number(value: Found) -> float | str | None:
    """A value as JSON has it, to nine digits."""
    if isinstance(value, Moment):
        return round(value.time_s, 9)
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    if isinstance(value, (int, float, np.floating)):
        x = float(value)
        return ("inf" if x > 0 else "-inf") if math.isinf(x) else float(f"{x:.9g}")
    return None


def _verdict(
    requires: list[dict[str, Any]],
    passes: list[dict[str, Any]],
    readings: list[dict[str, Any]],
    limited: str | None,
    units: Mapping[str, str],
) -> tuple[str, str]:
    for check in requires:
        if not check["holds"]:
            return "inconclusive", f"{check['name']} is not met: {_said(check, units)}"
    if limited is not None:
        return "inconclusive", limited
    failed = [check for check in passes if check["holds"] is False]
    if failed:
        return "fail", "; ".join(f"{check['name']}: {_said(check, units)}" for check in failed)
    unknown = [check for check in passes if check["holds"] is None]
    if unknown:
        return "inconclusive", "; ".join(f"{check['name']}: {_said(check, units)}" for check in unknown)
    for point in readings:
        if set(point["readings"].values()) == {False}:
            return "fail", f"{point['text']} (no reading of the source holds)"
    for point in readings:
        if "unknown" in point:
            words = "; ".join(f"{name}: {why}" for name, why in point["unknown"].items())
            return "inconclusive", f"{point['text']} ({words})"
    for point in readings:
        if len(set(point["readings"].values())) > 1:
            words = ", ".join(f"{name}: {_holds(holds)}" for name, holds in point["readings"].items())
            return "ambiguous", f"{point['text']} ({words})"
    if not passes:
        return "shown", ""
    return "pass", ""


def _holds(holds: bool | None) -> str:
    return {True: "holds", False: "does not hold", None: "not known"}[holds]


def _said(check: Mapping[str, Any], units: Mapping[str, str]) -> str:
    if check["holds"] is None:
        return f"{check['expr']} is not known: {check['why']}"
    left, unit = check.get("left"), units.get(check["name"], "")
    right = " and ".join(quantity(bound, unit) for bound in check.get("right", []))
    value = "" if left is None else f" (left side {quantity(left, unit)}{f', right side {right}' if right else ''})"
    if check["holds"]:
        return f"{check['expr']}{value}"
    return f"{check['expr']} does not hold{value}{_first(check)}"


def _first(check: Mapping[str, Any]) -> str:
    """When a condition broke first and what it compared then."""
    if "first" not in check:
        return ""
    found = [f"{text} is {quantity(value, unit_of(text))}" for text, value in check["first"]["values"].items()]
    return f", first at {number(check['first']['time_s'])} s" + (f": {', '.join(found)}" if found else "")
