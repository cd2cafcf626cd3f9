"""The events of TCP senders, from the tables `tcp`, `packets` and `events`."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.campaign._quantity import quantity
from lasthop.export._content import needed

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop.export._content import Selection

#: So many rows become Python objects at once.
ROWS_AT_ONCE = 20_000

PACKETS = ("time_s", "packet", "flow", "node", "event", "size", "seq", "ack", "len", "flags", "retransmission")
EVENTS = ("time_s", "source", "kind", "value", "detail")

#: At one moment: what arrives, a timer, what follows from either, what is sent then, and the sample
#: of what is left.
_ARRIVES, _EXPIRES, _STATE, _SENDS, _SAMPLED = range(5)


@dataclass(frozen=True)
class Sender:
    """A TCP sender: a flow, or the part of one that a proxy sends."""

    flow: str
    src: str
    dst: str
    cc: str | None
    #: Payload of a full segment in bytes: the MSS less the timestamps option.
    segment: int | None


@dataclass(frozen=True)
class Happening:
    """Something that a sender did or received.

    `kind` is "sent", "received" (`row`: of the table `packets`), "sample" (`row`: of the table
    `tcp`), "state" (`row`: old, new, trigger) or "rto" (`row`: of the table `events`).
    """

    time_s: float
    kind: str
    row: dict[str, Any]


def senders(results: Results, selection: Selection) -> list[Sender]:
    """The TCP senders of a run, in the order of the table `flows`.

    Raises:
        LasthopError: the run has none, or not the requested flow.
    """
    flows = needed(results, "flows", ("flow", "src", "dst", "transport", "cc")).to_pylist()
    tcp = [row for row in flows if row["transport"] == "tcp"]
    if not tcp:
        raise mistake("this run has no TCP flow: there is no sender to export")
    chosen = [row for row in tcp if selection.takes(row["flow"])]
    if not chosen:
        names = ", ".join(row["flow"] for row in tcp[:20])
        raise mistake(f"there is no TCP flow '{selection.flow}' in this run", f"its TCP flows are: {names}")
    resolved = results.manifest.get("resolved_tcp") or {}
    return [
        Sender(row["flow"], row["src"], row["dst"], row["cc"], _segment(resolved.get(row["flow"]))) for row in chosen
    ]


def _segment(resolved: dict[str, Any] | None) -> int | None:
    """Payload of a full segment by the values that the flow ran on.

    None: they are not known (a connection of a proxy).
    """
    if not resolved or "mss" not in resolved:
        return None
    found = quantity(resolved["mss"])
    octets = found.within("B") if found else None
    # RFC 7323, appendix A: the option has ten octets, and twelve with its padding.
    return int(octets) - (12 if resolved.get("timestamps") else 0) if octets else None


def happenings(results: Results, sender: Sender, selection: Selection) -> Iterator[Happening]:
    """Everything of a sender in the order of time."""
    streams = (_samples, _timeouts, _packets)
    items = (stream(results, sender, selection) for stream in streams)
    yield from (happening for _, _, happening in heapq.merge(*items, key=lambda item: item[:2]))


_Item = tuple[float, int, Happening]


def rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table; only some are Python objects at a time."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _samples(results: Results, sender: Sender, selection: Selection) -> Iterator[_Item]:
    if "tcp" not in results.table_names:
        return
    needed(results, "tcp", ("time_s", "flow", "ca_state"))
    table = results.table("tcp")
    old = None
    for row in rows(selection.between(table.filter(pc.equal(table["flow"], sender.flow)))):
        if row["ca_state"] != old:
            trigger = row.get("trigger")
            change = {"old": old, "new": row["ca_state"], "trigger": trigger}
            yield row["time_s"], _STATE, Happening(row["time_s"], "state", change)
            old = row["ca_state"]
        yield row["time_s"], _SAMPLED, Happening(row["time_s"], "sample", row)


def _timeouts(results: Results, sender: Sender, selection: Selection) -> Iterator[_Item]:
    table = needed(results, "events", EVENTS)
    mine = pc.and_(pc.equal(table["source"], f"flow/{sender.flow}"), pc.equal(table["kind"], "rto"))
    for row in rows(selection.between(table.filter(mine))):
        if row["detail"] in (None, "sender"):
            yield row["time_s"], _EXPIRES, Happening(row["time_s"], "rto", row)


def _packets(results: Results, sender: Sender, selection: Selection) -> Iterator[_Item]:
    if "packets" not in results.table_names:
        return
    table = needed(results, "packets", PACKETS)
    mine = pc.and_(pc.equal(table["flow"], sender.flow), pc.equal(table["node"], sender.src))
    for row in rows(selection.between(table.filter(mine))):
        if row["event"] == "sent":
            yield row["time_s"], _SENDS, Happening(row["time_s"], "sent", row)
        elif row["event"] == "received":
            yield row["time_s"], _ARRIVES, Happening(row["time_s"], "received", row)
