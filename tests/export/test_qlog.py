"""qlog: files keep to the draft's schema, and say what the tables say."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import cbor2
import pycddl
import pytest

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop.export import export_run
from lasthop.export._qlog import _Numbers, file_names, metrics
from tests.scenarios import WIRED

HERE = Path(__file__).parent
TCP = Path(lh.__file__).parent / "export" / "tcp.cddl"

#: The rule of `tcp.cddl` for the data of each event.
RULES = {
    "tcp:packet_sent": "TCPPacketSent",
    "tcp:packet_received": "TCPPacketReceived",
    "tcp:timer_updated": "TCPTimerUpdated",
    "tcp:recovery_metrics_updated": "TCPRecoveryMetricsUpdated",
    "tcp:congestion_state_updated": "TCPCongestionStateUpdated",
}


def rules() -> str:
    """Both schemas as the validator reads them; what is replaced means the same by RFC 8610."""
    text = (HERE / "data" / "qlog-main-schema.cddl").read_text(encoding="utf-8") + TCP.read_text(encoding="utf-8")
    # Section 3.7, unwrapping: the fields of a map in another one.
    body = re.search(r"\nLogFile = \{(.*?)\}", text, re.DOTALL)
    assert body
    text = text.replace("~LogFile", body[1])
    # Section 3.5.1: a bareword before a colon is a text. The validator takes `time` for the type of
    # the prelude.
    text = text.replace("    time: float64", '    "time": float64')
    # Section 3.9: a socket that nothing fills adds nothing. The validator lets it match everything.
    return re.sub(r"\n *\* \$\$[\w-]+-extension", "", text)


def fields(rule: str) -> set[str]:
    """The keys that a rule of `tcp.cddl` names."""
    body = re.search(rf"\n{rule} = {{(.*?)\n}}", TCP.read_text(encoding="utf-8"), re.DOTALL)
    assert body
    return set(re.findall(r"\n    (?:\? )?(\w+):", body[1]))


class Schema:
    """Both schemas, with one of their rules as the start."""

    def __init__(self, start: str) -> None:
        self._schema = pycddl.Schema(f"start = {start}\n{rules()}")

    def check(self, value: Any) -> None:
        self._schema.validate_cbor(cbor2.dumps(value))

    def refuses(self, value: Any) -> bool:
        try:
            self.check(value)
        except pycddl.ValidationError:
            return True
        return False


@pytest.fixture(scope="module")
def run() -> Results:
    return lh.Scenario.parse(WIRED).run()


@pytest.fixture(scope="module")
def contained(run: Results, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("qlog") / "out"
    assert export_run(run, "qlog", out).files == ("run.qlog",)
    found: dict[str, Any] = json.loads((out / "run.qlog").read_text(encoding="utf-8"))
    return found


def test_the_file_keeps_to_the_schema(contained: dict[str, Any]) -> None:
    files, events = Schema("QlogFile"), Schema("Event")
    data = {name: Schema(rule) for name, rule in RULES.items()}
    seen: Counter[str] = Counter()
    for trace in contained["traces"]:
        for event in trace["events"]:
            events.check(event)
            data[event["name"]].check(event["data"])
            assert event["data"].keys() <= fields(RULES[event["name"]]), "the validator lets unknown keys pass"
            seen[event["name"]] += 1
        # The validator's time grows with the square of a list's length.
        files.check({**contained, "traces": [{**trace, "events": trace["events"][:20]}]})
    assert seen.keys() >= set(RULES) - {"tcp:timer_updated"}


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("Event", {"time": "x", "name": "tcp:packet_sent", "data": {}}),
        ("Event", {"time": 1.0, "data": {}}),
        ("TCPPacketSent", {"header": {"flags": "S"}, "raw": {}, "packet": 1}),
        ("TCPPacketSent", {"header": {"flags": "S", "seq": 1.5}, "raw": {}, "packet": 1}),
        ("TCPCongestionStateUpdated", {"new": "opened"}),
        ("TCPRecoveryMetricsUpdated", {"min_rtt": "3"}),
        ("TCPRecoveryMetricsUpdated", {"pacing_rate": 3.5}),
        ("QlogFile", {"serialization_format": "application/qlog+json", "traces": []}),
        ("QlogFileSeq", {"file_schema": "a", "serialization_format": "b"}),
    ],
)
def test_the_schema_refuses_what_is_wrong(rule: str, wrong: Any) -> None:
    assert Schema(rule).refuses(wrong)


def test_packets_and_samples_are_those_of_the_tables(run: Results, contained: dict[str, Any]) -> None:
    flows = {row["flow"]: row for row in run.flows.to_pylist() if row["transport"] == "tcp"}
    assert [trace["title"] for trace in contained["traces"]] == list(flows)
    packets = run.packets.to_pylist()
    for trace in contained["traces"]:
        flow = flows[trace["title"]]
        for name, event in (("packet_sent", "sent"), ("packet_received", "received")):
            logged = [
                (e["time"], e["data"]["packet"], e["data"]["raw"]["length"], e["data"]["header"]["seq"])
                for e in trace["events"]
                if e["name"] == f"tcp:{name}"
            ]
            rows = [p for p in packets if (p["flow"], p["node"], p["event"]) == (flow["flow"], flow["src"], event)]
            assert logged == [(round(p["time_s"] * 1000, 6), p["packet"], p["size"], p["seq"] or 0) for p in rows]
        times = [e["time"] for e in trace["events"]]
        assert times == sorted(times)
        # The last value of each metric is that of the last sample.
        last: dict[str, Any] = {}
        for e in trace["events"]:
            if e["name"] == "tcp:recovery_metrics_updated":
                assert all(last.get(k) != v for k, v in e["data"].items()), "only changes are written"
                last.update(e["data"])
        sample = [row for row in run.tcp.to_pylist() if row["flow"] == flow["flow"]][-1]
        assert last["smoothed_rtt"] == round(sample["rtt_us"] / 1000, 6)
        # 1460 B of MSS less 12 B of timestamps (RFC 7323).
        assert last["congestion_window"] == round(sample["snd_cwnd"] * 1448)


def test_a_retransmission_says_so(tmp_path: Path) -> None:
    lossy = lh.Scenario.load("umts-download").with_({"output.packets": True}).run()
    export_run(lossy, "qlog", tmp_path / "out")
    trace = json.loads((tmp_path / "out" / "run.qlog").read_text(encoding="utf-8"))["traces"][0]
    again = sum(e["data"].get("is_retransmission", False) for e in trace["events"] if e["name"] == "tcp:packet_sent")
    assert again == lossy.flows["retransmits"][0].as_py() > 0
    expired = [e for e in trace["events"] if e["name"] == "tcp:timer_updated"]
    assert len(expired) == lossy.flows["timeouts"][0].as_py() > 0


def test_the_sequence_has_the_same_events(run: Results, contained: dict[str, Any], tmp_path: Path) -> None:
    done = export_run(run, "sqlog", tmp_path / "out")
    assert len(done.files) == len(contained["traces"])
    for trace in contained["traces"]:
        (name,) = [n for n in done.files if n == f"{trace['title']}.sqlog"]
        data = (tmp_path / "out" / name).read_bytes()
        # RFC 7464, section 2: each text is between a record separator and a line feed.
        texts = data.split(b"\x1e")
        assert texts[0] == b""
        assert all(text.endswith(b"\n") for text in texts[1:])
        head, *events = [json.loads(text) for text in texts[1:]]
        Schema("QlogFileSeq").check(head)
        assert head["trace"]["event_schemas"] == trace["event_schemas"]
        assert events == trace["events"]
    # An earlier export with other flows' files is replaced as a whole.
    assert export_run(run, "sqlog", tmp_path / "out").files == done.files


def test_a_flow_and_an_interval(run: Results, contained: dict[str, Any], tmp_path: Path) -> None:
    flow = contained["traces"][0]["title"]
    export_run(run, "qlog", tmp_path / "out", flow=flow, from_s=0.5, to_s=1.0)
    (trace,) = json.loads((tmp_path / "out" / "run.qlog").read_text(encoding="utf-8"))["traces"]
    sent = [e["data"]["packet"] for e in trace["events"] if e["name"] == "tcp:packet_sent"]
    whole = contained["traces"][0]["events"]
    assert sent == [e["data"]["packet"] for e in whole if e["name"] == "tcp:packet_sent" and 500 <= e["time"] < 1000]
    assert sent
    with pytest.raises(LasthopError, match="there is no TCP flow 'nobody'"):
        export_run(run, "qlog", tmp_path / "out", flow="nobody")
    with pytest.raises(LasthopError, match="is empty"):
        export_run(run, "qlog", tmp_path / "out", from_s=2, to_s=1)


def test_qvis_sees_each_segment_acknowledged_or_lost(tmp_path: Path) -> None:
    run = lh.Scenario.load("umts-download").with_({"output.packets": True, "scenario.duration": "20 s"}).run()
    export_run(run, "qvis", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "run.qlog").read_text(encoding="utf-8"))
    # visualizations/src/data/QlogSchema02.ts of qvis lists the versions that it opens.
    assert found["qlog_version"] in {"draft-02", "draft-02-RC1", "qlog-03-WIP", "0.3"}
    (trace,) = found["traces"]
    sent: list[int] = []
    acked: set[int] = set()
    lost: set[int] = set()
    for event in trace["events"]:
        data = event["data"]
        if event["name"] == "transport:packet_sent":
            sent.append(data["header"]["packet_number"])
        elif event["name"] == "recovery:packet_lost":
            lost.add(data["header"]["packet_number"])
        for frame in data.get("frames", []):
            for first, last in frame["acked_ranges"]:
                numbers = set(range(first, last + 1))
                assert not numbers & (acked | lost), "acknowledged once, and not after it was lost"
                acked |= numbers
    assert sent == list(range(len(sent)))
    assert len(lost) == run.flows["retransmits"][0].as_py()
    payload = sum(1448 for _ in acked)
    assert payload >= run.tcp["bytes_acked"][-1].as_py() - 1448


def test_numbers_of_segments() -> None:
    def row(seq: int, length: int, again: bool = False) -> dict[str, Any]:
        return {"seq": seq, "len": length, "retransmission": again}

    numbers = _Numbers()
    assert [numbers.sent(row(s, 100))[0] for s in (1, 101, 201, 301)] == [0, 1, 2, 3]
    assert numbers.acknowledged(101) == [[0, 0]]
    assert numbers.acknowledged(101) == []
    # The retransmission covers the second and the third segment.
    assert numbers.sent(row(101, 200, again=True)) == (4, [1, 2])
    assert numbers.sent(row(401, 0)) == (5, [])
    assert numbers.acknowledged(401) == [[3, 4]]


def test_metrics_of_a_sample() -> None:
    row = {
        "min_rtt_us": 10_000.5, "rtt_us": 20_000.0, "rttvar_us": 0.0, "rtt_sample_us": None, "snd_cwnd": 10.0,
        "snd_ssthresh": -1.0, "unacked": 8, "sacked": 2, "lost": 1, "retrans": 1, "pacing_rate_bps": 1e6,
    }  # fmt: skip
    # include/net/tcp.h, tcp_packets_in_flight(): 8 - (2 + 1) + 1.
    assert metrics(row, 1448) == {
        "min_rtt": 10.0005, "smoothed_rtt": 20.0, "packets_in_flight": 6, "bytes_in_flight": 8688,
        "congestion_window": 14480, "pacing_rate": 1_000_000,
    }  # fmt: skip
    assert "congestion_window" not in metrics(row, None)


def test_names_of_files() -> None:
    assert file_names(["a", "a/b", "a\\b", "..", "down@pep"], "sqlog") == [
        "a.sqlog", "a_b.sqlog", "a_b-2.sqlog", "_.sqlog", "down@pep.sqlog",
    ]  # fmt: skip


def test_without_packets_the_readme_says_so(tmp_path: Path) -> None:
    run = lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run()
    done = export_run(run, "qlog", tmp_path / "out")
    assert any("has no table `packets`" in note for note in done.notes)
