"""Plan, store and executor together: runs are taken from the store, and missing ones are made.

Runs are made in the order of their seeds, so that all points have some replications early. With a
stopping rule each point has its own looks (`lasthop.campaign.sequential`): the runs of its next
look begin as soon as those of the last look are complete, independently of other points.

A run that fails gives a row without values and with a reason, and the next call makes the run
again. Its point gets no further looks in this call. That a metric has no value in a run is a result
and not a failure: the rule counts the runs that have a value, up to its largest number of
replications in all, and ends a point that has no value at its first look.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from lasthop import __version__
from lasthop._core import LasthopError, clear_stale
from lasthop._errors import mistake
from lasthop._files import whole_folder
from lasthop._values import THREADS_MAX, whole_number
from lasthop.campaign.executors import Executor, WorkOf, executor, refuse_in_worker
from lasthop.campaign.executors import Failure as NoResult
from lasthop.campaign.jobs import Job, Plan
from lasthop.campaign.results import (
    EARLIER,
    CampaignResults,
    Failure,
    Row,
    check_target,
    settings_of,
    tabulate,
    tabulate_failures,
)
from lasthop.campaign.store import Entry, LostError, Store, batch, engine
from lasthop.campaign.student import quantile_two_sided
from lasthop.campaign.work import COST, Made, Task, Work, key_of, one_line, table_item

if TYPE_CHECKING:
    from os import PathLike

    from lasthop.campaign.sequential import Rule

#: Runs by which `dry_run` measures, and the time after which it begins no further one [s].
PROBES = 12
PROBING_S = 10.0
#: So often a campaign makes runs again whose kept tables it finds damaged when it writes them.
_REPAIRS = 3
#: campaign.json lists so many failures.
_MOST_FAILURES = 100
#: Scenarios that are read together, before there is room for their runs.
_TOGETHER = 16


@dataclass(frozen=True)
class Event:
    """The progress of a campaign."""

    #: Runs that are there: taken from the store, made or failed.
    done: int
    #: Runs that are planned so far; a stopping rule adds to it.
    total: int
    #: Of `done`: found in the store, and failed.
    taken: int
    failed: int
    #: Time since the start [s].
    elapsed_s: float
    #: Runs made in a second; 0 before the first.
    rate: float
    #: Time until the planned runs are there, if those ahead are like those made [s]; None before
    #: the first.
    eta_s: float | None

    @staticmethod
    def of(total: int, taken: int, made: int, failed: int, elapsed_s: float) -> Event:
        """The event after a number of runs and a time [s]."""
        done = taken + made + failed
        rate = (made + failed) / elapsed_s if elapsed_s > 0 else 0.0
        return Event(done, total, taken, failed, elapsed_s, rate, (total - done) / rate if rate > 0 else None)


Progress = Callable[[Event], None]


class Keyed(Protocol):
    """A task of a run."""

    @property
    def key(self) -> str:
        """The key of the run in the store."""


AnyTask = TypeVar("AnyTask", bound=Keyed)


def conduct(
    plan: Plan,
    store: Store | str | PathLike[str] | None = None,
    *,
    using: Executor | str | None = None,
    jobs: int = 0,
    threads: int = 1,
    shard: tuple[int, int] | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    command: str = "",
    time_limit_s: float | None = None,
    finished_only: bool = False,
    progress: Progress | None = None,
    also: Callable[[Path, CampaignResults], None] | None = None,
) -> CampaignResults:
    """Makes the runs of a campaign that the store does not have, and returns the results.

    Args:
        plan: the campaign, which was checked when it was made. A point that gives no valid scenario
            is a failed run.
        store: where finished runs are kept; None: `store.default_path`.
        using: an executor or its name (threads, processes, ray); None: threads, or processes where
            runs call Python code.
        jobs: runs at a time; 0: one per processor.
        threads: how many threads may share the work of a run, 1 to 256, where the campaign has
            fewer runs than `jobs`. The results are the same. The processor times that are reported
            for runs are those with one thread. With Ray a run has one processor and one thread.
        shard: (i, n): only part i of n, 1 to n. Its runs go to the store, the results are those of
            the part.
        out: the folder of the results, written at the end; None: they stay in memory.
        force: replaces results in `out` even if this campaign would not give them again, see
            `results.check_target`.
        command: the words that started the campaign, for campaign.json.
        time_limit_s: time after which a run is given up [s]: a failure with a reason; None: never.
            An executor that is given as an object has a limit of its own.
        finished_only: no run is made: the results are those of the runs that the store has. Where
            some are missing they are marked as incomplete.
        progress: gets an `Event` after each run.
        also: writes further files into the folder, see `CampaignResults.write`.

    Raises:
        LasthopError: the store cannot be written, `out` holds something else or is being written by
            another process, there is no such executor, or `threads` is out of range.
        KeyboardInterrupt: Ctrl-C; what is finished is in the store.
    """
    refuse_in_worker()
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise mistake(f"there is no part {shard[0]} of {shard[1]}", "parts are counted from 1 on")
    threads = whole_number(threads, "threads", 1, THREADS_MAX)
    makes = using
    if makes is None or isinstance(makes, str):
        makes = executor(makes, jobs, plan.held_by_gil, time_limit_s)
    kept = store if isinstance(store, Store) else Store(store)
    kept.workers = makes.workers

    def results(folder: Path | None, toml: str) -> CampaignResults:
        course = _Course(plan, kept, shard, progress, finished_only)
        # Runs come before threads: these take processors that runs leave idle.
        spare = 1 if makes.name == "ray" else makes.workers // max(course.total, 1)
        work = makes.run(Work(plan, time_limit_s, max(1, min(threads, spare))), course)
        try:
            for task, outcome in work:
                course.finished(task, outcome)
        finally:
            work.close()
            kept.flush()
        found = course.results(makes, command, toml)
        if folder is not None:
            try:
                found.write_into(folder)
            except LostError:
                course.find_lost()
                raise
        return found

    if out is None:
        return results(None, plan.to_toml())
    path = Path(out)
    kept.notes += check_target(path, plan, kept.path, force, finished_only)
    kept.notes += clear_stale(path)
    # The folder is claimed now: another process that would write it is refused before its first
    # run.
    with whole_folder(path, replaces=EARLIER) as partial:
        toml, can_be_run = plan.bundle(partial)
        for attempt in range(_REPAIRS):
            try:
                found = results(partial, toml)
                break
            except LostError:
                if attempt == _REPAIRS - 1:
                    raise
        if can_be_run:
            found.tell_repeat(path)
        found.write_about(partial)
        if also is not None:
            also(partial, replace(found, folder=partial, _kept=None))
    found.folder = path
    return found


class _Course(Iterator[Task]):
    """A campaign in progress: the tasks that are left, and what is known of the runs so far."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        shard: tuple[int, int] | None,
        progress: Progress | None,
        finished_only: bool = False,
    ) -> None:
        self.plan = plan
        self.store = store
        self.shard = shard
        self._progress = progress
        self._began = time.monotonic()
        self._items = [measure.identity for measure in plan.measures]
        self._tables = [table_item(name) for name in plan.keep]
        self._wanted = [COST, *self._items, *self._tables]
        self._rule = plan.until
        self._judged = _place(plan, plan.until)
        first = len(plan.seeds) if self._rule is None else self._rule.looks[0]
        self._points = [p for p in range(len(plan.points)) if self._rule is None or self._mine(p, 0)]
        #: Replications of each point that are planned.
        self._planned = dict.fromkeys(self._points, first)
        self._open = {p: sum(self._mine(p, i) for i in range(first)) for p in self._points}
        self._total = sum(self._open.values())
        self._ahead = ((p, i) for i in range(first) for p in self._points if self._mine(p, i))
        self._more: deque[tuple[int, int]] = deque()
        self._ready: deque[Task] = deque()
        #: Runs in work by key, with the replications that wait for them, and what the store had of
        #: each.
        self._waiting: dict[str, tuple[list[tuple[int, int]], dict[str, Entry]]] = {}
        self._values: dict[tuple[int, int], array[float]] = {}
        self._keys: dict[tuple[int, int], str] = {}
        self.failures: list[Failure] = []
        #: Why values are missing, each text once.
        self._reasons: dict[str, str] = {}
        self._finished_only = finished_only
        self._missing_runs = 0
        self._taken = self._made = self._failed = 0
        self._cost = self._cost_here = 0.0

    @property
    def total(self) -> int:
        """Runs that are planned so far, with those that the store has."""
        return self._total

    def __next__(self) -> Task:
        """The next run that the store does not have."""
        if not self._ready:
            # Several at once: each alone would find the processor's caches filled by a run.
            self._ready.extend(islice(iter(self.missing, None), _TOGETHER))
        if not self._ready:
            raise StopIteration
        return self.with_tables(self._ready.popleft())

    def missing(self) -> Task | None:
        """The next run that the store does not have, without kept tables.

        None where there is none now.
        """
        while True:
            at = self._more.popleft() if self._more else next(self._ahead, None)
            if at is None:
                return None
            try:
                scenario = self.plan.scenario(self._job(*at))
            except LasthopError as error:  # a point of so many that not all were tried, or a file that is gone
                self._fail([at], f"scenario: {one_line(error)}")
                continue
            key = key_of(self.plan, scenario)
            if self.plan.keep:
                self._keys[at] = key
            if key in self._waiting:  # two points with the same scenario
                self._waiting[key][0].append(at)
                continue
            found = self.store.get(key, self._wanted)
            measures = tuple(i for i, item in enumerate(self._items) if item not in found)
            tables = tuple(n for n, item in zip(self.plan.keep, self._tables, strict=True) if item not in found)
            if measures or tables or COST not in found:
                if self._finished_only:
                    self._missing_runs += 1
                    continue
                self._waiting[key] = ([at], found)
                return Task(at[0], self.plan.seed_at(at[1]), key, measures, tables, scenario=scenario)
            self._taken += 1
            self._note(at, found)

    def with_tables(self, task: Task) -> Task:
        """The task with the kept tables of its run, if all its measures may follow from them.

        They are read now, and not when the task is found to be missing: few tasks at a time hold
        tables.
        """
        wanted = [self.plan.measures[i].tables for i in task.measures]
        if task.keep or COST not in self._waiting[task.key][1] or not wanted or not all(wanted):
            return task
        # An expression may also ask `flows` for the names of flows and for the end of the run.
        names = sorted({"flows"}.union(*wanted))
        found = self.store.get(task.key, [table_item(name) for name in names])
        there = [n for n in names if table_item(n) in found and found[table_item(n)].reason is None]
        if not frozenset().union(*wanted).issubset(there):
            return task
        try:
            tables = tuple((name, self.store.content(task.key, table_item(name))) for name in there)
        except LostError:  # noted; values that were found before its file was read are good
            return task
        return replace(task, tables=tables)

    def finished(self, task: Task, outcome: Made | NoResult) -> None:
        """Takes what an executor gives."""
        waiting, found = self._waiting.pop(task.key)
        if isinstance(outcome, NoResult):
            self._fail(waiting, outcome.reason)
        else:
            self.store.put(task.key, outcome.entries, outcome.cost_s)
            self._cost_here += outcome.cost_s
            if outcome.ran:
                self._made += len(waiting)
            else:
                self._taken += len(waiting)
            for at in waiting:
                self._note(at, found | {entry.item: entry for entry in outcome.entries})

    def find_lost(self) -> None:
        """Reads every kept table and sets aside files that are not whole.

        Their runs are not found any more.
        """
        for at in sorted(self._values):
            for item in self._tables:
                with suppress(LostError):
                    if self.store.get(self._keys[at], [item]):
                        self.store.content(self._keys[at], item)

    def results(self, makes: Executor, command: str, toml: str) -> CampaignResults:
        """The results of all runs that are there."""
        nothing = [None] * len(self._items)
        rows = [Row(p, self.plan.seed_at(i), _numbers(values)) for (p, i), values in self._values.items()]
        rows += [Row(f.point, f.seed, nothing) for f in self.failures if f.metric is None]
        table, failures = tabulate(self.plan, rows), tabulate_failures(self.plan, self.failures)
        about = self._about(makes, command)
        if about["incomplete"] is not None:
            table = table.replace_schema_metadata({**table.schema.metadata, "incomplete": about["incomplete"]["what"]})
        return CampaignResults(table, failures, about, toml, _kept=self._kept_tables)

    def _mine(self, p: int, i: int) -> bool:
        """Whether replication `i` of point `p` is of this shard.

        A rule needs all replications of its points.
        """
        if self.shard is None:
            return True
        part, parts = self.shard
        return (p if self._rule is not None else p + i) % parts == part - 1

    def _job(self, p: int, i: int) -> Job:
        return Job(self.plan.points[p], self.plan.seed_at(i))

    def _note(self, at: tuple[int, int], found: dict[str, Entry]) -> None:
        """Takes the values of a run."""
        p, seed = at[0], self.plan.seed_at(at[1])
        self._cost += found[COST].value or 0.0
        values = array("d")
        for measure, item in zip(self.plan.measures, self._items, strict=True):
            entry = found[item]
            values.append(math.nan if entry.value is None else entry.value)
            if entry.value is None:
                reason = entry.reason or "no value"
                self.failures.append(Failure(p, seed, measure.name, self._reasons.setdefault(reason, reason)))
        self._values[at] = values
        self._close(at)

    def _fail(self, waiting: Sequence[tuple[int, int]], reason: str) -> None:
        """Takes a run that gave no result."""
        self._failed += len(waiting)
        for at in waiting:
            self.failures.append(Failure(at[0], self.plan.seed_at(at[1]), None, reason))
            self._close(at)

    def _close(self, at: tuple[int, int]) -> None:
        """One replication less for its point; after the last one the rule is evaluated."""
        p = at[0]
        self._open[p] -= 1
        if self._rule is not None and self._open[p] == 0:
            planned = self._planned[p]
            more = self._next_look(self._rule, p)
            self._planned[p] += more
            self._open[p] = more
            self._total += more
            self._more.extend((p, i) for i in range(planned, planned + more))
        if self._progress is not None:
            self._progress(self._event())

    def _next_look(self, rule: Rule, p: int) -> int:
        """How many replications are to follow."""
        samples = self._samples(p)
        if samples is None or not samples:  # a run is to be repeated first, or nothing is to be expected
            return 0
        wanted = rule.next_n(samples)
        return 0 if wanted is None else min(wanted - len(samples), rule.max - self._planned[p])

    def _samples(self, p: int) -> list[float] | None:
        """The rule's metric in the runs of a point that have it, by seed.

        None: a run has failed.
        """
        samples = []
        for i in range(self._planned[p]):
            values = self._values.get((p, i))
            if values is None:
                return None
            if not math.isnan(values[self._judged]):
                samples.append(values[self._judged])
        return samples

    def _event(self) -> Event:
        elapsed = time.monotonic() - self._began
        return Event.of(self._total, self._taken, self._made, self._failed, elapsed)

    def _incomplete(self) -> dict[str, Any] | None:
        """What is missing of the results; None where nothing is."""
        if not self._missing_runs:
            return None
        done = self._taken + self._failed
        more = "" if self._rule is None else ", and the rule may require more"
        what = f"{done:,} of {self._total:,} runs are finished{more}"
        return {"what": what, "finished": done, "planned": self._total}

    def _about(self, makes: Executor, command: str) -> dict[str, Any]:
        plan, event = self.plan, self._event()
        missing = sum(f.metric is not None for f in self.failures)
        labels = [[label for _, label in point.labels] for point in plan.points]
        return {
            "name": plan.name,
            "description": plan.description,
            "digest": plan.digest,
            "subject": plan.subject,
            "ground": plan.ground,
            "incomplete": self._incomplete(),
            "command": command,
            "called": {"words": command, "folder": _here()},
            "lasthop": __version__,
            "engine": engine(),
            "axes": [
                {
                    "name": axis.name,
                    "keys": list(axis.keys),
                    "labels": list(dict.fromkeys(row[i] for row in labels)),
                    "unit": axis.unit,
                }
                for i, axis in enumerate(plan.axes)
            ],
            "points": labels,
            "settings": [settings_of(point) for point in plan.points],
            "metrics": [{"name": m.name, "unit": m.unit, "text": m.text} for m in plan.measures],
            "keep": list(plan.keep),
            "seeds": list(plan.seeds),
            "until": None if self._rule is None else str(self._rule),
            "shard": None if self.shard is None else list(self.shard),
            "runs": {"planned": event.total, "done": event.done, "taken": event.taken, "failed": event.failed},
            "seconds": event.elapsed_s,
            "cpu_seconds": self._cost_here,
            "cpu_seconds_in_all": self._cost,
            "jobs": makes.workers,
            "executor": makes.name,
            "store": str(self.store.path),
            "notes": list(self.store.notes),
            "looks": self._looks(),
            "missing": {"runs": len(self.failures) - missing, "values": missing},
            # The first ones: failures.parquet has all.
            "failures": [
                {"labels": labels[f.point], "seed": f.seed, "metric": f.metric, "reason": f.reason}
                for f in sorted(self.failures, key=lambda f: (f.point, f.seed, f.metric or ""))[:_MOST_FAILURES]
            ],
        }

    def _looks(self) -> list[dict[str, Any]]:
        """Where the rule has stopped at each point."""
        if self._rule is None:
            return []
        looks = []
        for p in self._points:
            samples = self._samples(p)
            about: dict[str, Any] = {"point": p, "replications": self._planned[p]}
            if samples:
                found = self._rule.interval(samples)
                about |= {k: v if math.isfinite(v) else None for k, v in asdict(found).items()}
            else:
                why = "a run has failed" if samples is None else f"no run has a value of {self._rule.metric}"
                if self._open[p] and self._finished_only:
                    why = "not all of its runs are finished"
                about |= {"reached": False, "why": why}
            looks.append(about)
        return looks

    def _kept_tables(self, name: str) -> Iterator[tuple[int, pa.Table]]:
        item = table_item(name)
        every: list[tuple[int, int, tuple[int, int] | None]]
        every = [(p, self.plan.seed_at(i), (p, i)) for p, i in self._values]
        every += [(f.point, f.seed, None) for f in self.failures if f.metric is None]
        for row, (_, _, at) in enumerate(sorted(every, key=lambda run: run[:2])):
            entry = None if at is None else self.store.get(self._keys[at], [item]).get(item)
            if at is None or (entry is not None and entry.reason is not None):
                continue  # this run failed, or has no such table
            content = self.store.content(self._keys[at], item)
            yield row, pa.ipc.open_stream(content).read_all()


def _here() -> str:
    """The current folder; empty where it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(v) else v for v in values]


def _place(plan: Plan, rule: Rule | None) -> int:
    """The measure to which the rule applies."""
    if rule is None:
        return -1
    names = [measure.name for measure in plan.measures]
    if rule.metric not in names:
        raise mistake(
            f"the stopping rule is about '{rule.metric}', which the campaign does not measure",
            f"its metrics are: {', '.join(names) or 'none'}",
        )
    return names.index(rule.metric)


@dataclass(frozen=True)
class Estimate:
    """The time and disk space that a campaign would need, as measured on some of its runs."""

    #: Runs in all: the least and the most that a stopping rule may ask for.
    runs: tuple[int, int]
    #: Of the least, those that the store has.
    found: int
    #: Runs that were made to measure.
    probes: int
    #: Processor time of a probe [s]: the least, the mean, the most.
    run_s: tuple[float, float, float]
    #: Relative half-width of the 95 % interval of the mean run (Student's t over the probes); None
    #: from one probe.
    spread: float | None
    #: Time on `workers` at a time [s]: of the least runs at the lower end of that interval, of the
    #: most at the upper.
    seconds: tuple[float, float]
    #: What the store would take [octets]: of the least and of the most runs, at the mean of the
    #: probes.
    octets: tuple[int, int]
    workers: int
    executor: str


def dry_run(
    plan: Plan,
    store: Store | str | PathLike[str] | None = None,
    *,
    using: Executor | str | None = None,
    jobs: int = 0,
    probes: int = PROBES,
    time_limit_s: float | None = None,
) -> Estimate:
    """Estimates time and disk from some of the missing runs. Writes nothing.

    These probes are spread evenly over the missing runs.

    Runs of different points take different times, and the probes are few, so the estimate includes
    its spread. With fewer missing runs than processors the time is that of the longest run.

    Args:
        plan: the campaign.
        store: where finished runs are looked for.
        using: see `conduct`.
        jobs: runs at a time; 0: one per processor.
        probes: runs to measure by, from 1 on; after `PROBING_S` seconds no further one begins.
        time_limit_s: see `conduct`.

    Raises:
        LasthopError: every probe failed; the message says why the first did.
    """
    refuse_in_worker()
    makes = using
    if makes is None or isinstance(makes, str):
        makes = executor(makes, jobs, plan.held_by_gil, time_limit_s)
    kept = store if isinstance(store, Store) else Store(store)
    course = _Course(plan, kept, None, None)
    # Many scenarios would take much memory, and so would many tables.
    missing = _WithTables(course, [replace(task, scenario=None) for task in iter(course.missing, None)])
    least = course._total
    most = least if plan.until is None else plan.until.max * len(plan.points)
    refused = [f.reason for f in course.failures if f.metric is None]  # points that make no scenario
    return estimate(makes, Work(plan, time_limit_s), missing, (least, most), probes, refused)


class _WithTables(Sequence[Task]):
    """Tasks that get the kept tables of their runs when they are needed."""

    def __init__(self, course: _Course, tasks: Sequence[Task]) -> None:
        self._course, self._tasks = course, tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        return self._course.with_tables(self._tasks[index])


def estimate(
    makes: Executor,
    work: WorkOf[AnyTask, Made],
    missing: Sequence[AnyTask],
    runs: tuple[int, int],
    probes: int = PROBES,
    failed: Sequence[str] = (),
) -> Estimate:
    """Estimates the cost of runs from some of the missing runs. Writes nothing.

    These probes are spread evenly over the missing runs.

    Args:
        makes: makes the probes.
        work: what is done with a task.
        missing: the tasks of those runs among the least that the store does not have.
        runs: runs in all: the least and the most that there may be.
        probes: how many to make; after `PROBING_S` seconds no further one begins.
        failed: why other runs have failed already, a reason of each.

    Raises:
        LasthopError: every probe failed; the message says why the first did.
    """
    least, most = runs
    step = max(1, len(missing) / max(1, probes))
    chosen = [missing[int(k * step)] for k in range(min(max(1, probes), len(missing)))]
    measured, why = _probe(makes, work, chosen)
    why = why or "".join(failed[:1])
    if why and not measured:
        count = len(chosen) or len(failed)
        raise mistake(f"none of {count} trial runs gave a result: {why}", "mend this first")
    costs = sorted(made.cost_s for _, made in measured)
    mean = sum(costs) / len(costs) if costs else 0.0
    spread = None
    if len(costs) > 1 and mean > 0:
        deviation = math.sqrt(sum((c - mean) ** 2 for c in costs) / (len(costs) - 1))
        spread = quantile_two_sided(0.05, len(costs) - 1) * deviation / math.sqrt(len(costs)) / mean
    octets = _octets_of(measured)
    further = (len(missing), len(missing) + most - least)
    at_once = [max(1, min(makes.workers, n)) for n in further]
    return Estimate(
        runs=(least, most),
        found=least - len(missing),
        probes=len(costs),
        run_s=(costs[0], mean, costs[-1]) if costs else (0.0, 0.0, 0.0),
        spread=spread,
        seconds=(
            further[0] * mean * max(0.0, 1 - (spread or 0.0)) / at_once[0],
            further[1] * mean * (1 + (spread or 0.0)) / at_once[1],
        ),
        octets=(round(further[0] * octets), round(further[1] * octets)),
        workers=makes.workers,
        executor=makes.name,
    )


def _probe(
    makes: Executor, work: WorkOf[AnyTask, Made], chosen: Sequence[AnyTask]
) -> tuple[list[tuple[str, Made]], str]:
    """Makes runs until time is up; returns those that gave a result.

    And why the first of the others did not.
    """
    began = time.monotonic()
    tasks = (task for k, task in enumerate(chosen) if k == 0 or time.monotonic() - began < PROBING_S)
    found, why = [], ""
    outcomes = makes.run(work, tasks)
    try:
        for task, made in outcomes:
            if isinstance(made, NoResult):
                why = why or made.reason
            else:
                found.append((task.key, made))
    finally:
        outcomes.close()
    return found, why


def _octets_of(measured: Sequence[tuple[str, Made]]) -> float:
    """What a further run adds to the store [octets]."""
    if not measured:
        return 0.0
    rows = [(key, entry) for key, made in measured for entry in made.entries]
    if len(measured) == 1:
        return float(len(batch(rows)))
    first = [(key, entry) for key, made in islice(measured, 1) for entry in made.entries]
    return (len(batch(rows)) - len(batch(first))) / (len(measured) - 1)
