"""The budget of a flow from the tables `stages`, `limits` and `packets`: exact to the nanosecond.

For a TCP flow there is one limit at each moment: what its sender was waiting for. If this is the
application or the handshake, the moment belongs to it. In all other cases octets are outstanding,
and the rule is:

1. While outstanding octets wait where the way is in use or blocked (a queue, a grant, the channel),
   the moment is divided among the places where octets wait, by octets: a larger window would only
   have made more of them wait there.
2. Else each octet counts alike. Octets that are held back (a retransmission below IP, a delayed
   ACK, an ACK that was lost) have their share of the moment. The rest belongs to the sender's
   limit: with a larger window, or an earlier repair of a loss, more octets would have been in
   flight. If everything is sent, the rest belongs to the places that the octets pass.

An octet is outstanding from its sending until an acknowledgement of it reaches the sender;
`_packets` determines its place. The share of octets without a place is `unaccounted`: the tables do
not fit each other, or a stage is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop._errors import mistake
from lasthop.explain._keys import Keys, largest_first, timeline_of
from lasthop.explain._losses import losses_of
from lasthop.explain._model import BUSY, HELD, LOST, TRANSIT, UNACCOUNTED, Budget, Cause
from lasthop.explain._packets import Packets
from lasthop.explain._share import Ints, Stays, divide, sweep
from lasthop.explain._tables import Names, column, columns_of, nanoseconds, of_flow
from lasthop.explain._ways import Ways, arrivals

if TYPE_CHECKING:
    from collections.abc import Callable

    from lasthop._results import Results

#: Moments of these limits belong to them whatever is on its way.
OWN = ("handshake", "application", "nothing")
#: Limits that follow from a loss: they carry the place of the last one.
AFTER_LOSS = ("recovery", "timeout", "congestion-window")
#: Intervals of the timeline.
BINS = 240
#: Limits during which octets are outstanding, always.
OUTSTANDING = ("send-buffer", "congestion-window", "acknowledgement", "recovery")


def exact_budget(
    results: Results,
    row: dict[str, Any],
    start_ns: int | None,
    end_ns: int | None,
    intervals: int = BINS,
    progress: Callable[[float], None] | None = None,
) -> Budget:
    """The budget of the flow of a row of `flows` between two moments.

    None: from its start, to its end.

    `intervals` is the number of intervals of its timeline. For a TCP flow `progress` is called with
    the part of the work that is done.

    Raises:
        LasthopError: a table is missing or of another version, nothing of the flow is in the
            interval.
    """
    columns_of(results, "flows", ("end_s",))
    if row["transport"] == "tcp":
        return _tcp_budget(results, row, start_ns, end_ns, intervals, progress or (lambda _: None))
    return _datagram_budget(results, row, start_ns, end_ns, intervals)


# TCP


#: Parts of the work after which the packets are read and the moments are known, as measured.
READ, PLACED = 0.5, 0.65


def _tcp_budget(
    results: Results,
    row: dict[str, Any],
    start_ns: int | None,
    end_ns: int | None,
    intervals: int,
    progress: Callable[[float], None],
) -> Budget:
    flow = row["flow"]
    limits = of_flow(columns_of(results, "limits", ("flow", "start_ns", "cause")), flow)
    first, last = _extent(limits, row)
    start, end = clip(flow, first, last, start_ns, end_ns)
    packets = Packets.of(results, row)
    progress(READ)
    keys = Keys()
    # The first number: the octets that have to be somewhere.
    stays = Stays.joined([packets.outstanding(keys.number(Cause("outstanding"))), packets.stays(keys)])
    stays = stays.within(start, end)
    limit_at = column(limits, "start_ns").astype(np.int64)
    names = Names.of(limits, "cause")
    places = len(keys.causes)
    limit_key = _limit_keys(keys, names, limit_at, packets)
    edges = np.unique(np.linspace(start, end, intervals + 1).astype(np.int64))
    ends = [stays.start, stays.end, limit_at[(limit_at > start) & (limit_at < end)], edges]
    moments = _ascending(np.concatenate(ends))
    progress(PLACED)
    account = _Account(keys, places, names, limit_at, limit_key, moments, edges)

    def take(first: int, weights: Ints) -> None:
        account.take(first, weights)
        progress(PLACED + (1 - PLACED) * (first + weights.shape[1]) / (len(moments) - 1))

    sweep(stays, places, moments, take)
    parts = largest_first(keys, account.total)
    timeline = timeline_of(keys, parts, edges, account.bins)
    losses = losses_of(results, row, start, end)
    notes = doubts(account.missing, account.doubled)
    return Budget(flow, "tcp", start, end, end - start, parts, None, True, losses, timeline, notes)


def _ascending(values: Ints) -> Ints:
    """Different values in ascending order.

    Of millions `numpy.unique` takes many times as long, since it fills a hash table first.
    """
    found = np.sort(values)
    kept = np.append(True, found[1:] != found[:-1])
    different: Ints = found[kept[: len(found)]]
    return different


def doubts(missing: int, doubled: int) -> list[str]:
    """The notes of a budget on tables that do not fit each other."""
    contradictions = []
    if missing:
        contradictions.append(f"in {missing / 1e9:g} s octets that were sent have no place")
    if doubled:
        contradictions.append(f"in {doubled / 1e9:g} s octets have two places at once")
    if not contradictions:
        return []
    what = f"The tables of the run do not fit each other: {', and '.join(contradictions)}."
    return [f"{what} Either they were changed, or Lasthop has a fault: please report it with the scenario."]


@dataclass
class _Account:
    """What has been given to each cause."""

    keys: Keys
    #: Causes that are places of octets; the first is that of all outstanding ones.
    places: int
    names: Names
    limit_at: Ints
    limit_key: Ints
    moments: Ints
    edges: Ints
    #: Time in which outstanding octets had no place, and in which they had several [ns].
    missing: int = 0
    doubled: int = 0

    def __post_init__(self) -> None:
        self._unaccounted = self.keys.number(Cause(UNACCOUNTED))
        self.total = np.zeros(len(self.keys.causes), np.int64)
        self.bins = np.zeros((len(self.keys.causes), len(self.edges) - 1), np.int64)
        self._is_busy, self._is_held, self._is_transit, self._is_lost = (
            self.keys.among(names)[: self.places] for names in (BUSY, HELD, TRANSIT, (LOST,))
        )

    def _all_lost(self, weights: Ints) -> NDArray[np.bool_]:
        """All outstanding octets are lost: no ACK will come, only the timer helps.

        The table `limits` says so once the timer has expired; at the end of the run it may not
        have.
        """
        lost = np.where(self._is_lost, weights, 0).sum(axis=0)
        all_of_them: NDArray[np.bool_] = (lost > 0) & (lost == weights.sum(axis=0))
        return all_of_them

    def take(self, first: int, weights: Ints) -> None:
        """Divides the intervals from `first` on."""
        count = weights.shape[1]
        moments = self.moments[first : first + count + 1]
        length = np.diff(moments)
        limit = np.maximum(np.searchsorted(self.limit_at, moments[:-1], side="right") - 1, 0)
        name = np.array(self.names.names)[self.names.codes[limit]]
        own = np.isin(name, OWN)
        outstanding, weights = weights[0], np.where(np.arange(len(weights))[:, None] > 0, weights, 0)
        missing = np.where(own, 0, outstanding - weights.sum(axis=0))
        self.doubled += int(length[missing < 0].sum())
        missing = np.maximum(missing, (outstanding == 0) & np.isin(name, OUTSTANDING))
        self.missing += int(length[missing > 0].sum())
        is_busy = ~own & (np.where(self._is_busy, weights, 0).sum(axis=0) > 0)
        sharing = (is_busy & self._is_busy) | (~own & self._is_held)
        sharing |= ~own & ~is_busy & (name == "acknowledgement") & self._is_transit
        shares = np.where(sharing, weights, 0)
        rest = np.where(own | is_busy, 0, (weights - shares).sum(axis=0))
        # A moment that nothing else shares is the limit's.
        rest = np.where((shares.sum(axis=0) == 0) & (rest == 0) & (missing == 0), 1, rest)
        parts = divide(length, np.vstack([shares, missing, rest]))
        limit = np.where((limit == len(self.limit_at) - 1) & ~own & self._all_lost(weights), -1, limit)
        bin_of = np.searchsorted(self.edges, moments[:-1], side="right") - 1
        self.total[: self.places] += parts[:-2].sum(axis=1)
        for k in np.flatnonzero(parts[:-2].any(axis=1)):
            np.add.at(self.bins[k], bin_of, parts[k])
        unaccounted = np.full(count, self._unaccounted)
        for key, part in ((unaccounted, parts[-2]), (self.limit_key[limit], parts[-1])):
            np.add.at(self.total, key, part)
            np.add.at(self.bins, (key, bin_of), part)


def _limit_keys(keys: Keys, names: Names, limit_at: Ints, packets: Packets) -> Ints:
    """The number of the cause of each row of `limits`.

    What follows from a loss has the place of the last one.

    One more for the silence before a timer that has not expired.
    """
    lost_at, lost_where = packets.losses()
    # The loss that a timeout follows comes during the silence: the last segment is lost on its way.
    over = np.append(limit_at[1:], np.iinfo(np.int64).max)
    silent = np.array([name == "timeout" for name in names.names], bool)[names.codes]
    last = np.searchsorted(lost_at, np.where(silent, over, limit_at), side="right") - 1
    found = []
    for code, n in zip(names.codes, last, strict=True):
        name = names.names[code]
        place = lost_where[n] if n >= 0 and name in AFTER_LOSS else ""
        found.append(keys.number(Cause(name, place)))
    # The last one: silence until the end of the run.
    found.append(keys.number(Cause("timeout", lost_where[-1] if lost_where else "")))
    return np.array(found, np.int64)


def _extent(limits: pa.Table, row: dict[str, Any]) -> tuple[int, int]:
    """From the opening of the connection to the end of the transfer, or of the run."""
    if not limits.num_rows:
        raise mistake(
            f"flow '{row['flow']}' has no row in the table `limits`", "it never started: see `start` and `autostart`"
        )
    if row.get("end_s") is None:
        raise mistake(f"flow '{row['flow']}' has no `end_s` in the table `flows`", "run the scenario again")
    first = int(limits["start_ns"][0].as_py())
    end = round(row["end_s"] * 1e9)
    if limits["cause"][-1].as_py() == "nothing":
        end = int(limits["start_ns"][-1].as_py())
    return first, max(end, first)


def clip(flow: str, first: int, last: int, start_ns: int | None, end_ns: int | None) -> tuple[int, int]:
    """The requested part of a flow's time.

    Raises:
        LasthopError: there is none.
    """
    if start_ns is not None and end_ns is not None and start_ns >= end_ns:
        raise mistake(
            f"the interval for flow '{flow}' is empty: it begins at {start_ns / 1e9:g} s, ends at {end_ns / 1e9:g} s",
            "choose `--from` before `--to`",
        )
    start = first if start_ns is None else max(first, start_ns)
    end = last if end_ns is None else min(last, end_ns)
    if start >= end:
        raise mistake(
            f"nothing of flow '{flow}' is in this interval: it lasts from {first / 1e9:g} s to {last / 1e9:g} s",
            "choose `--from` and `--to` within that",
        )
    return start, end


# Datagrams


def _datagram_budget(
    results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None, intervals: int
) -> Budget:
    flow = row["flow"]
    wanted = ("packet", "part", "flow", "stage", "where", "start_ns", "end_ns")
    stages = of_flow(columns_of(results, "stages", wanted), flow)
    packets = of_flow(columns_of(results, "packets", ("time_s", "packet", "flow", "node", "event")), flow)
    sent = packets.filter(pc.equal(packets["event"], "sent"))
    if not sent.num_rows:
        raise mistake(f"flow '{flow}' has sent no packet: there is nothing to explain")
    mine = sent.filter(pc.equal(sent["node"].cast(pa.string()), row["src"]))
    sent_at = dict(
        zip(column(mine, "packet").tolist(), nanoseconds(column(mine, "time_s")).tolist(), strict=True),
    )
    received = arrivals(packets)
    first = int(nanoseconds(column(sent, "time_s"))[0])
    start, end = clip(flow, first, max(round(row["end_s"] * 1e9), first + 1), start_ns, end_ns)
    chosen = sorted(n for n in sent_at if n in received and start <= received[n] <= end)
    number = np.array(chosen, np.int64)
    since, until = (np.array([times[n] for n in chosen], np.int64) for times in (sent_at, received))
    keys = Keys()
    unaccounted = keys.number(Cause(UNACCOUNTED))
    # As the weights of intervals: which packet they belong to.
    stays = Ways.of(stages, packets).passages(keys, "data", number, since, until, np.arange(len(number)))
    length = np.maximum(stays.end - stays.start, 0)
    covered = np.zeros(len(number), np.int64)
    np.add.at(covered, stays.weight, length)
    gaps = until - since - covered
    total = np.zeros(len(keys.causes), np.int64)
    np.add.at(total, stays.key, length)
    total[unaccounted] = gaps.sum()
    edges = np.unique(np.linspace(start, end, intervals + 1).astype(np.int64))
    bin_of = np.minimum(np.searchsorted(edges, until, side="right") - 1, len(edges) - 2)
    bins = np.zeros((len(keys.causes), len(edges) - 1), np.int64)
    np.add.at(bins, (stays.key, bin_of[stays.weight]), length)
    np.add.at(bins[unaccounted], bin_of, gaps)
    parts = largest_first(keys, total)
    losses = losses_of(results, row, start, end)
    return Budget(
        flow, row["transport"], start, end, int((until - since).sum()), parts, len(number), True, losses,
        timeline_of(keys, parts, edges, bins), doubts(int(np.maximum(gaps, 0).sum()), int(np.maximum(-gaps, 0).sum())),
    )  # fmt: skip
