"""From grids to reduced runs: expand, dedup by scenario hash, run, keep only what the reducers return.

Memory stays bounded: of a run's tables nothing survives its reducer, and few runs wait for theirs.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lasthop.harness.definition import BASE, Axis, Group, ParameterSet, Point, Study, Variation
from lasthop.harness.errors import NoRunsError, StudyError
from lasthop.harness.kept import KeptRuns, Name, Reduced
from lasthop.harness.sources import digest, file_digest
from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    import pyarrow as pa

#: What a reducer returns: named numbers and, for runs that are shown, arrays behind the figures.
Values = Mapping[str, Any]
Reducer = Callable[["Run"], Values]
Progress = Callable[[int, int, str], None]


class ScenarioLike(Protocol):
    """What the harness needs of a scenario (`lasthop._core.Scenario`)."""

    @property
    def duration_s(self) -> float:
        """Simulated time."""

    def hash(self) -> str:
        """Names the effective scenario."""

    def to_toml(self) -> str:
        """The effective scenario."""


class OutputLike(Protocol):
    """What the harness needs of a run's output (`lasthop._core.RunOutput`)."""

    def table_names(self) -> list[str]:
        """Names of the tables."""

    def table(self, name: str) -> pa.Table:
        """One table."""


class Backend(Protocol):
    """Loads and runs scenarios. The default is this machine; a cluster or a test brings its own."""

    def load(self, path: Path, overrides: Sequence[str]) -> ScenarioLike:
        """The scenario file with `key=value` overrides. Raises ValueError for a mistake."""

    def run_many(self, scenarios: Sequence[Any], jobs: int) -> Iterable[OutputLike]:
        """Runs all of them; results in the same order, the same whatever `jobs` is.

        The harness lets go of each result before it asks for the next: an iterator need not hold them all.
        """


@runtime_checkable
class Identified(Protocol):
    """A backend that can say what its results depend on beside the scenario. Only its runs are kept on disk."""

    def identity(self) -> str:
        """Equal for two backends that give the same tables for the same scenario hash, else different."""


class LocalBackend:
    """The simulator in this process, on every core."""

    def identity(self) -> str:
        """The package's version and a digest of its extension."""
        from lasthop import __version__, _core

        return f"lasthop {__version__}, extension {file_digest(Path(_core.__file__))}"

    def load(self, path: Path, overrides: Sequence[str]) -> ScenarioLike:
        """Reads and checks the file in the core."""
        from lasthop import _core

        return _core.Scenario.load(path, set=list(overrides))

    def run_many(self, scenarios: Sequence[Any], jobs: int) -> Generator[OutputLike, None, None]:
        """Runs `jobs` at a time while earlier ones are looked at; at most twice as many results are there at once."""
        from lasthop import _core

        stopped = Event()

        def told(_share: float) -> None:
            if stopped.is_set():  # by Ctrl-C or a mistake in a reducer: no run is worth waiting for
                raise KeyboardInterrupt

        waiting = iter(scenarios)
        workers = jobs or os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            ahead = deque(pool.submit(_core.run, s, None, told) for s in islice(waiting, 2 * workers))
            try:
                while ahead:
                    yield ahead.popleft().result()
                    ahead.extend(pool.submit(_core.run, s, None, told) for s in islice(waiting, 1))
            finally:
                stopped.set()
                for future in ahead:
                    future.cancel()


@dataclass(frozen=True)
class Run:
    """One finished run, as a reducer sees it."""

    output: OutputLike
    scenario: ScenarioLike
    seed: int
    #: Whether a figure may show this run: then (and only then) return arrays for it.
    shown: bool

    @property
    def duration_s(self) -> float:
        """Simulated time."""
        return self.scenario.duration_s

    def table(self, name: str) -> pa.Table:
        """One table of the run."""
        return self.output.table(name)

    def has_table(self, name: str) -> bool:
        """Whether the run wrote that table."""
        return name in self.output.table_names()

    def row(self, name: str, index: int = 0) -> dict[str, Any]:
        """One row of a table as a dict; negative indices count from the end."""
        table = self.table(name)
        row: dict[str, Any] = table.slice(index % max(table.num_rows, 1), 1).to_pylist()[0]
        return row


@dataclass(frozen=True)
class Record:
    """What is left of one run: the point of the grid, the seed, the reduced values."""

    point: Point
    seed: int
    values: Values


@dataclass
class Data:
    """The reduced runs of one parameter set in one variation: what an evaluator judges by."""

    parameter_set: ParameterSet
    variation: Variation = BASE
    records: dict[str, list[Record]] = field(default_factory=dict)
    effective: Mapping[str, Any] = field(default_factory=dict)

    def runs(self, group: str, **where: Any) -> list[Record]:
        """The runs of a group at the points that match `where`, in grid order, then by seed."""
        found = [r for r in self.records.get(group, []) if all(r.point.get(k) == v for k, v in where.items())]
        if not found:
            raise NoRunsError(f"no runs of group {group!r} at {where}")
        return found

    def estimate(self, group: str, value: str, **where: Any) -> Estimate:
        """Mean and interval of one reduced value over the replications at a point."""
        return Estimate.of([r.values[value] for r in self.runs(group, **where)])

    def shown(self, group: str, **where: Any) -> Record:
        """The first replication at a point: the run that figures show."""
        return self.runs(group, **where)[0]

    def labels(self, group: str, axis: str) -> list[Any]:
        """The labels of an axis that have runs, in grid order."""
        return list(dict.fromkeys(r.point[axis] for r in self.runs(group)))

    def setting(self, key: str) -> Any:
        """A value of the effective base scenario by its dotted key; None if the scenario does not have it."""
        here: Any = self.effective
        for part in key.split("."):
            if not isinstance(here, Mapping) or part not in here:
                return None
            here = here[part]
        return here


@dataclass(frozen=True)
class Request:
    """A group of runs that somebody needs: which set, which variation, which grid."""

    parameter_set: ParameterSet
    variation: Variation
    group: Group


class Runner:
    """Runs what is requested, once per distinct scenario, and remembers reduced runs for later requests.

    With `keep`, a folder, also for later calls: what an earlier one left there is taken instead of run.
    """

    def __init__(
        self,
        study: Study,
        backend: Backend | None = None,
        jobs: int = 0,
        progress: Progress | None = None,
        keep: Path | None = None,
    ) -> None:
        self.study = study
        self.backend: Backend = backend or LocalBackend()
        self.jobs = jobs
        self.progress = progress
        self.done = 0
        #: Scenarios whose values came from an earlier call.
        self.taken: set[str] = set()
        self._reduced: dict[Name, Reduced] = {}
        self._kept: KeptRuns | None = None
        if keep is not None and isinstance(self.backend, Identified):
            self._kept = KeptRuns(keep, self.backend.identity())
        self._sources = {name: digest(study, name) if self._kept else "" for name in {g.reduce for g in study.groups}}

    def forget_kept(self) -> None:
        """Makes every run anew."""
        if self._kept is not None:
            self._kept.forget()

    def run(self, requests: Iterable[Request], what: str) -> list[Data]:
        """Makes all runs of the requests and returns the data of each (set, variation), in order of first request."""
        plan = [(request, list(self._expand(request))) for request in requests]
        self._make([job for _, jobs in plan for job in jobs], what)
        merged: dict[tuple[str, str], Data] = {}
        for request, jobs in plan:
            at = (request.parameter_set.name, request.variation.name)
            data = merged.setdefault(at, Data(request.parameter_set, request.variation))
            data.records[request.group.name] = [Record(j.point, j.seed, self._reduced[j.name].values) for j in jobs]
        return list(merged.values())

    def load(self, parameter_set: ParameterSet, overrides: Sequence[str] = ()) -> ScenarioLike:
        """The study's scenario under a parameter set, with further overrides on top."""
        return self.backend.load(self.study.scenario, [*parameter_set.overrides(), *overrides])

    def _expand(self, request: Request) -> Iterable[_Job]:
        group, variation = request.group, request.variation
        for point, overrides in group.points():
            more = variation.overrides_at(point)
            for seed in range(1, group.seeds + 1):
                # The first replication of a base run or a reading is the one that figures show.
                shown = seed == 1 and variation.role != "sensitivity"
                scenario = self.load(request.parameter_set, [*overrides, *more, f"scenario.seed={seed}"])
                name = Name(scenario.hash(), group.reduce, self._sources[group.reduce])
                yield _Job(point, seed, scenario, name, shown)

    def _make(self, jobs: Iterable[_Job], what: str) -> None:
        """Runs the scenarios that are not known yet."""
        batches: dict[str, dict[str, _Job]] = {}  # by scenario hash, then by reducer
        for job in jobs:
            if not self._knows(job):
                batch = batches.setdefault(job.name.scenario_hash, {})
                if job.name.reducer not in batch or job.shown:
                    batch[job.name.reducer] = job
        total = self.done + len(batches)
        if self.taken:
            what = f"{what}, {len(self.taken)} taken from before"
        self._report(total, what)
        fresh: dict[Name, Reduced] = {}
        scenarios = [next(iter(batch.values())).scenario for batch in batches.values()]
        try:
            with closing(_each(self.backend.run_many(scenarios, self.jobs))) as outputs:
                for batch, output in zip(batches.values(), outputs, strict=True):
                    fresh.update({job.name: self._reduce(output, job) for job in batch.values()})
                    self.done += 1
                    self._report(total, what)
                    if len(fresh) >= _KEPT_TOGETHER:
                        self._keep(fresh)
                        fresh = {}
        finally:  # what is done stays done, whatever stopped the rest
            self._keep(fresh)

    def _keep(self, reduced: Mapping[Name, Reduced]) -> None:
        self._reduced.update(reduced)
        if self._kept is not None:
            self._kept.add(reduced)

    def _knows(self, job: _Job) -> bool:
        """Whether the run's values are there, from this call or an earlier one."""
        here = self._reduced.get(job.name)
        if here is not None and (here.shown or not job.shown):
            return True
        kept = self._kept.get(job.name, job.shown) if self._kept is not None else None
        if kept is None:
            return False
        self._reduced[job.name] = kept
        self.taken.add(job.name.scenario_hash)
        return True

    def _reduce(self, output: OutputLike, job: _Job) -> Reduced:
        reducer: Reducer = self.study.function(job.name.reducer)
        values = reducer(Run(output, job.scenario, job.seed, job.shown))
        if not isinstance(values, Mapping):
            raise StudyError(f"{self.study.code_file}: {job.name.reducer} returned {values!r}, no dict of values")
        return Reduced(values, job.shown)

    def _report(self, total: int, what: str) -> None:
        if self.progress is not None:
            self.progress(self.done, total, what)


@dataclass(frozen=True)
class _Job:
    point: Point
    seed: int
    scenario: ScenarioLike
    name: Name
    shown: bool


def _each(outputs: Iterable[OutputLike]) -> Generator[OutputLike, None, None]:
    """Something that can be closed early, whatever a backend returns."""
    yield from outputs


def narrowed(group: Group, only: Mapping[str, tuple[Any, ...]], seeds: int, overrides: Sequence[str]) -> Group:
    """The group with fewer options on some axes, other seeds and further overrides: for sensitivity runs."""
    axes = []
    for axis in group.axes:
        keep = only.get(axis.name)
        options = {k: v for k, v in axis.options.items() if keep is None or k in keep}
        if not options:
            raise StudyError(f"group {group.name!r}: no option of axis {axis.name!r} is left")
        axes.append(Axis(axis.name, options))
    return Group(
        name=group.name,
        purpose=group.purpose,
        reduce=group.reduce,
        seeds=min(group.seeds, seeds),
        overrides=(*group.overrides, *overrides),
        axes=tuple(axes),
        sets=group.sets,
    )


#: So many runs make one file beside the result: what a stop by force may cost.
_KEPT_TOGETHER = 16
