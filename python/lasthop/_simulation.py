"""A run that its caller advances step by step, and may read and change between the steps."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lasthop import _core
from lasthop._results import Results
from lasthop._values import THREADS_MAX, plain_text, to_toml, whole_number

if TYPE_CHECKING:
    from os import PathLike

    from lasthop._scenario import Scenario


class Simulation:
    """A run that is driven step by step.

    When nothing is changed between the steps, the results are those of `Scenario.run`, byte for
    byte.

        sim = Scenario.load("umts.toml").simulate()
        sim.step_until("30 s")
        sim.set("bearer.dch.downlink.bler", "10 %")
        print(sim.tcp_info("ftp")["snd_cwnd"])
        results = sim.finish()

    Only the thread that made a simulation may use it; any other thread gets a RuntimeError. A
    forked child process may continue with its copy of a simulation that keeps its results in
    memory; with a simulation that writes a folder it gets a RuntimeError.
    """

    def __init__(
        self,
        scenario: Scenario,
        out: str | PathLike[str] | None = None,
        capture: str | PathLike[str] | None = None,
        threads: int = 1,
    ) -> None:
        threads = whole_number(threads, "threads", 1, THREADS_MAX)
        self._core = _core.Simulation(scenario.core, out, capture, threads)
        self._thread = threading.current_thread()
        self._out = None if out is None else Path(out)

    @property
    def _world(self) -> _core.Simulation:
        if threading.current_thread() is not self._thread:
            raise RuntimeError(
                f"this simulation belongs to the thread '{self._thread.name}', which made it: "
                "use it there, or make another in this thread"
            )
        return self._core

    def __reduce__(self) -> NoReturn:
        raise TypeError("a simulation in progress cannot be pickled: pickle its scenario, or its results")

    @property
    def now(self) -> float:
        """Simulated time [s]."""
        return self._world.now_s

    @property
    def now_ns(self) -> int:
        """Simulated time, exact [ns]."""
        return self._world.now_ns

    def step_until(self, t: float | str) -> None:
        """Runs up to `t`: seconds, or text with a unit such as `"30 s"`.

        A change made after the call applies to all events at `t`. A `t` beyond the scenario's end
        stops the run at the end.

        Raises:
            LasthopError: `t` is before `now`, negative or no time.
            RuntimeError: the simulation has finished.
        """
        self._world.step_until(t)

    def set(self, key: str, value: str | float | bool | list[Any] | dict[str, Any]) -> None:
        """Changes a runtime key now, as `[[at]]` would.

        Example: `sim.set("link.wired.rate", "2 Mbit/s")`.

        Raises:
            LasthopError: the key is unknown or fixed during a run, or the value is not valid.
        """
        plain_text(f"{key}={to_toml(value)}", "a change")
        self._world.set(key, value)

    def start(self, name: str) -> None:
        """Starts a flow, fault or snoop agent now: `sim.start("flow.ftp")`.

        Raises:
            LasthopError: nothing has this name.
        """
        self._world.start(name)

    def stop(self, name: str) -> None:
        """Stops a flow, fault or snoop agent now: `sim.stop("flow.ftp")`.

        Raises:
            LasthopError: nothing has this name.
        """
        self._world.stop(name)

    def tcp_info(self, flow: str) -> dict[str, Any]:
        """The state of a flow's sender under the names of Linux's tcp_info (segments, µs).

        Raises:
            LasthopError: there is no TCP flow of this name.
        """
        return self._world.tcp_info(flow)

    def finish(self) -> Results:
        """Runs to the scenario's end and returns the results.

        Raises:
            RuntimeError: the simulation has finished before.
        """
        return Results(self._world.finish(), self._out)

    def __repr__(self) -> str:
        return f"<Simulation at {self.now:g} s>"
