"""Packets that were lost: where, why, and in what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.explain._model import Loss
from lasthop.explain._tables import column, columns_of, nanoseconds, of_flow

if TYPE_CHECKING:
    from lasthop._results import Results


DROPS = ("time_s", "packet", "flow", "where", "cause", "size", "retransmission")
#: The stage of a packet that was not let in.
ENTRY = "entry"


def losses_of(results: Results, flow: str, start_ns: int, end_ns: int) -> list[Loss]:
    """The packets of a flow that were dropped between two moments, in order."""
    if "drops" not in results.table_names:
        return []
    drops = of_flow(columns_of(results, "drops", DROPS), flow)
    at = nanoseconds(column(drops, "time_s"))
    drops = drops.filter(pa.array((at >= start_ns) & (at <= end_ns)))
    rows = drops.to_pylist()
    numbers = [row["packet"] for row in rows]
    stages = _last_stages(results, {row["packet"]: row["where"] for row in rows})
    pdus = _last_blocks(results, numbers)
    segments = _segments(results, flow, numbers)
    return [
        Loss(
            row["packet"],
            round(row["time_s"] * 1e9),
            row["where"],
            row["cause"],
            row["size"],
            stages.get(row["packet"]),
            pdus.get(row["packet"]) or segments.get(row["packet"]),
            row["retransmission"],
        )
        for row in rows
    ]


def _of_packets(table: pa.Table, numbers: list[int]) -> pa.Table:
    return table.filter(pc.is_in(table["packet"], pa.array(numbers, table["packet"].type)))


def _last_stages(results: Results, where: dict[int, str]) -> dict[int, str]:
    if "stages" not in results.table_names or not where:
        return {}
    rows = _of_packets(columns_of(results, "stages", ("packet", "stage", "where", "end_ns")), list(where))
    order = np.argsort(column(rows, "end_ns"), kind="stable")
    found = {}
    for number, stage, place in zip(
        *(rows[c].take(order).to_pylist() for c in ("packet", "stage", "where")), strict=True
    ):
        found[number] = stage if place == where[number] else ENTRY
    return found


def _last_blocks(results: Results, numbers: list[int]) -> dict[int, str]:
    """The transport block of LTE that carried a part of it last, where the run has the table `steps`."""
    if "steps" not in results.table_names or not numbers:
        return {}
    rows = _of_packets(columns_of(results, "steps", ("time_s", "step", "bytes", "packet")), numbers).to_pylist()
    return {
        row["packet"]: f"transport block of {row['bytes']} B in the TTI at {row['time_s'] * 1e3:g} ms"
        for row in rows
        if row["step"] in ("data", "retransmission")
    }


def _segments(results: Results, flow: str, numbers: list[int]) -> dict[int, str]:
    if "packets" not in results.table_names or not numbers:
        return {}
    wanted = ("packet", "flow", "event", "seq", "ack", "len")
    rows = _of_packets(of_flow(columns_of(results, "packets", wanted), flow), numbers).to_pylist()
    found = {}
    for row in rows:
        if row["event"] == "sent" and row["seq"] is not None:
            text = f"segment {row['seq']}-{row['seq'] + row['len']}" if row["len"] else f"ACK {row['ack']}"
            found[row["packet"]] = text
        elif row["event"] == "sent":
            found[row["packet"]] = f"datagram of {row['len']} B"
    return found
