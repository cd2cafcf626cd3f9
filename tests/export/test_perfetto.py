"""Perfetto: the trace decodes with the published schema, and says what the tables say."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop.export import export_run
from lasthop.export._perfetto import _Rows
from tests.scenarios import WIRED

Event = proto.TrackEvent


@pytest.fixture(scope="module")
def run() -> Results:
    return lh.Scenario.parse(WIRED).run()


class Decoded:
    """A trace by tracks: the names from the root on, and the events in their order."""

    def __init__(self, folder: Path) -> None:
        trace = proto.Trace()
        trace.ParseFromString((folder / "run.pftrace").read_bytes())
        self.names: dict[int, tuple[str, ...]] = {}
        self.events: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                parent = self.names[track.parent_uuid] if track.HasField("parent_uuid") else ()
                assert track.uuid not in self.names
                self.names[track.uuid] = (*parent, track.name)
            else:
                assert packet.track_event.track_uuid in self.names, "a track is described before its events"
                self.events[packet.track_event.track_uuid].append((packet.timestamp, packet.track_event))

    def at(self, *path: str) -> list[tuple[int, Any]]:
        return [event for track, events in self.events.items() if self.names[track] == path for event in events]


def nanoseconds(time_s: float) -> int:
    return round(time_s * 1e9)


def test_packets_are_those_of_the_table(run: Results, tmp_path: Path) -> None:
    assert export_run(run, "perfetto", tmp_path / "out").files == ("run.pftrace",)
    trace = Decoded(tmp_path / "out")
    packets = run.packets.to_pylist()
    sent = {p["packet"]: p for p in packets if p["event"] == "sent"}
    for node in ("server", "client"):
        for event in ("sent", "received"):
            traced = [(t, (e.flow_ids or e.terminating_flow_ids)[0] - 1) for t, e in trace.at("nodes", node, event)]
            rows = [p for p in packets if p["node"] == node and p["event"] == event]
            assert traced == [(nanoseconds(p["time_s"]), p["packet"]) for p in rows]
    slices = {}
    for track, events in trace.events.items():
        if trace.names[track] != ("flows", "ftp", "packets"):
            continue
        # Slices of one track follow one another.
        assert [e.type for _, e in events] == [Event.TYPE_SLICE_BEGIN, Event.TYPE_SLICE_END] * (len(events) // 2)
        assert [t for t, _ in events] == sorted(t for t, _ in events)
        for (start, begin), (end, _) in zip(events[::2], events[1::2], strict=True):
            notes = {n.name: n for n in begin.debug_annotations}
            slices[notes["packet"].int_value] = (start, end, set(notes) & {"received", "dropped"})
    for number, (start, end, how) in slices.items():
        last = [p for p in packets if p["packet"] == number and p["event"] in how][-1]
        assert (start, end) == (nanoseconds(sent[number]["time_s"]), nanoseconds(last["time_s"]))
    arrived = {p["packet"] for p in packets if p["event"] in ("received", "dropped")}
    assert slices.keys() == arrived
    assert Counter(next(iter(how)) for *_, how in slices.values())["dropped"] == run.drops.num_rows > 0


def test_counters_and_states_are_those_of_the_table(run: Results, tmp_path: Path) -> None:
    export_run(run, "perfetto", tmp_path / "out")
    trace = Decoded(tmp_path / "out")
    traced = [(t, e.double_counter_value) for t, e in trace.at("flows", "ftp", "snd_cwnd")]
    rows = [(nanoseconds(r["time_s"]), r["snd_cwnd"]) for r in run.tcp.to_pylist()]
    assert traced == [row for i, row in enumerate(rows) if not i or rows[i - 1][1] != row[1]]
    states = trace.at("flows", "ftp", "ca_state")
    assert {e.name for _, e in states if e.type == Event.TYPE_SLICE_BEGIN} == set(run.tcp["ca_state"].to_pylist())
    # Without a gap: a state ends when the next one begins.
    assert [t for t, _ in states[1:-1:2]] == [t for t, _ in states[2::2]]


def test_stages_are_slices_below_their_place(tmp_path: Path) -> None:
    """A slice for each row of `stages`, on a track of its place and stage."""
    results = lh.Scenario.parse(WIRED).with_(["output.explain=true"]).run()
    export_run(results, "perfetto", tmp_path / "out")
    trace = Decoded(tmp_path / "out")
    found = []
    for track, events in trace.events.items():
        if trace.names[track][0] != "layers":
            continue
        _, where, stage = trace.names[track]
        assert [e.type for _, e in events] == [Event.TYPE_SLICE_BEGIN, Event.TYPE_SLICE_END] * (len(events) // 2)
        for (start, begin), (end, _) in zip(events[::2], events[1::2], strict=True):
            notes = {n.name: n for n in begin.debug_annotations}
            found.append((where, stage, start, end, notes["packet"].int_value))
    wanted = ("where", "stage", "start_ns", "end_ns", "packet")
    assert sorted(found) == sorted(tuple(row[name] for name in wanted) for row in results.table("stages").to_pylist())
    assert len(found) > 100


def test_drops_stand_at_their_place(run: Results, tmp_path: Path) -> None:
    export_run(run, "perfetto", tmp_path / "out")
    trace = Decoded(tmp_path / "out")
    traced = Counter(names[1] for t, names in trace.names.items() if names[0] == "drops" for _ in trace.events[t])
    assert traced == Counter(run.drops["where"].to_pylist())


def test_an_interval_and_pieces(run: Results, tmp_path: Path) -> None:
    export_run(run, "perfetto", tmp_path / "out", flow="ftp", from_s=1.0, to_s=2.0)
    trace = Decoded(tmp_path / "out")
    times = [t for events in trace.events.values() for t, _ in events]
    assert min(times) >= 10**9
    assert max(times) < 2 * 10**9
    # What one piece describes the next one uses: the file is the same whatever its pieces are.
    whole = (tmp_path / "out" / "run.pftrace").read_bytes()
    from lasthop.export._content import Selection
    from lasthop.export._perfetto import perfetto_content

    pieces = list(perfetto_content(run, Selection("ftp", 1.0, 2.0)).files["run.pftrace"]())
    assert b"".join(pieces) == whole


def test_what_is_missing_is_said(run: Results, tmp_path: Path) -> None:
    without = lh.Scenario.parse(WIRED).with_({"output.packets": False, "scenario.duration": "1 s"}).run()
    with pytest.raises(LasthopError, match="has no table `packets`"):
        export_run(without, "perfetto", tmp_path / "out")
    with pytest.raises(LasthopError, match="no flow 'x'"):
        export_run(run, "perfetto", tmp_path / "out", flow="x")


def test_slices_that_overlap_go_to_different_tracks() -> None:
    ways = _Rows()
    # The third begins when the first has ended, the fourth while two and three go on.
    assert [ways.take(*s) for s in ((0.0, 2.0), (1.0, 4.0), (2.0, 5.0), (3.0, 6.0), (4.0, 5.0))] == [0, 1, 0, 2, 1]
