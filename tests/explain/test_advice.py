"""Advice fits the flow, the interval and the tables that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lasthop import LasthopError, Results, Scenario
from lasthop._results import Tables
from lasthop.cli import main
from lasthop.explain import Explanation, explain, try_advice
from tests.explain.plants import HIDDEN, UMTS, WIRED
from tests.explain.test_planted import changes


def run(text: str, *keys: str) -> Results:
    return Scenario.parse(text).with_([*keys, "output.explain=true"]).run()


def texts(found: Explanation) -> str:
    return " ".join(a.text for a in found.advice)


@pytest.mark.parametrize(
    "scenario",
    [
        "[link]\npath = []",
        "[link.path]\nforward = 5\nqueue = [5]\nbetween = 5",
        "[flow]\nf = []\n[sidelink]\ns = { between = 5 }\n[multicast]\nm = 5",
        "[flow.f]\nto = []\n[sidelink.s]\nbetween = [[], 5]\n[handover]\n[cell]\nc = 5",
    ],
)
def test_a_scenario_of_another_program_gives_no_error(scenario: str) -> None:
    made = run(WIRED, "link.path.queue.packets=5", "scenario.duration=3 s", "flow.f.tcp.receive_buffer=8 MB")
    tables = {name: made.table(name) for name in made.table_names}
    manifest = json.dumps({**made.manifest, "scenario": scenario})
    found = explain(Results(Tables(manifest, json.dumps(made.summary), tables)), "f")
    assert found.sentences
    # An estimate reads more of the scenario.
    for name in ("stages", "limits", "packets"):
        del tables[name]
    assert explain(Results(Tables(manifest, json.dumps(made.summary), tables)), "f").sentences


def test_a_queue_is_changed_in_the_flows_direction_alone() -> None:
    results = run(WIRED, "link.path.queue.packets=2000", "flow.f.tcp.receive_buffer=8 MB")
    found = explain(results, "f")
    (change,) = (c for c in changes(found) if ".queue=" in c)
    assert change == 'link.path.forward.queue={ kind = "fq-codel", packets = 1000 }'
    tried = try_advice(results, "f", found.advice)
    before, after = next((a, b) for name, a, b in tried[0].numbers if name == "delay_mean_s")
    assert before is not None
    assert after is not None
    assert after < 0.5 * before


@pytest.mark.parametrize(("queue", "kind"), [('"droptail"', "droptail"), ('"headdrop"', "headdrop"), ('"codel"', None)])
def test_a_queue_that_is_too_small_is_to_hold_more(queue: str, kind: str | None) -> None:
    """A queue that drops for want of space alone gets space; another one does not.

    Whatever its kind is called.

    10 Mbit/s and 50 ms are 62.5 kB; 20 packets are 30 kB.
    """
    text = WIRED.replace('queue = { kind = "droptail", packets = 50 }', f"queue = {{ kind = {queue}, packets = 20 }}")
    found = [change for change in changes(explain(run(text), "f")) if ".queue=" in change]
    if kind is None:
        assert not found
        return
    (change,) = found
    size = re.fullmatch(rf'link\.path\.forward\.queue={{ kind = "{kind}", packets = (\d+) }}', change)
    assert size is not None, change
    assert 20 < int(size[1]) <= 62_500 // 1500 + 1


def test_a_deep_rlc_buffer_without_samples_has_no_size_to_try() -> None:
    """The table `rlc` says how deep it was; without it half of that is not known."""
    keys = ("bearer.dch.rlc.am.buffer_bytes=1 MB", "flow.f.tcp.receive_buffer=1 MB")
    with_samples = explain(run(UMTS, *keys), "f")
    without = explain(run(UMTS, *keys, "output.radio=false"), "f")
    assert any(c.startswith("bearer.dch.rlc.am.buffer_bytes=") for c in changes(with_samples))
    assert not any(c.startswith("bearer.dch") for c in changes(without))
    assert "the run has no samples of it" in texts(without).lower()


def test_timeouts_and_losses_are_those_of_the_interval() -> None:
    """The link is cut from 3 s to 3.5 s: the timer expires then, and at no other time."""
    text = WIRED
    for at, loss in ((3.0, 100), (3.5, 0)):
        text += f'[[at]]\nt = "{at} s"\nset = {{ "link.path.forward.loss" = "{loss} %" }}\n'
    results = run(text, "flow.f.tcp.min_rto=1 s", "flow.f.tcp.max_window=8")
    expired = [e["time_s"] for e in results.events.to_pylist() if e["kind"] == "rto"]
    assert expired
    whole, before, cut = explain(results, "f"), explain(results, "f", 1.0, 2.0), explain(results, "f", 3.0, 6.0)
    assert not any("timer expired" in s for s in before.sentences)
    assert not before.budget.losses
    for found in (whole, cut):
        assert any("timer expired" in s for s in found.sentences)
        assert found.budget.losses
    assert results.flows.to_pylist()[0]["timeouts"] == len(expired)


def test_handovers_and_ppdus_are_those_of_the_interval() -> None:
    scenario = Scenario.load("lte-handover").with_(["output.explain=true", "handover.interruption=300 ms"])
    results = scenario.run()
    begins = [e["time_s"] for e in results.events.to_pylist() if e["kind"] == "handover-start"]
    one = explain(results, "download", begins[0], begins[0] + 0.5)
    assert "A handover of car interrupted the link" in texts(one)
    hidden = run(HIDDEN)
    parts = [explain(hidden, "f", a, b) for a, b in ((0.0, 2.0), (0.0, 4.0))]
    counted = [int(texts(found).split(" of ")[1].split()[0]) for found in parts if "PPDUs of left" in texts(found)]
    assert len(counted) == 2
    assert counted[0] < 0.7 * counted[1]


def test_advice_that_is_followed_already_is_not_given() -> None:
    window = ("flow.f.tcp.max_window=1", "flow.f.tcp.ack_delay=200 ms")
    slow = explain(run(WIRED, *window, "flow.f.tcp.ack_every=2"), "f")
    assert "flow.f.tcp.ack_every=1" in changes(slow)
    lost = ("link.path.reverse.loss=60 %", "flow.f.tcp.max_window=2", "flow.f.tcp.ack_every=1")
    found = explain(run(WIRED, *lost), "f")
    assert found.budget.parts[0].cause.name == "ack-lost"
    assert "flow.f.tcp.ack_every=1" not in changes(found)
    by_profile = explain(run(WIRED, "link.path.loss=10 %", "flow.f.tcp.profile=linux-6"), "f")
    assert "flow.f.tcp.recovery=rack" not in changes(by_profile)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keys = ["flow.f.tcp.receive_buffer=16 kB", "scenario.duration=1 s", "output.explain=true", "output.steps=true"]
    Scenario.parse(WIRED).with_(keys).run(out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("scenario", [None, 7, ""])
def test_nothing_is_tried_without_a_scenario(folder: Path, scenario: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("scenario")
    if scenario is not None:
        manifest["scenario"] = scenario
    (folder / "manifest.json").write_text(json.dumps(manifest))
    said = CliRunner().invoke(main, ["explain", str(folder), "--try"])
    assert said.exit_code == 1
    assert "the manifest of the run has no scenario" in said.output
    assert "leave out `--try`" in said.output
    assert isinstance(said.exception, SystemExit)
    plain = CliRunner().invoke(main, ["explain", str(folder)])
    assert plain.exit_code == 0
    with pytest.raises(LasthopError):
        try_advice(Results.load(folder), "f", [])


def error_of(results: Results) -> str:
    """What explaining says against; empty: nothing."""
    try:
        explain(results, "f")
    except LasthopError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("table", ["flows", "stages", "limits", "packets", "drops", "events", "queues", "tcp"])
def test_a_table_without_a_column_is_named_with_it(folder: Path, table: str) -> None:
    """Whichever column is missing: it is not needed, or a clear error names it."""
    file = folder / f"{table}.parquet"
    whole = pq.read_table(file)
    said = {}
    for name in whole.column_names:
        pq.write_table(whole.drop_columns([name]), file)
        results = Results.load(folder)
        said[name] = {error_of(results), error_of(_Without(results, "stages"))}  # type: ignore[arg-type]
    for name, errors in said.items():
        assert all(f"`{table}` has no column `{name}`" in error for error in errors - {""}), errors
    assert any(errors != {""} for errors in said.values())


class _Without:
    """Results without a table."""

    def __init__(self, results: Results, name: str) -> None:
        self._results, self._name = results, name
        self.manifest = results.manifest

    @property
    def table_names(self) -> list[str]:
        return [n for n in self._results.table_names if n != self._name]

    def table(self, name: str, columns: tuple[str, ...] | None = None) -> pa.Table:
        return self._results.table(name, columns)


def test_a_shared_queue_is_deep_by_the_rate_of_all_its_flows() -> None:
    """33 packets are one bandwidth-delay product of `dumbbell`.

    That is too much for none of its three flows.
    """
    results = Scenario.load("dumbbell").with_({"scenario.duration": "12 s", "output.explain": True}).run()
    for flow in ("download-1", "download-2", "download-3"):
        found = explain(results, flow)
        assert found.budget.parts[0].cause.name == "queue"
        assert found.advice == []


def test_what_a_mode_switch_loses_is_advised_over_the_whole_run() -> None:
    results = Scenario.load("sidelink").with_({"scenario.duration": "6 s"}).run()
    assert "sidelink.pair.lossless=true" in changes(explain(results, "ftp"))


def test_advice_for_several_flows_is_printed_once(tmp_path: Path) -> None:
    Scenario.load("split-and-snoop").with_({"scenario.duration": "4 s"}).run(out=tmp_path / "run")
    said = CliRunner().invoke(main, ["explain", str(tmp_path / "run")]).output
    assert said.count("--set 'link.air.forward.queue=") == 1
    assert "advice (down@pep, up-to-date): The queue of air.forward" in said


def test_tcp_over_a_mode_without_retransmissions_is_advised_to_use_one_with() -> None:
    results = Scenario.load("lte-um-am").with_({"scenario.duration": "4 s"}).run()
    found = explain(results, "um")
    assert found.advice[0].changes == ["ue.phone-um.rlc.mode=am"]
    (tried,) = (t for t in try_advice(results, "um", found.advice[:1]))
    before, after = next((a, b) for name, a, b in tried.numbers if name == "goodput_bps")
    assert before is not None
    assert after is not None
    assert after > 5 * before
    assert not any("rlc.mode" in c for c in changes(explain(results, "am")))
    bearer = explain(Scenario.load("lte-rlc-um").with_({"scenario.duration": "4 s"}).run(), "download")
    assert "bearer.radio.rlc.mode=am" in changes(bearer)


def test_a_first_flight_is_no_deep_queue() -> None:
    """Web pages of a bearer of UMTS arrive in flights of ten segments.

    A buffer below that loses parts of each.
    """
    results = Scenario.load("web-over-umts").with_({"output.explain": True}).run()
    for flow in ("web", "voice"):
        assert not any("buffer_bytes" in change for change in changes(explain(results, flow)))


def test_a_rate_is_that_of_the_time_in_which_there_was_something_to_send() -> None:
    """A file of 1 MB over 10 Mbit/s is there after a second of ten.

    Its rate is not a tenth of the link's.
    """
    keys = ("link.path.queue.packets=100", 'flow.f.app={ kind = "ftp", size = "1 MB" }')
    found = explain(run(WIRED, *keys), "f")
    (sentence,) = (s for s in found.sentences if "BDP" in s)
    said = float(sentence.split(" BDP")[0].split()[-1])
    # At most 100 packets of 1500 B wait. The path holds 10 Mbit/s times 51.3 ms at most, and half
    # of that or more, because the rate of the whole transfer has slow start in it.
    assert 150e3 / (10e6 / 8 * 0.0513) * 0.9 < said < 2 * 150e3 / (10e6 / 8 * 0.0513)


@pytest.mark.parametrize("explained", [True, False])
def test_a_buffer_is_not_too_small_and_too_deep_at_once(explained: bool) -> None:
    results = Scenario.load("lte-radio-aware").with_({"output.explain": explained}).run()
    found = explain(results, "video")
    assert any("rlc.buffer.aqm" in change for change in changes(found))
    assert not any("rlc.buffer.bytes" in change for change in changes(found))


@pytest.mark.parametrize("table", ["stages", "limits", "packets"])
def test_a_table_that_was_removed_is_named(folder: Path, table: str) -> None:
    (folder / f"{table}.parquet").unlink()
    found = explain(Results.load(folder))
    assert not found.budget.exact
    assert f"The run wrote the table `{table}`" in found.budget.notes[0]


def test_a_faster_link_is_advised_where_sending_takes_the_largest_part() -> None:
    # A datagram of 1428 octets takes 44.6 ms at 256 kbit/s, the wire 5 ms, and the next follows
    # after 100 ms.
    slow = WIRED.replace('"10 Mbit/s"', '"256 kbit/s"').replace('"25 ms"', '"5 ms"')
    slow += 'transport = "udp"\napp = { kind = "cbr", rate = "112 kbit/s", size = "1400 B" }\n'
    found = explain(Scenario.parse(slow).with_(["output.explain=true"]).run(), "f")
    assert [p.cause.name for p in found.budget.parts[:2]] == ["serialization", "propagation"]
    assert [a.text for a in found.advice] == [
        "The largest part is the sending of packets at path.forward: only a faster link shortens it."
    ]
