"""The figures of a run: `results.plot.cwnd()` and others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes

from lasthop._errors import mistake
from lasthop.plot import _thin
from lasthop.plot._radio import radio_figure
from lasthop.plot._style import COLUMN_INCHES, OKABE_ITO, Figure, legend, line_style, new_figure
from lasthop.plot._thin import Floats

if TYPE_CHECKING:
    from lasthop._results import Results

Names: TypeAlias = "str | Sequence[str] | None"
"""Which flows or queues: a name, several, patterns such as `"web*"`; None: all."""

Range: TypeAlias = "tuple[float | None, float | None] | None"
"""Simulated time shown, (from, to) in seconds; None at either end: as far as there is data."""


@dataclass(frozen=True)
class Plots:
    """Figures of a run's results.

    Every method returns a matplotlib figure of one 3.5-inch column; `savefig("x.pdf")` or
    `("x.svg")` gives vectors and the same bytes each time. Common arguments:

    * `flow`: which flows, by name or pattern (`"web*"`); None: all that have data.
    * `t`: time range `(from, to)` [s].
    * `width`, `height`: inches.
    """

    results: Results

    def cwnd(
        self,
        flow: Names = None,
        t: Range = None,
        ssthresh: bool = False,
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """Congestion window over time [segments]; a triangle marks each timeout.

        Args:
            flow: which flows, by name or pattern; None: all that have samples.
            t: time range (from, to) [s]; None at either end: as far as there is data.
            ssthresh: also show the slow-start threshold, dotted.
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: no such flow has samples in this time.
        """
        fig, axes = new_figure("Time (s)", "Congestion window (segments)", width, height)
        timeouts = False
        for name, rows in _by_flow(self.results.tcp, flow, t):
            x, y = _xy(rows, "snd_cwnd")
            style = self._style(name)
            axes.plot(*_thin.line(x, y), drawstyle="steps-post", label=name, **style)
            if ssthresh:
                x, y = _xy(rows.filter(pc.greater_equal(rows["snd_ssthresh"], 0)), "snd_ssthresh")
                label = f"{name} ssthresh"
                axes.plot(*_thin.line(x, y), drawstyle="steps-post", lw=0.8, color=style["color"], ls=":", label=label)
            x, y = _xy(rows.filter(pc.equal(rows["trigger"], "rto")), "snd_cwnd")
            if len(x):
                label = "_" if timeouts else "timeout"
                axes.plot(*_thin.dots(x, y), "v", ms=4, mew=0, color="black", clip_on=False, zorder=3, label=label)
                timeouts = True
        axes.set_ylim(bottom=0)
        _time_axis(axes, t)
        legend(axes)
        return fig

    def rtt(
        self,
        flow: Names = None,
        t: Range = None,
        samples: bool | None = None,
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """Round-trip time of the sender [ms].

        The figure has the smoothed estimate, and the samples as dots.

        Args:
            flow: which flows, by name or pattern; None: all that have samples.
            t: time range (from, to) [s]; None at either end: as far as there is data.
            samples: show each sample, which the table `tcp` has with `output.tcp = "ack"` or
                `"change"`; None: only when one flow is shown.
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: no such flow has rows in this time, or none has the samples asked for.
        """
        fig, axes = new_figure("Time (s)", "Round-trip time (ms)", width, height)
        flows = list(_by_flow(self.results.tcp, flow, t))
        one = len(flows) == 1
        dotted = one if samples is None else samples
        if dotted and not self._dots_of_samples(axes, flows) and samples:
            raise mistake("no samples of the round-trip time were recorded", "set output.tcp to 'ack' and run again")
        for name, rows in flows:
            x, y = _xy(rows.filter(pc.greater(rows["rtt_us"], 0)), "rtt_us", 1e-3)
            axes.plot(*_thin.line(x, y), label="smoothed" if one and dotted else name, **self._style(name))
        axes.set_ylim(bottom=0)
        _time_axis(axes, t)
        legend(axes)
        return fig

    def throughput(
        self,
        flow: Names = None,
        t: Range = None,
        every: float | None = None,
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """Rate over time [bit/s, with a prefix that fits].

        The payload that arrived at the receiver, each byte once, in order or not. TCP flows need
        samples (`output.tcp`), between which the rate is taken as constant; other flows need
        `output.packets = true`. The figure names those that it leaves out because nothing of them
        was recorded.

        Args:
            flow: which flows, by name or pattern; None: all of which something was recorded.
            t: time range (from, to) [s]; None at either end: as far as there is data.
            every: length of the intervals over which the rate is averaged [s], above 0; None: about
                a hundred intervals.
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: nothing of these flows was recorded over time.
        """
        fig, axes = new_figure("Time (s)", "", width, height)
        curves = list(self._arrived(flow))
        start = min(c.begins for c in curves) if t is None or t[0] is None else t[0]
        end = max(c.ends for c in curves) if t is None or t[1] is None else t[1]
        edges = _stretches(start, end, every or _round_step((end - start) / 100))
        rates = [(c.flow, np.diff(c.at(edges)) * 8 / np.diff(edges)) for c in curves]
        unit, name_of_unit = _rate_unit(max((float(np.max(r)) for _, r in rates), default=0.0))
        for name, rate in rates:
            axes.plot(edges, np.r_[rate, rate[-1:]] / unit, drawstyle="steps-post", label=name, **self._style(name))
        axes.set_ylabel(f"Throughput ({name_of_unit})")
        axes.set_ylim(bottom=0)
        _time_axis(axes, t)
        if left_out := self._unrecorded({c.flow for c in curves}, flow):
            axes.set_title(f"not recorded: {_few(left_out)} (output.packets)", fontsize="small", loc="left")
        legend(axes)
        return fig

    def sequence(
        self,
        flow: str | None = None,
        t: Range = None,
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """Sequence trace of one TCP flow at its sender [bytes].

        It shows sent data, retransmissions and acknowledgements.

        Numbers count from the start of the stream, whatever time is shown. Needs `output.packets =
        true`.

        Args:
            flow: name of the flow; None: the only TCP flow of the run.
            t: time range (from, to) [s]; None at either end: as far as there is data.
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: the run recorded no packets, the flow is not named or unknown, or it sent
                no data in this time.
        """
        name, sender = self._one_flow(flow)
        here = _between(self._packets(), t)
        here = here.filter(pc.and_(pc.equal(here["flow"], name), pc.equal(here["node"], sender)))
        sent = here.filter(pc.and_(pc.equal(here["event"], "sent"), pc.greater(here["len"], 0)))
        back = here.filter(pc.and_(pc.equal(here["event"], "received"), pc.greater(here["ack"], 0)))
        if not len(sent):
            raise mistake(f"flow '{name}' sent no data in this time")
        again = sent["retransmission"].to_numpy(zero_copy_only=False).astype(bool)
        x, y = _xy(sent, "seq")
        unit, name_of_unit = _byte_unit(float(np.max(y)))
        fig, axes = new_figure("Time (s)", f"Sequence number ({name_of_unit})", width, height)
        first = _thin.dots(x[~again], y[~again] / unit)
        axes.plot(*first, ".", ms=2, mew=0, color=OKABE_ITO[0], label="sent")
        if again.any():
            axes.plot(x[again], y[again] / unit, "x", ms=3.5, mew=0.8, color=OKABE_ITO[1], label="retransmitted")
        if len(back):
            x, y = _xy(back, "ack")
            x, y = _thin.line(x, y / unit)
            axes.plot(x, y, drawstyle="steps-post", lw=0.8, color=OKABE_ITO[2], label="acknowledged")
        _time_axis(axes, t)
        legend(axes)
        return fig

    def queue(
        self,
        queue: Names = None,
        t: Range = None,
        unit: str = "packets",
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """Queue lengths over time: the queues of links and the RLC buffers of radio bearers.

        Args:
            queue: which, by name or pattern; a radio bearer's are called `"dch.downlink"`; None:
                those whose maximum is at least a tenth of the largest.
            t: time range (from, to) [s]; None at either end: as far as there is data.
            unit: "packets" or "bytes".
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: there is no such queue.
            ValueError: `unit` is another text.
        """
        if unit not in ("packets", "bytes"):
            raise ValueError(f"unit is 'packets' or 'bytes', not '{unit}'")
        curves = [(n, x, y) for n, x, y in self._queues(unit, t) if _wanted(n, queue)]
        if queue is None:
            most = max((float(np.max(y)) for _, _, y in curves), default=0.0)
            curves = [c for c in curves if np.max(c[2]) >= most / 10]
        elif not curves:
            raise mistake(
                f"no queue is called {queue!r}; there are: {', '.join(n for n, _, _ in self._queues(unit, t))}"
            )
        scale, name_of_unit = 1.0, unit
        if unit == "bytes":
            scale, name_of_unit = _byte_unit(max((float(np.max(y)) for _, _, y in curves), default=0.0))
        fig, axes = new_figure("Time (s)", f"Queue ({name_of_unit})", width, height)
        for i, (name, x, y) in enumerate(curves):
            axes.plot(*_thin.line(x, y / scale), drawstyle="steps-post", label=name, **line_style(i))
        axes.set_ylim(bottom=0)
        _time_axis(axes, t)
        legend(axes)
        return fig

    def radio(
        self,
        quantity: str = "sinr",
        ue: Names = None,
        direction: str = "downlink",
        t: Range = None,
        width: float = COLUMN_INCHES,
        height: float | None = None,
    ) -> Figure:
        """The radio of UEs in LTE cells over time, a line per UE, a point per `output.interval`.

        Args:
            quantity: "sinr" (effective, dB), "cqi", "mcs", "power" (PUSCH, dBm), "rate" (new
                transport blocks, Mbit/s), "blocks" (resource blocks in a TTI with a transmission)
                or "errors" (not decoded, percent).
            ue: which UEs, by node name or pattern; None: all.
            direction: "downlink" or "uplink".
            t: time range (from, to) [s]; None at either end: as far as there is data.
            width: inches.
            height: inches; None: the golden ratio.

        Raises:
            LasthopError: the run has no table `radio`, the quantity or direction is unknown, or no
                such UE had blocks.
        """
        if "radio" not in self.results.table_names:
            raise mistake("this run has no radio table: it has no LTE cell, or `output.radio = false`")
        return radio_figure(self.results.radio, quantity, ue, direction, t, width, height)

    def _dots_of_samples(self, axes: Axes, flows: Sequence[tuple[str, pa.Table]]) -> bool:
        """Draws the samples of the round-trip time, and says whether there are any."""
        valid = [rows.filter(pc.is_valid(rows["rtt_sample_us"])) for _, rows in flows]
        taken = [_thin.dots(*_xy(rows, "rtt_sample_us", 1e-3)) for rows in valid]
        number = sum(len(x) for x, _ in taken)
        for (name, _), (x, y) in zip(flows, taken, strict=True):
            one = len(flows) == 1
            colour, alpha = ("#56B4E9", 1.0) if one else (self._style(name)["color"], 0.6)
            label = "sample" if one and number else "_"
            axes.plot(x, y, ".", ms=_dot_size(number), alpha=alpha, color=colour, mew=0, label=label)
        return number > 0

    def _style(self, flow: str) -> dict[str, Any]:
        """Colour and dashes of a flow: the same in every figure of these results."""
        return line_style(self._numbers[flow])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(_column(self.results.flows, "flow"))}

    def _arrived(self, flow: Names) -> Iterator[_Arrivals]:
        """What has arrived of each flow over time: from samples of TCP, else from packets."""
        rows = self.results.flows.to_pylist()
        starts = {row["flow"]: row.get("start_s") for row in rows}
        samples = _by_flow(self.results.tcp, flow, None, strict=False)
        sampled = {name: _sampled(name, part, starts.get(name)) for name, part in samples}
        recorded: dict[str, _Arrivals] = {}
        if "packets" in self.results.table_names:
            others = [r for r in rows if r["flow"] not in sampled and _wanted(r["flow"], flow)]
            recorded = {r["flow"]: a for r in others if (a := self._recorded(r["flow"], r["dst"]))}
        if not sampled and not recorded:
            if left_out := self._unrecorded(set(), flow):
                raise mistake(
                    f"nothing of {_few(left_out)} was recorded over time: set output.packets = true and run again, "
                    "such as with `--set output.packets=true`"
                )
            raise mistake(_nothing(flow, self.results.tcp, "tcp"))
        for name in starts:
            if curve := sampled.get(name) or recorded.get(name):
                yield curve

    def _unrecorded(self, drawn: set[str], flow: Names) -> list[str]:
        """UDP flows that delivered something of which only packets could show when."""
        if "packets" in self.results.table_names:
            return []
        rows = self.results.flows.to_pylist()
        udp = [r["flow"] for r in rows if r["transport"] == "udp" and r["app_bytes"] and _wanted(r["flow"], flow)]
        return [name for name in udp if name not in drawn]

    def _recorded(self, flow: str, receiver: str) -> _Arrivals | None:
        packets = self.results.packets
        mask = pc.and_(pc.equal(packets["flow"], flow), pc.equal(packets["node"], receiver))
        rows = packets.filter(pc.and_(mask, pc.equal(packets["event"], "received")))
        if not len(rows):
            return None
        x, y = _xy(rows, "len")
        return _Arrivals(flow, x, np.cumsum(y), sampled=False)

    def _queues(self, unit: str, t: Range) -> Iterator[tuple[str, Floats, Floats]]:
        if "queues" in self.results.table_names:
            rows = _between(self.results.queues, t)
            for name in _distinct(rows, "queue"):
                yield name, *_xy(rows.filter(pc.equal(rows["queue"], name)), unit)
        if "rlc" in self.results.table_names:
            rows = _between(self.results.rlc, t)
            column = "queue_sdus" if unit == "packets" else "queue_bytes"
            for bearer in _distinct(rows, "bearer"):
                for direction in ("downlink", "uplink"):
                    mask = pc.and_(pc.equal(rows["bearer"], bearer), pc.equal(rows["direction"], direction))
                    part = rows.filter(mask)
                    if len(part):
                        yield f"{bearer}.{direction}", *_xy(part, column)

    def _one_flow(self, flow: str | None) -> tuple[str, str]:
        rows = self.results.flows.select(["flow", "src", "transport"]).to_pylist()
        known = {r["flow"]: r["src"] for r in rows if r["transport"] == "tcp"}
        if flow is None and len(known) == 1:
            flow = next(iter(known))
        if flow not in known:
            asked = "say which flow" if flow is None else f"no TCP flow is called '{flow}'"
            raise mistake(f"{asked}; there are: {', '.join(known)}")
        return str(flow), known[flow]

    def _packets(self) -> pa.Table:
        if "packets" not in self.results.table_names or not len(self.results.packets):
            raise mistake("this run recorded no packets; set output.packets = true and run again")
        return self.results.packets


def _by_flow(table: pa.Table, flow: Names, t: Range, strict: bool = True) -> Iterator[tuple[str, pa.Table]]:
    rows = _between(table, t)
    names = [n for n in _distinct(rows, "flow") if _wanted(n, flow)]
    if strict and not names:
        raise mistake(_nothing(flow, table, "tcp"))
    for name in names:
        yield name, rows.filter(pc.equal(rows["flow"], name))


def _few(names: list[str]) -> str:
    """Up to three names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _nothing(flow: Names, table: pa.Table, kind: str) -> str:
    known = _distinct(table, "flow")
    if not known:
        return f"the {kind} table is empty: no TCP flow was sampled (see output.{kind} in the scenario)"
    asked = "any flow" if flow is None else f"flow {flow!r}"
    return f"there are no samples of {asked} in this time; flows with samples: {', '.join(known)}"


def _between(table: pa.Table, t: Range) -> pa.Table:
    if t is None:
        return table
    time, (start, end) = table["time_s"], t
    if start is not None:
        table = table.filter(pc.greater_equal(time, start))
        time = table["time_s"]
    return table if end is None else table.filter(pc.less_equal(time, end))


def _wanted(name: str, names: Names) -> bool:
    if names is None:
        return True
    return any(fnmatchcase(name, pattern) for pattern in ([names] if isinstance(names, str) else names))


def _distinct(table: pa.Table, column: str) -> list[str]:
    """The distinct values of a text column, in order of first appearance."""
    return [str(v) for v in pc.unique(table[column]).to_pylist()]


def _column(table: pa.Table, column: str) -> list[Any]:
    values: list[Any] = table[column].to_pylist()
    return values


def _xy(rows: pa.Table, column: str, scale: float = 1.0) -> tuple[Floats, Floats]:
    x = rows["time_s"].to_numpy().astype(np.float64, copy=False)
    return x, rows[column].to_numpy().astype(np.float64) * scale


@dataclass(frozen=True)
class _Arrivals:
    """The bytes of a flow that have arrived over time."""

    flow: str
    x: Floats
    y: Floats
    #: Points are samples; else every arrival is one.
    sampled: bool

    @property
    def begins(self) -> float:
        return float(self.x[0])

    @property
    def ends(self) -> float:
        return float(self.x[-1])

    def at(self, edges: Floats) -> Floats:
        """The bytes at `edges`: on the line between two samples.

        Without samples those of the arrivals up to there.
        """
        values: Floats
        if self.sampled:
            values = np.interp(edges, self.x, self.y)
        else:
            values = np.r_[0.0, self.y][np.searchsorted(self.x, edges, side="right")]
        return values


def _sampled(flow: str, rows: pa.Table, start: float | None) -> _Arrivals:
    # Results of versions before `bytes_arrived` have what was acknowledged.
    column = "bytes_arrived" if "bytes_arrived" in rows.column_names else "bytes_acked"
    x, y = _xy(rows, column)
    if start is not None and start < x[0]:
        x, y = np.r_[start, x], np.r_[0.0, y]
    return _Arrivals(flow, x, y, sampled=True)


def _stretches(start: float, end: float, step: float) -> Floats:
    """Edges at multiples of `step` that cover start to end; the last is `end`."""
    first = np.floor(start / step + 1e-9) * step
    count = max(1, int(np.ceil((end - first) / step - 1e-9)))
    edges: Floats = first + step * np.arange(count + 1)
    edges[-1] = end if end > first else first + step
    return edges


def _round_step(wanted: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    if wanted <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9)))


def _unit(top: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest unit that `top` reaches."""
    return next((u for u in units if top >= u[0]), units[-1])


def _rate_unit(top: float) -> tuple[float, str]:
    return _unit(top, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")))


def _byte_unit(top: float) -> tuple[float, str]:
    return _unit(top, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")))


def _dot_size(dots: int) -> float:
    """Size of the marker "." [pt], of which a dot has half the diameter.

    Many dots are small, so that they cover little, but each of them remains visible.
    """
    return min(5.0, max(2.4, 72 / math.sqrt(max(1, dots))))


def _time_axis(axes: Any, t: Range) -> None:
    axes.margins(x=0.01)
    if t is not None:
        axes.set_xlim(left=t[0], right=t[1])
