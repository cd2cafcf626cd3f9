"""Which places lie on the way of a flow."""

from __future__ import annotations

from typing import Any

import pytest

from lasthop import Scenario
from lasthop.explain import explain
from lasthop.explain._route import Route
from tests.explain.test_planted import LTE

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
