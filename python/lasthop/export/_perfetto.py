"""The way of packets as a trace for Perfetto's viewer (ui.perfetto.dev).

It has counters of senders and queues too.

Tracks form a tree: a flow has its packets on their way, its sender's counters and states; below
"nodes" each node has the packets that it sends and receives; below "layers" each place has a track
for each stage of packets there (with the table `stages`); "drops" and "queues" are by place. A
packet is a slice from sending to delivery or drop. Perfetto's flow arrows lead from the sending
node to the receiving one. Virtual time is Perfetto's boot clock.
"""

from __future__ import annotations

import heapq
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.export._content import Content, Selection, needed
from lasthop.export._senders import EVENTS, PACKETS, rows

if TYPE_CHECKING:
    from lasthop._results import Results

FILE = "run.pftrace"
STAGES = ("packet", "part", "flow", "stage", "where", "start_ns", "end_ns")

#: Counters of a TCP sender: column of the table `tcp`, name and unit in the viewer.
SENDER = (
    ("snd_cwnd", "snd_cwnd", "segments"),
    ("snd_ssthresh", "snd_ssthresh", "segments"),
    ("unacked", "unacked", "segments"),
    ("rtt_us", "srtt", "us"),
    ("rto_us", "rto", "us"),
    ("pacing_rate_bps", "pacing rate", "bit/s"),
)


def perfetto_content(results: Results, selection: Selection) -> Content:
    """`run.pftrace` from the tables `packets`, `stages`, `tcp`, `queues` and `events`.

    Raises:
        LasthopError: the library `perfetto` is not installed, the run has no table `packets`, or
            there is no such flow.
    """
    try:
        import perfetto.trace_builder.proto_builder  # noqa: F401
    except ImportError:
        raise mistake(
            "the export for Perfetto needs the Python package `perfetto`", "pip install 'lasthop[perfetto]'"
        ) from None
    if "packets" not in results.table_names:
        raise mistake(
            "the way of packets is not recorded: this run has no table `packets`",
            "`--set output.packets=true` makes a run record it",
        )
    flows = results.table("flows", ["flow"])["flow"].to_pylist()
    if selection.flow is not None and selection.flow not in flows:
        raise mistake(f"there is no flow '{selection.flow}' in this run", f"its flows are: {', '.join(flows[:20])}")
    return Content(
        title="The way of packets for Perfetto (https://ui.perfetto.dev, 'Open trace file'; nothing is uploaded)",
        files={FILE: partial(_trace, results, selection)},
        notes=[
            "A packet is a slice from sending to delivery or drop, on the track 'packets' of its flow.",
            "Arrows lead from the node that sends a packet to the one that receives it.",
            (
                "Below 'layers' each place has its packets by stage: queue, serialization, RLC, HARQ and so on."
                if "stages" in results.table_names
                else "`output.explain = true` makes a run record the stages of packets, the track 'layers'."
            ),
            "A packet whose end is beyond the interval or the end of the run has no slice, only its sending.",
            "Virtual time is the trace's clock: 0 is the start of the run.",
            "Counters of senders are as often as the table `tcp` has samples, those of queues every `output.interval`.",
        ],
    )


def _trace(results: Results, selection: Selection) -> Iterator[bytes]:
    trace = _Trace()
    for part in (_packets, _ways, _drops, _senders, _timeouts, _queues):
        for _ in part(trace, results, selection):
            if trace.size > 1 << 20:
                yield trace.taken()
    yield trace.taken()


class _Trace:
    """TracePackets of a trace, written to memory until they are taken away."""

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        self._proto = proto
        self._out = io.BytesIO()
        self._builder = StreamingTraceProtoBuilder(self._out)
        self._tracks: dict[tuple[str, ...], int] = {}

    @property
    def size(self) -> int:
        """Octets that wait to be taken."""
        return self._out.tell()

    def taken(self) -> bytes:
        """What was written since the last call."""
        data = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return data

    def track(self, *path: str, unit: str | None = None, copy: int = 0) -> int:
        """The track at a path of names.

        `copy` distinguishes tracks of one name, which the viewer shows as one.
        """
        key = (*path, str(copy)) if copy else path
        if (uuid := self._tracks.get(key)) is None:
            parent = self.track(*path[:-1]) if len(path) > 1 else 0
            uuid = self._tracks[key] = len(self._tracks) + 1
            packet = self._builder.create_packet()
            track = packet.track_descriptor
            track.uuid = uuid
            track.name = path[-1]
            if parent:
                track.parent_uuid = parent
            if unit is not None:
                track.counter.unit_name = unit
            self._builder.write_packet(packet)
        return uuid

    def _event(self, time_s: float, track: int, kind: int) -> Any:
        packet = self._builder.create_packet()
        packet.timestamp = round(time_s * 1e9)
        packet.trusted_packet_sequence_id = 1
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        return packet, event

    def slice(self, track: int, start_s: float, end_s: float, name: str, notes: dict[str, Any]) -> None:
        """An interval on a track on which no other overlaps it."""
        kinds = self._proto.TrackEvent
        packet, event = self._event(start_s, track, kinds.TYPE_SLICE_BEGIN)
        event.name = name
        self._annotate(event, notes)
        self._builder.write_packet(packet)
        packet, event = self._event(end_s, track, kinds.TYPE_SLICE_END)
        self._builder.write_packet(packet)

    def instant(
        self, track: int, time_s: float, name: str, notes: dict[str, Any], arrow: int | None = None, ends: bool = False
    ) -> None:
        """A moment on a track.

        `arrow` joins moments of one number, `ends` says that it is the last of them.
        """
        packet, event = self._event(time_s, track, self._proto.TrackEvent.TYPE_INSTANT)
        event.name = name
        if arrow is not None:
            (event.terminating_flow_ids if ends else event.flow_ids).append(arrow + 1)
        self._annotate(event, notes)
        self._builder.write_packet(packet)

    def counter(self, track: int, time_s: float, value: float) -> None:
        """A value of a counter from this moment on."""
        packet, event = self._event(time_s, track, self._proto.TrackEvent.TYPE_COUNTER)
        event.double_counter_value = value
        self._builder.write_packet(packet)

    def _annotate(self, event: Any, notes: dict[str, Any]) -> None:
        for name, value in notes.items():
            if value is None:
                continue
            note = event.debug_annotations.add()
            note.name = name
            if isinstance(value, bool):
                note.bool_value = value
            elif isinstance(value, int):
                note.int_value = value
            elif isinstance(value, float):
                note.double_value = value
            else:
                note.string_value = str(value)


@dataclass
class _Rows:
    """Tracks of one name: slices that overlap go to different ones."""

    #: When the last slice on each track ends, with the track's number.
    busy: list[tuple[float, int]] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    count: int = 0

    def take(self, start_s: float, end_s: float) -> int:
        """A track for a slice; slices come in the order of their starts."""
        while self.busy and self.busy[0][0] <= start_s:
            heapq.heappush(self.free, heapq.heappop(self.busy)[1])
        if self.free:
            number = heapq.heappop(self.free)
        else:
            number, self.count = self.count, self.count + 1
        heapq.heappush(self.busy, (end_s, number))
        return number


def _packets(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    table = selection.of(needed(results, "packets", PACKETS))
    ends: dict[int, tuple[float, str, str]] = {}
    for row in rows(table.filter(pc.is_in(table["event"].cast("string"), _strings("received", "dropped")))):
        # A fragment or a forwarded copy may be dropped of a packet that arrives.
        if row["packet"] not in ends or row["event"] == "received":
            ends[row["packet"]] = (row["time_s"], row["event"], row["node"])
    ways: dict[str, _Rows] = {}
    for row in rows(table):
        notes = {name: row[name] for name in ("packet", "size", "seq", "ack", "len", "flags", "retransmission")}
        flow, number = row["flow"], row["packet"]
        if row["event"] == "sent":
            trace.instant(trace.track("nodes", row["node"], "sent"), row["time_s"], _name(row), notes, arrow=number)
            if number in ends and ends[number][0] >= row["time_s"]:
                end_s, how, where = ends[number]
                copy = ways.setdefault(flow, _Rows()).take(row["time_s"], end_s)
                track = trace.track("flows", flow, "packets", copy=copy)
                trace.slice(track, row["time_s"], end_s, _name(row), {**notes, how: where})
        elif row["event"] == "received":
            track = trace.track("nodes", row["node"], "received")
            trace.instant(track, row["time_s"], _name(row), notes, arrow=number, ends=True)
        elif row["event"] == "forwarded":
            track = trace.track("nodes", row["node"], "forwarded")
            trace.instant(track, row["time_s"], _name(row), notes, arrow=number)
        yield


def _ways(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    """Below "layers", a track for each place that packets pass.

    Its slices are their stages there.
    """
    if "stages" not in results.table_names:
        return
    table = needed(results, "stages", STAGES)
    if selection.flow is not None:
        table = table.filter(pc.equal(table["flow"], selection.flow))
    first, last = (round(min(t, 1e9) * 1e9) for t in (selection.from_s, selection.to_s))
    table = table.filter(pc.and_(pc.greater_equal(table["start_ns"], first), pc.less(table["start_ns"], last)))
    tracks: dict[tuple[str, str], _Rows] = {}
    for row in rows(table.sort_by([("start_ns", "ascending"), ("packet", "ascending")])):
        start_s, end_s = row["start_ns"] / 1e9, row["end_ns"] / 1e9
        copy = tracks.setdefault((row["where"], row["stage"]), _Rows()).take(start_s, end_s)
        track = trace.track("layers", row["where"], row["stage"], copy=copy)
        notes = {name: row[name] for name in ("packet", "part", "flow")}
        trace.slice(track, start_s, end_s, f"{row['flow']} {row['packet']}", notes)
        yield


def _drops(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    if "drops" not in results.table_names:
        return
    table = selection.of(needed(results, "drops", ("time_s", "packet", "flow", "where", "cause", "size")))
    for row in rows(table):
        notes = {name: row[name] for name in ("packet", "flow", "size")}
        track = trace.track("drops", row["where"] or "?")
        trace.instant(track, row["time_s"], f"{row['flow']}: {row['cause']}", notes, arrow=row["packet"], ends=True)
        yield


def _senders(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    if "tcp" not in results.table_names:
        return
    needed(results, "tcp", ("time_s", "flow", "ca_state"))
    known: dict[tuple[str, str], float] = {}
    states: dict[str, tuple[str, float]] = {}
    last = 0.0
    for row in rows(selection.of(results.table("tcp"))):
        flow, last = row["flow"], row["time_s"]
        for column, name, unit in SENDER:
            value = row.get(column)
            # An infinite threshold is -1 in the table.
            if value is None or value < 0 or known.get((flow, name)) == value:
                continue
            known[flow, name] = value
            trace.counter(trace.track("flows", flow, name, unit=unit), last, float(value))
        state, since = states.get(flow, (None, last))
        if state != row["ca_state"]:
            if state is not None:
                trace.slice(trace.track("flows", flow, "ca_state"), since, last, state, {})
            states[flow] = (row["ca_state"], last)
        yield
    for flow, (state, since) in states.items():
        trace.slice(trace.track("flows", flow, "ca_state"), since, last, state, {})
        yield


def _timeouts(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    for row in rows(selection.between(needed(results, "events", EVENTS))):
        kind, _, name = (row["source"] or "").partition("/")
        if kind == "flow" and not selection.takes(name):
            continue
        path = ("flows", name, "events") if kind == "flow" else ("events", row["source"] or "?")
        trace.instant(trace.track(*path), row["time_s"], row["kind"], {"value": row["value"], "detail": row["detail"]})
        yield


def _queues(trace: _Trace, results: Results, selection: Selection) -> Iterator[None]:
    if "queues" not in results.table_names:
        return
    known: dict[tuple[str, str], float] = {}
    for row in rows(selection.between(needed(results, "queues", ("time_s", "queue", "packets", "bytes")))):
        for name, unit in (("packets", "packets"), ("bytes", "B")):
            if known.get((row["queue"], name)) != row[name]:
                known[row["queue"], name] = row[name]
                trace.counter(trace.track("queues", row["queue"], name, unit=unit), row["time_s"], float(row[name]))
        yield


def _name(row: dict[str, Any]) -> str:
    """A packet in short: SYN, ACK 1449, 1449:2897 or a number."""
    flags, length = row["flags"] or "", row["len"] or 0
    if "S" in flags:
        return "SYN, ACK" if "." in flags else "SYN"
    if length and row["seq"] is not None:
        again = " again" if row["retransmission"] else ""
        return f"{row['seq']}:{row['seq'] + length}{again}"
    if row["ack"] is not None:
        return f"ACK {row['ack']}"
    return f"packet {row['packet']}"


def _strings(*values: str) -> Any:
    import pyarrow as pa

    return pa.array(values)
