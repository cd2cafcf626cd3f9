"""Causes that are put into scenarios on purpose.

And how far an estimate may be from the exact budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from lasthop import Results, Scenario
from lasthop.explain import Budget
from lasthop.explain._model import BUSY, HELD, TRANSIT, Part

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
NEAR = (
    HIDDEN.replace('["-16 m"', '["-3 m"')
    .replace('["16 m"', '["3 m"')
    .replace("[station.right]", "[station.right]\ncount = 2")
    .replace('"1.93 Mbit/s"', '"6 Mbit/s"')
)


@dataclass(frozen=True)
class Plant:
    """A scenario with a cause in it."""

    #: Its text, or the name of a bundled one.
    scenario: str
    keys: tuple[str, ...]
    cause: str
    place: str
    flow: str = "f"

    def run(self, *keys: str, explained: bool = True) -> Results:
        """The scenario is run, with further keys."""
        made = Scenario.parse(self.scenario) if "\n" in self.scenario else Scenario.load(self.scenario)
        return made.with_([*self.keys, *keys, f"output.explain={str(explained).lower()}"]).run()


MESSAGES = 'flow.f.app={ kind = "cbr", rate = "80 kbit/s", size = "100 B" }'
BORDER = 'radio={ position = ["375 m", "20 m", "1.5 m"], mobility = { kind = "linear", speed = "3 km/h" } }'

PLANTS = {
    # 16 kB a round trip of 51.3 ms are 2.6 Mbit/s of 10.
    "a tiny receive window": Plant(WIRED, ("flow.f.tcp.receive_buffer=16 kB",), "receive-window", ""),
    # Messages of 100 B every 10 ms wait, by Nagle's rule, for an ACK that the receiver delays by up
    # to 200 ms. The sender's limit is `small-segment`, and the receiver has most of the octets
    # meanwhile. All of it is TCP's default.
    "the delayed-ACK timer": Plant(WIRED, (MESSAGES,), "delayed-ack", "client"),
    # The same with an ACK for each segment: the messages wait for the ACK of the one before, a
    # round trip.
    "Nagle": Plant(WIRED, (MESSAGES, "flow.f.tcp.ack_every=1"), "small-segment", ""),
    "pauses of the application": Plant(
        WIRED,
        ('flow.f.app={ kind = "on-off", rate = "1 Mbit/s", on = "50 ms", off = "500 ms" }',),
        "application",
        "",
    ),
    # Three SDUs of 1500 B: less than the 4 of the smallest window that fast retransmission needs.
    "an RLC buffer that is too small": Plant(
        UMTS, ("bearer.dch.rlc.am.buffer_bytes=4500 B",), "congestion-window", "dch"
    ),
    "an RLC buffer that is too large": Plant(
        UMTS, ("bearer.dch.rlc.am.buffer_bytes=1 MB", "flow.f.tcp.receive_buffer=1 MB"), "rlc-queue", "dch"
    ),
    # A reading of 100 B every 100 ms goes up: each waits half of 80 ms for an occasion, and for the
    # answer.
    "a long period of scheduling requests": Plant(
        LTE,
        (
            *("flow.f.from=phone", "flow.f.to=server", "flow.f.transport=udp", "cell.enb.uplink.sr.period=80 ms"),
            'flow.f.app={ kind = "cbr", rate = "8 kbit/s", size = "100 B" }',
        ),
        "scheduling-request",
        "phone",
    ),
    # With a window of a few segments, as small devices have it, no later ACK makes up for one that
    # is lost.
    "an uplink that loses ACKs": Plant(
        WIRED, ("link.path.reverse.loss=30 %", "flow.f.tcp.receive_buffer=6 kB"), "ack-lost", "path.reverse"
    ),
    # With one FIFO for all, as many packets go to the slow station as to the fast one: it has the
    # airtime.
    "the airtime of a slow station": Plant(
        "wifi-slow-station",
        ('ap.home.buffer={ kind = "fifo", packets = 300 }', "scenario.duration=6 s"),
        "wifi-queue",
        "near-1",
        "fast-1",
    ),
    # 4 of the link's 10 Mbit/s pass: what exceeds them is dropped, and the window is small after
    # each loss.
    "a policer": Plant(
        WIRED,
        ('link.path.forward.queue={ kind = "policer", rate = "4 Mbit/s", burst = "20 kB" }',),
        "congestion-window",
        "path.forward",
    ),
    # A walk along the border of two cells, without hysteresis: a handover each time that fading
    # makes the other one the better. 80 ms without a cell each: the UE has to find the new one.
    "a storm of handovers": Plant(
        "lte-handover",
        (
            f"ue.car.{BORDER}",
            'handover.trigger={ kind = "a3", hysteresis = "0 dB", offset = "-3 dB", time_to_trigger = "0 ms" }',
            *("handover.interruption=80 ms", "handover.period=40 ms", "scenario.duration=10 s"),
        ),
        "interruption",
        "car",
        "download",
    ),
    # The access point receives both stations at 15 dB, each station the other at 12 dB less: too
    # weak to defer.
    "a hidden station": Plant(HIDDEN, (), "retry", "left"),
    # Kinds of network that the thirteen do not have.
    # A fifth of all blocks is lost, and a window of 8 kB, as early phones had it, waits for RLC to
    # repeat them.
    "bad radio of UMTS": Plant(
        UMTS, ("bearer.dch.downlink.bler=20 %", "flow.f.tcp.receive_buffer=8 kB"), "rlc-retransmission", "dch"
    ),
    "a deep RLC queue of LTE": Plant(
        LTE, ("flow.f.tcp.receive_buffer=8 MB", "cell.enb.resource_blocks=6"), "rlc-queue", "phone"
    ),
    "a queue that is too long on a wired link": Plant(
        WIRED, ("link.path.queue.packets=2000", "flow.f.tcp.receive_buffer=8 MB"), "queue", "path.forward"
    ),
    # At 2 % a window of 1/sqrt(p) segments or so is far below the 43 that the path holds (Mathis et
    # al., 1997).
    "losses on a wired link": Plant(WIRED, ("link.path.forward.loss=2 %",), "congestion-window", "path.forward"),
    # A call beside two stations that always have something to send waits for the channel.
    "contention in Wi-Fi": Plant(NEAR, (), "contention", "left"),
}

#: What an estimated cause stands for, where that is more than what its name says: what the way
#: takes at least, and what no table shows. Whatever is sent waits for its acknowledgement while the
#: way passes it on.
COVERS: dict[str, tuple[str, ...]] = {
    "path": (*BUSY, *HELD, *TRANSIT),
    "queues": (*BUSY, *HELD),
    "acknowledgement": ("acknowledgement", *TRANSIT),
}


def covered(part: Part) -> set[tuple[str, str]]:
    """The exact causes that an estimated one may be, each with whose stage it was."""
    stages = {*BUSY, *HELD, *TRANSIT}
    found = set()
    for name in part.cause.names:
        ways = ("", "data", "ack") if name in COVERS else (part.cause.way,)
        found |= {(exact, way if exact in stages else "") for exact in COVERS.get(name, (name,)) for way in ways}
    return {_key(name, way) for name, way in found}


def _key(name: str, way: str) -> tuple[str, str]:
    """A cause, with whose stage it was where that has a meaning."""
    return (name, "") if name in ("delayed-ack", "ack-lost") else (name, way)


def disagreement(exact: Budget, estimated: Budget) -> list[tuple[float, str]]:
    """How much an estimate gives a cause too much, and too little, the largest first [share]."""
    shares: dict[tuple[str, str], float] = {}
    for p in exact.parts:
        key = _key(p.cause.name, p.cause.way)
        shares[key] = shares.get(key, 0.0) + exact.share(p)
    sets: dict[frozenset[tuple[str, str]], float] = {}
    for p in estimated.parts:
        names = frozenset(covered(p))
        sets[names] = sets.get(names, 0.0) + estimated.share(p)
    found = []
    for names, share in sets.items():
        over = share - sum(s for key, s in shares.items() if key in names)
        found.append((over, f"too much: {sorted(names)}"))
    for key, share in shares.items():
        under = share - sum(s for names, s in sets.items() if key in names)
        found.append((under, f"too little: {key}"))
    return sorted(found, reverse=True)
