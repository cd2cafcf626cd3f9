"""From a control and suites to verdicts.

Runs are taken from the store, or an executor of campaigns makes them.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lasthop import _core
from lasthop._core import LasthopError
from lasthop._errors import mistake
from lasthop._files import write_all_whole
from lasthop.campaign.conduct import Estimate, Event, Progress, estimate
from lasthop.campaign.executors import Executor, Failure, executor
from lasthop.campaign.store import Store, run_key
from lasthop.judging._known import check_known
from lasthop.judging._paths import CasePath, varied
from lasthop.judging._scenario import ALONE, STACK, scenario_of
from lasthop.judging._variables import CONGESTION, RATE, known_variables, profiles, scenario_keys, variables_of
from lasthop.judging._words import number
from lasthop.judging.call import Call
from lasthop.judging.case import Case
from lasthop.judging.contest import (
    LEAST_FURTHER,
    RULE,
    Limits,
    Samples,
    Whys,
    compared,
    comparisons,
    confirmed,
    doubted,
    flags,
    summary,
    unknown,
    values_of,
)
from lasthop.judging.control import Control, control_of, mutated
from lasthop.judging.point import Point, Task, Work, item_of
from lasthop.judging.suite import Suite, bundled, chosen, load_suite

#: The version of `judge.json`.
FORMAT = 1
#: Verdicts, the one that decides a row first.
VERDICTS = (
    "error", "fail", "flag", "inconclusive", "ambiguous", "pass", "shown", "not-applicable", "not-testable",
)  # fmt: skip
#: The columns of the values of a comparative row.
VALUES = {
    "control": pa.string(), "replication": pa.int64(), "seed": pa.int64(), "further": pa.bool_(),
    "metric": pa.string(), "value": pa.float64(),
}  # fmt: skip
_MOST_VARY = 2**31
#: A path is run no more often.
MOST_SEEDS = 1_000
#: A reference that is no baseline stands beside the others and decides nothing: it is run no more
#: often than this, which gives a mean with its interval.
REFERENCE_SEEDS = 3
#: What is judged, in words.
_WHAT = {CONGESTION: "a congestion control of TCP", RATE: "a rate control of media flows"}


Runs = Sequence[tuple[Task, str, float]]
"""Runs of a case: task, hash of the scenario, simulated time [s]."""


@dataclass
class _Made:
    """What the runs of a judgement gave, by key and item: judgements, reasons of failures."""

    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    #: Processor time of each run that was made [s].
    costs: dict[str, float] = field(default_factory=dict)
    #: Runs that the store had, and runs that it had not.
    taken: int = 0
    wanted: int = 0


@dataclass(frozen=True)
class Row:
    """The verdict of a case, as `judge.json` has it."""

    suite: str
    id: str
    title: str
    source: str
    verdict: str
    why: str
    points: tuple[dict[str, Any], ...]
    chosen: tuple[str, ...]
    notes: tuple[str, ...]
    case: Case
    #: What is not written into `judge.json`: courses for figures, by path and replication.
    shown: tuple[dict[str, Any], ...] = ()

    def to_json_dict(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "id": self.id, "suite": self.suite, "title": self.title, "source": self.source, "verdict": self.verdict,
            "why": self.why, "points": list(self.points), "chosen": list(self.chosen), "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True)
class Verdicts:
    """The result of a judgement.

    Attributes:
        control: what was judged.
        suites: the suites.
        rows: a row for each case, in the order of the suites.
        call: the arguments of the judgement; not part of `judge.json`.
    """

    control: Control
    suites: tuple[Suite, ...]
    rows: tuple[Row, ...]
    call: Call
    quick: bool = False
    vary: int = 0
    #: Replications that were asked for; 0: those of the cases.
    seeds: int = 0
    #: The profile of the TCP stacks.
    profile: str = STACK
    #: Runs that were made and runs that were found in the store; not part of the verdicts.
    made: int = 0
    taken: int = 0
    seconds: float = 0.0
    #: Processor time of each run that was made [s].
    costs: Mapping[str, float] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        found = {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in VERDICTS}
        return {verdict: n for verdict, n in found.items() if n}

    def table(self) -> pa.Table:
        """A row for each case: suite, id, verdict, why."""
        keys = ("suite", "id", "title", "verdict", "why")
        return pa.table({key: [getattr(row, key) for row in self.rows] for key in keys})

    def to_json_dict(self) -> dict[str, Any]:
        """The content of `judge.json`.

        It depends only on control, cases and version, and not on how the runs were made.
        """
        return {
            "version": FORMAT,
            "lasthop": _core.__version__,
            "cc": {
                "name": self.control.name,
                "kind": self.control.kind,
                **({"of": self.control.judged} if self.control.judged != CONGESTION else {}),
                "hash": self.control.hash,
                **({"mutant": self.control.switch} if self.control.switch else {}),
            },
            "form": "quick" if self.quick else "full",
            "vary": self.vary,
            **({"seeds": self.seeds} if self.seeds else {}),
            "profile": self.profile,
            "suites": [{"name": s.name, "source": s.source} for s in self.suites],
            "rows": [row.to_json_dict() for row in self.rows],
            "counts": self.counts,
            "comparisons": sum(comparisons([p["path"] for p in row.points], row.case) for row in self.rows),
        }

    def save(self, folder: str | PathLike[str]) -> Path:
        """Writes `judge.json`, `report.html`, `timing.json` and the evidence of each point.

        Returns:
            The folder.
        """
        from lasthop.judging.report import report_html

        target = Path(folder)
        contents: dict[str, bytes] = {
            "judge.json": (json.dumps(self.to_json_dict(), indent=1, ensure_ascii=False) + "\n").encode(),
            "timing.json": (json.dumps(self._timing(), indent=1) + "\n").encode(),
            "report.html": report_html(self).encode(),
        }
        for row in self.rows:
            for point, shown in zip(row.points, row.shown, strict=True):
                for name in point["evidence"]:
                    contents[name] = _evidence(shown)
        (target / "data").mkdir(parents=True, exist_ok=True)
        write_all_whole({target / name: content for name, content in contents.items()})
        return target

    def _timing(self) -> dict[str, Any]:
        return {"seconds": round(self.seconds, 3), "made": self.made, "found": self.taken, "runs": dict(self.costs)}


def _evidence(shown: Mapping[str, Any]) -> bytes:
    """The courses of a point as a Parquet file: the same data give the same octets.

    Of a comparative row the values of all runs.
    """
    if "values" in shown:
        return _parquet(shown["values"], VALUES)
    rows = [(v, t, x, None) for v, points in sorted(shown["series"].items()) for t, x in points]
    rows += [(v, t, None, s) for v, points in sorted(shown["states"].items()) for t, s in points]
    kinds = {"variable": pa.string(), "time_s": pa.float64(), "value": pa.float64(), "text": pa.string()}
    return _parquet(rows, kinds)


def _parquet(rows: Sequence[tuple[Any, ...]], kinds: Mapping[str, pa.DataType]) -> bytes:
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    table = pa.table({n: pa.array(c, kind) for (n, kind), c in zip(kinds.items(), columns, strict=True)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def judge(
    cc: str,
    suites: Sequence[str | PathLike[str]] | str | None = None,
    *,
    cases: Sequence[str] = (),
    own: Mapping[str, Any] | None = None,
    quick: bool = False,
    vary: int = 0,
    seeds: int = 0,
    jobs: int = 0,
    store: Store | str | PathLike[str] | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    mutant: str = "",
    profile: str = "",
) -> Verdicts:
    """Judges a congestion control by the cases of some suites.

        verdicts = lasthop.judge("bbr3", "bbr", quick=True)
        verdicts.save("results/bbr3")

    Args:
        cc: a built-in congestion control or rate control, a name in `own`, or `FILE.py:CLASS`.
        suites: names of bundled suites, files or folders of cases; None: the bundled suites that
            fit the control.
        cases: patterns of ids with `*` and `?`; only cases that match one of them are judged.
            Without patterns: all cases.
        own: congestion controls of your own by name: classes, or texts `FILE.py:CLASS`.
        quick: fewer paths and replications, as each case says.
        vary: a seed from 1 on, from which factors of 0.8 to 1.25 are drawn for rate, delay and
            buffer of each path.
        seeds: number of replications of each path of a case with several replications, from 2 on,
            in the quick form too; 0: as the case says. The replications of the case are the first
            of them. A path that the case runs once has no noise, and is run once.
        jobs: runs at a time; 0: one per core.
        store: where finished runs are kept; None: the store of campaigns.
        fresh: every run is made anew.
        progress: gets the progress after each run.
        mutant: a deliberate mistake of a built-in control (`lasthop describe cc NAME`), with which
            the control is judged.
        profile: a profile of the TCP stacks (`lasthop describe profile`) that replaces `linux-6`,
            which the bundled cases set for every flow; empty: `linux-6`.

    Raises:
        LasthopError: there is no such control, mutant, profile or suite, or a case has a mistake;
            in these cases nothing has been run.
        TypeError: a class in `own` is not a control.
    """
    judgement = Judgement(
        cc, suites, cases=cases, own=own, quick=quick, vary=vary, seeds=seeds, jobs=jobs, store=store, fresh=fresh,
        switch=mutant, beside=True, profile=profile,
    )  # fmt: skip
    return judgement.run(progress)


class Judgement:
    """What is to be run for a judgement, checked; see `judge`."""

    def __init__(
        self,
        cc: str,
        suites: Sequence[str | PathLike[str] | Suite] | str | None = None,
        *,
        cases: Sequence[str] = (),
        own: Mapping[str, Any] | None = None,
        quick: bool = False,
        vary: int = 0,
        seeds: int = 0,
        jobs: int = 0,
        store: Store | str | PathLike[str] | None = None,
        fresh: bool = False,
        folder: Path | None = None,
        switch: str = "",
        beside: bool = False,
        profile: str = "",
    ) -> None:
        if not 0 <= vary < _MOST_VARY:
            raise mistake(f"vary = {vary} is out of range", f"give a number from 0 to {_MOST_VARY - 1}")
        if seeds and not 2 <= seeds <= MOST_SEEDS:
            raise mistake(f"seeds = {seeds} is out of range", f"give a number from 2 to {MOST_SEEDS:,}")
        if profile and profile not in profiles():
            raise mistake(f"there is no profile '{profile}'", f"there are: {', '.join(profiles())}")
        self.quick, self.vary, self.seeds, self._fresh = quick, vary, seeds, fresh
        self.profile = profile or STACK
        self.control = control_of(cc, own, folder, _judged(suites))
        if switch:
            self.control = mutated(self.control, switch)
        named = [suites] if isinstance(suites, (str, PathLike)) else suites
        wanted = [*(named or default_suites(self.control))]
        given = [s for place, s in enumerate(wanted) if s not in wanted[:place]]
        every = [s if isinstance(s, Suite) else load_suite(str(s)) for s in given]
        words = {s.name: s.name if isinstance(g, Suite) else str(g) for s, g in zip(every, given, strict=True)}
        made = (own or {}).get(cc)
        self._call = Call(
            cc, words, made if isinstance(made, str) else "", getattr(made, "__name__", ""), quick, vary, switch, seeds,
            profile,
        )  # fmt: skip
        self.suites = [chosen(suite, cases) for suite in every]
        self.cases = [(suite, case) for suite in self.suites for case in suite.cases]
        if not self.cases:
            raise mistake(
                f"no case fits {' or '.join(repr(c) for c in cases)}",
                f"there are: {', '.join(c.id for s in every for c in s.cases)}",
            )
        _check_ids(self.suites)
        #: The control without its mistake, for the figures of cases with checks.
        self._right: Judgement | None = None
        checked = [replace(s, cases=tuple(c for c in s.cases if not c.metrics)) for s in self.suites]
        if switch and beside and any(suite.cases for suite in checked):
            self._right = Judgement(
                cc, checked, own=own, quick=quick, vary=vary, seeds=seeds, jobs=jobs, store=store, fresh=fresh,
                folder=folder, profile=profile,
            )  # fmt: skip
        self._store = store if isinstance(store, Store) else Store(store)
        self.makes: Executor = executor(None, jobs, self.control.make is not None and jobs != 1)
        self._store.workers = self.makes.workers
        self._plan = [self._points(place, case) for place, (_, case) in enumerate(self.cases)]

    @property
    def kept_in(self) -> Path:
        """The folder of the store."""
        return self._store.path

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(len(points) for points in self._plan)

    def refused(self, case: Case) -> tuple[str, str] | None:
        """Why a case is not run: verdict and reason; None: it is run."""
        if self.control.judged != case.judges:
            return (
                "not-applicable",
                f"{self.control.name} is {_WHAT[self.control.judged]}, the case judges {_WHAT[case.judges]}",
            )
        has = self.control.variables() if not case.own else variables_of(case.own, case.judges)
        missing = [name for name in case.variables if name not in has]
        if missing:
            names = ", ".join(_meant(name, case, has) for name in missing)
            return "not-applicable", f"{self.control.name} does not expose {names}"
        for group in (self.control.name, *(["ECT(1)"] if self.control.l4s else [])):
            if group in case.excluded:
                return "not-applicable", f"{self.control.name} is excluded: {case.excluded[group]}"
        if case.l4s and not self.control.l4s:
            return "not-applicable", f"{self.control.name} does not send ECT(1)"
        if case.lacks:
            return "not-testable", f"the simulator lacks: {'; '.join(case.lacks)}"
        unknown = [key for key in case.needs if key not in scenario_keys()]
        if unknown:
            return "not-testable", f"this version has no scenario key {', '.join(f'`{key}`' for key in unknown)}"
        return None

    def _points(self, number: int, case: Case, further: Container[str] | None = None) -> Runs:
        """The runs of a case.

        Args:
            number: the place of the case among all.
            case: the case.
            further: names of paths whose flags are to be confirmed: runs with further seeds on
                these paths of what the flags compare; None: the case's own runs.
        """
        if self.refused(case) is not None:
            return []
        found = []
        decide = (self.control.name, *case.baselines, ALONE)
        for original in case.paths:
            if self.quick and not original.quick:
                continue
            path: CasePath = varied(original, self.vary, case.id)
            first = case.replications(original, self.quick, self.seeds)
            replications, controls = range(first), self._controls(case)
            if further is not None:
                if path.name not in further:
                    continue
                replications = range(first, first + max(first, LEAST_FURTHER))
                controls = [control for control in controls if control.name in decide]
            for replication in replications:
                for control in controls:
                    if replication >= REFERENCE_SEEDS and control.name not in decide:
                        continue
                    seed = case.seed(replication)
                    scenario = scenario_of(case, path, control.name, seed, control.cc, control.keys, self.profile)
                    if not replication and control is controls[0] and not self.vary:
                        check_known(case, path, scenario)
                    key = run_key(scenario.hash, control.code)
                    task = Task(key, Point(number, path, replication, control.name), item_of(case, path))
                    found.append((task, scenario.hash, scenario.duration))
        return found

    def _controls(self, case: Case) -> list[Control]:
        """The controls that a case is run with.

        The judged one, and in a comparative case its references.
        """
        if not case.metrics:
            return [self.control]
        others = [Control(name, judged=case.judges) for name in case.references if name != self.control.name]
        return [self.control, *others, *([Control(ALONE)] if case.harms else [])]

    def _work(self) -> Work:
        return Work([case for _, case in self.cases], self.control, self.profile)

    def _kept(self, task: Task) -> dict[str, Any] | None:
        """The judgement of a run that the store has."""
        if self._fresh or task.item not in self._store.get(task.key, [task.item]):
            return None
        try:
            found: dict[str, Any] = json.loads(self._store.content(task.key, task.item))
        except (LasthopError, ValueError):  # the file is damaged or gone: the run is made again
            return None
        return found

    def estimate(self) -> Estimate:
        """Estimates the cost from some runs that are made to measure. Nothing is written."""
        missing = [task for points in self._plan for task, _, _ in points if self._kept(task) is None]
        return estimate(self.makes, self._work(), missing, (self.runs, self.runs))

    def costs(self) -> list[tuple[str, int, float, float]]:
        """For each case: id, runs, simulated time [s], and the largest number of segments.

        This is the number that its paths can carry in the simulated time.
        """
        found = []
        for (_, case), points in zip(self.cases, self._plan, strict=True):
            simulated = sum(duration for _, _, duration in points)
            segments = sum(d * t.point.path.parameters["rate"] / 12_000 for t, _, d in points)
            found.append((case.id, len(points), simulated, segments))
        return found

    def most_further(self) -> int:
        """The largest number of runs with further seeds: those needed if each path is flagged.

        A control is not worse than itself, so one of the baselines has none.
        """
        found = 0
        for _, case in self.cases:
            if not case.metrics or self.refused(case) is not None or self.control.name in case.baselines:
                continue
            controls = 1 + len(case.baselines) + case.harms
            for path in case.paths if not self.quick else [path for path in case.paths if path.quick]:
                first = case.replications(path, self.quick, self.seeds)
                if first > 1 and any(metric.contested and metric.on(path.name) for metric in case.metrics):
                    found += controls * max(first, LEAST_FURTHER)
        return found

    def run(self, progress: Progress | None = None) -> Verdicts:
        """Makes the missing runs, and judges.

        Where a comparison flags a row, runs with further seeds decide whether the flag is
        confirmed.
        """
        began = time.monotonic()
        made = _Made()

        def report() -> None:
            if progress is not None:
                runs = len(made.known) - made.taken
                progress(
                    Event.of(made.taken + made.wanted, made.taken, runs, len(made.failed), time.monotonic() - began)
                )

        self._make(self._plan, made, report)
        further = [
            self._further(number, case, points, made)
            for number, ((_, case), points) in enumerate(zip(self.cases, self._plan, strict=True))
        ]
        if any(further):
            self._make(further, made, report)
        rows = [
            self._row(suite, case, points, more, made)
            for (suite, case), points, more in zip(self.cases, self._plan, further, strict=True)
        ]
        if self._right is not None:
            right = {(row.suite, row.id): row for row in self._right.run(progress).rows}
            rows = [_beside(row, right.get((row.suite, row.id))) for row in rows]
        return Verdicts(
            self.control, tuple(self.suites), tuple(rows), self._call, self.quick, self.vary, self.seeds, self.profile,
            len(made.known) - made.taken, made.taken, time.monotonic() - began, dict(sorted(made.costs.items())),
        )  # fmt: skip

    def _make(self, plan: Sequence[Runs], made: _Made, report: Callable[[], None]) -> None:
        """Takes the runs of each case from the store, or makes them."""
        tasks: dict[str, Task] = {}
        for points in plan:
            for task, _, _ in points:
                at = task.key + task.item
                if at in made.known or at in made.failed or at in tasks:
                    continue
                kept = self._kept(task)
                if kept is not None:
                    made.known[at] = kept
                    made.taken += 1
                else:
                    tasks[at] = task
        made.wanted += len(tasks)
        report()
        # Long runs first: at the end of the judgement no core waits for the last of them.
        lengths = {t.key + t.item: d * t.point.path.parameters["rate"] for p in plan for t, _, d in p}
        ordered = sorted(tasks.items(), key=lambda item: (-lengths[item[0]], item[0]))
        try:
            with closing(self.makes.run(self._work(), iter([task for _, task in ordered]))) as outcomes:
                for task, outcome in outcomes:
                    at = task.key + task.item
                    if isinstance(outcome, Failure):
                        made.failed[at] = outcome.reason
                    else:
                        self._store.put(task.key, outcome.entries, outcome.cost_s)
                        (content,) = (e.content for e in outcome.entries if e.item == task.item)
                        made.known[at] = json.loads(content or b"{}")
                        point = task.point
                        case_id = self.cases[point.case][1].id
                        name = f"{case_id} {point.path.name} {point.replication + 1} {point.control}"
                        made.costs[name] = round(outcome.cost_s, 3)
                    report()
        finally:  # what is done stays done, whatever stopped the rest
            self._store.flush()

    def _further(self, number: int, case: Case, points: Runs, made: _Made) -> Runs:
        """The runs that confirm the flags of a comparative case, or not; of other cases none."""
        if not case.metrics or self.refused(case) is not None or any(t.key + t.item in made.failed for t, *_ in points):
            return []
        held = self._held_back(case, points, made)
        raised = flags(_samples(case, points, made), self.control.name, case)
        found = {f["path"] for f in raised if doubted(f)} - held.keys()
        return self._points(number, case, found) if found else []

    def _row(
        self,
        suite: Suite,
        case: Case,
        points: Runs,
        further: Runs,
        made: _Made,
    ) -> Row:
        refused = self.refused(case)
        if case.metrics and refused is None:
            return self._compared(suite, case, points, further, made)
        judged, courses = [], []
        for task, scenario, _ in points:
            at = task.key + task.item
            path, replication = task.point.path, task.point.replication
            found = made.known.get(at) or {"verdict": "error", "why": f"the run failed: {made.failed[at]}"}
            stem = f"{case.id}-{path.name}" + (f"-{replication + 1}" if case.seeds > 1 else "")
            judged.append(
                {
                    "path": path.name,
                    "seed": case.seed(replication),
                    "scenario": scenario,
                    "verdict": found["verdict"],
                    "why": found["why"],
                    "values": found.get("values", {}),
                    "checks": found.get("checks", []),
                    "readings": found.get("readings", []),
                    "evidence": [f"data/{stem}.parquet"] if found.get("series") or found.get("states") else [],
                }
            )
            courses.append({k: found.get(k, {}) for k in ("series", "states", "moments", "sides", "thresholds")})
        verdict, why = refused if refused is not None else _decided(judged)
        notes = list(case.notes)
        known_reason = case.reason(self.control.name)
        if verdict in ("fail", "flag") and known_reason is not None:
            notes.append(f"Known: {known_reason}")
        return Row(
            suite.name, case.id, case.title, case.source, verdict, why, tuple(judged), case.chosen, tuple(notes), case,
            tuple(courses),
        )  # fmt: skip

    def _compared(self, suite: Suite, case: Case, points: Runs, further: Runs, made: _Made) -> Row:
        """The row of a comparative case, and what is flagged.

        Means and intervals beside those of the references.
        """
        hashes: dict[str, str] = {}
        for task, scenario, _ in points:
            if task.point.control == self.control.name:
                hashes.setdefault(task.point.path.name, scenario)
        errors = [
            f"{task.point.path.name}, {task.point.control}: the run failed: {made.failed[task.key + task.item]}"
            for task, _, _ in (*points, *further)
            if task.key + task.item in made.failed
        ]
        known_values = _samples(case, points, made)
        limits = self._limits(points, made)
        held = self._held_back(case, (*points, *further), made)
        found = flags(known_values, self.control.name, case, limits)
        found = [f for f in found if "bound" in f or f["path"] not in held]
        more_values = dict(_samples(case, further, made))
        fallen: list[dict[str, Any]] = []
        if further:
            found, fallen = confirmed(found, [*more_values.items()], self.control.name, case)
        whys = _whys(case, points, made)
        missing: list[dict[str, str]] = [
            *unknown(known_values, self.control.name, case, limits, whys),
            *({"path": path, "why": why} for path, why in held.items()),
        ]
        shown = [*found, *missing]
        judged = [
            {
                "path": path,
                "scenario": hashes[path],
                "verdict": next(
                    (v for v, of in (("flag", found), ("inconclusive", missing)) if any(f["path"] == path for f in of)),
                    "shown",
                ),
                "why": "; ".join(f["why"] for f in shown if f["path"] == path),
                "compare": summary(runs, case, path),
                **({"further": summary(more_values[path], case, path)} if path in more_values else {}),
                **({"bounds": {m: {**sides} for m, sides in limits[path].items()}} if limits.get(path) else {}),
                "flags": [f for f in found if f["path"] == path],
                **({"fallen": of} if (of := [f for f in fallen if f["path"] == path]) else {}),
                "evidence": [f"data/{case.id}-{path}.parquet"] if runs else [],
            }
            for path, runs in known_values
        ]
        verdict = "error" if errors else "flag" if found else "inconclusive" if missing else "shown"
        why = errors[0] if errors else "; ".join(f["why"] for f in (found or missing)[:3])
        more = len(found) - 3
        notes = [*case.notes, *([f"{more} more are flagged"] if more > 0 else [])]
        notes += [
            f"Not confirmed by runs with further seeds (p = {number(f['again'])}), so no flag: {f['why']}"
            for f in fallen
        ]
        exact = [*dict.fromkeys(f["path"] for f in found if f.get("exact"))]
        if exact:
            notes.append(f"No noise on {', '.join(exact)}: all replications are equal, so the difference is exact")
        once = [path for path, runs in known_values if len(runs.get(self.control.name, {})) == 1]
        if any(metric.contested and metric.on(path) for path in once for metric in case.metrics):
            on = "" if len(once) == len(known_values) else f" on {', '.join(once)}"
            notes.append(f"One run has no p-value: nothing is flagged by comparison{on}. Give the case `seeds`")
        notes += _not_known(known_values, self.control.name, case, missing, whys)
        known_reason = case.reason(self.control.name)
        if found and known_reason is not None:
            notes.append(f"Known: {known_reason}")
        ruled = (*case.chosen, *([RULE] if any(metric.contested for metric in case.metrics) else []))
        courses: list[dict[str, Any]] = [
            {"series": {}, "states": {}, "moments": {}, "values": values_of(case, runs, more_values.get(path, {}))}
            for path, runs in known_values
        ]
        return Row(
            suite.name, case.id, case.title, case.source, verdict, why, tuple(judged), ruled, tuple(notes), case,
            tuple(courses),
        )  # fmt: skip

    def _held_back(self, case: Case, points: Runs, made: _Made) -> dict[str, str]:
        """Paths on which the ends' buffers limited the candidate or a baseline, and how."""
        found: dict[str, str] = {}
        for task, _, _ in points:
            point = task.point
            why = made.known.get(task.key + task.item, {}).get("held_back")
            if why is not None and point.control in (self.control.name, *case.baselines):
                found.setdefault(point.path.name, f"{point.path.name}, {point.control}: {why}")
        return found

    def _limits(self, points: Runs, made: _Made) -> Limits:
        """What documents allow: a bound that reads the run is the mean over the candidate's runs.

        None: in some run it is not known.
        """
        found: dict[str, dict[str, dict[str, list[float | None]]]] = {}
        for task, _, _ in points:
            if task.point.control != self.control.name:
                continue
            for metric, sides in made.known.get(task.key + task.item, {}).get("limits", {}).items():
                for side, bound in sides.items():
                    of = found.setdefault(task.point.path.name, {}).setdefault(metric, {})
                    of.setdefault(side, []).append(bound)
        return {
            path: {metric: {side: _mean(of) for side, of in sides.items()} for metric, sides in metrics.items()}
            for path, metrics in found.items()
        }


def _not_known(
    points: Sequence[tuple[str, Samples]],
    candidate: str,
    case: Case,
    missing: Sequence[Mapping[str, str]],
    whys: Whys,
) -> Iterator[str]:
    """Notes of values that no run of the candidate has, and that decide nothing."""
    said = {(m["path"], m.get("metric")) for m in missing}
    found: dict[tuple[str, str], list[str]] = {}
    for path, samples in points:
        runs = samples.get(candidate, {}).values()
        for metric in case.metrics if runs else ():
            unknown_here = metric.on(path) and all(run.get(metric.name) is None for run in runs)
            if unknown_here and (path, metric.name) not in said:
                found.setdefault((metric.name, whys.get(path, {}).get(metric.name, "")), []).append(path)
    for (name, why), paths in found.items():
        yield f"{name} is not known on {', '.join(paths)}{f': {why}' if why else ''}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    # Of equal values the value itself, without rounding.
    return known[0] if min(known) == max(known) else sum(known) / len(known)


def _whys(case: Case, points: Runs, made: _Made) -> dict[str, dict[str, str]]:
    """Why a metric or its bound has no value, by path and metric: the first reason."""
    found: dict[str, dict[str, str]] = {}
    for task, _, _ in points:
        run = made.known.get(task.key + task.item, {})
        of = found.setdefault(task.point.path.name, {})
        for name, why in (*run.get("unknown", {}).items(), *run.get("unknown_limits", {}).items()):
            of.setdefault(name, why)
    for of in found.values():
        for metric in case.metrics:
            if metric.harm in of:
                of.setdefault(metric.name, of[metric.harm])
    return found


def _beside(row: Row, right: Row | None) -> Row:
    """A row with the states of the control without its mistake, on the same paths."""
    if right is None:
        return row
    states = {
        (p["path"], p.get("seed")): s["states"] for p, s in zip(right.points, right.shown, strict=True) if s["states"]
    }
    shown = tuple(
        {**s, "beside": {"what": "without\nmistake", "states": of}}
        if (of := states.get((p["path"], p.get("seed"))))
        else s
        for p, s in zip(row.points, row.shown, strict=True)
    )
    return replace(row, shown=shown)


def _samples(case: Case, points: Runs, made: _Made) -> list[tuple[str, Samples]]:
    """The values of a comparative case, of each path by control, replication and metric."""
    samples: dict[str, dict[str, dict[int, dict[str, float | None]]]] = {}
    for task, _, _ in points:
        of = samples.setdefault(task.point.path.name, {}).setdefault(task.point.control, {})
        if task.key + task.item in made.known:
            of[task.point.replication] = made.known[task.key + task.item]["values"]
    return [(path, compared(runs, case)) for path, runs in samples.items()]


def _decided(points: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The verdict of a row: the gravest of its points, with what it says."""
    if not points:
        return "not-testable", "this form has no path of the case"
    first = min(points, key=lambda p: VERDICTS.index(p["verdict"]))
    same = sum(p["verdict"] == first["verdict"] for p in points)
    of = (
        ""
        if len(points) == 1
        else f"{first['path']}: "
        if same == 1
        else f"{same} of {len(points)} paths; {first['path']}: "
    )
    return first["verdict"], f"{of}{first['why']}" if first["why"] else ""


def _judged(suites: Sequence[str | PathLike[str] | Suite] | str | PathLike[str] | None) -> str:
    """What suites judge, all of them; otherwise a congestion control."""
    named = [suites] if isinstance(suites, (str, PathLike)) else suites or []
    every = [s if isinstance(s, Suite) else load_suite(str(s)) for s in named]
    kinds = {case.judges for suite in every for case in suite.cases}
    return RATE if kinds == {RATE} else CONGESTION


def _check_ids(suites: Sequence[Suite]) -> None:
    """Cases and suites of a judgement have different names: links and files have them."""
    seen: dict[str, Case] = {}
    for case in (case for suite in suites for case in suite.cases):
        if case.id in seen:
            raise mistake(
                f"there are two cases '{case.id}', in '{seen[case.id].file}' and in '{case.file}'",
                "ids are unique in a judgement: rename one, or judge twice",
            )
        seen[case.id] = case
    names = [suite.name for suite in suites]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise mistake(f"two suites are called '{twice}'", "rename a file or folder, or judge twice")


def default_suites(control: Control) -> list[str]:
    """The bundled suites that fit a control."""
    there = bundled()
    if control.judged == RATE:
        return ["media"]
    wanted = ["bbr"] if "bbr.state" in control.variables() else []
    wanted += ["l4s"] if control.l4s else []
    wanted += ["rfc9743"]
    found = [name for name in wanted if name in there]
    if not found:
        raise mistake(
            f"no bundled suite fits '{control.name}'", f"name one with --suite: {', '.join(there) or 'a file'}"
        )
    return found


def _meant(name: str, case: Case, has: Iterable[str]) -> str:
    """A variable that a control lacks; with one of its own that has nearly this name.

    Not of the variables of built-in controls, which other controls may lack.
    """
    near = [] if name in known_variables(case.judges) else get_close_matches(name, list(has), 1, 0.75)
    return f"{name} (did you mean '{near[0]}'?)" if near else name
