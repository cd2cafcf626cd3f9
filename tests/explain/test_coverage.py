"""Every outstanding octet has one place at each moment; what has none is a cause of its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lasthop import Results, Scenario
from lasthop.explain import Budget, explain
from lasthop.explain._ways import Ways
from tests.explain.plants import UMTS, WIRED

FRAGMENTS = WIRED.replace('to = "client"', 'to = "far"') + '[link.second]\nbetween = ["client", "far"]\nmtu = "600 B"\n'
UDP = ("flow.f.transport=udp", 'flow.f.app={ kind = "cbr", rate = "1 Mbit/s", size = "1400 B" }')


def run(text: str, *keys: str) -> Results:
    return Scenario.parse(text).with_([*keys, "output.explain=true"]).run()


def of(budget: Budget, name: str) -> int:
    return sum(p.ns for p in budget.parts if p.cause.name == name)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (WIRED, ("link.path.loss=5 %",)),
        (WIRED, ("link.path.reverse.loss=40 %", "flow.f.tcp.ack_every=1")),
        (WIRED, ("link.path.duplication=20 %", "link.path.loss=2 %")),
        (WIRED, ("link.path.jitter=20 ms", "link.path.reordering=true")),
        (WIRED, ("link.path.loss=3 %", "flow.f.tcp.profile=linux-6")),
        (WIRED, ('flow.f.app={ kind = "request-response" }', "link.path.loss=2 %")),
        (FRAGMENTS, ("link.second.loss=2 %",)),
        (FRAGMENTS, ("link.second.loss=2 %", "link.second.duplication=10 %", "link.path.duplication=5 %")),
        (FRAGMENTS, (*UDP, "link.second.loss=2 %", "link.second.duplication=10 %")),
        (UMTS, ("bearer.dch.downlink.bler=50 %",)),
    ],
)
def test_octets_have_one_place_whatever_happens_to_their_packets(text: str, keys: tuple[str, ...]) -> None:
    budget = explain(run(text, *keys), "f").budget
    assert of(budget, "unaccounted") == 0
    assert budget.notes == []
    assert sum(p.ns for p in budget.parts) == budget.whole_ns


def without(folder: Path, stage: str) -> Results:
    """The run without the intervals of a stage."""
    table = pq.read_table(folder / "stages.parquet")
    pq.write_table(table.filter(pc.not_equal(table["stage"].cast(pa.string()), stage)), folder / "stages.parquet")
    return Results.load(folder)


def test_a_stage_that_is_missing_is_a_cause_of_its_own(tmp_path: Path) -> None:
    """It is not the window's.

    A round trip is 24 ms of propagation of the data that the tables do not have.
    """
    keys = ["flow.f.tcp.max_window=1", "flow.f.tcp.ack_every=1", "output.explain=true"]
    whole = Scenario.parse(WIRED).with_(keys).run(out=tmp_path / "run")
    before = explain(whole, "f").budget
    after = explain(without(tmp_path / "run", "propagation"), "f").budget
    assert of(before, "unaccounted") == 0
    assert of(before, "congestion-window") > 0.9 * before.whole_ns
    assert of(after, "unaccounted") > 0.9 * after.whole_ns
    assert of(after, "congestion-window") == 0
    assert "octets that were sent have no place" in after.notes[0]
    assert "report it" in after.notes[0]


def test_delays_of_datagrams_are_compared_with_their_stages(tmp_path: Path) -> None:
    Scenario.parse(WIRED).with_([*UDP, "output.explain=true"]).run(out=tmp_path / "run")
    before = explain(Results.load(tmp_path / "run"), "f").budget
    after = explain(without(tmp_path / "run", "propagation"), "f").budget
    assert of(before, "unaccounted") == 0
    assert after.whole_ns == before.whole_ns
    assert of(after, "unaccounted") == of(before, "propagation") > 0
    assert sum(p.ns for p in after.parts) == after.whole_ns


def test_octets_whose_ack_is_lost_wait_for_a_later_one_from_the_moment_it_leaves() -> None:
    """Window of one segment; from 1 s on the way back loses all.

    The last ACK leaves, is dropped, the timer expires.
    """
    text = WIRED + '[[at]]\nt = "1 s"\nset = { "link.path.reverse.loss" = "100 %" }\n'
    keys = ("flow.f.tcp.max_window=1", "flow.f.tcp.ack_every=1", "flow.f.tcp.min_rto=1 s")
    results = run(text, *keys)
    packets = results.packets.to_pylist()
    lost = next(p["packet"] for p in packets if p["event"] == "dropped")
    leaves = next(p["time_s"] for p in packets if p["packet"] == lost and p["event"] == "sent")
    expires = next(e["time_s"] for e in results.events.to_pylist() if e["kind"] == "rto")
    budget = explain(results, "f", leaves, expires).budget
    assert [(p.cause.name, p.cause.place) for p in budget.parts] == [("ack-lost", "path.reverse")]


def test_silence_that_the_end_of_the_run_cuts_off_is_that_of_the_timer() -> None:
    """From 1 s on all is lost: at 2.5 s the second timeout, 2 s, has not passed."""
    text = WIRED + '[[at]]\nt = "1 s"\nset = { "link.path.forward.loss" = "100 %" }\n'
    results = run(text, "flow.f.tcp.min_rto=1 s", "flow.f.tcp.max_window=4", "scenario.duration=2.5 s")
    budget = explain(results, "f", 1.3, 2.5).budget
    shares = {p.cause.name: budget.share(p) for p in budget.parts}
    assert budget.parts[0].cause.name == "timeout"
    assert budget.parts[0].cause.place == "path.forward"
    assert shares["timeout"] > 0.9


def ways(
    rows: list[tuple[int, int, str, int, int]], events: list[tuple[float, int, str]]
) -> list[tuple[str, int, int]]:
    """The way of packet 7 from rows and events.

    Rows: packet, part, stage, start, end; events: s, packet, event.
    """
    names = ("packet", "part", "stage", "start_ns", "end_ns")
    stages = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    stages["where"] = ["l"] * len(rows)
    table = pa.table(stages)
    for name in ("stage", "where"):
        i = table.column_names.index(name)
        table = table.set_column(i, name, table[name].dictionary_encode())
    packets = pa.table({name: [e[i] for e in events] for i, name in enumerate(("time_s", "packet", "event"))})
    made = Ways.of(table, packets)
    return [
        (made.pairs[p][0], a, b)
        for n, p, a, b in zip(
            made.number.tolist(), made.pair.tolist(), made.start.tolist(), made.end.tolist(), strict=True
        )
        if n == 7
    ]


def test_the_way_of_a_packet_in_fragments_is_that_of_the_last_one_to_arrive() -> None:
    rows = [(7, 0, "queue", 10, 20), (7, 1, "serialization", 20, 30), (7, 1, "reassembly", 30, 45)]
    rows += [(7, 2, "queue", 20, 35), (7, 2, "serialization", 35, 45)]
    expected = [("queue", 10, 20), ("serialization", 20, 30), ("reassembly", 30, 45)]
    assert ways(rows, [(45e-9, 7, "received")])[0] == expected[0]
    found = ways(rows, [(45e-9, 7, "received")])
    assert (found[0][1], found[-1][2]) == (10, 45)
    assert sum(b - a for _, a, b in found) == 35


def test_a_fragment_that_is_lost_ends_the_way_and_a_copy_goes_on_after_a_loss() -> None:
    fragments = [
        (7, 0, "queue", 10, 20),
        (7, 1, "reassembly", 25, 900),
        (7, 2, "queue", 20, 40),
        (7, 1, "queue", 20, 25),
    ]
    assert ways(fragments, [(40e-9, 7, "dropped"), (900e-9, 7, "dropped")]) == [("queue", 10, 20), ("queue", 20, 40)]
    copies = [(7, 0, "queue", 10, 20), (7, 1, "queue", 30, 50)]
    events = [(20e-9, 7, "dropped"), (50e-9, 7, "received")]
    assert ways(copies, events) == [("queue", 10, 20), ("lost", 20, 30), ("queue", 30, 50)]
