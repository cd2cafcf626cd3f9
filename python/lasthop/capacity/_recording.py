"""The capacity of a node's last hop, recorded while a sender always has data for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop._errors import mistake
from lasthop.capacity._scenes import BACK, PROBE, Direction, Scene, scene

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lasthop import Results, Scenario

#: Octets of payload of a UDP packet that fills 1500 octets of IP.
PAYLOAD = 1472
#: Offered rates [bit/s]: from the first on, four times as much until the hop is the limit.
FIRST_RATE, LAST_RATE = 20e6, 6e9
#: A rate is enough if no 100 ms carry more than this share of it.
ENOUGH = 0.8
WINDOW = 0.1
#: Interval and payload of the packets that measure the delay of an idle hop [s, octets].
SPARSE = 0.05
SMALL = 40


@dataclass(frozen=True)
class Recording:
    """The packets that a node received.

    Args:
        scene: the scenario without the flows of the node.
        direction: "down" to the node, "up" from it.
        duration: length of the run [s].
        times: when each packet was received, rising [s].
        sizes: its octets of IP.
        buffer: the largest number of octets that were queued before a packet of a TCP sender
            (CUBIC); None: the sender lost nothing, so no limit was found.
        least_delay: the least one-way delay of a small packet over an idle hop [s].
        back_delay: the mean one-way delay of a small packet against the data over an idle hop [s].
        offered: the rate that the sender offered [bit/s]; None for a TCP sender.
    """

    scene: Scene
    direction: Direction
    duration: float
    times: np.ndarray
    sizes: np.ndarray
    buffer: int | None
    least_delay: float
    back_delay: float
    offered: float | None

    @property
    def mean_rate(self) -> float:
        """Octets of IP received over the run [bit/s]."""
        return float(self.sizes.sum()) * 8 / self.duration


def record(
    scenario: Scenario,
    node: str,
    direction: Direction = "down",
    peer: str | None = None,
    under: str | None = None,
    base: Path | None = None,
) -> Recording:
    """Runs the scenario with one flow at `node` instead of the node's own flows.

    Args:
        scenario: what is run; flows that do not end at `node` stay.
        node: the node whose last hop is recorded.
        direction: "down" records packets to the node, "up" packets from it.
        peer: the other end of the flow; None: that of the first flow of the node.
        under: the congestion control of a TCP sender; None: UDP at a rate that the hop cannot
            carry.
        base: where relative paths in the scenario start.

    Raises:
        LasthopError: the node has no flow and no peer is given, the hop carries any offered rate,
            or no packet arrives.
    """
    stage = scene(scenario, node, peer, base)
    ahead, back = _idle_delays(stage, direction)
    offered = None
    if under is not None:
        results = stage.with_flows({PROBE: bulk(stage, direction, under)}).run()
    else:
        offered, results = _saturated(stage, direction, scenario.duration)
    _, received = of_flow(results)
    if len(received.times) == 0:
        raise mistake(
            f"nothing reached {stage.ends(direction)[1]} within {scenario.duration:g} s: there is nothing to record",
            "look at the run's drops, or make it longer",
        )
    return Recording(
        stage,
        direction,
        scenario.duration,
        received.times,
        received.sizes,
        _buffer(stage, direction, ahead),
        ahead,
        back,
        offered,
    )


def bulk(stage: Scene, direction: Direction, cc: str) -> Mapping[str, Any]:
    """A TCP flow that always has data."""
    source, sink = stage.ends(direction)
    return {"from": source, "to": sink, "app": "bulk", "tcp": {**stage.tcp, "cc": cc}}


@dataclass(frozen=True)
class Packets:
    """Packets of one kind of event: their numbers, times [s] and octets, by time."""

    numbers: np.ndarray
    times: np.ndarray
    sizes: np.ndarray


def of_flow(results: Results) -> tuple[Packets, Packets]:
    """The recorded flow's packets as they were sent with the data, and as they were received."""
    table = results.packets
    flow, events, payload, *columns = (
        table[c].to_numpy() for c in ("flow", "event", "len", "packet", "time_s", "size")
    )
    ours = (flow == PROBE) & (payload > 0)

    def of(event: str) -> Packets:
        chosen = ours & (events == event)
        numbers, times, sizes = (column[chosen] for column in columns)
        return Packets(numbers, times, sizes.astype(np.int64))

    return of("sent"), of("received")


def delays(sent: Packets, received: Packets) -> np.ndarray:
    """The one-way delay of each received packet [s]."""
    order = np.argsort(sent.numbers, kind="stable")
    place = np.searchsorted(sent.numbers, received.numbers, sorter=order)
    return np.asarray(received.times - sent.times[order[place]])


def _idle_delays(stage: Scene, direction: Direction) -> tuple[float, float]:
    """Of small packets, few of them: the least delay with the data, the mean against it [s]."""
    source, sink = stage.ends(direction)
    sparse = {"kind": "cbr", "rate": f"{SMALL * 8 / SPARSE:.0f} bit/s", "size": f"{SMALL} B"}
    results = stage.with_flows(
        {
            PROBE: {"from": source, "to": sink, "transport": "udp", "app": sparse},
            BACK: {"from": sink, "to": source, "transport": "udp", "app": sparse},
        }
    ).run()
    rows = {row["flow"]: row for row in results.flows.to_pylist()}
    for name in (PROBE, BACK):
        if not rows[name]["rx_packets"]:
            raise mistake(
                f"no packet gets from {rows[name]['src']} to {rows[name]['dst']}: there is nothing to record",
                "look at the run's drops, or make it longer",
            )
    return rows[PROBE]["delay_min_s"], rows[BACK]["delay_mean_s"]


def _saturated(stage: Scene, direction: Direction, duration: float) -> tuple[float, Results]:
    """UDP at a rate that the hop cannot carry at any time [bit/s], and its run."""
    source, sink = stage.ends(direction)
    rate = FIRST_RATE
    while rate <= LAST_RATE:
        app = {"kind": "cbr", "rate": f"{rate:.0f} bit/s", "size": f"{PAYLOAD} B"}
        results = stage.with_flows({PROBE: {"from": source, "to": sink, "transport": "udp", "app": app}}).run()
        _, received = of_flow(results)
        edges = np.arange(0, duration + WINDOW, WINDOW)
        most = np.histogram(received.times, edges, weights=received.sizes)[0].max(initial=0) * 8 / WINDOW
        if most < ENOUGH * rate:
            return rate, results
        rate *= 4
    raise mistake(
        f"{sink} receives whatever is sent, up to {rate / 4e9:g} Gbit/s: the path has no rate to record",
        "name a node behind a cell, a bearer, a wireless LAN or a link with a rate",
    )


def _buffer(stage: Scene, direction: Direction, least_delay: float) -> int | None:
    """The most octets in front of a packet of a sender that fills the buffer.

    The sender continues until it loses packets.
    """
    results = stage.with_flows({PROBE: bulk(stage, direction, "cubic")}).run()
    if not np.any(results.drops["flow"].to_numpy() == PROBE):
        return None
    sent, received = of_flow(results)
    # What is received between a packet's arrival at the hop and its reception was in front of it.
    arrivals = received.times - delays(sent, received) + least_delay
    so_far = np.concatenate([[0], np.cumsum(received.sizes)])
    ahead = so_far[1:] - so_far[np.searchsorted(received.times, arrivals, side="right")]
    return int(ahead.max(initial=1))
