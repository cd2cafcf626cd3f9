"""Figures 1 and 3 to 7, and what our runs add: stacks of today, several pairs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Data, Evidence, Figure, NoKernelError, NoRunsError, TableView
from lasthop.harness.drawing import black_or_white, readable, study_figure
from lasthop.harness.stats import Estimate
from lasthop.studies.d2d_tcp.evaluate import MODES, VERSIONS, WAYS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

COLOURS = {"DM-DM": "#0072b2", "DM-IM": "#56b4e9", "IM-DM": "#d55e00", "IM-IM": "#e69f00"}
NAMES = {
    "reno": "Reno",
    "newreno": "NewReno",
    "westwood": "Westwood",
    "westwood-plus": "Westwood+",
    "sack": "Reno + SACK",
    "cubic": "Cubic 0.8",
}
#: What the readings of figure 7 change, and the version that they belong to.
READINGS = {
    "NewReno as in INET": "newreno",
    "Westwood as in INET": "westwood",
    "Westwood, ACKs of one instant merged": "westwood",
}
LANES = {"a": 0, "enb": 1, "b": 2}
STEPS = {
    "request": ("RAC", "#d55e00"),
    "grant": ("grant", "#999999"),
    "report": ("report", "#e69f00"),
    "report-heard": ("decoded", "#e69f00"),
    "data": ("data", "#0072b2"),
    "ack": ("decoded", "#009e73"),
}


def figures(evidence: Evidence) -> Iterable[Figure]:
    """Every figure that this form of the study has runs for."""
    data = evidence.of(evidence.main_set)
    yield handshakes(data)
    yield figure_3(data)
    yield figure_4(data)
    yield figure_5(evidence)
    yield from (figure_6(data, version, letter) for version, letter in zip(VERSIONS, "abcdef", strict=True))
    yield figure_7(evidence)
    yield from beyond(evidence)


def handshakes(data: Data) -> Figure:
    """Figure 1: the uplink with and without something that rides with the report."""
    fig = study_figure(3.0)
    columns: dict[str, dict[str, list[Any]]] = {}
    panels = (("DM-DM", "direct: data cannot ride with the report"), ("IM-IM", "over the eNB: with bandwidth stealing"))
    for ax, (mode, title) in zip(fig.subplots(2, 1), panels, strict=True):
        shown = data.shown("steps", mode=mode).values
        # UE 1's own requests and data.
        own = [m for m in shown.get("moments", ()) if "a" in (m[1], m[2]) and m[4] != "downlink" and m[0] <= 16]
        own = [m for m in own if m[0] >= 3 or m[3] == "request"]  # the rest answers what was before
        columns[f"figure1-{mode.lower()}"] = _draw_steps(ax, own, 16)
        ax.set_title(title, fontsize=8)
    caption = "UE 1 has data at TTI 0 (8 KB), from traces. Data at TTI 5 is what rides with the report."
    return Figure("figure1", "Figure 1: asking for the uplink", caption, fig, columns)


def figure_4(data: Data) -> Figure:
    """Figure 4: one burst and its ACKs in direct mode."""
    fig = study_figure(2.6)
    shown = data.shown("steps", mode="DM-DM").values
    columns = _draw_steps(fig.add_subplot(), shown.get("moments", ()), 31)
    caption = f"TTIs from the RAC on; the first ACK is received at {shown.get('ack_received', -1)}."
    return Figure("figure4", "Figure 4: a segment and its ACK, direct", caption, fig, {"figure4": columns})


def _draw_steps(ax: Axes, moments: Iterable[tuple[int, str, str, str, str]], until: int) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"tti": [], "node": [], "to": [], "step": [], "link": []}
    ax.set_yticks([-y for y in LANES.values()], ["UE 1", "eNB", "UE 2"])
    for y in LANES.values():
        ax.axhline(-y, color="0.85", linewidth=0.8, zorder=0)
    taken: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, str], int] = {}
    for tti, node, to, step, link in moments:
        for name, value in zip(columns, (tti, node, to, step, link), strict=True):
            columns[name].append(value)
        if tti > until or node not in LANES or to not in LANES or step not in STEPS:
            continue
        label, colour = STEPS[step]
        x, y = tti, -LANES[node]
        ax.plot([x], [y], "o", color=colour, markersize=3.5)
        flies = {"data": 4, "request": 3, "report": 4}.get(step)
        if flies:
            style = {"arrowstyle": "->", "color": colour, "linewidth": 0.9}
            ax.annotate("", (x + flies, -LANES[to]), (x, y), arrowprops=style)
        follows = last.get((node, step)) == tti - 1
        last[node, step] = tti
        if follows:
            continue  # one of a row of blocks: the first has the label
        place = taken.get((node, tti), 0)
        taken[node, tti] = place + 1
        offset = (2, 4 + 7 * place) if node != "b" else (2, -9 - 7 * place)
        ax.annotate(f"{label} {tti}", (x, y), offset, textcoords="offset points", fontsize=7, color=readable(colour))
    ax.set_xlim(-1, until + 3)
    ax.set_xticks(range(0, until + 1, 5))
    ax.set_ylim(-2.8, 0.9)
    ax.set_xlabel("TTI", fontsize=8)
    ax.tick_params(labelsize=7)
    return columns


def figure_3(data: Data) -> Figure:
    """Figure 3: round trips over time."""
    fig = study_figure(2.6)
    ax = fig.add_subplot()
    columns = {}
    for mode in MODES:
        shown = data.shown("rtt", mode=mode).values
        near = shown["time"] < 7.0
        ax.plot(
            shown["time"][near], shown["rtt"][near], ".-", markersize=2, linewidth=0.6, color=COLOURS[mode], label=mode
        )
        columns[f"figure3-{mode.lower()}"] = {"time_s": list(shown["time"]), "rtt_ms": list(shown["rtt"])}
    ax.legend(fontsize=7, ncols=4, loc="upper center")
    ax.set_ylim(25, 60)
    _label(ax, "time [s]", "round trip [ms]")
    caption = (
        "The sender's samples, 8 KB; two seconds of the first replication after the warm-up. Before the dash the way "
        "of the data, behind it that of the ACKs: DM directly, IM over the eNB."
    )
    return Figure("figure3", "Figure 3: round trips at 8 KB", caption, fig, columns)


def figure_5(evidence: Evidence) -> Figure:
    """Figure 5 under each reading of the RAC's timer."""
    data = evidence.of(evidence.main_set)
    panels = [("as in the set " + evidence.main_set, data)]
    for reading in evidence.study.readings:
        other = _reading(evidence, reading.name)
        if other is not None and "window" in other.records:
            panels.append((reading.name, other))
    lines = (len(panels) + 1) // 2
    fig = study_figure(2.3 * lines)
    columns: dict[str, dict[str, list[Any]]] = {}
    axes = np.atleast_1d(fig.subplots(lines, min(len(panels), 2), sharey=True)).ravel()
    for spare in axes[len(panels) :]:
        spare.axis("off")
    for i, (ax, (title, of)) in enumerate(zip(axes, panels, strict=False)):
        rows: dict[str, list[Any]] = {"mode": [], "window_kb": [], "rtt_ms": [], "half_width_ms": []}
        for mode in MODES:
            kb = of.labels("window", "kb")
            found = [of.estimate("window", "rtt_mean", mode=mode, kb=k) for k in kb]
            ax.errorbar(
                kb, [f.mean for f in found], yerr=[f.half_width or 0.0 for f in found],
                marker="o", markersize=3, linewidth=1, capsize=2, color=COLOURS[mode], label=mode,
            )  # fmt: skip
            for k, f in zip(kb, found, strict=True):
                for name, value in zip(rows, (mode, k, f.mean, f.half_width), strict=True):
                    rows[name].append(value)
        ax.set_xscale("log", base=2)
        # Labels of windows between the powers of two would touch their neighbours'.
        ax.set_xticks(kb, [str(k) if int(k).bit_count() == 1 else "" for k in kb])
        ax.set_title(title, fontsize=8)
        _label(ax, "receive window [KB]", "mean round trip [ms]" if i % 2 == 0 else "")
        columns[f"figure5-{i}"] = rows
    axes[0].set_ylim(20, 150)
    axes[0].legend(fontsize=7)
    caption = (
        "60 s after 5 s of warm-up, 95 % intervals. Before the dash the way of the data, behind it that of the ACKs: "
        "DM directly, IM over the eNB. Beside the main set the same under the other readings."
    )
    return Figure("figure5", "Figure 5: round trip over the receive window", caption, fig, columns)


def _reading(evidence: Evidence, name: str) -> Data | None:
    """The data of a reading, if it was run under the main set."""
    try:
        return evidence.of(evidence.main_set, name)
    except NoRunsError:
        return None


def figure_6(data: Data, version: str, letter: str) -> Figure:
    """Figure 6: the window around a switch each way."""
    shown = data.shown("switches", version=version).values
    fig = study_figure(2.5)
    columns = {}
    for ax, to, way in zip(
        fig.subplots(1, 2, sharey=True), ("direct", "infrastructure"), ("IM to DM", "DM to IM"), strict=True
    ):
        if f"{to}_at" not in shown:
            continue
        ax.plot(shown[f"{to}_time"], shown[f"{to}_cwnd"], linewidth=0.9, color="#0072b2")
        ax.axvline(shown[f"{to}_at"], color="black", linewidth=0.9)
        for second in shown[f"{to}_events"][1:]:
            ax.axvline(second, color="black", linewidth=0.9, linestyle=":")
        ax.axhline(130.784, color="0.7", linewidth=0.7, linestyle="--")
        ax.set_title(way, fontsize=8)
        _label(ax, "time [s]", "cwnd [KB]" if to == "direct" else "")
        columns[f"figure6{letter}-{to}"] = {"time_s": list(shown[f"{to}_time"]), "cwnd_kb": list(shown[f"{to}_cwnd"])}
    caption = (
        "Switches from the eNB to direct mode (IM to DM) and back. Solid: the switch; dotted: the second congestion "
        "event; dashed: the receive window of 128 KB."
    )
    return Figure(f"figure6{letter}", f"Figure 6{letter}: {NAMES[version]} around mode switches", caption, fig, columns)


def figure_7(evidence: Evidence) -> Figure:
    """Figure 7: throughput of the versions, and of the readings of two of them."""
    data = evidence.of(evidence.main_set)
    bars = [(NAMES[v], data.estimate("transfer", "goodput", version=v), "#0072b2") for v in VERSIONS]
    for reading, version in READINGS.items():
        if (other := _reading(evidence, reading)) is not None:
            bars.append((reading, other.estimate("transfer", "goodput", version=version), "#56b4e9"))
    fig = study_figure(3.2)
    ax = fig.add_subplot()
    _bars(ax, bars)
    _label(ax, "", "throughput [Mbit/s]")
    caption = (
        "Bytes delivered in order over the run's time; means and 95 % intervals. Light: readings of the same version."
    )
    return Figure("figure7", "Figure 7: throughput with mode switches", caption, fig, {"figure7": _bar_columns(bars)})


def _bars(ax: Axes, bars: list[tuple[str, Estimate, str]]) -> None:
    for i, (_, value, colour) in enumerate(bars):
        ax.bar(i, value.mean, color=colour, yerr=value.half_width or 0.0, capsize=3, error_kw={"linewidth": 0.8})
        ax.annotate(f"{value.mean:.1f}", (i, 0.3), ha="center", fontsize=7, color=black_or_white(colour))
    ax.set_xticks(
        range(len(bars)), [name.replace(", ", ",\n") for name, _, _ in bars], rotation=30, ha="right", fontsize=7
    )


def _bar_columns(bars: list[tuple[str, Estimate, str]]) -> dict[str, list[Any]]:
    return {
        "name": [name for name, _, _ in bars],
        "mbps": [value.mean for _, value, _ in bars],
        "half_width": [value.half_width for _, value, _ in bars],
    }


def beyond(evidence: Evidence) -> Iterable[Figure]:
    """What recovers the throughput that switching costs, and many pairs."""
    if "calibrated" not in evidence.parameter_sets:
        return
    data = evidence.of("calibrated")
    yield repair(data)
    with contextlib.suppress(NoKernelError):  # the harness says what it leaves out
        yield kernel(data)
    yield pairs(data)


def repair(data: Data) -> Figure:
    """Throughput on the same switches with one change at a time."""
    changes = data.labels("today", "change")
    carried = data.estimate("carried", "goodput")
    ours = {"nothing", "lossless", "rack", "persistent", "lossless, rack"}
    bars = [
        (
            f"Reno + {c}" if c in ours and c != "nothing" else "Reno" if c == "nothing" else c,
            data.estimate("today", "goodput", change=c),
            "#0072b2" if c in ours else "#009e73",
        )
        for c in changes
    ]
    fig = study_figure(3.4)
    ax = fig.add_subplot()
    _bars(ax, bars)
    ax.axhline(carried.mean, color="black", linewidth=0.8, linestyle="--")
    ax.annotate("UDP with a full queue", (0, carried.mean), (0, 3), textcoords="offset points", fontsize=7)
    _label(ax, "", "throughput [Mbit/s]")
    caption = (
        "The scenario of figure 7, 260 s. Blue: INET's Reno with one change at a time; green: stacks of today. "
        "Dashed: UDP with a full queue over the same radio with the same switches."
    )
    columns = {**_bar_columns(bars)}
    title = "Beyond: which changes recover the throughput that switches cost"
    return Figure("repair", title, caption, fig, {"repair": columns})


def kernel(data: Data) -> Figure:
    """Throughput on the same switches: a real kernel's controls and the simulated ones."""
    names = data.labels("kernel", "linux")
    rows = (("modelled", "simulated: profile linux-6", "#0072b2"), ("kernel", "a real kernel: Linux 6.1", "#d55e00"))
    fig = study_figure(2.8)
    ax = fig.add_subplot()
    columns: dict[str, list[Any]] = {"stack": [], "control": [], "mbps": [], "half_width": []}
    for shift, (group, label, colour) in zip((-0.2, 0.2), rows, strict=True):
        found = [data.estimate(group, "goodput", linux=name) for name in names]
        ax.bar(
            np.arange(len(names)) + shift, [f.mean for f in found], 0.36, color=colour, label=label,
            yerr=[np.nan if f.half_width is None else f.half_width for f in found], capsize=3,
            error_kw={"linewidth": 0.8},
        )  # fmt: skip
        for name, f in zip(names, found, strict=True):
            for key, value in zip(columns, (group, name, f.mean, f.half_width), strict=True):
                columns[key].append(value)
    ax.set_xticks(range(len(names)), names, fontsize=7)
    _label(ax, "", "throughput [Mbit/s]")
    fig.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=7)
    caption = (
        "The scenario of figure 7, 45 s: controls of Linux in the simulated stack, and those of a real kernel between "
        "two sockets at the phones. The kernel's receiver opens its window to half of the simulated one's: segments of "
        "536 B take more than twice their octets in its memory."
    )
    return Figure("kernel", "Beyond: controls of a real kernel", caption, fig, {"kernel": columns})


def pairs(data: Data) -> Figure:
    """Several pairs with and without frequency reuse."""
    counts, reuses = data.labels("pairs", "pairs"), data.labels("pairs", "reuse")
    fig = study_figure(2.6)
    columns: dict[str, list[Any]] = {"reuse": [], "pairs": [], "sum": [], "rtt": [], "jain": []}
    parts = (("sum", "all pairs [Mbit/s]"), ("rtt", "mean round trip [ms]"), ("jain", "Jain's index"))
    axes = fig.subplots(1, 3)
    for reuse, colour in zip(reuses, ("#d55e00", "#0072b2", "#009e73"), strict=False):
        for ax, (key, label) in zip(axes, parts, strict=True):
            found = [data.estimate("pairs", key, pairs=n, reuse=reuse) for n in counts]
            half = [f.half_width or 0.0 for f in found]
            places = [int(n) for n in counts]
            ax.errorbar(
                places,
                [f.mean for f in found],
                yerr=half,
                marker="o",
                markersize=3,
                capsize=2,
                color=colour,
                label=reuse,
            )
            _label(ax, "pairs", label)
            columns[key].extend(f.mean for f in found)
        columns["reuse"].extend([reuse] * len(counts))
        columns["pairs"].extend(counts)
    axes[1].legend(fontsize=7, title="frequency reuse", title_fontsize=7)
    axes[2].set_ylim(0, 1.05)
    caption = (
        "Pairs 10 to 30 m apart in a disc of 250 m, physical quality of the sidelinks, Reno with SACK, 64 KB, 30 s."
    )
    return Figure("pairs", "Beyond: many pairs and frequency reuse", caption, fig, {"pairs": columns})


def tables(evidence: Evidence) -> Iterable[TableView]:
    """Figure 3's means, steps, figure 5 with requests, switches, throughputs, grants.

    Also the tables of runs that the paper does not have.
    """
    data = evidence.of(evidence.main_set)
    rows: list[tuple[Any, ...]] = [
        (m, *(data.estimate("rtt", v, mode=m).text() for v in ("rtt_mean", "rtt_least", "rtt_deviation", "goodput")))
        for m in MODES
    ]
    headers: tuple[str, ...] = ("data-ACK", "mean [ms]", "least [ms]", "deviation [ms]", "goodput [Mbit/s]")
    yield TableView("rtt", "Figure 3: round trips at 8 KB", headers, tuple(rows))
    rows = [
        (
            m,
            *(
                data.estimate("window", v, mode=m, kb=k).text()
                for v in ("rtt_mean", "goodput", "requests_a", "requests_b")
            ),
        )
        for m in MODES
        for k in data.labels("window", "kb")
    ]
    rows = [
        (m, k, *row[1:])
        for row, (m, k) in zip(rows, ((m, k) for m in MODES for k in data.labels("window", "kb")), strict=True)
    ]
    headers = ("data-ACK", "window [KB]", "RTT [ms]", "goodput [Mbit/s]", "RACs of UE 1 [1/s]", "RACs of UE 2 [1/s]")
    yield TableView("window", "Figure 5 in numbers", headers, tuple(rows))
    yield from _switch_tables(data)
    rows = [(s, data.estimate("riding", "delay", stealing=s).text()) for s in data.labels("riding", "stealing")]
    yield TableView(
        "riding", "Delay of segments over the eNB, ACKs direct [ms]", ("bandwidth stealing", "delay"), tuple(rows)
    )
    words = {"asked": "dynamic", "persistent": "persistent"}
    rows = [
        (
            m,
            k,
            words[g],
            *(data.estimate("grants", v, motion=m, kb=k, grants=g).text() for v in ("rtt_mean", "goodput")),
        )
        for m in data.labels("grants", "motion")
        for k in data.labels("grants", "kb")
        for g in data.labels("grants", "grants")
    ]
    headers = ("phones", "window [KB]", "grants", "RTT [ms]", "goodput [Mbit/s]")
    yield TableView("grants", "Dynamic and persistent grants, direct mode", headers, tuple(rows))
    if "calibrated" in evidence.parameter_sets:
        yield from _beyond_tables(evidence.of("calibrated"))


def _switch_tables(data: Data) -> Iterable[TableView]:
    values: tuple[str, ...] = ("goodput", "timeouts", "recoveries", "retransmits", "switches", "dropped_kb", "stall_s")
    rows = [
        (
            NAMES[v],
            *(data.estimate("transfer", value, version=v).text() for value in values),
            *(data.estimate("unswitched", "goodput", version=v, way=w).text() for w in WAYS),
        )
        for v in VERSIONS
    ]
    headers: tuple[str, ...] = (
        "version", "goodput [Mbit/s]", "timeouts", "recoveries", "sent again", "switches", "dropped a switch [kB]",
        "longest stall after a switch [s]", *(f"{w} [Mbit/s]" for w in WAYS),
    )  # fmt: skip
    yield TableView("transfer", "Figure 7: 500 s with mode switches, and without", headers, tuple(rows))
    values = ("cut", "inflated", "silence_s", "recovery_s", "second_share", "after", "again", "back_s", "stall_s")
    rows = [
        (NAMES[v], *(data.estimate("switches", f"direct_{value}", version=v).text() for value in values))
        for v in VERSIONS
    ]
    headers = (
        "version", "threshold / window", "inflated [segments]", "silence [s]", "recovery [s]", "second event: share",
        "cwnd after [segments]", "sent again", "to 0.9 x 128 KB [s]", "longest stall [s]",
    )  # fmt: skip
    yield TableView("switches", "Figure 6: switches to direct mode", headers, tuple(rows))


def _beyond_tables(data: Data) -> Iterable[TableView]:
    carried = data.estimate("carried", "goodput")
    base = data.estimate("today", "goodput", change="nothing")
    rows = []
    for change in data.labels("today", "change"):
        good = data.estimate("today", "goodput", change=change)
        share = (good.mean - base.mean) / (carried.mean - base.mean)
        stall = data.estimate("today", "stall_s", change=change)
        rows.append(
            (
                change,
                good.text(),
                f"{share:.2f}",
                stall.text(),
                data.estimate("today", "timeouts", change=change).text(),
            )
        )
    headers: tuple[str, ...] = (
        "change",
        "goodput [Mbit/s]",
        "share of the cost recovered",
        "longest stall [s]",
        "timeouts",
    )
    note = f"The cost is {carried.text(unit='Mbit/s')}, the throughput of UDP with a full queue, less that of Reno."
    yield TableView("repair", "Which changes recover the throughput that switches cost", headers, tuple(rows), note)
    rows = [
        (
            n,
            r,
            *(
                data.estimate("pairs", v, pairs=n, reuse=r).text()
                for v in ("sum", "mean", "least", "rtt", "jain", "timeouts")
            ),
        )
        for n in data.labels("pairs", "pairs")
        for r in data.labels("pairs", "reuse")
    ]
    headers = (
        "pairs",
        "reuse",
        "sum [Mbit/s]",
        "mean [Mbit/s]",
        "least [Mbit/s]",
        "RTT [ms]",
        "Jain",
        "timeouts a pair",
    )
    yield TableView("pairs", "Many pairs", headers, tuple(rows))


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
