"""Figures beyond the paper: congestion controls of today, CoDel, airtime fairness.

Also LTE and Wi-Fi side by side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from lasthop.harness import Data, Figure
from lasthop.harness.drawing import study_figure
from lasthop.studies.lte_vs_11ac.draw import (
    COLOURS,
    LABEL,
    against_rate,
    append,
    dress,
    grid,
    network_name,
    scale,
    titles,
    transport_name,
)
from lasthop.studies.lte_vs_11ac.model import FOUR, METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def beyond(data: Data) -> Figure:
    """The same for the congestion controls of today."""
    caption = (
        "Beyond the paper: CUBIC, BBR and BBRv3 on the study's TCP stack, and the stack of Linux 6 with CUBIC, beside "
        "NewReno, against the source rate of each station."
    )
    return against_rate(data, "beyond", "Congestion controls of today", caption)


def kernel(data: Data) -> Figure:
    """Controls of Linux: a real kernel's beside the simulated ones."""
    shown = ("thr", "dly", "loss")
    controls, networks = data.labels("kernel", "linux"), data.labels("kernel", "network")
    fig = study_figure(1.7 * len(shown) + 0.6)
    panels = fig.subplots(len(shown), len(networks), sharex="row", sharey=True, squeeze=False)
    columns: dict[str, list[Any]] = {
        k: [] for k in ("metric", "network", "stack", "control", "mean", "half_width", "n")
    }
    stacks = (("modelled", "simulated: profile linux-6", "#0072b2"), ("kernel", "a real kernel: Linux 6.1", "#d55e00"))
    for row, key in zip(panels, shown, strict=True):
        for ax, network in zip(row, networks, strict=True):
            for shift, (group, label, colour) in zip((-0.14, 0.14), stacks, strict=True):
                at = {"network": network}
                values = [data.estimate(group, METRICS[key].value, linux=c, **at) for c in controls]
                ax.errorbar(
                    [v.mean for v in values], np.arange(len(values)) + shift, fmt="o", color=colour, markersize=4,
                    xerr=[v.half_width or 0.0 for v in values], capsize=2, linewidth=1, label=label,
                )  # fmt: skip
                for c, v in zip(controls, values, strict=True):
                    append(
                        columns, metric=key, stack=group, control=c, mean=v.mean, half_width=v.half_width, n=v.n, **at
                    )
            dress(ax, LABEL[key], "")
        scale(row, key)
    for ax, network in zip(panels[0], networks, strict=True):
        ax.set_title(network_name(network), fontsize=8)
    panels[0][0].set_yticks(range(len(controls)), [transport_name(c) for c in controls])
    panels[0][0].set_ylim(len(controls) - 0.5, -0.5)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=7)
    caption = (
        "Beyond the paper: 8 Mbit/s a station, 1000 B. Controls of Linux in the simulated stack, and those of a real "
        "kernel between its sockets at the server and at all stations."
    )
    return Figure("kernel", "Controls of a real kernel", caption, fig, {"kernel": columns})


def queues(data: Data) -> Figure:
    """A queue with and without CoDel, at a load that fills it."""
    shown = ("thr", "dly", "loss")
    conditions = grid(data, "queue")
    kinds, transports = data.labels("queue", "queue"), data.labels("queue", "transport")
    fig = study_figure(1.7 * len(shown) + 0.6)
    panels = fig.subplots(len(shown), len(conditions), sharex="row", sharey=True, squeeze=False)
    columns: dict[str, list[Any]] = {
        k: [] for k in ("metric", "network", "size", "queue", "transport", "mean", "half_width", "n")
    }
    for row, key in zip(panels, shown, strict=True):
        for ax, (network, size) in zip(row, conditions, strict=True):
            for shift, colour, kind in zip((-0.14, 0.14), ("#555555", "#009e73"), kinds, strict=True):
                at = {"network": network, "size": size, "queue": kind}
                values = [data.estimate("queue", METRICS[key].value, transport=t, **at) for t in transports]
                ax.errorbar(
                    [v.mean for v in values], np.arange(len(values)) + shift, fmt="o", color=colour, markersize=4,
                    xerr=[v.half_width or 0.0 for v in values], capsize=2, linewidth=1,
                    label={"codel": "CoDel"}.get(kind, kind),
                )  # fmt: skip
                for t, v in zip(transports, values, strict=True):
                    append(columns, metric=key, transport=t, mean=v.mean, half_width=v.half_width, n=v.n, **at)
            dress(ax, LABEL[key], "")
        scale(row, key)
    titles(panels[0], conditions)
    panels[0][0].set_yticks(range(len(transports)), [transport_name(t) for t in transports])
    panels[0][0].set_ylim(len(transports) - 0.5, -0.5)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=7)
    caption = (
        "Beyond the paper: 8 Mbit/s a station. As it is: AM without end, UM 10 KiB, the access point one FIFO of 1000 "
        "packets. CoDel: on each RLC queue (target 5 ms, interval 100 ms) without a limit, FQ-CoDel in the AP."
    )
    return Figure("queues", "CoDel in front of the radio", caption, fig, {"queues": columns})


def side(data: Data) -> Figure:
    """LTE and Wi-Fi with stations at the same places.

    Metrics in columns, congestion controls in rows.
    """
    rates, transports = data.labels("side", "rate"), data.labels("side", "transport")
    fig = study_figure(1.7 * len(transports) + 0.8)
    panels = fig.subplots(len(transports), len(FOUR), sharex=True, sharey="col", squeeze=False)
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "transport", "rate", "mean", "half_width")}
    for row, transport in zip(panels, transports, strict=True):
        for ax, key in zip(row, FOUR, strict=True):
            for network in data.labels("side", "network"):
                at = {"network": network, "transport": transport}
                points = [data.estimate("side", METRICS[key].value, rate=r, **at) for r in rates]
                ax.errorbar(
                    [float(r) for r in rates], [p.mean for p in points], [p.half_width or 0.0 for p in points],
                    color=COLOURS[network], linewidth=1, marker=".", markersize=4, capsize=2,
                    label=network_name(network),
                )  # fmt: skip
                for r, p in zip(rates, points, strict=True):
                    append(columns, metric=key, rate=float(r), mean=p.mean, half_width=p.half_width, **at)
            _side_scale(ax, key)
            dress(ax, "", "")
            if transport == transports[0]:
                ax.set_title(LABEL[key].replace("\n", " "), fontsize=8)
            ax.set_xscale("log", base=2)
            ax.set_xticks([float(r) for r in rates], [f"{float(r):g}" for r in rates])
            ax.xaxis.set_minor_locator(NullLocator())
        row[0].set_ylabel(transport_name(transport), fontsize=8)
    for ax, key in zip(panels[0], FOUR, strict=True):
        if key != "dly":  # the panels of a column share their limits, which all lines have a say in
            ax.set_ylim(bottom=0)
    fig.supxlabel("source rate of a station [Mbit/s]", fontsize=8)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=7)
    caption = (
        "Beyond the paper: fourteen stations 1 to 20 m from eNB and access point, the same places for either, "
        "packets of 1000 B, against the source rate of each station; 95 % confidence intervals."
    )
    return Figure("side-by-side", "LTE and Wi-Fi side by side", caption, fig, {"side-by-side": columns})


def _side_scale(ax: Axes, key: str) -> None:
    if key == "dly":
        ax.set_yscale("log")
    elif key == "jit":
        ax.set_yscale("symlog", linthresh=0.1)
    else:
        return
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def airtime(data: Data) -> Figure:
    """What airtime fairness does: throughput, how even the time on the air is.

    Also each station's share in one run.
    """
    kinds, transports = data.labels("airtime", "queue"), data.labels("airtime", "transport")
    colours = ("#555555", "#009e73", "#cc79a7")
    fig = study_figure(2.8)
    panels = fig.subplots(1, 3, squeeze=False)[0]
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "queue", "transport", "mean", "half_width", "n")}
    places = np.arange(len(transports))
    shown = (("cell_mbps", "all stations together [Mbit/s]"), ("jain_airtime", "Jain's index of the time on the air"))
    for ax, (key, label) in zip(panels, shown, strict=False):
        for i, (kind, colour) in enumerate(zip(kinds, colours, strict=True)):
            values = [data.estimate("airtime", key, queue=kind, transport=t) for t in transports]
            ax.bar(
                places + 0.27 * (i - 1), [v.mean for v in values], 0.25, color=colour, capsize=2, label=kind,
                yerr=[v.half_width or 0.0 for v in values], error_kw={"linewidth": 0.8},
            )  # fmt: skip
            for t, v in zip(transports, values, strict=True):
                append(columns, metric=key, queue=kind, transport=t, mean=v.mean, half_width=v.half_width, n=v.n)
        ax.set_xticks(places, [transport_name(t) for t in transports])
        dress(ax, "", label)
        ax.set_ylim(0, None if key == "cell_mbps" else 1.05)
    stations: dict[str, list[Any]] = {k: [] for k in ("queue", "rate_mbps", "goodput_mbps")}
    for kind, colour, mark in zip(kinds, colours, ("o", "^", "s"), strict=True):
        each = data.shown("airtime", queue=kind, transport=transports[0]).values["stations"]
        rate = each.get("rate_mbps", [math.nan] * len(each["goodput_mbps"]))
        panels[2].plot(rate, each["goodput_mbps"], mark, color=colour, markersize=4, fillstyle="none", label=kind)
        append(stations, queue=[kind] * len(rate), rate_mbps=rate, goodput_mbps=each["goodput_mbps"])
    dress(panels[2], "rate of a station's PPDUs [Mbit/s]", f"its throughput [Mbit/s], {transport_name(transports[0])}")
    panels[2].set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=7)
    caption = (
        "Beyond the paper: fourteen stations 1 to 60 m from the access point, each at the rate that its distance "
        "allows, 8 Mbit/s offered to each. Airtime fairness gives stations the same time on the air, the others the "
        "same turns. Left and middle: 95 % confidence intervals; right: the run with seed 1."
    )
    return Figure("airtime", "Airtime fairness", caption, fig, {"airtime": columns, "airtime-stations": stations})
