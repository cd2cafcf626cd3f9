"""Small multiples that can be read: every variant in every condition, one variant at a time, groups, load."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator, ScalarFormatter

from lasthop.harness import Data, Evidence, Figure, NoRunsError
from lasthop.studies.lte_vs_11ac.model import FOUR, GROUPS, METRICS, NETWORKS, SIZES, TODAY, VARIANTS, variants_of
from lasthop.studies.lte_vs_11ac.spread import spread
from lasthop.studies.lte_vs_11ac.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from lasthop.harness.stats import Estimate

__all__ = ["figures", "tables"]

#: Colour by network and filled or hollow by size: the same in every figure.
COLOURS = {"lte-am": "#0072b2", "lte-um": "#d55e00", "11ac": "#009e73"}
FILLS = {1000: "full", 3000: "none"}
#: Lines of variants: colour by group, dashes within it.
GROUP_COLOURS = {"loss-based": "#0072b2", "delay-based": "#d55e00", "loss-delay-based": "#009e73"}
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
#: The paper's figures that compare a group, per network.
GROUP_FIGURES = {
    "loss-based": ("8", "9"),
    "delay-based": ("13", "14"),
    "loss-delay-based": ("17", "18"),
}
LABEL = {"thr": "throughput\n[Mbit/s]", "loss": "loss", "dly": "delay [ms]", "jit": "jitter [ms]"}


def figures(evidence: Evidence) -> Iterable[Figure]:
    """Every figure that this form of the study has runs for."""
    for s in _main_first(evidence):
        yield overview(evidence.of(s))
    data = evidence.of(evidence.main_set)
    for cc in VARIANTS:
        with contextlib.suppress(NoRunsError):
            yield variant(data, cc)
    for group in GROUPS:
        yield comparison(data, group)
    with contextlib.suppress(NoRunsError):
        yield load(data)
        yield parting(data)
    with contextlib.suppress(NoRunsError):
        yield beyond(data)
        yield queues(data)


def overview(data: Data) -> Figure:
    """Four metrics in rows, conditions in columns, a dot with its interval for each variant."""
    conditions = _conditions(data)
    present = [cc for cc in VARIANTS if cc in data.labels("variants", "cc")]
    fig = MplFigure(figsize=(2.0 + 1.9 * len(conditions), 2.1 * len(FOUR)), layout="constrained")
    panels = fig.subplots(len(FOUR), len(conditions), sharex="row", sharey=True, squeeze=False)
    columns: dict[str, list[Any]] = {
        k: [] for k in ("metric", "network", "size", "cc", "mean", "ci95_low", "ci95_high", "n")
    }
    for row, key in zip(panels, FOUR, strict=True):
        for ax, (network, size) in zip(row, conditions, strict=True):
            values = [_value(data, key, cc, network, size) for cc in present]
            _dots(ax, [v.mean for v in values], [v.half_width or 0.0 for v in values], network, size)
            for cc, v in zip(present, values, strict=True):
                low, high = v.ci95 or (v.mean, v.mean)
                _append(
                    columns, metric=key, network=network, size=size, cc=cc, mean=v.mean,
                    ci95_low=low, ci95_high=high, n=v.n,
                )  # fmt: skip
        row[0].set_ylabel(LABEL[key], fontsize=8)
        _scale(row, key)
    _titles(panels[0], conditions)
    first = panels[0][0]
    first.set_yticks(range(len(present)), [VARIANTS[cc][0] for cc in present])
    first.set_ylim(len(present) - 0.5, -0.5)
    name = f"overview-{data.parameter_set.name}"
    caption = (
        f"Means over the stations of every variant in every condition, parameter set {data.parameter_set.name}, with "
        "95 % confidence intervals; the scale is shared along a row, and logarithmic for loss (linear below 1e-4) and "
        "jitter. Filled: 1000 B, hollow: 3000 B."
    )
    return Figure(name, f"Overview ({data.parameter_set.name})", caption, fig, {name: columns})


def variant(data: Data, cc: str) -> Figure:
    """One of the paper's figures 2-7, 10-12, 15, 16: averages above, time series below."""
    title, number, _ = VARIANTS[cc]
    conditions = _conditions(data)
    fig = MplFigure(figsize=(9.4, 4.0), layout="constrained")
    panels = fig.subplots(2, len(FOUR), squeeze=False)
    averages: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "mean", "half_width", "n")}
    lines: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "time_s", "value")}
    for upper, lower, key in zip(*panels, FOUR, strict=True):
        for x, (network, size) in enumerate(conditions):
            v = _value(data, key, cc, network, size)
            fill = COLOURS[network] if FILLS[size] == "full" else "white"
            upper.bar(x, v.mean, 0.7, color=fill, edgecolor=COLOURS[network], yerr=v.half_width or 0.0, capsize=2)
            _append(averages, metric=key, network=network, size=size, mean=v.mean, half_width=v.half_width, n=v.n)
            with contextlib.suppress(NoRunsError):
                trace = data.shown("series", cc=cc, network=network, size=size).values["series"]
                style = "-" if FILLS[size] == "full" else "--"
                time = trace["time_s"] + 0.5
                lower.plot(time, trace[key], style, color=COLOURS[network], linewidth=1)
                known = [None if math.isnan(y) else float(y) for y in trace[key]]
                _append(
                    lines, metric=[key] * len(time), network=[network] * len(time), size=[size] * len(time),
                    time_s=trace["time_s"].tolist(), value=known,
                )  # fmt: skip
        labels = [f"{_network(n).replace('LTE ', '')}\n{s}" for n, s in conditions]
        upper.set_xticks(range(len(conditions)), labels)
        _dress(upper, "", LABEL[key].replace("\n", " "))
        _dress(lower, "time [s]", LABEL[key].replace("\n", " "))
        upper.set_ylim(bottom=0)
        lower.set_ylim(bottom=0)
    caption = (
        f"{title}: means over the stations with 95 % confidence intervals (above), and the run with seed 1 in bins of "
        "1 s (below; solid: 1000 B, dashed: 3000 B). Blue: LTE AM, orange: LTE UM, green: 802.11ac."
    )
    name = f"fig{number}-{cc}"
    return Figure(name, f"Figure {number}: {title}", caption, fig, {name: averages, f"{name}-series": lines})


def comparison(data: Data, group: str) -> Figure:
    """The paper's comparison of a group: four metrics, AM and UM beside each other."""
    present = [cc for cc in variants_of(group) if cc in data.labels("variants", "cc")]
    networks = data.labels("variants", "network")
    fig = MplFigure(figsize=(9.4, 1.6 * len(networks) + 0.6), layout="constrained")
    panels = fig.subplots(len(networks), len(FOUR), sharex=True, squeeze=False)
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "cc", "mean", "half_width")}
    for row, network in zip(panels, networks, strict=True):
        for ax, key in zip(row, FOUR, strict=True):
            for shift, size in ((-0.2, 1000), (0.2, 3000)):
                values = [_value(data, key, cc, network, size) for cc in present]
                fill = COLOURS[network] if FILLS[size] == "full" else "white"
                ax.bar(
                    np.arange(len(present)) + shift, [v.mean for v in values], 0.36, color=fill,
                    edgecolor=COLOURS[network], yerr=[v.half_width or 0.0 for v in values], capsize=2, linewidth=0.8,
                )  # fmt: skip
                for cc, v in zip(present, values, strict=True):
                    _append(
                        columns, metric=key, network=network, size=size, cc=cc, mean=v.mean, half_width=v.half_width
                    )
            _dress(ax, "", LABEL[key].replace("\n", " ") if network == networks[0] else "")
            ax.set_xticks(range(len(present)), [VARIANTS[cc][0] for cc in present], rotation=45, ha="right")
            ax.set_ylim(bottom=0)
        row[0].set_ylabel(f"{_network(network)}\n{row[0].get_ylabel()}", fontsize=8)
    numbers = " and ".join(GROUP_FIGURES[group])
    caption = (
        f"The {group} variants. Filled: 1000 B, hollow: 3000 B; 95 % confidence intervals. Each panel has its own "
        "scale, from zero."
    )
    name = f"fig{'-'.join(GROUP_FIGURES[group])}"
    return Figure(name, f"Figures {numbers}: {group}", caption, fig, {name: columns})


def load(data: Data) -> Figure:
    """Where the variants part: every metric against the source rate, a line for each variant and UDP."""
    caption = "Every metric against the source rate of each of the 14 stations; means over stations and seeds."
    return _against_rate(data, "load", "Load sweep", caption)


def beyond(data: Data) -> Figure:
    """The same for the congestion controls of today."""
    caption = (
        "Beyond the paper: CUBIC, BBR and BBRv3 on the study's TCP stack, and the stack of Linux 6 with CUBIC, beside "
        "NewReno, against the source rate of each station."
    )
    return _against_rate(data, "beyond", "Congestion controls of today", caption)


def queues(data: Data) -> Figure:
    """A queue with and without CoDel, at a load that fills it."""
    shown = ("thr", "dly", "loss")
    conditions = _grid(data, "queue")
    kinds, transports = data.labels("queue", "queue"), data.labels("queue", "transport")
    fig = MplFigure(figsize=(1.2 + 2.0 * len(conditions), 1.7 * len(shown) + 0.6), layout="constrained")
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
                    xerr=[v.half_width or 0.0 for v in values], capsize=2, linewidth=1, label=kind,
                )  # fmt: skip
                for t, v in zip(transports, values, strict=True):
                    _append(columns, metric=key, transport=t, mean=v.mean, half_width=v.half_width, n=v.n, **at)
            _dress(ax, LABEL[key].replace("\n", " "), "")
        _scale(row, key)
    _titles(panels[0], conditions)
    panels[0][0].set_yticks(range(len(transports)), [_name(t) for t in transports])
    panels[0][0].set_ylim(len(transports) - 0.5, -0.5)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=8)
    caption = (
        "Beyond the paper: 8 Mbit/s a station, the RLC queue as the study has it (AM without end, UM 10 KiB) and with "
        "CoDel (target 5 ms, interval 100 ms) and no limit."
    )
    return Figure("queues", "CoDel in front of the radio", caption, fig, {"queues": columns})


def _against_rate(data: Data, group: str, title: str, caption: str) -> Figure:
    rates = [float(r) for r in data.labels(group, "rate")]
    conditions = _grid(data, group)
    transports = data.labels(group, "transport")
    fig = MplFigure(figsize=(1.2 + 2.2 * len(conditions), 2.0 * len(FOUR) + 0.8), layout="constrained")
    panels = fig.subplots(len(FOUR), len(conditions), sharex=True, sharey="row", squeeze=False)
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "transport", "rate", "mean", "n")}
    for row, key in zip(panels, FOUR, strict=True):
        for ax, (network, size) in zip(row, conditions, strict=True):
            for transport in transports:
                at = {"network": network, "size": size, "transport": transport}
                points = [data.estimate(group, METRICS[key].value, rate=r, **at) for r in data.labels(group, "rate")]
                line = _line(transport) if group == "load" else _today(transport)
                ax.plot(rates, [p.mean for p in points], marker=".", markersize=3, **line)
                for rate, p in zip(rates, points, strict=True):
                    _append(columns, metric=key, rate=rate, mean=p.mean, n=p.n, **at)
            ax.set_xscale("log", base=2)
            if key in ("dly", "jit"):
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
                ax.yaxis.set_minor_formatter(NullFormatter())
            _dress(ax, "", LABEL[key].replace("\n", " ") if (network, size) == conditions[0] else "")
            ax.set_xticks(rates, [f"{r:g}" for r in rates])
            ax.xaxis.set_minor_locator(NullLocator())
    _titles(panels[0], conditions)
    fig.supxlabel("source rate of a station [Mbit/s]", fontsize=8)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False, fontsize=7)
    return Figure(group, title, caption, fig, {group: columns})


def parting(data: Data) -> Figure:
    """How far apart the eleven variants are, against the source rate."""
    rates = data.labels("load", "rate")
    conditions = _grid(data, "load")
    present = [t for t in data.labels("load", "transport") if t in VARIANTS]
    fig = MplFigure(figsize=(9.4, 2.6), layout="constrained")
    panels = fig.subplots(1, len(FOUR), squeeze=False)[0]
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "rate", "spread_percent", "apart")}
    for ax, key in zip(panels, FOUR, strict=True):
        for network, size in conditions:
            found = [
                spread(
                    {
                        t: data.estimate(
                            "load", METRICS[key].value, rate=r, transport=t, size=size, network=network
                        )
                        for t in present
                    },
                    METRICS[key].equal_percent,
                )
                for r in rates
            ]  # fmt: skip
            ax.plot(
                [float(r) for r in rates], [s.percent for s in found], marker="o", markersize=4, linewidth=1,
                color=COLOURS[network], fillstyle=FILLS[size], label=f"{_network(network)}, {size} B",
            )  # fmt: skip
            for r, s in zip(rates, found, strict=True):
                _append(
                    columns, metric=key, network=network, size=size, rate=float(r), spread_percent=s.percent,
                    apart=s.apart,
                )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_xticks([float(r) for r in rates], [f"{float(r):g}" for r in rates])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_title(METRICS[key].name, fontsize=8)
        _dress(ax, "source rate [Mbit/s]", "spread of the variants [%]" if key == "thr" else "")
        ax.set_ylim(bottom=0)
    panels[0].legend(frameon=False, fontsize=7)
    caption = (
        "Largest minus smallest mean of the eleven variants, as a share of their mean, against the source rate: where "
        "the curve is flat near zero the choice of the variant does not matter."
    )
    return Figure("parting", "Where the variants part", caption, fig, {"parting": columns})


def _value(data: Data, key: str, cc: str, network: str, size: int) -> Estimate:
    return data.estimate("variants", METRICS[key].value, cc=cc, network=network, size=size)


def _conditions(data: Data) -> list[tuple[str, int]]:
    return [(n, s) for n in data.labels("variants", "network") for s in SIZES.values()]


def _grid(data: Data, group: str) -> list[tuple[str, int]]:
    return [(n, s) for n in data.labels(group, "network") for s in data.labels(group, "size")]


def _titles(row: Iterable[Axes], conditions: Sequence[tuple[str, int]]) -> None:
    for ax, (network, size) in zip(row, conditions, strict=True):
        ax.set_title(f"{_network(network)}, {size} B", fontsize=8)


def _name(transport: str) -> str:
    return TODAY[transport][0] if transport in TODAY else VARIANTS[transport][0]


def _today(transport: str) -> dict[str, Any]:
    title, colour = TODAY[transport]
    return {"color": colour, "linewidth": 1.2, "label": title}


def _network(label: str) -> str:
    return next(name for n, name in NETWORKS.values() if n == label)


def _line(transport: str) -> dict[str, Any]:
    if transport not in VARIANTS:
        return {"color": "#000000", "linewidth": 1.4, "label": transport.upper()}
    title, _, group = VARIANTS[transport]
    dashes = DASHES[variants_of(group).index(transport)]
    return {"color": GROUP_COLOURS[group], "linestyle": dashes, "linewidth": 1, "label": title}


def _dots(ax: Axes, means: Sequence[float], halves: Sequence[float], network: str, size: int) -> None:
    ax.errorbar(
        means, range(len(means)), xerr=halves, fmt="o", color=COLOURS[network], fillstyle=FILLS[size],  # type: ignore[arg-type]
        markersize=4, capsize=2, linewidth=1,
    )  # fmt: skip
    _dress(ax, "", "")


def _scale(row: Sequence[Axes], key: str) -> None:
    """The scale of a row of dots, once all of them are there: its panels share an axis and its limits."""
    ax = row[0]
    if key == "loss":
        ax.set_xscale("symlog", linthresh=1e-4)
        ax.set_xlim(left=0)
        ax.set_xticks([0, 1e-4, 1e-3, 1e-2, 1e-1], ["0", "1e-4", "1e-3", "1e-2", "0.1"])
        ax.xaxis.set_minor_locator(NullLocator())
        return
    if key == "jit":
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        return
    ax.set_xlim(0, 1.06 * max(a.dataLim.x1 for a in row))
    ax.xaxis.set_major_locator(MaxNLocator(4))
    plain = ScalarFormatter(useOffset=False)
    plain.set_powerlimits((-3, 5))
    ax.xaxis.set_major_formatter(plain)


def _dress(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7, which="both")
    ax.xaxis.get_offset_text().set_fontsize(7)
    ax.yaxis.get_offset_text().set_fontsize(7)
    ax.grid(True, color="#e0e0e0", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _append(columns: dict[str, list[Any]], **more: Any) -> None:
    for name, value in more.items():
        if isinstance(value, list):
            columns[name] += value
        else:
            columns[name].append(value)


def _main_first(evidence: Evidence) -> list[str]:
    return sorted(evidence.parameter_sets, key=lambda s: s != evidence.main_set)
