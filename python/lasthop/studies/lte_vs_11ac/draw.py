"""What the figures share: colours, lines, scales, and the panels of a load sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator, ScalarFormatter

from lasthop.harness import Data, Figure
from lasthop.harness.drawing import study_figure
from lasthop.studies.lte_vs_11ac.model import FOUR, METRICS, NETWORKS, TODAY, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

#: Colour by network and filled or hollow by size: the same in every figure.
COLOURS = {"lte-am": "#0072b2", "lte-um": "#d55e00", "11ac": "#009e73"}
FILLS: dict[int, Literal["full", "none"]] = {1000: "full", 3000: "none"}
#: Lines of variants: dashes by group, and a colour and a mark of its own for each, because many lie
#: upon another.
GROUP_DASHES = {"loss-based": "-", "delay-based": "--", "loss-delay-based": ":"}
LINES = {
    "bic": ("#0072b2", "o"),
    "hybla": ("#56b4e9", "s"),
    "newreno": ("#999999", "D"),
    "highspeed": ("#009e73", "^"),
    "htcp": ("#332288", "v"),
    "scalable": ("#117733", "<"),
    "vegas": ("#d55e00", "o"),
    "veno": ("#aa4499", "s"),
    "westwood": ("#e69f00", "D"),
    "illinois": ("#882255", "^"),
    "yeah": ("#b8a000", "v"),
}
#: The same colours by the words of the claims' notation, for the cards.
SERIES = {key: COLOURS[label] for key, (label, _) in NETWORKS.items()} | {v: colour for v, (colour, _) in LINES.items()}
#: Colours of what came after the paper, where it stands beside the eleven.
NEWER = {"cubic": "#cc3311", "bbr": "#000000", "bbr3": "#ee3377"}
#: The lines of one rate lie within so many octaves.
WIDTH = 0.4
LABEL = {"thr": "throughput\n[Mbit/s]", "loss": "loss", "dly": "delay [ms]", "jit": "jitter [ms]"}


def against_rate(data: Data, group: str, title: str, caption: str) -> Figure:
    """Every metric in rows, conditions in columns.

    A line for each transport against the source rate.
    """
    rates = [float(r) for r in data.labels(group, "rate")]
    conditions = grid(data, group)
    transports = data.labels(group, "transport")
    fig = study_figure(2.0 * len(FOUR) + 0.8)
    panels = fig.subplots(len(FOUR), len(conditions), sharex=True, sharey="row", squeeze=False)
    columns: dict[str, list[Any]] = {k: [] for k in ("metric", "network", "size", "transport", "rate", "mean", "n")}
    for row, key in zip(panels, FOUR, strict=True):
        for ax, (network, size) in zip(row, conditions, strict=True):
            for i, transport in enumerate(transports):
                at = {"network": network, "size": size, "transport": transport}
                points = [data.estimate(group, METRICS[key].value, rate=r, **at) for r in data.labels(group, "rate")]
                line = line_of_variant(transport) if group == "load" else line_of_today(transport)
                means = [p.mean for p in points]
                # Side by side, within 15 % of the rate: what is the same is still seen.
                aside = [r * 2 ** (WIDTH * (i / max(len(transports) - 1, 1) - 0.5)) for r in rates]
                ax.plot(aside, means, markersize=3.5, fillstyle="none", markeredgewidth=0.8, **line)
                for rate, p in zip(rates, points, strict=True):
                    append(columns, metric=key, rate=rate, mean=p.mean, n=p.n, **at)
            ax.set_xscale("log", base=2)
            if key in ("dly", "jit"):
                # The jitter of datagrams that never wait is 0.
                ax.set_yscale("log") if key == "dly" else ax.set_yscale("symlog", linthresh=0.1)
                ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
                ax.yaxis.set_minor_formatter(NullFormatter())
            dress(ax, "", LABEL[key].replace("\n", " ") if (network, size) == conditions[0] else "")
            ax.set_xticks(rates, [f"{r:g}" for r in rates])
            ax.xaxis.set_minor_locator(NullLocator())
    titles(panels[0], conditions)
    fig.supxlabel("source rate of a station [Mbit/s]", fontsize=8)
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False, fontsize=7)
    return Figure(group, title, caption, fig, {group: columns})


def titles(row: Iterable[Axes], conditions: Sequence[tuple[str, int]]) -> None:
    """Titles of columns: network and size."""
    for ax, (network, size) in zip(row, conditions, strict=True):
        ax.set_title(f"{network_name(network)}\n{size} B", fontsize=8)


def grid(data: Data, group: str) -> list[tuple[str, int]]:
    """Every network with every size that a group has."""
    return [(n, s) for n in data.labels(group, "network") for s in data.labels(group, "size")]


def transport_name(transport: str) -> str:
    """A reader's name of a congestion control."""
    return TODAY[transport][0] if transport in TODAY else VARIANTS[transport][0]


def network_name(label: str) -> str:
    """A reader's name of an option of the axis `network`."""
    return next(name for n, name in NETWORKS.values() if n == label)


def line_of_variant(transport: str) -> dict[str, Any]:
    """How a variant, or UDP, is drawn."""
    if transport in NEWER:
        return {**line_of_today(transport), "color": NEWER[transport], "linestyle": "-."}
    if transport not in VARIANTS:
        return {"color": "#000000", "linewidth": 1.6, "marker": "x", "label": transport.upper()}
    title, _, group = VARIANTS[transport]
    colour, mark = LINES[transport]
    return {"color": colour, "linestyle": GROUP_DASHES[group], "linewidth": 1, "marker": mark, "label": title}


def line_of_today(transport: str) -> dict[str, Any]:
    """How a congestion control of today is drawn."""
    title, colour = TODAY[transport]
    return {"color": colour, "linewidth": 1.2, "marker": ".", "label": title}


def scale(row: Sequence[Axes], key: str) -> None:
    """The scale of a row of dots, once all of them are there.

    Its panels share an axis and its limits.
    """
    ax = row[0]
    if key == "loss":
        ax.set_xscale("symlog", linthresh=1e-4)
        ax.set_xlim(0, 1.5 * max(a.dataLim.x1 for a in row))
        # A panel has room for three labels.
        ax.set_xticks([0, 1e-4, 1e-3, 1e-2, 1e-1], ["0", "", "0.001", "", "0.1"])
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


def dress(ax: Axes, x: str, y: str) -> None:
    """Labels, small ticks, a faint grid."""
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7, which="both")
    ax.xaxis.get_offset_text().set_fontsize(7)
    ax.yaxis.get_offset_text().set_fontsize(7)
    ax.grid(True, color="#e0e0e0", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def append(columns: dict[str, list[Any]], **more: Any) -> None:
    """Adds a row, or rows when values are lists, to the columns behind a figure."""
    for name, value in more.items():
        if isinstance(value, list):
            columns[name] += value
        else:
            columns[name].append(value)
