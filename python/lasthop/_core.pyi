"""The extension module (crate `py`): scenario in, Arrow columns out."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypedDict, final, type_check_only

import pyarrow as pa
from typing_extensions import NotRequired, Self, disjoint_base

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
    set: NotRequired[int | None]  # 1-based number of the override that the mistake is in

class LasthopError(ValueError):
    """A mistake in an input: a scenario, a trace, a key. `str()` is the rendered, multi-line message."""

    diagnostics: list[Diagnostic]
    """The single mistakes: `severity`, `message`, `file`, `line` and `column` (from 1), `key`, `help`."""

class FolderInUseError(LasthopError):
    """The result folder is not empty, or another run is writing it. Raised before the simulation begins."""

@type_check_only
class OwnPolicy(Protocol):
    """What `lasthop._own` has read from a class."""

    @property
    def name(self) -> str: ...
    @property
    def media(self) -> bool: ...
    @property
    def make(self) -> Callable[..., object]: ...
    @property
    def summary(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def parameters(self) -> list[tuple[str, float]]: ...
    @property
    def any_parameter(self) -> bool: ...

@disjoint_base
class CongestionControl:
    """Derive from this to write a congestion control. Windows are in segments of the sender's size.

    A run makes one object for each end of each flow and calls its methods at events. A callback sets `cwnd`,
    `ssthresh` and, if the sender is to be paced, `pacing_rate`; loss detection and retransmission are tasks of the
    stack. Only `on_ack` must be defined; the defaults of the others follow RFC 5681. Numbers in `cc_parameters` of
    the scenario arrive as keyword arguments of `__init__`.
    """

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    @property
    def cwnd(self) -> float:
        """Congestion window [segments], at least 1. The stack sets it too: PRR, restart after idleness."""
    @cwnd.setter
    def cwnd(self, value: float, /) -> None: ...
    @property
    def ssthresh(self) -> float:
        """Slow-start threshold [segments]; infinite at the start."""
    @ssthresh.setter
    def ssthresh(self, value: float, /) -> None: ...
    @property
    def pacing_rate(self) -> float | None:
        """Pacing rate [bit/s]; None: as the profile sets it."""
    @pacing_rate.setter
    def pacing_rate(self, value: float | None, /) -> None: ...
    @property
    def flow(self) -> str:
        """Name of the flow; empty while `__init__` runs."""
    @property
    def end(self) -> str:
        """The end of the flow that it controls: "from" or "to"; empty while `__init__` runs."""
    def init(self, start: Established) -> None:
        """The handshake is done. Default: cwnd becomes the initial window."""
    def on_ack(self, _ack: AckSample) -> None:
        """Data was delivered: an ACK of new data, or one with new SACK information. Must be defined."""
    def on_round(self, _ack: AckSample) -> None:
        """A round trip has ended: the last octet sent at its start is acknowledged. Called before `on_ack`."""
    def on_loss(self, loss: Congestion) -> None:
        """Loss recovery begins, or a congestion mark has arrived. Default: ssthresh and cwnd become half the flight."""
    def on_timeout(self, loss: Congestion) -> None:
        """The retransmission timer expired. Default: ssthresh becomes half the flight, cwnd 1."""
    def on_hint(self, _hint: Hint) -> None:
        """A report of the radio network about the last hop has arrived."""
    def on_recovered(self, _now: float) -> None:
        """Fast recovery has ended."""
    def on_undo(self, cwnd: float, ssthresh: float) -> None:
        """The last reduction was spurious; the arguments are the values before it. Default: restores at least these."""
    observables: ClassVar[dict[str, str]]
    """Names of the variables that the table `cc` has of it, with their units; "text": a state. Default: none."""
    @property
    def observed(self) -> bool:
        """True if the run has the table `cc` (`output.cc`); False while `__init__` runs."""
    def observe(self) -> dict[str, Any]:
        """The values of `observables` by name, numbers or texts; None or left out: not known. Default: none.

        Called only where `observed` is true. A name that is not in `observables` ends the run.
        """
    def note(self, name: str, value: float | str) -> None:
        """A variable of `observables` takes a value while a callback runs: each has a row, in the order of the calls.

        It is for several changes within one ACK, of which `observe` shows only the last. No effect unless `observed`.
        """
    def slow_start(self, ack: AckSample) -> float:
        """Grows cwnd by the delivered segments, up to ssthresh; returns the segments that were not used."""

@final
class Hint:
    """A report of the radio network about the last hop; None: not reported."""

    @property
    def now(self) -> float:
        """When it reached the sender [s]."""
    @property
    def measured(self) -> float | None:
        """When the readings were taken [s]."""
    @property
    def rate(self) -> float | None:
        """Achievable rate R(t) [bit/s]."""
    @property
    def queue(self) -> int | None:
        """Layer-2 queue Q(t) [octets]."""
    @property
    def grant(self) -> float | None:
        """Rate at which the terminal is served in the uplink [bit/s]."""
    @property
    def notice(self) -> str | None:
        """The event of the link: handover-begins, handover-done, outage-begins or outage-over."""
    @property
    def period(self) -> float | None:
        """Time to the next hint [s]."""

@final
class AckSample:
    """The report of an ACK. Counts in octets, offsets of the sender's stream (0 is the SYN), times in seconds."""

    @property
    def now(self) -> float:
        """When it arrived [s]."""
    @property
    def acked(self) -> int:
        """Octets newly acknowledged cumulatively; 0 if it has new SACK information only."""
    @property
    def delivered(self) -> int:
        """Octets newly delivered, by acknowledgement or SACK."""
    @property
    def total_delivered(self) -> int:
        """Octets delivered since the start."""
    @property
    def lost(self) -> int:
        """Octets newly marked as lost."""
    @property
    def marked(self) -> int:
        """The octets of `delivered` with a congestion mark."""
    @property
    def in_flight(self) -> int:
        """Octets in flight after the ACK."""
    @property
    def flight_before(self) -> int:
        """Octets in flight before the ACK."""
    @property
    def una(self) -> int:
        """SND.UNA after the ACK."""
    @property
    def nxt(self) -> int:
        """SND.NXT when it arrived."""
    @property
    def mss(self) -> int:
        """Sender's segment size [octets]."""
    @property
    def segments(self) -> float:
        """`delivered` in segments."""
    @property
    def rtt(self) -> float | None:
        """Round trip of the newest segment acknowledged, if that was sent once [s]."""
    @property
    def srtt(self) -> float | None:
        """Smoothed round trip [s]."""
    @property
    def delivery_rate(self) -> float | None:
        """Estimated delivery rate [bit/s]; None unless `recovery = "rack"`."""
    @property
    def app_limited(self) -> bool:
        """The rate was measured while the application had nothing to send."""
    @property
    def state(self) -> str:
        """The sender's state after the ACK: "open", "disorder", "cwr", "recovery" or "loss"."""
    @property
    def dup_acks(self) -> int:
        """Duplicate ACKs directly before this ACK."""
    @property
    def cwnd_limited(self) -> bool:
        """True if the congestion window limited the sender."""
    @property
    def may_grow(self) -> bool:
        """False in fast recovery, where the stack sets the window."""
    @property
    def after_timeout(self) -> bool:
        """True in the slow start after a timeout."""

@final
class Established:
    """The values that are known at the end of the handshake."""

    @property
    def now(self) -> float:
        """When [s]."""
    @property
    def rtt(self) -> float | None:
        """The handshake's round trip, if the SYN was sent once [s]."""
    @property
    def initial_window(self) -> float:
        """The initial window [segments]."""
    @property
    def mss(self) -> int:
        """Sender's segment size [octets]."""
    @property
    def seed(self) -> int:
        """Depends only on the scenario's seed and the flow, so `random.Random(start.seed)` is repeatable."""

@final
class Congestion:
    """A congestion signal: a loss or a mark."""

    @property
    def now(self) -> float:
        """When [s]."""
    @property
    def signal(self) -> str:
        """The signal: "loss" or "ecn"."""
    @property
    def flight(self) -> float:
        """FlightSize [segments], as the profile's `ssthresh_basis` defines it."""
    @property
    def repeated(self) -> bool:
        """The timer expired once more for the same segment: the window was already reduced."""

@disjoint_base
class RateControl:
    """Derive from this to write a rate control of media flows (`app = "media"`). Rates are in bit/s, sizes in octets.

    A run makes one object for each media flow that names it in `app.control`. It is called for each report of the
    receiver (RFC 8888) and sets `target_rate`, the rate for the encoder. It may set `pacing_rate` and `window`. Rates
    and sizes count RTP packets with their headers, without UDP and IP. Only `on_feedback` must be defined. Numbers in
    `control_parameters` of the scenario arrive as keyword arguments of `__init__`.
    """

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    @property
    def target_rate(self) -> float:
        """The rate for the encoder [bit/s], at least 1; the encoder keeps within its own lowest and highest rate."""
    @target_rate.setter
    def target_rate(self, value: float, /) -> None: ...
    @property
    def pacing_rate(self) -> float | None:
        """The rate at which packets leave [bit/s], at least 1; None: 1.5 times `target_rate`."""
    @pacing_rate.setter
    def pacing_rate(self, value: float | None, /) -> None: ...
    @property
    def window(self) -> int | None:
        """Octets that may be in flight; None: no bound."""
    @window.setter
    def window(self, value: int | None, /) -> None: ...
    @property
    def flow(self) -> str:
        """Name of the flow; empty while `__init__` runs."""
    def init(self, start: MediaStart) -> None:
        """The flow was created and has not started. Default: target_rate becomes `start.start_rate`."""
    def on_feedback(self, _report: MediaReport) -> None:
        """A report of the receiver has arrived. Must be defined."""
    def on_sent(self, _packet: SentMedia) -> None:
        """A packet of video leaves the sender."""
    observables: ClassVar[dict[str, str]]
    """Names of the variables that the table `cc` has of it, with their units; "text": a state. Default: none.

    Names that begin with `media.` are those of every media flow.
    """
    @property
    def observed(self) -> bool:
        """True if the run has the table `cc` (`output.cc`); False while `__init__` runs."""
    def observe(self) -> dict[str, Any]:
        """The values of `observables` by name, numbers or texts; None or left out: not known. Default: none.

        Called only where `observed` is true. A name that is not in `observables` ends the run.
        """
    def note(self, name: str, value: float | str) -> None:
        """A variable of `observables` takes a value while a callback runs: each has a row, in the order of the calls.

        No effect unless `observed`.
        """

@final
class MediaStart:
    """The setting of a rate control: the keys of the application `media`."""

    @property
    def min_rate(self) -> float:
        """Lowest rate of the encoder [bit/s]."""
    @property
    def max_rate(self) -> float:
        """Highest rate of the encoder [bit/s]."""
    @property
    def start_rate(self) -> float:
        """Rate at the start [bit/s]."""
    @property
    def frame_rate(self) -> float:
        """Frames per second at most."""
    @property
    def feedback(self) -> float:
        """Time between two reports [s]."""
    @property
    def packet(self) -> int:
        """Largest RTP packet [octets]."""
    @property
    def l4s(self) -> bool:
        """The packets are sent as ECT(1): marks are those of L4S (RFC 9331)."""
    @property
    def seed(self) -> int:
        """Depends only on the scenario's seed and the flow, so `random.Random(start.seed)` is repeatable."""

@final
class SentMedia:
    """A packet of video that leaves the sender."""

    @property
    def number(self) -> int:
        """Its number, counted from 0."""
    @property
    def size(self) -> int:
        """Its size with the RTP header [octets]."""
    @property
    def now(self) -> float:
        """When it leaves [s]."""
    @property
    def in_flight(self) -> int:
        """Octets in flight with it: sent behind the highest packet that is reported as received."""

@final
class MediaReport:
    """A report of the receiver (RFC 8888), compared with the sent packets."""

    @property
    def now(self) -> float:
        """When it arrives at the sender [s]."""
    @property
    def rtt(self) -> float | None:
        """The round trip of the newest packet that it reports first, without the time at the receiver [s]."""
    @property
    def packets(self) -> tuple[MediaOutcome, ...]:
        """Its outcomes of packets: each is received once or lost once; ordered by number, losses last."""
    @property
    def in_flight_before(self) -> int:
        """Octets in flight before it."""
    @property
    def in_flight(self) -> int:
        """Octets in flight after it."""
    @property
    def newly_acked(self) -> int:
        """Octets of packets that have become the highest reported one or lie before it: received or not."""
    @property
    def queued(self) -> int:
        """Octets that wait at the sender."""

@final
class MediaOutcome:
    """The outcome of a packet of video."""

    @property
    def number(self) -> int:
        """Its number, counted from 0."""
    @property
    def size(self) -> int:
        """Its size with the RTP header [octets]."""
    @property
    def sent(self) -> float:
        """When it was sent [s]."""
    @property
    def arrival(self) -> float | None:
        """When it arrived, by the receiver's clock, right to 1/1024 s [s]; None: it is lost."""
    @property
    def marked(self) -> bool:
        """It arrived with a congestion mark (CE)."""
    @property
    def late(self) -> bool:
        """It has arrived after it was reported as lost."""

@disjoint_base
class Scheduler:
    """Derive from this to write a scheduler of LTE cells. In every TTI (1 ms) it gives each UE with data a weight.

    A run makes one object for each cell and direction that names it. The cell decides which resource blocks, MCS and
    HARQ process a UE gets. Numbers beside the name in the scenario arrive as keyword arguments of `__init__`.
    """

    domain: str
    """How resource blocks are allocated by the weights.

    "rate": each group of resource blocks to the largest weight times the UE's rate there. "weight": each group goes
    to the largest weight. "filling": as "weight"; the weight is 1 / average, and groups given in this TTI count at
    once. "time": the UE with the largest weight gets what it needs, then the next. "equal": each UE gets the same
    number of groups, by descending weight. The uplink distinguishes "time" from the others only: there each UE gets
    one run of blocks.
    """
    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    @property
    def cell(self) -> str:
        """Name of the cell; empty while `__init__` runs."""
    @property
    def direction(self) -> str:
        """ "downlink" or "uplink"; empty while `__init__` runs."""
    @property
    def blocks(self) -> int:
        """Resource blocks of the carrier; 0 while `__init__` runs."""
    @property
    def seed(self) -> int:
        """Seed of the run; 0 while `__init__` runs."""
    def weigh(self, _tti: int, _candidates: list[Candidate]) -> Sequence[float]:
        """A weight for each candidate, in their order; 0 or less: not in this TTI. Must be defined."""

@final
class Candidate:
    """A UE that could be served in this TTI."""

    @property
    def ue(self) -> int:
        """Its number, from 0 in the order of the scenario's UEs."""
    @property
    def backlog(self) -> int:
        """Bytes waiting [B]; in the uplink as the eNB estimates it."""
    @property
    def head_delay(self) -> float:
        """How long the oldest packet has waited [s]; 0 in the uplink."""
    @property
    def rate(self) -> float:
        """Bits that the whole band would carry now [bit per TTI]."""
    @property
    def average(self) -> float:
        """Average of the bits that it was served, by the cell's `window` [bit per TTI]; above 0."""
    @property
    def qci(self) -> int:
        """QoS class of its most urgent bearer with data (TS 23.203 table 6.1.7)."""
    @property
    def guaranteed(self) -> float:
        """Guaranteed rate of its bearers [bit per TTI]; 0 for none."""
    @property
    def served(self) -> int | None:
        """The last TTI in which it was served; None: never."""

@final
class Scenario:
    """A parsed and checked scenario. Immutable."""

    @staticmethod
    def load(
        path: str | PathLike[str],
        set: Sequence[str] = ...,
        cc: Sequence[OwnPolicy] = ...,
        schedulers: Sequence[OwnPolicy] = ...,
    ) -> Scenario: ...
    @staticmethod
    def parse(
        text: str,
        name: str = "<string>",
        base_dir: str | PathLike[str] | None = None,
        set: Sequence[str] = ...,
        cc: Sequence[OwnPolicy] = ...,
        schedulers: Sequence[OwnPolicy] = ...,
    ) -> Scenario: ...
    def left_out(self) -> list[tuple[str, list[str], int, int]]:
        """Tables of flows of which some or all end at an external node: name, external ends, number of pairs of ends
        that are left out, and of all."""

    @property
    def name(self) -> str: ...
    @property
    def base_dir(self) -> Path:
        """Where relative paths in the scenario start."""

    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    def with_set(self, set: Sequence[str]) -> Scenario:
        """A copy with `key=value` overrides (values in TOML syntax; a bare word is taken as a string)."""
    def with_own(self, cc: Sequence[OwnPolicy], schedulers: Sequence[OwnPolicy], set: Sequence[str]) -> Scenario:
        """A copy with these policies of the user instead of its present ones, and with `key=value` overrides."""
    def source(self) -> tuple[str, str, list[str]]:
        """Its source: the text, the name of the text in messages, and the overrides in their order."""
    def to_toml(self) -> str:
        """The effective scenario, with every default. Reading this text gives the same run."""
    def written(self) -> str:
        """The scenario as its author wrote it, with the overrides applied and without defaults."""
    def files(self) -> list[str]:
        """The files that its runs read (traces, tracks), as the scenario writes them."""
    def own_policies(self) -> list[str]:
        """Names of the policies of one's own that it uses: `NAME`, `rate-control.NAME`, `scheduler.NAME`."""
    def profile_settings(self) -> list[tuple[str, str, str]]:
        """Key, value and source of everything that `scenario.profile` has set."""
    def profile_limits(self) -> tuple[str, list[str]] | None:
        """The name of `scenario.profile` and what it does not imitate; None without one."""
    def geometry(self, drops: int = 1, progress: Callable[[float], None] | None = None) -> pa.Table:
        """Strongest cell, coupling gain and geometry of every UE over drops: the seed and those that follow it."""
    def radio_map(
        self,
        step: float,
        area: Sequence[float] | None = None,
        height: float | None = None,
        ue: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> pa.Table:
        """Best cell, its RSRP and the SINR at full load over a grid; lengths in metres."""
    def recorded(self) -> list[str]:
        """The tables that its runs write while they run.

        At the end a run adds `flows` and, for some applications, other tables.
        """
    def warnings(self) -> list[Diagnostic]: ...
    def hash(self) -> str:
        """BLAKE3 of the effective scenario and of every file that it reads, as hex."""

@final
class CampaignFile:
    """A campaign file whose keys and types are right. `lasthop.campaign` interprets its values."""

    @staticmethod
    def load(path: str | PathLike[str], set: Sequence[str] = ...) -> CampaignFile:
        """`set`: texts `key=value`; keys of the campaign's own tables change the file, others are keys of each run."""
    @staticmethod
    def parse(
        text: str, name: str = "<string>", folder: str | PathLike[str] | None = None, set: Sequence[str] = ...
    ) -> CampaignFile: ...
    @property
    def folder(self) -> Path:
        """The folder from which relative paths in it start."""
    def content(self) -> dict[str, Any]:
        """Its content with every default; tables and lists are in the order of the file."""
    def source(self) -> tuple[str, str, list[str]]:
        """Its source: the text, the name of the text in messages, and the overrides in their order."""
    def to_toml(self) -> str:
        """The file as TOML with the overrides applied."""
    def error_at(self, key: Sequence[str], message: str, help: str | None = None) -> LasthopError:
        """The exception for a mistake at the value of a key, whose parts are given one by one."""
    def errors(
        self, found: Sequence[tuple[Sequence[str], str, str | None, bool, tuple[int, int] | None]]
    ) -> LasthopError:
        """One exception for several mistakes: parts of the key, message, remedy, whether the key itself is meant, and
        the first and the end of the characters that are meant, if the value is a text."""

@final
class RunOutput:
    """The results of a run, in memory."""

    @property
    def manifest(self) -> str: ...  # JSON
    @property
    def summary(self) -> str: ...  # JSON
    def table_names(self) -> list[str]: ...
    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """`columns`: the result has only those of these columns that the table has. Each column takes time."""

@final
class Simulation:
    """A run that its caller advances step by step."""

    def __new__(
        cls,
        scenario: Scenario,
        out: str | PathLike[str] | None = None,
        capture: str | PathLike[str] | None = None,
        threads: int = 1,
    ) -> Simulation: ...
    @property
    def now_s(self) -> float: ...
    @property
    def now_ns(self) -> int: ...
    def step_until(self, t: str | float) -> None:
        """Runs up to `t` (seconds, or text with a unit); a change now applies to all events at `t`."""
    def set(self, key: str, value: str | float | int | bool | list[Any] | dict[str, Any]) -> None:
        """Changes a runtime key now, as `[[at]]` would."""
    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def tcp_info(self, flow: str) -> dict[str, Any]:
        """tcp_info of the flow's sender, Linux names."""
    def finish(self) -> RunOutput:
        """Runs to the scenario's end and returns (or, with `out`, writes) the results."""

def live(
    scenario: Scenario,
    plan: str,
    out: str | PathLike[str] | None = None,
    replace: bool = False,
    capture: str | PathLike[str] | None = None,
) -> tuple[RunOutput, BaseException | None]:
    """Runs a scenario with external nodes in real time. `plan` (JSON) names programs, shell and devices by node.
    Beside the results: the exception (Ctrl-C) that has ended it. The summary has under `live` the
    measurements of the run on itself."""

def linux_guest(scenario: Scenario, stop: Path, share: Path, out: Path, capture: Path | None = None) -> None:
    """Runs a scenario with nodes of a real kernel, inside a guest of that kernel, until the file `stop` exists.
    Results up to then are in the folder `out`. The file `share` has the share of the duration that has passed."""

def live_programs_are_root() -> bool:
    """True if programs of a live run are root of this machine: it allows no user namespaces, and this is root."""

def live_check() -> str:
    """JSON: the requirements of a live run on this machine, whether they are met, and remedies."""

def run(
    scenario: Scenario,
    out: str | PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
    replace: bool = False,
    capture: str | PathLike[str] | None = None,
    threads: int = 1,
) -> RunOutput:
    """Runs to the end without holding the GIL, on `threads` threads.

    With `out`, tables go to Parquet files there, memory does not grow with simulated time, and `table()` reads the
    files; with `replace` the results of an earlier run there are replaced. With `capture` a packet capture goes to
    that file.
    `progress` gets the share done, 0 to 1. Ctrl-C stops it."""

@final
class ResultFolder:
    """A folder that is being written: under another name, until it is complete and renamed."""

    def __new__(
        cls, path: str | PathLike[str], replaces: tuple[str, Sequence[str], Sequence[str]] | None = None
    ) -> Self:
        """`replaces`: a file by which earlier content is recognised, keys of its JSON object, the other names there."""

    @staticmethod
    def claim(folder: str | PathLike[str], what: str) -> ResultFolder:
        """Prevents other processes from making `what`, some files in `folder`, until it is discarded."""

    @property
    def partial(self) -> Path:
        """The folder in which its files are written."""

    def publish(self) -> Path:
        """Renames the folder to its final name; returns its path."""

    def discard(self) -> None:
        """Removes it, if it was not published."""

def not_of_a_run(path: str | PathLike[str]) -> str | None:
    """Why the content of the folder `path` is not that of a run, or not of a run alone; None where it is."""

def clear_stale_claims(folder: str | PathLike[str], what: str) -> list[str]:
    """Removes unfinished files of killed processes that made `what` in `folder`; returns messages."""

def write_files(files: Sequence[tuple[str | PathLike[str], bytes]]) -> list[str]:
    """Writes each content to its path: every file, or none. Refuses paths that are not regular files.

    Removes the unfinished files of these names that killed processes left; returns messages on them.
    """

def run_many(
    scenarios: Sequence[Scenario],
    jobs: int = 0,
    outs: Sequence[str | PathLike[str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[RunOutput]:
    """Runs all, `jobs` at a time (0: every core), in one process. The results do not depend on `jobs`."""

def clear_stale(out: str | PathLike[str]) -> list[str]:
    """Removes unfinished folders of killed runs beside `out`; returns messages on them."""

def discard_partials() -> None:
    """Removes the files and folders that this process has not finished: for a process that ends at once."""

def json_schema() -> str:
    """JSON Schema of a scenario file."""

def describe() -> str:
    """JSON: every plug-in by name, every table with its columns, units and descriptions."""

def campaign_schema() -> str:
    """JSON Schema of a campaign file."""

def describe_campaign() -> str:
    """JSON: every key of a campaign file."""

def import_trace(src: str | PathLike[str], dst: str | PathLike[str], format: str | None = None) -> str:
    """Converts a capacity trace to the Mahimahi format; returns statistics as JSON.
    `format`: "mahimahi", "mbps-csv" (time_s,mbps), "nyu-mets", "5gophers"; None: recognised from the content."""

def packetdrill(
    scripts: Sequence[tuple[str, str]],
    profile: str | None = None,
    cc: str | None = None,
    verbose: bool = False,
    defines: Sequence[str] = ...,
    options: Sequence[tuple[str, str]] = ...,
    host: str | None = None,
) -> str:
    """Runs packetdrill scripts, given as (name, text), in virtual time. `defines`: symbols for `#ifdef`, "NAME" or
    "NAME=VALUE"; `options`: those of the original tool, as ("mss", "1000"); `host`: "linux" or "bsd". Returns JSON:
    `scripts`, each with `name`, `verdict` ("passed", "failed", "not-applicable", "mistake"), `line`, `column`,
    `message`, `transcript`, and `categories`."""
