"""The budget of a flow of a run that was made without `output.explain`: estimated from samples.

The rule is that of the exact budget (`_exact`); the places of octets are estimated from samples
(`_sender`, `_samples`). Stages that have the same effect on all samples are one cause, and a note
says that they cannot be distinguished.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.explain._exact import BINS, clip
from lasthop.explain._keys import Keys, largest_first, timeline_of
from lasthop.explain._losses import losses_of
from lasthop.explain._model import Budget, Cause
from lasthop.explain._samples import Waiting
from lasthop.explain._sender import SAMPLE, Sender
from lasthop.explain._share import Ints, divide
from lasthop.explain._sharers import on_the_way
from lasthop.explain._tables import RECORD, columns_of, happenings, of_flow
from lasthop.explain._ways import arrivals, times_of

if TYPE_CHECKING:
    from lasthop._results import Results

#: Moments at which queues of a flow of datagrams are looked at.
MOMENTS = 100
#: A cause that may be one of several is reported from this share on.
LEAST_SHARE = 0.02


def estimated_budget(results: Results, row: dict[str, Any], start_ns: int | None, end_ns: int | None) -> Budget:
    """The budget of the flow of a row of `flows` between two moments.

    None: from its start, to its end.

    Raises:
        LasthopError: the flow never started, or no data for an estimate was recorded.
    """
    if row.get("start_s", 0.0) is None:
        raise mistake(f"flow '{row['flow']}' never started", "see its keys `start` and `autostart`")
    first, last = round(row.get("start_s", 0.0) * 1e9), _end_ns(results, row)
    if row["transport"] != "tcp":
        interval = clip(row["flow"], first, last, start_ns, end_ns)
        return _estimate_datagrams(results, row, interval, interval == (first, last))
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
            f"nothing says what the sender of flow '{flow}' waited for: the run has neither the table `limits` nor the "
            "table `tcp`",
            RECORD,
        )
    samples = of_flow(columns_of(results, "tcp", SAMPLE), flow)
    if not samples.num_rows:
        raise mistake(f"the table `tcp` has no sample of flow '{flow}'", RECORD)
    events = happenings(results, f"flow/{flow}")
    closed = [e.at_ns for e in events if e.kind in ("closed", "aborted", "timed-out", "reset")]
    start, end = clip(flow, first, min([last, *closed]), start_ns, end_ns)
    sender = Sender(results, row, samples, events)
    edges = np.unique(np.linspace(start, end, BINS + 1).astype(np.int64))
    cuts = [start, end, sender.opened, *sender.cuts, *edges.tolist()]
    moments = sorted({t for t in cuts if start <= t <= end})
    keys = Keys()
    total, bins = _divided(keys, [(a, b, sender.shares(a, b)) for a, b in pairwise(moments)], edges)
    parts = largest_first(keys, total)
    losses = losses_of(results, row, start, end)
    timeline = timeline_of(keys, parts, edges, bins)
    budget = Budget(flow, "tcp", start, end, end - start, parts, None, False, losses, timeline)
    waiting = sender.waiting
    lacking = "".join(f" The run has no table `{name}` for places on the way." for name in waiting.missing)
    note = (
        "Estimated from samples: what limits the sender by the table `tcp`, where octets wait by "
        f"{waiting.sources or 'nothing, no queue was sampled'}{waiting.extent}. Parts below an interval between "
        f"samples are not seen.{waiting.too_few}{lacking} For an exact budget {RECORD}."
    )
    return replace(budget, notes=[note, *indistinct(budget)], uncertain=bool(waiting.too_few))


def indistinct(budget: Budget) -> list[str]:
    """The causes that the samples cannot distinguish: one note for each set of causes."""
    shares: dict[tuple[str, ...], float] = {}
    places: dict[tuple[str, ...], dict[str, None]] = {}
    for part in budget.parts:
        names = part.cause.names
        if len(names) > 1:
            shares[names] = shares.get(names, 0.0) + budget.share(part)
            places.setdefault(names, {})[part.cause.place] = None
    return [
        f"The samples cannot distinguish {_either(names)}{_at(list(places[names]))}: one of them, or all, took "
        f"{100 * share:.0f} %. To distinguish them {RECORD}."
        for names, share in shares.items()
        if share >= LEAST_SHARE
    ]


def _at(places: list[str]) -> str:
    named = [place for place in places if place]
    return f" at {' and '.join(named)}" if named else ""


def _either(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


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


def _estimate_datagrams(results: Results, row: dict[str, Any], interval: tuple[int, int], all_of_it: bool) -> Budget:
    """The delays of packets: the smallest one is what each packet takes, the rest waiting."""
    flow, (start, end) = row["flow"], interval
    packets, whole, least = _delays(results, row, None if all_of_it else interval)
    waiting, inside = Waiting(results, row), on_the_way(row)
    held: dict[Cause, float] = {}
    for moment in np.linspace(start, end, MOMENTS).astype(np.int64).tolist():
        for cause, octets in waiting.at(moment, inside, 0.0).data.items():
            held[cause] = held.get(cause, 0.0) + octets
    weights = {cause: round(octets) for cause, octets in held.items() if octets >= 1} or {Cause("queues"): 1}
    keys = Keys()
    base, numbers = keys.number(Cause("path")), keys.numbers(list(weights))
    rest = divide(np.array([whole - least * packets], np.int64), np.array([[w] for w in weights.values()], np.int64))
    total = np.zeros(len(keys.causes), np.int64)
    total[base], total[numbers] = least * packets, rest[:, 0]
    note = (
        "Estimated: the smallest delay counts for each packet as what the path takes, whatever that consists of; the "
        f"rest is divided by the octets in {waiting.sources or 'no queue, none was sampled'}{waiting.extent}."
        f"{waiting.too_few} For an exact budget {RECORD}."
    )
    losses = losses_of(results, row, start, end)
    budget = Budget(flow, row["transport"], start, end, whole, largest_first(keys, total), packets, False, losses, None)
    notes = [note, *indistinct(budget)] if packets else []
    return replace(budget, notes=notes, uncertain=bool(waiting.too_few))


def _delays(results: Results, row: dict[str, Any], interval: tuple[int, int] | None) -> tuple[int, int, int]:
    """Packets that arrived in an interval (None: all), their delays' sum and minimum [ns]."""
    flow = row["flow"]
    if interval is None:
        columns_of(results, "flows", ("rx_packets", "delay_min_s", "delay_mean_s"))
        packets = int(row["rx_packets"])
        least = round((row["delay_min_s"] or 0.0) * 1e9)
        return packets, max(round((row["delay_mean_s"] or 0.0) * 1e9 * packets), least * packets), least
    if "packets" not in results.table_names:
        raise mistake(
            f"the delays of flow '{flow}' in an interval are not known: the run has them for all of its time alone "
            "(table `flows`)",
            f"leave out `--from` and `--to`, or {RECORD}",
        )
    packets_of = of_flow(columns_of(results, "packets", ("time_s", "packet", "flow", "node", "event")), flow)
    sent, received = times_of(packets_of, "sent"), arrivals(packets_of)
    start, end = interval
    delays = [at - sent[n][0] for n, at in received.items() if n in sent and start <= at <= end]
    return len(delays), sum(delays), min(delays, default=0)
