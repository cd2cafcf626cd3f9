"""FlowMonitor's XML, read as ns-3's src/flow-monitor/examples/flowmon-parse-results.py reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import lasthop as lh
from lasthop import Results
from lasthop._results import Tables
from lasthop.export import export_run
from lasthop.export._flowmonitor import reason_of
from tests.scenarios import UMTS, WIRED


@dataclass
class Flow:
    """What the parser computes of a flow."""

    tuple: tuple[str, str, int, int, int]
    delay_mean: float | None
    size_mean: float | None
    loss_ratio: float | None
    rx_bps: float | None
    tx_bps: float | None
    hops: float
    element: ET.Element


def ns(text: str | None) -> float:
    assert text is not None
    assert text.endswith("ns")
    return float(text[:-2])


def parsed(path: Path) -> dict[int, Flow]:
    """The definitions of the classes `Flow`, `FiveTuple` and `Simulation` of the parser."""
    root = ET.parse(path).getroot()
    assert root.tag == "FlowMonitor"
    (classifier,) = root.findall("Ipv4FlowClassifier")
    ways = {
        int(e.get("flowId", "")): (
            e.get("sourceAddress", ""),
            e.get("destinationAddress", ""),
            int(e.get("protocol", "")),
            int(e.get("sourcePort", "")),
            int(e.get("destinationPort", "")),
        )
        for e in classifier.findall("Flow")
    }
    flows = {}
    for e in root.findall("FlowStats/Flow"):
        rx, lost = float(e.get("rxPackets", "")), float(e.get("lostPackets", ""))
        tx_s = (ns(e.get("timeLastTxPacket")) - ns(e.get("timeFirstTxPacket"))) * 1e-9
        rx_s = (ns(e.get("timeLastRxPacket")) - ns(e.get("timeFirstRxPacket"))) * 1e-9
        number = int(e.get("flowId", ""))
        flows[number] = Flow(
            ways[number],
            ns(e.get("delaySum")) / rx * 1e-9 if rx else None,
            float(e.get("rxBytes", "")) / rx if rx else None,
            lost / (rx + lost) if rx else None,
            float(e.get("rxBytes", "")) * 8 / rx_s if rx_s > 0 else None,
            float(e.get("txBytes", "")) * 8 / tx_s if tx_s > 0 else None,
            float(e.get("timesForwarded", "")) / rx + 1 if rx else -1000,
            e,
        )
    assert flows.keys() == ways.keys()
    return flows


def exported(results: Results, out: Path) -> tuple[dict[int, Flow], dict[str, Any]]:
    export_run(results, "flowmonitor", out)
    return parsed(out / "flowmon.xml"), json.loads((out / "export.json").read_text(encoding="utf-8"))


def number(flow: Flow, name: str) -> int:
    return int(flow.element.get(name, ""))


@pytest.mark.parametrize("scenario", [WIRED, UMTS], ids=["wired", "umts"])
def test_what_is_counted_from_packets_is_what_the_core_counted(scenario: str, tmp_path: Path) -> None:
    """Both come from the same run by two ways.

    Packet by packet here, the flow monitor of the core in `flows`.
    """
    results = lh.Scenario.parse(scenario).run()
    flows, about = exported(results, tmp_path / "out")
    (row,) = results.flows.to_pylist()
    assert not about["estimated"]
    assert [f["from"] for f in about["flows"]] == [row["src"], row["dst"]]
    data, acks = flows[1], flows[2]
    for name in ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes"):
        first, second = name.split("_")
        assert number(data, first + second.capitalize()) == row[name]
        assert number(acks, first + second.capitalize()) == row[f"reverse_{name}"]
    assert number(data, "lostPackets") == row["lost_dropped"]
    assert data.delay_mean == pytest.approx(row["delay_mean_s"], rel=1e-9)
    assert ns(data.element.get("minDelay")) == pytest.approx(row["delay_min_s"] * 1e9, abs=0.5)
    assert ns(data.element.get("maxDelay")) == pytest.approx(row["delay_max_s"] * 1e9, abs=0.5)
    jitter = ns(data.element.get("jitterSum")) * 1e-9 / (row["rx_packets"] - 1)
    assert jitter == pytest.approx(row["jitter_mean_s"], rel=1e-9)
    assert ns(data.element.get("timeFirstTxPacket")) == pytest.approx(row["first_tx_s"] * 1e9, abs=0.5)
    assert ns(data.element.get("timeLastRxPacket")) == pytest.approx(row["last_rx_s"] * 1e9, abs=0.5)
    counted = sum(int(b.get("count", "")) for b in data.element.findall("delayHistogram/bin"))
    assert counted == row["rx_packets"]


def test_addresses_are_those_that_are_documented(tmp_path: Path) -> None:
    results = lh.Scenario.parse(WIRED).run()
    flows, about = exported(results, tmp_path / "out")
    # Names in order: client, server. The data go from server to client.
    assert about["addresses"] == {"client": "10.0.0.1", "server": "10.0.0.2"}
    assert flows[1].tuple == ("10.0.0.2", "10.0.0.1", 6, 49152, 5001)
    assert flows[2].tuple == ("10.0.0.1", "10.0.0.2", 6, 5001, 49152)


def source(packets: list[tuple[float, int, str, str]] | None, end_s: float = 20.0) -> Results:
    """A UDP flow of packets of 100 bytes from `a` to `b`: time, number, node, event."""
    flow = {
        "flow": "f", "src": "a", "dst": "b", "transport": "udp", "end_s": end_s, "first_tx_s": 1.0, "last_rx_s": 3.5,
        "tx_packets": 4, "tx_bytes": 400, "rx_packets": 3, "rx_bytes": 300, "delay_mean_s": 0.2, "delay_min_s": 0.1,
        "delay_max_s": 0.4, "jitter_mean_s": 0.15, "lost_dropped": 1,
    }  # fmt: skip
    dropped = [p for p in packets or [] if p[3] == "dropped"]
    tables = {
        "flows": pa.Table.from_pylist([flow]),
        "drops": pa.table(
            {
                "packet": pa.array([p[1] for p in dropped], pa.uint64()),
                "flow": pa.array(["f"] * len(dropped)),
                "cause": pa.array(["aqm"] * len(dropped), pa.string()),
            }
        ),
    }
    if packets is not None:
        columns = ("time_s", "packet", "flow", "node", "event", "size")
        tables["packets"] = pa.Table.from_pylist(
            [dict(zip(columns, (t, n, "f", node, event, 100), strict=True)) for t, n, node, event in packets]
        )
    return Results(Tables("{}", "{}", tables))


def test_sums_by_hand(tmp_path: Path) -> None:
    """Delays 0.1, 0.4 and 0.1 s: sum 0.6 s, jitter 0.3 + 0.3 s.

    Arrivals at 1.1, 2.4, 3.1 s: gaps 1.3 and 0.7 s.
    """
    results = source(
        [
            (1.0, 0, "a", "sent"),
            (1.1, 0, "b", "received"),
            (2.0, 1, "a", "sent"),
            (2.4, 1, "b", "received"),
            (2.5, 2, "a", "sent"),
            (2.6, 2, "queue", "dropped"),
            (3.0, 3, "a", "sent"),
            (3.1, 3, "b", "received"),
            # 16 s and 10 s before the end, and less: two are lost, one may still come.
            (4.0, 4, "a", "sent"),
            (10.0, 5, "a", "sent"),
            (10.1, 6, "a", "sent"),
        ]
    )
    flows, _ = exported(results, tmp_path / "out")
    (flow,) = flows.values()
    assert ns(flow.element.get("delaySum")) == 600_000_000
    assert ns(flow.element.get("jitterSum")) == 600_000_000
    assert ns(flow.element.get("lastDelay")) == 100_000_000
    assert (number(flow, "txPackets"), number(flow, "rxPackets"), number(flow, "lostPackets")) == (7, 3, 3)
    assert flow.loss_ratio == 0.5
    assert flow.delay_mean == pytest.approx(0.2)
    # 300 bytes in the 2 s from 1.1 s to 3.1 s; 700 bytes in the 9.1 s from 1.0 s to 10.1 s.
    assert flow.rx_bps == pytest.approx(1200)
    assert flow.tx_bps == pytest.approx(5600 / 9.1)
    drops = [(int(e.get("reasonCode", "")), int(e.get("number", ""))) for e in flow.element.findall("packetsDropped")]
    assert drops == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)]
    gaps = [(int(e.get("index", "")), e.get("start")) for e in flow.element.findall("flowInterruptionsHistogram/bin")]
    assert gaps == [(2, "0.5"), (5, "1.25")]
    sizes = [(e.get("index"), e.get("start"), e.get("count")) for e in flow.element.findall("packetSizeHistogram/bin")]
    assert sizes == [("5", "100", "3")]


def test_a_packet_that_arrives_after_a_drop_of_its_copy_is_no_loss(tmp_path: Path) -> None:
    way = [(1.0, 0, "a", "sent"), (1.1, 0, "air", "dropped"), (1.2, 0, "agent", "sent"), (1.3, 0, "b", "received")]
    flows, _ = exported(source(way), tmp_path / "out")
    (flow,) = flows.values()
    assert (number(flow, "txPackets"), number(flow, "rxPackets"), number(flow, "lostPackets")) == (1, 1, 0)
    assert flow.delay_mean == pytest.approx(0.3)


def test_a_flow_without_received_packets(tmp_path: Path) -> None:
    flows, _ = exported(source([(1.0, 0, "a", "sent")]), tmp_path / "out")
    (flow,) = flows.values()
    assert (flow.delay_mean, flow.rx_bps, flow.hops) == (None, None, -1000)
    # `Time::Max()` of 64-bit nanoseconds.
    assert flow.element.get("minDelay") == "+9223372036854775807.0ns"


def test_without_packets_the_estimates_are_named(tmp_path: Path) -> None:
    flows, about = exported(source(None), tmp_path / "out")
    (flow,) = flows.values()
    assert about["estimated"]
    readme = (tmp_path / "out" / "README.txt").read_text(encoding="utf-8")
    assert "timeLastTxPacket = last_rx_s - delay_mean_s" in readme
    assert flow.delay_mean == pytest.approx(0.2)
    assert ns(flow.element.get("jitterSum")) == 300_000_000
    # First arrival 1.0 + 0.1 s, last sending 3.5 - 0.2 s.
    assert ns(flow.element.get("timeFirstRxPacket")) == 1_100_000_000
    assert ns(flow.element.get("timeLastTxPacket")) == 3_300_000_000
    assert flow.element.find("delayHistogram") is None


def test_a_table_without_a_column_names_it(tmp_path: Path) -> None:
    tables = {"flows": pa.table({"flow": ["f"]})}
    with pytest.raises(lh.LasthopError, match=r"table `flows` lacks columns .*: src, dst"):
        export_run(Results(Tables("{}", "{}", tables)), "flowmonitor", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("cause", "reason"), [("queue-full", 3), ("rlc-buffer-full", 3), ("rlc-aqm", 4), ("no-route", 0), ("loss", 8)]
)
def test_reasons(cause: str, reason: int) -> None:
    """Numbers of ns-3's src/flow-monitor/model/ipv4-flow-probe.h."""
    assert reason_of(cause) == reason
