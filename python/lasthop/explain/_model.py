"""What an explanation consists of: causes, parts of a whole, losses.

Times are whole nanoseconds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: What a sender is limited by, as the table `limits` names it, in words.
LIMITS = {
    "handshake": "the handshake",
    "application": "the application, which had written nothing more",
    "send-buffer": "the send buffer, which was full",
    "receive-window": "the receive window",
    "congestion-window": "the congestion window",
    "pacing": "pacing",
    "small-segment": "Nagle's algorithm or silly-window avoidance, which held a small segment back",
    "acknowledgement": "acknowledgements, everything being sent",
    "recovery": "the repair of losses",
    "timeout": "the wait for the retransmission timer",
    "nothing": "nothing: the connection was closed",
    "other": "something that Lasthop does not name, which is a fault: please report it",
}

#: Limits of which a sentence says more than that they limited the sender.
CLAUSES = {
    "handshake": "went into the handshake",
    "application": "its sender had nothing to send: the application had written nothing more",
    "small-segment": "its sender held a small segment back (Nagle's algorithm, or a wait for a larger packet)",
    "acknowledgement": "its sender had sent everything and waited for acknowledgements",
    "recovery": "went into the repair of losses",
    "timeout": "its sender waited for the retransmission timer",
    "nothing": "the connection was closed",
}

#: Stages in which the way itself is in use or blocked for the flow, in words: more octets would
#: wait here too.
BUSY = {
    "host": "the processing time of the host",
    "queue": "the queue of a wired link",
    "serialization": "serialization on a wired link",
    "rlc-queue": "the RLC queue",
    "scheduling-request": "the scheduling request",
    "random-access": "random access and connection set-up",
    "grant-wait": "the wait for grants",
    "interruption": "an interruption of the radio link",
    "forwarding": "forwarding between eNBs",
    "wifi-queue": "the Wi-Fi queue",
    "contention": "contention for the Wi-Fi channel",
    "retry": "Wi-Fi retries and back-off",
    "airtime": "Wi-Fi airtime",
}

#: Stages that hold single packets back while others pass, in words: they take a part of the window.
HELD = {
    "reassembly": "reassembly of fragments",
    "harq": "HARQ retransmissions",
    "rlc-retransmission": "RLC retransmissions",
    "reordering": "reordering in RLC or PDCP",
    "reorder-buffer": "the Wi-Fi reorder buffer",
    "delayed-ack": "the receiver's delayed ACK",
    "ack-lost": "ACKs that were lost",
}

#: Stages that take their time on an idle path too and carry many packets at once.
TRANSIT = {
    "node": "a node",
    "propagation": "propagation",
    "transmission": "the first transmission over the air",
    "core": "the core network",
}

#: Where octets are whose packet has arrived before others, and those that were lost and not yet
#: sent again: they count, and make the moment the limit's alone.
HOLE, LOST = "hole", "lost"

#: Drops by which a snoop agent keeps duplicates back.
KEPT_BACK = ("snoop-suppressed", "snoop-answered")

#: Time of octets that were sent and are in no table.
UNACCOUNTED = "unaccounted"

#: The other causes of an estimate.
ESTIMATED = {
    "path": "what the path takes for each packet: the smallest delay that occurred",
    "queues": "queues and repetitions, which no table shows",
}

WORDS = {
    **LIMITS,
    **BUSY,
    **HELD,
    **TRANSIT,
    **ESTIMATED,
    LOST: "the loss of one copy, until the next one was made",
    UNACCOUNTED: "not accounted for: the tables do not say where its octets were",
}


@dataclass(frozen=True, order=True)
class Cause:
    """A cause of elapsed time, and its place."""

    #: A key of `WORDS`; of an estimate also several with `|` between them, if samples cannot tell
    #: them apart.
    name: str
    #: Link direction, bearer, mobile or node; empty where there is none.
    place: str = ""
    #: Whose stage it was: "data", "ack" or, where neither is meant, empty.
    way: str = ""
    #: Of a bearer, mobile or station that the flow passes in both directions: "downlink" or
    #: "uplink". A UE has a buffer for each.
    direction: str = ""

    @property
    def where(self) -> str:
        """The place with its direction, for tables, figures and sentences."""
        return f"{self.place} {self.direction}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """The possible causes: one, unless an estimate cannot distinguish several."""
        return tuple(self.name.split("|"))

    @property
    def words(self) -> str:
        """The cause as a noun phrase."""
        words = [WORDS.get(name, name) for name in self.names]
        text = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        if self.way == "ack" and self.name not in ("delayed-ack", "ack-lost"):
            text += ", where ACKs were"
        return text

    @property
    def label(self) -> str:
        """A short name for tables and figures."""
        return self.name.replace("|", " or ") + (
            " (ACKs)" if self.way == "ack" and self.name not in ("delayed-ack", "ack-lost") else ""
        )


@dataclass(frozen=True)
class Part:
    """A cause with its time."""

    cause: Cause
    #: Its time [ns]; the times of all parts add up to the whole.
    ns: int


#: Layers of the table `pdus`, with what their PDUs are called.
LAYERS = {"rlc-am": "RLC AM PDU", "rlc-um": "RLC UM PDU", "rlc-tm": "RLC TM PDU", "802.11": "MPDU"}


@dataclass(frozen=True)
class Pdu:
    """A PDU in which a packet was lost: a row of the table `pdus`."""

    layer: str
    direction: str
    sn: int | None
    first_octet: int | None
    end_octet: int | None
    sent_s: float | None
    sends: int
    lost: bool

    @property
    def words(self) -> str:
        """The PDU with its number, and how often it was sent."""
        name = LAYERS.get(self.layer, self.layer)
        number = "" if self.sn is None else f" {self.sn}"
        sends = f", sent {self.sends} times" if self.sends > 1 else ""
        return f"{name}{number} ({self.direction}{sends}{'' if self.lost else ', not acknowledged'})"


@dataclass(frozen=True)
class Loss:
    """A packet that was dropped."""

    #: Its number in the run, as in the tables `packets` and `drops`.
    packet: int
    #: When it was dropped [ns].
    at_ns: int
    #: Link direction, bearer, mobile or node that dropped it.
    place: str
    #: The cause, as in the table `drops`.
    cause: str
    #: Its size with the IP header [octets].
    size: int
    #: The stage in which it was; None: not recorded.
    stage: str | None
    #: The segment or datagram, and the PDU and transport block that it was lost in, as far as the
    #: run says.
    pdu: str | None
    #: Whether TCP had sent its data before; None: not recorded.
    retransmission: bool | None
    #: The PDUs of RLC or 802.11 in which it was lost; none: not recorded, or it was in none.
    pdus: list[Pdu] = field(default_factory=list)
    #: "data", "ack" or, where the run does not say which it was, empty.
    way: str = ""
    #: Of a bearer, mobile or station that the flow passes in both directions: "downlink" or
    #: "uplink".
    direction: str = ""

    @property
    def where(self) -> str:
        """The place with its direction, for tables and sentences."""
        return f"{self.place} {self.direction}".rstrip()


@dataclass(frozen=True)
class Timeline:
    """The share of each cause in each interval."""

    #: Edges of the intervals [ns], one more than there are intervals.
    edges_ns: list[int]
    #: For each part of the budget, its time in each interval [ns].
    rows: list[list[int]]


@dataclass(frozen=True)
class Budget:
    """The time of a flow, divided among causes.

    The times of `parts` add up to `whole_ns` exactly. Of a TCP flow the whole is the time from the
    opening of the connection to the end of the transfer (or the requested part of it); of
    a UDP flow, the one-way delays of all packets that arrived, added up.
    """

    #: Name of the flow.
    flow: str
    #: "tcp" or "udp".
    transport: str
    #: Beginning of what is explained [ns of the run].
    start_ns: int
    #: End of what is explained [ns of the run].
    end_ns: int
    #: What the parts divide [ns].
    whole_ns: int
    #: The causes with their times, the largest first.
    parts: list[Part]
    #: Packets whose delays make the whole (UDP); None: not of UDP.
    packets: int | None
    #: From the tables `stages` and `limits`; False: estimated from samples.
    exact: bool
    #: The packets that were dropped, by time.
    losses: list[Loss] = field(default_factory=list)
    #: The parts over time; None: of a UDP flow whose delays were estimated.
    timeline: Timeline | None = None
    #: What is estimated or left out.
    notes: list[str] = field(default_factory=list)
    #: Too few samples say where the flow waits.
    uncertain: bool = False

    def share(self, part: Part) -> float:
        """A part's share of the whole, 0 to 1."""
        return part.ns / self.whole_ns if self.whole_ns else 0.0

    def to_json(self) -> dict[str, Any]:
        """The budget as JSON has it."""
        return {
            "flow": self.flow,
            "transport": self.transport,
            "exact": self.exact,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "whole_ns": self.whole_ns,
            "packets": self.packets,
            "parts": [
                {
                    "cause": p.cause.name,
                    "one_of": list(p.cause.names),
                    "where": p.cause.place,
                    "direction": p.cause.direction,
                    "way": p.cause.way,
                    "ns": p.ns,
                    "share": self.share(p),
                }
                for p in self.parts
            ],
            "losses": [
                {
                    "packet": x.packet,
                    "at_ns": x.at_ns,
                    "where": x.place,
                    "direction": x.direction,
                    "way": x.way,
                    "cause": x.cause,
                    "size": x.size,
                    "stage": x.stage,
                    "pdu": x.pdu,
                    "retransmission": x.retransmission,
                    "pdus": [asdict(pdu) for pdu in x.pdus],
                }
                for x in self.losses
            ],
            "notes": self.notes,
        }
