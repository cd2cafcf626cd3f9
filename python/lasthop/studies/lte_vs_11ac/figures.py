"""Small multiples that can be read.

Every variant in every condition, one variant at a time, groups, load.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Data, Evidence, Figure, NoRunsError
from lasthop.harness.drawing import study_figure
from lasthop.studies.lte_vs_11ac.beyond import airtime, beyond, kernel, queues, side
from lasthop.studies.lte_vs_11ac.draw import (
    COLOURS,
    FILLS,
    LABEL,
    against_rate,
    append,
    dress,
    network_name,
    scale,
    titles,
)
from lasthop.studies.lte_vs_11ac.model import FOUR, GROUPS, METRICS, SIZES, VARIANTS, variants_of
from lasthop.studies.lte_vs_11ac.parting import parting
from lasthop.studies.lte_vs_11ac.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from lasthop.harness.stats import Estimate

__all__ = ["comparison", "figures", "overview", "tables", "variant"]

#: The paper's figures that compare a group, per network.
GROUP_FIGURES = {
    "loss-based": ("8", "9"),
    "delay-based": ("13", "14"),
    "loss-delay-based": ("17", "18"),
}


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
    with contextlib.suppress(NoRunsError):  # the harness says what it leaves out
        yield kernel(data)
    with contextlib.suppress(NoRunsError):
        yield side(data)
        yield airtime(data)


def overview(data: Data) -> Figure:
    """Four metrics in rows, conditions in columns, a dot with its interval for each variant."""
    conditions = _conditions(data)
    present = [cc for cc in VARIANTS if cc in data.labels("variants", "cc")]
    fig = study_figure(2.1 * len(FOUR))
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
                append(
                    columns, metric=key, network=network, size=size, cc=cc, mean=v.mean,
                    ci95_low=low, ci95_high=high, n=v.n,
                )  # fmt: skip
        row[0].set_ylabel(LABEL[key], fontsize=8)
        scale(row, key)
    titles(panels[0], conditions)
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
    fig = study_figure(4.0)
    panels = fig.subplots(2, len(FOUR), squeeze=False)
    averages: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "mean", "half_width", "n")}
    lines: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "time_s", "value")}
    for upper, lower, key in zip(*panels, FOUR, strict=True):
        for x, (network, size) in enumerate(conditions):
            v = _value(data, key, cc, network, size)
            fill = COLOURS[network] if FILLS[size] == "full" else "white"
            upper.bar(x, v.mean, 0.7, color=fill, edgecolor=COLOURS[network], yerr=v.half_width or 0.0, capsize=2)
            append(averages, metric=key, network=network, size=size, mean=v.mean, half_width=v.half_width, n=v.n)
            with contextlib.suppress(NoRunsError):
                trace = data.shown("series", cc=cc, network=network, size=size).values["series"]
                style = "-" if FILLS[size] == "full" else "--"
                time = trace["time_s"] + 0.5
                lower.plot(time, trace[key], style, color=COLOURS[network], linewidth=1)
                known = [None if math.isnan(y) else float(y) for y in trace[key]]
                append(
                    lines, metric=[key] * len(time), network=[network] * len(time), size=[size] * len(time),
                    time_s=trace["time_s"].tolist(), value=known,
                )  # fmt: skip
        # One label for the bars of a network: six with their sizes do not fit side by side.
        networks = list(dict.fromkeys(n for n, _ in conditions))
        places = [[x for x, (n, _) in enumerate(conditions) if n == network] for network in networks]
        labels = [network_name(n).removeprefix("LTE ").removeprefix("802.") for n in networks]
        upper.set_xticks([sum(xs) / len(xs) for xs in places], labels)
        dress(upper, "", LABEL[key].replace("\n", " "))
        dress(lower, "time [s]", LABEL[key].replace("\n", " "))
        upper.set_ylim(bottom=0)
        lower.set_ylim(bottom=0)
    caption = (
        "Means over the stations with 95 % confidence intervals (above; filled: 1000 B, hollow: 3000 B), and the run "
        "with seed 1 in bins of 1 s (below; solid: 1000 B, dashed: 3000 B). Blue: LTE AM, orange: LTE UM, green: "
        "802.11ac."
    )
    name = f"fig{number}-{cc}"
    return Figure(name, f"Figure {number}: {title}", caption, fig, {name: averages, f"{name}-series": lines})


def comparison(data: Data, group: str) -> Figure:
    """The paper's comparison of a group: four metrics, AM and UM beside each other."""
    present = [cc for cc in variants_of(group) if cc in data.labels("variants", "cc")]
    networks = data.labels("variants", "network")
    fig = study_figure(1.6 * len(networks) + 0.6)
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
                    append(columns, metric=key, network=network, size=size, cc=cc, mean=v.mean, half_width=v.half_width)
            dress(ax, "", LABEL[key].replace("\n", " ") if network == networks[0] else "")
            ax.set_xticks(range(len(present)), [VARIANTS[cc][0] for cc in present], rotation=45, ha="right")
            ax.set_ylim(bottom=0)
        row[0].set_ylabel(f"{network_name(network)}\n{row[0].get_ylabel()}", fontsize=8)
    numbers = " and ".join(GROUP_FIGURES[group])
    caption = (
        f"The {group} variants. Filled: 1000 B, hollow: 3000 B; 95 % confidence intervals. Each panel has its own "
        "scale, from zero."
    )
    name = f"fig{'-'.join(GROUP_FIGURES[group])}"
    return Figure(name, f"Figures {numbers}: {group}", caption, fig, {name: columns})


def load(data: Data) -> Figure:
    """Where the variants differ: every metric against the source rate.

    A line for each variant and UDP.
    """
    caption = "Every metric against the source rate of each of the 14 stations; means over stations and seeds."
    return against_rate(data, "load", "Load sweep", caption)


def _value(data: Data, key: str, cc: str, network: str, size: int) -> Estimate:
    return data.estimate("variants", METRICS[key].value, cc=cc, network=network, size=size)


def _conditions(data: Data) -> list[tuple[str, int]]:
    return [(n, s) for n in data.labels("variants", "network") for s in SIZES.values()]


def _dots(ax: Axes, means: Sequence[float], halves: Sequence[float], network: str, size: int) -> None:
    ax.errorbar(
        means, range(len(means)), xerr=halves, fmt="o", color=COLOURS[network], fillstyle=FILLS[size],
        markersize=4, capsize=2, linewidth=1,
    )  # fmt: skip
    dress(ax, "", "")


def _main_first(evidence: Evidence) -> list[str]:
    return sorted(evidence.parameter_sets, key=lambda s: s != evidence.main_set)
