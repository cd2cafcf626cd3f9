"""A cause put into a scenario on purpose is the first that an explanation names.

And not without it.

The scenarios are in `plants`. Their parameters are ones that occur: defaults of the profiles,
buffers of small devices, rates and periods of the standards' range. What loses packets is not where
a sender waits: the first cause is what the loss did to the sender (`congestion-window`), with the
place, and the first sentence says why packets were lost there.

Six kinds of network: UMTS (`test_bad_radio_of_umts`), LTE
(`test_a_long_period_of_scheduling_requests`), the switch of a sidelink, a handover, Wi-Fi
(`test_contention_in_wifi`), wired (`test_a_queue_that_is_too_long_on_a_wired_link`).

Thirteen causes: a tiny receive window, the delayed-ACK timer, Nagle, pauses of the application, an
RLC buffer too small and too large, an SR period of 80 ms, an uplink that loses ACKs, a slow
station's airtime, a policer, a timeout after a lost retransmission, a storm of handovers, a hidden
station.
"""

from __future__ import annotations

import pytest

from lasthop import Results, Scenario
from lasthop.explain import Explanation, explain
from tests.explain.plants import HIDDEN, LTE, MESSAGES, NEAR, PLANTS, UMTS, WIRED


def explained(scenario: str | Scenario, *keys: str, flow: str = "f") -> tuple[Explanation, Results]:
    made = Scenario.parse(scenario) if isinstance(scenario, str) else scenario
    results = made.with_([*keys, "output.explain=true"]).run()
    return explain(results, flow), results


def planted(name: str) -> Explanation:
    plant = PLANTS[name]
    found = explain(plant.run(), plant.flow)
    assert first(found) == (plant.cause, plant.place)
    return found


def first(found: Explanation) -> tuple[str, str]:
    part = found.budget.parts[0]
    return part.cause.name, part.cause.place


def changes(found: Explanation) -> list[str]:
    return [change for advice in found.advice for change in advice.changes]


def test_a_tiny_receive_window() -> None:
    assert "flow.f.tcp.receive_buffer=4 MB" in changes(planted("a tiny receive window"))


def test_the_delayed_ack_timer() -> None:
    found = planted("the delayed-ACK timer")
    assert found.budget.share(found.budget.parts[0]) > 0.7
    assert "flow.f.tcp.ack_every=1" in changes(found)


def test_nagle() -> None:
    assert "flow.f.tcp.nagle=false" in changes(planted("Nagle"))


def test_pauses_of_the_application() -> None:
    planted("pauses of the application")


def test_a_policer() -> None:
    found, results = planted("a policer"), PLANTS["a policer"].run(explained=False)
    assert "after losses at path.forward: policer" in found.sentences[0]
    assert {(x.place, x.cause) for x in found.budget.losses if x.place != "path.reverse"} == {
        ("path.forward", "policer")
    }
    assert "A policer at path.forward dropped" in found.advice[0].text
    assert found.advice[0].changes == ['link.path.forward.queue={ kind = "droptail", packets = 100 }']
    # The link has 10 Mbit/s: its rate is not what is missing.
    assert not any("faster link" in a.text for a in found.advice)
    assert results.flows.to_pylist()[0]["goodput_bps"] < 4e6
    without, _ = explained(WIRED)
    assert not any("policer" in text for text in (*without.sentences, *(a.text for a in without.advice)))


#: A scenario like that of a cause, without it; and the cause.
UP = PLANTS["a long period of scheduling requests"].keys
WITHOUT = {
    "a window that does not matter": (WIRED, ("flow.f.tcp.receive_buffer=8 MB",), "receive-window"),
    "an ACK for each segment": (WIRED, (MESSAGES, "flow.f.tcp.ack_every=1"), "delayed-ack"),
    "messages without Nagle": (
        WIRED,
        (MESSAGES, "flow.f.tcp.nagle=false", "flow.f.tcp.ack_every=1"),
        "small-segment",
    ),
    "an application that always writes": (WIRED, (), "application"),
    "a short queue": (WIRED, ("link.path.queue.packets=5",), "queue"),
    "RLC buffer of one BDP": (UMTS, ("bearer.dch.rlc.am.buffer_bytes=6 kB",), "rlc-queue"),
    "good radio of UMTS": (
        UMTS,
        ("bearer.dch.downlink.bler=0 %", "flow.f.tcp.receive_buffer=8 kB"),
        "rlc-retransmission",
    ),
    "frequent scheduling requests": (LTE, (*UP, "cell.enb.uplink.sr.period=5 ms"), "scheduling-request"),
    "a way back without losses": (WIRED, ("flow.f.tcp.receive_buffer=6 kB",), "ack-lost"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_without_the_plant_something_else_comes_first(name: str) -> None:
    text, keys, cause = WITHOUT[name]
    found, _ = explained(text, *keys)
    assert first(found)[0] != cause
    assert not any(p.cause.name == cause and found.budget.share(p) > 0.35 for p in found.budget.parts)


def test_a_queue_that_is_too_long_on_a_wired_link() -> None:
    found = planted("a queue that is too long on a wired link")
    assert any(c.startswith("link.path.forward.queue=") for c in changes(found))


def test_losses_on_a_wired_link() -> None:
    found = planted("losses on a wired link")
    assert "after losses at path.forward: loss." in found.sentences[0]
    assert {(x.place, x.cause) for x in found.budget.losses} == {("path.forward", "loss")}
    assert all(x.stage == "propagation" and x.pdu for x in found.budget.losses)


def test_an_rlc_buffer_that_is_too_small() -> None:
    found = planted("an RLC buffer that is too small")
    assert {(x.place, x.cause, x.stage) for x in found.budget.losses} == {("dch", "rlc-buffer-full", "entry")}
    assert found.sentences[0].endswith("after losses at dch: rlc-buffer-full.")
    assert "bearer.dch.rlc.am.buffer_bytes=64 kB" in changes(found)
    enough, _ = explained(UMTS)
    assert first(enough)[0] not in ("recovery", "timeout", "congestion-window")
    assert "bearer.dch.rlc.am.buffer_bytes=64 kB" not in changes(enough)


def test_an_rlc_buffer_that_is_too_large() -> None:
    found = planted("an RLC buffer that is too large")
    assert any(c.startswith("bearer.dch.rlc.am.buffer_bytes=") for c in changes(found))


def test_bad_radio_of_umts() -> None:
    planted("bad radio of UMTS")


def test_a_long_period_of_scheduling_requests() -> None:
    assert "cell.enb.uplink.sr.period=5 ms" in changes(planted("a long period of scheduling requests"))


def test_a_deep_rlc_queue_of_lte() -> None:
    assert 'ue.phone.rlc.buffer.aqm={ kind = "codel" }' in changes(planted("a deep RLC queue of LTE"))


def test_an_uplink_that_loses_acks() -> None:
    planted("an uplink that loses ACKs")


def test_the_airtime_of_a_slow_station() -> None:
    found = planted("the airtime of a slow station")
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
    found = planted("a storm of handovers")
    assert "handovers of car interrupted the link" in " ".join(a.text for a in found.advice)
    assert "handover.trigger.hysteresis=4 dB" in changes(found)
    calm, _ = explained(Scenario.load("lte-handover"), "scenario.duration=10 s", flow="download")
    assert not [p for p in calm.budget.parts if p.cause.name == "interruption" and calm.budget.share(p) > 0.02]


def test_a_hidden_station() -> None:
    assert "ap.home.rts_threshold=500 B" in changes(planted("a hidden station"))
    cured, _ = explained(HIDDEN, "ap.home.rts_threshold=500 B")
    assert first(cured)[0] != "retry"
    assert not cured.budget.losses


def test_the_switch_of_a_sidelink() -> None:
    """At 5 s the pair goes over to the infrastructure.

    What the sidelink holds, data and ACKs, is dropped there.
    """
    results = Scenario.load("sidelink").with_(["output.explain=true", "scenario.duration=6 s"]).run()
    before, after = explain(results, "ftp", 4.0, 4.9), explain(results, "ftp", 5.0, 5.2)
    assert not before.budget.losses
    assert first(after) == ("ack-lost", "pair")
    assert "ACKs that were lost (pair): mode-switch" in after.sentences[0]
    assert {(x.place, x.cause) for x in after.budget.losses} == {("pair", "mode-switch")}
    assert {x.stage for x in after.budget.losses} <= {"rlc-queue", "scheduling-request", "grant-wait", "transmission"}
    assert "sidelink.pair.lossless=true" in changes(after)


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
    planted("contention in Wi-Fi")
    alone, _ = explained(NEAR[: NEAR.index("[flow.g]")])
    assert first(alone)[0] != "contention"
