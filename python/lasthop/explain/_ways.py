"""The ways of packets from the table `stages`: for each packet the one way that counts.

A packet may be cut into fragments and copied on its way. The way of the packet is then that of the
fragment that completes it, or of the copy that arrives first, and before that the way of the packet
from which this was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.explain._model import LOST, Cause
from lasthop.explain._share import Ints, Stays
from lasthop.explain._tables import Names, column, nanoseconds

if TYPE_CHECKING:
    from lasthop.explain._keys import Keys

#: A row of a life: since when, until when, which stage and place.
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Ways:
    """Intervals, in order of packets and of time."""

    number: Ints
    start: Ints
    end: Ints
    #: An index into `pairs`.
    pair: Ints
    #: Stages with their places.
    pairs: list[tuple[str, str]]

    @classmethod
    def of(cls, stages: pa.Table, packets: pa.Table) -> Ways:
        """The ways of all packets of a flow, from its rows of the tables `stages` and `packets`."""
        received, dropped = times_of(packets, "received"), times_of(packets, "dropped")
        number, part = (column(stages, name).astype(np.int64) for name in ("packet", "part"))
        start, end = (column(stages, name).astype(np.int64) for name in ("start_ns", "end_ns"))
        stage, place = Names.of(stages, "stage"), Names.of(stages, "where")
        distinct, pair = np.unique(stage.codes * (len(place.names) + 1) + place.codes, return_inverse=True)
        pairs = [
            (stage.names[p // (len(place.names) + 1)], place.names[p % (len(place.names) + 1)])
            for p in distinct.tolist()
        ]
        split = np.unique(number[part > 0])
        whole = ~np.isin(number, split)
        columns = [x[whole] for x in (number, start, end, pair)]
        if len(split):
            pairs.append((LOST, ""))
            lives: dict[int, dict[int, list[Row]]] = {}
            rest = (x[~whole].tolist() for x in (number, part, start, end, pair))
            for n, k, a, b, p in zip(*rest, strict=True):
                lives.setdefault(n, {}).setdefault(k, []).append((a, b, p))
            found = [
                (n, *row)
                for n, parts in lives.items()
                for row in _life(parts, received.get(n), dropped.get(n, []), len(pairs) - 1)
            ]
            columns = [np.append(x, y) for x, y in zip(columns, np.array(found, np.int64).T, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        number, start, end, pair = (x[order].astype(np.int64) for x in columns)
        return cls(number, start, end, pair, pairs)

    def over(self, numbers: Ints, before: Ints) -> Ints:
        """The end of each packet's way; of a packet without one, its element of `before`."""
        last = np.searchsorted(self.number, numbers, side="right") - 1
        some = last >= np.searchsorted(self.number, numbers)
        return np.where(some, self.end[np.where(some, last, 0)] if len(self.end) else 0, before)

    def passages(self, keys: Keys, way: str, numbers: Ints, since: Ints, until: Ints, weights: Ints) -> Stays:
        """Weights that go with packets.

        Args:
            keys: gets the causes.
            way: of these causes.
            numbers: a packet for each weight.
            since: from when on the weight is in its packet [ns].
            until: until when [ns].
            weights: not negative.
        """
        lo, hi = (np.searchsorted(self.number, numbers, side=side) for side in ("left", "right"))
        count = hi - lo
        which = np.repeat(np.arange(len(numbers)), count)
        row = np.arange(len(which)) + np.repeat(lo - np.cumsum(count) + count, count)
        pair = self.pair[row]
        used = np.unique(pair)
        key = np.zeros(len(self.pairs), np.int64)
        for p in used.tolist():
            name, place = self.pairs[p]
            key[p] = keys.number(Cause(name, place, "" if name == LOST else way))
        start, end = np.maximum(self.start[row], since[which]), np.minimum(self.end[row], until[which])
        return Stays(start, end, key[pair], weights[which])


def _life(parts: dict[int, list[Row]], received: list[int] | None, dropped: list[int], lost: int) -> list[Row]:
    """The rows that count of a packet in parts, backwards from the one that arrived.

    Between the loss of one part and the making of the next, it was lost. A packet that never
    arrives is lost with the first of its fragments, but with the last of its copies.
    """
    for rows in parts.values():
        rows.sort()
    ends = {k: rows[-1][1] for k, rows in parts.items()}
    over = received[0] if received else max(ends.values())
    is_cut = any(rows[0][0] == ends.get(0) for k, rows in parts.items() if k)
    if not received and dropped and is_cut:
        over = min(dropped)
    now = min((k for k, end in ends.items() if end == over), default=max(ends, key=lambda k: (ends[k], -k)))
    found = [(a, min(b, over), p) for a, b, p in parts[now] if a < over]
    seen = {now}
    while now:
        begin = found[0][0] if found else over
        earlier = {k: rows for k, rows in parts.items() if k not in seen and rows[0][0] < begin}
        if not earlier:
            break
        # It was cut at that moment; or copied while it went on; or lost before.
        now = min(earlier, key=lambda k: (ends[k] != begin, ends[k] < begin, abs(ends[k] - begin), k))
        seen.add(now)
        if ends[now] < begin:
            found.insert(0, (ends[now], begin, lost))
        found = [(a, min(b, begin), p) for a, b, p in earlier[now] if a < begin] + found
    return found


def times_of(packets: pa.Table, event: str) -> dict[int, list[int]]:
    """When something happened to each packet [ns], by number."""
    those = packets.filter(pc.equal(packets["event"], event))
    found: dict[int, list[int]] = {}
    for number, at in zip(column(those, "packet").tolist(), nanoseconds(column(those, "time_s")).tolist(), strict=True):
        found.setdefault(number, []).append(at)
    return found


def arrivals(packets: pa.Table) -> dict[int, int]:
    """When each packet was received first [ns], by number."""
    return {number: times[0] for number, times in times_of(packets, "received").items()}
