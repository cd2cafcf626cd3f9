"""Scenarios that a recording needs: other flows at one node, replay of its trace."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lasthop._errors import mistake
from lasthop._scenario import Scenario
from lasthop._values import to_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: "down" is to the node whose last hop is recorded, "up" from it.
Direction: TypeAlias = "Literal['down', 'up']"

#: The flow that is recorded, and what a flow must not be called.
PROBE = "recorded-flow"
BACK = "recorded-flow-back"
#: What an entry of `[[at]]` or `[[when]]` does with a flow.
_ACTIONS = ("start", "stop", "pause", "resume")


@dataclass(frozen=True)
class Scene:
    """A scenario as data, without the flows that end at `node`.

    Args:
        data: the tables of the effective scenario.
        base: where relative paths in it start; None: the current folder.
        node: the node whose last hop is recorded.
        peer: the node at the other end of the flows.
        tcp: the TCP table of the first flow that was left out, without its congestion control.
        left_out: the flows that were left out.
    """

    data: Mapping[str, Any]
    base: Path | None
    node: str
    peer: str
    tcp: Mapping[str, Any]
    left_out: tuple[str, ...]

    def with_flows(self, flows: Mapping[str, Any], output: Mapping[str, Any] | None = None) -> Scenario:
        """The scenario with further flows, its tables limited to packets and drops."""
        data = {**self.data, "flow": {**self.data.get("flow", {}), **flows}}
        data["output"] = {"tcp": "off", "queues": False, "radio": False, "packets": True, **(output or {})}
        return Scenario.parse(text_of(data), f"scenario of a recording at {self.node}", self.base)

    def ends(self, direction: Direction) -> tuple[str, str]:
        """Sender and receiver of the data."""
        return (self.peer, self.node) if direction == "down" else (self.node, self.peer)


def scene(scenario: Scenario, node: str, peer: str | None, base: Path | None) -> Scene:
    """The scenario without the flows that end at `node`.

    Raises:
        LasthopError: no flow ends at the node and no peer is given; a flow has the name of the
            recorded one; a trigger watches a flow that is left out.
    """
    data = tomllib.loads(scenario.to_toml())
    flows: dict[str, Any] = data.get("flow", {})
    for name in (PROBE, BACK):
        if name in flows:
            raise mistake(f"[flow.{name}] has the name of the flow that is recorded", "give the flow another name")
    left_out = tuple(name for name, flow in flows.items() if node in (flow["from"], flow["to"]))
    first = flows[left_out[0]] if left_out else None
    if peer is None:
        if first is None:
            known = sorted({end for flow in flows.values() for end in (flow["from"], flow["to"])})
            raise mistake(
                f"no flow of {scenario.name} ends at {node!r}; flows end at {', '.join(known) or 'no node'}",
                "name one of them with --node, or the other end of the recorded flow with --peer",
            )
        peer = first["to"] if first["from"] == node else first["from"]
    tcp = dict(first.get("tcp", {})) if first else {}
    data["flow"] = {name: flow for name, flow in flows.items() if name not in left_out}
    for table in ("at", "when"):
        if table in data:
            data[table] = _without(data[table], left_out, table)
    for name, hint in list(data.get("hint", {}).items()):
        if set(hint.get("flows", ())) & set(left_out):
            hint["flows"] = [flow for flow in hint["flows"] if flow not in left_out]
            if not hint["flows"]:  # an empty list stands for all flows
                del data["hint"][name]
    return Scene(data, base, node, peer, {"profile": tcp.get("profile", "linux-6")}, left_out)


def _without(entries: list[dict[str, Any]], flows: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """Changes during the run without those of flows that are left out."""
    kept = []
    for entry in entries:
        if entry.get("flow") in flows:
            raise mistake(
                f"a [[{table}]] watches the flow {entry['flow']!r}, which is left out of a recording",
                "remove it from a copy of the scenario",
            )
        keys = {f"flow.{name}" for name in flows}
        rest = {k: v for k, v in entry.items() if not (k in _ACTIONS and v in keys)}
        if "set" in rest:
            rest["set"] = {
                key: value for key, value in rest["set"].items() if not any(key.startswith(f"{k}.") for k in keys)
            }
            if not rest["set"]:
                del rest["set"]
        if any(k in rest for k in (*_ACTIONS, "set")):
            kept.append(rest)
    return kept


def replay(
    trace: Path, seconds: float, seed: int, delays: tuple[float, float], buffer: int | None, flow: Mapping[str, Any]
) -> Scenario:
    """The trace as a link between two nodes, with the delays of the recording before it.

    Args:
        trace: a trace in Mahimahi's format.
        seconds: duration of the run [s].
        seed: seed of its draws.
        delays: the least delay of a small packet with the data and against it [s].
        buffer: limit of the queue before the trace [octets]; None: no limit.
        flow: the flow from "sender" to "receiver".
    """
    ahead, back = (f"{delay * 1e9:.0f} ns" for delay in delays)
    data = {
        "scenario": {"name": "replay", "duration": f"{seconds * 1e9:.0f} ns", "seed": seed},
        "link": {
            "path": {
                "between": ["sender", "hop"],
                "queue": "infinite",
                "forward": {"delay": ahead},
                "reverse": {"delay": back},
            },
            "hop": {
                "between": ["hop", "receiver"],
                "queue": "infinite" if buffer is None else {"kind": "droptail", "bytes": f"{buffer} B"},
                "forward": {"trace": trace.name},
            },
        },
        "flow": {PROBE: {"from": "sender", "to": "receiver", **flow}},
        "output": {"tcp": "off", "queues": False, "packets": True},
    }
    return Scenario.parse(text_of(data), "scenario of the replay", trace.parent)


def text_of(data: Mapping[str, Any]) -> str:
    """A scenario as TOML."""
    lines = []
    for table, value in data.items():
        if isinstance(value, list):
            lines += [f"[[{table}]]\n" + "".join(f"{k} = {to_toml(v)}\n" for k, v in entry.items()) for entry in value]
        else:
            lines.append(f"[{table}]\n" + "".join(f"{to_toml(k)} = {to_toml(v)}\n" for k, v in value.items()))
    return "\n".join(lines)
