"""From grids to reduced runs.

Grids are expanded, finished runs are taken from the store, and an executor of campaigns makes the
others.

The results of a run are the values of its reducers. In the store they are under the run's key,
which is that of the same run in a campaign, and under the digest of the reducer's sources. Any
study that needs the same values finds them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from lasthop._core import LasthopError
from lasthop.campaign.conduct import Estimate, Event, Progress, estimate
from lasthop.campaign.executors import Executor, Failure, executor
from lasthop.campaign.store import Store
from lasthop.harness.data import Backend, Data, Record, ScenarioLike, Simulator, Values
from lasthop.harness.definition import Axis, Group, ParameterSet, Point, Study, Variation
from lasthop.harness.errors import StudyError
from lasthop.harness.values import unpacked
from lasthop.harness.work import Reduced, Task, Wanted, Work, key_of, sources_of


@dataclass(frozen=True)
class Request:
    """A request of a group of runs: parameter set, variation and grid."""

    parameter_set: ParameterSet
    variation: Variation
    group: Group

    @property
    def in_kernel(self) -> bool:
        """Whether some nodes have the TCP of a real kernel."""
        return bool(self.variation.kernel or self.group.kernel)


@dataclass(frozen=True)
class _Job:
    """A run that is needed, and what of it."""

    point: Point
    seed: int
    overrides: tuple[str, ...]
    key: str
    wanted: Wanted
    where: str
    #: The real kernel that makes it; empty: the simulator alone does.
    kernel: str


@dataclass(frozen=True)
class _Known:
    """Values of a run; `shown` says whether they have what figures need."""

    values: Values
    shown: bool


class Runner:
    """Runs what is requested, once per distinct scenario.

    Reduced runs are remembered for later requests.

    Args:
        study: what is run.
        backend: reads and runs scenarios; None: the simulator.
        makes: makes the runs; None: threads, one per processor.
        store: where finished runs are looked for and kept; None: nowhere.
        fresh: nothing is taken from the store.
        progress: gets the progress after each run.
    """

    def __init__(
        self,
        study: Study,
        backend: Backend | None = None,
        makes: Executor | None = None,
        store: Store | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.study = study
        self.backend: Backend = backend or Simulator()
        self.makes = makes or executor(None)
        self.progress = progress
        #: Runs made, and runs that failed.
        self.made = 0
        self.failed = 0
        #: Keys of the runs whose values all came from the store.
        self.taken: set[str] = set()
        #: Why runs with a real kernel are not made; empty: none was requested, or they are.
        self.no_kernel = ""
        self._kernel: str | None = None
        self._began = time.monotonic()
        self._fresh = fresh
        self._store = store if self.backend.code is not None else None
        if self._store is not None:
            self._store.workers = self.makes.workers
        self._known: dict[tuple[str, str], _Known] = {}
        self._sources = {name: sources_of(study, name, self.backend) for name in {g.reduce for g in study.groups}}

    def run(self, requests: Iterable[Request]) -> list[Data]:
        """Makes all runs of the requests and returns the data of each (set, variation).

        They are in the order of the first request.

        Raises:
            StudyError: runs have failed, a reducer has, or it returned no values. Finished runs are
                in the store.
            LasthopError: the store cannot be written.
        """
        plan = [(request, list(self._expand(request))) for request in requests]
        self._make(self._missing(job for _, jobs in plan for job in jobs))
        merged: dict[tuple[str, str], Data] = {}
        for request, jobs in plan:
            at = (request.parameter_set.name, request.variation.name)
            data = merged.setdefault(at, Data(request.parameter_set, request.variation))
            if request.in_kernel and not self._kernel:
                data.absent[request.group.name] = self.no_kernel
                continue
            data.records[request.group.name] = [
                Record(j.point, j.seed, self._known[j.key, j.wanted.reducer].values) for j in jobs
            ]
        return list(merged.values())

    def estimate(self, requests: Iterable[Request], perhaps: Iterable[Request]) -> Estimate:
        """Estimates the cost of the requested runs, and with those that may be needed as well.

        Some of the runs are made for the measurement; nothing is written.

        Raises:
            LasthopError: none of these gave a result.
        """
        missing = self._missing(job for request in requests for job in self._expand(request))
        least = len(missing) + len(self.taken)
        most = len({task.key for task in missing} | self.taken | self._keys(perhaps))
        return estimate(self.makes, _Strict(self._work()), missing, (least, most))

    def load(self, parameter_set: ParameterSet, overrides: Sequence[str] = ()) -> ScenarioLike:
        """The study's scenario under a parameter set, with further overrides on top."""
        return self.backend.load(self.study.scenario, [*parameter_set.overrides(), *overrides])

    def _work(self) -> Work:
        return Work(self.study, self.backend, self._sources)

    def _keys(self, requests: Iterable[Request]) -> set[str]:
        return {job.key for request in requests for job in self._expand(request)}

    def _kernel_of(self, request: Request) -> str | None:
        """The real kernel that makes these runs; empty: none has to; None: there is none."""
        if not request.in_kernel:
            return ""
        if self._kernel is None and not self.no_kernel:
            try:
                self._kernel = self.backend.kernel()
            except LasthopError as error:
                self.no_kernel = " ".join(str(error).split())
        return self._kernel

    def _expand(self, request: Request) -> Iterable[_Job]:
        group, variation = request.group, request.variation
        kernel = self._kernel_of(request)
        if kernel is None:
            return
        for point, overrides in group.points():
            more = variation.overrides_at(point)
            for seed in range(1, group.seeds + 1):
                # The first replication of a base run or a reading is the one that figures show.
                shown = seed == 1 and variation.role != "sensitivity"
                every = (*request.parameter_set.overrides(), *overrides, *more, f"scenario.seed={seed}")
                key = key_of(self.backend.load(self.study.scenario, every), self.backend, kernel)
                wanted = Wanted(group.reduce, self._sources[group.reduce], shown)
                yield _Job(point, seed, every, key, wanted, _where(request, point, seed), kernel)

    def _missing(self, jobs: Iterable[_Job]) -> list[Task]:
        """The runs whose values are not known yet, once for each scenario."""
        batches: dict[str, dict[str, _Job]] = {}  # by key, then by reducer
        for job in jobs:
            if not self._knows(job):
                batch = batches.setdefault(job.key, {})
                if job.wanted.reducer not in batch or job.wanted.shown:
                    batch[job.wanted.reducer] = job
        self.taken -= batches.keys()
        return [_task(list(batch.values())) for batch in batches.values()]

    def _knows(self, job: _Job) -> bool:
        """Whether the run's values are there, from this call or an earlier one."""
        here = self._known.get((job.key, job.wanted.reducer))
        if here is not None and (here.shown or not job.wanted.shown):
            return True
        if self._store is None or self._fresh:
            return False
        found = self._store.get(job.key, job.wanted.items)
        for item in job.wanted.items:
            if item in found:
                try:
                    values = unpacked(self._store.content(job.key, item))
                except (LasthopError, ValueError):  # the file is damaged or gone: the run is made again
                    continue
                self._known[job.key, job.wanted.reducer] = _Known(values, item.endswith(" shown"))
                self.taken.add(job.key)
                return True
        return False

    def _make(self, tasks: Sequence[Task]) -> None:
        """Has the runs made."""
        total = len(self.taken) + self.made + self.failed + len(tasks)
        self._report(total)
        failures: list[tuple[Task, Failure]] = []
        try:
            with closing(self.makes.run(self._work(), iter(tasks))) as outcomes:
                for task, outcome in outcomes:
                    if isinstance(outcome, Failure):
                        self.failed += 1
                        failures.append((task, outcome))
                    else:
                        self._take(task, outcome)
                    self._report(total)
        finally:  # what is done stays done, whatever stopped the rest
            if self._store is not None:
                self._store.flush()
        if failures:
            raise StudyError(self._failures(failures, len(tasks)))

    def _take(self, task: Task, outcome: Reduced) -> None:
        """Takes a finished run."""
        if outcome.fault is not None:
            raise outcome.fault
        self.made += 1
        if self._store is not None:
            self._store.put(task.key, outcome.entries, outcome.cost_s)
        contents = {entry.item: entry.content for entry in outcome.entries}
        for wanted in task.wanted:
            content = contents.get(wanted.item)
            values = outcome.unkept[wanted.item] if content is None else unpacked(content)
            self._known[task.key, wanted.reducer] = _Known(values, wanted.shown)

    def _failures(self, failures: Sequence[tuple[Task, Failure]], count: int) -> str:
        first, why = failures[0]
        message = f"{len(failures)} of {count} runs failed; the first, {first.where}: {why.reason}"
        if self._store is not None and len(failures) < count:
            message += f"\nThe others are kept in {self._store.path}: the same command makes only these again."
        return message

    def _report(self, total: int) -> None:
        if self.progress is not None:
            elapsed = time.monotonic() - self._began
            self.progress(Event.of(total, len(self.taken), self.made, self.failed, elapsed))


class _Strict:
    """The work of a study where a mistake in a reducer fails the run.

    For trial runs, whose values are not used.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, task: Task, stopped: Callable[[], bool]) -> Reduced:
        made = self._work(task, stopped)
        if made.fault is not None:
            raise made.fault
        return made


def _task(jobs: Sequence[_Job]) -> Task:
    """The run that all of these need."""
    first = jobs[0]
    wanted = tuple(job.wanted for job in jobs)
    return Task(first.key, first.overrides, first.seed, wanted, first.where, first.kernel)


def _where(request: Request, point: Point, seed: int) -> str:
    labels = "".join(f", {axis} {label}" for axis, label in point.items())
    variation = "" if request.variation.role == "base" else f", {request.variation.name}"
    return f"group {request.group.name}{labels}, seed {seed} (parameter set {request.parameter_set.name}{variation})"


def narrowed(group: Group, only: Mapping[str, tuple[object, ...]], seeds: int, overrides: Sequence[str]) -> Group:
    """The group with fewer options on some axes, other seeds and further overrides.

    It is for sensitivity runs.
    """
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
        one_run=group.one_run,
        kernel=group.kernel,
    )
