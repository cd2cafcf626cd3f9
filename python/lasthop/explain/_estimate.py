"""The budget of a flow of a run that was made without `output.explain`: estimated from samples.

Between two samples of the table `tcp` a sender is taken to be limited as the first one says. While its round trips are
longer than the smallest by a tenth or more, octets wait: the time is divided among the queues that hold something then
(tables `queues`, `rlc` and `wifi`), by their octets. Silence before a timeout has the length of the timeout in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.explain._exact import AFTER_LOSS, BINS, clip
from lasthop.explain._keys import Keys, largest_first, timeline_of
from lasthop.explain._losses import losses_of
from lasthop.explain._model import Budget, Cause
from lasthop.explain._route import Route
from lasthop.explain._share import Ints, divide
from lasthop.explain._tables import (
    RECORD,
    Happening,
    column,
    columns_of,
    happenings,
    nanoseconds,
    of_flow,
    scenario_of,
)

if TYPE_CHECKING:
    from lasthop._results import Results

#: Round trips longer than the smallest by more than this share of it have waited.
WAITING = 0.1
#: Octets of a full packet.
MTU = 1500
#: What is read of a sample of a sender.
SAMPLE = (
    *("time_s", "flow", "ca_state", "snd_cwnd", "rtt_us", "min_rtt_us", "rto_us", "unacked"),
    *("snd_una", "snd_nxt", "rwnd_bytes", "notsent_bytes", "pacing_rate_bps"),
)
#: Tables of samples with octets that wait: the columns of the place, of its direction and of the octets, and the stage.
QUEUES = (
    ("queues", "queue", None, "bytes", "queue"),
    ("rlc", "bearer", "direction", "queue_bytes", "rlc-queue"),
    ("wifi", "station", "direction", "queue_bytes", "wifi-queue"),
)


def estimated_budget(results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None) -> Budget:
    """The budget of the flow of a row of `flows` between two moments; None: from its start, to its end.

    Raises:
        LasthopError: the flow never started, or nothing of it was recorded from which to estimate.
    """
    if row.get("start_s", 0.0) is None:
        raise mistake(f"flow '{row['flow']}' never started", "see its keys `start` and `autostart`")
    first, last = round(row.get("start_s", 0.0) * 1e9), _end_ns(results, row)
    if row["transport"] != "tcp":
        return _estimate_datagrams(results, row, clip(row["flow"], first, last, start_ns, end_ns))
    return _estimate_tcp(results, row, first, last, start_ns, end_ns)


def _end_ns(results: Results, row: dict[str, Any]) -> int:
    """The end of the run; in tables without it, the last moment of any sample."""
    if "end_s" in row:
        return round(float(row["end_s"]) * 1e9)
    tables = [results.table(name) for name in ("tcp", "events") if name in results.table_names]
    return max((round(float(pc.max(table["time_s"]).as_py()) * 1e9) for table in tables if table.num_rows), default=0)


def _estimate_tcp(
    results: Results, row: dict[str, Any], first: int, last: int, start_ns: int | None, end_ns: int | None
) -> Budget:
    flow = row["flow"]
    if "tcp" not in results.table_names:
        raise mistake(
            "the run has neither the table `limits` nor the table `tcp`: nothing says what its senders waited for",
            RECORD,
        )
    samples = of_flow(columns_of(results, "tcp", SAMPLE), flow)
    if not samples.num_rows:
        raise mistake(f"the table `tcp` has no sample of flow '{flow}'", RECORD)
    events = happenings(results, f"flow/{flow}")
    closed = [e.at_ns for e in events if e.kind in ("closed", "aborted", "timed-out", "reset")]
    start, end = clip(flow, first, min([last, *closed]), start_ns, end_ns)
    rows = samples.to_pylist()
    at = nanoseconds(column(samples, "time_s"))
    opened = min([e.at_ns for e in events if e.kind == "established"] or [int(at[0])])
    silences = _silences(events, rows, at)
    edges = np.unique(np.linspace(start, end, BINS + 1).astype(np.int64))
    cuts = [[start, end, opened], [t for pair in silences for t in pair], at.tolist(), edges.tolist()]
    moments = np.unique(np.array([t for some in cuts for t in some if start <= t <= end], np.int64))
    keys = Keys()
    causes = [_limit(r) for r in rows]
    losses = losses_of(results, flow, start, end)
    waiting = _Waiting(results, row)
    lost_at = np.array([x.at_ns for x in losses], np.int64)
    shares: list[tuple[int, int, dict[Cause, int]]] = []
    for a, b in zip(moments[:-1].tolist(), moments[1:].tolist(), strict=True):
        # A sample says what was so just before it.
        i = min(int(np.searchsorted(at, b)), len(rows) - 1)
        if a < opened:
            shares.append((a, b, {Cause("handshake"): 1}))
            continue
        name = "timeout" if any(x <= a < y for x, y in silences) else causes[i]
        n = int(np.searchsorted(lost_at, a, side="right")) - 1
        own = Cause(name, losses[n].place if n >= 0 and name in AFTER_LOSS else "")
        held = waiting.at(b) if name != "application" and _waits(rows[i]) else {}
        shares.append((a, b, held or {own: 1}))
    total, bins = _divided(keys, shares, edges)
    parts = largest_first(keys, total)
    notes = [
        (
            "Estimated from samples: what limits the sender by the table `tcp`, where octets wait by "
            f"{waiting.sources or 'nothing, no queue was sampled'}{waiting.extent}. Parts below an interval between "
            f"samples are not seen; for an exact budget {RECORD}."
        )
    ]
    return Budget(
        flow, "tcp", start, end, end - start, parts, None, False, losses, timeline_of(keys, parts, edges, bins), notes
    )


def _divided(keys: Keys, shares: list[tuple[int, int, dict[Cause, int]]], edges: Ints) -> tuple[Ints, Ints]:
    for _, _, weights in shares:
        for cause in weights:
            keys.number(cause)
    total = np.zeros(len(keys.causes), np.int64)
    bins = np.zeros((len(keys.causes), len(edges) - 1), np.int64)
    for a, b, weights in shares:
        column_of = np.zeros((len(keys.causes), 1), np.int64)
        for cause, weight in weights.items():
            column_of[keys.number(cause)] = weight
        part = divide(np.array([b - a], np.int64), column_of)[:, 0]
        total += part
        bins[:, min(int(np.searchsorted(edges, a, side="right")) - 1, len(edges) - 2)] += part
    return total, bins


def _limit(sample: dict[str, Any]) -> str:
    """What a sample says that its sender waits for."""
    segment = max((sample["snd_nxt"] - sample["snd_una"]) / sample["unacked"], 1.0) if sample["unacked"] else 1.0
    if sample["ca_state"] in ("recovery", "loss") and sample["unacked"]:
        return "recovery"
    if not sample["notsent_bytes"]:
        return "acknowledgement" if sample["unacked"] else "application"
    if sample["unacked"] + 1 > sample["snd_cwnd"]:
        return "congestion-window"
    if sample["snd_nxt"] - sample["snd_una"] + segment > sample["rwnd_bytes"]:
        return "receive-window"
    return "pacing" if sample["pacing_rate_bps"] is not None else "congestion-window"


def _waits(sample: dict[str, Any]) -> bool:
    least = sample["min_rtt_us"]
    return bool(sample["unacked"]) and least is not None and sample["rtt_us"] > (1 + WAITING) * least


def _silences(events: list[Happening], rows: list[dict[str, Any]], at: Ints) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for event in events:
        t = event.at_ns
        if event.kind == "rto" and event.detail == "sender":
            i = max(int(np.searchsorted(at, t)) - 1, 0)
            found.append((max(t - round(rows[i]["rto_us"] * 1e3), found[-1][1] if found else 0), t))
    return found


class _Waiting:
    """What waits in the queues of a run at each of their samples."""

    def __init__(self, results: Results, row: dict[str, Any]) -> None:
        self._tables = []
        route = Route.of(scenario_of(results), row)
        self.is_known = route.is_known
        for name, place, towards, octets, stage in QUEUES:
            if name not in results.table_names:
                continue
            table = columns_of(results, name, ("time_s", place, octets, *([towards] if towards else [])))
            if not table.num_rows:
                continue
            places = table[place].to_pylist()
            directions = table[towards].to_pylist() if towards else [None] * len(places)
            ways = [route.way_of(name, p, d) for p, d in zip(places, directions, strict=True)]
            at = nanoseconds(column(table, "time_s"))
            self._tables.append((name, stage, at, places, column(table, octets).tolist(), ways))

    @property
    def extent(self) -> str:
        """Which queues count, where that is not those of the flow's way."""
        return (
            "" if self.is_known or not self._tables else " (all of the run: its scenario does not tell the flow's way)"
        )

    @property
    def sources(self) -> str:
        """The tables."""
        return ", ".join(f"`{t[0]}`" for t in self._tables)

    def at(self, moment: int) -> dict[Cause, int]:
        """Octets by place at the sample that is the first not before a moment, or the last."""
        found: dict[Cause, int] = {}
        for _, stage, at, places, octets, ways in self._tables:
            i = min(int(np.searchsorted(at, moment)), len(at) - 1)
            a, b = np.searchsorted(at, at[i]), np.searchsorted(at, at[i], side="right")
            for k in range(int(a), int(b)):
                way = ways[k]
                # A few ACKs in the queue of a wired link are gone within a packet's time.
                least = MTU if stage == "queue" and way == "ack" else 1
                if way is not None and octets[k] >= least:
                    cause = Cause(stage, places[k], way)
                    found[cause] = found.get(cause, 0) + int(octets[k])
        return found


def _estimate_datagrams(results: Results, row: dict[str, Any], interval: tuple[int, int]) -> Budget:
    """The delays of all packets: the smallest one is propagation and transmission, the rest waiting."""
    flow, (start, end) = row["flow"], interval
    columns_of(results, "flows", ("rx_packets", "delay_min_s", "delay_mean_s"))
    packets = int(row["rx_packets"])
    if not packets:
        raise mistake(f"no packet of flow '{flow}' has arrived: there is no delay to explain")
    least = round(row["delay_min_s"] * 1e9)
    whole = max(round(row["delay_mean_s"] * 1e9 * packets), least * packets)
    weights = _Waiting(results, row)
    held: dict[Cause, int] = {}
    for moment in np.linspace(start, end, 100).astype(np.int64).tolist():
        for cause, octets in weights.at(moment).items():
            if cause.way == "ack":
                continue  # one-way delays
            held[cause] = held.get(cause, 0) + octets
    held = held or {Cause("queues"): 1}
    keys = Keys()
    base = keys.number(Cause("path"))
    numbers = [keys.number(c) for c in held]
    rest = divide(np.array([whole - least * packets], np.int64), np.array([[w] for w in held.values()], np.int64))
    total = np.zeros(len(keys.causes), np.int64)
    total[base], total[numbers] = least * packets, rest[:, 0]
    notes = [
        (
            "Estimated over the whole run, whatever interval was asked for: the smallest delay of all packets counts "
            "as propagation and transmission, the rest is divided by the octets in "
            f"{weights.sources or 'no queue'}{weights.extent}; "
            f"for an exact budget {RECORD}."
        )
    ]
    losses = losses_of(results, flow, start, end)
    return Budget(
        flow, row["transport"], start, end, whole, largest_first(keys, total), packets, False, losses, None, notes
    )
