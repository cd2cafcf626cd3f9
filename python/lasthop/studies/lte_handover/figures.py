"""Figures LH-1 to LH-4 and what our runs add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Data, Evidence, Figure
from lasthop.harness.drawing import decade_axis, doubling_axis, study_figure
from lasthop.harness.stats import Estimate
from lasthop.plot import OKABE_ITO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    yield interruption(evidence)
    yield drive_map(beyond)
    yield choice(beyond)
    yield backhaul(beyond)
    yield stacks(beyond)


def around_the_handover(data: Data, kind: str) -> Figure:
    """LH-1: window, goodput and segments around one handover."""
    shown = data.shown("sweep", type=kind, queue=SHOWN_KB).values
    fig = study_figure(4.3)
    window, good, seq = fig.subplots(3, 1, height_ratios=(1.0, 0.8, 1.6))
    t0 = shown.get("t0", 0.0)
    columns: dict[str, dict[str, Any]] = {}
    if "cwnd" in shown:
        colour = COLOURS[kind]
        window.step(shown["cwnd_t"], shown["cwnd"], where="post", color=colour, linewidth=0.8)
        good.step(shown["good_t"], shown["good_bps"] / 1e6, where="post", color=colour, linewidth=0.8)
        number = (shown["seq"] - np.nanmin(shown["seq"])) / 1e6 if len(shown["seq"]) else shown["seq"]
        for what, (label, mark, size, shade) in _marks(colour).items():
            moments = shown[f"seq_{what}_t"]
            if not np.isnan(moments).all():
                seq.plot(moments, number, mark, markersize=size, color=shade, label=label, linestyle="none")
        repeated = shown["seq_sent_t"][shown["again"] & (shown["seq_sent_t"] > t0)]
        seq.set_xlim(t0 - 1.0, min(max(t0 + 3.0, repeated.min() + 1.0 if len(repeated) else 0.0), t0 + 10.0))
        fig.legend(*seq.get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=5, markerscale=2)
        columns[f"lh1-{kind}-window"] = {"time_s": list(shown["cwnd_t"]), "cwnd": list(shown["cwnd"])}
        columns[f"lh1-{kind}-segments"] = {
            **{f"{what}_s": list(shown[f"seq_{what}_t"]) for what in _marks("")},
            "seq": list(shown["seq"]),
        }
    for ax, label in ((window, "cwnd\n[segments]"), (good, "received\n[Mbit/s]"), (seq, "segment [MB]")):
        ax.axvline(t0, color="black", linewidth=0.6, linestyle=":")
        ax.margins(x=0.01)
        _label(ax, "", label)
    good.sharex(window)
    good.set_xlabel("time [s], whole run", fontsize=8)
    seq.set_xlabel("time [s], around the handover", fontsize=8)
    title = f"LH-1: a {kind} handover, retransmission queue of {SHOWN_KB} kB"
    caption = (
        "The dotted line is the moment at which the UE leaves the source. Below, every segment that was sent, "
        "received, forwarded, discarded or dropped until TCP begins to repeat, each at its own moment: what is "
        "discarded at the handover had been sent up to seconds before."
    )
    return Figure(f"lh1-{kind}", title, caption, fig, columns)


def _marks(colour: str) -> dict[str, tuple[str, str, float, str]]:
    """What is drawn of a segment: label, marker, its size and colour."""
    return {
        "sent": ("sent", ".", 1.5, "#999999"),
        "received": ("received", ".", 1.5, colour),
        "forwarded": ("forwarded over X2", "_", 5.0, "#009e73"),
        "discarded": ("discarded at the handover", "_", 5.0, "black"),
        "dropped": ("dropped by the full queue", "v", 2.0, "#cc79a7"),
    }


def over_size(data: Data, name: str, title: str, what: dict[str, tuple[str, float]]) -> Figure:
    """A quantity over the size of the retransmission queue, both types."""
    fig = study_figure(0.5 + 1.95 * len(what))
    axes = np.atleast_1d(fig.subplots(len(what), 1, sharex=True))
    columns: dict[str, list[Any]] = {"type": [], "queue_kb": []}
    for ax, (key, (label, scale)) in zip(axes, what.items(), strict=True):
        columns[key] = []
        for kind in TYPES:
            sizes = data.labels("sweep", "queue")
            found = [data.estimate("sweep", key, type=kind, queue=q).scaled(scale) for q in sizes]
            _with_interval(ax, sizes, found, COLOURS[kind], kind)
            columns[key].extend(f.mean for f in found)
            if len(columns["type"]) < 2 * len(sizes):
                columns["type"].extend([kind] * len(sizes))
                columns["queue_kb"].extend(sizes)
        doubling_axis(ax, sizes)
        _label(ax, "", label)
        ax.set_ylim(bottom=0)
        ax.legend(fontsize=7)
    axes[-1].set_xlabel("retransmission queue [kB]", fontsize=8)
    caption = "Means and 95 % intervals over speeds; the window is 2 s before to 10 s after the handover."
    return Figure(name.lower(), f"{name}: {title}", caption, fig, {name.lower(): columns})


def load(data: Data) -> Figure:
    """LH-4: a sudden load, the mean of all runs and each UE of one."""
    fig = study_figure(4.4)
    axes = list(fig.subplots(2, 2).flat)
    added = data.labels("load", "added")
    parts = (
        ("bps", "{}_bps", "rate of a UE [Mbit/s]", 1e-6),
        ("rtt_s", "rtt_{}_s", "RTT of a UE [s]", 1.0),
        ("timeouts", "timeouts_{}", "timeouts of a UE\nin 15 s", 1.0),
        ("retransmits", "retransmits_{}", "retransmissions\nof a UE in 15 s", 1.0),
    )
    columns: dict[str, list[Any]] = {"added": [int(n) for n in added]}
    single: dict[str, list[Any]] = {"added": [], "when": [], "ue": [], **{key: [] for key, *_ in parts}}
    users = data.runs("load")[0].values["users"]
    for when, colour, aside in (("before", "#777777", -0.12), ("after", "#d55e00", 0.12)):
        places = np.arange(len(added)) + aside
        for ax, (key, name, _, scale) in zip(axes, parts, strict=True):
            each = scale / users if key in ("timeouts", "retransmits") else scale
            found = [data.estimate("load", name.format(when), added=n).scaled(each) for n in added]
            for place, n in zip(places, added, strict=True):
                of_one = [user[key] * scale for user in data.shown("load", added=n).values.get(when, ())]
                ax.plot([place] * len(of_one), of_one, ".", color=colour, markersize=3, alpha=0.5)
            spread = [f.half_width or 0.0 for f in found]
            ax.errorbar(
                places, [f.mean for f in found], spread, fmt="D", color=colour, markersize=5, capsize=3, label=when
            )
            columns[name.format(when)] = [f.mean for f in found]
        for n in added:
            for i, user in enumerate(data.shown("load", added=n).values.get(when, ())):
                row = {"added": int(n), "when": when, "ue": i, **{key: user[key] for key, *_ in parts}}
                for column, value in row.items():
                    single[column].append(value)
    for ax, (_, _, label, _) in zip(axes, parts, strict=True):
        ax.set_xticks(range(len(added)), [f"+{n}" for n in added])
        ax.set_xlim(-0.5, len(added) - 0.5)
        # A little below zero, so that the marks of counts of zero are drawn in full.
        top = max(ax.get_ylim()[1], 1.0)
        ax.set_ylim(bottom=-0.04 * top, top=top)
        _label(ax, "users that begin at 30 s", label)
    fig.legend(*axes[0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=2)
    caption = (
        "The ten users that download from the start. Rates and RTT: the 15 s before the step, and 15 s from 5 s after "
        "it on; counts: 15 s before and after it. Diamonds: the mean over all runs with its 95 % interval; dots: the "
        "single UEs of the first run, hidden where they are equal."
    )
    return Figure("lh4", "LH-4: sudden load", caption, fig, {"lh4": columns, "lh4-users": single})


def interruption(evidence: Evidence) -> Figure:
    """Distributions: how long no cell served the UE, and how long nothing arrived."""
    names = evidence.parameter_sets
    fig = study_figure(3.4)
    *served, silent = fig.subplots(1, len(names) + 1, sharey=True)
    columns: dict[str, list[Any]] = {"of": [], "milliseconds": []}

    def distribution(ax: Axes, of: str, label: str, values: Iterable[float], **style: Any) -> None:
        found = sorted(v * 1e3 for v in values if not np.isnan(v))
        if found:
            ax.step([0.0, *found], np.arange(len(found) + 1) / len(found), where="post", label=label, **style)
        columns["of"].extend([f"{of}, {label}"] * len(found))
        columns["milliseconds"].extend(found)

    for ax, name in zip(served, names, strict=True):
        found = evidence.of(name)
        styles = zip(found.labels("rrc", "messages"), INTERRUPTIONS, strict=False)
        for messages, (colour, line) in styles:
            runs = found.runs("rrc", messages=messages)
            times = (r.values["interruption_s"] for r in runs)
            distribution(ax, name, f"{messages}", times, color=colour, linestyle=line)
        ax.set_title(f"not served, set {name}", fontsize=8)
        _label(ax, "ms", "share of handovers" if ax is served[0] else "")
    main = evidence.of(evidence.main_set)
    for kind in TYPES:
        gaps = (r.values["gap_s"] for r in main.runs("sweep", type=kind))
        distribution(silent, "no packet", kind, gaps, color=COLOURS[kind])
    silent.set_xscale("log")
    decade_axis(silent.xaxis)
    silent.set_title(f"no packet arrives, set {evidence.main_set}", fontsize=8)
    _label(silent, "ms", "")
    silent.tick_params(which="both", labelsize=7)
    silent.legend(fontsize=7, loc="lower right")
    fig.legend(*served[0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=5)
    caption = (
        "Not served: from leaving the source to the last message at the target, begun in ten phases of a frame, by "
        "RRC's timing, the time for synchronisation, how often the target has a PRACH, and load. The random access "
        "response and the last message are sent over the air and may be lost. No packet: between the last packet "
        "before the handover and the first one after it, all sizes of the queue."
    )
    return Figure("interruption", "Interruption by a handover", caption, fig, {"interruption": columns})


#: Colour and line of each way that a handover's messages are made.
INTERRUPTIONS = (("#999999", "-"), ("#56b4e9", "-"), ("#0072b2", "-"), ("#e69f00", "--"), ("#d55e00", ":"))


def drive_map(data: Data) -> Figure:
    """The drive: where the car is served by which cell, what it measures, what it gets."""
    shown = data.shown("map").values
    fig = study_figure(4.4)
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
        "The car drives from the first cell (0 m) to the second (750 m). Solid: the target serves the car; dotted, and "
        "under the solid line where the handover takes less than a metre: the report is at the source."
    )
    return Figure("drive-map", "The drive", caption, fig, columns)


def choice(data: Data) -> Figure:
    """Call, game, web pages and download on shared and on split bearers."""
    names, breaks = data.labels("perbearer", "bearers"), data.labels("perbearer", "handover")
    fig = study_figure(4.0)
    axes = fig.subplots(1, 4)
    columns: dict[str, list[Any]] = {"bearers": [], "handover": []}
    styles = tuple(zip(("o", "s", "^", "v"), ("#56b4e9", "#0072b2", "#000000", "#d55e00"), strict=True))
    for ax, (key, label, scale) in zip(axes, USERS, strict=True):
        columns[key] = []
        for k, (broken, (mark, colour)) in enumerate(zip(breaks, styles, strict=False)):
            found = [data.estimate("perbearer", key, bearers=n, handover=broken).scaled(scale) for n in names]
            places = np.arange(len(names)) + (k - (len(breaks) - 1) / 2) * 0.2
            upper = [f.half_width or 0.0 for f in found]
            # None of these can be negative.
            lower = [min(u, f.mean) for u, f in zip(upper, found, strict=True)]
            ax.errorbar(
                [f.mean for f in found], places, xerr=(lower, upper), fmt=mark, color=colour, markersize=4,
                linewidth=0.8, label=broken,
            )  # fmt: skip
            columns[key].extend(f.mean for f in found)
            if key == USERS[0][0]:
                columns["bearers"].extend(names)
                columns["handover"].extend([broken] * len(names))
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names), fontsize=7)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(axis="y", linewidth=0.3)
        _label(ax, label, "")
    fig.legend(*axes[0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=len(breaks))
    caption = (
        "One UE with a call, a game, web pages and a download across a handover; retransmission queue of 1024 kB. "
        "Split: call and game have a bearer of their own (QCI 1), pages and download share a lossless one; "
        "split in three: pages have one too (QCI 6, lossless); not forwarded: the call's and game's bearer neither "
        "forwards nor waits for what is forwarded. The table below has what a bearer of its own brings to the call."
    )
    return Figure("choice", "The type of handover by bearer", caption, fig, {"choice": columns})


#: How the users of the group `perbearer` judge: value, label, scale.
USERS = (
    ("mos", "call: MOS", 1.0),
    ("game_unusable", "game: late or lost [%]", 100.0),
    ("page_s", "a page of 100 kB [s]", 1.0),
    ("goodput_bps", "download [Mbit/s]", 1e-6),
)


def backhaul(data: Data) -> Figure:
    """Goodput, delay and silence in the window over the delay of X2, by its rate."""
    delays, rates = data.labels("x2", "delay"), data.labels("x2", "rate")
    fig = study_figure(5.2)
    axes = fig.subplots(3, len(rates), sharex=True, sharey="row", squeeze=False)
    parts = (
        ("goodput_bps", "goodput [Mbit/s]", 1e-6),
        ("delay_mean_s", "mean segment\ndelay [s]", 1.0),
        ("gap_s", "no packet arrives\n[ms], median", 1e3),
    )
    columns: dict[str, list[Any]] = {"type": [], "rate_mbps": [], "delay_ms": []}
    for kind in TYPES:
        for column, rate in enumerate(rates):
            for row, (key, _, scale) in enumerate(parts):
                found = [data.estimate("x2", key, type=kind, rate=rate, delay=d).scaled(scale) for d in delays]
                if key == "gap_s":
                    # After a seamless handover a few runs receive nothing for seconds, until a
                    # timer of TCP's expires.
                    found = [Estimate.of([float(np.nanmedian(f.samples))]) for f in found]
                _with_interval(axes[row, column], delays, found, COLOURS[kind], kind)
                columns.setdefault(key, []).extend(f.mean for f in found)
                columns.setdefault(f"{key}_half_width", []).extend(f.half_width or 0.0 for f in found)
            columns["type"].extend([kind] * len(delays))
            columns["rate_mbps"].extend([rate] * len(delays))
            columns["delay_ms"].extend(delays)
    for column, rate in enumerate(rates):
        said = f"{rate} Mbit/s" if rate < 1000 else f"{rate / 1000:g} Gbit/s"
        axes[0, column].set_title(f"X2 of {said}", fontsize=8)
        for row, (_, label, _) in enumerate(parts):
            axes[row, column].set_xscale("log")
            decade_axis(axes[row, column].xaxis)
            axes[row, column].set_ylim(bottom=0)
            _label(axes[row, column], "X2 delay [ms]" if row == len(parts) - 1 else "", "" if column else label)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=2)
    caption = (
        "Window of measure, retransmission queue of 512 kB. Means and 95 % intervals over speeds; below, the median "
        "over speeds of the time between the last packet before the handover and the first one after it."
    )
    return Figure("x2", "X2 delay and rate", caption, fig, {"x2": columns})


def stacks(data: Data) -> Figure:
    """Goodput after a handover by TCP stack."""
    names = data.labels("today", "stack")
    fig = study_figure(3.0)
    axes = fig.subplots(1, 2, sharey=True)
    columns: dict[str, list[Any]] = {"stack": [], "type": [], "queue_kb": [], "after_mbps": []}
    sizes = data.labels("today", "queue")
    for ax, kind in zip(axes, TYPES, strict=True):
        lines = {"2.6.26, CUBIC": [data.estimate("sweep", "after_bps", type=kind, queue=q).mean / 1e6 for q in sizes]}
        for name in names:
            lines[name] = [
                data.estimate("today", "after_bps", stack=name, type=kind, queue=q).mean / 1e6 for q in sizes
            ]
        for (name, values), style, colour in zip(lines.items(), ("-", "--", "-.", ":"), OKABE_ITO, strict=False):
            ax.plot(sizes, values, style, color=colour, marker="o", markersize=3, label=f"Linux {name}")
            columns["stack"].extend([name] * len(sizes))
            columns["type"].extend([kind] * len(sizes))
            columns["queue_kb"].extend(sizes)
            columns["after_mbps"].extend(values)
        doubling_axis(ax, sizes)
        ax.set_ylim(bottom=0)
        ax.set_title(kind, fontsize=8)
        _label(ax, "retransmission queue [kB]", "Mbit/s in the 10 s\nafter the handover" if ax is axes[0] else "")
    fig.legend(*axes[0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=4)
    caption = "The stack of the slides beside those of today."
    return Figure("stacks", "Stacks of today", caption, fig, {"stacks": columns})


def _with_interval(ax: Axes, xs: Sequence[float], found: Sequence[Estimate], colour: str, label: str) -> None:
    """Means with a band of their 95 % intervals, cut at 0.

    No quantity drawn here can be negative.
    """
    low, high = np.maximum(0.0, [f.ci95 or (f.mean, f.mean) for f in found]).T
    ax.plot(xs, [f.mean for f in found], marker="o", markersize=3, color=colour, label=label)
    ax.fill_between(xs, low, high, color=colour, alpha=0.2, linewidth=0)


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
