"""The table `stages` where its rows follow from more than one layer.

LTE's uplink, groups, the end of a run.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from lasthop import Results, Scenario
from tests.explain.plants import LTE, UMTS

CBR = 'app = { kind = "cbr", rate = "80 kbit/s", size = "100 B" }'


def run(text: str, *keys: str) -> Results:
    return Scenario.parse(text).with_([*keys, "output.explain=true"]).run()


def lives(results: Results, flow: str) -> dict[int, list[dict[str, Any]]]:
    """The rows of each packet of a flow, in order of time."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in results.table("stages").to_pylist():
        if row["flow"] == flow:
            found[row["packet"]].append(row)
    return {n: sorted(rows, key=lambda r: r["start_ns"]) for n, rows in found.items()}


def test_the_first_packet_of_an_uplink_has_nothing_before_it() -> None:
    """It enters at the start of the run.

    No block has been sent, so none was filled with what was before it.
    """
    text = LTE.replace('from = "server"\nto = "phone"', f'from = "phone"\nto = "server"\ntransport = "udp"\n{CBR}')
    results = run(text, "scenario.duration=1 s")
    first = lives(results, "f")[0]
    assert first[0]["start_ns"] == 0
    assert "rlc-queue" not in {row["stage"] for row in first}
    assert {"scheduling-request", "grant-wait", "random-access"} & {row["stage"] for row in first}


def test_blocks_of_a_sidelink_are_none_of_the_uplink() -> None:
    """One phone sends to the other all the time, and now and then to the server.

    That waits for a grant of its own.
    """
    text = """
[scenario]
name = "both"
duration = "3 s"
[link.internet]
between = ["server", "enb"]
rate = "1 Gbit/s"
delay = "10 ms"
[cell.enb]
profile = "simulte"
[ue.left]
radio = { position = ["50 m", "0 m", "1.5 m"] }
[ue.right]
radio = { position = ["60 m", "0 m", "1.5 m"] }
[sidelink.pair]
between = ["left", "right"]
[flow.direct]
from = "left"
to = "right"
transport = "udp"
app = { kind = "cbr", rate = "800 kbit/s", size = "1000 B" }
[flow.up]
from = "left"
to = "server"
transport = "udp"
start = "1.0003 s"
app = { kind = "cbr", rate = "1.6 kbit/s", size = "100 B" }
"""
    up = lives(run(text), "up")
    assert len(up) >= 4
    for rows in up.values():
        assert "rlc-queue" not in {row["stage"] for row in rows}


def test_each_receiver_of_a_group_has_stages_of_its_own() -> None:
    """The same blocks go to all.

    They leave at one moment, and are decoded when each receiver can.
    """
    results = Scenario.load("sidelink-multicast").with_(["output.explain=true", "scenario.duration=4 s"]).run()
    members = {name: list(lives(results, name).values()) for name in ("call-1", "call-2", "call-5")}
    assert len({len(packets) for packets in members.values()}) == 1
    harq = dict.fromkeys(members, 0)
    for packets in zip(*members.values(), strict=True):
        sent = {tuple(r["start_ns"] for r in rows if r["stage"] == "transmission")[:1] for rows in packets}
        assert len(sent) == 1
        for name, rows in zip(members, packets, strict=True):
            harq[name] += sum(r["end_ns"] - r["start_ns"] for r in rows if r["stage"] == "harq")
    # The first listener has a poor link from the speaker, the fifth a good one.
    assert harq["call-1"] > 2 * harq["call-5"]
    assert "multicast" not in set(results.table("stages")["stage"].to_pylist())


def test_what_rlc_repeats_at_the_end_of_the_run_is_no_first_transmission() -> None:
    """Nine of ten blocks are lost: what went out whole and is not there waits for RLC.

    Not for a block on the air.

    A block of 10 ms is due one TTI later.
    """
    results = run(UMTS, "bearer.dch.downlink.bler=90 %", "flow.f.tcp.max_window=4", "scenario.duration=5 s")
    end = 5_000_000_000
    last = [rows[-1] for rows in lives(results, "f").values() if rows[-1]["end_ns"] == end]
    waiting = [row for row in last if row["where"] == "dch" and row["stage"] != "rlc-queue"]
    assert any(row["stage"] == "rlc-retransmission" for row in waiting)
    assert all(row["start_ns"] >= end - 20_000_000 for row in waiting if row["stage"] == "transmission")
