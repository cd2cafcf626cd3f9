"""The extension module (crate `py`): scenario in, Arrow columns out."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict, final, type_check_only

import pyarrow as pa

__version__: str

@type_check_only
class Diagnostic(TypedDict):
    severity: str  # "error" | "warning"
    message: str
    file: str | None
    line: int | None  # 1-based
    column: int | None  # 1-based
    key: str | None  # dotted path, such as "flow.ftp.tcp.cc"
    help: str | None

class LasthopError(ValueError):
    """A mistake in an input: a scenario, a trace, a key. `str()` is the rendered, multi-line message."""

    diagnostics: list[Diagnostic]

@final
class Scenario:
    """A parsed and checked scenario. Immutable."""

    @staticmethod
    def load(path: str | PathLike[str], set: Sequence[str] = ...) -> Scenario: ...
    @staticmethod
    def parse(
        text: str,
        name: str = "<string>",
        base_dir: str | PathLike[str] | None = None,
        set: Sequence[str] = ...,
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    def with_set(self, set: Sequence[str]) -> Scenario:
        """A copy with `key=value` overrides (values in TOML syntax; a bare word is taken as a string)."""
    def to_toml(self) -> str:
        """The effective scenario, every default spelled out. Reading it back gives the same run."""
    def warnings(self) -> list[Diagnostic]: ...
    def hash(self) -> str:
        """BLAKE3 of the effective scenario and of every file that it reads, as hex."""

@final
class RunOutput:
    """What a run left behind, in memory."""

    @property
    def manifest(self) -> str: ...  # JSON
    @property
    def summary(self) -> str: ...  # JSON
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> pa.Table: ...

@final
class Simulation:
    """A world in progress: step, look, change, go on."""

    def __new__(cls, scenario: Scenario, out: str | PathLike[str] | None = None) -> Simulation: ...
    @property
    def now_s(self) -> float: ...
    @property
    def now_ns(self) -> int: ...
    def step_until(self, t: str | float) -> None:
        """Runs up to `t` (seconds, or text with a unit); a change now is in force for all that happens at `t`."""
    def set(self, key: str, value: str | float | int | bool) -> None:
        """Changes a runtime key now, as `[[at]]` would."""
    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def tcp_info(self, flow: str) -> dict[str, Any]:
        """tcp_info of the flow's sender, Linux names."""
    def finish(self) -> RunOutput:
        """Runs to the scenario's end and returns (or, with `out`, writes) the results."""

def run(
    scenario: Scenario,
    out: str | PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput:
    """Runs to the end without holding the GIL. With `out`, tables go to Parquet files there, memory stays flat
    in simulated time, and `table()` reads the files. `progress` gets the share done, 0 to 1. Ctrl-C stops it."""

def run_many(
    scenarios: Sequence[Scenario],
    jobs: int = 0,
    outs: Sequence[str | PathLike[str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[RunOutput]:
    """Runs all, `jobs` at a time (0: every core), in one process. The results do not depend on `jobs`."""

def json_schema() -> str:
    """JSON Schema of a scenario file."""

def describe() -> str:
    """JSON: every plug-in by name, every table with its columns, units and descriptions."""

def import_trace(src: str | PathLike[str], dst: str | PathLike[str], format: str | None = None) -> str:
    """Converts a capacity trace to the Mahimahi format; returns statistics as JSON.
    `format`: "mahimahi", "mbps-csv" (time_s,mbps), "nyu-mets", "5gophers"; None: recognised from the content."""

def packetdrill(
    scripts: Sequence[tuple[str, str]],
    profile: str | None = None,
    cc: str | None = None,
    verbose: bool = False,
) -> str:
    """Runs packetdrill scripts, given as (name, text), in virtual time; returns JSON: `scripts`, each with `name`,
    `verdict` ("passed", "failed", "not-applicable", "mistake"), `line`, `column`, `message`, `transcript`, and
    `categories`."""
