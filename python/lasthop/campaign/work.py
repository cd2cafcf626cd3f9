"""One run in any kind of executor: scenario, run, measures.

A mistake in the run is reported in one line.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from lasthop import _core
from lasthop._core import LasthopError
from lasthop._results import Results
from lasthop.campaign.jobs import Job, Measure, Plan, outcomes
from lasthop.campaign.store import Entry, run_key

if TYPE_CHECKING:
    from lasthop._scenario import Scenario

#: The item under which the store has the processor time of a run [s].
COST = "cost"
#: Why a worker does not make a run.
OTHER_BUILD = (
    "the scenario is another one here than where the campaign was planned: "
    "another version of lasthop, or a file that has changed"
)


@dataclass(frozen=True)
class Task:
    """A run to make, and its measures."""

    #: Index of its point: small, as the plan is where the run is made.
    point: int
    seed: int
    #: Its key where the campaign was planned.
    key: str
    #: Places of the wanted measures in the plan.
    measures: tuple[int, ...]
    #: The wanted tables.
    keep: tuple[str, ...]
    #: Tables that were kept of an earlier run, from which the measures may follow: name, and
    #: content as in the store.
    tables: tuple[tuple[str, bytes], ...] = ()
    #: The scenario, of which `key` is the key. It stays in its process: another one reads it from
    #: its own plan.
    scenario: Scenario | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return Task, (self.point, self.seed, self.key, self.measures, self.keep, self.tables)


@dataclass(frozen=True)
class Made:
    """A finished run."""

    entries: tuple[Entry, ...]
    #: Processor time of the run and its measures [s].
    cost_s: float
    #: False: kept tables had all that was wanted, and nothing was run.
    ran: bool = True


class RunFailedError(Exception):
    """A run without a result; the text gives the reason in one line."""


class Overtime(BaseException):
    """A run has exceeded its time limit.

    The exception is raised in code of the user, which may catch errors.
    """


class Stage:
    """A block in which each error, except an intended end, becomes a RunFailedError.

    Its text has the part of the work and one line.

    Args:
        first: the part with which it begins; `now` is set for those that follow.
    """

    def __init__(self, first: str) -> None:
        self.now = first

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, RunFailedError, Overtime)):
            return
        # A panic of the core is no Exception.
        raise RunFailedError(f"{self.now}: {one_line(error)}") from error


def overtime(limit_s: float) -> str:
    """Why a run that took too long has no result."""
    return f"it was given up after the time limit of {limit_s:g} s for a run"


class Work:
    """Makes the runs of a plan. It pickles as the plan does.

    Args:
        plan: the campaign.
        limit_s: time after which the core ends a run as failed [s]; None: never. The executor has
            to stop code of the user.
        threads: how many threads share the work of each run.
    """

    def __init__(self, plan: Plan, limit_s: float | None = None, threads: int = 1) -> None:
        self.plan = plan
        self.limit_s = limit_s
        self.threads = threads

    def __call__(self, task: Task, stopped: Callable[[], bool]) -> Made:
        """Makes a run.

        Args:
            task: which.
            stopped: called about every 50 ms of the run; true ends it.

        Raises:
            RunFailedError: the run gave no result.
            KeyboardInterrupt: it was given up.
        """
        began = time.thread_time()
        wanted = [self.plan.measures[i] for i in task.measures]
        with Stage("scenario") as stage:
            if task.tables and (entries := _from_tables(wanted, task)) is not None:
                return Made(tuple(entries), time.thread_time() - began, ran=False)
            scenario = task.scenario
            if scenario is None:
                scenario = self.plan.scenario(Job(self.plan.points[task.point], task.seed))
                if key_of(self.plan, scenario) != task.key:
                    raise RunFailedError(OTHER_BUILD)
            stage.now = "run"
            ends = ended_by(stopped, self.limit_s)
            run = Results(_core.run(scenario.core, None, ends, threads=self.threads))
            stage.now = "metrics"
            entries = _entries(wanted, run)
            stage.now = "tables to keep"
            entries += [_kept(run, name) for name in task.keep]
        spent = time.thread_time() - began
        return Made((Entry(COST, COST, spent), *entries), spent)


def ended_by(stopped: Callable[[], bool], limit_s: float | None = None) -> Callable[[float], None]:
    """The progress function of a run that ends with KeyboardInterrupt as soon as `stopped` is true.

    Args:
        stopped: called about every 50 ms.
        limit_s: time from now on after which the run ends with RunFailedError [s]; None: never.
    """
    last = math.inf if limit_s is None else time.monotonic() + limit_s

    def on_progress(_share: float) -> None:
        if stopped():
            raise KeyboardInterrupt
        if time.monotonic() > last:
            raise RunFailedError(overtime(limit_s or 0.0))

    return on_progress


def _entries(wanted: Sequence[Measure], run: Results) -> list[Entry]:
    found = outcomes(wanted, run)
    return [Entry(m.identity, m.name, found[m.name].value, found[m.name].reason) for m in wanted]


def _from_tables(wanted: Sequence[Measure], task: Task) -> list[Entry] | None:
    """Measures of a run from its kept tables.

    None where one of them needs anything else of the run.
    """
    source = _KeptTables({name: pa.ipc.open_stream(content).read_all() for name, content in task.tables})
    try:
        found = _entries(wanted, Results(source))
    except _NotKept:
        return None
    return None if source.asked else found


class _NotKept(BaseException):
    """Something of a run that was not kept.

    No measure that catches errors is to treat it as a fact about the run.
    """


class _KeptTables:
    """The kept tables of a run as a source of results.

    `asked` is true once a measure has read something that was not kept, even if the measure
    caught the exception.
    """

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables = tables
        #: Whether something else was requested.
        self.asked = False

    def _refuse(self) -> NoReturn:
        self.asked = True
        raise _NotKept

    @property
    def manifest(self) -> str:
        self._refuse()

    @property
    def summary(self) -> str:
        self._refuse()

    def table_names(self) -> list[str]:
        return _Names(self._tables, self._refuse)

    def table(self, name: str) -> pa.Table:
        return self._tables[name]


class _Names(list[str]):
    """Names of kept tables: whether a run has another one, or which it has in all, is not known."""

    def __init__(self, names: Iterable[str], refuse: Callable[[], NoReturn]) -> None:
        super().__init__(names)
        self._refuse = refuse

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._refuse()

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def __eq__(self, other: object) -> bool:
        self._refuse()

    __hash__ = None


def key_of(plan: Plan, scenario: Scenario) -> str:
    """The key of a run of this plan."""
    return run_key(scenario.hash, plan.code_of(scenario))


def table_item(name: str) -> str:
    """The item under which the store has a kept table."""
    return f"table {name}"


def one_line(error: BaseException) -> str:
    """An exception in one line: the message of a mistake, or type, text and place."""
    text = " ".join(str(error).split())
    if isinstance(error, LasthopError):
        return " ".join(str(error).partition("\n")[0].removeprefix("error: ").split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' + text if text else ''}{place}"


def _kept(run: Results, name: str) -> Entry:
    if name not in run.table_names:
        return Entry(table_item(name), name, reason=f"this run has no table '{name}'")
    table = run.table(name)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return Entry(table_item(name), name, content=sink.getvalue().to_pybytes())
