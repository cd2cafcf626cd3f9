"""The shares of flows in a path, by intervals of time.

They are goodput, loss, time in queues, evenness and starvation.

Goodput is acknowledged payload, from samples of the table `tcp`: for the ends of an interval the
last samples up to them are used. For a media flow it is the payload of the RTP packets that arrive,
headers of 12 octets included, from samples of `media`. Loss and time in queues are those of the
table `windows`, of the windows that lie in an interval as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.judging._by_flow import columns_by_flow
from lasthop.judging._recording import Floats, Unknown

if TYPE_CHECKING:
    from lasthop._results import Results

#: Work on more intervals than this is refused: an interval of a nanosecond is a slip.
_MOST_INTERVALS = 100_000


class Shares:
    """The goodput of a run's flows.

    Args:
        run: the results.
    """

    def __init__(self, run: Results) -> None:
        self._run = run
        self._acked: dict[str, tuple[Floats, Floats]] | None = None

    def _samples(self) -> Mapping[str, tuple[Floats, Floats]]:
        """Times of samples and octets acknowledged, by flow."""
        if self._acked is None:
            self._acked = {}
            if "tcp" in self._run.table_names:
                acked = columns_by_flow(self._run.table("tcp"), ["time_s", "bytes_acked"])
                self._acked |= {name: (times, octets) for name, (times, octets) in acked.items()}
            if "media" in self._run.table_names:
                received = columns_by_flow(self._run.table("media"), ["time_s", "received_bps"])
                for name, (times, rates) in received.items():
                    # Each row is about the interval that ends at its time; all have one length.
                    length = times[1] - times[0] if len(times) > 1 else 0.0
                    self._acked[name] = (times, np.cumsum(rates * length) / 8)
        return self._acked

    def _goodputs(self, pattern: str, length_s: float, from_s: float, to_s: float) -> Floats | Unknown:
        """Goodput [bit/s] by flow (rows) and interval (columns)."""
        count = int((to_s - from_s) / length_s + 1e-9) if length_s > 0 else 0
        if not 1 <= count <= _MOST_INTERVALS:
            return Unknown(f"there are {count} intervals of {length_s:g} s, not 1 to {_MOST_INTERVALS}")
        flows = [samples for name, samples in self._samples().items() if fnmatchcase(name, pattern)]
        if not flows:
            return Unknown(f"no flow '{pattern}' has samples; there are: {', '.join(self._samples()) or 'none'}")
        # A sample is of its own time: half a nanosecond keeps rounding from taking the one before.
        edges = from_s + length_s * np.arange(count + 1) + 5e-10
        rows = []
        for times, acked in flows:
            last = np.searchsorted(times, edges, side="right")
            rows.append(np.diff(np.concatenate([[0.0], acked])[last]) * 8 / length_s)
        return np.array(rows)

    def _windows(self, pattern: str, from_s: float, to_s: float) -> pa.Table | Unknown:
        """The windows of the flows in an interval."""
        if "windows" not in self._run.table_names:
            return Unknown("the run has no table `windows`: the scenario has no output.windows")
        table = self._run.table("windows")
        names = [n for n in pc.unique(table.column("flow")).to_pylist() if fnmatchcase(n, pattern)]
        inside = pc.and_(
            pc.greater_equal(table.column("start_s"), from_s - 5e-10),
            pc.less_equal(table.column("end_s"), to_s + 5e-10),
        )
        found = table.filter(pc.and_(inside, pc.is_in(table.column("flow"), pa.array(names, pa.string()))))
        if not len(found):
            return Unknown(f"no window of a flow '{pattern}' is between {from_s:g} s and {to_s:g} s")
        return found

    def gets(self, pattern: str, from_s: float, to_s: float) -> float | Unknown:
        """Goodput of the flows together [bit/s]."""
        found = self._goodputs(pattern, to_s - from_s, from_s, to_s)
        return found if isinstance(found, Unknown) else float(np.sum(found))

    def carried(self, pattern: str, from_s: float, to_s: float) -> float | Unknown:
        """Rate of the flows' IP packets that arrive [bit/s]."""
        found = self._windows(pattern, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        octets = float(np.sum(found.column("delivered_bytes").to_numpy()))
        ends, starts = (found.column(c).to_numpy() for c in ("end_s", "start_s"))
        return octets * 8 / float(np.max(ends) - np.min(starts))

    def spread(self, pattern: str, length_s: float, from_s: float, to_s: float) -> float | Unknown:
        """Standard deviation of the flows' goodput together over its mean.

        The goodput is that in intervals of `length_s`.
        """
        found = self._goodputs(pattern, length_s, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        every = np.sum(found, axis=0)
        if len(every) < 2 or not np.mean(every) > 0:
            return Unknown(f"no flow '{pattern}' gets anything in two intervals from {from_s:g} s to {to_s:g} s")
        return float(np.std(every, ddof=1) / np.mean(every))

    def loss(self, pattern: str, from_s: float, to_s: float) -> float | Unknown:
        """Dropped packets over sent ones."""
        nothing = f"no flow '{pattern}' sends anything from {from_s:g} s to {to_s:g} s"
        return self._part("lost_packets", "sent_packets", nothing, pattern, from_s, to_s)

    def marked(self, pattern: str, from_s: float, to_s: float) -> float | Unknown:
        """Packets that arrive with a mark over those that arrive."""
        nothing = f"no packet of '{pattern}' arrives from {from_s:g} s to {to_s:g} s"
        return self._part("marked_packets", "delivered_packets", nothing, pattern, from_s, to_s)

    def _part(self, part: str, whole: str, nothing: str, pattern: str, from_s: float, to_s: float) -> float | Unknown:
        """The sum of one column of windows over that of another.

        `nothing` says why there is none.
        """
        found = self._windows(pattern, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        all_of = float(np.sum(found.column(whole).to_numpy()))
        if all_of == 0:
            return Unknown(nothing)
        return float(np.sum(found.column(part).to_numpy())) / all_of

    def _leaving(self, pattern: str, from_s: float, to_s: float) -> pa.Table | Unknown:
        """The flows' packets with data as they are sent."""
        if "packets" not in self._run.table_names:
            return Unknown("the run has no table `packets`: the scenario has no output.packets = true")
        table = self._run.table("packets")
        names = [n for n in pc.unique(table.column("flow")).to_pylist() if fnmatchcase(n, pattern)]
        here = pc.and_(
            pc.greater_equal(table.column("time_s"), from_s - 5e-10),
            pc.less_equal(table.column("time_s"), to_s + 5e-10),
        )
        sent = pc.and_(pc.equal(table.column("event"), "sent"), pc.greater(table.column("len"), 0))
        own = pc.is_in(table.column("flow").cast(pa.string()), pa.array(names, pa.string()))
        found = table.filter(pc.and_(pc.and_(here, sent), own))
        if not len(found):
            return Unknown(f"no flow '{pattern}' sends data from {from_s:g} s to {to_s:g} s")
        return found

    def codepoint(self, pattern: str, codepoint: str, from_s: float, to_s: float) -> float | Unknown:
        """The share of the packets with data that leave with a codepoint of the IP header."""
        found = self._leaving(pattern, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        return float(np.mean(found.column("ecn").cast(pa.string()).to_numpy(zero_copy_only=False) == codepoint))

    def burst(self, pattern: str, length_s: float, from_s: float, to_s: float) -> float | Unknown:
        """The most octets that leave within `length_s` seconds, at both ends included."""
        found = self._leaving(pattern, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        times, sizes = found.column("time_s").to_numpy(), found.column("size").to_numpy().astype(float)
        total = np.concatenate([[0.0], np.cumsum(sizes)])
        last = np.searchsorted(times, times + length_s + 5e-10, side="right")
        return float(np.max(total[last] - total[:-1]))

    def wait(self, pattern: str, percent: float, from_s: float, to_s: float) -> float | Unknown:
        """Time in queues that `percent` of a window's packets do not exceed [s].

        `percent` is 50, 95 or 99; mean by packets.
        """
        return self._quantile("wait", pattern, percent, from_s, to_s)

    def delay(self, pattern: str, percent: float, from_s: float, to_s: float) -> float | Unknown:
        """One-way delay that `percent` of a window's packets do not exceed [s].

        `percent` is 50, 95 or 99; mean by packets.
        """
        return self._quantile("delay", pattern, percent, from_s, to_s)

    def _quantile(self, what: str, pattern: str, percent: float, from_s: float, to_s: float) -> float | Unknown:
        """A quantile of windows, mean by packets."""
        if percent not in (50, 95, 99):
            return Unknown(f"the table `windows` has quantiles of 50, 95 and 99 %, not of {percent:g} %")
        found = self._windows(pattern, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        waits = found.column(f"{what}_p{percent:.0f}_s").to_numpy().astype(float)
        weights = found.column("delivered_packets").to_numpy().astype(float)
        known = ~np.isnan(waits) & (weights > 0)
        if not np.any(known):
            return Unknown(f"no packet of '{pattern}' arrives from {from_s:g} s to {to_s:g} s")
        return float(np.average(waits[known], weights=weights[known]))

    def completion(self, pattern: str, share: float) -> float | Unknown:
        """Seconds from start to completion that `share` of the flows' transfers do not exceed.

        For a transfer that is not complete the time to the end of the run is used, which is less
        than its completion time. Values between two transfers are interpolated linearly.
        """
        if not 0 <= share <= 1:
            return Unknown(f"a quantile is from 0 to 1, not {share:g}")
        table = self._run.table("flows").select(["flow", "start_s", "end_s", "completion_s"])
        names = [n for n in table.column("flow").to_pylist() if fnmatchcase(n, pattern)]
        found = table.filter(pc.is_in(table.column("flow").cast(pa.string()), pa.array(names, pa.string())))
        ends = pc.coalesce(found.column("completion_s"), found.column("end_s"))
        times = pc.drop_null(pc.subtract(ends, found.column("start_s"))).to_numpy()
        return float(np.quantile(times, share)) if len(times) else Unknown(f"no flow '{pattern}' has begun")

    def jain(self, pattern: str, length_s: float, from_s: float, to_s: float) -> float | Unknown:
        """Jain's index of the flows' goodput.

        It is the mean over the intervals in which any flow receives data.
        """
        found = self._goodputs(pattern, length_s, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        squares = len(found) * np.sum(found**2, axis=0)
        known = squares > 0
        if not np.any(known):
            return Unknown(f"no flow '{pattern}' gets anything from {from_s:g} s to {to_s:g} s")
        return float(np.mean(np.sum(found, axis=0)[known] ** 2 / squares[known]))

    def starved(self, pattern: str, below: float, length_s: float, from_s: float, to_s: float) -> float | Unknown:
        """The share of all flows' intervals with less goodput than `below` [bit/s]."""
        found = self._goodputs(pattern, length_s, from_s, to_s)
        return found if isinstance(found, Unknown) else float(np.mean(found < below))

    def reached(self, pattern: str, rate: float, length_s: float, from_s: float, to_s: float) -> float | Unknown:
        """Seconds until the flows' goodput together is `rate` in an interval.

        If this never happens, it is the time to the end.
        """
        found = self._goodputs(pattern, length_s, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        there = np.flatnonzero(np.sum(found, axis=0) >= rate)
        return float((there[0] + 1) * length_s if len(there) else to_s - from_s)

    def settled(
        self, pattern: str, rate: float, within: float, length_s: float, hold_s: float, from_s: float, to_s: float
    ) -> float | Unknown:
        """Seconds until the goodput stays close to `rate` for `hold_s`; to the end if never.

        Close means within the share `within`.

        The time ends at the beginning of these intervals.
        """
        found = self._goodputs(pattern, length_s, from_s, to_s)
        if isinstance(found, Unknown):
            return found
        near = np.abs(np.sum(found, axis=0) - rate) <= within * rate
        needed = max(1, round(hold_s / length_s))
        run = 0
        for k, good in enumerate(near):
            run = run + 1 if good else 0
            if run == needed:
                return float((k + 1 - needed) * length_s)
        return to_s - from_s
