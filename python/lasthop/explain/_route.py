"""The places of a run on the way of a flow, as far as the scenario in its manifest shows them."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from lasthop.explain._settings import texts_at

#: A step from one group of nodes to another: what kind of table leads there, its name, along its
#: direction or against.
Step = tuple[str, str, bool]


@dataclass
class Route:
    """The way of a flow's data. Its acknowledgements take it backwards."""

    #: Queues of wired links by name (`path.forward`), with the way: "data" or "ack".
    queues: dict[str, str] = field(default_factory=dict)
    #: Bearers and mobiles by name and direction ("downlink", "uplink"), with the way.
    radio: dict[tuple[str, str], str] = field(default_factory=dict)
    #: The direction of a way through a bearer, mobile or station of a cell or access point. The
    #: directions of a sidelink are names only.
    directions: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Whether the scenario says which places these are.
    is_known: bool = False

    @classmethod
    def of(cls, scenario: dict[str, Any], row: dict[str, Any]) -> Route:
        """The route of the flow of a row of `flows`; the shortest one where there are several."""
        route = cls()
        src, dst = str(row["src"]), str(row["dst"])
        graph = _Graph(scenario)
        steps = graph.way(src, dst)
        route.is_known = steps is not None
        own = {graph.group(end): end for end in (src, dst)}
        for kind, name, along in steps or []:
            if kind == "link":
                for way, forward in (("data", along), ("ack", not along)):
                    route.queues[f"{name}.{'forward' if forward else 'reverse'}"] = way
                continue
            place = own.get(name, name)
            for way, down in (("data", along), ("ack", not along)):
                route.radio[place, "downlink" if down else "uplink"] = way
                route.directions[place, way] = "downlink" if down else "uplink"
        for name, pair in _tables(scenario, "sidelink"):
            between = [graph.group(end) for end in texts_at(pair, "between")]
            if between and set(between) == set(own):
                along = between[0] == graph.group(src)
                for way, down in (("data", along), ("ack", not along)):
                    route.radio[name, "downlink" if down else "uplink"] = way
        return route

    def way_of(self, table: str, place: str, direction: str | None) -> str | None:
        """Whether data or acknowledgements of the flow pass a place of a table.

        None: neither does.
        """
        if not self.is_known:
            return ""
        if table == "queues":
            return self.queues.get(place)
        for (name, towards), way in self.radio.items():
            # A bearer beside the default one has the name of its UE before its own.
            if direction in (None, towards) and (place == name or place.startswith(f"{name}.")):
                return way
        return None

    def direction_of(self, place: str, way: str) -> str:
        """The direction in which data or ACKs of the flow pass a place; empty: it has none."""
        if not self.is_known:
            return ""
        return self.directions.get((place, way)) or self.directions.get((place.split(".", maxsplit=1)[0], way), "")


class _Graph:
    def __init__(self, scenario: dict[str, Any]) -> None:
        tables = ("ue", "station", "cell", "ap", "node")
        self._groups = {name for table in tables for name, _ in _tables(scenario, table)}
        entries = _entries(scenario)
        self._groups |= set(entries)
        self._steps: dict[str, list[tuple[str, Step]]] = {}
        for kind in ("link", "bearer"):
            for name, table in _tables(scenario, kind):
                ends = texts_at(table, "between")
                if len(ends) == 2:
                    self._join(ends[0], ends[1], kind, name)
        access_points = [name for name, _ in _tables(scenario, "ap")]
        for places, mobile in ((entries, "ue"), (access_points, "station")):
            for name, _ in _tables(scenario, mobile):
                for place in places:
                    self._join(place, name, mobile, name)

    def _join(self, a: str, b: str, kind: str, name: str) -> None:
        a, b = self.group(a), self.group(b)
        self._steps.setdefault(a, []).append((b, (kind, name, True)))
        self._steps.setdefault(b, []).append((a, (kind, name, False)))

    def group(self, node: str) -> str:
        """The table that a node is of: `phone` of `phone-12`."""
        base = re.sub(r"-\d+$", "", node)
        return base if node not in self._groups and base in self._groups else node

    def way(self, src: str, dst: str) -> list[Step] | None:
        """The steps from one node to another; None: there is no way in what the scenario says."""
        start, goal = self.group(src), self.group(dst)
        came: dict[str, tuple[str, Step] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            for to, step in self._steps.get(at, []):
                if to not in came:
                    came[to] = (at, step)
                    waiting.append(to)
        if goal not in came or src == dst:
            return None
        steps: list[Step] = []
        before = came[goal]
        while before is not None:
            steps.insert(0, before[1])
            before = came[before[0]]
        return steps


def _entries(scenario: dict[str, Any]) -> list[str]:
    """The nodes at which packets enter cells: the eNBs, or the gateway.

    The gateway where UEs change their cells.

    No table samples what is between the gateway and the eNBs.
    """
    cells = _tables(scenario, "cell")
    if cells and isinstance(scenario.get("handover"), dict):
        core = scenario.get("core", {})
        return [str(core.get("gateway", "gateway")) if isinstance(core, dict) else "gateway"]
    return list(dict.fromkeys(str(cell.get("enb") or name) for name, cell in cells))


def _tables(scenario: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    found = scenario.get(kind, {})
    return [(name, t) for name, t in found.items() if isinstance(t, dict)] if isinstance(found, dict) else []
