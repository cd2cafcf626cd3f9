"""The study's tables: the sweep in numbers, and what our runs add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Data, Evidence, TableView
from lasthop.harness.stats import plain

if TYPE_CHECKING:
    from collections.abc import Iterable


def tables(evidence: Evidence) -> Iterable[TableView]:
    """The sweep in numbers, the stacks of today, AQM, triggers.

    Also conditional handover and the outage.
    """
    head = ("goodput [Mbit/s]", "mean delay [ms]", "p95 delay [ms]", "lost [kB]", "queued [kB]", "timeouts")
    keys = (
        ("goodput_bps", 1e-6),
        ("delay_mean_s", 1e3),
        ("delay_p95_s", 1e3),
        ("lost_bytes", 1e-3),
        ("queue_bytes", 1e-3),
        ("timeouts", 1.0),
    )
    for parameter_set in evidence.parameter_sets:
        found = evidence.of(parameter_set)
        title = f"Sweep of the retransmission queue, parameter set {parameter_set}"
        rows = tuple(_rows(found, "sweep", ("type", "queue"), keys))
        yield TableView(f"sweep-{parameter_set}", title, ("type", "queue at most [kB]", *head), rows)
    if "paper" not in evidence.parameter_sets:
        return
    data = evidence.of("paper")
    for group, axes, title in (
        ("enlarged", ("type", "queue"), "Enlarged receive buffer"),
        ("today", ("stack", "type", "queue"), "Other stacks"),
        ("aqm", ("type", "aqm"), "CoDel in the eNB"),
    ):
        titles = {"queue": "queue at most [kB]", "stack": "Linux, control"}
        named = (*(titles.get(axis, axis) for axis in axes), *head)
        yield TableView(group, title, named, tuple(_rows(data, group, axes, keys)))
    yield _gains(data)
    yield TableView("interruption", "Not served by a handover [ms]", *_interruptions(evidence))
    counted = (("handovers", 1.0), ("ping_pong", 1.0), ("failures", 1.0), ("too_late", 1.0), ("goodput_bps", 1e-6))
    headers: tuple[str, ...] = (
        "hysteresis [dB]",
        "time-to-trigger [ms]",
        "handovers",
        "ping-pong",
        "link failures",
        "too late",
        "goodput [Mbit/s]",
    )
    rows = tuple(_rows(data, "trigger", ("hysteresis", "ttt"), counted))
    yield TableView("trigger", "Hysteresis and time-to-trigger under shadowing", headers, rows)
    early = (("handovers", 1.0), ("failures", 1.0), ("interruption_s", 1e3), ("gap_s", 1e3), ("after_bps", 1e-6))
    headers = (
        "who decides",
        "X2 [ms]",
        "speed [km/h]",
        "handovers",
        "link failures",
        "not served [ms]",
        "no packet [ms]",
        "goodput after [Mbit/s]",
    )
    rows = tuple(_rows(data, "conditional", ("decides", "delay", "fast"), early))
    yield TableView("conditional", "Conditional handover", headers, rows)
    back = (
        ("failures", 1.0),
        ("reconnected", 1.0),
        ("reestablished", 1.0),
        ("rejected", 1.0),
        ("not_admitted", 1.0),
        ("median_return_s", 1.0),
        ("preambles", 1.0),
        ("timeouts_after", 1.0),
    )
    headers = (
        "admission", "link failures", "connected anew", "re-established", "re-establishments refused",
        "connections refused", "median return [s]", "preambles", "timeouts of others",
    )  # fmt: skip
    yield TableView("outage", "The neighbour fails at 30 s", headers, tuple(_rows(data, "outage", ("users",), back)))


def _gains(data: Data) -> TableView:
    """The call's MOS: what a bearer of its own brings, and what its type does beyond that."""
    rows = []
    for broken in data.labels("perbearer", "handover"):
        mos = {
            name: data.estimate("perbearer", "mos", bearers=name, handover=broken)
            for name in ("shared, lossless", "split, all lossless", "split")
        }
        own = mos["split, all lossless"].minus(mos["shared, lossless"])
        kind = mos["split"].minus(mos["split, all lossless"])
        rows.append((broken, own.text(2), kind.text(2)))
    note = (
        "A bearer of its own: split, all lossless, against shared, lossless. A seamless one: split against split, all "
        "lossless. 95 % intervals of paired differences."
    )
    headers = ("handover", "a bearer of its own", "a seamless one beyond that")
    return TableView("gains", "MOS of the call: what its bearer brings", headers, tuple(rows), note)


def _interruptions(evidence: Evidence) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The distribution over ten phases of a frame, by set and by how messages are made."""
    rows = []
    for name in evidence.parameter_sets:
        data = evidence.of(name)
        for messages in data.labels("rrc", "messages"):
            times = [r.values["interruption_s"] * 1e3 for r in data.runs("rrc", messages=messages)]
            known = np.asarray([t for t in times if not np.isnan(t)])
            if len(known):
                spread = (f"{v:.0f}" for v in (known.min(), np.median(known), known.mean(), known.max()))
                rows.append((name, messages, len(known), len(times) - len(known), *spread))
    headers = ("set", "messages", "handovers", "without one", "least", "median", "mean", "most")
    return headers, tuple(rows)


def _rows(
    data: Data, group: str, axes: tuple[str, ...], keys: tuple[tuple[str, float], ...]
) -> Iterable[tuple[Any, ...]]:
    points = list(dict.fromkeys(tuple(r.point[a] for a in axes) for r in data.runs(group)))
    for point in points:
        at = dict(zip(axes, point, strict=True))
        yield (*point, *(plain(data.estimate(group, key, **at).mean * scale, 3) for key, scale in keys))
