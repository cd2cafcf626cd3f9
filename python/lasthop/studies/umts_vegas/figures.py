"""The paper's figures 5a-7b, the trigger table and what our runs add."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Data, Evidence, Figure, NoRunsError, TableView
from lasthop.harness.drawing import study_figure
from lasthop.studies.umts_vegas import model
from lasthop.studies.umts_vegas.reduce import RTT_BIN_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from lasthop.harness.stats import Estimate

COLOURS = {"vegas": "#d55e00", "reno": "#0072b2"}
NAMES = {"vegas": "Vegas", "reno": "Reno"}
#: Congestion control, colour and marker of the stacks of today.
TODAY = (("cubic", "#009e73", "s"), ("bbr", "#cc79a7", "^"), ("vegas", "#d55e00", "o"), ("reno", "#0072b2", "v"))
#: Points that the paper's text gives (TBLER in percent, share in percent).
PAPER = {"vegas": [(0, 96), (5, 28.5), (30, 5)], "reno": [(0, 96), (30, 65)]}
#: The stretch of a run that the window figures show.
WINDOW_5_S, WINDOW_30_S = 100.0, 150.0


def figures(evidence: Evidence) -> Iterable[Figure]:
    """Every figure that this form of the study has runs for."""
    for s in _main_first(evidence):
        yield figure_5a(evidence.of(s))
    main = evidence.main_set
    data = evidence.of(main)
    yield figure_5b(data)
    yield figure_6a(data)
    yield figure_6b(data)
    yield figure_7a(data, "coarse")
    # Of a reading only where it is about what the figure shows.
    for reading in (r for r in evidence.study.readings if r.claims is None or "U13" in r.claims):
        yield figure_7a(evidence.of(main, reading.name), reading.name)
    sequence = figure_7b(data)
    if sequence is not None:
        yield sequence
    if evidence.study.has_group("wired"):
        yield figure_wired(data)
    if evidence.study.has_group("phase"):
        yield figure_phase(data)
    if evidence.study.has_group("ahead") and evidence.study.has_group("today"):
        yield figure_ahead(data)


def figure_5a(data: Data) -> Figure:
    """Throughput against TBLER for both TCPs, the ARQ ceiling, and the paper's points."""
    fig, ax = _axes("TBLER [%]", "throughput / 384 kbit/s [%]")
    columns: dict[str, list[Any]] = {"cc": [], "tbler": [], "share": [], "ci95_low": [], "ci95_high": [], "n": []}
    last = 30
    for cc in ("reno", "vegas"):
        points = [(t, data.estimate("rates", "share", cc=cc, tbler=t)) for t in data.labels("rates", "tbler")]
        with contextlib.suppress(NoRunsError):
            points += [(t, data.estimate("beyond", "share", cc=cc, tbler=t)) for t in data.labels("beyond", "tbler")]
        _errorbar(ax, points, cc)
        for t, share in points:
            low, high = share.ci95 or (share.mean, share.mean)
            _append(columns, cc=cc, tbler=t, share=share.mean, ci95_low=low, ci95_high=high, n=share.n)
            last = max(last, t)
        xs, ys = [x for x, _ in PAPER[cc]], [y for _, y in PAPER[cc]]
        ax.plot(xs, ys, "x", color=COLOURS[cc], markersize=8, markeredgewidth=1.6, label=f"{NAMES[cc]}, paper's text")
    ends = [0, last]
    ceiling = [100 * model.ceiling(t) for t in ends]
    ax.plot(ends, ceiling, "--", color="#666666", linewidth=1, label="(1 - p) · 96.2 %")
    ax.set_ylim(0, 100)
    # Between the two curves nothing else is drawn.
    ax.legend(frameon=False, fontsize=7, loc="center", bbox_to_anchor=(0.4, 0.5))
    name = f"fig5a-{data.parameter_set.name}"
    caption = (
        f"Throughput of received TCP segments (20 B header included) as a share of 384 kbit/s, parameter set "
        f"{data.parameter_set.name}, with 95 % confidence intervals; crosses: values stated in the paper's text "
        "(Vegas at 5 % derived from the number of its RTT samples); beyond 30 %: our extension."
    )
    return Figure(name, f"Figure 5a ({data.parameter_set.name})", caption, fig, {name: columns})


def figure_5b(data: Data) -> Figure:
    """Congestion windows at 5 %."""
    fig, ax = _axes("time [s]", "congestion window [segments]")
    columns = _windows(ax, data, 5, WINDOW_5_S)
    ax.set_ylim(0, 70)
    ax.set_xlim(0, WINDOW_5_S)
    ax.legend(frameon=False, fontsize=7)
    caption = f"Congestion windows at a TBLER of 5 %, first {WINDOW_5_S:g} s of the run with seed 1."
    return Figure("fig5b", "Figure 5b", caption, fig, {"fig5b": columns})


def figure_6a(data: Data) -> Figure:
    """Every RTT sample of Vegas at 5 %."""
    trace = data.shown("rates", cc="vegas", tbler=5).values["rtt_trace"]
    fig, ax = _axes("time [s]", "RTT [s]")
    ax.plot(trace["time"], trace["rtt"], ".", color=COLOURS["vegas"], markersize=1.5, rasterized=True)
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    fig.set_dpi(200)
    caption = f"RTT of every segment that Vegas timed at a TBLER of 5 %: {len(trace['rtt'])} samples, seed 1."
    columns = {"time_s": trace["time"].tolist(), "rtt_s": trace["rtt"].tolist()}
    return Figure("fig6a", "Figure 6a", caption, fig, {"fig6a": columns})


def figure_6b(data: Data) -> Figure:
    """Histogram of Vegas' RTT samples at 5 %, one bin per uplink TTI."""
    runs = data.runs("rates", cc="vegas", tbler=5)
    counts = np.mean([r.values["rtt_histogram"] for r in runs], axis=0)
    used = int(np.flatnonzero(counts)[-1]) + 2 if counts.any() else 1
    counts = counts[:used]
    centres = np.arange(len(counts)) * RTT_BIN_S
    fig, ax = _axes("RTT [s]", "samples in 1000 s")
    ax.bar(centres, counts, width=RTT_BIN_S * 0.8, color=COLOURS["vegas"])
    ax.set_xlim(left=0)
    caption = (
        f"Vegas' RTT samples at a TBLER of 5 % in bins of 20 ms (one uplink TTI), mean of {len(runs)} "
        f"runs: {counts.sum():.0f} samples in 1000 s."
    )
    columns = {"rtt_s": centres.tolist(), "samples_in_1000s": counts.tolist()}
    return Figure("fig6b", "Figure 6b", caption, fig, {"fig6b": columns})


def figure_7a(data: Data, reading: str) -> Figure:
    """Congestion windows at 30 %, timeouts marked."""
    fig, (upper, lower) = _two_axes("time [s]", "window [segments]")
    columns: dict[str, list[Any]] = {"cc": [], "time_s": [], "cwnd": []}
    timeouts: dict[str, list[Any]] = {"cc": [], "time_s": []}
    for ax, cc in ((upper, "reno"), (lower, "vegas")):
        for name, values in _windows(ax, data, 30, WINDOW_30_S, (cc,)).items():
            columns[name] += values
        times = data.shown("rates", cc=cc, tbler=30).values["timeout_times"]
        times = times[times < WINDOW_30_S]
        low = np.full(len(times), 0.04)
        ax.plot(times, low, "^", color="#000000", markersize=5, transform=ax.get_xaxis_transform(), label="timeout")
        ax.legend(frameon=False, fontsize=7, loc="center right" if cc == "reno" else "upper right")
        _append(timeouts, cc=[cc] * len(times), time_s=times.tolist())
    lower.set_xlim(0, WINDOW_30_S)
    lower.set_ylim(0, 8)
    upper.set_ylim(0, 80)
    main = reading == "coarse"
    name = "fig7a" if main else "fig7a-" + re.sub(r"\W+", "-", reading).strip("-")
    title = "Figure 7a" if main else f"Figure 7a, reading {reading}"
    caption = f"Congestion windows at a TBLER of 30 %, first {WINDOW_30_S:g} s, seed 1; triangles: timeouts."
    return Figure(name, title, caption, fig, {name: columns, f"{name}-timeouts": timeouts})


def figure_7b(data: Data) -> Figure | None:
    """Segments sent, received and acknowledged around one spurious timeout at 30 %."""
    try:
        values = data.shown("spurious").values
    except NoRunsError:
        return None
    if "sequence" not in values:
        return None
    trace, size = values["sequence"], 512
    fig, ax = _axes("time [s]", "segment number")
    sent, acked = trace["sent"], trace["acked"]
    again = sent["retransmission"] > 0
    number = sent["seq"] / size
    base = float(np.floor(number.min())) if len(number) else 0.0
    ax.plot(sent["time"][~again], number[~again] - base, "s", color=COLOURS["vegas"], markersize=4, label="sent")
    ax.plot(
        sent["time"][again], number[again] - base, "D", mfc="none", color="#000000", markersize=6, label="sent again"
    )
    ax.plot(trace["received"]["time"], trace["received"]["seq"] / size - base, "|", color="#009e73", label="received")
    ax.step(acked["time"], acked["ack"] / size - base, where="post", color=COLOURS["reno"], linewidth=1, label="ACK")
    ax.axvline(values["timeout"], color="#666666", linestyle=":", linewidth=1)
    ax.annotate("timeout", (values["timeout"], 0.98), xycoords=("data", "axes fraction"), fontsize=8, va="top")
    ax.legend(frameon=False, fontsize=7, loc="lower right")
    caption = (
        "A spurious timeout of Vegas at a TBLER of 30 %, seed 1: nothing is lost, the segments sent again "
        "arrive twice. Segment numbers count from the first one shown."
    )
    columns = {
        "what": [name for name, what in trace.items() for _ in what["time"]],
        "time_s": [t for what in trace.values() for t in what["time"].tolist()],
        "seq": [s for what in trace.values() for s in what["seq"].tolist()],
        "ack": [a for what in trace.values() for a in what["ack"].tolist()],
    }
    return Figure("fig7b", "Figure 7b", caption, fig, {"fig7b": columns})


def figure_wired(data: Data) -> Figure:
    """Throughput against the wired delay: TTI-quantised RTTs against Vegas' integer test."""
    fig, ax = _axes("one-way wired delay [ms]", "throughput / 384 kbit/s [%]")
    columns: dict[str, list[Any]] = {"cc": [], "tbler": [], "delay_ms": [], "share": [], "rtt_min_s": []}
    for cc in ("reno", "vegas"):
        for tbler, style in zip(data.labels("wired", "tbler"), ("-o", "--s", ":^"), strict=False):
            delays = data.labels("wired", "delay_ms")
            shares = [data.estimate("wired", "share", cc=cc, tbler=tbler, delay_ms=d) for d in delays]
            ys = [100 * s.mean for s in shares]
            ax.plot(
                delays, ys, style, color=COLOURS[cc], markersize=3, linewidth=1, label=f"{NAMES[cc]}, TBLER {tbler} %"
            )
            for d, share in zip(delays, shares, strict=True):
                rtt = data.estimate("wired", "rtt_min", cc=cc, tbler=tbler, delay_ms=d).mean
                _append(columns, cc=cc, tbler=tbler, delay_ms=d, share=share.mean, rtt_min_s=rtt)
    ax.set_ylim(0, 100)
    ax.legend(frameon=False, fontsize=7)
    caption = "Throughput against the one-way wired delay; everything else as in the parameter set."
    return Figure("wired-delay", "Sensitivity to the wired delay", caption, fig, {"wired-delay": columns})


def figure_ahead(data: Data) -> Figure:
    """The paper's TCPs alone, behind a snoop agent and behind a proxy; and the stacks of today."""
    fig = study_figure(3.4)
    left, right = fig.subplots(1, 2, sharey=True)
    _label(left, "TBLER [%]", "throughput / 384 kbit/s [%]")
    _label(right, "TBLER [%]", "")
    columns: dict[str, list[Any]] = {"stack": [], "cc": [], "node": [], "tbler": [], "share": [], "rtt_mean_s": []}
    rates = data.labels("ahead", "tbler")

    def curve(ax: Axes, group: str, label: str, style: dict[str, Any], **at: Any) -> None:
        shares, rtts = [], []
        for t in rates:
            with contextlib.suppress(NoRunsError):
                place = "beyond" if group == "rates" and t not in data.labels("rates", "tbler") else group
                shares.append((t, 100 * data.estimate(place, "share", tbler=t, **at).mean))
                rtts.append(data.estimate(place, "rtt_mean", tbler=t, **at).mean)
        ax.plot(*zip(*shares, strict=True), label=label, markersize=3.5, linewidth=1.2, **style)
        for (t, share), rtt in zip(shares, rtts, strict=True):
            stack = "linux-6" if group == "today" else "ns2"
            node = at.get("node", "none")
            _append(columns, stack=stack, cc=at["cc"], node=node, tbler=t, share=share / 100, rtt_mean_s=rtt)

    for cc in ("reno", "vegas"):
        colour = {"color": COLOURS[cc]}
        curve(left, "rates", f"{NAMES[cc]}, alone", {**colour, "linestyle": "-", "marker": "o"}, cc=cc)
        curve(
            left,
            "ahead",
            f"{NAMES[cc]}, snoop agent",
            {**colour, "linestyle": "--", "marker": "s"},
            cc=cc,
            node="snoop",
        )
        curve(left, "ahead", f"{NAMES[cc]}, proxy", {**colour, "linestyle": ":", "marker": "^"}, cc=cc, node="proxy")
    for cc, colour, marker in TODAY:
        # Reno's curve covers CUBIC's.
        style = {"color": colour, "marker": marker, "linestyle": ":" if cc == "reno" else "-"}
        curve(right, "today", NAMES.get(cc, cc.upper()), style, cc=cc)
    ceiling = [100 * model.ceiling(t) for t in (0, rates[-1])]
    for ax, title in ((left, "the paper's TCPs, with help at the RNC"), (right, "stacks of today (linux-6), no help")):
        ax.plot((0, rates[-1]), ceiling, "--", color="#999999", linewidth=1, label="(1 - p) · 96.2 %")
        ax.set_title(title, fontsize=8)
        ax.set_ylim(0, 100)
    right.legend(frameon=False, fontsize=7, loc="lower left")
    # Between Vegas at the bottom and Reno at the top nothing is drawn.
    left.legend(frameon=False, fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 0.19), ncols=2, columnspacing=0.8)
    caption = (
        "Throughput against TBLER. Left: Vegas and Reno of ns-2 alone, with a snoop agent at the RNC, and with a proxy "
        "there that splits the connection. Neither helps Vegas: RLC loses nothing that an agent could send again, and "
        "the round trips swing on the radio hop, which is the proxy's own. Right: Linux' CUBIC and Reno fill the "
        "channel, and RLC's unlimited buffer with it (round trips of a minute and more); BBR gets almost as much at "
        "a small part of the delay; Linux' Vegas, which keeps the smallest round trip of each window and segments "
        "of 1460 B, loses less than ns-2's. The stacks of today carry fewer headers, so 0 % is 98 % and not 96 %."
    )
    return Figure("ahead", "Help at the RNC, and stacks of today", caption, fig, {"ahead": columns})


def figure_phase(data: Data) -> Figure:
    """Vegas without errors against the start of the flow within an uplink TTI."""
    fig, ax = _axes("start of the flow within a 20 ms uplink TTI [ms]", "throughput / 384 kbit/s [%]")
    starts = data.labels("phase", "start_ms")
    shares = [data.estimate("phase", "share", start_ms=s).mean * 100 for s in starts]
    rtts = [data.estimate("phase", "rtt_min", start_ms=s).mean * 1e3 for s in starts]
    style = {"markersize": 3, "linewidth": 1}
    ax.plot(
        [float(s) for s in starts], shares, "-o", color=COLOURS["reno"], label="throughput of Vegas (left)", **style
    )
    right = ax.twinx()
    right.plot([float(s) for s in starts], rtts, "--s", color=COLOURS["vegas"], label="smallest RTT (right)", **style)
    right.set_ylabel("smallest RTT [ms]", fontsize=8)
    right.tick_params(labelsize=7)
    right.spines["top"].set_visible(False)
    handles = ax.get_lines() + right.get_lines()
    # On the axes that are drawn last: the grid of the right ones would cross the legend of the left
    # ones.
    right.legend(handles=handles, frameon=False, fontsize=7, loc="lower center")
    ax.set_ylim(0, 100)
    columns: dict[str, list[Any]] = {"start_ms": list(starts), "vegas_percent": shares, "rtt_min_ms": rtts}
    caption = (
        "Vegas at 0 % TBLER against the instant at which the flow starts, relative to the uplink's TTI grid. The first "
        "round trip depends on it, ns-2's Vegas keeps the smallest as baseRTT, and one that is too small to be "
        "reached again holds the window below the pipe."
    )
    return Figure("start-phase", "Sensitivity to the start within a TTI", caption, fig, {"start-phase": columns})


def tables(evidence: Evidence) -> Iterable[TableView]:
    """Rates in numbers, the trigger tables, the arithmetic."""
    for s in _main_first(evidence):
        yield rates_table(evidence.of(s))
    data = evidence.of(evidence.main_set)
    yield triggers_table(data, "triggers", "Status triggers, one changed at a time", ("triggers",))
    if evidence.study.has_group("combinations"):
        axes = ("last_new", "last_retx", "window", "gap", "poll_timer")
        yield triggers_table(data, "combinations", "Status triggers, every combination", axes)
    yield arithmetic_table()


def rates_table(data: Data) -> TableView:
    """Figure 5a in numbers, with what the channel carried."""
    rows = []
    for cc in ("vegas", "reno"):
        for t in data.labels("rates", "tbler"):
            at = {"cc": cc, "tbler": t}
            rows.append(
                (
                    NAMES[cc],
                    t,
                    _percent(data.estimate("rates", "share", **at)),
                    f"{100 * model.ceiling(t):.1f}",
                    *(f"{data.estimate('rates', k, **at).mean:.3f}" for k in ("rtt_min", "rtt_mean", "rtt_max")),
                    f"{data.estimate('rates', 'timeouts_300s', **at).mean:.2f}",
                    *(_radio(data, "rates", k, at) for k in ("downlink_repeats", "downlink_status", "downlink_idle")),
                )
            )
    headers = (
        "TCP", "TBLER [%]", "share [%]", "ceiling [%]", "RTT min [s]", "RTT mean [s]", "RTT max [s]",
        "timeouts in 300 s", "repeats per block [%]", "downlink status [%]", "downlink idle [%]",
    )  # fmt: skip
    note = "Shares of the downlink's blocks; repeats are retransmitted blocks over new ones: p / (1 - p) at least."
    name = f"rates-{data.parameter_set.name}"
    return TableView(name, f"Rates ({data.parameter_set.name})", headers, tuple(rows), note)


def triggers_table(data: Data, group: str, title: str, axes: Sequence[str]) -> TableView:
    """Each combination of status triggers: goodput, RTT, overhead."""
    rows = []
    points = list(dict.fromkeys(tuple(r.point[a] for a in axes) for r in data.runs(group)))
    for point in points:
        at = dict(zip(axes, point, strict=True))
        for cc in data.labels(group, "cc"):
            here = {**at, "cc": cc}
            rows.append(
                (
                    *point,
                    NAMES[cc],
                    _percent(data.estimate(group, "share", **here)),
                    *(_seconds(data.estimate(group, k, **here)) for k in ("rtt_mean", "rtt_max")),
                    f"{data.estimate(group, 'timeouts_300s', **here).mean:.1f}",
                    _radio(data, group, "uplink_status", here),
                    _radio(data, group, "downlink_repeats", here),
                )
            )
    headers = (
        *axes, "TCP", "share [%]", "RTT mean [s]", "RTT max [s]", "timeouts in 300 s",
        "uplink blocks that are status [%]", "repeats per block [%]",
    )  # fmt: skip
    note = (
        "TBLER 10 %. The paper names these triggers in its tables 1 and 2 and says that an optimum is sought; "
        "a share near 0 means that the RLC window stalls."
    )
    return TableView(group, title, headers, tuple(rows), note)


def arithmetic_table() -> TableView:
    """What the paper computes by hand, computed again."""
    rows = (
        ("equation 4: 552 B down", "20 ms", f"{model.transmission_time_s(552, 12, 0.010) * 1e3:g} ms"),
        ("equation 4: 40 B up", "20 ms", f"{model.transmission_time_s(40, 4, 0.020) * 1e3:g} ms"),
        ("smallest RTT, one way 40.4 ms (paper)", "-", f"{model.minimum_rtt_s(0.0404) * 1e3:g} ms"),
        ("smallest RTT, one way 29 ms (calibrated)", "120 ms", f"{model.minimum_rtt_s(0.029) * 1e3:g} ms"),
        ("equation 1: window 6, RTT 0.3 s, base 0.12 s", "> 3", f"{model.vegas_delta(6, 0.3, 0.12):.1f}"),
        ("equation 1: window 5, RTT 0.2 s, base 0.12 s", "1 to 3", f"{model.vegas_delta(5, 0.2, 0.12):.1f}"),
        ("532 / 553", "96 %", f"{100 * model.FULL_SHARE:.1f} %"),
        ("bandwidth-delay product at 0.12 s", "64 segments", f"{model.bandwidth_delay_segments(0.12):.1f} segments"),
    )
    return TableView("arithmetic", "Arithmetic", ("quantity", "paper", "ours"), rows)


def _windows(
    ax: Axes,
    data: Data,
    tbler: int,
    until: float,
    variants: Sequence[str] = ("reno", "vegas"),
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"cc": [], "time_s": [], "cwnd": []}
    for cc in variants:
        trace = data.shown("rates", cc=cc, tbler=tbler).values["trace"]
        shown = trace["time"] < until
        time, cwnd = trace["time"][shown], np.minimum(trace["cwnd"][shown], model.MAX_WINDOW)
        changed = np.append(True, np.diff(cwnd) != 0)
        changed[-1] = True  # the last value goes on to the edge
        ax.step(time[changed], cwnd[changed], where="post", color=COLOURS[cc], linewidth=1, label=NAMES[cc])
        _append(columns, cc=[cc] * int(changed.sum()), time_s=time[changed].tolist(), cwnd=cwnd[changed].tolist())
    return columns


def _errorbar(ax: Axes, points: Sequence[tuple[float, Estimate]], cc: str) -> None:
    ax.errorbar(
        [t for t, _ in points],
        [100 * share.mean for _, share in points],
        yerr=[100 * (share.half_width or 0.0) for _, share in points],
        fmt="-o",
        color=COLOURS[cc],
        markersize=4,
        capsize=2,
        linewidth=1.2,
        label=f"{NAMES[cc]}, ours",
    )


def _axes(x: str, y: str) -> tuple[MplFigure, Axes]:
    fig = study_figure(3.4)
    ax = fig.add_subplot()
    _label(ax, x, y)
    return fig, ax


def _two_axes(x: str, y: str) -> tuple[MplFigure, tuple[Axes, Axes]]:
    fig = study_figure(4.4)
    upper, lower = fig.subplots(2, 1, sharex=True)
    _label(upper, "", y)
    _label(lower, x, y)
    return fig, (upper, lower)


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
    ax.grid(True, color="#e0e0e0", linewidth=0.5)
    ax.spines[["top", "right"]].set_visible(False)


def _append(columns: dict[str, list[Any]], **more: Any) -> None:
    for name, value in more.items():
        if isinstance(value, list):
            columns[name] += value
        else:
            columns[name].append(value)


def _percent(share: Estimate) -> str:
    half = share.half_width
    return f"{100 * share.mean:.1f}" + ("" if half is None else f" ± {100 * half:.1f}")


def _seconds(value: Estimate) -> str:
    return f"{value.mean:.3f}"


def _radio(data: Data, group: str, key: str, at: dict[str, Any]) -> str:
    try:
        return f"{100 * data.estimate(group, key, **at).mean:.2f}"
    except KeyError:
        return "-"


def _main_first(evidence: Evidence) -> list[str]:
    return sorted(evidence.parameter_sets, key=lambda s: s != evidence.main_set)
