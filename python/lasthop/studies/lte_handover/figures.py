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
    delays = {"delay_mean_s": ("mean delay [s]", 1.0), "delay_p95_s": ("95th percentile [s]", 1.0)}
    yield over_size(data, "LH-3", "segment delay in the window", delays)
    yield load(data)
    # What our runs add is made under one parameter set.
    if "paper" not in evidence.parameter_sets:
        return
    beyond = evidence.of("paper")
    yield interruption(data, beyond)
    yield drive_map(beyond)
    yield choice(beyond)
    yield backhaul(beyond)
    yield stacks(beyond)


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
        marks = (
            ("sent", ".", 1.5, "#999999"),
            ("received", ".", 1.5, colour),
            ("forwarded", "|", 3.0, "#009e73"),
            ("discarded", "x", 3.0, "black"),
        )
        for what, mark, size, shade in marks:
            if not np.isnan(shown[f"seq_{what}_t"]).all():
                label = {"forwarded": "forwarded over X2", "discarded": "discarded"}.get(what, what)
                seq.plot(shown[f"seq_{what}_t"], number, mark, markersize=size, color=shade, label=label)
        seq.legend(fontsize=7, loc="upper left")
        columns[f"lh1-{kind}-window"] = {"time_s": list(shown["cwnd_t"]), "cwnd": list(shown["cwnd"])}
        columns[f"lh1-{kind}-segments"] = {
            "sent_s": list(shown["seq_sent_t"]),
            "received_s": list(shown["seq_received_t"]),
            "forwarded_s": list(shown["seq_forwarded_t"]),
            "discarded_s": list(shown["seq_discarded_t"]),
            "seq": list(shown["seq"]),
        }
    for ax, label in ((window, "cwnd [segments]"), (good, "received [Mbit/s]"), (seq, "segment [MB]")):
        ax.axvline(t0, color="black", linewidth=0.6, linestyle=":")
        _label(ax, "", label)
    seq.set_xlabel("time [s]", fontsize=8)
    title = f"LH-1: a {kind} handover, retransmission queue of {SHOWN_KB} kB"
    caption = (
        "The dotted line is the moment at which the UE leaves the source. What was sent and neither received nor "
        "discarded was dropped by the full queue."
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
    fig = MplFigure(figsize=(6.4, 4.8), layout="constrained")
    (rate, rtt), (late, again) = fig.subplots(2, 2)
    added = data.labels("load", "added")
    numbers = [int(n) for n in added]
    pairs = (("before", "#999999"), ("after", "#d55e00"))
    columns: dict[str, list[Any]] = {"added": numbers}
    for when, colour in pairs:
        bps = [data.estimate("load", f"{when}_bps", added=n).mean / 1e6 for n in added]
        seconds = [data.estimate("load", f"rtt_{when}_s", added=n).mean for n in added]
        rate.plot(numbers, bps, marker="o", color=colour, label=when)
        rtt.plot(numbers, seconds, marker="o", color=colour, label=when)
        columns[f"{when}_mbps"], columns[f"rtt_{when}_s"] = bps, seconds
        for ax, what in ((late, "timeouts"), (again, "retransmits")):
            counts = [data.estimate("load", f"{what}_{when}", added=n).mean for n in added]
            ax.plot(numbers, counts, marker="o", color=colour, label=when)
            columns[f"{what}_{when}"] = counts
    _label(rate, "users that begin at 30 s", "rate of a user [Mbit/s]")
    _label(rtt, "users that begin at 30 s", "RTT [s]")
    _label(late, "users that begin at 30 s", "timeouts in 15 s")
    _label(again, "users that begin at 30 s", "retransmissions in 15 s")
    for ax in (rate, rtt, late, again):
        ax.set_ylim(0, max(ax.get_ylim()[1], 1.0))
    rate.legend(fontsize=7)
    caption = "The ten users that download from the start: 15 s before the step, and 15 s from 5 s after it on."
    return Figure("lh4", "LH-4: sudden load", caption, fig, {"lh4": columns})


def interruption(data: Data, beyond: Data) -> Figure:
    """Distributions: how long nobody served the UE, and how long nothing arrived."""
    fig = MplFigure(figsize=(6.8, 3.0), layout="constrained")
    served, silent = fig.subplots(1, 2, sharey=True)
    columns: dict[str, list[Any]] = {"of": [], "milliseconds": []}

    def distribution(ax: Axes, label: str, values: Iterable[float], **style: Any) -> None:
        found = sorted(v * 1e3 for v in values if not np.isnan(v))
        if found:
            ax.step([found[0], *found], np.arange(len(found) + 1) / len(found), where="post", label=label, **style)
        columns["of"].extend([label] * len(found))
        columns["milliseconds"].extend(found)

    for messages, style in zip(beyond.labels("rrc", "messages"), ("-", "--", ":"), strict=False):
        runs = beyond.runs("rrc", messages=messages)
        distribution(served, f"{messages}", (r.values["interruption_s"] for r in runs), color="black", linestyle=style)
    for kind in TYPES:
        runs = data.runs("sweep", type=kind)
        distribution(silent, kind, (r.values["gap_s"] for r in runs), color=COLOURS[kind])
    silent.set_xscale("log")
    _label(served, "not served [ms]", "share of handovers")
    _label(silent, "no packet arrives [ms]", "")
    for ax in (served, silent):
        ax.legend(fontsize=7)
    caption = (
        "Left: from leaving the source to the last message at the target, by RRC's timing and the time for "
        "synchronisation. Right: between the last packet before the handover and the first one after it, all sizes "
        "of the queue."
    )
    return Figure("interruption", "Interruption by a handover", caption, fig, {"interruption": columns})


def drive_map(data: Data) -> Figure:
    """The drive: where the car is served by which cell, what it measures, what it gets."""
    shown = data.shown("map").values
    fig = MplFigure(figsize=(6.4, 5.6), layout="constrained")
    place, power, rate = fig.subplots(3, 1, sharex=True, height_ratios=(0.7, 1.5, 1.0))
    columns: dict[str, dict[str, Any]] = {}
    if "place_x" in shown:
        x, cells = shown["place_x"], np.asarray(shown["place_cell"])
        colours = dict(zip(sorted(set(cells)), ("#0072b2", "#d55e00"), strict=False))
        for cell, colour in colours.items():
            mine = cells == cell
            place.plot(x[mine], shown["place_y"][mine], ".", markersize=3, color=colour, label=f"served by {cell}")
            measured = np.asarray(shown["measured_cell"]) == cell
            where = np.interp(shown["measured_t"][measured], shown["place_t"], x)
            power.plot(where, shown["rsrp_dbm"][measured], color=colour, linewidth=1, label=f"RSRP of {cell}")
        rate.plot(
            np.interp(shown["rate_t"], shown["place_t"], x), shown["rate_bps"] / 1e6, color="black", linewidth=0.8
        )
        for t, kind in zip(shown["event_t"], shown["event_kind"], strict=True):
            if kind in ("handover-preparation", "handover-complete"):
                at = float(np.interp(t, shown["place_t"], x))
                style = ":" if kind == "handover-preparation" else "-"
                for ax in (place, power, rate):
                    ax.axvline(at, color="black", linewidth=0.6, linestyle=style)
        place.legend(fontsize=7, loc="upper left", ncols=2)
        power.legend(fontsize=7)
        columns["drive-places"] = {
            "time_s": list(shown["place_t"]),
            "x_m": list(x),
            "y_m": list(shown["place_y"]),
            "cell": list(cells),
        }
        columns["drive-measurements"] = {
            "time_s": list(shown["measured_t"]),
            "cell": list(shown["measured_cell"]),
            "rsrp_dbm": list(shown["rsrp_dbm"]),
            "rsrq_db": list(shown["rsrq_db"]),
        }
    place.set_ylim(-10, 40)
    _label(place, "", "north [m]")
    _label(power, "", "dBm")
    _label(rate, "metres east of the first cell", "downlink [Mbit/s]")
    caption = (
        "The car drives from the first cell (0 m) to the second (750 m). Dotted: the report is at the source; solid: "
        "the target serves the car."
    )
    return Figure("drive-map", "The drive", caption, fig, columns)


def choice(data: Data) -> Figure:
    """May applications choose? Call, game, web pages and download on shared and split bearers."""
    names = data.labels("perbearer", "bearers")
    fig = MplFigure(figsize=(7.2, 2.6), layout="constrained")
    axes = fig.subplots(1, 4)
    columns: dict[str, list[Any]] = {"bearers": list(names)}
    parts = (
        ("mos", "call: MOS", 1.0),
        ("game_unusable", "game: late or lost [%]", 100.0),
        ("page_s", "a page of 100 kB [s]", 1.0),
        ("goodput_bps", "download [Mbit/s]", 1e-6),
    )
    for ax, (key, label, scale) in zip(axes, parts, strict=True):
        found = [data.estimate("perbearer", key, bearers=n).scaled(scale) for n in names]
        values = [f.mean for f in found]
        spread = [(f.ci95[1] - f.ci95[0]) / 2 if f.ci95 else 0.0 for f in found]
        ax.barh(range(len(names)), values, xerr=spread, color="#0072b2", error_kw={"linewidth": 0.8})
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names), fontsize=7)
        ax.invert_yaxis()
        _label(ax, label, "")
        columns[key] = values
    caption = (
        "One UE with a call, a game, web pages and a download across a handover; retransmission queue of 1024 kB. "
        "Split: call and game have a bearer of their own (QCI 1), pages and download share a lossless one; "
        "split in three: pages have one too (QCI 6, lossless)."
    )
    return Figure("choice", "The type of handover by bearer", caption, fig, {"choice": columns})


def backhaul(data: Data) -> Figure:
    """Goodput and delay in the window over the delay of X2, by its rate."""
    fig = MplFigure(figsize=(6.8, 3.2), layout="constrained")
    axes = fig.subplots(1, 2)
    columns: dict[str, list[Any]] = {"type": [], "rate_mbps": [], "delay_ms": [], "goodput_mbps": [], "segment_ms": []}
    delays, rates = data.labels("x2", "delay"), data.labels("x2", "rate")
    for kind in TYPES:
        for style, rate in zip(("-", "--", ":"), rates, strict=False):
            at = [{"type": kind, "rate": rate, "delay": d} for d in delays]
            good = [data.estimate("x2", "goodput_bps", **a).mean / 1e6 for a in at]
            segment = [data.estimate("x2", "delay_mean_s", **a).mean * 1e3 for a in at]
            for ax, values in zip(axes, (good, segment), strict=True):
                ax.plot(delays, values, style, color=COLOURS[kind], label=f"{kind}, {rate} Mbit/s")
            columns["type"].extend([kind] * len(delays))
            columns["rate_mbps"].extend([rate] * len(delays))
            columns["delay_ms"].extend(delays)
            columns["goodput_mbps"].extend(good)
            columns["segment_ms"].extend(segment)
    for ax, label in zip(axes, ("goodput [Mbit/s]", "mean segment delay [ms]"), strict=True):
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        _label(ax, "X2 delay [ms]", label)
    axes[0].legend(fontsize=6)
    caption = "Window of measure, retransmission queue of 512 kB, by the rate of X2."
    return Figure("x2", "X2 delay and rate", caption, fig, {"x2": columns})


def stacks(data: Data) -> Figure:
    """Goodput after a handover by TCP stack."""
    names = data.labels("today", "stack")
    fig = MplFigure(figsize=(6.8, 3.0), layout="constrained")
    axes = fig.subplots(1, 2, sharey=True)
    columns: dict[str, list[Any]] = {"stack": [], "type": [], "queue_kb": [], "after_mbps": []}
    sizes = data.labels("today", "queue")
    for ax, kind in zip(axes, TYPES, strict=True):
        lines = {"2.6.26, CUBIC": [data.estimate("sweep", "after_bps", type=kind, queue=q).mean / 1e6 for q in sizes]}
        for name in names:
            lines[name] = [
                data.estimate("today", "after_bps", stack=name, type=kind, queue=q).mean / 1e6 for q in sizes
            ]
        for (name, values), style in zip(lines.items(), ("-", "--", "-.", ":"), strict=False):
            ax.plot(sizes, values, style, marker="o", markersize=3, label=name)
            columns["stack"].extend([name] * len(sizes))
            columns["type"].extend([kind] * len(sizes))
            columns["queue_kb"].extend(sizes)
            columns["after_mbps"].extend(values)
        ax.set_xscale("log", base=2)
        ax.set_ylim(bottom=0)
        ax.set_title(kind, fontsize=8)
        _label(ax, "retransmission queue [kB]", "Mbit/s in 10 s after the handover" if ax is axes[0] else "")
    axes[0].legend(fontsize=6)
    caption = "The stack of the slides beside those of today."
    return Figure("stacks", "Stacks of today", caption, fig, {"stacks": columns})


def tables(evidence: Evidence) -> Iterable[TableView]:
    """The sweep in numbers, the stacks of today, AQM, triggers, conditional handover, and the outage."""
    head = ("goodput [Mbit/s]", "delay mean [ms]", "delay p95 [ms]", "lost [kB]", "queue [kB]", "timeouts")
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
        yield TableView(f"sweep-{parameter_set}", title, ("type", "queue", *head), rows)
    if "paper" not in evidence.parameter_sets:
        return
    data = evidence.of("paper")
    for group, axes, title in (
        ("enlarged", ("type", "queue"), "Enlarged receive buffer"),
        ("today", ("stack", "type", "queue"), "Other stacks"),
        ("aqm", ("type", "aqm"), "CoDel in the eNB"),
    ):
        yield TableView(group, title, (*axes, *head), tuple(_rows(data, group, axes, keys)))
    counted = (("handovers", 1.0), ("ping_pong", 1.0), ("failures", 1.0), ("too_late", 1.0), ("goodput_bps", 1e-6))
    headers: tuple[str, ...] = (
        "hysteresis [dB]",
        "time-to-trigger [ms]",
        "handovers",
        "ping-pong",
        "link failures",
        "too late",
        "Mbit/s",
    )
    rows = tuple(_rows(data, "trigger", ("hysteresis", "ttt"), counted))
    yield TableView("trigger", "Hysteresis and time-to-trigger under shadowing", headers, rows)
    early = (("handovers", 1.0), ("failures", 1.0), ("interruption_s", 1e3), ("gap_s", 1e3), ("after_bps", 1e-6))
    headers = (
        "who decides",
        "X2 [ms]",
        "km/h",
        "handovers",
        "link failures",
        "not served [ms]",
        "no packet [ms]",
        "Mbit/s",
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


def _rows(
    data: Data, group: str, axes: tuple[str, ...], keys: tuple[tuple[str, float], ...]
) -> Iterable[tuple[Any, ...]]:
    points = list(dict.fromkeys(tuple(r.point[a] for a in axes) for r in data.runs(group)))
    for point in points:
        at = dict(zip(axes, point, strict=True))
        yield (*point, *(f"{data.estimate(group, key, **at).mean * scale:.2f}" for key, scale in keys))


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
