"""The data for reducers and evaluators: a finished run, and the reduced runs of a parameter set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lasthop.harness.definition import BASE, ParameterSet, Point, Variation
from lasthop.harness.errors import NoKernelError, NoRunsError
from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

#: What a reducer returns: named numbers and, for runs that are shown, arrays behind the figures.
Values = Mapping[str, Any]
Reducer = Callable[["Run"], Values]


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
    """Reads and runs scenarios: the simulator, or a replacement in a test.

    Several threads use it at a time. It pickles, for worker processes.
    """

    @property
    def code(self) -> str | None:
        """What tables depend on besides the scenario and the build of the simulator.

        For the simulator this is empty. None: it is not known, so nothing is kept in a store, and
        nothing is taken from one.
        """

    def load(self, path: Path, overrides: Sequence[str]) -> ScenarioLike:
        """The scenario file with `key=value` overrides. Raises ValueError for a mistake."""

    def run(self, scenario: Any, progress: Callable[[float], None]) -> OutputLike:
        """Runs a scenario.

        `progress` gets the share done about every 50 ms; an exception that it raises ends the run.
        """

    def kernel(self) -> str:
        """Names the real kernel. Raises LasthopError: there is none, with the reason."""

    def run_in_kernel(self, scenario: Any, progress: Callable[[float], None]) -> OutputLike:
        """As `run`, for a scenario of which some nodes have the TCP of a real kernel."""


class Simulator:
    """The simulator."""

    #: Studies have no policies of their own in Python.
    code = ""

    def load(self, path: Path, overrides: Sequence[str]) -> ScenarioLike:
        """Reads and checks the file in the core."""
        from lasthop import _core

        return _core.Scenario.load(path, set=list(overrides))

    def run(self, scenario: Any, progress: Callable[[float], None]) -> OutputLike:
        """Runs it in this thread, without the interpreter's lock."""
        from lasthop import _core

        return _core.run(scenario, None, progress)

    def kernel(self) -> str:
        """The hash of the kernel that `lasthop linux build` has made."""
        from lasthop import linux

        return str(linux.find().manifest["kernel_sha256"])

    def run_in_kernel(self, scenario: Any, progress: Callable[[float], None]) -> OutputLike:
        """Runs it in a guest, which has a processor core of its own while this thread waits."""
        import tempfile
        from pathlib import Path

        from lasthop import Scenario, linux

        with tempfile.TemporaryDirectory(prefix="lasthop-study-") as place:
            out = Path(place, "out")
            found = linux.run(Scenario(scenario), linux.find(), out, watch=lambda: progress(0.0))
            return _Tables({name: found.table(name) for name in found.table_names})


@dataclass(frozen=True)
class _Tables:
    """The tables of a run whose folder is gone."""

    found: Mapping[str, pa.Table]

    def table_names(self) -> list[str]:
        return list(self.found)

    def table(self, name: str) -> pa.Table:
        return self.found[name]


@dataclass(frozen=True)
class Run:
    """One finished run, as a reducer gets it."""

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
    """What is kept of one run: the point of the grid, the seed, the reduced values."""

    point: Point
    seed: int
    values: Values


@dataclass
class Data:
    """The reduced runs of one parameter set in one variation, which an evaluator judges."""

    parameter_set: ParameterSet
    variation: Variation = BASE
    records: dict[str, list[Record]] = field(default_factory=dict)
    effective: Mapping[str, Any] = field(default_factory=dict)
    #: Why the runs of a group were not made.
    absent: dict[str, str] = field(default_factory=dict)

    def runs(self, group: str, **where: Any) -> list[Record]:
        """The runs of a group at the points that match `where`, in grid order, then by seed."""
        if group in self.absent:
            raise NoKernelError(self.absent[group])
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
        """A value of the effective base scenario by its dotted key; None if it has no such key."""
        here: Any = self.effective
        for part in key.split("."):
            if not isinstance(here, Mapping) or part not in here:
                return None
            here = here[part]
        return here
