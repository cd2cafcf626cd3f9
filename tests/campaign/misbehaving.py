"""Measures and plans that fail, as those of a user may. Worker processes import this module."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lasthop import Results, Scenario
from lasthop.campaign.jobs import Job
from lasthop.campaign.metrics import Outcome
from tests.campaign.plans import HandMade


@dataclass(frozen=True)
class Own:
    """A measure in Python: the number of flows.

    What `how` says happens in runs of the seed `bad`.
    """

    how: str = ""
    bad: int = 2
    #: Where it leaves a note that it was called: then it is good the next time.
    once: Path | None = None
    name: str = "own"
    unit: str = "1"
    text: str = "misbehaving.py:Own"
    tables: frozenset[str] = frozenset({"flows"})
    needs_processes: bool = True

    @property
    def identity(self) -> str:
        return "own measure"

    def outcome(self, run: Results) -> Outcome:
        seed = run.manifest["seed"]
        if seed == self.bad and (self.once is None or not self.once.exists()):
            if self.once is not None:
                self.once.touch()
            if self.how == "raise":
                raise ValueError("seed 2 is bad\nand more")
            if self.how == "exit":
                os._exit(3)
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "sys.exit":
                raise SystemExit(4)
            if self.how == "endless":
                while True:
                    pass
            if self.how == "sleep":
                with suppress(Exception):  # it catches what is raised in it
                    time.sleep(15)
            if self.how == "none":
                return Outcome(None, "not in this run")
        return Outcome(float(run.flows.num_rows))


class Unreadable(HandMade):
    """A plan that a worker cannot read."""

    def __reduce__(self) -> tuple[object, ...]:
        return _refuse, ()


def _refuse() -> None:
    raise ImportError("no module named 'typed_into_a_prompt'")


class Elsewhere(HandMade):
    """A plan whose scenarios are others where it is unpickled.

    As with another version of a file.
    """

    moved = False

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        object.__setattr__(self, "moved", True)

    def scenario(self, job: Job) -> Scenario:
        made = super().scenario(job)
        return made.set("link.path.delay", "21 ms") if self.moved else made
