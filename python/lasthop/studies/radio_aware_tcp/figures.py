"""Figures 1, 8 and the summary; table 1 and the grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure as MplFigure

from lasthop.harness import Data, Evidence, Figure, TableView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

COLOURS = {"normal": "#0072b2", "rate": "#e69f00", "queue": "#d55e00", "close": "#009e73"}
NAMES = {"normal": "normal", "rate": "R x RTT", "queue": "R x RTT and queue", "close": "close"}


def figures(evidence: Evidence) -> Iterable[Figure]:
    """The figures of the main set."""
    data = evidence.of(evidence.main_set)
    yield figure_1(data)
    yield figure_8(data)
    yield figure_summary(data)


def tables(evidence: Evidence) -> Iterable[TableView]:
    """Table 1, the grid of short bursts, bursts, web objects, predictions, and what wrong hints cost."""
    data = evidence.of(evidence.main_set)
    rows = tuple(
        (f"{b} kB", *(data.estimate("table", "goodput", scheme=s, buffer=b).text() for s in NAMES)) for b in (45, 60)
    )
    yield TableView("table1", "Table 1: goodput of a full buffer [Mbit/s]", ("buffer", *NAMES.values()), rows)
    rows = tuple(
        (
            f"{rtt} ms",
            window,
            *(data.estimate("short", "latency", scheme=s, rtt=rtt, window=window).text() for s in ("normal", "queue")),
        )
        for rtt in data.labels("short", "rtt")
        for window in data.labels("short", "window")
    )
    yield TableView("short", "Figure 5: bursts of 0.5 MB [s]", ("round trip", "IW", "normal", "loose"), rows)
    for group, value, title in (
        ("bursts", "latency", "Figure 9: bursts of 2 MB [s]"),
        ("web", "object", "Figure 6: web objects of 50 kB beside a download [ms]"),
    ):
        rows = tuple((s, data.estimate(group, value, scheme=s).text()) for s in data.labels(group, "scheme"))
        yield TableView(group, title, ("scheme", "mean time"), rows)
    rows = tuple(
        (k, *(data.estimate("load", v, load=k).text() for v in ("error", "free", "held")))
        for k in data.labels("load", "load")
    )
    headers: tuple[str, ...] = (
        "load",
        "relative error of the rate",
        "queue estimate off by [kB]",
        "corrected every 100 ms [kB]",
    )
    yield TableView("prediction", "What the UE predicts", headers, rows)
    rows = tuple(
        (c, *(data.estimate("spread", v, case=c).text() for v in ("goodput", "rtt", "delay", "lost")))
        for c in data.labels("spread", "case")
    )
    headers = ("case", "goodput [Mbit/s]", "round trip [ms]", "delay [ms]", "packets lost")
    yield TableView("spread", "Wrong and late hints, and today's alternatives (60 kB)", headers, rows)


def figure_1(data: Data) -> Figure:
    """Goodput and round trip against the buffer."""
    labels = data.labels("bdp", "bdp")
    xs = [float(x) for x in labels]
    air = data.estimate("air", "goodput").mean
    rate = [data.estimate("bdp", "goodput", bdp=x).mean / air for x in labels]
    trip = [data.estimate("bdp", "rtt", bdp=x).mean / 5 for x in labels]
    fig, ax = _axes("buffer / 45 kB", "goodput / air rate")
    ax.plot(xs, rate, "o-", color=COLOURS["normal"], label="goodput")
    ax.set_xscale("log", base=2)
    ax.set_ylim(0, 1.05)
    other = ax.twinx()
    other.plot(xs, trip, "s--", color=COLOURS["queue"])
    other.set_ylabel("round trip / 5 ms (dashed)")
    columns = {"bdp": xs, "goodput_share": rate, "rtt_over_5ms": trip}
    caption = "Normal TCP: goodput over the air-link rate and mean round trip over 5 ms, against the layer-2 buffer."
    return Figure("fig1", "Figure 1", caption, fig, {"fig1": columns})


def figure_8(data: Data) -> Figure:
    """Goodput of a full buffer under each scheme beside the air-link rate."""
    fig, ax = _axes("layer-2 buffer [kB]", "goodput [Mbit/s]")
    columns: dict[str, list[float]] = {"buffer_kb": [45, 60]}
    for i, (scheme, name) in enumerate(NAMES.items()):
        found = [data.estimate("table", "goodput", scheme=scheme, buffer=b) for b in (45, 60)]
        ax.bar([k + 0.2 * i for k in (0, 1)], [e.mean for e in found], 0.18, color=COLOURS[scheme], label=name)
        columns[scheme] = [e.mean for e in found]
    air = data.estimate("air", "goodput").mean
    ax.axhline(air, color="#666666", linestyle="--", linewidth=1, label="air rate")
    ax.set_xticks([0.3, 1.3], ["45", "60"])
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    columns["air"] = [air, air]
    caption = "A full buffer over 120 s. Air rate: datagrams that always wait, less headers."
    return Figure("fig8", "Figure 8", caption, fig, {"fig8": columns})


def figure_summary(data: Data) -> Figure:
    """Goodput against delay for everything on the same radio."""
    fig, ax = _axes("mean one-way delay [ms]", "goodput [Mbit/s]")
    columns: dict[str, list[object]] = {"case": [], "delay_ms": [], "goodput_mbps": []}
    points = [(NAMES[s], "table", {"scheme": s, "buffer": 60}) for s in ("normal", "rate")]
    points += [(c, "spread", {"case": c}) for c in data.labels("spread", "case")]
    for name, group, at in points:
        delay, rate = (data.estimate(group, v, **at).mean for v in ("delay", "goodput"))
        ax.plot([delay], [rate], "o", markersize=4, color="#333333")
        ax.annotate(name, (delay, rate), fontsize=7, xytext=(3, 2), textcoords="offset points")
        for key, value in (("case", name), ("delay_ms", delay), ("goodput_mbps", rate)):
            columns[key].append(value)
    caption = (
        "Everything on the same radio, layer-2 buffer 60 kB. In close coupling a packet also waits in the IP buffer."
    )
    return Figure("summary", "Goodput against delay", caption, fig, {"summary": columns})


def _axes(x: str, y: str) -> tuple[MplFigure, Axes]:
    fig = MplFigure(figsize=(5.2, 3.4), layout="constrained")
    ax = fig.add_subplot()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return fig, ax
