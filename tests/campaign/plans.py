"""A plan of a campaign made by hand.

What `lasthop.Campaign` is to executors and store, without its file.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lasthop import Scenario
from lasthop.campaign.jobs import Expression, Job, Label, Measure, Point
from lasthop.campaign.metrics import Metric
from tests.scenarios import WIRED

if TYPE_CHECKING:
    from lasthop.campaign.sequential import Rule


@dataclass(frozen=True)
class Column:
    name: str
    keys: tuple[str, ...]
    unit: str | None = None


def measures(**texts: str) -> tuple[Measure, ...]:
    return tuple(Expression(Metric.parse(name, text)) for name, text in texts.items())


GOODPUT = measures(goodput='flow("ftp").goodput_bps in Mbit/s', timeouts='flow("ftp").timeouts')


@dataclass(frozen=True)
class HandMade:
    """A plan over the scenario `text`: all combinations of the values of `sets`."""

    sets: Mapping[str, Sequence[Label]]
    seeds: Sequence[int] = (1, 2, 3)
    text: str = WIRED
    measures: tuple[Measure, ...] = GOODPUT
    keep: tuple[str, ...] = ()
    until: Rule | None = None
    name: str = "by-hand"
    description: str = "made by hand"
    digest: str = "0" * 32
    held_by_gil: bool = False
    code: str = ""
    base: Scenario = field(init=False, repr=False)
    points: Sequence[Point] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", Scenario.parse(self.text, set={"scenario.duration": "0.5 s"}))
        object.__setattr__(self, "points", self._points())

    @property
    def axes(self) -> Sequence[Column]:
        return [Column(key.rpartition(".")[2], (key,)) for key in self.sets]

    def _points(self) -> Sequence[Point]:
        found = []
        for n, values in enumerate(itertools.product(*self.sets.values())):
            pairs = tuple(zip(self.sets, values, strict=True))
            labels = tuple((key.rpartition(".")[2], value) for key, value in pairs)
            found.append(Point(n, labels, tuple(f"{key}={value}" for key, value in pairs)))
        return found

    def code_of(self, scenario: Scenario) -> str:
        return self.code

    def seed_at(self, index: int) -> int:
        return self.seeds[index] if index < len(self.seeds) else max(self.seeds) + 1 + index - len(self.seeds)

    def scenario(self, job: Job) -> Scenario:
        sets = {key: label for key, (_, label) in zip(self.sets, job.point.labels, strict=True)}
        return self.base.with_({**sets, "scenario.seed": job.seed})

    @property
    def subject(self) -> str:
        return self.digest

    @property
    def ground(self) -> str:
        return self.text

    def bundle(self, folder: Path) -> tuple[str, bool]:
        return self.to_toml(), False

    def to_toml(self) -> str:
        return f'[campaign]\nname = "{self.name}"\n'


def small(**changes: object) -> HandMade:
    """Two congestion controls on a lossy link, three seeds."""
    return HandMade({"flow.ftp.tcp.cc": ["reno", "cubic"], "link.path.loss": ["0 %", "2 %"]}, **changes)  # type: ignore[arg-type]


def start_of_process_s() -> float:
    """The time that an interpreter takes now to import campaigns [s]: longer on a busy machine."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import lasthop.campaign.conduct"], check=True)
    return time.monotonic() - began
