"""A scenario: parsed, checked, immutable, ready to run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop import _core
from lasthop._bundled import scenario_file
from lasthop._own import CONTROL, SCHEDULER, Controls, Definition, Schedulers, definitions
from lasthop._progress import Progress, share_bar
from lasthop._results import Results
from lasthop._simulation import Simulation
from lasthop._values import THREADS_MAX, Overrides, Value, assignments, plain_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    import pyarrow as pa


class Scenario:
    """A scenario, parsed and checked. Immutable: `with_` and `set` return changed copies.

    For example:

        results = Scenario.load("umts.toml").with_(seed=3).set("flow.ftp.tcp.cc", "reno").run()
    """

    __slots__ = ("_cc", "_core", "_schedulers")

    def __init__(self, core: _core.Scenario, cc: Controls | None = None, schedulers: Schedulers | None = None) -> None:
        self._core = core
        self._cc = dict(cc or {})
        self._schedulers = dict(schedulers or {})

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        set: Overrides = (),
        cc: Controls | None = None,
        schedulers: Schedulers | None = None,
    ) -> Scenario:
        """Reads a scenario file.

        Args:
            path: a TOML file, or the name of a bundled scenario such as "lte-handover" where there
                is no such file.
            set: keys to override, a mapping or texts `key=value`.
            cc: controls of your own by the name that `tcp.cc`, or `app.control` of media, uses.
            schedulers: schedulers of cells of your own by the name that
                `cell.NAME.downlink.scheduler` uses.

        Raises:
            LasthopError: the file has a mistake; the message shows where and what to do.
        """
        core = _core.Scenario.load(scenario_file(path), assignments(set), *_own(cc, schedulers))
        return cls(core, cc, schedulers)

    @classmethod
    def parse(
        cls,
        text: str,
        name: str = "<string>",
        base_dir: str | PathLike[str] | None = None,
        set: Overrides = (),
        cc: Controls | None = None,
        schedulers: Schedulers | None = None,
    ) -> Scenario:
        """Reads a scenario from TOML text.

        Args:
            text: the scenario.
            name: what messages call the text.
            base_dir: where relative paths in the scenario start; None: the current folder.
            set: keys to override, a mapping or texts `key=value`.
            cc: controls of your own by the name that `tcp.cc`, or `app.control` of media, uses.
            schedulers: schedulers of cells of your own by the name that
                `cell.NAME.downlink.scheduler` uses.

        Raises:
            LasthopError: the text has a mistake; the message shows where and what to do.
        """
        core = _core.Scenario.parse(plain_text(text, name), name, base_dir, assignments(set), *_own(cc, schedulers))
        return cls(core, cc, schedulers)

    @property
    def cc(self) -> Controls:
        """The congestion controls and rate controls of your own that the scenario uses, by name."""
        return dict(self._cc)

    @property
    def schedulers(self) -> Schedulers:
        """The schedulers of your own that the scenario uses, by name."""
        return dict(self._schedulers)

    @property
    def core(self) -> _core.Scenario:
        """The scenario in the extension module."""
        return self._core

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def seed(self) -> int:
        """The seed of every random draw."""
        return self._core.seed

    @property
    def duration(self) -> float:
        """Simulated time until the end [s]."""
        return self._core.duration_s

    @property
    def hash(self) -> str:
        """BLAKE3 of the effective scenario and of every file that it reads, as hex."""
        return self._core.hash()

    @property
    def warnings(self) -> list[_core.Diagnostic]:
        """Known pitfalls of this scenario, such as a buffer far below the BDP."""
        return self._core.warnings()

    def with_(self, overrides: Overrides = (), /, **keys: Value) -> Scenario:
        """A copy with some keys changed.

        In a keyword, `__` stands for a dot; `seed`, `duration` and `name` mean the scenario's own.

            s.with_(seed=2, flow__ftp__tcp__cc="reno")
            s.with_({"link.wired.delay": "50 ms"})

        The copy is checked as a whole once all keys are changed.

        Raises:
            LasthopError: the changed scenario has a mistake.
        """
        return Scenario(self._core.with_set(assignments(overrides, keys)), self._cc, self._schedulers)

    def set(self, key: str, value: Value) -> Scenario:
        """A copy with one key changed: `s.set("flow.ftp.tcp.cc", "reno")`.

        Each call of `set` and `with_` checks the whole scenario. Keys that are right only together,
        such as a queue's `min_packets` and `max_packets`, are changed in one `with_`.

        Raises:
            LasthopError: the changed scenario has a mistake.
        """
        return self.with_({key: value})

    def with_cc(self, cc: Controls, set: Overrides = ()) -> Scenario:
        """A copy with further controls of your own, and with some keys changed.

            s.with_cc({"aimd": Aimd}, {"flow.ftp.tcp.cc": "aimd"})

        A class derives from `lasthop.CongestionControl`, and a run makes an object of it for each
        end of each flow; or, for media flows, from `lasthop.RateControl`: one object for each flow.

        Raises:
            LasthopError: the changed scenario has a mistake.
            TypeError: a class derives from neither.
        """
        every = {**self._cc, **cc}
        core = self._core.with_own(*_own(every, self._schedulers), assignments(set))
        return Scenario(core, every, self._schedulers)

    def with_schedulers(self, schedulers: Schedulers, set: Overrides = ()) -> Scenario:
        """A copy with further schedulers of your own, and with some keys changed.

            s.with_schedulers({"edf": Edf}, {"cell.enb.downlink.scheduler": "edf"})

        A class derives from `lasthop.Scheduler`. A run makes an object of it for each cell and
        direction that names it.

        Raises:
            LasthopError: the changed scenario has a mistake.
            TypeError: a class does not derive from it.
        """
        every = {**self._schedulers, **schedulers}
        core = self._core.with_own(*_own(self._cc, every), assignments(set))
        return Scenario(core, self._cc, every)

    def to_toml(self) -> str:
        """The effective scenario, with every default. Reading this text gives the same run."""
        return self._core.to_toml()

    def profile_notes(self) -> str:
        """The values that `scenario.profile` sets, their sources, and what it leaves out.

        The text consists of TOML comments.
        """
        found = self._core.profile_limits()
        if found is None:
            return ""
        name, limits = found
        lines = [f'scenario.profile = "{name}" has set (lasthop describe profile {name}):']
        lines += [f"  {key} = {value}  ({source})" for key, value, source in self._core.profile_settings()]
        lines += ["It does not imitate or set:", *(f"  {limit}" for limit in limits)]
        return "".join(f"# {line}\n" for line in lines)

    def run(
        self,
        out: str | PathLike[str] | None = None,
        progress: Progress = False,
        replace: bool = False,
        capture: str | PathLike[str] | None = None,
        threads: int = 1,
    ) -> Results:
        """Runs to the end.

        Args:
            out: a folder for the results (Parquet tables, summary, manifest). With it, memory
                does not grow with the length of the run; without it, the tables are kept in memory.
                Unfinished folders that killed runs left beside `out` are removed, with a warning.
            progress: True shows a bar on a terminal; a function gets the share done, 0 to 1, about
                every 50 ms or more often.
            replace: results of an earlier run in `out` are replaced, once the new ones are
                complete.
            capture: a file for a packet capture, such as "run.pcapng"; `[output.capture]` of the
                scenario determines its content. Until the file is complete, its name ends with
                `.partial`. An earlier file is replaced.
            threads: how many threads share the work of the run, 1 to 256. The results are the same,
                byte for byte. Only LTE cells use them; they help networks with many active UEs.
                Several runs take less time side by side (`run_many`).

        Raises:
            LasthopError: `threads` is out of range.
            FolderInUseError: `out` holds something (with `replace`: something else than results),
                or another run is writing it.
            TypeError: `progress` is neither True, False nor a function.
        """
        threads = whole_number(threads, "threads", 1, THREADS_MAX)
        if out is not None:
            for note in _core.clear_stale(out):
                warnings.warn(note, stacklevel=2)
        with share_bar(self.name, progress) as report:
            output = _core.run(self._core, out, report, replace, capture, threads)
        return Results(output, None if out is None else Path(out))

    def geometry(self, drops: int = 1, progress: Progress = False) -> pa.Table:
        """Coupling gain, RSRP, geometry and SINR of each UE with all cells at full power.

        Large scale: path loss, antennas, shadowing and walls, without fading.

        Args:
            drops: how often places, shadowing and lines of sight are drawn, 1 to 100,000; each drop
                has the next seed.
            progress: True shows a bar on a terminal; a function gets the share done, 0 to 1.

        Returns:
            The table `geometry`: a row for each UE and drop, with its strongest cell.

        Raises:
            LasthopError: `drops` is out of range, or the scenario has no cells or no UEs.
        """
        drops = whole_number(drops, "drops", 1, 100_000)
        with share_bar(self.name, progress) as report:
            return self._core.geometry(drops, report)

    def radio_map(
        self,
        step: float,
        area: Sequence[float] | None = None,
        height: float | None = None,
        ue: str | None = None,
        progress: Progress = False,
    ) -> pa.Table:
        """RSRP and SINR over a grid, with all cells at full power.

        Large scale: path loss, antennas, shadowing and walls, without fading.

        Args:
            step: distance of neighbouring places [m], above 0; at most 4 million places.
            area: x and y of the lower left, then of the upper right corner [m]; None: all sites and
                the ground around them.
            height: height of the receiver [m], 0 to 100,000; None: that of the UE.
            ue: the UE table whose receiver is moved over the grid; None: the first.
            progress: True shows a bar on a terminal; a function gets the share done, 0 to 1.

        Returns:
            The table `radio-map`: a row for each place, with its best cell.

        Raises:
            LasthopError: `step`, `area` or `height` is out of its range, there is no such UE table,
                or the scenario has no cells or no UEs.
            ValueError: `area` has not four numbers.
        """
        with share_bar(self.name, progress) as report:
            return self._core.radio_map(step, area, height, ue, report)

    def simulate(
        self,
        out: str | PathLike[str] | None = None,
        capture: str | PathLike[str] | None = None,
        threads: int = 1,
    ) -> Simulation:
        """Starts a run that you drive step by step.

        Arguments and errors are those of `run`.
        """
        return Simulation(self, out, capture, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the text and the overrides, read again.

        Relative paths in it start where they did.

        Your own congestion controls and schedulers are pickled by name: the other process imports
        their module.
        """
        text, name, sets = self._core.source()
        return _restored, (text, name, str(self._core.base_dir.absolute()), sets, self._cc, self._schedulers)

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.duration:g} s, seed {self.seed}>"


def _restored(text: str, name: str, base: str, sets: list[str], cc: Controls, schedulers: Schedulers) -> Scenario:
    return Scenario.parse(text, name, base, sets, cc, schedulers)


def _own(cc: Controls | None, schedulers: Schedulers | None) -> tuple[list[Definition], list[Definition]]:
    return definitions(CONTROL, cc or {}), definitions(SCHEDULER, schedulers or {})


def run_many(
    scenarios: Sequence[Scenario],
    jobs: int = 0,
    outs: Sequence[str | PathLike[str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Results]:
    """Runs scenarios side by side, in one process. The results do not depend on `jobs`.

    Congestion controls and schedulers written in Python work here too. Their callbacks run one at a
    time, because they share one interpreter.

    Args:
        scenarios: the scenarios to run.
        jobs: number of runs at a time, from 0 on; 0: one per core.
        outs: a folder for each run's results; None: they stay in memory.
        progress: called with (runs done, runs in all).

    Returns:
        The results, in the order of the scenarios.

    Raises:
        LasthopError: `jobs` is below 0, or a run has failed.
        TypeError: one of `scenarios` is not a `Scenario`.
        ValueError: there are not as many `outs` as scenarios.
    """
    for number, scenario in enumerate(scenarios):
        if not isinstance(scenario, Scenario):
            raise TypeError(
                f"scenarios[{number}] is of type {type(scenario).__name__}, not a Scenario: read it with Scenario.load"
            )
    jobs = min(whole_number(jobs, "jobs", 0), max(len(scenarios), 1))
    if outs is not None and len(outs) != len(scenarios):
        raise ValueError(f"{len(scenarios)} scenarios need as many folders, not {len(outs)}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is None or a function, not {progress!r}")
    outputs = _core.run_many([s.core for s in scenarios], jobs, outs, progress)
    paths = [None] * len(scenarios) if outs is None else [Path(p) for p in outs]
    return [Results(output, path) for output, path in zip(outputs, paths, strict=True)]
