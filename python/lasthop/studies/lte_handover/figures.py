"""Figures LH-1 to LH-4 and what our runs add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as MplFigure

from lasthop.harness import Data, Evidence, Figure, TableView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

COLOURS = {"seamless": "#d55e00", "lossless": "#0072b2"}
TYPES = ("seamless", "lossless")
#: The size that LH-1 shows [kB].
SHOWN_KB = 1024


def figures(evidence: Evidence) -> Iterable[Figure]:
    """Every figure that this form of the study has runs for."""
    data = evidence.of(evidence.main_set)
    for kind in TYPES:
        yield around_the_handover(data, kind)
    yield over_size(data, "LH-2", "goodput in the window", {"goodput_bps": ("goodput [Mbit/s]", 1e-6)})
    delays = {"delay_mean_s": ("mean delay [ms]", 1e3), "delay_p95_s": ("95th percentile [ms]", 1e3)}
    yield over_size(data, "LH-3", "segment delay in the window", delays)
    yield load(data)
    yield interruption(data)
    yield choice(data)
    yield backhaul(data)


def around_the_handover(data: Data, kind: str) -> Figure:
    """LH-1: window, goodput and segments around one handover."""
    shown = data.shown("sweep", type=kind, queue=SHOWN_KB).values
    fig = MplFigure(figsize=(5.6, 6.4), layout="constrained")
    window, good, seq = fig.subplots(3, 1)
    t0 = shown.get("t0", 0.0)
    columns: dict[str, dict[str, Any]] = {}
    if "cwnd" in shown:
        colour = COLOURS[kind]
        window.plot(shown["cwnd_t"], shown["cwnd"], color=colour, linewidth=0.8)
        good.plot(shown["good_t"], shown["good_bps"] / 1e6, color=colour, linewidth=0.8)
        start = np.nanmin(shown["seq"]) if len(shown["seq"]) else 0.0
        number = (shown["seq"] - start) / 1e6
        lost = np.isnan(shown["seq_received_t"])
        seq.plot(shown["seq_sent_t"], number, ".", markersize=1.5, color="#999999", label="sent")
        seq.plot(shown["seq_received_t"], number, ".", markersize=1.5, color=colour, label="received")
        seq.plot(shown["seq_sent_t"][lost], number[lost], "x", markersize=3, color="black", label="never received")
        seq.legend(fontsize=7, loc="upper left")
        columns[f"lh1-{kind}-window"] = {"time_s": list(shown["cwnd_t"]), "cwnd": list(shown["cwnd"])}
        columns[f"lh1-{kind}-segments"] = {
            "sent_s": list(shown["seq_sent_t"]),
            "received_s": list(shown["seq_received_t"]),
            "seq": list(shown["seq"]),
        }
    for ax, label in ((window, "cwnd [segments]"), (good, "received [Mbit/s]"), (seq, "segment [MB]")):
        ax.axvline(t0, color="black", linewidth=0.6, linestyle=":")
        _label(ax, "", label)
    seq.set_xlabel("time [s]", fontsize=8)
    title = f"LH-1: a {kind} handover, retransmission queue of {SHOWN_KB} kB"
    caption = (
        "The dotted line is the moment at which the UE leaves the source. "
        "Never received: discarded at the handover, or dropped by the full queue."
    )
    return Figure(f"lh1-{kind}", title, caption, fig, columns)


def over_size(data: Data, name: str, title: str, what: dict[str, tuple[str, float]]) -> Figure:
    """A quantity over the size of the retransmission queue, both types."""
    fig = MplFigure(figsize=(5.2, 2.8 * len(what)), layout="constrained")
    axes = np.atleast_1d(fig.subplots(len(what), 1, sharex=True))
    columns: dict[str, list[Any]] = {"type": [], "queue_kb": []}
    for ax, (key, (label, scale)) in zip(axes, what.items(), strict=True):
        columns[key] = []
        for kind in TYPES:
            sizes = data.labels("sweep", "queue")
            found = [data.estimate("sweep", key, type=kind, queue=q).scaled(scale) for q in sizes]
            low, high = zip(*((f.ci95 or (f.mean, f.mean)) for f in found), strict=True)
            ax.plot(sizes, [f.mean for f in found], marker="o", markersize=3, color=COLOURS[kind], label=kind)
            ax.fill_between(sizes, low, high, color=COLOURS[kind], alpha=0.2, linewidth=0)
            columns[key].extend(f.mean for f in found)
            if len(columns["type"]) < 2 * len(sizes):
                columns["type"].extend([kind] * len(sizes))
                columns["queue_kb"].extend(sizes)
        ax.set_xscale("log", base=2)
        _label(ax, "", label)
        ax.legend(fontsize=7)
    axes[-1].set_xlabel("retransmission queue [kB]", fontsize=8)
    caption = "Means and 95 % intervals over speeds; the window is 2 s before to 10 s after the handover."
    return Figure(name.lower(), f"{name}: {title}", caption, fig, {name.lower(): columns})


def load(data: Data) -> Figure:
    """LH-4: a sudden load."""
    fig = MplFigure(figsize=(5.6, 2.8), layout="constrained")
    rate, rtt = fig.subplots(1, 2)
    added = data.labels("load", "added")
    numbers = [int(n) for n in added]
    pairs = (("before", "#999999"), ("after", "#d55e00"))
    columns: dict[str, list[Any]] = {"added": numbers}
    for when, colour in pairs:
        bps = [data.estimate("load", f"{when}_bps", added=n).mean / 1e6 for n in added]
        seconds = [data.estimate("load", f"rtt_{when}_s", added=n).mean * 1e3 for n in added]
        rate.plot(numbers, bps, marker="o", color=colour, label=when)
        rtt.plot(numbers, seconds, marker="o", color=colour, label=when)
        columns[f"{when}_mbps"], columns[f"rtt_{when}_ms"] = bps, seconds
    _label(rate, "users that begin at 30 s", "rate of a user [Mbit/s]")
    _label(rtt, "users that begin at 30 s", "RTT [ms]")
    rate.legend(fontsize=7)
    caption = "The ten users that download from the start, 15 s before and 15 s after the step."
    return Figure("lh4", "LH-4: sudden load", caption, fig, {"lh4": columns})


def interruption(data: Data) -> Figure:
    """How long nobody served the UE, and how long nothing arrived."""
    fig = MplFigure(figsize=(5.2, 3.0), layout="constrained")
    ax = fig.add_subplot()
    columns: dict[str, list[Any]] = {"type": [], "interruption_ms": [], "gap_ms": []}
    for kind in TYPES:
        runs = data.runs("sweep", type=kind)
        gaps = sorted(r.values["gap_s"] * 1e3 for r in runs if not np.isnan(r.values["gap_s"]))
        ax.plot(gaps, np.arange(1, len(gaps) + 1) / max(len(gaps), 1), color=COLOURS[kind], label=f"{kind}: no packet")
        columns["type"].extend([kind] * len(runs))
        columns["interruption_ms"].extend(r.values["interruption_s"] * 1e3 for r in runs)
        columns["gap_ms"].extend(r.values["gap_s"] * 1e3 for r in runs)
    radio = sorted(m for m in columns["interruption_ms"] if not np.isnan(m))
    ax.plot(radio, np.arange(1, len(radio) + 1) / max(len(radio), 1), color="black", linestyle="--", label="not served")
    ax.set_xscale("log")
    _label(ax, "milliseconds", "share of handovers")
    ax.legend(fontsize=7)
    caption = (
        "Not served: from leaving the source to the message at the target. "
        "No packet: between the last one before and the first one after."
    )
    return Figure("interruption", "Interruption by a handover", caption, fig, {"interruption": columns})


def choice(data: Data) -> Figure:
    """May applications choose? Call, game and download on shared and split bearers."""
    names = data.labels("perbearer", "bearers")
    fig = MplFigure(figsize=(6.4, 2.8), layout="constrained")
    axes = fig.subplots(1, 3)
    columns: dict[str, list[Any]] = {"bearers": list(names)}
    parts = (
        ("mos", "call: MOS", 1.0),
        ("game_unusable", "game: late or lost [%]", 100.0),
        ("goodput_bps", "download [Mbit/s]", 1e-6),
    )
    for ax, (key, label, scale) in zip(axes, parts, strict=True):
        values = [data.estimate("perbearer", key, bearers=n).mean * scale for n in names]
        ax.barh(range(len(names)), values, color="#0072b2")
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names), fontsize=7)
        _label(ax, label, "")
        columns[key] = values
    caption = "One UE with a call, a game and a download across a handover; retransmission queue of 1024 kB."
    return Figure("choice", "The type of handover by bearer", caption, fig, {"choice": columns})


def backhaul(data: Data) -> Figure:
    """Goodput in the window over the delay of X2, by its rate."""
    fig = MplFigure(figsize=(5.2, 3.0), layout="constrained")
    ax = fig.add_subplot()
    columns: dict[str, list[Any]] = {"type": [], "rate_mbps": [], "delay_ms": [], "goodput_mbps": []}
    styles = ("-", "--", ":")
    for kind in TYPES:
        for style, rate in zip(styles, data.labels("x2", "rate"), strict=False):
            delays = data.labels("x2", "delay")
            good = [data.estimate("x2", "goodput_bps", type=kind, rate=rate, delay=d).mean / 1e6 for d in delays]
            ax.plot(delays, good, style, color=COLOURS[kind], label=f"{kind}, {rate} Mbit/s")
            columns["type"].extend([kind] * len(delays))
            columns["rate_mbps"].extend([rate] * len(delays))
            columns["delay_ms"].extend(delays)
            columns["goodput_mbps"].extend(good)
    _label(ax, "X2 delay [ms]", "goodput [Mbit/s]")
    ax.legend(fontsize=6)
    caption = "Window of measure, retransmission queue of 512 kB."
    return Figure("x2", "X2 delay and rate", caption, fig, {"x2": columns})


def tables(evidence: Evidence) -> Iterable[TableView]:
    """The sweep in numbers, the stacks of today, AQM, and the outage."""
    data = evidence.of(evidence.main_set)
    head = ("goodput [Mbit/s]", "delay mean [ms]", "delay p95 [ms]", "lost [kB]", "queue [kB]", "timeouts")
    for group, axes, title in (
        ("sweep", ("type", "queue"), "Sweep of the retransmission queue"),
        ("enlarged", ("type", "queue"), "Enlarged receive buffer"),
        ("today", ("cc", "type", "queue"), "Stacks of today"),
        ("aqm", ("type", "aqm"), "CoDel in the eNB"),
    ):
        yield TableView(group, title, (*axes, *head), tuple(_rows(data, group, axes)))
    rows = []
    for users in data.labels("outage", "users"):

        def value(key: str, users: str = users) -> str:
            return f"{data.estimate('outage', key, users=users).mean:.2f}"

        rows.append((users, *(value(k) for k in ("reconnected", "median_return_s", "rejected", "timeouts_after"))))
    headers = ("admission", "users back", "median return [s]", "re-establishments refused", "timeouts of others")
    yield TableView("outage", "The neighbour fails at 30 s", headers, tuple(rows))


def _rows(data: Data, group: str, axes: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
    points = list(dict.fromkeys(tuple(r.point[a] for a in axes) for r in data.runs(group)))
    for point in points:
        at = dict(zip(axes, point, strict=True))

        def mean(key: str, scale: float, at: dict[str, Any] = at) -> str:
            return f"{data.estimate(group, key, **at).mean * scale:.2f}"

        yield (
            *point,
            mean("goodput_bps", 1e-6),
            mean("delay_mean_s", 1e3),
            mean("delay_p95_s", 1e3),
            mean("lost_bytes", 1e-3),
            mean("queue_bytes", 1e-3),
            mean("timeouts", 1.0),
        )


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
