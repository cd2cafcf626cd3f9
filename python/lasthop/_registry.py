"""The tables of runs and the kinds of queues, from the core's own registry; words for live runs."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from lasthop import _core

#: What the lateness of a run in real time is about, by its key in summary.json, in the order of
#: tables.
LATENESS = {"departures": "packets out", "entries": "packets in", "events": "events"}
#: This share of what happens in a run in real time, and of its time, may be later than its limit.
LATE_SHARE = 0.01


def losses_of_devices(live: object) -> list[str]:
    """Packets that devices lost outside the simulation in a run in real time: a sentence per node.

    Args:
        live: the value of `live` in summary.json; the result for any other value is empty.
    """
    texts = {
        "lost_before_entry": "{} packets of {} were lost before they entered: its device's queue was full",
        "lost_after_exit": "{} packets for {} were lost behind its device: the kernel did not take them",
    }
    found = []
    for key, text in texts.items():
        counts = live.get(key) if isinstance(live, dict) else None
        for node, count in counts.items() if isinstance(counts, dict) else ():
            if isinstance(count, int) and count > 0:
                found.append(text.format(count, node))
    return found


def share_behind(live: object) -> float:
    """The share of the time for which a run in real time was behind by more than its limit.

    Args:
        live: the value of `live` in summary.json. The share is 0 for any other value, and for runs
            that did not measure it.
    """
    lateness = live.get("lateness") if isinstance(live, dict) else None
    behind = lateness.get("behind_limit_s") if isinstance(lateness, dict) else None
    ended = live.get("ended_s") if isinstance(live, dict) else None
    if not isinstance(behind, float | int) or not isinstance(ended, float | int) or ended <= 0:
        return 0.0
    return behind / ended


@cache
def run_tables() -> dict[str, dict[str, Any]]:
    """The tables that runs leave, by name: description, columns, series.

    They are in the order of the documentation.
    """
    return {t["name"]: t for t in json.loads(_core.describe())["tables"] if t["of"] == "run"}


@cache
def on_request() -> frozenset[str]:
    """The tables that a run has only if the key of the same name in `[output]` is set."""
    keys = {key["path"]: key for key in json.loads(_core.describe())["keys"]}
    switches = {path for path, key in keys.items() if key["type"] == "true or false" and key.get("default") != "true"}
    return frozenset(t for t in run_tables() if f"output.{t}" in switches)


def series_of(table: str) -> tuple[str, ...]:
    """The columns that distinguish the series of a table of samples.

    Tables of other kinds, and unknown ones, have none.
    """
    return tuple(run_tables().get(table, {}).get("series", ()))


@cache
def limited_queues() -> frozenset[str]:
    """The kinds of queues that drop only when they are full.

    Their limits are their only parameters.
    """
    queues = {q["name"]: {p["name"] for p in q["parameters"]} for q in json.loads(_core.describe())["queue"]}
    return frozenset(name for name, parameters in queues.items() if parameters == {"packets", "bytes"})


@cache
def default_queue() -> str:
    """The kind of the queue of a link for which the scenario names none."""
    keys = json.loads(_core.describe())["keys"]
    default = next(key["default"] for key in keys if key["path"] == "link.<name>.queue")
    kind = re.search(r'kind = "([^"]+)"', default)
    return kind[1] if kind else default.strip('"')
