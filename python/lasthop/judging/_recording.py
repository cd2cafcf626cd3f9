"""The records of a run on a flow: variables as steps over instants, and events.

Also arithmetic over them.

An instant is one ACK or timer from the view of the control, or what the sender has sent after it:
a group of rows of the table `cc`. Several instants may have one time. A state that lasts for no
instant (`Drain` to `Down` to `Cruise` in one ACK) is an event all the same: events are rows, and
only values are those of instants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lasthop._results import Results

Floats: TypeAlias = "npt.NDArray[np.float64]"
Whole: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Unknown:
    """There is no value; the text gives the reason."""

    why: str


@dataclass(frozen=True)
class Moment:
    """A point of the run: before the row of that number, within an instant."""

    #: Orders moments; of an event its row in the table, of a time the place between two rows.
    row: float
    instant: int
    time_s: float


@dataclass(frozen=True)
class Events:
    """Moments in order."""

    moments: tuple[Moment, ...]
    #: What was looked for, in words.
    what: str


@dataclass(frozen=True)
class Steps:
    """A value that holds from instant `at[k]` to the one before `at[k + 1]`.

    Empty (NaN) before `at[0]`.

    Truths are 1 and 0. `sampled` says that it is known at its own instants only.
    """

    at: Whole
    values: Floats
    what: str
    sampled: bool = False


class Recording:
    """The rows of one flow in the table `cc`.

    Args:
        run: the results.
        flow: name of the flow.
        duration_s: the end of the run [s].
    """

    def __init__(self, run: Results, flow: str, duration_s: float) -> None:
        self.run = run
        self.flow = flow
        self.duration_s = duration_s
        if "cc" not in run.table_names:  # a comparative case needs no variables
            self.flows: tuple[str, ...] = ()
            self._names: list[str] = []
            self._codes: Whole = np.zeros(0, dtype=np.int64)
            self._instants: Whole = self._codes
            self._times: Floats = np.zeros(0)
            self.times: Floats = self._times
            return
        table = run.table("cc")
        flows = table.column("flow").combine_chunks()
        names = flows.dictionary.to_pylist()
        self.flows = tuple(names)
        chosen = np.flatnonzero(flows.indices.to_numpy() == names.index(flow)) if flow in names else np.zeros(0, int)
        variables = table.column("variable").combine_chunks()
        self._names = variables.dictionary.to_pylist()
        self._codes = variables.indices.to_numpy()[chosen]
        self._times = table.column("time_s").to_numpy()[chosen]
        self._values = table.column("value")
        self._texts = table.column("text")
        self._rows = chosen
        new = np.ones(len(chosen), dtype=bool)
        if len(chosen) > 1:
            # Variables have one order, that of the first rows: one that comes before its forerunner
            # begins an instant.
            new[1:] = (np.diff(self._times) != 0) | (np.diff(self._codes) < 0)
        self._instants = np.cumsum(new) - 1
        #: The time of each instant [s].
        self.times = self._times[new]

    @cached_property
    def acks(self) -> Whole:
        """The instants of ACKs: those in which octets were acknowledged."""
        places = [self._rows_of(name) for name in ("snd_una", "delivered") if name in self._names]
        found = np.unique(np.concatenate([self._instants[p] for p in places])) if places else np.zeros(0, int)
        return found[found > 0]

    @property
    def variables(self) -> list[str]:
        """The variables that have rows."""
        return self._names

    def _rows_of(self, name: str) -> Whole:
        if name not in self._names:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self._codes == self._names.index(name))

    def steps(self, name: str) -> Steps:
        """A variable that is a number."""
        rows = self._rows_of(name)
        if not len(rows):
            return Steps(rows, np.zeros(0), name)
        values = self._values.take(self._rows[rows]).to_numpy(zero_copy_only=False)
        return _last_of(self._instants[rows], values.astype(float), name)

    def texts(self, name: str) -> tuple[Whole, list[str]]:
        """The rows of a state and its values there."""
        rows = self._rows_of(name)
        if not len(rows):
            return rows, []
        return rows, ["" if t is None else str(t) for t in self._texts.take(self._rows[rows]).to_pylist()]

    def states(self, name: str, value: str) -> Steps:
        """Whether a state has a value, at the end of each instant."""
        rows, texts = self.texts(name)
        return _last_of(self._instants[rows], np.array([float(t == value) for t in texts]), f"{name} = '{value}'")

    def event(self, row: int) -> Moment:
        """The moment of a row."""
        return Moment(float(row), int(self._instants[row]), float(self._times[row]))

    def moment(self, time_s: float) -> Moment:
        """The moment after all events up to a time."""
        instant = int(np.searchsorted(self.times, time_s, side="right")) - 1
        row = int(np.searchsorted(self._times, time_s, side="right")) - 0.5
        return Moment(row, max(instant, 0), time_s)

    def of_instant(self, instant: int) -> Moment:
        """The moment of the first row of an instant."""
        row = int(np.searchsorted(self._instants, instant, side="left"))
        return Moment(float(row), instant, float(self.times[instant]))

    @property
    def start(self) -> Moment:
        """The first row."""
        return Moment(-0.5, 0, 0.0)

    @property
    def end(self) -> Moment:
        """After the last row."""
        return Moment(len(self._times) + 0.5, len(self.times), self.duration_s)

    def outside(self, moment: Moment) -> Unknown | None:
        """Why nothing is known at a moment that the run does not have; None: it has it."""
        rounding = 1e-9 * max(self.duration_s, 1.0)
        if moment.time_s < -rounding:
            return Unknown(f"{moment.time_s:.6g} s is before the beginning of the run")
        if moment.time_s > self.duration_s + rounding:
            return Unknown(f"{moment.time_s:.6g} s is after the end of the run ({self.duration_s:.6g} s)")
        return None

    def transitions(self, name: str, to: str | None, origin: str | None) -> Events:
        """Where a state becomes `to` (None: anything else) from `origin` (None: anything else)."""
        rows, texts = self.texts(name)
        found = [
            self.event(int(row))
            for row, before, now in zip(rows, [None, *texts], texts, strict=False)
            if before != now and (to is None or now == to) and (origin is None or before == origin)
        ]
        had = ", ".join(dict.fromkeys(texts)) or "no value"
        what = f"{name} never becomes '{to}'" if to is not None else f"{name} never leaves '{origin}'"
        return Events(tuple(found), f"{what}; it had: {had}")

    def changes(self, steps: Steps) -> Events:
        """Where a value changes."""
        known = ~np.isnan(steps.values)
        at, values = steps.at[known], steps.values[known]
        new = np.flatnonzero(np.diff(values) != 0) + 1
        return Events(tuple(self.of_instant(int(at[k])) for k in new), f"{steps.what} never changes")

    def rises(self, truth: Steps) -> Events:
        """Where a condition begins to hold."""
        values = np.nan_to_num(truth.values)
        new = np.flatnonzero(np.diff(np.concatenate([[0.0], values])) > 0)
        return Events(tuple(self.of_instant(int(truth.at[k])) for k in new), f"{truth.what} never holds")

    def at(self, steps: Steps, moment: Moment) -> float | Unknown:
        """The value at the end of the moment's instant."""
        return self._value(steps, min(moment.instant, max(len(self.times) - 1, 0)), moment)

    def before(self, steps: Steps, moment: Moment) -> float | Unknown:
        """The value at the end of the instant before that of the moment."""
        return self._value(steps, moment.instant - 1, moment)

    def _value(self, steps: Steps, instant: int, moment: Moment) -> float | Unknown:
        k = int(np.searchsorted(steps.at, instant, side="right")) - 1
        value = float(steps.values[k]) if k >= 0 else math.nan
        return Unknown(f"{steps.what} is not known at {moment.time_s:.6g} s") if math.isnan(value) else value

    def window(self, steps: Steps, first: Moment, last: Moment) -> tuple[Floats, Floats] | Unknown:
        """Values from the first moment on and before the last one, and how long each holds [s]."""
        if last.row <= first.row:
            return Unknown(f"the interval from {first.time_s:.6g} s to {last.time_s:.6g} s is empty")
        if not len(self.times):
            return Unknown("the run has no table `cc`: set output.cc")
        if last.instant == first.instant and last.time_s <= first.time_s:
            return Unknown(f"no instant is between two events of one ACK at {first.time_s:.6g} s")
        found = self.inside(steps, first, last)
        at, values = found.at, found.values
        if not len(at):
            return Unknown(f"{steps.what} has no value from {first.time_s:.6g} s to {last.time_s:.6g} s")
        times = np.concatenate([np.maximum(self.times[at], first.time_s), [last.time_s]])
        return values, np.diff(times)

    def inside(self, steps: Steps, first: Moment, last: Moment) -> Steps:
        """A value from the instant of the first moment on and before that of the last one."""
        inside = (steps.at > first.instant) & (steps.at < last.instant)
        at, values = steps.at[inside], steps.values[inside]
        if steps.sampled:
            k = int(np.searchsorted(steps.at, first.instant))
            here = k < len(steps.at) and steps.at[k] == first.instant and first.instant < last.instant
            if here and self.times[first.instant] >= first.time_s:
                at, values = np.insert(at, 0, first.instant), np.insert(values, 0, steps.values[k])
        else:
            k = int(np.searchsorted(steps.at, first.instant, side="right")) - 1
            at = np.insert(at, 0, first.instant)
            values = np.insert(values, 0, steps.values[k] if k >= 0 else math.nan)
        return Steps(at, values, steps.what, steps.sampled)


def _last_of(instants: Whole, values: Floats, what: str) -> Steps:
    """The last value of each instant."""
    last = np.ones(len(instants), dtype=bool)
    if len(instants) > 1:
        last[:-1] = np.diff(instants) != 0
    return Steps(instants[last], values[last], what)


def joined(parts: Sequence[Steps | float], combine: Callable[..., Any], what: str) -> Steps:
    """Values that are computed from others, at each instant where one of those changes."""
    steps = [p for p in parts if isinstance(p, Steps)]
    samples = [p for p in steps if p.sampled]
    # A value that is known at some instants only makes the result such a one.
    at = np.unique(np.concatenate([p.at for p in (samples or steps)])) if steps else np.zeros(0, dtype=np.int64)
    for p in samples[1:]:
        at = at[np.isin(at, p.at)]
    columns = [held(p, at) if isinstance(p, Steps) else p for p in parts]
    with np.errstate(all="ignore"):
        values = np.asarray(combine(*columns), dtype=float)
    return Steps(at, np.broadcast_to(values, at.shape).astype(float), what, bool(samples))


def held(steps: Steps, at: Whole) -> Floats:
    """The values of steps at other instants."""
    k = np.searchsorted(steps.at, at, side="right") - 1
    padded = np.concatenate([steps.values, [math.nan]])
    return padded[np.where(k < 0, len(steps.values), k)]


def thinned(steps: Steps, times: Floats, end_s: float, most: int = 400) -> list[list[float | None]]:
    """A value as some points [s, value] for a figure: extremes of each part stay."""
    if not len(steps.at):
        return []
    t, v = times[steps.at], steps.values
    if len(v) > most:
        edges = np.linspace(0, len(v), most // 2 + 1).astype(int)
        keep = sorted(
            {
                int(k)
                for a, b in pairwise(edges)
                if b > a
                for k in (a + int(np.argmin(v[a:b])), a + int(np.argmax(v[a:b])))
            }
        )
        t, v = t[keep], v[keep]
    t, v = np.append(t, end_s), np.append(v, v[-1])  # the last value holds to the end
    return [[round(float(a), 9), float(f"{b:.6g}") if math.isfinite(b) else None] for a, b in zip(t, v, strict=True)]


Parameters = Mapping[str, float]
