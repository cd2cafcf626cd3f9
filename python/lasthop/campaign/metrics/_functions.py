"""Functions that make one number of a column's chosen rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lasthop.campaign.metrics._catalogue import TableFacts
from lasthop.campaign.metrics._syntax import Call
from lasthop.campaign.metrics._tables import Absent, Floats, Mask, Tables


@dataclass(frozen=True)
class Stretch:
    """A window of time as written [s]; None: from the start, to the end of the run."""

    start: float | None
    end: float | None

    def bounds(self, tables: Tables) -> Bounds:
        """The window in this run.

        Raises:
            Absent: the window extends beyond the end of the run, so that its mean would be that of
                another window.
        """
        run = tables.end()
        last = max((s for s in (self.start, self.end) if s is not None), default=None)
        if last is not None and run is not None and (last > run or (self.end is None and last == run)):
            raise Absent(f"the run ends at {run:g} s, the window reaches to {last:g} s")
        return Bounds(self.start, self.end, run)


@dataclass(frozen=True)
class Bounds:
    """A window of time in a run [s], and where the run ends."""

    start: float | None
    end: float | None
    run_end: float | None

    def contain(self, tables: Tables, facts: TableFacts) -> Mask:
        """The rows inside: start <= time < end; of a table over intervals start < time <= end.

        Both put each row into one of two adjacent windows. An interval's row has the time of the
        interval's end.
        """
        if self.start is None and self.end is None:
            return np.ones(tables.length(facts.name), np.bool_)
        time = tables.numbers(facts.name, "time_s")
        start = -math.inf if self.start is None else self.start
        end = math.inf if self.end is None else self.end
        if facts.over_intervals:
            return (time > start) & (time <= end)
        return (time >= start) & (time < end)


@dataclass(frozen=True)
class Chosen:
    """What a function reduces: values of all rows of a table, and which of them are chosen."""

    node: Call
    facts: TableFacts
    tables: Tables
    all: Floats
    mask: Mask
    bounds: Bounds

    def values(self, least: int = 1) -> Floats:
        """The values of the chosen rows that have one.

        Raises:
            Absent: there are fewer than `least`.
        """
        values = np.broadcast_to(self.all, self.mask.shape)[self.mask]
        values = values[~np.isnan(values)]
        if len(values) < least:
            empty = "no row has a value" if len(values) == 0 else f"{len(values)} value, {least} are needed"
            raise Absent(f"{self.node}: {empty}")
        return values


def percentile(chosen: Chosen, place: float) -> float:
    """The value that `place` % do not exceed, linear between two.

    Hyndman and Fan 1996, definition 7; numpy's default.
    """
    return float(np.percentile(chosen.values(), place))


def _mean(chosen: Chosen) -> float:
    values = chosen.values()
    return float(values.sum()) / len(values)


def _std(chosen: Chosen) -> float:
    """Of a sample: divisor n - 1."""
    values = chosen.values(2)
    deviation = values - values.sum() / len(values)
    return math.sqrt(float((deviation * deviation).sum()) / (len(values) - 1))


def _jain(chosen: Chosen) -> float:
    """Jain's index (sum x)^2 / (n sum x^2).

    R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984), equation for the fairness index.
    """
    values = chosen.values()
    squares = float((values * values).sum())
    if squares == 0:
        raise Absent(f"{chosen.node}: every value is 0")
    total = float(values.sum())
    return total * total / (len(values) * squares)


def _time_mean(chosen: Chosen) -> float:
    """Each value weighted by how long it held within the window.

    That is to the next sample of its series or the run's end.

    The next sample counts whether it is chosen or not: what a row says ends with it.
    """
    order, series = chosen.tables.series(chosen.facts)
    time = chosen.tables.numbers(chosen.facts.name, "time_s")[order]
    bounds = chosen.bounds
    end = bounds.end if bounds.end is not None else bounds.run_end if bounds.run_end is not None else float(time.max())
    start = -math.inf if bounds.start is None else bounds.start
    until = np.append(time[1:], end)
    until[:-1][series[1:] != series[:-1]] = end
    held = np.minimum(until, end) - np.maximum(time, start)
    values = np.broadcast_to(chosen.all, chosen.mask.shape)[order]
    used = chosen.mask[order] & (held > 0) & ~np.isnan(values)
    held = held[used]
    total = float(held.sum())
    if total <= 0:
        raise Absent(f"{chosen.node}: no value held for any time")
    return float((values[used] * held).sum()) / total


def _increase(chosen: Chosen) -> float:
    """The sum over the series of the value at the window's end less that at its start.

    The value is 0 before the first sample.
    """
    order, series = chosen.tables.series(chosen.facts)
    values = np.broadcast_to(chosen.all, chosen.mask.shape)[order]
    used = chosen.mask[order] & ~np.isnan(values)
    values, series = values[used], series[used]
    time = chosen.tables.numbers(chosen.facts.name, "time_s")[order][used]

    def at(moment: float) -> Floats:
        """The last value of each series at or before a moment."""
        before = time <= moment
        value, of = values[before], series[before]
        last = np.append(of[1:] != of[:-1], True)[: len(of)]
        found: Floats = value[last]
        return found

    bounds = chosen.bounds
    ends = at(math.inf if bounds.end is None else bounds.end)
    if len(ends) == 0:
        raise Absent(f"{chosen.node}: no value before the end of the window")
    return float(ends.sum()) - (float(at(bounds.start).sum()) if bounds.start is not None else 0.0)


def _rate(chosen: Chosen) -> float:
    """The increase over the length of the window.

    A window that is open begins at 0 and ends with the run.
    """
    bounds = chosen.bounds
    end = bounds.end if bounds.end is not None else bounds.run_end
    length = None if end is None else end - (bounds.start or 0.0)
    if length is None or length <= 0:
        raise Absent(f"{chosen.node}: the length of the window is not known, as no flow says when the run ends")
    return _increase(chosen) / length


REDUCE: dict[str, Callable[[Chosen], float]] = {
    "min": lambda chosen: float(chosen.values().min()),
    "max": lambda chosen: float(chosen.values().max()),
    "sum": lambda chosen: float(chosen.values().sum()),
    "mean": _mean,
    "median": lambda chosen: float(np.median(chosen.values())),
    "std": _std,
    "jain": _jain,
    # A condition is 1 where it holds.
    "share": _mean,
    "time_mean": _time_mean,
    "time_share": _time_mean,
    "increase": _increase,
    "rate": _rate,
}
