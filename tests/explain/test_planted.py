"""A cause put into a scenario on purpose is the first that an explanation names, and not without it.

Six kinds of network: UMTS (`test_bad_radio_of_umts`), LTE (`test_a_long_period_of_scheduling_requests`), the switch
of a sidelink, a handover, Wi-Fi (`test_contention_in_wifi`), wired (`test_a_queue_that_is_too_long_on_a_wired_link`).

Thirteen causes: a tiny receive window, the delayed-ACK timer, Nagle, pauses of the application, an RLC buffer too small
and too large, an SR period of 80 ms, an uplink that loses ACKs, a slow station's airtime, a policer, a timeout after a
lost retransmission, a storm of handovers, a hidden station.
"""

from __future__ import annotations

import pytest

from lasthop import Results, Scenario
from lasthop.explain import Explanation, explain

WIRED = """
[scenario]
name = "planted"
duration = "10 s"
seed = 1
[link.path]
between = ["server", "client"]
rate = "10 Mbit/s"
delay = "25 ms"
queue = { kind = "droptail", packets = 50 }
[flow.f]
from = "server"
to = "client"
"""
UMTS = """
[scenario]
name = "planted"
duration = "20 s"
seed = 1
[link.wired]
between = ["server", "rnc"]
rate = "10 Mbit/s"
delay = "28 ms"
[bearer.dch]
kind = "umts"
between = ["rnc", "ue"]
[flow.f]
from = "server"
to = "ue"
"""
LTE = """
[scenario]
name = "planted"
duration = "6 s"
seed = 1
[link.internet]
between = ["server", "enb"]
rate = "1 Gbit/s"
delay = "10 ms"
[cell.enb]
[ue.phone]
[flow.f]
from = "server"
to = "phone"
"""


def explained(scenario: str | Scenario, *keys: str, flow: str = "f") -> tuple[Explanation, Results]:
    made = Scenario.parse(scenario) if isinstance(scenario, str) else scenario
    results = made.with_([*keys, "output.explain=true"]).run()
    return explain(results, flow), results


def first(found: Explanation) -> tuple[str, str]:
    part = found.budget.parts[0]
    return part.cause.name, part.cause.place


def changes(found: Explanation) -> list[str]:
    return [change for advice in found.advice for change in advice.changes]


def test_a_tiny_receive_window() -> None:
    """16 kB a round trip of 51.3 ms are 2.6 Mbit/s of 10."""
    found, _ = explained(WIRED, "flow.f.tcp.receive_buffer=16 kB")
    assert first(found) == ("receive-window", "")
    assert "flow.f.tcp.receive_buffer=4 MB" in changes(found)


def test_the_delayed_ack_timer() -> None:
    """A window of one segment is acknowledged by the timer alone: 200 ms against a round trip of 51.3 ms."""
    found, _ = explained(WIRED, "flow.f.tcp.max_window=1", "flow.f.tcp.ack_delay=200 ms", "flow.f.tcp.ack_every=2")
    assert first(found) == ("delayed-ack", "client")
    assert found.budget.share(found.budget.parts[0]) > 0.7
    assert "flow.f.tcp.ack_every=1" in changes(found)


def test_nagle() -> None:
    """Messages of 100 B every 10 ms wait for the ACK of the one before, which takes a round trip."""
    app = 'flow.f.app={ kind = "cbr", rate = "80 kbit/s", size = "100 B" }'
    found, _ = explained(WIRED, app, "flow.f.tcp.nagle=true", "flow.f.tcp.ack_every=1")
    assert first(found) == ("small-segment", "")
    assert "flow.f.tcp.nagle=false" in changes(found)


def test_pauses_of_the_application() -> None:
    app = 'flow.f.app={ kind = "on-off", rate = "1 Mbit/s", on = "50 ms", off = "500 ms" }'
    found, _ = explained(WIRED, app)
    assert first(found) == ("application", "")


def policer(rate: str) -> str:
    return f'link.path.forward.queue={{ kind = "policer", rate = "{rate}", burst = "20 kB" }}'


def test_a_policer() -> None:
    """4 of the link's 10 Mbit/s pass: what exceeds them is dropped, and the window is small after each loss."""
    found, results = explained(WIRED, policer("4 Mbit/s"))
    assert first(found) == ("congestion-window", "path.forward")
    assert "after losses at path.forward: policer" in found.sentences[0]
    assert {(x.place, x.cause) for x in found.budget.losses if x.place != "path.reverse"} == {
        ("path.forward", "policer")
    }
    assert "A policer at path.forward dropped" in found.advice[0].text
    assert found.advice[0].changes == ['link.path.forward.queue={ kind = "droptail", packets = 100 }']
    assert results.flows.to_pylist()[0]["goodput_bps"] < 4e6
    without, _ = explained(WIRED)
    assert not any("policer" in text for text in (*without.sentences, *(a.text for a in without.advice)))


#: A scenario like that of a cause, without it; and the cause.
UP = ("flow.f.from=phone", "flow.f.to=server", "flow.f.tcp.max_window=1", "flow.f.tcp.ack_every=1")
WITHOUT = {
    "a window that does not matter": (WIRED, ("flow.f.tcp.receive_buffer=8 MB",), "receive-window"),
    "an ACK for each segment": (WIRED, ("flow.f.tcp.max_window=1", "flow.f.tcp.ack_every=1"), "delayed-ack"),
    "messages without Nagle": (
        WIRED,
        (
            'flow.f.app={ kind = "cbr", rate = "80 kbit/s", size = "100 B" }',
            "flow.f.tcp.nagle=false",
            "flow.f.tcp.ack_every=1",
        ),
        "small-segment",
    ),
    "an application that always writes": (WIRED, (), "application"),
    "a short queue": (WIRED, ("link.path.queue.packets=5",), "queue"),
    "RLC buffer of one BDP": (UMTS, ("bearer.dch.rlc.am.buffer_bytes=6 kB",), "rlc-queue"),
    "good radio of UMTS": (UMTS, ("bearer.dch.downlink.bler=0 %", "flow.f.tcp.max_window=2"), "rlc-retransmission"),
    "frequent scheduling requests": (LTE, (*UP, "cell.enb.uplink.sr.period=5 ms"), "scheduling-request"),
    "a way back without losses": (WIRED, ("flow.f.tcp.max_window=2", "flow.f.tcp.ack_every=1"), "ack-lost"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_without_the_plant_something_else_comes_first(name: str) -> None:
    text, keys, cause = WITHOUT[name]
    found, _ = explained(text, *keys)
    assert first(found)[0] != cause
    assert not any(p.cause.name == cause and found.budget.share(p) > 0.35 for p in found.budget.parts)


def test_a_queue_that_is_too_long_on_a_wired_link() -> None:
    found, _ = explained(WIRED, "link.path.queue.packets=2000", "flow.f.tcp.receive_buffer=8 MB")
    assert first(found) == ("queue", "path.forward")
    assert any(c.startswith("link.path.forward.queue=") for c in changes(found))


def test_losses_on_a_wired_link() -> None:
    """At 2 % a window of 1/sqrt(p) segments or so is far below the 43 that the path holds (Mathis et al., 1997)."""
    found, _ = explained(WIRED, "link.path.forward.loss=2 %")
    name, place = first(found)
    assert name in ("congestion-window", "recovery", "timeout")
    assert place == "path.forward"
    assert {(x.place, x.cause) for x in found.budget.losses} == {("path.forward", "loss")}
    assert all(x.stage == "propagation" and x.pdu for x in found.budget.losses)


def test_an_rlc_buffer_that_is_too_small() -> None:
    """Three SDUs of 1500 B against 2.7 kB of BDP, and RLC's own delay on top."""
    found, _ = explained(UMTS, "bearer.dch.rlc.am.buffer_bytes=3000 B", "bearer.dch.downlink.blocks=40")
    assert {(x.place, x.cause) for x in found.budget.losses} == {("dch", "rlc-buffer-full")}
    assert found.sentences[0].endswith("at dch: rlc-buffer-full.")
    assert first(found)[1] == "dch"
    assert "bearer.dch.rlc.am.buffer_bytes=64 kB" in changes(found)
    enough, _ = explained(UMTS, "bearer.dch.downlink.blocks=40")
    assert first(enough)[0] not in ("recovery", "timeout", "congestion-window")
    assert "bearer.dch.rlc.am.buffer_bytes=64 kB" not in changes(enough)


def test_an_rlc_buffer_that_is_too_large() -> None:
    found, _ = explained(UMTS, "bearer.dch.rlc.am.buffer_bytes=1 MB", "flow.f.tcp.receive_buffer=1 MB")
    assert first(found) == ("rlc-queue", "dch")
    assert any(c.startswith("bearer.dch.rlc.am.buffer_bytes=") for c in changes(found))


def test_bad_radio_of_umts() -> None:
    """Half of all blocks are lost, and a window that RLC's buffer never fills waits for RLC to repeat them."""
    found, _ = explained(UMTS, "bearer.dch.downlink.bler=50 %", "flow.f.tcp.max_window=2")
    assert first(found) == ("rlc-retransmission", "dch")


def test_a_long_period_of_scheduling_requests() -> None:
    """A segment at a time goes up: each waits half of 80 ms for an occasion, and for the answer."""
    up = ("flow.f.from=phone", "flow.f.to=server", "flow.f.tcp.max_window=1", "flow.f.tcp.ack_every=1")
    found, _ = explained(LTE, *up, "cell.enb.uplink.sr.period=80 ms")
    assert first(found) == ("scheduling-request", "phone")
    assert "cell.enb.uplink.sr.period=5 ms" in changes(found)


def test_a_deep_rlc_queue_of_lte() -> None:
    found, _ = explained(LTE, "flow.f.tcp.receive_buffer=8 MB", "cell.enb.resource_blocks=6")
    assert first(found) == ("rlc-queue", "phone")
    assert 'ue.phone.rlc.buffer.aqm={ kind = "codel" }' in changes(found)


def test_an_uplink_that_loses_acks() -> None:
    found, _ = explained(WIRED, "link.path.reverse.loss=60 %", "flow.f.tcp.max_window=2", "flow.f.tcp.ack_every=1")
    assert first(found) == ("ack-lost", "path.reverse")


def test_the_airtime_of_a_slow_station() -> None:
    """With one FIFO for all, as many packets go to the slow station as to the fast one: it has the airtime."""
    found, _ = explained(
        Scenario.load("wifi-slow-station"),
        'ap.home.buffer={ kind = "fifo", packets = 300 }',
        "scenario.duration=6 s",
        flow="fast-1",
    )
    assert first(found) == ("wifi-queue", "near-1")
    assert "Station far uses" in " ".join(a.text for a in found.advice)
    assert 'ap.home.buffer={ kind = "fq-codel", airtime_fairness = true }' in changes(found)
    fair, _ = explained(Scenario.load("wifi-slow-station"), "scenario.duration=6 s", flow="fast-1")
    assert "Station far uses" not in " ".join(a.text for a in fair.advice)


def with_outages(*spans: tuple[float, float]) -> Results:
    """The wired scenario with a link that loses everything in these spans of time."""
    text = WIRED
    for at, loss in [(t, loss) for a, b in spans for t, loss in ((a, 100), (b, 0))]:
        text += f'''
[[at]]
t = "{at:.7f} s"
set = {{ "link.path.forward.loss" = "{loss} %" }}
'''
    keys = ["flow.f.tcp.min_rto=1 s", "link.path.queue.packets=20", "output.explain=true"]
    return Scenario.parse(text).with_(keys).run()


def test_a_timeout_after_a_retransmission_is_lost() -> None:
    """One segment is lost, then the fast retransmission of it: only the timer, 1 s, finds that."""
    one = (3.0, 3.0012)
    resent = [e["time_s"] for e in with_outages(one).events.to_pylist() if e["kind"] == "fast-retransmit"]
    begin = next(t for t in resent if t > 3.0)
    results = with_outages(one, (begin, begin + 0.06))
    assert sum(bool(row["retransmission"]) for row in results.drops.to_pylist() if row["time_s"] > 3.0) == 1
    found = explain(results, "f", begin, begin + 1.2)
    assert first(found) == ("timeout", "path.forward")
    assert "flow.f.tcp.recovery=rack" in changes(found)
    without = explain(with_outages(one), "f", begin, begin + 1.2)
    assert not [p for p in without.budget.parts if p.cause.name == "timeout"]


def test_a_storm_of_handovers() -> None:
    """Between two cells, without hysteresis: a handover each time that fading makes the other one the better."""
    found, results = explained(
        Scenario.load("lte-handover"),
        'ue.car.radio={ position = ["375 m", "20 m", "1.5 m"], mobility = { kind = "linear", speed = "1 km/h" } }',
        'handover.trigger={ kind = "a3", hysteresis = "0 dB", offset = "-3 dB", time_to_trigger = "0 ms" }',
        "handover.interruption=200 ms",
        "handover.period=40 ms",
        "scenario.duration=10 s",
        flow="download",
    )
    assert results.events["kind"].to_pylist().count("handover-complete") > 5
    assert first(found)[0] == "interruption"
    assert "handover.trigger.hysteresis=4 dB" in changes(found)
    calm, _ = explained(Scenario.load("lte-handover"), "scenario.duration=10 s", flow="download")
    assert not [p for p in calm.budget.parts if p.cause.name == "interruption" and calm.budget.share(p) > 0.02]


HIDDEN = """
[scenario]
name = "hidden"
duration = "4 s"
[wlan]
path_loss = { kind = "log-distance", exponent = 4.0 }
[link.wired]
between = ["server", "home"]
rate = "1 Gbit/s"
delay = "1 ms"
[ap.home]
start = "associated"
rate = { kind = "fixed", mcs = 0 }
[station.left]
radio = { position = ["-16 m", "0 m", "1.5 m"] }
[station.right]
radio = { position = ["16 m", "0 m", "1.5 m"] }
[flow.f]
from = "left"
to = "server"
transport = "udp"
app = { kind = "cbr", rate = "300 kbit/s", size = "1400 B" }
[flow.g]
from = "right"
to = "server"
transport = "udp"
app = { kind = "cbr", rate = "1.93 Mbit/s", size = "1400 B" }
"""


def test_a_hidden_station() -> None:
    """The access point hears both stations at 15 dB, they hear each other at 12 dB less: too little to defer."""
    found, _ = explained(HIDDEN)
    assert first(found) == ("retry", "left")
    assert "ap.home.rts_threshold=500 B" in changes(found)
    cured, _ = explained(HIDDEN, "ap.home.rts_threshold=500 B")
    assert first(cured)[0] != "retry"
    assert not cured.budget.losses


def test_the_switch_of_a_sidelink() -> None:
    """At 5 s the pair goes over to the infrastructure; what the sidelink holds, data and ACKs, is dropped."""
    results = Scenario.load("sidelink").with_(["output.explain=true", "scenario.duration=6 s"]).run()
    before, after = explain(results, "ftp", 4.0, 4.9), explain(results, "ftp", 5.0, 5.2)
    assert not before.budget.losses
    assert first(after) == ("ack-lost", "pair")
    assert "ACKs that were lost (pair): mode-switch" in after.sentences[0]
    assert {(x.place, x.cause) for x in after.budget.losses} == {("pair", "mode-switch")}


def test_a_handover() -> None:
    """Around a handover whose interruption takes 300 ms, most of half a second is that."""
    scenario = Scenario.load("lte-handover").with_(["output.explain=true", "handover.interruption=300 ms"])
    results = scenario.run()
    events = results.events.to_pylist()
    begin = next(e["time_s"] for e in events if e["kind"] == "handover-start")
    found = explain(results, "download", begin, begin + 0.5)
    assert first(found) == ("interruption", "car")
    assert 0.3 / 0.5 <= found.budget.share(found.budget.parts[0]) < 0.9
    before = explain(results, "download", begin - 0.5, begin)
    assert not [p for p in before.budget.parts if p.cause.name == "interruption"]


def test_contention_in_wifi() -> None:
    """A call beside two stations that always have something to send waits for the channel."""
    text = HIDDEN.replace('["-16 m"', '["-3 m"').replace('["16 m"', '["3 m"')
    text = text.replace("[station.right]", "[station.right]\ncount = 2").replace('"1.93 Mbit/s"', '"6 Mbit/s"')
    found, _ = explained(text)
    assert first(found) == ("contention", "left")
    alone, _ = explained(text[: text.index("[flow.g]")])
    assert first(alone)[0] != "contention"
