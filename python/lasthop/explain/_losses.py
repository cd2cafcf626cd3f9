"""Packets that were lost: place, cause and PDU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop.explain._model import Loss, Pdu
from lasthop.explain._tables import column, columns_of, nanoseconds, of_flow

if TYPE_CHECKING:
    from lasthop._results import Results


PDUS = ("packet", "layer", "direction", "sn", "first_octet", "end_octet", "sent_s", "sends", "lost")
DROPS = ("time_s", "packet", "flow", "where", "cause", "size", "retransmission")
#: Octets of the longest TCP segment without data: headers of IPv6 and TCP with all their options.
LONGEST_ACK = 100
#: The stage of a packet that was not let in.
ENTRY = "entry"
#: Stages out of which a full queue may drop a packet to let another in.
QUEUES = ("queue", "rlc-queue", "wifi-queue")


def losses_of(results: Results, row: dict[str, Any], start_ns: int, end_ns: int) -> list[Loss]:
    """The dropped packets of the flow of a row of `flows` between two moments, in order."""
    if "drops" not in results.table_names:
        return []
    flow = row["flow"]
    drops = of_flow(columns_of(results, "drops", DROPS), flow)
    at = nanoseconds(column(drops, "time_s"))
    within = (at >= start_ns) & (at <= end_ns)
    ways = ways_of(column(drops, "size"), row)[within].tolist()
    drops = drops.filter(pa.array(within))
    rows = drops.to_pylist()
    numbers = [row["packet"] for row in rows]
    stages = _last_stages(results, {row["packet"]: (row["where"], row["cause"]) for row in rows})
    pdus = _pdus(results, numbers)
    blocks = _blocks(results, numbers, pdus)
    segments = _segments(results, flow, numbers)
    return [
        Loss(
            row["packet"],
            round(row["time_s"] * 1e9),
            row["where"],
            row["cause"],
            row["size"],
            _stage(stages.get(row["packet"]), pdus.get(row["packet"], [])),
            _what(segments.get(row["packet"]), pdus.get(row["packet"], []), blocks.get(row["packet"])),
            row["retransmission"],
            pdus.get(row["packet"], []),
            way,
        )
        for row, way in zip(rows, ways, strict=True)
    ]


def ways_of(sizes: NDArray[Any], row: dict[str, Any]) -> NDArray[np.str_]:
    """Whether each dropped packet of a flow was data or an ACK.

    The table `drops` does not say. The row of `flows` counts those that were data. If only some
    packets of a TCP flow were data, their sizes distinguish data and ACKs, provided that this gives
    the same count.

    Args:
        sizes: of all dropped packets of the flow [octets].
        row: of the flow in the table `flows`.

    Returns:
        "data", "ack" or, where it is not known, "", for each packet.
    """
    data = row.get("lost_dropped")
    if data in (0, len(sizes)):
        return np.full(len(sizes), "data" if data else "ack")
    is_data = sizes > LONGEST_ACK
    if row["transport"] != "tcp" or is_data.sum() != data:
        return np.full(len(sizes), "")
    return np.where(is_data, "data", "ack")


def _stage(last: str | None, pdus: list[Pdu]) -> str | None:
    """The stage of a loss.

    A block without retransmission may be lost at the moment at which it leaves the queue.
    """
    return "transmission" if last == "rlc-queue" and any(pdu.lost for pdu in pdus) else last


def _what(segment: str | None, pdus: list[Pdu], block: str | None) -> str | None:
    """What was lost: the segment, its PDU of the link, the transport block of that."""
    more = f" and {len(pdus) - 1} more" if len(pdus) > 1 else ""
    parts = [segment, f"{pdus[0].words}{more}" if pdus else None, block]
    return ", in ".join(part for part in parts if part) or None


def _pdus(results: Results, numbers: list[int]) -> dict[int, list[Pdu]]:
    """The PDUs of RLC or 802.11 that each packet was lost in, in the order of its octets."""
    if "pdus" not in results.table_names or not numbers:
        return {}
    found: dict[int, list[Pdu]] = {}
    for r in _of_packets(columns_of(results, "pdus", PDUS), numbers).to_pylist():
        packet = r.pop("packet")
        found.setdefault(packet, []).append(Pdu(**r))
    for pdus in found.values():
        pdus.sort(key=lambda pdu: pdu.first_octet or 0)
    return found


def _of_packets(table: pa.Table, numbers: list[int]) -> pa.Table:
    return table.filter(pc.is_in(table["packet"], pa.array(numbers, table["packet"].type)))


def _last_stages(results: Results, lost: dict[int, tuple[str, str]]) -> dict[int, str]:
    """The stage in which each packet was, from the place and the cause of its loss."""
    if "stages" not in results.table_names or not lost:
        return {}
    rows = _of_packets(columns_of(results, "stages", ("packet", "stage", "where", "end_ns")), list(lost))
    order = np.argsort(column(rows, "end_ns"), kind="stable")
    # What finds the first place on its way full was in no stage for any time: it has no rows.
    found = {number: ENTRY for number, (_, cause) in lost.items() if cause.endswith("-full")}
    for number, stage, place in zip(
        *(rows[c].take(order).to_pylist() for c in ("packet", "stage", "where")), strict=True
    ):
        place_of_loss, cause = lost[number]
        # What finds a place full is not in it; between gateway and eNB the place is the bearer
        # already.
        refused = cause.endswith("-full") and stage not in QUEUES
        found[number] = stage if place == place_of_loss and not refused else ENTRY
    return found


def _blocks(results: Results, numbers: list[int], pdus: dict[int, list[Pdu]]) -> dict[int, str]:
    """The transport block of LTE that carried the PDU of each packet.

    Where the run has the table `steps`.

    Without the table `pdus`, that which carried any part of the packet last: it need not be the one
    that was lost.
    """
    if "steps" not in results.table_names or not numbers:
        return {}
    wanted = ("time_s", "step", "about_s", "bytes", "packet")
    found: dict[int, str] = {}
    for row in _of_packets(columns_of(results, "steps", wanted), numbers).to_pylist():
        lost = pdus.get(row["packet"])
        first = row["time_s"] if row["about_s"] is None else row["about_s"]
        if row["step"] in ("data", "retransmission") and (lost is None or abs(first - (lost[0].sent_s or 0.0)) < 1e-6):
            last = "" if lost is not None else "last "
            text = f"transport block of {row['bytes']} B"
            found[row["packet"]] = f"{last}{text} in the TTI at {row['time_s'] * 1e3:g} ms"
    return found


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
