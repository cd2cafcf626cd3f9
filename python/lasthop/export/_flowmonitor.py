"""The statistics of ns-3's FlowMonitor, as its `SerializeToXmlFile` writes them.

A flow of FlowMonitor is one direction of a connection, so a flow of Lasthop becomes two.
Definitions follow ns-3's src/flow-monitor/model/flow-monitor.cc; the classifier's part follows
ipv4-flow-classifier.cc.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Any

from lasthop.export._addresses import FiveTuple, five_tuples, node_addresses
from lasthop.export._content import Content, needed

if TYPE_CHECKING:
    from lasthop._results import Results

FILE = "flowmon.xml"

#: `MaxPerHopDelay`: a packet that was neither received nor dropped is lost when it was sent so long
#: before the end.
MAX_PER_HOP_DELAY_NS = 10_000_000_000
#: `FlowInterruptionsMinTime`.
MIN_INTERRUPTION_NS = 500_000_000
#: `Time::Max()`, the smallest delay of a flow without received packets.
MAX_TIME_NS = 2**63 - 1

#: Element and bin width (s, s, bytes, s) of each histogram.
HISTOGRAMS = {
    "delayHistogram": 0.001,
    "jitterHistogram": 0.001,
    "packetSizeHistogram": 20.0,
    "flowInterruptionsHistogram": 0.25,
}

#: Numbers of `Ipv4FlowProbe::DropReason`.
DROP_NO_ROUTE, DROP_QUEUE, DROP_QUEUE_DISC, DROP_FRAGMENT_TIMEOUT, DROP_INVALID_REASON = 0, 3, 4, 7, 8

_FLOW_COLUMNS = (
    *("flow", "src", "dst", "transport", "end_s", "first_tx_s", "last_rx_s", "tx_packets", "tx_bytes", "rx_packets"),
    *("rx_bytes", "delay_mean_s", "delay_min_s", "delay_max_s", "jitter_mean_s", "lost_dropped"),
)
_COLUMNS = ("time_s", "packet", "flow", "node", "event", "size")


@dataclass
class FlowStats:
    """`FlowMonitor::FlowStats`, times in ns."""

    first_tx: int = 0
    first_rx: int = 0
    last_tx: int = 0
    last_rx: int = 0
    delay_sum: int = 0
    jitter_sum: int = 0
    last_delay: int = 0
    max_delay: int = 0
    min_delay: int = MAX_TIME_NS
    tx_bytes: int = 0
    rx_bytes: int = 0
    tx_packets: int = 0
    rx_packets: int = 0
    lost_packets: int = 0
    dropped: Counter[int] = field(default_factory=Counter)
    dropped_bytes: Counter[int] = field(default_factory=Counter)
    histograms: dict[str, Counter[int]] = field(default_factory=dict)

    def sent(self, now: int, size: int) -> None:
        """A packet left its source."""
        if not self.tx_packets:
            self.first_tx = now
            self.histograms = {name: Counter() for name in HISTOGRAMS}
        self.last_tx = now
        self.tx_packets += 1
        self.tx_bytes += size

    def received(self, now: int, size: int, delay: int) -> None:
        """A packet reached its destination."""
        self.delay_sum += delay
        self._note("delayHistogram", delay / 1e9)
        if self.rx_packets:
            jitter = abs(self.last_delay - delay)
            self.jitter_sum += jitter
            self._note("jitterHistogram", jitter / 1e9)
            if now - self.last_rx > MIN_INTERRUPTION_NS:
                self._note("flowInterruptionsHistogram", (now - self.last_rx) / 1e9)
        else:
            self.first_rx = now
        self.last_delay = delay
        self.max_delay = max(self.max_delay, delay)
        self.min_delay = min(self.min_delay, delay)
        self._note("packetSizeHistogram", float(size))
        self.last_rx = now
        self.rx_packets += 1
        self.rx_bytes += size

    def lost(self, size: int, reason: int) -> None:
        """A packet was dropped and did not reach its destination."""
        self.lost_packets += 1
        self.dropped[reason] += 1
        self.dropped_bytes[reason] += size

    def _note(self, histogram: str, value: float) -> None:
        self.histograms[histogram][floor(value / HISTOGRAMS[histogram])] += 1


def flowmonitor_content(results: Results) -> Content:
    """`flowmon.xml`: exact where the table `packets` was recorded, else estimated.

    The estimate is made from the table `flows`.
    """
    rows = needed(results, "flows", _FLOW_COLUMNS).to_pylist()
    tuples = five_tuples(rows)
    notes = [
        (
            "A flow of FlowMonitor is one direction of a connection. flowId and ports of each are in"
            " export.json, `flows`, addresses in `addresses`. Counted from 0, node N in the order of names has the"
            " address 10.0.0.1 + N, and flow I of the table `flows` the port 49152 + I at its sender and 5001 at its"
            " receiver."
        ),
        "timesForwarded is 0: no table counts the routers on a packet's way. A hop count computed from it is 1.",
        "The lines `Dscp` and the part `FlowProbes` are left out: no table has them.",
    ]
    if "packets" in results.table_names:
        stats = _counted(results, rows)
        notes += [
            "Times have all their digits. ns-3 itself writes six, or all of them in older releases.",
            (
                "lostPackets are the packets with a named drop that were not received, and those that were sent 10 s"
                " (MaxPerHopDelay) or more before the end and neither received nor dropped. ns-3 notices drops of the"
                " IP layer alone, and takes those of a radio's layers for lost after 10 s."
            ),
            (
                "reasonCode is 3 (DROP_QUEUE) for full buffers, 4 (DROP_QUEUE_DISC) for an AQM's drops, 0"
                " (DROP_NO_ROUTE), 7 (DROP_FRAGMENT_TIMEOUT), and 8 (DROP_INVALID_REASON) for all other causes."
            ),
            (
                "A packet that an agent on the way sends again from its cache counts as sent once, by its source, and"
                " as received once, the first time. The table `flows` counts both receptions."
            ),
        ]
    else:
        stats = _estimated(rows)
        notes += [
            (
                "This run has no table `packets`, so these are estimated from the table `flows`: timeFirstRxPacket ="
                " first_tx_s + delay_min_s; timeLastTxPacket = last_rx_s - delay_mean_s; lastDelay = delay_mean_s;"
                " delaySum = delay_mean_s times rx_packets; jitterSum = jitter_mean_s times (rx_packets - 1);"
                " lostPackets = lost_dropped, in which the fragments of a packet count singly."
            ),
            (
                "Left out for the same reason: the flows against the data's direction (ACKs, requests), packetsDropped,"
                " bytesDropped and the histograms. `--set output.packets=true` makes a run record the table."
            ),
        ]
    found = sorted((s.first_tx, i, reverse) for (i, reverse), s in stats.items() if s.tx_packets)
    ids: dict[int, tuple[FiveTuple, FlowStats]] = {}
    listed = []
    for number, (_, i, reverse) in enumerate(found, start=1):
        row = rows[i]
        way = tuples[row["flow"]]
        way = way.reverse if reverse else way
        ids[number] = (way, stats[i, reverse])
        ends = (row["dst"], row["src"]) if reverse else (row["src"], row["dst"])
        ports = (way.source_port, way.destination_port)
        listed.append({"flowId": number, "flow": row["flow"], "from": ends[0], "to": ends[1], "ports": ports})
    addresses = {node: str(address) for node, address in node_addresses(rows).items()}
    return Content(
        title="A run as ns-3's FlowMonitor would have written it",
        files={FILE: partial(_xml, ids)},
        notes=notes,
        more={"estimated": "packets" not in results.table_names, "addresses": addresses, "flows": listed},
    )


def _counted(results: Results, rows: list[dict[str, Any]]) -> dict[tuple[int, bool], FlowStats]:
    """The statistics of each direction of each flow, packet by packet.

    The key is the flow's row, and if reverse.
    """
    ends = {row["flow"]: (i, row["src"], row["dst"]) for i, row in enumerate(rows)}
    stats = {(i, reverse): FlowStats() for i in range(len(rows)) for reverse in (False, True)}
    causes = _causes(results)
    # Of each packet on its way: when and in which direction it was sent, and its first drop.
    way: dict[tuple[str, int], tuple[int, bool]] = {}
    drops: dict[tuple[str, int], tuple[int, int]] = {}
    for batch in needed(results, "packets", _COLUMNS).to_batches(max_chunksize=50_000):
        columns = [batch.column(name).to_pylist() for name in _COLUMNS]
        for time_s, packet, flow, node, event, size in zip(*columns, strict=True):
            if flow not in ends:
                continue
            i, src, dst = ends[flow]
            key, now = (flow, packet), round(time_s * 1e9)
            if event == "sent" and node in (src, dst) and key not in way:
                way[key] = (now, node == dst)
                stats[i, node == dst].sent(now, size)
            elif event == "dropped" and key in way and key not in drops:
                drops[key] = (size, causes.get(key, DROP_INVALID_REASON))
            elif event == "received" and key in way:
                start, reverse = way[key]
                if node == (src if reverse else dst):
                    del way[key]
                    drops.pop(key, None)
                    stats[i, reverse].received(now, size, now - start)
    for key, (start, reverse) in way.items():
        i = ends[key[0]][0]
        if key in drops:
            stats[i, reverse].lost(*drops[key])
        elif round(rows[i]["end_s"] * 1e9) - start >= MAX_PER_HOP_DELAY_NS:
            stats[i, reverse].lost_packets += 1
    return stats


def _causes(results: Results) -> dict[tuple[str, int], int]:
    """ns-3's reason of the first drop of each packet."""
    found: dict[tuple[str, int], int] = {}
    for batch in needed(results, "drops", ("packet", "flow", "cause")).to_batches():
        columns = (batch.column(name).to_pylist() for name in ("flow", "packet", "cause"))
        for flow, packet, cause in zip(*columns, strict=True):
            found.setdefault((flow, packet), reason_of(cause))
    return found


def reason_of(cause: str) -> int:
    """The number in `Ipv4FlowProbe::DropReason` of a cause in the table `drops`."""
    if cause.endswith("-full"):
        return DROP_QUEUE
    named = {
        "aqm": DROP_QUEUE_DISC,
        "rlc-aqm": DROP_QUEUE_DISC,
        "no-route": DROP_NO_ROUTE,
        "reassembly-timeout": DROP_FRAGMENT_TIMEOUT,
    }
    return named.get(cause, DROP_INVALID_REASON)


def _estimated(rows: list[dict[str, Any]]) -> dict[tuple[int, bool], FlowStats]:
    """The statistics of the data's direction as far as the table `flows` has them."""

    def ns(seconds: float | None) -> int:
        return round((seconds or 0) * 1e9)

    stats = {}
    for i, row in enumerate(rows):
        received = row["rx_packets"]
        first, last, mean = ns(row["first_tx_s"]), ns(row["last_rx_s"]), ns(row["delay_mean_s"])
        stats[i, False] = FlowStats(
            first_tx=first,
            first_rx=first + ns(row["delay_min_s"]) if received else 0,
            last_tx=max(last - mean, first),
            last_rx=last,
            delay_sum=ns((row["delay_mean_s"] or 0) * received),
            jitter_sum=ns((row["jitter_mean_s"] or 0) * max(received - 1, 0)),
            last_delay=mean,
            max_delay=ns(row["delay_max_s"]),
            min_delay=ns(row["delay_min_s"]) if received else MAX_TIME_NS,
            tx_bytes=row["tx_bytes"],
            rx_bytes=row["rx_bytes"],
            tx_packets=row["tx_packets"],
            rx_packets=received,
            lost_packets=row["lost_dropped"],
        )
    return stats


def _xml(flows: dict[int, tuple[FiveTuple, FlowStats]]) -> Iterator[bytes]:
    yield b'<?xml version="1.0" ?>\n<FlowMonitor>\n  <FlowStats>\n'
    for number, (_, stats) in flows.items():
        yield "".join(_flow(number, stats)).encode()
    yield b"  </FlowStats>\n  <Ipv4FlowClassifier>\n"
    for number, (way, _) in sorted(flows.items(), key=lambda item: item[1][0]):
        yield (
            f'    <Flow flowId="{number}" sourceAddress="{way.source}" destinationAddress="{way.destination}"'
            f' protocol="{way.protocol}" sourcePort="{way.source_port}" destinationPort="{way.destination_port}">\n'
            "    </Flow>\n"
        ).encode()
    yield b"  </Ipv4FlowClassifier>\n</FlowMonitor>\n"


def _flow(number: int, stats: FlowStats) -> Iterator[str]:
    times = {
        "timeFirstTxPacket": stats.first_tx,
        "timeFirstRxPacket": stats.first_rx,
        "timeLastTxPacket": stats.last_tx,
        "timeLastRxPacket": stats.last_rx,
        "delaySum": stats.delay_sum,
        "jitterSum": stats.jitter_sum,
        "lastDelay": stats.last_delay,
        "maxDelay": stats.max_delay,
        "minDelay": stats.min_delay,
    }
    counts = {
        "txBytes": stats.tx_bytes,
        "rxBytes": stats.rx_bytes,
        "txPackets": stats.tx_packets,
        "rxPackets": stats.rx_packets,
        "lostPackets": stats.lost_packets,
        "timesForwarded": 0,
    }
    attributes = [f'{name}="{value:+d}.0ns"' for name, value in times.items()]
    attributes += [f'{name}="{value}"' for name, value in counts.items()]
    yield f'    <Flow flowId="{number}" {" ".join(attributes)}>\n'
    codes = range(max(stats.dropped, default=-1) + 1)
    for code in codes:
        yield f'      <packetsDropped reasonCode="{code}" number="{stats.dropped[code]}" />\n'
    for code in codes:
        yield f'      <bytesDropped reasonCode="{code}" bytes="{stats.dropped_bytes[code]}" />\n'
    for name, bins in stats.histograms.items():
        width = HISTOGRAMS[name]
        yield f'      <{name} nBins="{max(bins, default=-1) + 1}" >\n'
        for index in sorted(bins):
            start = f'start="{index * width:g}" width="{width:g}"'
            yield f'        <bin index="{index}" {start} count="{bins[index]}" />\n'
        yield f"      </{name}>\n"
    yield "    </Flow>\n"
