"""The share of a flow in the data that waits at a place that other flows pass too.

It is assumed to be in proportion to the flow's data in flight: for a TCP flow the octets that are
outstanding at that moment, for a UDP flow the product of its mean rate and its mean delay (Little's
law).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.explain._route import Route
from lasthop.explain._tables import Names, column, columns_of, nanoseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lasthop._results import Results
    from lasthop.explain._share import Ints

#: Octets of data that one acknowledgement stands for: two full segments.
PER_ACK = 2 * 1460
MTU = 1500


@dataclass(frozen=True)
class _Steps:
    """A sum that changes at moments."""

    at: Ints
    value: NDArray[np.float64]

    def before(self, moment: int) -> float:
        """Its value at a moment."""
        n = int(np.searchsorted(self.at, moment, side="right"))
        return float(self.value[n - 1]) if n else 0.0


class Sharers:
    """The other flows of a run."""

    def __init__(self, results: Results, row: dict[str, Any], scenario: dict[str, Any]) -> None:
        self._results, self._scenario = results, scenario
        self._others = [r for r in results.table("flows").to_pylist() if r["flow"] != row["flow"]]
        self._places: dict[tuple[str, str, str | None], tuple[float, list[_Steps]]] = {}

    def own(self, table: str, place: str, direction: str | None, packets: float, moment: int) -> float:
        """The share of one flow in the data that waits at a place, 0 to 1.

        It depends on the number of the flow's packets in flight.
        """
        key = (table, place, direction)
        if key not in self._places:
            self._places[key] = self._of_place(*key)
        constant, steps = self._places[key]
        others = constant + sum(step.before(moment) for step in steps)
        return packets / (packets + others) if others > 0 else 1.0

    def _of_place(self, table: str, place: str, direction: str | None) -> tuple[float, list[_Steps]]:
        constant = 0.0
        found = {"data": list[str](), "ack": list[str]()}
        for r, route in self._routes:
            way = route.way_of(table, place, direction) if route.is_known else None
            if way in found and r["transport"] == "tcp":
                found[way].append(r["flow"])
            elif way == "data":
                constant += on_the_way(r)
        return constant, [steps for way, flows in found.items() if (steps := self._outstanding(way, flows)) is not None]

    @cached_property
    def _routes(self) -> list[tuple[dict[str, Any], Route]]:
        return [(r, Route.of(self._scenario, r)) for r in self._others]

    def _outstanding(self, way: str, flows: list[str]) -> _Steps | None:
        if not flows or "tcp" not in self._results.table_names:
            return None
        times, codes, octets, names = self._samples
        changes = []
        for flow in flows:
            if flow not in names:
                continue
            mine = codes == names.index(flow)
            value = octets[way][mine]
            changes.append((times[mine], np.diff(value, prepend=0.0)))
        if not changes:
            return None
        at = np.concatenate([t for t, _ in changes])
        order = np.argsort(at, kind="stable")
        return _Steps(at[order], np.cumsum(np.concatenate([d for _, d in changes])[order]))

    @cached_property
    def _samples(self) -> tuple[Ints, Ints, dict[str, NDArray[np.float64]], list[str]]:
        """Times, flows by number, and packets on their way with data or acknowledgements."""
        wanted = ("time_s", "flow", "snd_una", "snd_nxt", "bytes_arrived")
        table = columns_of(self._results, "tcp", wanted)
        flows = Names.of(table, "flow")
        una, end, arrived = (column(table, name).astype(np.float64) for name in wanted[2:])
        there = np.clip(arrived + 1 - una, 0, np.maximum(end - una, 0))
        packets = {"data": (np.maximum(end - una, 0) - there) / MTU, "ack": there / PER_ACK}
        return nanoseconds(column(table, "time_s")), flows.codes, packets, flows.names


def on_the_way(r: dict[str, Any]) -> float:
    """The packets of a flow of datagrams that are on their way, on average."""
    lasts = float(r["end_s"]) - float(r["start_s"] or 0.0)
    return float(r["tx_packets"]) / lasts * float(r["delay_mean_s"] or 0.0) if lasts > 0 else 0.0
