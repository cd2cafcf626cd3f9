"""One run, wherever it is made: scenario, run, measures. What goes wrong in it is said in one line."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lasthop import _core
from lasthop._core import LasthopError
from lasthop._results import Results
from lasthop.campaign.jobs import Job, Plan, outcomes
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
    """A run to make, and what is wanted of it."""

    #: Index of its point: small, as the plan is where the run is made.
    point: int
    seed: int
    #: Its key where the campaign was planned.
    key: str
    #: Places of the wanted measures in the plan.
    measures: tuple[int, ...]
    #: The wanted tables.
    keep: tuple[str, ...]
    #: The scenario, of which `key` is the key. It stays in its process: another one reads it from its own plan.
    scenario: Scenario | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return Task, (self.point, self.seed, self.key, self.measures, self.keep)


@dataclass(frozen=True)
class Made:
    """A finished run."""

    entries: tuple[Entry, ...]
    #: Processor time of the run and its measures [s].
    cost_s: float


class RunFailedError(Exception):
    """A run that gave no result; the text says why, in one line."""


class Work:
    """Makes the runs of a plan. It pickles as the plan does."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, task: Task, stopped: Callable[[], bool]) -> Made:
        """Makes a run.

        Args:
            task: which.
            stopped: asked about every 50 ms of the run; true gives it up.

        Raises:
            RunFailedError: the run gave no result.
            KeyboardInterrupt: it was given up.
        """
        began = time.thread_time()
        what = "scenario"
        try:
            scenario = task.scenario
            if scenario is None:
                scenario = self.plan.scenario(Job(self.plan.points[task.point], task.seed))
                if key_of(self.plan, scenario) != task.key:
                    raise RunFailedError(OTHER_BUILD)
            what = "run"
            run = Results(_core.run(scenario.core, None, ended_by(stopped)))
            what = "metrics"
            wanted = [self.plan.measures[i] for i in task.measures]
            found = outcomes(wanted, run)
            entries = [Entry(m.identity, m.name, found[m.name].value, found[m.name].reason) for m in wanted]
            what = "tables to keep"
            entries += [_kept(run, name) for name in task.keep]
        except (KeyboardInterrupt, SystemExit, GeneratorExit, RunFailedError):
            raise
        except BaseException as error:  # a panic of the core is no Exception
            raise RunFailedError(f"{what}: {said(error)}") from error
        spent = time.thread_time() - began
        return Made((Entry(COST, COST, spent), *entries), spent)


def ended_by(stopped: Callable[[], bool]) -> Callable[[float], None]:
    """The progress function of a run that ends with KeyboardInterrupt as soon as `stopped` is true."""

    def told(_share: float) -> None:
        if stopped():
            raise KeyboardInterrupt

    return told


def key_of(plan: Plan, scenario: Scenario) -> str:
    """The key of a run of this plan."""
    return run_key(scenario.hash, plan.code)


def table_item(name: str) -> str:
    """The item under which the store has a kept table."""
    return f"table {name}"


def said(error: BaseException) -> str:
    """An exception in one line: that of a mistake, or type, text and place."""
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
