"""Figures 1, 2, 5, 6, 8 and 9, what lies beyond the contribution, and the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lasthop.harness import Data, Evidence, Figure, TableView
from lasthop.harness.drawing import decade_axis, readable, study_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

COLOURS = {
    "normal": "#0072b2",
    "rate": "#e69f00",
    "queue": "#d55e00",
    "close": "#009e73",
    "cubic": "#56b4e9",
    "bbr3": "#cc79a7",
    "guided": "#999933",
    "loose-fq": "#8b4513",
}
#: Names of schemes, the same as on the cards.
NAMES = {"normal": "normal TCP", "rate": "R*RTT", "queue": "queue information", "close": "close coupling"}
#: Names under bars, which have less room.
SHORT = {
    "normal": "normal\nTCP",
    "queue": "loose",
    "loose-fq": "loose, flow\nqueues",
    "close": "close",
    "cubic": "CUBIC",
}
#: Families of the summary figure: colour, marker, cases and their labels.
FAMILIES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "no help": (
        "#0072b2",
        "o",
        {
            "normal": "NewReno",
            "paced": "NewReno, paced",
            "cubic": "CUBIC",
            "linux-cubic": "Linux CUBIC",
            "bbr": "BBR",
            "bbr3": "BBRv3",
        },
    ),
    "hints": (
        "#d55e00",
        "s",
        {
            "rate": "R*RTT",
            "queue": "queue information",
            "rate-unpaced": "R*RTT, unpaced",
            "queue-unpaced": "queue information, unpaced",
            "option": "in ACKs",
            "enb": "from eNB",
            "guided": "ceiling",
        },
    ),
    "marks of layer 2": (
        "#e69f00",
        "^",
        {
            "codel-ecn": "CoDel, CUBIC",
            "pi2-cubic": "PI2, CUBIC",
            "pi2-prague": "PI2, Prague",
            "step-dctcp": "step, DCTCP",
            "step-prague": "step, Prague",
            "abc": "ABC",
        },
    ),
    "close coupling": ("#009e73", "D", {"close-64k": "server in eNB", "split-64k": "proxy in eNB"}),
}


def figures(evidence: Evidence) -> Iterable[Figure]:
    """The figures of the main set."""
    data = evidence.of(evidence.main_set)
    yield figure_1(data)
    yield figure_2(data)
    yield figure_5(data)
    yield figure_6(data)
    yield figure_8(data)
    yield figure_9(data)
    yield figure_summary(data)
    yield figure_wrong(data)
    yield figure_users(data)


def tables(evidence: Evidence) -> Iterable[TableView]:
    """Table 1, the grid of short bursts, and a table for each group beyond."""
    data = evidence.of(evidence.main_set)
    yield table_1(data)
    at = [(rtt, w) for rtt in data.labels("short", "rtt") for w in data.labels("short", "window")]
    took = {
        (s, *x): data.estimate("short", "latency", scheme=s, rtt=x[0], window=x[1])
        for s in ("normal", "queue")
        for x in at
    }
    rows = tuple(
        (
            f"{rtt} ms",
            window,
            took["normal", rtt, window].text(),
            took["queue", rtt, window].text(),
            f"{100 - 100 * took['queue', rtt, window].mean / took['normal', rtt, window].mean:.0f} %",
        )
        for rtt, window in at
    )
    headers: tuple[str, ...] = ("round trip", "IW", "normal TCP", "loose coupling", "less")
    yield TableView("short", "Figure 5: bursts of 0.5 MB [s]", headers, rows)
    yield table_bursts(data)
    yield table_limits(data)
    for name, title, axes, values in (
        (
            "web",
            "Figure 6: web objects of 50 kB beside a download",
            ("scheme",),
            {"object": "object [ms]", "goodput": "download [Mbit/s]", "delay_p95": "95 % of its packets [ms]"},
        ),
        (
            "mix",
            "Figure 6 with files, pages and video in one queue",
            ("scheme",),
            {
                "file": "file [s]",
                "page": "page [s]",
                "page_p95": "95 % of pages [s]",
                "bitrate": "video [Mbit/s]",
                "switches": "switches",
                "stalls": "stalls",
                "stalled": "stalled [s]",
            },
        ),
        (
            "load",
            "What the UE predicts",
            ("load",),
            {
                "error": "relative error of the rate",
                "free_0.1": "queue estimate off by [kB] after 0.1 s",
                "free_1": "1 s",
                "free_10": "10 s",
                "corrected": "corrected every 10 ms [kB]",
                "empty": "share of time at 0",
            },
        ),
        (
            "spread",
            "Every scheme on the same radio (60 kB)",
            ("case",),
            {
                "goodput": "goodput [Mbit/s]",
                "delay": "mean delay [ms]",
                "delay_p95": "95 % within [ms]",
                "rtt": "round trip [ms]",
                "lost": "packets lost",
            },
        ),
        (
            "thresholds",
            "Q_th as a share of the layer-2 buffer",
            ("case",),
            {"goodput": "goodput [Mbit/s]", "delay_p95": "95 % within [ms]", "lost": "lost"},
        ),
        (
            "trips",
            "Which round trip the formula takes (60 kB)",
            ("scheme", "trip"),
            {"goodput": "goodput [Mbit/s]", "delay_p95": "95 % within [ms]", "lost": "lost"},
        ),
        ("wrong", "Wrong and old hints (60 kB)", ("case",), {"goodput": "goodput [Mbit/s]", "lost": "lost"}),
        (
            "users",
            "Several phones in the cell",
            ("users", "scheme"),
            {"goodput": "sum [Mbit/s]", "jain": "Jain's index", "rtt": "round trip [ms]", "delay_p95": "95 % [ms]"},
        ),
        (
            "rivals",
            "Beside a flow without hints in the same queue",
            ("scheme", "rival"),
            {"goodput": "download [Mbit/s]", "rival": "rival [Mbit/s]", "share": "download's share"},
        ),
        (
            "drive",
            "A drive past the border of two cells",
            ("scheme",),
            {"goodput": "goodput [Mbit/s]", "delay_p95": "95 % [ms]", "lost": "lost", "timeouts": "timeouts"},
        ),
    ):
        yield grid_table(data, name, title, axes, values)


def table_1(data: Data) -> TableView:
    """The contribution's columns, and beside them what it does not have."""
    beside = {"cubic": "CUBIC", "paced": "normal, paced"} if "baselines" in data.records else {}
    groups = {**dict.fromkeys(NAMES, "table"), **dict.fromkeys(beside, "baselines")}
    rows = tuple(
        (f"{b} kB", *(data.estimate(g, "goodput", scheme=s, buffer=b).text() for s, g in groups.items()))
        for b in (45, 60)
    )
    headers = ("buffer", *NAMES.values(), *beside.values())
    return TableView("table1", "Table 1: goodput of a full buffer [Mbit/s]", headers, rows)


def burst_runs(data: Data) -> Mapping[str, Mapping[str, Any]]:
    """What is left of the long run of bursts, by scheme."""
    runs = {s: data.shown("bursts", scheme=s).values for s in data.labels("bursts", "scheme")}
    if "loose-bursts" in data.records:
        runs["queue"] = data.shown("loose-bursts", scheme="queue").values
    return runs


def table_bursts(data: Data) -> TableView:
    """Bursts of 2 MB."""
    values = {"latency": "mean", "median": "median", "p95": "95 % within", "bursts": "bursts", "timeouts": "timeouts"}
    rows = tuple((NAMES[s], *(f"{found[v]:.3g}" for v in values)) for s, found in burst_runs(data).items())
    return TableView("bursts", "Figure 9: bursts of 2 MB [s]", ("scheme", *values.values()), rows)


#: Kinds of wrong hints: the value when nothing is wrong, what is wrong, and its unit.
WRONGS: Mapping[str, tuple[float, str, str]] = {
    "error": (0.0, "error of the rate (sigma)", ""),
    "age": (11.0, "age on arrival", "ms"),
    "bias": (1.0, "hinted rate / true rate", ""),
    "loss": (0.0, "reports lost", "%"),
    "step": (0.0, "steps of the rate", "Mbit/s"),
    "qstep": (0.0, "steps of the queue", "kB"),
    "period": (10.0, "period of the reports", "ms"),
}


def wrongs(data: Data, kind: str) -> Mapping[float, float]:
    """Goodput [Mbit/s] by how wrong hints are."""
    labels = [c for c in data.labels("wrong", "case") if str(c).startswith(kind + "-")]
    points = {float(str(c).split("-")[1]): data.estimate("wrong", "goodput", case=c).mean for c in labels}
    points[WRONGS[kind][0]] = data.estimate("wrong", "goodput", case="right").mean
    return dict(sorted(points.items()))


def table_limits(data: Data) -> TableView:
    """How wrong hints may be, on each side of none.

    Between which two values plain CUBIC begins to win.
    """
    cubic = data.estimate("wrong", "goodput", case="cubic").mean
    rows = []
    for kind, (none, what, unit) in WRONGS.items():
        points = wrongs(data, kind)
        sides = ([x for x in points if x >= none], [x for x in reversed(points) if x <= none])
        for side in (s for s in sides if len(s) > 1):
            lost = next((i for i, x in enumerate(side) if points[x] < cubic), None)
            if lost is None:
                rows.append((what, f"never, up to {side[-1]:g} {unit}".strip()))
            else:
                rows.append((what, f"between {side[max(lost - 1, 0)]:g} and {side[lost]:g} {unit}".strip()))
    return TableView("limits", "Where plain CUBIC begins to win (60 kB)", ("hints", "CUBIC wins"), tuple(rows))


def said(label: object) -> object:
    """A label of an axis as figures call it."""
    names = {key: name for _, _, cases in FAMILIES.values() for key, name in cases.items()}
    names |= NAMES | {"loose-fq": "queue information, flow queues", "right": "right hints"}
    kind, _, value = str(label).partition("-")
    if str(label) in names:
        return names[str(label)]
    if kind in WRONGS and value:
        _, what, unit = WRONGS[kind]
        return f"{what}: {value} {unit}".strip()
    return label


def grid_table(data: Data, group: str, title: str, axes: Sequence[str], values: Mapping[str, str]) -> TableView:
    """A row for each point of a group."""
    points = list(dict.fromkeys(tuple(r.point[a] for a in axes) for r in data.records[group]))
    rows = tuple(
        (
            *(said(label) for label in point),
            *(data.estimate(group, v, **dict(zip(axes, point, strict=True))).text() for v in values),
        )
        for point in points
    )
    return TableView(group, title, (*axes, *values.values()), rows)


def figure_1(data: Data) -> Figure:
    """Goodput and round trip against the buffer."""
    labels = data.labels("bdp", "bdp")
    xs = [float(x) for x in labels]
    air = data.estimate("air", "goodput").mean
    rate = [data.estimate("bdp", "goodput", bdp=x).mean / air for x in labels]
    trip = [data.estimate("bdp", "rtt", bdp=x).mean / 5 for x in labels]
    fig, ax = _axes("layer-2 buffer / 45 kB", "goodput / air rate")
    (line,) = ax.plot(xs, rate, "o-", color=COLOURS["normal"], label="goodput")
    ax.set_xscale("log", base=2)
    ax.set_xticks(xs, labels)
    ax.set_ylim(0, 1.05)
    other = ax.twinx()
    (dashed,) = other.plot(xs, trip, "s--", color=COLOURS["queue"], label="round trip")
    other.set_ylim(0, None)
    other.set_ylabel("round trip / 5 ms")
    # On the axes that are drawn last: their grid would cross the legend of the others.
    other.legend(handles=[line, dashed], frameon=False, fontsize=7, loc="lower right")
    columns = {"bdp": xs, "goodput_share": rate, "rtt_over_5ms": trip}
    caption = "Normal TCP: goodput over the air-link rate and mean round trip over 5 ms, against the layer-2 buffer."
    return Figure("fig1", "Figure 1", caption, fig, {"fig1": columns})


def figure_2(data: Data) -> Figure:
    """Window, layer-2 queue and rate over the first seconds."""
    trace = data.shown("trace").values
    fig = study_figure(4.2)
    window, queue, rate = fig.subplots(3, 1, sharex=True)
    window.plot(trace["time_s"], trace["cwnd"], color=COLOURS["normal"], linewidth=1)
    window.set_ylabel("window\n[segments]")
    queue.plot(trace["hint_time_s"], trace["queue_bytes"] / 1e3, color=COLOURS["queue"], linewidth=0.6)
    queue.axhline(45, color="#666666", linestyle="--", linewidth=0.8)
    queue.set_ylabel("layer-2 queue\n[kB]")
    rate.plot(trace["hint_time_s"], trace["rate_bps"] / 1e6, color=COLOURS["close"], linewidth=0.8)
    rate.set_ylabel("rate of the link\n[Mbit/s]")
    rate.set_ylim(0, None)
    rate.set_xlabel("time [s]")
    columns = {k: trace[k] for k in ("hint_time_s", "queue_bytes", "rate_bps")}
    caption = (
        "Normal TCP, layer-2 buffer 45 kB (dashed): slow start overflows it, then congestion avoidance "
        "does, again and again. Rate of the link: the phone's share at its CQI, averaged over 50 ms."
    )
    windows = {k: trace[k] for k in ("time_s", "cwnd")}
    return Figure("fig2", "Figure 2", caption, fig, {"fig2": columns, "fig2_window": windows})


def figure_5(data: Data) -> Figure:
    """Short bursts over round trip and initial window."""
    windows = data.labels("short", "window")
    fig = study_figure(2.8)
    columns: dict[str, list[object]] = {"rtt_ms": [], "window": [], "normal_s": [], "loose_s": []}
    trips = data.labels("short", "rtt")
    for ax, rtt in zip(fig.subplots(1, len(trips), sharey=True), trips, strict=True):
        for i, scheme in enumerate(("normal", "queue")):
            found = [data.estimate("short", "latency", scheme=scheme, rtt=rtt, window=w).mean for w in windows]
            label = "normal TCP" if scheme == "normal" else "loose coupling"
            ax.bar([k + 0.4 * i for k in range(len(windows))], found, 0.38, color=COLOURS[scheme], label=label)
            columns["normal_s" if scheme == "normal" else "loose_s"] += found
        columns["rtt_ms"] += [rtt] * len(windows)
        columns["window"] += list(windows)
        ax.set_xticks([k + 0.2 for k in range(len(windows))], [str(w) for w in windows])
        ax.set_xlabel("initial window")
        ax.set_title(f"round trip {rtt} ms", fontsize=8)
        if rtt == trips[0]:
            ax.set_ylabel("time of 0.5 MB [s]")
            ax.legend(frameon=False, fontsize=7)
    caption = "Connections of one burst of 0.5 MB each: from the connection's start to the last byte."
    return Figure("fig5", "Figure 5", caption, fig, {"fig5": columns})


def figure_6(data: Data) -> Figure:
    """Objects beside a download, and files, pages and video in one queue."""
    fig = study_figure(2.9)
    left, middle, right = fig.subplots(1, 3)
    schemes = data.labels("web", "scheme")
    objects = [data.estimate("web", "object", scheme=s).mean for s in schemes]
    _bars(left, schemes, objects, "50 kB object [ms]")
    left.set_title("beside a download", fontsize=8)
    mixed = data.labels("mix", "scheme")
    pages = [data.estimate("mix", "page", scheme=s).mean for s in mixed]
    video = [data.estimate("mix", "bitrate", scheme=s).mean for s in mixed]
    _bars(middle, mixed, pages, "web page [s]")
    _bars(right, mixed, video, "video bitrate [Mbit/s]")
    middle.set_title("beside files and video", fontsize=8)
    right.set_title("beside files and pages", fontsize=8)
    caption = (
        "One phone, one layer-2 queue of 60 kB. Left: web objects beside a download that never ends. Middle and "
        "right: 3GPP files of 2 MB, web pages and adaptive video together. Loose: loose coupling with queue "
        "information; flow queues: each flow has one; close: close coupling."
    )
    columns = {
        "web": {"scheme": schemes, "object_ms": objects},
        "mix": {"scheme": mixed, "page_s": pages, "video": video},
    }
    return Figure("fig6", "Figure 6", caption, fig, {f"fig6_{k}": v for k, v in columns.items()})


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
    fig.legend(frameon=False, fontsize=7, loc="outside upper center", ncols=5, columnspacing=1.0, handlelength=1.4)
    columns["air"] = [air, air]
    caption = "A full buffer over 60 s. Air rate: UDP with a full queue, less headers."
    return Figure("fig8", "Figure 8", caption, fig, {"fig8": columns})


def figure_9(data: Data) -> Figure:
    """The distribution of the times of bursts."""
    fig, ax = _axes("time of a burst of 2 MB [s]", "share of the bursts")
    columns: dict[str, Sequence[object]] = {}
    for scheme, found in burst_runs(data).items():
        times = sorted(found["times_s"])
        share = [(i + 1) / len(times) for i in range(len(times))]
        ax.step(times, share, where="post", color=COLOURS[scheme], label=NAMES[scheme], linewidth=1.3)
        ax.plot([found["latency"]], [0.03], "^", color=COLOURS[scheme], markersize=6)
        columns[f"{scheme}_s"] = times
    ax.set_xlim(0, None)
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize=7, loc="upper left")
    caption = (
        "Bursts of 2 MB with reading times of 5 s in the mean, layer-2 buffer 45 kB: the share of bursts that took no "
        "longer. Triangles: means."
    )
    return Figure("fig9", "Figure 9", caption, fig, {f"fig9_{k}": {k: v} for k, v in columns.items()})


def figure_summary(data: Data) -> Figure:
    """Goodput against the 95th percentile of the delay, for everything on the same radio."""
    fig = study_figure(5.6)
    ax = fig.add_subplot()
    ax.set_xlabel("one-way delay that 95 % of the packets do not exceed [ms]")
    ax.set_ylabel("goodput [Mbit/s]")
    columns: dict[str, list[object]] = {"case": [], "delay_p95_ms": [], "goodput_mbps": []}
    points: list[tuple[float, float, str, str]] = []
    for family, (colour, marker, cases) in FAMILIES.items():
        for case, name in cases.items():
            delay, rate = (data.estimate("spread", v, case=case).mean for v in ("delay_p95", "goodput"))
            ax.plot([delay], [rate], marker, markersize=5, color=colour, label=family)
            points.append((delay, rate, name, colour))
            for key, value in (("case", case), ("delay_p95_ms", delay), ("goodput_mbps", rate)):
                columns[key].append(value)
    _label(ax, points)
    air = data.estimate("air", "goodput").mean
    ax.axhline(air, color="#666666", linestyle="--", linewidth=0.8)
    handles, labels = ax.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    ax.legend([first[f] for f in FAMILIES], list(FAMILIES), frameon=False, fontsize=7, loc="lower right")
    caption = (
        "Full buffer, layer-2 buffer 60 kB, 40 s. Dashed: the air rate. Close coupling has a receive window of "
        "64 kB, so that a packet does not wait in the IP buffer for what the sender has written long before."
    )
    return Figure("summary", "Throughput against delay", caption, fig, {"summary": columns})


def _label(ax: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Names beside points, where they cover neither a point nor one another."""
    xs, ys = [x for x, _, _, _ in points], [y for _, y, _, _ in points]
    (x0, x1), (y0, y1) = ((min(values), max(values)) for values in (xs, ys))
    ax.set_xlim(x0 - 0.05 * (x1 - x0), x1 + 0.15 * (x1 - x0))
    ax.set_ylim(y0 - 0.05 * (y1 - y0), y1 + 0.08 * (y1 - y0))
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    at = [((x - left) / (right - left), (y - low) / (high - low)) for x, y, _, _ in points]
    taken = [(x - 0.008, y - 0.01, x + 0.008, y + 0.01) for x, y in at]

    def covered(box: tuple[float, float, float, float]) -> float:
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= 1 and box[3] <= 1
        common = ((min(box[2], t[2]) - max(box[0], t[0]), min(box[3], t[3]) - max(box[1], t[1])) for t in taken)
        return sum(w * h for w, h in common if w > 0 and h > 0) + (not inside)

    for (x, y), (_, _, name, colour) in sorted(zip(at, points, strict=True), key=lambda p: -p[0][1]):
        # In shares of the axes: letters of 7 points.
        width, height = 0.0085 * len(name), 0.026
        places = [
            (x + gap if onward else x - gap - width, y + rise - height / 2)
            for gap in (0.014, 0.03, 0.05)
            for rise in (0.0, 0.03, -0.03, 0.06, -0.06, 0.1, -0.1, 0.15, -0.15, 0.2, -0.2)
            for onward in (True, False)
        ]
        u, v = min(places, key=lambda p: covered((p[0], p[1], p[0] + width, p[1] + height)))
        taken.append((u, v, u + width, v + height))
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2}
        near = abs(v + height / 2 - y) < 0.001
        ax.annotate(
            name, ((x * (right - left) + left), y * (high - low) + low), (u, v + height / 2),
            textcoords="axes fraction", fontsize=7, color=readable(colour), va="center",
            arrowprops=None if near else line,
        )  # fmt: skip


def figure_wrong(data: Data) -> Figure:
    """How wrong a hint may be."""
    fig = study_figure(4.2)
    cubic = data.estimate("wrong", "goodput", case="cubic").mean
    columns: dict[str, list[object]] = {"kind": [], "value": [], "goodput_mbps": []}
    *grid, last = fig.subplots(2, 4, sharey=True).flat
    for ax, (kind, (_, title, unit)) in zip(grid, WRONGS.items(), strict=True):
        points = wrongs(data, kind)
        ax.plot(list(points), list(points.values()), "o-", color=COLOURS["queue"], markersize=4)
        ax.axhline(cubic, color=COLOURS["cubic"], linestyle="--", linewidth=1)
        ax.set_xlabel(f"{title} [{unit}]" if unit else title, fontsize=8)
        ax.tick_params(labelsize=7)
        if kind in ("age", "period"):
            ax.set_xscale("log")
            decade_axis(ax.xaxis)
        if kind in ("error", "step"):
            ax.set_ylabel("goodput [Mbit/s]", fontsize=8)
        columns["kind"] += [kind] * len(points)
        columns["value"] += list(points)
        columns["goodput_mbps"] += list(points.values())
    # The panels share the axis: a limit that is set before the last curve would cut it.
    grid[0].set_ylim(bottom=0)
    last.axis("off")
    last.plot([], [], "o-", color=COLOURS["queue"], markersize=4, label="with hints")
    last.plot([], [], "--", color=COLOURS["cubic"], linewidth=1, label="CUBIC")
    last.legend(frameon=False, fontsize=7, loc="center")
    caption = (
        "The scheme with queue information when hints are wrong, old, biased, lost, coarse or seldom (valid "
        "for 10 s); dashed: CUBIC."
    )
    return Figure("wrong", "How wrong may hints be?", caption, fig, {"wrong": columns})


def figure_users(data: Data) -> Figure:
    """Several phones in one cell."""
    fig = study_figure(2.9)
    left, right = fig.subplots(1, 2)
    users = data.labels("users", "users")
    columns: dict[str, list[object]] = {"users": list(users)}
    for scheme in data.labels("users", "scheme"):
        for ax, value, at in ((left, "goodput", "sum"), (right, "rtt", "round trip")):
            found = [data.estimate("users", value, users=u, scheme=scheme).mean for u in users]
            if scheme == "close" and value == "rtt":
                continue
            ax.plot(
                users,
                found,
                "o-",
                color=COLOURS[scheme],
                label={"cubic": "CUBIC", "bbr3": "BBRv3", **NAMES}.get(scheme, scheme),
                markersize=4,
            )
            columns[f"{scheme} {at}"] = list(found)
    left.set_ylabel("sum of goodputs [Mbit/s]")
    right.set_ylabel("mean round trip [ms]")
    left.set_ylim(0, None)
    right.set_ylim(0, None)
    for ax in (left, right):
        ax.set_xlabel("phones in the cell")
        ax.set_xticks(list(users))
    left.legend(frameon=False, fontsize=7, loc="lower right")
    caption = (
        "Every phone downloads; layer-2 buffer 60 kB each, no other load. The round trip of close coupling is the wait "
        "in a send buffer without limit and is left out."
    )
    return Figure("users", f"{users[0]} to {users[-1]} phones", caption, fig, {"users": columns})


def _bars(ax: Axes, labels: Sequence[object], values: Sequence[float], y: str) -> None:
    ax.bar(range(len(labels)), values, 0.6, color=[COLOURS[str(s)] for s in labels])
    ax.set_xticks(range(len(labels)), [SHORT.get(str(s), str(s)) for s in labels], fontsize=7)
    ax.set_ylabel(y)


def _axes(x: str, y: str) -> tuple[MplFigure, Axes]:
    fig = study_figure(3.4)
    ax = fig.add_subplot()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return fig, ax
