"""The budget of a flow from the tables `stages`, `limits` and `packets`: exact to the nanosecond.

Of a TCP flow each moment has one limit: what its sender was waiting for. While that is the application or the
handshake, the moment is theirs. In all other cases octets are outstanding, and the rule is:

1. While outstanding octets wait where the way is in use or blocked (a queue, a grant, the channel), the moment is
   divided among the places where octets wait, by octets: a larger window would only have made more of them wait there.
2. Else each octet counts alike. Those that are held back (a retransmission below IP, a delayed ACK, an ACK that was
   lost) have their share of the moment. The rest belongs to the sender's limit: with a larger window, or a loss
   repaired sooner, more would have been on its way. If everything is sent, it belongs to what the octets pass.

An octet is outstanding from its sending until an acknowledgement of it reaches the sender: its place is that of its
packet; at the receiver until an ACK leaves; then that of the ACK which is the first to arrive.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop._errors import mistake
from lasthop.explain._losses import losses_of
from lasthop.explain._model import BUSY, HELD, TRANSIT, Budget, Cause, Part, Timeline
from lasthop.explain._share import Ints, Stays, divide, sweep
from lasthop.explain._tables import Names, column, columns_of, nanoseconds, of_flow

if TYPE_CHECKING:
    from lasthop._results import Results

#: Moments of these limits belong to them whatever is on its way.
OWN = ("handshake", "application", "nothing")
#: Limits that follow from a loss: they carry the place of the last one.
AFTER_LOSS = ("recovery", "timeout", "congestion-window")
#: Intervals of the timeline.
BINS = 240
#: Where octets are that have arrived before others: they count, and make the moment nobody's but the limit's.
HOLE = "hole"
NEVER = np.int64(np.iinfo(np.int64).max)


@dataclass
class Keys:
    """Causes by number."""

    causes: list[Cause] = field(default_factory=list)
    _numbers: dict[Cause, int] = field(default_factory=dict)

    def number(self, cause: Cause) -> int:
        """The number of a cause; a new one if it is new."""
        if cause not in self._numbers:
            self._numbers[cause] = len(self.causes)
            self.causes.append(cause)
        return self._numbers[cause]

    def among(self, names: Container[str]) -> NDArray[np.bool_]:
        """For each cause, as a column, whether it is one of these."""
        return np.array([[c.name in names] for c in self.causes], bool).reshape(-1, 1)


def exact_budget(results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None) -> Budget:
    """The budget of the flow of a row of `flows` between two moments; None: from its start, to its end.

    Raises:
        LasthopError: a table is missing or of another version, nothing of the flow is in the interval.
    """
    if row["transport"] == "tcp":
        return _tcp_budget(results, row, start_ns, end_ns)
    return _datagram_budget(results, row, start_ns, end_ns)


# TCP


def _tcp_budget(results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None) -> Budget:
    flow = row["flow"]
    limits = of_flow(columns_of(results, "limits", ("flow", "start_ns", "cause")), flow)
    first, last = _extent(limits, row)
    start, end = clip(flow, first, last, start_ns, end_ns)
    packets = _Packets.of(results, row)
    keys = Keys()
    stays = Stays.joined([packets.data_stays(keys), packets.waits_for_ack(keys), packets.ack_stays(keys)])
    stays = stays.within(start, end)
    limit_at = column(limits, "start_ns").astype(np.int64)
    names = Names.of(limits, "cause")
    waiting_causes = len(keys.causes)
    limit_key = _limit_keys(keys, names, limit_at, packets)
    edges = np.unique(np.linspace(start, end, BINS + 1).astype(np.int64))
    ends = [stays.start, stays.end, limit_at[(limit_at > start) & (limit_at < end)], edges]
    moments = np.unique(np.concatenate(ends))
    account = _Account(keys, waiting_causes, names, limit_at, limit_key, moments, edges)
    sweep(stays, waiting_causes, moments, account.take)
    parts = largest_first(keys, account.total)
    timeline = timeline_of(keys, parts, edges, account.bins)
    assert sum(p.ns for p in parts) == end - start
    losses = losses_of(results, flow, start, end)
    return Budget(flow, "tcp", start, end, end - start, parts, None, True, losses, timeline)


@dataclass
class _Account:
    """What has been given to each cause."""

    keys: Keys
    waiting_causes: int
    names: Names
    limit_at: Ints
    limit_key: Ints
    moments: Ints
    edges: Ints

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.keys.causes), np.int64)
        self.bins = np.zeros((len(self.keys.causes), len(self.edges) - 1), np.int64)
        self._is_busy, self._is_held, self._is_transit = (
            self.keys.among(names)[: self.waiting_causes] for names in (BUSY, HELD, TRANSIT)
        )

    def take(self, first: int, weights: Ints) -> None:
        """Divides the intervals from `first` on."""
        count = weights.shape[1]
        moments = self.moments[first : first + count + 1]
        length = np.diff(moments)
        limit = np.maximum(np.searchsorted(self.limit_at, moments[:-1], side="right") - 1, 0)
        name = np.array(self.names.names)[self.names.codes[limit]]
        own = np.isin(name, OWN)
        is_busy = ~own & (np.where(self._is_busy, weights, 0).sum(axis=0) > 0)
        sharing = (is_busy & self._is_busy) | (~own & self._is_held)
        sharing |= ~own & ~is_busy & (name == "acknowledgement") & self._is_transit
        shares = np.where(sharing, weights, 0)
        rest = np.where(own | is_busy, 0, (weights - shares).sum(axis=0))
        # A moment that nothing else shares is the limit's.
        rest = np.where((shares.sum(axis=0) == 0) & (rest == 0), 1, rest)
        parts = divide(length, np.vstack([shares, rest]))
        bin_of = np.searchsorted(self.edges, moments[:-1], side="right") - 1
        self.total[: self.waiting_causes] += parts[:-1].sum(axis=1)
        for k in np.flatnonzero(parts[:-1].any(axis=1)):
            np.add.at(self.bins[k], bin_of, parts[k])
        np.add.at(self.total, self.limit_key[limit], parts[-1])
        np.add.at(self.bins, (self.limit_key[limit], bin_of), parts[-1])


def _limit_keys(keys: Keys, names: Names, limit_at: Ints, packets: _Packets) -> Ints:
    """The number of the cause of each row of `limits`; what follows from a loss has the place of the last one."""
    lost_at, lost_where = packets.losses()
    last = np.searchsorted(lost_at, limit_at, side="right") - 1
    found = []
    for code, n in zip(names.codes, last, strict=True):
        name = names.names[code]
        place = lost_where[n] if n >= 0 and name in AFTER_LOSS else ""
        found.append(keys.number(Cause(name, place)))
    return np.array(found, np.int64)


def _extent(limits: pa.Table, row: dict[str, Any]) -> tuple[int, int]:
    """From the opening of the connection to the end of the transfer, or of the run."""
    if not limits.num_rows:
        raise mistake(
            f"flow '{row['flow']}' has no row in the table `limits`", "it never started: see `start` and `autostart`"
        )
    first = int(limits["start_ns"][0].as_py())
    end = round(row["end_s"] * 1e9)
    if limits["cause"][-1].as_py() == "nothing":
        end = int(limits["start_ns"][-1].as_py())
    return first, max(end, first)


def clip(flow: str, first: int, last: int, start_ns: int | None, end_ns: int | None) -> tuple[int, int]:
    start = first if start_ns is None else max(first, start_ns)
    end = last if end_ns is None else min(last, end_ns)
    if start >= end:
        raise mistake(
            f"nothing of flow '{flow}' is in this interval: it lasts from {first / 1e9:g} s to {last / 1e9:g} s",
            "choose `--from` and `--to` within that",
        )
    return start, end


class _Packets:
    """What is known of the packets of a flow, an array element for each."""

    def __init__(self, stages: pa.Table, src: str, dst: str, sent: _Sent, received: dict[int, int]) -> None:
        self.stages, self.src, self.dst, self.sent = stages, src, dst, sent
        self.data = np.flatnonzero(sent.is_data)
        self.acks = np.flatnonzero(sent.is_ack)
        end = sent.end[self.data]
        arrived_at_sender = [
            (received[int(n)], i) for i, n in zip(self.acks, sent.number[self.acks], strict=True) if int(n) in received
        ]
        arrived_at_sender.sort()
        self.acked_at = np.full(len(self.data), NEVER)
        self.acked_by = np.full(len(self.data), -1, np.int64)
        if arrived_at_sender:
            at = np.array([t for t, _ in arrived_at_sender], np.int64)
            by = np.array([i for _, i in arrived_at_sender], np.int64)
            upto = np.maximum.accumulate(sent.ack[by])
            n = np.searchsorted(upto, end)
            some = n < len(at)
            self.acked_at[some], self.acked_by[some] = at[n[some]], by[n[some]]
        self.received_at = np.array([received.get(int(n), NEVER) for n in sent.number[self.data]], np.int64)

    @classmethod
    def of(cls, results: Results, row: dict[str, Any]) -> _Packets:
        stages = columns_of(results, "stages", ("packet", "flow", "stage", "where", "start_ns", "end_ns"))
        wanted = ("time_s", "packet", "flow", "node", "event", "seq", "ack", "len", "flags")
        packets = of_flow(columns_of(results, "packets", wanted), row["flow"])
        arrivals = packets.filter(pc.equal(packets["event"], "received"))
        received: dict[int, int] = {}
        times = nanoseconds(column(arrivals, "time_s"))
        for number, at in zip(column(arrivals, "packet").tolist(), times.tolist(), strict=True):
            received.setdefault(number, at)
        sent = _Sent.of(packets.filter(pc.equal(packets["event"], "sent")), row["src"])
        made = cls(of_flow(stages, row["flow"]), row["src"], row["dst"], sent, received)
        dropped = packets.filter(pc.equal(packets["event"], "dropped"))
        made.dropped = {n: (at, where) for n, at, where in zip(
            column(dropped, "packet").tolist(), nanoseconds(column(dropped, "time_s")).tolist(),
            dropped["node"].to_pylist(), strict=True)}  # fmt: skip
        return made

    dropped: dict[int, tuple[int, str]]

    def losses(self) -> tuple[Ints, list[str]]:
        """When and where packets with data were lost, in order."""
        numbers = self.sent.number[self.data].tolist()
        found = sorted(self.dropped[n] for n in numbers if n in self.dropped)
        return np.array([at for at, _ in found], np.int64), [where for _, where in found]

    def _stage_stays(self, keys: Keys, way: str, weight: dict[int, int], until: dict[int, int]) -> Stays:
        t = self.stages
        number = column(t, "packet").astype(np.int64)
        mine = np.isin(number, np.fromiter(weight, np.int64, len(weight)))
        number = number[mine]
        stage, place = Names.of(t, "stage"), Names.of(t, "where")
        pair = (stage.codes * (len(place.names) + 1) + place.codes)[mine]
        distinct, which = np.unique(pair, return_inverse=True)
        cause = [
            Cause(stage.names[p // (len(place.names) + 1)], place.names[p % (len(place.names) + 1)], way)
            for p in distinct.tolist()
        ]
        key = np.array([keys.number(c) for c in cause], np.int64)[which] if cause else np.zeros(0, np.int64)
        weights = np.array([weight[n] for n in number.tolist()], np.int64)
        limit = np.array([until.get(n, NEVER) for n in number.tolist()], np.int64)
        start = column(t, "start_ns").astype(np.int64)[mine]
        end = np.minimum(column(t, "end_ns").astype(np.int64)[mine], limit)
        return Stays(start, end, key, weights)

    def data_stays(self, keys: Keys) -> Stays:
        """Octets in packets on their way, until they are acknowledged."""
        numbers = self.sent.number[self.data].tolist()
        weight = dict(zip(numbers, self.sent.octets[self.data].tolist(), strict=True))
        until = dict(zip(numbers, self.acked_at.tolist(), strict=True))
        return self._stage_stays(keys, "data", weight, until)

    def waits_for_ack(self, keys: Keys) -> Stays:
        """Octets at the receiver, in order, of which no ACK has left; and those whose ACKs were lost."""
        sent, data = self.sent, self.data
        there = (self.received_at < NEVER) & (self.received_at <= self.acked_at)
        at, end, octets = self.received_at[there], sent.end[data][there], sent.octets[data][there]
        in_order = self._in_order_at()[there]
        upto = np.maximum.accumulate(sent.ack[self.acks]) if len(self.acks) else np.zeros(0, np.int64)
        n = np.searchsorted(upto, end)
        some = n < len(upto)
        leaves = np.full(len(at), NEVER)
        leaves[some] = sent.at[self.acks[n[some]]]
        leaves = np.maximum(leaves, at)
        by = self.acked_by[there]
        reached = np.where(by >= 0, sent.at[by], NEVER)
        delayed = keys.number(Cause("delayed-ack", self.dst))
        lost = keys.number(Cause("ack-lost", self._place_of_lost_acks()))
        begin = np.maximum(at, in_order)
        hole = keys.number(Cause(HOLE, self.dst))
        stays = [
            Stays(at, np.minimum(begin, reached), np.full(len(at), hole), octets),
            Stays(begin, np.maximum(leaves, begin), np.full(len(at), delayed), octets),
        ]
        # An ACK had left by then, and the one that arrived left later.
        first = np.where(some, self.acks[np.minimum(n, len(self.acks) - 1)] if len(self.acks) else 0, -1)
        is_lost = np.array([i >= 0 and int(sent.number[i]) in self.dropped for i in first.tolist()], bool)
        dropped_at = [self.dropped[int(sent.number[i])][0] if x else 0 for i, x in zip(first, is_lost, strict=True)]
        later = is_lost & (reached > leaves)
        since = np.maximum(np.array(dropped_at, np.int64), leaves)
        # On its way until it was dropped; what is not acknowledged at all waits until the end.
        stays.append(Stays(since[later], reached[later], np.full(int(later.sum()), lost), octets[later]))
        return Stays.joined(stays)

    def _place_of_lost_acks(self) -> str:
        places = [self.dropped[n][1] for n in self.sent.number[self.acks].tolist() if n in self.dropped]
        return max(sorted(set(places)), key=places.count) if places else ""

    def _in_order_at(self) -> Ints:
        """When each packet's octets, and all before them, had arrived."""
        begin = self.sent.end[self.data] - self.sent.octets[self.data]
        order = np.lexsort((self.received_at, begin))
        first = np.full(len(order), NEVER)
        starts = begin[order]
        new = np.append(True, starts[1:] != starts[:-1]) if len(order) else np.zeros(0, bool)
        firsts = self.received_at[order][new]
        first[order] = np.maximum.accumulate(firsts)[np.cumsum(new) - 1] if len(order) else first
        return first

    def ack_stays(self, keys: Keys) -> Stays:
        """Octets whose acknowledgement is on its way: in the packet that is the first to arrive with it."""
        weight: dict[int, int] = {}
        octets = self.sent.octets[self.data]
        for by, n in zip(self.acked_by.tolist(), octets.tolist(), strict=True):
            if by >= 0:
                number = int(self.sent.number[by])
                weight[number] = weight.get(number, 0) + n
        return self._stage_stays(keys, "ack", weight, {})


@dataclass(frozen=True)
class _Sent:
    """Packets as they were sent, an array element for each."""

    number: Ints
    at: Ints
    #: Behind the last number of their data.
    end: Ints
    #: Numbers that they use.
    octets: Ints
    #: Acknowledged up to here; -1: nothing.
    ack: Ints
    is_data: NDArray[np.bool_]
    is_ack: NDArray[np.bool_]

    @classmethod
    def of(cls, packets: pa.Table, src: str) -> _Sent:
        from_src = column(pc_equal(packets, "node", src), "x")
        flags = np.array([str(f or "") for f in packets["flags"].to_pylist()], str)
        if not len(flags):
            flags = np.zeros(0, "U1")
        length = column(packets, "len").astype(np.int64)
        octets = length + np.char.count(flags, "S") + np.char.count(flags, "F")
        end = column(packets, "seq", 0).astype(np.int64) + octets
        ack = column(pc_fill(packets, "ack"), "x").astype(np.int64)
        return cls(
            column(packets, "packet").astype(np.int64),
            nanoseconds(column(packets, "time_s")),
            end,
            octets,
            ack,
            from_src & (octets > 0),
            ~from_src & (ack >= 0),
        )


def pc_equal(table: pa.Table, name: str, value: str) -> pa.Table:
    """A column `x`: whether a column has the value."""
    return pa.table({"x": pc.equal(table[name].cast(pa.string()), value)})


def pc_fill(table: pa.Table, name: str) -> pa.Table:
    """A column `x`: the column's numbers, -1 for none."""
    return pa.table({"x": pc.fill_null(table[name].cast(pa.int64()), -1)})


# Datagrams


def _datagram_budget(results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None) -> Budget:
    flow = row["flow"]
    wanted = ("packet", "part", "flow", "stage", "where", "start_ns", "end_ns")
    stages = of_flow(columns_of(results, "stages", wanted), flow)
    packets = of_flow(columns_of(results, "packets", ("time_s", "packet", "flow", "node", "event")), flow)
    sent = packets.filter(pc.equal(packets["event"], "sent"))
    if not sent.num_rows:
        raise mistake(f"flow '{flow}' has sent no packet: there is nothing to explain")
    from_src = set(sent.filter(pc.equal(sent["node"].cast(pa.string()), row["src"]))["packet"].to_pylist())
    got = packets.filter(pc.equal(packets["event"], "received"))
    times = nanoseconds(column(got, "time_s")).tolist()
    arrived = {n: t for n, t in zip(got["packet"].to_pylist(), times, strict=True) if n in from_src}
    first = int(nanoseconds(column(sent, "time_s"))[0])
    start, end = clip(flow, first, max(round(row["end_s"] * 1e9), first + 1), start_ns, end_ns)
    wanted_packets = {n: t for n, t in arrived.items() if start <= t <= end}
    chosen = _last_parts(stages, wanted_packets)
    keys = Keys()
    pairs = zip(chosen["stage"].to_pylist(), chosen["where"].to_pylist(), strict=True)
    key = np.array([keys.number(Cause(s, p, "data")) for s, p in pairs], np.int64)
    length = column(chosen, "end_ns").astype(np.int64) - column(chosen, "start_ns").astype(np.int64)
    total = np.zeros(len(keys.causes), np.int64)
    np.add.at(total, key, length)
    edges = np.unique(np.linspace(start, end, BINS + 1).astype(np.int64))
    at = np.array([wanted_packets[n] for n in chosen["packet"].to_pylist()], np.int64)
    bin_of = np.minimum(np.searchsorted(edges, at, side="right") - 1, len(edges) - 2)
    bins = np.zeros((len(keys.causes), len(edges) - 1), np.int64)
    np.add.at(bins, (key, bin_of), length)
    parts = largest_first(keys, total)
    losses = losses_of(results, flow, start, end)
    return Budget(
        flow, row["transport"], start, end, int(length.sum()), parts, len(wanted_packets), True, losses,
        timeline_of(keys, parts, edges, bins),
    )  # fmt: skip


def _last_parts(stages: pa.Table, wanted: dict[int, int]) -> pa.Table:
    """The rows of these packets; of one that went in fragments, those of the last fragment to arrive."""
    number = column(stages, "packet")
    rows = stages.filter(pa.array(np.isin(number, np.fromiter(wanted, np.int64, len(wanted)))))
    part, end = column(rows, "part"), column(rows, "end_ns")
    if not part.any():
        return rows
    last: dict[int, tuple[int, int]] = {}
    for n, p, t in zip(column(rows, "packet").tolist(), part.tolist(), end.tolist(), strict=True):
        last[n] = max(last.get(n, (-1, 0)), (t, p))
    kept = [p in (0, last[n][1]) for n, p in zip(column(rows, "packet").tolist(), part.tolist(), strict=True)]
    return rows.filter(pa.array(kept))


def largest_first(keys: Keys, total: Ints) -> list[Part]:
    parts = [Part(cause, int(ns)) for cause, ns in zip(keys.causes, total, strict=True) if ns > 0]
    return sorted(parts, key=lambda p: (-p.ns, p.cause))


def timeline_of(keys: Keys, parts: list[Part], edges: Ints, bins: Ints) -> Timeline:
    rows = [bins[keys.causes.index(part.cause)].tolist() for part in parts]
    return Timeline(edges.tolist(), rows)
