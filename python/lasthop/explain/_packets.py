"""Where the outstanding octets of a TCP flow are, from the tables `stages` and `packets`.

An octet that was sent is outstanding until an acknowledgement of it reaches the sender. Until then
it has one place at each moment:

- that of its packet;
- the receiver, from the arrival of its packet until an ACK leaves that covers it (`hole` while
  octets before it are missing, `delayed-ack` then);
- that of the ACK, until it arrives; if another ACK arrives first, only until that one leaves; if
  the ACK is lost, it is `ack-lost` until an ACK leaves that arrives;
- `lost`, from the loss of its packet until its octets are sent again; after that their place is
  that of the new packet.

A packet that was retransmitted spuriously is outstanding as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop.explain._keys import Keys
from lasthop.explain._model import HOLE, LOST, Cause
from lasthop.explain._share import Ints, Stays
from lasthop.explain._tables import column, columns_of, nanoseconds, of_flow
from lasthop.explain._ways import Ways, arrivals

if TYPE_CHECKING:
    from lasthop._results import Results

STAGES = ("packet", "part", "flow", "stage", "where", "start_ns", "end_ns")
PACKETS = ("time_s", "packet", "flow", "node", "event", "seq", "ack", "len", "flags")
NEVER = np.int64(np.iinfo(np.int64).max)


class Packets:
    """The data on the packets of a flow, an array element for each packet with data."""

    def __init__(self, stages: pa.Table, packets: pa.Table, src: str, dst: str) -> None:
        received = arrivals(packets)
        self._dst = dst
        self._ways = Ways.of(stages, packets)
        sent = Sent.of(packets.filter(pc.equal(packets["event"], "sent")), src, dst)
        self._acks, self._data = sent.those(sent.is_ack), sent.those(sent.is_data)
        dropped = packets.filter(pc.equal(packets["event"], "dropped"))
        self._dropped = {
            n: (at, where)
            for n, at, where in zip(
                column(dropped, "packet").tolist(),
                nanoseconds(column(dropped, "time_s")).tolist(),
                dropped["node"].to_pylist(),
                strict=True,
            )
            if n not in received
        }
        self._received = _times(received, self._data.number)
        self._ack_received = _times(received, self._acks.number)
        self._is_lost_ack = np.array([n in self._dropped for n in self._acks.number.tolist()], bool)
        self._first, self._by = self._acknowledged()
        self._acked = _at(self._ack_received, self._by)
        over = self._ways.over(self._data.number, self._data.at)
        arrived = self._received < NEVER
        #: Where the packet's way ends: at the receiver, or in a loss.
        self._over = np.where(arrived, self._received, over)
        again = self._sent_again(~arrived)
        self._gone = np.where(arrived, NEVER, np.maximum(self._over, again))

    @classmethod
    def of(cls, results: Results, row: dict[str, Any]) -> Packets:
        """The packets of the flow of a row of `flows`.

        Raises:
            LasthopError: a table or a column is missing.
        """
        stages, packets = (
            of_flow(columns_of(results, name, wanted), row["flow"])
            for name, wanted in (("stages", STAGES), ("packets", PACKETS))
        )
        return cls(stages, packets, row["src"], row["dst"])

    def losses(self) -> tuple[Ints, list[str]]:
        """When and where packets with data were lost, in order."""
        found = sorted(self._dropped[n] for n in self._data.number.tolist() if n in self._dropped)
        return np.array([at for at, _ in found], np.int64), [where for _, where in found]

    def stays(self, keys: Keys) -> Stays:
        """The places of outstanding octets."""
        return Stays.joined([self._in_packets(keys), self._at_receiver(keys), self._in_acks(keys), self._lost(keys)])

    def outstanding(self, key: int) -> Stays:
        """Octets from their sending on, while they are outstanding, with this number as place."""
        until = np.minimum(self._acked, self._gone)
        return Stays(self._data.at, until, np.full(len(until), key), self._data.octets)

    # Acknowledgements

    def _acknowledged(self) -> tuple[Ints, Ints]:
        """For each packet, its first ACK to leave, and the one that brings the news; -1: none.

        An ACK of a packet acknowledges its octets.

        That is the first to arrive; if none arrives until the end of the run, the first that is not
        lost.
        """
        upto = np.maximum.accumulate(self._acks.ack)
        first = _first_of(upto, self._data.end)
        order = np.argsort(self._ack_received, kind="stable")
        received = order[self._ack_received[order] < NEVER]
        by = _first_of(np.maximum.accumulate(self._acks.ack[received]), self._data.end)
        by = np.where(by >= 0, _at(received, by, -1), -1)
        alive = np.flatnonzero(~self._is_lost_ack & (self._ack_received == NEVER))
        later = _first_of(np.maximum.accumulate(self._acks.ack[alive]), self._data.end)
        return first, np.where(by >= 0, by, np.where(later >= 0, _at(alive, later, -1), -1))

    # Places

    def _in_packets(self, keys: Keys) -> Stays:
        until = np.minimum(self._over, self._acked)
        return self._ways.passages(keys, "data", self._data.number, self._data.at, until, self._data.octets)

    def _lost(self, keys: Keys) -> Stays:
        gone = self._received == NEVER
        since, until = self._over[gone], np.minimum(self._gone, self._acked)[gone]
        return Stays(since, until, np.full(len(since), keys.number(Cause(LOST))), self._data.octets[gone])

    def _at_receiver(self, keys: Keys) -> Stays:
        there = self._received < NEVER
        at, octets = self._received[there], self._data.octets[there]
        leaves = self._leaves()[there]
        whole = np.minimum(np.maximum(at, self._in_order()[there]), leaves)
        hole, delayed = (keys.number(Cause(name, self._dst)) for name in (HOLE, "delayed-ack"))
        return Stays.joined(
            [
                Stays(at, whole, np.full(len(at), hole), octets),
                Stays(whole, leaves, np.full(len(at), delayed), octets),
            ]
        )

    def _leaves(self) -> Ints:
        """When the first ACK of a packet leaves.

        If the packet arrives after that (a copy), when it arrives.
        """
        return np.maximum(_at(self._acks.at, self._first), np.minimum(self._received, self._acked))

    def _in_acks(self, keys: Keys) -> Stays:
        there = np.flatnonzero(self._received < NEVER)
        octets, leaves = self._data.octets[there], self._leaves()[there]
        first, by = self._first[there], self._by[there]
        carried = np.maximum(_at(self._acks.at, by), leaves)
        last = self._passages_of_acks(keys, by, carried, self._acked[there], octets)
        waits = (first >= 0) & (first != by)
        is_lost = waits & self._is_lost_ack[np.maximum(first, 0)] if len(self._acks.at) else waits
        overtaken = np.flatnonzero(waits & ~is_lost)
        ahead = self._passages_of_acks(keys, first[overtaken], leaves[overtaken], carried[overtaken], octets[overtaken])
        places = [self._dropped[n][1] for n in self._acks.number[first[is_lost]].tolist()]
        key = keys.numbers([Cause("ack-lost", place) for place in places])
        return Stays.joined([last, ahead, Stays(leaves[is_lost], carried[is_lost], key, octets[is_lost])])

    def _passages_of_acks(self, keys: Keys, acks: Ints, since: Ints, until: Ints, octets: Ints) -> Stays:
        some = acks >= 0
        numbers = self._acks.number[acks[some]]
        return self._ways.passages(keys, "ack", numbers, since[some], until[some], octets[some])

    def _in_order(self) -> Ints:
        """When each packet's octets, and all before them, had arrived."""
        begin = self._data.begin
        order = np.lexsort((self._received, begin))
        if not len(order):
            return begin
        starts = begin[order]
        new = np.append(True, starts[1:] != starts[:-1])
        found = np.empty(len(order), np.int64)
        found[order] = np.maximum.accumulate(self._received[order][new])[np.cumsum(new) - 1]
        return found

    def _sent_again(self, lost: NDArray[np.bool_]) -> Ints:
        """For each lost packet, when octets of it were sent next.

        For others, and those that never were: never.
        """
        found = np.full(len(lost), NEVER)
        begin, end = self._data.begin, self._data.end
        upto = np.maximum.accumulate(end) if len(end) else end
        again = np.flatnonzero(begin[1:] < upto[:-1]) + 1
        again = again[np.argsort(begin[again], kind="stable")]
        longest = int(self._data.octets.max(initial=0))
        lo = np.searchsorted(begin[again], begin - longest, side="right")
        hi = np.searchsorted(begin[again], end)
        for i in np.flatnonzero(lost).tolist():
            those = again[lo[i] : hi[i]]
            those = those[(those > i) & (end[those] > begin[i])]
            if len(those):
                found[i] = self._data.at[those.min()]
        return found


def _times(received: dict[int, int], numbers: Ints) -> Ints:
    return np.array([received.get(n, int(NEVER)) for n in numbers.tolist()], np.int64)


def _at(values: Ints, which: Ints, missing: int = int(NEVER)) -> Ints:
    """Elements by number; -1: missing."""
    if not len(values):
        return np.full(len(which), missing)
    return np.where(which >= 0, values[which], missing)


def _first_of(upto: Ints, wanted: Ints) -> Ints:
    """For each of the values the first element that reaches it; -1: none."""
    n = np.searchsorted(upto, wanted)
    return np.where(n < len(upto), n, -1)


@dataclass(frozen=True)
class Sent:
    """Packets as an end sent them, an array element for each."""

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

    @property
    def begin(self) -> Ints:
        """The first number of their data."""
        return self.end - self.octets

    @classmethod
    def of(cls, packets: pa.Table, src: str, dst: str) -> Sent:
        """Of rows of `packets`: data from `src`, acknowledgements from `dst`.

        Copies of nodes between are neither.
        """
        node = packets["node"].cast(pa.string())
        from_src, from_dst = (
            pc.equal(node, end).combine_chunks().to_numpy(zero_copy_only=False).astype(bool) for end in (src, dst)
        )
        flags = np.array([str(f or "") for f in packets["flags"].to_pylist()], str)
        if not len(flags):
            flags = np.zeros(0, "U1")
        octets = column(packets, "len").astype(np.int64) + np.char.count(flags, "S") + np.char.count(flags, "F")
        end = column(packets, "seq", 0).astype(np.int64) + octets
        ack = packets["ack"].cast(pa.int64())
        return cls(
            column(packets, "packet").astype(np.int64),
            nanoseconds(column(packets, "time_s")),
            end,
            octets,
            pc.fill_null(ack, -1).combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64),
            from_src & (octets > 0),
            from_dst & pc.is_valid(ack).combine_chunks().to_numpy(zero_copy_only=False).astype(bool),
        )

    def those(self, which: NDArray[np.bool_]) -> Sent:
        """Only these."""
        return Sent(
            self.number[which], self.at[which], self.end[which], self.octets[which], self.ack[which],
            self.is_data[which], self.is_ack[which],
        )  # fmt: skip
