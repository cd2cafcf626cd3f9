"""Whether the buffers of the ends, and not its control, limited a judged flow."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lasthop import _core
from lasthop.judging._by_flow import flow_codes
from lasthop.judging._recording import Recording, Steps
from lasthop.judging._syntax import Number, parse
from lasthop.judging.case import FLOW

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop._scenario import Scenario

#: A buffer counts as full from this share of it on.
_NEARLY = 0.95
#: The largest window without scaling [octets] (RFC 7323 section 2.1).
_UNSCALED = 65535
#: So large a share of the samples is left to chance and to the moment of a sample.
_RARELY = 0.05
_COLUMNS = (
    "flow", "time_s", "snd_cwnd", "unacked", "sacked", "lost", "retrans", "snd_una", "snd_nxt", "rwnd_bytes",
    "notsent_bytes",
)  # fmt: skip


def held_back(scenario: Scenario, run: Results, recording: Recording, mss: float) -> str | None:
    """Why the ends' buffers limited a judged flow while it was measured; None: they did not.

    A flow whose receiver acknowledges ahead (`ack_ahead`) is left out: its sender detects no loss,
    so that only the window limits its growth.

    By samples of the table `tcp` in the last two thirds of the run: the window had room for a
    segment, and the receiver's window had none, or nothing waited in the socket of an application
    that always has data. Without that table by the octets of the buffers, where the scenario has
    them, and of the largest window without scaling.

    Args:
        scenario: of the run.
        run: its results.
        recording: of the judged flow.
        mss: payload of a segment [octets].
    """
    flows = tomllib.loads(scenario.to_toml()).get("flow", {})
    control = flows.get(FLOW, {}).get("tcp", {}).get("cc")
    alike = {name: flow for name, flow in flows.items() if name == FLOW or flow.get("tcp", {}).get("cc") == control}
    judged = {name: flow for name, flow in alike.items() if not flow.get("tcp", {}).get("ack_ahead")}
    if "tcp" in run.table_names and run.table("tcp").num_rows:
        return next(_by_samples(judged, run, scenario.duration / 3, mss), None)
    inflight: Steps = recording.steps("inflight")
    tcp = judged.get(FLOW, {}).get("tcp", {})
    octets = _octets(tcp)
    most = float(np.nanmax(inflight.values)) if len(inflight.values) else 0.0
    if not _scales(tcp) and (octets is None or octets > _UNSCALED) and most * mss >= _NEARLY * _UNSCALED:
        return f"{most:.0f} segments in flight fill the {_UNSCALED} octets of a window without scaling"
    if octets is not None and most * mss >= _NEARLY * octets:
        return f"{most:.0f} segments in flight are nearly the {octets:.0f} octets of the buffers"
    return None


def _by_samples(judged: Mapping[str, Any], run: Results, from_s: float, mss: float) -> Iterator[str]:
    table = run.table("tcp").select(list(_COLUMNS))
    table = table.filter(pc.greater_equal(table.column("time_s"), from_s))
    names, codes = flow_codes(table)
    samples = np.bincount(codes, minlength=len(names))
    column = {c: table.column(c).to_numpy().astype(float) for c in _COLUMNS[2:]}
    in_flight = column["unacked"] - column["sacked"] - column["lost"] + column["retrans"]
    room = column["snd_cwnd"] - in_flight >= 1
    nothing_waits = column["notsent_bytes"] < mss
    closed = column["rwnd_bytes"] - (column["snd_nxt"] - column["snd_una"]) < mss
    no_window = np.bincount(codes, room & closed & ~nothing_waits, len(names))
    no_data = np.bincount(codes, room & nothing_waits & (in_flight > 0), len(names))
    for flow, keys in judged.items():
        found = {("the receive window", "receive_buffer"): no_window}
        if _endless(keys.get("app")):
            found["the send buffer", "send_buffer"] = no_data
        own = [k for k, name in enumerate(names) if name == flow or fnmatchcase(name, f"{flow}-[0-9]*")]
        for k in sorted((k for k in own if samples[k]), key=names.__getitem__):
            for (what, key), times in found.items():
                share = float(times[k] / samples[k])
                if share > _RARELY:
                    part = f"in {100 * share:.0f} % of the samples of the last two thirds"
                    yield f"{what} limited {names[k]} {part}; raise flow.{flow}.tcp.{key}"


def _endless(app: Any) -> bool:
    """Whether an application always has data."""
    kind = app.get("kind") if isinstance(app, Mapping) else app
    return kind == "bulk" and not (isinstance(app, Mapping) and app.keys() & {"rate", "size"})


def _octets(tcp: Mapping[str, Any]) -> float | None:
    """The smaller of the flow's buffers; None: they are not fixed."""
    found = [tcp.get(key) for key in ("send_buffer", "receive_buffer")]
    trees = [parse(text) for text in found if isinstance(text, str) and text[:1].isdigit()]
    return min((tree.value for tree in trees if isinstance(tree, Number)), default=None)


def _scales(tcp: Mapping[str, Any]) -> bool:
    """Whether a flow offers window scaling."""
    return bool(tcp.get("window_scaling", tcp.get("profile", "rfc") not in _profiles_without_scaling()))


@cache
def _profiles_without_scaling() -> frozenset[str]:
    profiles = json.loads(_core.describe())["profile"]
    without = {"key": "window_scaling", "value": "false"}
    return frozenset(p["name"] for p in profiles if any(without.items() <= s.items() for s in p["settings"]))
