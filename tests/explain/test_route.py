"""Which places lie on the way of a flow."""

from __future__ import annotations

from typing import Any

import pytest

from lasthop import Scenario
from lasthop._bundled import bundled
from lasthop.explain import explain
from lasthop.explain._route import Route
from lasthop.explain._tables import scenario_of
from tests.explain.plants import LTE

SCENARIO: dict[str, Any] = {
    "link": {
        "core": {"between": ["server", "router"]},
        "side": {"between": ["router", "other"]},
        "s1": {"between": ["enb", "router"]},
    },
    "cell": {"enb": {}},
    "ue": {"ue": {"count": 12}, "phone": {}},
    "sidelink": {"pair": {"between": ["phone", "ue"]}},
    "bearer": {"dch": {"between": ["router", "handset"]}},
}


def route(src: str, dst: str) -> Route:
    return Route.of(SCENARIO, {"src": src, "dst": dst})


def test_the_queues_of_the_way_are_those_of_its_directions() -> None:
    down = route("server", "ue-1")
    assert down.queues == {"core.forward": "data", "core.reverse": "ack", "s1.reverse": "data", "s1.forward": "ack"}
    up = route("ue-1", "server")
    assert up.queues["s1.forward"] == "data"
    assert up.way_of("queues", "side.forward", None) is None


@pytest.mark.parametrize(
    ("place", "direction", "way"),
    [
        ("ue-1", "downlink", "data"),
        ("ue-1", "uplink", "ack"),
        ("ue-1.voice", "downlink", "data"),
        ("ue-10", "downlink", None),
        ("ue-11.voice", "downlink", None),
        ("phone", "downlink", None),
        ("pair", "downlink", None),
    ],
)
def test_a_bearer_is_the_flows_by_its_whole_name(place: str, direction: str, way: str | None) -> None:
    assert route("server", "ue-1").way_of("rlc", place, direction) == way


def test_bearers_and_sidelinks_have_their_network_end_first() -> None:
    assert route("server", "handset").way_of("rlc", "dch", "downlink") == "data"
    assert route("handset", "server").way_of("rlc", "dch", "downlink") == "ack"
    pair = route("ue-3", "phone")
    assert pair.way_of("rlc", "pair", "uplink") == "data"
    assert pair.way_of("rlc", "phone", "downlink") == "data"


@pytest.mark.parametrize("name", sorted(bundled()))
def test_the_way_of_every_flow_of_the_bundled_scenarios_is_known(name: str) -> None:
    results = Scenario.load(name).with_({"scenario.duration": "10 ms"}).run()
    scenario = scenario_of(results)
    assert all(Route.of(scenario, row).is_known for row in results.flows.to_pylist())


def test_with_handover_the_way_leads_through_the_gateway() -> None:
    results = Scenario.load("lte-handover").with_({"scenario.duration": "10 ms"}).run()
    (row,) = results.flows.to_pylist()
    found = Route.of(scenario_of(results), row)
    assert found.queues == {"internet.forward": "data", "internet.reverse": "ack"}
    assert found.radio == {("car", "downlink"): "data", ("car", "uplink"): "ack"}
    named = {**SCENARIO, "link": {"s": {"between": ["server", "pgw"]}}, "handover": {}, "core": {"gateway": "pgw"}}
    assert Route.of(named, {"src": "server", "dst": "phone"}).queues == {"s.forward": "data", "s.reverse": "ack"}


def test_a_cell_may_have_an_enb_of_another_name() -> None:
    scenario = {**SCENARIO, "cell": {"a": {"enb": "site"}, "b": {"enb": "site"}}}
    scenario["link"] = {"s": {"between": ["server", "site"]}}
    assert Route.of(scenario, {"src": "phone", "dst": "server"}).queues == {"s.reverse": "data", "s.forward": "ack"}


def test_without_a_scenario_nothing_is_left_out() -> None:
    unknown = Route.of({}, {"src": "a", "dst": "b"})
    assert not unknown.is_known
    assert unknown.way_of("queues", "anything", None) == ""


def test_the_estimate_counts_no_other_mobiles_queue() -> None:
    """Of eleven phones the tenth and the eleventh have deep queues; the first has a call alone."""
    text = LTE.replace("[ue.phone]", "[ue.phone]\ncount = 11")
    text = text.replace('to = "phone"', 'to = "phone-10"') + '\n[flow.g]\nfrom = "server"\nto = "phone-1"\n'
    text += 'transport = "udp"\napp = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }\n'
    results = Scenario.parse(text).with_(["cell.enb.resource_blocks=6", "scenario.duration=3 s"]).run()
    found = {p.cause.place for p in explain(results, "g").budget.parts}
    assert found <= {"", "phone-1", "internet.forward"}
    busy = {p.cause.place for p in explain(results, "f").budget.parts if p.cause.name == "rlc-queue"}
    assert busy == {"phone-10"}


def test_a_ue_has_a_buffer_for_each_direction() -> None:
    down, up = route("server", "ue-1"), route("ue-1", "server")
    assert (down.direction_of("ue-1", "data"), down.direction_of("ue-1.voice", "ack")) == ("downlink", "uplink")
    assert (up.direction_of("ue-1", "data"), up.direction_of("ue-1", "ack")) == ("uplink", "downlink")
    assert route("handset", "server").direction_of("dch", "data") == "uplink"
    assert route("ue-3", "phone").direction_of("pair", "data") == "", "a sidelink has two ends, and no down"
    assert down.direction_of("core.forward", "data") == ""
    assert Route.of({}, {"src": "a", "dst": "b"}).direction_of("ue-1", "data") == ""


def test_two_buffers_of_a_ue_are_told_apart_in_every_sentence() -> None:
    """A download and an upload fill both buffers of the phone: data and ACKs have one each."""
    results = Scenario.load(bundled()["lte-two-way"]).with_(["scenario.duration=8 s", "output.explain=true"]).run()
    found = explain(results, "download")
    first, second = found.budget.parts[:2]
    assert (first.cause.where, second.cause.where) == ("phone downlink", "phone uplink")
    assert (first.cause.way, second.cause.way) == ("data", "ack")
    assert "(phone downlink)" in found.sentences[0]
    assert "(phone uplink)" in found.sentences[1]
    parts = found.to_json()["parts"]
    assert [(p["where"], p["direction"]) for p in parts[:2]] == [("phone", "downlink"), ("phone", "uplink")]
