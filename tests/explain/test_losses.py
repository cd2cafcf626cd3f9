"""The direction of lost packets, against the table `packets`, which has who sent each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import lasthop as lh
from lasthop.explain import explain
from lasthop.explain._losses import ways_of


@pytest.mark.parametrize(
    ("scenario", "changes"),
    [("lte-rlc-um", {}), ("lte-two-way", {"flow.upload.start": "0 s", "ue.phone.rlc.buffer.bytes": "100 kB"})],
)
def test_the_direction_of_a_loss_is_that_of_its_sender(scenario: str, changes: dict[str, str]) -> None:
    changes = {"scenario.duration": "5 s", "output.packets": "true", **changes}
    run = lh.Scenario.load(scenario).with_([f"{key}={value}" for key, value in changes.items()]).run()
    senders = {p["packet"]: p["node"] for p in run.packets.to_pylist() if p["event"] == "sent"}
    seen: Counter[str] = Counter()
    for flow in run.flows.to_pylist():
        losses = explain(run, flow["flow"]).budget.losses
        seen.update(x.direction for x in losses)
        # The mobile is the phone: what it sends goes up.
        wanted = ["uplink" if senders[x.packet] == "phone" else "downlink" for x in losses]
        assert [x.direction for x in losses] == wanted
        assert all(x.way == ("data" if senders[x.packet] == flow["src"] else "ack") for x in losses)
    assert min(seen["uplink"], seen["downlink"]) > 0, seen


def test_ways_that_the_count_contradicts_are_not_known() -> None:
    sizes = np.array([1500, 40, 1500])
    tcp = {"transport": "tcp"}
    assert ways_of(sizes, {**tcp, "lost_dropped": 2}).tolist() == ["data", "ack", "data"]
    assert ways_of(sizes, {**tcp, "lost_dropped": 1}).tolist() == ["", "", ""], "one long packet was no data"
    assert ways_of(sizes, {**tcp, "lost_dropped": 3}).tolist() == ["data"] * 3
    assert ways_of(sizes, {**tcp, "lost_dropped": 0}).tolist() == ["ack"] * 3
    assert ways_of(sizes, {"transport": "udp", "lost_dropped": 2}).tolist() == ["", "", ""]
    assert ways_of(sizes, tcp).tolist() == ["", "", ""], "results of an older version"
    assert ways_of(sizes[:0], {**tcp, "lost_dropped": 0}).tolist() == []
