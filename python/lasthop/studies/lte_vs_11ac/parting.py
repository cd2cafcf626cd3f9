"""Where the variants differ: how far the eleven are apart at each source rate.

Also the place of each variant.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullLocator

from lasthop.harness import Data, Figure
from lasthop.harness.drawing import study_figure
from lasthop.studies.lte_vs_11ac.draw import COLOURS, FILLS, append, dress, grid, network_name, titles, transport_name
from lasthop.studies.lte_vs_11ac.model import FOUR, METRICS, TODAY, VARIANTS
from lasthop.studies.lte_vs_11ac.spread import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from lasthop.harness.stats import Estimate

#: Metrics whose variants are shown one by one.
SHOWN = ("thr", "dly")
#: The colours end at so many percent from the median.
MOST = 25.0


def parting(data: Data) -> Figure:
    """Above the spread of the variants against the source rate.

    Below each variant against the median of all.
    """
    rates = data.labels("load", "rate")
    conditions = grid(data, "load")
    everyone = data.labels("load", "transport")
    present = [t for t in everyone if t in VARIANTS]
    shown = [*present, *(t for t in everyone if t in TODAY and t not in VARIANTS)]
    fig = study_figure(8.2)
    places = fig.add_gridspec(2, 1, height_ratios=[2.6, 5.2])
    above, below = fig.add_subfigure(places[0]), fig.add_subfigure(places[1])
    upper = above.subplots(1, len(FOUR))
    spreads = _spreads(data, upper, rates, conditions, present)
    above.legend(*upper[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=7)
    each: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "rate", "transport", "from_median")}
    panels = below.subplots(len(SHOWN), len(conditions), sharex=True, sharey=True, squeeze=False)
    for row, key in zip(panels, SHOWN, strict=True):
        for ax, (network, size) in zip(row, conditions, strict=True):
            means = [[_load(data, key, r, t, network, size).mean for r in rates] for t in shown]
            image = _heat(ax, means, len(present))
            ax.set_xticks(range(len(rates)), [f"{float(r):g}" for r in rates])
            for t, of_median in zip(shown, image.get_array().tolist(), strict=True):
                for r, value in zip(rates, of_median, strict=True):
                    append(each, metric=key, network=network, size=size, rate=float(r), transport=t, from_median=value)
        row[0].set_yticks(range(len(shown)), [transport_name(t) for t in shown])
        title = f"{METRICS[key].name}: from the median [%]"
        bar = below.colorbar(image, ax=row.tolist(), label=title, extend="both", pad=0.01, aspect=15)
        bar.ax.tick_params(labelsize=7)
        bar.set_label(title, fontsize=8)
    titles(panels[0], conditions)
    below.supxlabel("source rate of a station [Mbit/s]", fontsize=8)
    caption = (
        "Above: largest minus smallest mean of the eleven variants, as a share of their mean; where it is near zero "
        "the choice does not matter. Below: throughput and delay of each variant against the median of the eleven; "
        f"white is the median, colours end at {MOST:g} %. Below the line: what came after the paper."
    )
    return Figure("parting", "Where the variants part", caption, fig, {"parting": spreads, "parting-variants": each})


def _spreads(
    data: Data,
    panels: Iterable[Axes],
    rates: Sequence[Any],
    conditions: Sequence[tuple[str, int]],
    present: Sequence[str],
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "rate", "spread_percent", "apart")}
    for ax, key in zip(panels, FOUR, strict=True):
        for network, size in conditions:
            found = [
                spread({t: _load(data, key, r, t, network, size) for t in present}, METRICS[key].equal_percent)
                for r in rates
            ]
            ax.plot(
                [float(r) for r in rates], [s.percent for s in found], marker="o", markersize=4, linewidth=1,
                color=COLOURS[network], fillstyle=FILLS[size], linestyle="-" if FILLS[size] == "full" else "--",
                label=f"{network_name(network)}, {size} B",
            )  # fmt: skip
            for r, s in zip(rates, found, strict=True):
                append(
                    columns, metric=key, network=network, size=size, rate=float(r), spread_percent=s.percent,
                    apart=s.apart,
                )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_xticks([float(r) for r in rates], [f"{float(r):g}" for r in rates])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_title(METRICS[key].name, fontsize=8)
        dress(ax, "source rate [Mbit/s]", "spread of the variants [%]" if key == "thr" else "")
        ax.set_ylim(bottom=0)
    return columns


def _heat(ax: Axes, means: Sequence[Sequence[float]], paper: int) -> Any:
    """A row for each variant, a column for each rate.

    Percent from the median of the paper's, which come first.
    """
    medians = [statistics.median(column) for column in zip(*means[:paper], strict=True)]
    away = np.array([[100 * (m / middle - 1) for m, middle in zip(row, medians, strict=True)] for row in means])
    image = ax.imshow(away, cmap="RdBu_r", vmin=-MOST, vmax=MOST, aspect="auto")
    ax.tick_params(labelsize=7, length=2)
    if len(means) > paper:
        ax.axhline(paper - 0.5, color="#555555", linewidth=0.8)
    return image


def _load(data: Data, key: str, rate: Any, transport: str, network: str, size: int) -> Estimate:
    return data.estimate("load", METRICS[key].value, rate=rate, transport=transport, size=size, network=network)
