"""The time of a TCP sender, divided among causes, estimated from samples.

The samples are those of the table `tcp` and those of queues.

A sample represents the time since the one before it. It has the number of outstanding octets, and
how many of them have arrived (`bytes_arrived`): these are at the receiver or in acknowledgements,
the others in packets. Of the octets that have arrived and are in no queue, those beyond the
capacity of the way back at the flow's rate are held by the receiver; or their ACK was lost, if
`drops` has one since the sender's last advance.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lasthop.explain._exact import AFTER_LOSS
from lasthop.explain._model import HELD, KEPT_BACK, Cause
from lasthop.explain._samples import Waiting
from lasthop.explain._settings import octets_of, tcp_setting
from lasthop.explain._sharers import MTU
from lasthop.explain._tables import Happening, column, columns_of, nanoseconds, of_flow, scenario_of

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop.explain._share import Ints

#: Round trips longer than the smallest by more than this share of it have waited.
WAITING = 0.1
#: What is read of a sample of a sender.
SAMPLE = (
    *("time_s", "flow", "ca_state", "snd_cwnd", "rtt_us", "min_rtt_us", "rto_us", "unacked", "sacked", "total_retrans"),
    *("bytes_arrived", "snd_una", "snd_nxt", "rwnd_bytes", "notsent_bytes", "pacing_rate_bps"),
)
#: A dropped packet of the flow is an acknowledgement up to this size: headers and their options
#: [B].
ACK_SIZE = 80
#: The rate of a flow at a sample is that of so many samples before and after it.
AROUND = 5
#: Silence before a timeout that no loss explains: the octets were late.
LATE = "timeout|queues"


class Sender:
    """A sender's samples."""

    def __init__(self, results: Results, row: dict[str, Any], samples: pa.Table, events: list[Happening]) -> None:
        self._rows = samples.to_pylist()
        self._at = nanoseconds(column(samples, "time_s"))
        self.opened = min([e.at_ns for e in events if e.kind == "established"] or [int(self._at[0])])
        self.waiting = Waiting(results, row)
        setting = partial(tcp_setting, scenario_of(results), str(row["flow"]))
        segments = [(r["snd_nxt"] - r["snd_una"]) / r["unacked"] for r in self._rows if r["unacked"]]
        self._segment = max([*segments, 1.0])
        self._mss = octets_of(setting("mss")) or self._segment
        self._nagle = setting("nagle") == "true"
        self._send_buffer = octets_of(setting("send_buffer"))
        self._every = int(setting("ack_every") or 2)
        self._dst = str(row["dst"])
        self._silences = _silences(events, self._rows, self._at)
        self._way_back_s = float(row.get("delay_min_s") or 0.0)
        self._arrived = [self._unacknowledged(r) for r in self._rows]
        self._rates = self._arrival_rates()
        self._advanced = self._advances()
        self._lost = _losses(results, str(row["flow"]), self.waiting)
        self._lost_at = {way: np.array([at for at, _ in lost], np.int64) for way, lost in self._lost.items()}

    @property
    def cuts(self) -> list[int]:
        """Moments at which something may change."""
        outages = [t for _, a, b in self.waiting.interruptions for t in (a, b)]
        return [*self._at.tolist(), *outages, *(t for pair in self._silences for t in pair)]

    def shares(self, a: int, b: int) -> dict[Cause, int]:
        """The causes among which the time between two moments is divided, by weight.

        There is no cut between the two moments.
        """
        if a < self.opened:
            return {Cause("handshake"): 1}
        # A sample says what was so just before it.
        i = min(int(np.searchsorted(self._at, b)), len(self._rows) - 1)
        r = self._rows[i]
        silent = any(x <= a < y for x, y in self._silences)
        name = "timeout" if silent else self._limit(r)
        outstanding = r["snd_nxt"] - r["snd_una"]
        limit = self._after_loss(name, b if silent else a)
        if name == "application" or outstanding <= 0:
            return {limit: 1}
        busy, held, presence = self._places(i, b)
        rest = outstanding - sum(held.values())
        if busy:
            # The moment is that of the places, as far as the flow has packets there.
            most = presence * rest / sum(busy.values())
            busy, rest = {cause: most * octets for cause, octets in busy.items()}, (1 - presence) * rest
        weights = {cause: round(octets) for cause, octets in {**busy, **held, limit: rest}.items() if octets >= 1}
        return weights or {limit: 1}

    def _after_loss(self, name: str, moment: int) -> Cause:
        """A limit, with the place of the loss that it follows from."""
        if name not in AFTER_LOSS:
            return Cause(name)
        n = int(np.searchsorted(self._lost_at["data"], moment, side="right")) - 1
        place = self._lost["data"][n][1] if n >= 0 else ""
        return Cause(LATE if name == "timeout" and not place else name, place)

    def _limit(self, r: dict[str, Any]) -> str:
        """What a sample says that its sender waits for."""
        outstanding = r["snd_nxt"] - r["snd_una"]
        segment = max(outstanding / r["unacked"], 1.0) if r["unacked"] else self._segment
        if r["ca_state"] in ("recovery", "loss") and r["unacked"]:
            return "recovery"
        if not r["notsent_bytes"]:
            if self._send_buffer is not None and outstanding > self._send_buffer - self._mss:
                return "send-buffer"
            return "acknowledgement" if r["unacked"] else "application"
        full = [
            name
            for name, is_full in (
                ("receive-window", outstanding + segment > r["rwnd_bytes"]),
                ("congestion-window", r["unacked"] + 1 > r["snd_cwnd"]),
            )
            if is_full
        ]
        if full:
            return "|".join(full)
        if r["notsent_bytes"] < self._mss and r["unacked"] and self._nagle:
            return "small-segment"
        return "pacing" if r["pacing_rate_bps"] is not None else "congestion-window"

    def _places(self, i: int, moment: int) -> tuple[dict[Cause, float], dict[Cause, float], float]:
        """Octets that wait where the way is in use or blocked, and those held back.

        And a probability.

        It is that of the flow having packets where something waits: 1 if all there is its own. Of
        one flow among many a bunch of packets passes the queue, and is in it for the queue's share
        of its way.
        """
        r = self._rows[i]
        outstanding = r["snd_nxt"] - r["snd_una"]
        arrived = self._arrived[i]
        # An acknowledgement stands for the octets that it acknowledges.
        each = self._every * self._segment
        stock = self.waiting.at(moment, (outstanding - arrived) / MTU, arrived / each)
        ue = self.waiting.interrupted(moment - 1)
        data = _within(stock.data, outstanding - arrived)
        if ue is not None and not data and outstanding > arrived:
            data = {Cause("interruption", ue, "data"): outstanding - arrived}
        acks = _within({cause: packets * each for cause, packets in stock.acks.items()}, arrived)
        both = {**data, **acks}
        held = {cause: octets for cause, octets in both.items() if set(cause.names) & set(HELD)}
        busy = {cause: octets for cause, octets in both.items() if cause not in held}
        if not both and self.waiting.missing and _has_waited(r):
            busy = {Cause("queues"): outstanding * (1 - r["min_rtt_us"] / r["rtt_us"])}
        rest = arrived - sum(acks.values())
        held.update(self._at_receiver(i, rest) if rest > 0 else {})
        # All its round trips may have waited: no path is shorter than twice the smallest delay of
        # data.
        least = min((r["min_rtt_us"] or r["rtt_us"]) / 1e6, 2 * self._way_back_s)
        waits = max(r["rtt_us"] / 1e6 - least, 0.0)
        passing = waits / (waits + self._way_back_s) if waits > 0 else 0.0
        return busy, held, stock.least + (1 - stock.least) * passing

    def _at_receiver(self, i: int, octets: float) -> dict[Cause, float]:
        """Of octets that have arrived, those whose ACK was lost or is held back.

        The others are on the way back.
        """
        since, until = self._advanced[i]
        n = int(np.searchsorted(self._lost_at["ack"], self._at[i], side="right")) - 1
        lost_at, place = self._lost["ack"][n] if n >= 0 else (-1, "")
        if lost_at >= until:
            return {Cause("ack-lost", place): octets}
        # What is there by chance at one moment is no delay: the mean of the samples around it
        # counts.
        mean = float(np.mean(self._arrived[max(i - AROUND, 0) : i + AROUND + 1]))
        late = min(octets, mean - self._rates[i] * self._way_back_s)
        if late > 0 and lost_at >= since:
            # A loss between two samples: whether the acknowledgement that came was a later one is
            # not known.
            return {Cause("ack-lost|delayed-ack" if self._every > 1 else "ack-lost", place): late}
        if self._every > 1 and late > 0:
            return {Cause("delayed-ack", self._dst): min(late, self._every * self._segment)}
        return {}

    def _unacknowledged(self, r: dict[str, Any]) -> float:
        """Octets that have arrived in order and whose acknowledgement has not."""
        # The SYN has a number of its own, which `bytes_arrived` does not count.
        octets = r["bytes_arrived"] + 1 - r["snd_una"] - r["sacked"] * self._segment
        return float(min(max(octets, 0.0), r["snd_nxt"] - r["snd_una"]))

    def _arrival_rates(self) -> list[float]:
        """The rate at which octets arrive, at each sample [B/s]."""
        n, at, arrived = len(self._rows), self._at, [r["bytes_arrived"] for r in self._rows]
        found = []
        for i in range(n):
            a, b = max(i - AROUND, 0), min(i + AROUND, n - 1)
            found.append((arrived[b] - arrived[a]) / max((int(at[b]) - int(at[a])) / 1e9, 1e-9))
        return found

    def _advances(self) -> list[tuple[int, int]]:
        """For each sample the two between which more was acknowledged last [ns]."""
        found: list[tuple[int, int]] = []
        for i, r in enumerate(self._rows):
            same = i > 0 and r["snd_una"] == self._rows[i - 1]["snd_una"]
            found.append(found[-1] if same else (int(self._at[max(i - 1, 0)]), int(self._at[i])))
        return found


def _within(weights: dict[Cause, float], most: float) -> dict[Cause, float]:
    """Octets by place, no more than `most` in all: others share the queues."""
    total = sum(weights.values())
    scale = min(1.0, most / total) if total > 0 else 0.0
    return {cause: octets * scale for cause, octets in weights.items() if octets * scale > 0}


def _has_waited(sample: dict[str, Any]) -> bool:
    least = sample["min_rtt_us"]
    return least is not None and sample["rtt_us"] > (1 + WAITING) * least


#: What of a sample changes when its sender sends or receives.
MOVES = ("snd_una", "snd_nxt", "unacked", "sacked", "total_retrans", "bytes_arrived")


def _silences(events: list[Happening], rows: list[dict[str, Any]], at: Ints) -> list[tuple[int, int]]:
    """Times in which nothing was sent or received, each until the retransmission timer expired."""
    found: list[tuple[int, int]] = []
    for event in events:
        if event.kind != "rto" or event.detail != "sender":
            continue
        t = event.at_ns
        i = max(int(np.searchsorted(at, t)) - 1, 0)
        since = max(t - round(rows[i]["rto_us"] * 1e3), found[-1][1] if found else 0)
        k = i
        while k > 0 and at[k - 1] >= since and all(rows[k][name] == rows[i][name] for name in MOVES[:-1]):
            k -= 1
        moved = any(rows[k][name] != rows[i][name] for name in MOVES[:-1])
        since = max(since, int(at[k])) if moved else since
        if since < t:
            found.append((since, t))
    return found


def _losses(results: Results, flow: str, waiting: Waiting) -> dict[str, list[tuple[int, str]]]:
    """When and where data and acknowledgements of the flow were lost."""
    found: dict[str, list[tuple[int, str]]] = {"data": [], "ack": []}
    if "drops" not in results.table_names:
        return found
    drops = of_flow(columns_of(results, "drops", ("time_s", "flow", "where", "cause", "size")), flow)
    at = nanoseconds(column(drops, "time_s")).tolist()
    for t, r in zip(at, drops.to_pylist(), strict=True):
        if r["cause"] not in KEPT_BACK:
            way = waiting.way_of(r["where"]) or ("ack" if r["size"] <= ACK_SIZE else "data")
            found[way].append((t, r["where"]))
    return found
