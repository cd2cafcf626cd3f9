"""Where the octets of a flow wait, from the tables that are sampled.

`queues`, `rlc` with `radio`, and `wifi`.

A sample is the state at one moment. Some stages have the same effect on samples: they are one
cause, whose name has all of them (`scheduling-request|grant-wait`). The table `events` says when a
UE's link was interrupted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.explain._model import Cause
from lasthop.explain._route import Route
from lasthop.explain._settings import table_at, texts_at
from lasthop.explain._sharers import MTU, Sharers
from lasthop.explain._tables import columns_of, happenings, nanoseconds, scenario_of

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop.explain._share import Ints

#: An uplink with transport blocks in this share of the TTIs works off its queue.
SERVED = 0.5
#: The length of a TTI of LTE [s].
TTI = 1e-3
#: From this share of PPDUs without an answer on, what waits at a station waits for their
#: repetition.
UNANSWERED = 0.2
#: A queue of more transport blocks or Wi-Fi bursts than this waits for what is before it.
BURSTS = 3
#: So many samples in which something of a flow waits say where it waits.
ENOUGH = 10
#: Repetitions in so many samples say why an SDU that was sent has not arrived.
RECENT = 10
ASKING = "scheduling-request|grant-wait"
AIR = "rlc-retransmission|reordering"
AIR_OF_CELL = "harq|rlc-retransmission|reordering"
COLLISIONS = "retry|reorder-buffer|contention|wifi-queue"
TURN = "wifi-queue|contention|airtime|retry"
#: The network takes a UE's link away, and gives it back.
GOES = ("handover-start", "radio-link-failure", "handover-failure")
COMES = ("handover-complete", "rrc-reestablished", "connected")

QUEUES = ("time_s", "queue", "packets", "bytes")
RLC = (
    *("time_s", "bearer", "direction", "queue_sdus", "queue_bytes"),
    *("sdus_in", "sdus_out", "sdus_discarded", "pdus_retx"),
)
RADIO = ("time_s", "ue", "direction", "ttis", "bytes")
WIFI = (
    *("time_s", "station", "direction", "ppdus", "mpdus", "unanswered", "airtime_s"),
    *("queue_packets", "queue_bytes"),
)


#: A table, a place of it with its direction, and whose way it is.
Place = tuple[str, str, "str | None", str]


@dataclass
class Stock:
    """The part of a flow that waits at a moment, by cause.

    It is counted in octets of data, and in packets with acknowledgements.
    """

    sharers: Sharers
    #: Packets of the flow that are on their way, by way.
    packets: dict[str, float]
    moment: int
    #: The flow's smallest share of what waits at a place, 0 to 1.
    least: float = 1.0
    data: dict[Cause, float] = field(default_factory=lambda: defaultdict(float))
    acks: dict[Cause, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, name: str, place: Place, octets: float, packets: float) -> None:
        """Adds the data that waits at a place for a reason: that of the flow and that of others."""
        table, where, direction, way = place
        own = self.sharers.own(table, where, direction, self.packets[way or "data"], self.moment)
        self.least = min(self.least, own)
        if way == "ack":
            self.acks[Cause(name, where, way)] += own * packets
        else:
            self.data[Cause(name, where, way)] += own * octets


@dataclass
class _Sampled:
    """The rows of one table that are on the flow's way, in groups of one moment."""

    at: Ints
    rows: list[list[dict[str, Any]]]
    interval_s: float

    def before(self, moment: int) -> list[dict[str, Any]]:
        """The rows of the sample that is the first not before a moment, or the last."""
        return self.rows[self._number(moment)] if len(self.at) else []

    def time_of(self, moment: int) -> list[int]:
        """The time of that sample; none without samples."""
        return [int(self.at[self._number(moment)])] if len(self.at) else []

    def _number(self, moment: int) -> int:
        return min(int(np.searchsorted(self.at, moment)), len(self.at) - 1)


class Waiting:
    """The data that waits on the way of a flow at each moment."""

    def __init__(self, results: Results, row: dict[str, Any]) -> None:
        self._results = results
        scenario = scenario_of(results)
        self._route = Route.of(scenario, row)
        self._sharers = Sharers(results, row, scenario)
        self._cells = bool(scenario.get("cell"))
        self._senders = {
            (name, way): ends[n]
            for name in table_at(scenario, "sidelink")
            if len(ends := texts_at(table_at(scenario, "sidelink", name), "between")) == 2
            for n, way in enumerate(("downlink", "uplink"))
        }
        self._queues = self._table("queues", QUEUES, "queue", None)
        self._rlc = self._table("rlc", RLC, "bearer", "direction")
        self._wifi = self._table("wifi", WIFI, "station", "direction")
        self._radio = self._of_radio()
        self._sent_again = self._repetitions()
        #: The times of samples that were looked at and in which something of the flow waits.
        self._filled: set[int] = set()
        self.interruptions = self._interruptions()

    @property
    def extent(self) -> str:
        """Which queues count, where that is not those of the flow's way."""
        if self._route.is_known or not self.sources:
            return ""
        return " (all of the run: its scenario does not give the flow's way)"

    @property
    def sources(self) -> str:
        """The tables with places on the way."""
        tables = (("queues", self._queues), ("rlc", self._rlc), ("wifi", self._wifi))
        return ", ".join(f"`{name}`" for name, table in tables if len(table.at))

    @property
    def missing(self) -> list[str]:
        """The tables that would show places on the way, and that the run does not have."""
        names = self._results.table_names
        found = ["queues"] if self._route.queues and "queues" not in names else []
        radio = {"rlc", "wifi"} & set(names)
        return found + (["rlc` or `wifi"] if self._route.radio and not radio else [])

    def way_of(self, place: str) -> str | None:
        """Whether data or acknowledgements of the flow pass the queue of a wired link."""
        return self._route.queues.get(place)

    def at(self, moment: int, data: float, acks: float) -> Stock:
        """The waiting part of the flow at the first sample from a moment on, or at the last one.

        Args:
            moment: nanoseconds.
            data: packets with data that are on their way.
            acks: packets with acknowledgements that are.
        """
        stock = Stock(self._sharers, {"data": data, "ack": acks}, moment)
        for r in self._queues.before(moment):
            # A few ACKs in the queue of a wired link are gone within a packet's time.
            if r["packets"] and (r["way"] != "ack" or r["bytes"] >= MTU):
                place = ("queues", r["queue"], None, r["way"])
                stock.add("queue", place, r["bytes"], r["packets"])
                # The packet in service is not among those that wait.
                stock.add("serialization", place, MTU, 1)
        for r in self._rlc.before(moment):
            self._add_bearer(stock, r, moment)
        for r in self._wifi.before(moment):
            _add_station(stock, r, self._wifi.interval_s)
        if any(x > 0 for held in (stock.data, stock.acks) for x in held.values()):
            times = [t for table in (self._queues, self._rlc, self._wifi) for t in table.time_of(moment)]
            self._filled.add(min(times))
        return stock

    @property
    def too_few(self) -> str:
        """A note that too few samples show where the flow waits; empty: enough do, or none."""
        n = len(self._filled)
        if not 0 < n < ENOUGH:
            return ""
        what = "one sample has" if n == 1 else f"{n} samples have"
        return f" Only {what} something of the flow that waits: where it waits is uncertain, and no place gets advice."

    def interrupted(self, moment: int) -> str | None:
        """The UE on the way whose link is interrupted at a moment."""
        return next((ue for ue, since, until in self.interruptions if since <= moment < until), None)

    def _add_bearer(self, stock: Stock, r: dict[str, Any], moment: int) -> None:
        ue = self.interrupted(moment - 1)
        place = ("rlc", r["bearer"], r["direction"], r["way"])
        queued, inside = r["queue_sdus"], r["sdus_in"] - r["sdus_out"] - r["sdus_discarded"]
        if ue is not None and ue == r["bearer"].split(".", maxsplit=1)[0]:
            if inside > 0:
                stock.add("interruption", place, max(r["queue_bytes"], MTU), max(queued, 1))
            return
        if queued:
            stock.add(self._queue_of(r), place, r["queue_bytes"], queued)
        if inside > queued and self._repeats(r):
            name = AIR_OF_CELL if self._cells else AIR
            stock.add(name, place, (inside - queued) * MTU, inside - queued)

    def _queue_of(self, r: dict[str, Any]) -> str:
        """What the queue of a bearer waits for."""
        sender = self._senders.get((r["bearer"], r["direction"]))
        if not self._cells or (sender is None and r["direction"] == "downlink"):
            return "rlc-queue"
        ue = sender or r["bearer"].split(".", maxsplit=1)[0]
        sent = self._radio.get((r["at"], ue, "sidelink" if sender else "uplink"))
        if sent is None:
            return ASKING
        is_served = sent["ttis"] * TTI >= SERVED * self._rlc.interval_s
        is_deep = r["queue_bytes"] > BURSTS * sent["bytes"] / max(sent["ttis"], 1)
        return "rlc-queue" if is_served or is_deep else ASKING

    def _repeats(self, r: dict[str, Any]) -> bool:
        """RLC has sent data again lately."""
        at, counts = self._sent_again[r["bearer"], r["direction"]]
        n = int(np.searchsorted(at, r["at"]))
        return counts[n] > counts[max(n - RECENT, 0)]

    def _table(self, name: str, wanted: tuple[str, ...], place: str, towards: str | None) -> _Sampled:
        none = _Sampled(np.zeros(0, np.int64), [], 0.0)
        if name not in self._results.table_names:
            return none
        groups: dict[int, list[dict[str, Any]]] = {}
        times: set[int] = set()
        table = columns_of(self._results, name, wanted)
        at = nanoseconds(table["time_s"].to_numpy()).tolist()
        for r, t in zip(table.to_pylist(), at, strict=True):
            times.add(t)
            way = self._route.way_of(name, r[place], r[towards] if towards else None)
            if way is not None:
                groups.setdefault(t, []).append({**r, "way": way, "at": t})
        if not groups:
            return none
        moments = sorted(times)
        interval = float(np.median(np.diff(moments))) / 1e9 if len(moments) > 1 else 1.0
        return _Sampled(np.array(moments, np.int64), [groups.get(t, []) for t in moments], interval)

    def _of_radio(self) -> dict[tuple[int, str, str], dict[str, Any]]:
        if "radio" not in self._results.table_names:
            return {}
        table = columns_of(self._results, "radio", RADIO)
        at = nanoseconds(table["time_s"].to_numpy()).tolist()
        return {(t, r["ue"], r["direction"]): r for t, r in zip(at, table.to_pylist(), strict=True)}

    def _repetitions(self) -> dict[tuple[str, str], tuple[list[int], list[int]]]:
        """For each bearer and direction the times of its samples, and RLC's repetitions.

        That is how many PDUs RLC had sent again by then.
        """
        found: dict[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for group in self._rlc.rows:
            for r in group:
                at, counts = found[r["bearer"], r["direction"]]
                at.append(r["at"])
                counts.append(r["pdus_retx"])
        return found

    def _interruptions(self) -> list[tuple[str, int, int]]:
        found = []
        for ue in sorted({place.split(".")[0] for place, _ in self._route.radio}):
            since = None
            for event in happenings(self._results, f"ue/{ue}"):
                if event.kind in GOES and since is None:
                    since = event.at_ns
                elif event.kind in COMES and since is not None:
                    found.append((ue, since, event.at_ns))
                    since = None
            if since is not None:
                found.append((ue, since, int(np.iinfo(np.int64).max)))
        return found


def _add_station(stock: Stock, r: dict[str, Any], interval_s: float) -> None:
    octets, packets = r["queue_bytes"], r["queue_packets"]
    if not packets:
        return
    place = ("wifi", r["station"], r["direction"], r["way"])
    ppdus = r["ppdus"]
    burst = r["mpdus"] / ppdus if ppdus else 1.0
    if r["unanswered"] >= UNANSWERED * max(ppdus, 1):
        stock.add(COLLISIONS, place, octets, packets)
    elif packets > BURSTS * burst:
        # Those of the burst on the air are among those that wait.
        on_air = min(r["airtime_s"] / interval_s, 1.0) * burst
        stock.add("airtime", place, on_air * octets / packets, on_air)
        stock.add("wifi-queue", place, octets * (1 - on_air / packets), packets - on_air)
    else:
        stock.add(TURN, place, octets, packets)
