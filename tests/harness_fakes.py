"""A pretended simulator for tests of the harness.

Scenarios are nested dicts, tables come from a function.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pyarrow as pa

from lasthop import LasthopError
from lasthop.harness.definition import toml_value

if TYPE_CHECKING:
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Tables = Mapping[str, pa.Table]


class FakeScenario:
    """A scenario as a nested dict."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    @property
    def duration_s(self) -> float:
        return float(str(self.content["scenario"]["duration"]).split()[0])

    @property
    def seed(self) -> int:
        return int(self.content["scenario"]["seed"])

    def get(self, key: str) -> Any:
        here: Any = self.content
        for part in key.split("."):
            here = here.get(part) if isinstance(here, dict) else None
        return here

    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.content, sort_keys=True).encode()).hexdigest()

    def to_toml(self) -> str:
        return "".join(f"{key} = {toml_value(value)}\n" for key, value in self.content.items())


class FakeOutput:
    """A run's tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def table_names(self) -> list[str]:
        return list(self.tables)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


class FakeBackend:
    """Loads TOML, applies overrides, and asks `simulate` for the tables of each run."""

    def __init__(self, simulate: Callable[[FakeScenario], Tables], code: str | None = None) -> None:
        self.simulate = simulate
        #: What names the made-up simulator in a store; None: nothing is kept there.
        self.code = code
        #: The real kernel; None: there is none.
        self.linux: str | None = None
        self.ran: list[FakeScenario] = []
        self.in_kernel: list[FakeScenario] = []
        self.alive: WeakSet[FakeOutput] = WeakSet()
        self.most_alive = 0

    def load(self, path: Path, overrides: Sequence[str]) -> FakeScenario:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for override in overrides:
            key, text = override.split("=", 1)
            try:
                value = tomllib.loads(f"v = {text}")["v"]
            except tomllib.TOMLDecodeError:
                value = text
            if value == "refused":
                raise ValueError(f"{key}: this value is refused")
            here = content
            *parents, last = key.split(".")
            for part in parents:
                here = here.setdefault(part, {})
            here[last] = value
        return FakeScenario(content)

    def run(self, scenario: FakeScenario, progress: Callable[[float], None]) -> FakeOutput:
        progress(0.0)
        self.ran.append(scenario)
        output = FakeOutput(self.simulate(scenario))
        self.alive.add(output)
        self.most_alive = max(self.most_alive, len(self.alive))
        return output

    def kernel(self) -> str:
        if self.linux is None:
            raise LasthopError("no kernel was built yet")
        return self.linux

    def run_in_kernel(self, scenario: FakeScenario, progress: Callable[[float], None]) -> FakeOutput:
        self.in_kernel.append(scenario)
        return self.run(scenario, progress)
