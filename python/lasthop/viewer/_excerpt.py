"""The packets of a long run that a file contains.

They are all packets that were sent in a few stretches of time around events of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop._core import LasthopError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lasthop._results import Results

#: Tables with rows for each packet: a packet that is kept has all of its rows in each.
OF_PACKETS = ("packets", "stages", "steps")
#: Kinds of events around which packets are kept, and what the page calls them.
MARKED = {
    "handover-start": "handover",
    "radio-link-failure": "radio link failure",
    "cell-down": "cell down",
    "rlc-reset-started": "RLC reset",
    "mode-switch": "mode switch",
    "rto": "retransmission timeout",
}
#: Moments of each kind, and of all kinds together.
OF_KIND, MOMENTS = 3, 10


@dataclass(frozen=True)
class Stretch:
    """A stretch of time whose packets are kept; in seconds."""

    start: float
    end: float
    what: str


@dataclass(frozen=True)
class Excerpt:
    """The packets that are kept."""

    stretches: list[Stretch]
    #: Numbers of the packets, ascending.
    packets: NDArray[np.int64]

    def of(self, table: pa.Table) -> pa.Table:
        """The rows of a table that are of these packets."""
        numbers = _numbers(table["packet"])
        at = np.minimum(np.searchsorted(self.packets, numbers), max(len(self.packets) - 1, 0))
        kept = self.packets[at] == numbers if len(self.packets) else np.zeros(len(numbers), bool)
        return table.filter(pa.array(kept))


def excerpt(results: Results, most: int, names: Sequence[str] = OF_PACKETS) -> Excerpt | None:
    """Stretches around the start, handovers, outages, timeouts, changes and the first drop.

    Another one is in the middle.

    All have the same length: the longest with which the tables of packets together have at most
    `most` rows.

    Args:
        results: a run.
        most: rows.
        names: those of the tables of packets that can be read.

    Returns:
        None: the run has no packets, or all of them fit.

    Raises:
        LasthopError: a table cannot be read.
    """
    names = [name for name in names if name in results.table_names]
    if "packets" not in names or sum(results.shape(name)[1] for name in names) <= most:
        return None
    packets = results.table("packets", ["time_s", "packet", "event"])
    sent = packets.filter(pc.equal(packets["event"], "sent"))
    numbers, times = _numbers(sent["packet"]), sent["time_s"].to_numpy()
    if not len(numbers):
        return None
    rows = np.zeros(int(numbers.max()) + 1, np.int64)
    for name in names:
        counted = _numbers((packets if name == "packets" else results.table(name, ["packet"]))["packet"])
        rows += np.bincount(counted[(counted >= 0) & (counted < len(rows))], minlength=len(rows))
    weights = rows[numbers]
    moments = _moments(results, packets, float(times.min()), float(times.max()))
    low, high = 1e-6, float(times.max() - times.min()) + 1e-6
    best = _stretches(moments, low)
    # The rows grow with the length: halve the interval of its logarithm.
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        tried = _stretches(moments, middle)
        if weights[_inside(tried, times)].sum() <= most:
            low, best = middle, tried
        else:
            high = middle
    kept = _inside(best, times)
    # A stretch in which nothing was sent has nothing to show.
    best = [s for s in best if _inside([s], times).any()]
    return Excerpt(best, np.unique(numbers[kept]))


def _moments(results: Results, packets: pa.Table, first: float, last: float) -> list[tuple[float, str]]:
    """Moments in the order of their importance, at most `MOMENTS`."""
    found = [(first, "start")]
    kinds: dict[str, list[float]] = {}
    for at, kind in _events(results):
        name = MARKED.get(kind, "change" if str(kind).startswith("change") else None)
        if name is not None and first <= at <= last:
            kinds.setdefault(name, []).append(at)
    for name in [*dict.fromkeys([*MARKED.values(), "change"])]:
        if times := kinds.get(name):
            spread = np.linspace(0, len(times) - 1, min(len(times), OF_KIND)).astype(int)
            found += [(times[i], name) for i in np.unique(spread)]
    dropped = packets.filter(pc.equal(packets["event"], "dropped"))["time_s"]
    if len(dropped):
        found.append((dropped[0].as_py(), "first drop"))
    return [*found[: MOMENTS - 1], ((first + last) / 2, "middle")]


def _events(results: Results) -> list[tuple[float, str]]:
    """Times and kinds of the events; of a table that cannot be read, which the page names, none."""
    if "events" not in results.table_names:
        return []
    try:
        events = results.table("events", ["time_s", "kind"])
    except LasthopError:
        return []
    return list(zip(events["time_s"].to_pylist(), events["kind"].to_pylist(), strict=True))


def _stretches(moments: list[tuple[float, str]], length: float) -> list[Stretch]:
    """A stretch about each moment, most of it after the moment; stretches that touch are one."""
    found: list[Stretch] = []
    for at, what in sorted(moments):
        start = max(at if what == "start" else at - length / 3, 0.0)
        if found and start <= found[-1].end:
            before = found.pop()
            words = before.what if what in before.what.split(", ") else f"{before.what}, {what}"
            found.append(Stretch(before.start, max(before.end, start + length), words))
        else:
            found.append(Stretch(start, start + length, what))
    return found


def _inside(stretches: list[Stretch], times: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = np.zeros(len(times), bool)
    for stretch in stretches:
        inside |= (times >= stretch.start) & (times < stretch.end)
    return inside


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Numbers of packets; -1 where there is none."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), -1).to_numpy())
