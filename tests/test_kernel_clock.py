"""The phases of the ticks of independent hosts differ; the flows of one host share one."""

from __future__ import annotations

import lasthop as lh

TICK_US = 4000


def phases() -> dict[str, set[int]]:
    """Where in a tick of 4 ms each node's repeated SYNs leave [us], by node.

    Every packet is lost.
    """
    nodes = [f"host{i}" for i in range(8)]
    links = "".join(f'[link.{n}]\nbetween = ["{n}", "server"]\nrate = "10 Mbit/s"\nloss = "100 %"\n' for n in nodes)
    flows = "".join(
        f'[flow.{n}{k}]\nfrom = "{n}"\nto = "server"\nstart = "{k * 3}.7 ms"\n'
        f'tcp = {{ profile = "linux-6", kernel_clock = "hz-250" }}\n'
        for n in nodes
        for k in (0, 1)
    )
    scenario = lh.Scenario.parse(
        f'[scenario]\nname = "ticks"\nduration = "10 s"\n{links}{flows}[output]\npackets = true\n'
    )
    found: dict[str, set[int]] = {}
    for row in scenario.run().packets.to_pylist():
        if row["event"] == "sent" and row["retransmission"]:
            found.setdefault(row["node"], set()).add(round(row["time_s"] * 1e6) % TICK_US)
    return found


def test_timers_of_one_host_share_their_ticks_and_those_of_hosts_do_not() -> None:
    found = phases()
    assert len(found) == 8
    assert {len(of_one) for of_one in found.values()} == {1}, found
    # Eight draws of 4000 places: two are equal once in 140 seeds (28 / 4000).
    assert len(set.union(*found.values())) == 8, found
