"""The events of TCP senders as qlog.

The formats are the IETF's schema as JSON and JSON-SEQ, and the older form that qvis reads.

The drafts define events of QUIC and HTTP/3, but none of TCP. The events here have a schema of their
own, `tcp.cddl` beside this file, in the namespace `tcp`. Names and fields are those of the QUIC
events wherever TCP has the same quantity, so that a QUIC sender will differ from a TCP sender in
the namespace alone.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from lasthop.export._content import Content, Selection
from lasthop.export._senders import Happening, Sender, happenings, senders

if TYPE_CHECKING:
    from lasthop._results import Results

#: The schema of the file: "QlogFile" and "QlogFileSeq" of this draft.
DRAFT = "draft-ietf-quic-qlog-main-schema-13"
CONTAINED, SEQUENTIAL = "urn:ietf:params:qlog:file:contained", "urn:ietf:params:qlog:file:sequential"
#: The schema of the events: `tcp.cddl`. It is not registered.
EVENT_SCHEMA = "urn:x-lasthop:qlog:events:tcp-1"

Event = dict[str, Any]
Files = dict[str, Callable[[], Iterable[bytes]]]

NOTES = [
    "A trace shows the connection of one TCP sender. `time` is virtual time in ms since the start of the run.",
    (
        "congestion_window, ssthresh and bytes_in_flight are counts of segments times the payload of a full segment."
        " packets_in_flight is (unacked - sacked - lost + retrans), as Linux counts it."
    ),
    (
        "The table `tcp` has a sample every `output.tcp`; metrics between two samples are not reported."
        " `--set output.tcp=ack` makes a run record one for each ACK."
    ),
]
NO_PACKETS = (
    "The run has no table `packets`, so there is no event of a packet. `--set output.packets=true` makes a run record"
    " it."
)


def qlog_content(results: Results, selection: Selection) -> Content:
    """`run.qlog`: all senders as JSON, a trace for each.

    Raises:
        LasthopError: no TCP sender, or tables lack columns.
    """
    chosen = senders(results, selection)
    files: Files = {"run.qlog": partial(_contained, results, chosen, selection)}
    return _content(results, f"TCP senders as qlog ({DRAFT})", files)


def sqlog_content(results: Results, selection: Selection) -> Content:
    """`FLOW.sqlog` for each sender, as JSON text sequences (RFC 7464).

    Raises:
        LasthopError: no TCP sender, or tables lack columns.
    """
    chosen = senders(results, selection)
    names = file_names([sender.flow for sender in chosen], "sqlog")
    files: Files = {
        name: partial(_sequential, results, sender, selection) for name, sender in zip(names, chosen, strict=True)
    }
    return _content(results, f"TCP senders as qlog in JSON text sequences ({DRAFT})", files)


def qvis_content(results: Results, selection: Selection) -> Content:
    """`run.qlog` in qlog 0.3, the version that qvis reads, with the names of QUIC's events.

    Raises:
        LasthopError: no TCP sender, or tables lack columns.
    """
    chosen = senders(results, selection)
    content = _content(
        results, "TCP senders in qlog 0.3 for qvis", {"run.qlog": partial(_qvis, results, chosen, selection)}
    )
    content.notes.append(
        "qvis reads the events of QUIC only. A TCP segment stands here as a packet of type 1RTT with the number of its"
        " sending, an ACK as an ACK frame with the numbers of the packets that it acknowledges cumulatively. A segment"
        " counts as lost when it is sent again; the table `packets` does not have the SACK blocks."
    )
    return content


def file_names(flows: list[str], ending: str) -> list[str]:
    """A file for each flow: its name, with `_` for what some file systems refuse.

    A number is added where two names are equal.
    """
    names: dict[str, None] = {}
    for flow in flows:
        stem = re.sub(r"[^\w@.+-]", "_", flow).lstrip(".") or "_"
        name, n = f"{stem}.{ending}", 2
        while name in names:
            name, n = f"{stem}-{n}.{ending}", n + 1
        names[name] = None
    return list(names)


def _content(results: Results, title: str, files: Files) -> Content:
    notes = list(NOTES)
    if "packets" not in results.table_names:
        notes.append(NO_PACKETS)
    return Content(title, files, notes, {"draft": DRAFT, "event_schema": EVENT_SCHEMA})


def _contained(results: Results, chosen: list[Sender], selection: Selection) -> Iterator[bytes]:
    head = {
        "file_schema": CONTAINED,
        "serialization_format": "application/qlog+json",
        "title": str(results.manifest.get("name", "")),
        "description": f"TCP senders of a simulation by Lasthop; schema: {DRAFT}",
    }
    yield from _traces(head, [(_trace(sender), _events(results, sender, selection)) for sender in chosen])


def _traces(head: Event, traces: list[tuple[Event, Iterator[Event]]]) -> Iterator[bytes]:
    """A JSON object with `traces`, whose events are written one by one.

    They need not fit into memory.
    """
    yield _json(head)[:-1] + b',"traces":['
    for i, (trace, events) in enumerate(traces):
        yield (b",\n" if i else b"\n") + _json(trace)[:-1] + b',"events":['
        for k, event in enumerate(events):
            yield (b",\n" if k else b"\n") + _json(event)
        yield b"]}"
    yield b"]}\n"


def _sequential(results: Results, sender: Sender, selection: Selection) -> Iterator[bytes]:
    head = {
        "file_schema": SEQUENTIAL,
        "serialization_format": "application/qlog+json-seq",
        "title": str(results.manifest.get("name", "")),
        "description": f"A TCP sender of a simulation by Lasthop; schema: {DRAFT}",
        "trace": _trace(sender),
    }
    yield b"\x1e" + _json(head) + b"\n"
    for event in _events(results, sender, selection):
        yield b"\x1e" + _json(event) + b"\n"


def _trace(sender: Sender) -> Event:
    return {
        "title": sender.flow,
        "description": f"{sender.src} sends to {sender.dst}, congestion control {sender.cc}",
        "common_fields": {
            "group_id": sender.flow,
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        },
        "vantage_point": {"name": sender.src, "type": "unknown"},
        "event_schemas": [EVENT_SCHEMA],
    }


def _events(results: Results, sender: Sender, selection: Selection) -> Iterator[Event]:
    known: Event = {}
    for happening in happenings(results, sender, selection):
        if (event := _event(happening, sender, known)) is not None:
            name, data = event
            yield {"time": milliseconds(happening.time_s), "name": f"tcp:{name}", "data": data}


def _event(happening: Happening, sender: Sender, known: Event) -> tuple[str, Event] | None:
    """Name and data of an event; None: nothing has changed. `known`: the metrics written last."""
    row = happening.row
    if happening.kind == "sample":
        changed = {name: value for name, value in metrics(row, sender.segment).items() if known.get(name) != value}
        known.update(changed)
        return ("recovery_metrics_updated", changed) if changed else None
    if happening.kind == "state":
        return "congestion_state_updated", {name: value for name, value in row.items() if value is not None}
    if happening.kind == "rto":
        return "timer_updated", {"timer_type": "rto", "event_type": "expired"}
    header = {"flags": row["flags"] or "", "seq": row["seq"] or 0}
    if row["ack"] is not None:
        header["ack"] = row["ack"]
    data: Event = {
        "header": header,
        "raw": {"length": row["size"], "payload_length": row["len"] or 0},
        "packet": row["packet"],
    }
    if row["retransmission"]:
        data["is_retransmission"] = True
    return ("packet_sent" if happening.kind == "sent" else "packet_received"), data


def metrics(row: dict[str, Any], segment: int | None) -> Event:
    """The metrics of a row of the table `tcp` as QUIC's event names them, in ms, B and bit/s."""
    found: Event = {}
    for name, column in (
        ("min_rtt", "min_rtt_us"),
        ("smoothed_rtt", "rtt_us"),
        ("latest_rtt", "rtt_sample_us"),
        ("rtt_variance", "rttvar_us"),
    ):
        if row.get(column):
            found[name] = round(row[column] / 1000, 6)
    flying = (row.get("unacked") or 0) - (row.get("sacked") or 0) - (row.get("lost") or 0) + (row.get("retrans") or 0)
    found["packets_in_flight"] = max(flying, 0)
    if segment:
        found["bytes_in_flight"] = found["packets_in_flight"] * segment
        if row.get("snd_cwnd") is not None:
            found["congestion_window"] = round(row["snd_cwnd"] * segment)
        if (row.get("snd_ssthresh") or -1) >= 0:
            found["ssthresh"] = round(row["snd_ssthresh"] * segment)
    if row.get("pacing_rate_bps") is not None:
        found["pacing_rate"] = round(row["pacing_rate_bps"])
    return found


def _qvis(results: Results, chosen: list[Sender], selection: Selection) -> Iterator[bytes]:
    head = {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": str(results.manifest.get("name", "")),
        "description": "TCP senders of a simulation by Lasthop, as events of QUIC",
    }
    yield from _traces(head, [(_qvis_trace(sender), _qvis_events(results, sender, selection)) for sender in chosen])


def _qvis_trace(sender: Sender) -> Event:
    return {
        "title": sender.flow,
        "description": f"{sender.src} sends to {sender.dst}, congestion control {sender.cc}",
        "vantage_point": {"name": sender.src, "type": "server"},
        "common_fields": {"protocol_type": "TCP", "time_format": "relative", "reference_time": 0},
    }


def _qvis_events(results: Results, sender: Sender, selection: Selection) -> Iterator[Event]:
    numbers = _Numbers()
    known: Event = {}
    for happening in happenings(results, sender, selection):
        time, row = milliseconds(happening.time_s), happening.row
        if happening.kind == "sent":
            number, again = numbers.sent(row)
            for lost in again:
                header = {"packet_type": "1RTT", "packet_number": lost}
                yield {"time": time, "name": "recovery:packet_lost", "data": {"header": header}}
            header = {"packet_type": "1RTT", "packet_number": number}
            yield {
                "time": time,
                "name": "transport:packet_sent",
                "data": {"header": header, "raw": {"length": row["size"]}},
            }
        elif happening.kind == "received":
            header = {"packet_type": "1RTT", "packet_number": row["packet"]}
            data: Event = {"header": header, "raw": {"length": row["size"]}}
            if ranges := numbers.acknowledged(row["ack"]):
                data["frames"] = [{"frame_type": "ack", "acked_ranges": ranges}]
            yield {"time": time, "name": "transport:packet_received", "data": data}
        elif (event := _event(happening, sender, known)) is not None and happening.kind != "rto":
            name = "metrics_updated" if happening.kind == "sample" else event[0]
            yield {"time": time, "name": f"recovery:{name}", "data": event[1]}


class _Numbers:
    """Numbers of packets for segments: qvis follows packets by number, TCP acknowledges octets."""

    def __init__(self) -> None:
        self._next = 0
        #: First octet, octet behind the last and number of each segment that is not acknowledged,
        #: in this order.
        self._flying: list[tuple[int, int, int]] = []

    def sent(self, row: dict[str, Any]) -> tuple[int, list[int]]:
        """The number of a segment, and those of earlier segments with the same octets.

        The earlier ones count as lost.
        """
        number, self._next = self._next, self._next + 1
        start = row["seq"] or 0
        end = start + (row["len"] or 0)
        if end == start:
            return number, []
        first = last = bisect_left(self._flying, (start,))
        while row["retransmission"] and first and self._flying[first - 1][1] > start:
            first -= 1
        while row["retransmission"] and last < len(self._flying) and self._flying[last][0] < end:
            last += 1
        again = [n for _, _, n in self._flying[first:last]]
        self._flying[first:last] = [(start, end, number)]
        return number, again

    def acknowledged(self, ack: int | None) -> list[list[int]]:
        """Ranges of numbers that an acknowledgment up to this octet covers for the first time.

        Both ends are included.
        """
        count = 0
        while ack is not None and count < len(self._flying) and self._flying[count][1] <= ack:
            count += 1
        done = sorted(number for _, _, number in self._flying[:count])
        del self._flying[:count]
        ranges: list[list[int]] = []
        for number in done:
            if ranges and number == ranges[-1][1] + 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        return ranges


def milliseconds(time_s: float) -> float:
    """Virtual time in ms, right to the nanosecond."""
    return round(time_s * 1000, 6)


def _json(value: Event) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
