"""One run of a study in any kind of executor: scenario, run, reducers.

Its tables are discarded after the reducers have read them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasthop._core import LasthopError
from lasthop.campaign.store import Entry, run_key
from lasthop.campaign.work import COST, OTHER_BUILD, Made, RunFailedError, ended_by, one_line
from lasthop.harness.data import Backend, Reducer, Run, ScenarioLike, Values
from lasthop.harness.definition import BUNDLED, Study, is_bundled, load_study
from lasthop.harness.errors import StudyError
from lasthop.harness.guard import blamed
from lasthop.harness.sources import digest
from lasthop.harness.values import NotPlainError, packed


@dataclass(frozen=True)
class Wanted:
    """The results of a run: the values of a reducer."""

    reducer: str
    #: Digest of all that the reducer's values depend on beside the run.
    sources: str
    #: Whether a figure may show the run: then the reducer returns arrays too.
    shown: bool

    @property
    def item(self) -> str:
        """The item under which the store has the values."""
        return f"reduced {self.reducer} {self.sources}{' shown' if self.shown else ''}"

    @property
    def items(self) -> tuple[str, ...]:
        """All items that are sufficient: values for a figure are sufficient for a claim as well."""
        return (self.item,) if self.shown else (self.item, Wanted(self.reducer, self.sources, True).item)


@dataclass(frozen=True)
class Task:
    """A run to make."""

    #: Its key in the store.
    key: str
    overrides: tuple[str, ...]
    seed: int
    wanted: tuple[Wanted, ...]
    #: Which run it is, in words.
    where: str
    #: The real kernel that makes it; empty: the simulator alone does.
    kernel: str = ""


@dataclass(frozen=True)
class Reduced(Made):
    """A finished run. The entries have the packed values of its reducers by item."""

    #: Values that are no plain data, by item: they are used and not kept.
    unkept: Mapping[str, Values] = field(default_factory=dict)
    #: What a reducer has raised: a mistake in the study, which every run would show.
    fault: StudyError | None = None


class Work:
    """Makes the runs of a study. In another process the study is loaded again."""

    def __init__(self, study: Study, backend: Backend, sources: Mapping[str, str] | None = None) -> None:
        """`sources`: the digest of each reducer that is known already."""
        self.study = study
        self.backend = backend
        self._sources = dict(sources or {})

    def __reduce__(self) -> tuple[object, ...]:
        folder = self.study.folder
        place = folder.name if is_bundled(folder) else folder.resolve()
        return _again, (place, self.study.quick, self.backend)

    def __call__(self, task: Task, stopped: Callable[[], bool]) -> Reduced:
        """Makes a run.

        Args:
            task: which.
            stopped: called about every 50 ms of the run; true ends it.

        Raises:
            RunFailedError: the run gave no result.
            KeyboardInterrupt: it was given up.
        """
        began = time.thread_time()
        what = "scenario"
        try:
            scenario = self.backend.load(self.study.scenario, task.overrides)
            if key_of(scenario, self.backend, task.kernel) != task.key:
                raise RunFailedError(OTHER_BUILD)
            what = "run"
            if task.kernel:
                if self.backend.kernel() != task.kernel:
                    raise RunFailedError(_OTHER_KERNEL)
                # The guest is a process of its own, whose time this thread does not count.
                waited = time.monotonic()
                output = self.backend.run_in_kernel(scenario, ended_by(stopped))
                began -= time.monotonic() - waited
            else:
                output = self.backend.run(scenario, ended_by(stopped))
            entries, unkept = [], {}
            for wanted in task.wanted:
                what = wanted.reducer
                values = self._reduced(wanted, Run(output, scenario, task.seed, wanted.shown))
                try:
                    entries.append(Entry(wanted.item, wanted.reducer, content=packed(values)))
                except NotPlainError:
                    unkept[wanted.item] = values
        except StudyError as error:
            return Reduced((), time.thread_time() - began, fault=error)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, RunFailedError):
            raise
        except BaseException as error:  # a panic of the core is no Exception
            raise RunFailedError(f"{what}: {one_line(error)}") from error
        spent = time.thread_time() - began
        return Reduced((Entry(COST, COST, spent), *entries), spent, unkept=unkept)

    def _reduced(self, wanted: Wanted, run: Run) -> dict[str, Any]:
        """What the reducer makes of a run."""
        name = wanted.reducer
        if name not in self._sources:
            self._sources[name] = sources_of(self.study, name, self.backend)
        if self._sources[name] != wanted.sources:
            raise RunFailedError(_OTHER_STUDY)
        reducer: Reducer = self.study.function(name)
        try:
            values = reducer(run)
        except (StudyError, LasthopError):
            raise
        except Exception as error:
            raise blamed(error, self.study.folder) from error
        if not isinstance(values, Mapping):
            raise StudyError(f"{self.study.code_file}: {name} returned {values!r}, no dict of values")
        return dict(values)


def key_of(scenario: ScenarioLike, backend: Backend, kernel: str = "") -> str:
    """The key of a run in the store: that of the same run in any campaign. `kernel`: see `Task`."""
    code = backend.code or ""
    return run_key(scenario.hash(), f"{code} linux {kernel}" if kernel else code)


def sources_of(study: Study, reducer: str, backend: Backend) -> str:
    """The digest of a reducer's sources; empty where nothing is kept, to save its computation."""
    return "" if backend.code is None else digest(study, reducer)


def _again(place: str | Path, quick: bool, backend: Backend) -> Work:
    """`place`: the folder, or the name of one that comes with the package.

    The package may be elsewhere there.
    """
    return Work(load_study(BUNDLED / place, quick), backend)


_OTHER_KERNEL = "the real kernel is another one here than where the study was planned"
_OTHER_STUDY = (
    "the study's files are others here than where it was planned: they have changed since, or other ones are installed"
)
