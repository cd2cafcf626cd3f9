"""Exact budgets: what must hold on every scenario, and closed forms."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lasthop import Results, Scenario
from lasthop._bundled import bundled
from lasthop.explain import Budget, explain

PATH = """
[scenario]
name = "path"
duration = "3 s"
seed = 1

[link.fast]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"

[link.slow]
between = ["b", "c"]
rate = "1 Mbit/s"
delay = "20 ms"

[flow.f]
from = "a"
to = "c"
"""
DATAGRAMS = PATH + 'transport = "udp"\napp = { kind = "cbr", rate = "80 kbit/s", size = "1000 B" }\n'


def run(text: str, *keys: str, explained: bool = True) -> Results:
    return Scenario.parse(text, set=[*keys, f"output.explain={str(explained).lower()}"]).run()


def parts_of(budget: Budget) -> dict[tuple[str, str, str], int]:
    return {(p.cause.name, p.cause.place, p.cause.way): p.ns for p in budget.parts}


def test_delays_of_a_path_of_two_links_are_their_serialization_and_propagation() -> None:
    """1000 B in IP and UDP are 1028 B: 822.4 us at 10 Mbit/s, 8224 us at 1 Mbit/s.

    And 10 and 20 ms of propagation.

    A packet every 100 ms finds both links idle.
    """
    budget = explain(run(DATAGRAMS)).budget
    n = budget.packets
    assert n
    assert n >= 28
    assert parts_of(budget) == {
        ("propagation", "fast.forward", "data"): n * 10_000_000,
        ("propagation", "slow.forward", "data"): n * 20_000_000,
        ("serialization", "fast.forward", "data"): n * 822_400,
        ("serialization", "slow.forward", "data"): n * 8_224_000,
    }
    assert budget.whole_ns == n * 39_046_400


def test_a_window_of_one_segment_waits_for_a_round_trip_each_time() -> None:
    """Of a round trip the links serialize a data packet and its ACK.

    In the rest of it the window is what limits.

    Data packets have 1500 B (1.2 ms and 12 ms), ACKs 52 B with timestamps (41.6 us and 416 us),
    propagation takes 60 ms: 73.6576 ms in all. Full round trips lie between the first and the last
    of the ones cut out below.
    """
    keys = (
        "flow.f.transport=tcp",
        "flow.f.app=bulk",
        "flow.f.tcp.max_window=1",
        "flow.f.tcp.ack_every=1",
        "flow.f.tcp.timestamps=true",
    )
    results = run(PATH, *keys)
    sent = [
        round(r["time_s"] * 1e9)
        for r in results.packets.to_pylist()
        if r["node"] == "a" and r["event"] == "sent" and r["len"] == 1448
    ]
    rounds = len(sent) - 2
    assert set(np.diff(sent[1:])) == {73_657_600}
    budget = explain(results, "f", sent[1] / 1e9, sent[-1] / 1e9).budget
    assert parts_of(budget) == {
        ("serialization", "fast.forward", "data"): rounds * 1_200_000,
        ("serialization", "slow.forward", "data"): rounds * 12_000_000,
        ("serialization", "slow.reverse", "ack"): rounds * 416_000,
        ("serialization", "fast.reverse", "ack"): rounds * 41_600,
        ("congestion-window", "", ""): rounds * 60_000_000,
    }


LINE = """
[scenario]
name = "line"
duration = "3 s"
seed = 1

[link.line]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"

[flow.f]
from = "a"
to = "b"
tcp = { max_window = 2, ack_every = 2, ack_delay = "200 ms", timestamps = true }
"""


def test_a_round_trip_of_two_segments_is_divided_by_the_rule_of_the_guide() -> None:
    """Segments A and B leave at once, 1500 B with headers: 12 ms each.

    The ACK of both, 52 B, takes 416 us.

    | ms since they left | A                | B             | whose                                           |
    |--------------------|------------------|---------------|-------------------------------------------------|
    | 0 to 12            | serialization    | queue         | a half each: both places are busy               |
    | 12 to 24           | propagation      | serialization | serialization, the only busy place              |
    | 24 to 32           | propagation      | propagation   | the window's: a third segment would have gone   |
    | 32 to 44           | the receiver     | propagation   | half of it the delayed ACK's, half the window's |
    | 44 to 44.416       | the ACK in serialization         || serialization, of ACKs                          |
    | 44.416 to 64.416   | the ACK in propagation           || the window's                                    |
    """
    results = run(LINE)
    sent = [
        round(r["time_s"] * 1e9)
        for r in results.packets.to_pylist()
        if r["node"] == "a" and r["event"] == "sent" and r["len"] == 1448
    ]
    starts = sorted({t for t in sent if sent.count(t) == 2})
    start, end = starts[3], starts[4]
    assert end - start == 64_416_000
    budget = explain(results, "f", start / 1e9, end / 1e9).budget
    assert parts_of(budget) == {
        ("queue", "line.forward", "data"): 6_000_000,
        ("serialization", "line.forward", "data"): 6_000_000 + 12_000_000,
        ("delayed-ack", "b", ""): 6_000_000,
        ("serialization", "line.reverse", "ack"): 416_000,
        ("congestion-window", "", ""): 8_000_000 + 6_000_000 + 20_000_000,
    }


def check_budget(results: Results, row: dict[str, Any]) -> Budget:
    budget = explain(results, row["flow"]).budget
    assert budget.exact
    if row["transport"] == "tcp":
        limits = [r for r in results.table("limits").to_pylist() if r["flow"] == row["flow"]]
        assert limits[0] == {"flow": row["flow"], "start_ns": round(row["start_s"] * 1e9), "cause": "handshake"}
        assert all(a["start_ns"] < b["start_ns"] for a, b in pairwise(limits))
        assert all(a["cause"] != b["cause"] for a, b in pairwise(limits))
        assert "other" not in {limit["cause"] for limit in limits}
    assert sum(p.ns for p in budget.parts) == budget.whole_ns
    # Every octet that was sent, and every moment of a datagram's way, is in the tables.
    assert not [p for p in budget.parts if p.cause.name == "unaccounted"]
    assert budget.notes == []
    if row["transport"] == "tcp":
        assert budget.whole_ns == budget.end_ns - budget.start_ns
    assert budget.timeline is not None
    for part, binned in zip(budget.parts, budget.timeline.rows, strict=True):
        assert sum(binned) == part.ns
    return budget


def check_stages(results: Results) -> None:
    """The life of each packet, without gap or overlap.

    From its sending to its delivery, its loss or the end.
    """
    table = results.table("stages")
    packet, part = (table[c].to_numpy() for c in ("packet", "part"))
    start, end = (table[c].to_numpy().astype(np.int64) for c in ("start_ns", "end_ns"))
    assert (start < end).all()
    order = np.lexsort((start, part, packet))
    packet, part, start, end = (x[order] for x in (packet, part, start, end))
    same = (packet[1:] == packet[:-1]) & (part[1:] == part[:-1])
    assert (start[1:][same] == end[:-1][same]).all(), "a gap or an overlap"
    ends: dict[int, int] = {}
    for n, t in zip(packet.tolist(), end.tolist(), strict=True):
        ends[n] = max(ends.get(n, 0), t)
    starts = dict(zip(packet[::-1].tolist(), start[::-1].tolist(), strict=True))
    sent: dict[int, int] = {}
    over: dict[int, int] = {}
    for row in results.packets.to_pylist():
        at = round(row["time_s"] * 1e9)
        if row["event"] == "sent":
            sent.setdefault(row["packet"], at)
        elif row["event"] in ("received", "dropped"):
            over[row["packet"]] = max(over.get(row["packet"], 0), at)
    assert set(starts) <= set(sent)
    whole = set(table.filter(table["part"].to_numpy() == 0)["packet"].to_pylist()) if table.num_rows else set()
    cut = set(packet[part > 0].tolist())
    for n in whole - cut:
        assert starts[n] == sent[n]
        if n in over:
            assert ends[n] == over[n]


#: Shorter than the scenarios are: what must hold, holds of every part of a run.
SECONDS = 4


@pytest.mark.parametrize("name", sorted(bundled()))
def test_on_every_bundled_scenario_causes_add_up_and_stages_have_no_gap(name: str) -> None:
    scenario = Scenario.load(name)
    short = min(scenario.duration, SECONDS)
    results = scenario.with_({"output.explain": True, "scenario.duration": f"{short} s"}).run()
    check_stages(results)
    rows = [r for r in results.flows.to_pylist() if r["tx_packets"]]
    assert rows
    for row in rows[:8]:
        if row["transport"] == "tcp" or row["rx_packets"]:
            check_budget(results, row)


#: What comes later than that: scenario, keys, seconds of the run, the event. A car that begins
#: nearer to the border of the cells is there sooner.
MOMENTS: list[tuple[str, dict[str, Any], float, str]] = [
    ("lte-handover", {"ue.car.radio.position": ["415 m", "20 m", "1.5 m"]}, 2, "handover-complete"),
    (
        "lte-handover",
        {"ue.car.radio.position": ["415 m", "20 m", "1.5 m"], "ue.car.pdcp.handover": "seamless"},
        2,
        "handover-complete",
    ),
    (
        "lte-handover",
        {"ue.car.radio.position": ["448 m", "20 m", "1.5 m"], "handover.trigger": "none"},
        3,
        "rrc-reestablished",
    ),
    ("sidelink", {}, 5.5, "mode-switch"),
    ("sidelink", {"sidelink.pair.lossless": True}, 5.5, "mode-switch"),
]


@pytest.mark.parametrize(("name", "keys", "seconds", "event"), MOMENTS)
def test_causes_add_up_over_a_handover_and_a_mode_switch(
    name: str, keys: dict[str, Any], seconds: float, event: str
) -> None:
    scenario = Scenario.load(name).with_({"output.explain": True, "scenario.duration": f"{seconds} s", **keys})
    results = scenario.run()
    at = [r["time_s"] for r in results.events.to_pylist() if r["kind"] == event]
    assert at
    check_stages(results)
    (row,) = (r for r in results.flows.to_pylist() if r["tx_packets"])
    whole = check_budget(results, row)
    # Cut at the event, each part adds up by itself, and to the whole.
    halves = [explain(results, row["flow"], *cut).budget for cut in ((None, at[0]), (at[0], None))]
    assert all(sum(p.ns for p in half.parts) == half.whole_ns for half in halves)
    assert sum(half.whole_ns for half in halves) == whole.whole_ns
