"""The figures of a judgement: courses of a point, and means of a comparative case by path.

A point has the control's states as a strip behind the variables that the case names.
"""

from __future__ import annotations

import hashlib
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.ticker import LogFormatter

from lasthop.harness.drawing import WIDTH, decade_axis, study_figure
from lasthop.judging._placing import BELOW, BETWEEN, GAP, SMALL, legend_above, placed
from lasthop.judging._variables import CONGESTION, RATE, states_of, unit_of
from lasthop.judging.case import Case, CaseMetric
from lasthop.judging.suite import BOUND, BUFFER, PATHS, SuiteFigure
from lasthop.plot._style import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of states: of built-in controls in the order in which a variable lists its states.
_STRIP = ("#bcd9ec", "#f3cdb5", "#bfe3d6", "#efd9e7", "#f6e3b5", "#d3ecf9", "#dcdcdc", "#e9e4c9")
#: A line of a label at the side of axes has so many letters at most.
_LABEL = 18
#: Where a line exceeds all of its bounds so often, its axis is logarithmic, so that both are seen.
_FAR = 20.0
#: Rates and times read better in larger units.
_SCALES = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "B": (1e-6, "MB")}


def course_figure(shown: Mapping[str, Any], plot: Sequence[str], small: bool = False) -> Figure:
    """Draws states and variables of a point over time.

    Args:
        shown: `series`, `states`, `moments`, `sides` and `thresholds` of the point, and `beside`,
            the states of another run on its path, with what that run is.
        plot: the variables, in the order of the case.
        small: a figure of half the width, with one variable and without moments, for the first
            page.
    """
    series = [name for name in plot if shown["series"].get(name)]
    sides = [*(shown.get("sides") or [])][:1]
    if small:
        series = [] if sides else series[:1]
    beside = None if small else shown.get("beside")
    rows = max(len(series) + len(sides), 1)
    figure = study_figure(SMALL)
    heights = [1.0] * rows + ([0.35] if beside else [])
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    end = max((p[0] for points in shown["series"].values() for p in points), default=1.0)
    names = 0
    for ax, name in zip(axes, [*series, *(None for _ in sides)], strict=False):
        if name is None:
            _sides(ax, sides[0])
        else:
            bounds = [b for b in shown.get("thresholds") or [] if b["variable"] == name]
            _line(ax, name, shown["series"][name], bounds, end)
        inside = {moment: at for moment, at in shown["moments"].items() if 0 < at < end and not small}
        for at in inside.values():
            ax.axvline(at, color="#444444", linewidth=0.6, linestyle=":")
        if ax is axes[0]:
            names = _named(ax, inside, end)
    legend = 0
    for variable, changes in [*shown["states"].items()][:1]:
        others = beside["states"].get(variable, []) if beside else []
        colours = state_colours(variable, (state for _, state in (*changes, *others)))
        for ax in axes[:rows]:
            _strip(ax, colours, changes, end)
        if beside:
            _strip(axes[-1], colours, others, end)
            axes[-1].set_yticks([])
            axes[-1].set_ylabel(beside["what"], fontsize=7)
        legend = _legend_of_states(list(axes), small)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(0, end)
    placed(list(axes), small, legend, names=names, between=BETWEEN, below=BELOW, scale=sum(heights) / len(heights))
    return figure


def _named(ax: Axes, moments: Mapping[str, float], end: float) -> int:
    """Names of moments above the axes, in so many rows that none covers another; how many."""
    # Letters of 7 points are 0.06 inches wide in the mean; the axes have about 0.8 of the figure's
    # width.
    letter = 0.06 / (0.8 * WIDTH) * end
    rows: list[float] = []
    for moment, at in sorted(moments.items(), key=lambda item: item[1]):
        half = (len(moment) + 1) / 2 * letter
        row = next((k for k, until in enumerate(rows) if at - half >= until), len(rows))
        rows[row : row + 1] = [at + half]
        ax.annotate(
            moment, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 1 + 8 * row),
            textcoords="offset points", fontsize=7, ha="center", va="bottom",
        )  # fmt: skip
    return len(rows)


def _line(
    ax: Axes, name: str, points: Sequence[Sequence[float | None]], bounds: Sequence[Mapping[str, Any]], end: float
) -> None:
    factor, unit = _SCALES.get(unit_of(name), (1.0, unit_of(name)))
    known = [(t, v * factor) for t, v in points if t is not None and v is not None and math.isfinite(v)]
    if known:
        times, values = zip(*known, strict=True)
        ax.step(times, values, where="post", color=OKABE_ITO[0], linewidth=1.0, zorder=3)
        tops = [max(values), *(bound["value"] * factor for bound in bounds)]
        least = min((bound["value"] * factor for bound in bounds), default=0.0)
        if least > 0 and max(values) > _FAR * max(bound["value"] * factor for bound in bounds):
            ax.set_yscale("log")
            decade_axis(ax.yaxis)
            ax.set_ylim(min(least, *(v for v in values if v > 0)) / 2, max(tops) * 2)
        else:
            ax.set_ylim(0, max(max(tops) * 1.15, 1e-9))
    named = {bound["check"]: bound for bound in sorted(bounds, key=lambda b: b["value"])}  # the highest has the name
    for bound in bounds:
        _bound(ax, bound, factor, end, bound["check"] if bound is named[bound["check"]] else "")
    ax.set_ylabel(f"{name}\n[{unit}]" if unit else name, fontsize=7)


def _bound(ax: Axes, bound: Mapping[str, Any], factor: float, end: float, name: str) -> None:
    """The bound of a check: dashed over its interval, of a moment about that."""
    first, last = bound["from_s"], bound["to_s"]
    if last <= first:
        first, last = max(0.0, first - 0.04 * end), min(end, last + 0.04 * end)
    value = bound["value"] * factor
    ax.plot([first, last], [value, value], color=OKABE_ITO[1], linewidth=1.0, linestyle="--", zorder=4)
    right = last < 0.9 * end
    ax.annotate(
        name, (last if right else first, value), xytext=(0, 1), textcoords="offset points",
        fontsize=6, color=OKABE_ITO[1], ha="left" if right else "right", va="bottom",
    )  # fmt: skip


def _sides(ax: Axes, failed: Mapping[str, Any]) -> None:
    """Both sides of the comparison that does not hold, over its interval."""
    for k, side in enumerate(failed["of"]):
        times = [t for t, _ in side["points"]]
        values = [math.nan if v is None else v for _, v in side["points"]]
        looks = {"marker": ".", "markersize": 2} if k == 0 else {"linestyle": "--"}
        ax.step(times, values, where="post", color=OKABE_ITO[min(k, 1)], linewidth=1.0, zorder=3 + k, **looks)
    ax.margins(y=0.15)
    ax.set_ylabel(f"{failed['check']}\n(dashed: bound)", fontsize=7)


def state_colours(variable: str, states: Iterable[str]) -> dict[str, str]:
    """The colour of each state, the same in every figure of a report.

    States of a user's own control come after those of built-in ones. Their colours follow from
    their names; if two names have the same colour, the later name takes the next colour.

    Args:
        variable: such as `bbr.state`.
        states: those of the run.
    """
    listed = states_of((), CONGESTION).get(variable) or states_of((), RATE).get(variable, ())
    places = {state: k for k, state in enumerate(listed)}
    for state in sorted(set(states) - places.keys()):
        free = set(range(len(_STRIP))) - set(places.values())
        wanted = hashlib.blake2b(state.encode(), digest_size=2).digest()[0] % len(_STRIP)
        places[state] = min(free, key=lambda k: (k - wanted) % len(_STRIP)) if free else wanted
    return {state: _STRIP[k % len(_STRIP)] for state, k in places.items()}


def _strip(ax: Axes, colours: Mapping[str, str], changes: Sequence[Sequence[Any]], end: float) -> None:
    """Coloured spans of the states behind the course."""
    spans: dict[str, list[list[tuple[float, float]]]] = {}
    following = [*(t for t, _ in changes[1:]), end]
    for (begin, state), until in zip(changes, following, strict=True):
        if until > begin:
            last = min(until, end)
            spans.setdefault(state, []).append([(begin, 0), (begin, 1), (last, 1), (last, 0)])
    for state, of in spans.items():
        strip = PolyCollection(
            of, color=colours[state], linewidth=0, zorder=0, label=state, transform=ax.get_xaxis_transform()
        )
        ax.add_collection(strip, autolim=False)


def _legend_of_states(axes: Sequence[Axes], small: bool) -> int:
    """Each state once, of all strips; in how many rows."""
    drawn = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    return legend_above(axes[0].figure, list(drawn.values()), list(drawn), small)


#: Of the candidate and then of each reference: colour and mark. The candidate's is filled.
_LOOKS = tuple(zip((1, 0, 2, 3, 4, 5), "oosD^v", strict=True))


def contest_figure(
    metrics: Sequence[CaseMetric],
    points: Sequence[Mapping[str, Any]],
    controls: Sequence[str],
    small: bool = False,
) -> Figure:
    """Means and 95 % intervals of the candidate and the references, by path.

    Args:
        metrics: the compared metrics, from top to bottom.
        points: the paths, with `compare`.
        controls: the candidate first.
        small: a figure of half the width, for the first page.
    """
    shown = [(metric, [p for p in points if metric.on(p["path"])]) for metric in metrics]
    most = max((len(of) for _, of in shown), default=1)
    long = most > (4 if small else 9)
    figure = study_figure(SMALL)
    axes = figure.subplots(len(metrics), 1, squeeze=False)[:, 0]
    for ax, (metric, of) in zip(axes, shown, strict=True):
        for k, control in enumerate(controls):
            found = [
                (i + _beside(k, controls), entry)
                for i, p in enumerate(of)
                if (entry := _entry(p, control, metric.name))
            ]
            if found:
                _marks(ax, [x for x, _ in found], [e for _, e in found], k, control)
        _scaled(ax, [e for p in of for c in controls if (e := _entry(p, c, metric.name))])
        ax.set_ylabel(_label(metric), fontsize=7)
        names = [p["path"] for p in of]
        ax.set_xticks(range(len(of)), names, rotation=60 if long else 0, ha="right" if long else "center")
        ax.set_xlim(-0.5, max(len(of), 1) - 0.5)
        ax.tick_params(axis="x", labelsize=6 if long else 7, pad=1)
    drawn = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    there = [c for c in controls if c in drawn]
    legend = legend_above(figure, [drawn[c] for c in there], there, small)
    # Letters of 6 points are 0.05 inches wide in the mean.
    longest = max((len(p["path"]) for _, of in shown for p in of), default=0)
    between = GAP + (0.05 * longest * math.sin(math.radians(60)) if long else 0.13)
    placed(list(axes), small, legend, between=between + GAP, below=between)
    return figure


def _words(metric: CaseMetric) -> str:
    """The name of a metric at an axis."""
    return metric.name.replace("_", " ")


def _label(metric: CaseMetric) -> str:
    """The name and the unit of a metric at the side of its axes."""
    unit = textwrap.wrap(f"[{_short(metric.unit)}]", _LABEL) if metric.unit else []
    return "\n".join([_words(metric), *unit])


def front_figure(
    wanted: SuiteFigure, case: Case, points: Sequence[Mapping[str, Any]], controls: Sequence[str]
) -> Figure:
    """A figure of the first page: one metric of a comparative case over another.

    The horizontal axis may also be the buffer, or the metric's bound.

    Args:
        wanted: what is drawn.
        case: the case.
        points: its paths, with `compare`.
        controls: the candidate first.
    """
    metrics = {metric.name: metric for metric in case.metrics}
    y = metrics[wanted.y]
    of = [p for p in points if y.on(p["path"])]
    if wanted.x == PATHS:
        return contest_figure([y], of, controls, small=True)
    figure = study_figure(SMALL)
    ax = figure.subplots()
    buffers = sorted({p.parameters[BUFFER] for p in case.paths if BUFFER in p.parameters and y.on(p.name)})
    buffers = [b for b in buffers if any(_x(wanted, case, p, "") == b for p in of)] if wanted.x == BUFFER else []
    for k, control in enumerate(controls):
        if wanted.x == BOUND and k and control in case.baselines:  # the bound is theirs
            continue
        places = [(_x(wanted, case, p, control), _entry(p, control, wanted.y)) for p in of]
        pairs = sorted((at, n) for n, (at, entry) in enumerate(places) if at is not None and entry is not None)
        if pairs:
            # Of one buffer the controls stand side by side, as they do of one path.
            xs = [buffers.index(at) + _beside(k, controls) if buffers else at for at, _ in pairs]
            _marks(ax, xs, [e for _, n in pairs if (e := places[n][1])], k, control)
    label = {BUFFER: "buffer [BDP]", BOUND: f"{_words(y)} of Reno or CUBIC, the larger"}.get(wanted.x)
    if label is None:
        of_x = metrics[wanted.x]
        label = f"{_words(of_x)} [{_short(of_x.unit)}]" if of_x.unit else _words(of_x)
    ax.set_xlabel(label, fontsize=7)
    ax.set_ylabel(f"{_words(y)} [{_short(y.unit)}]" if y.unit else _words(y), fontsize=7)
    if wanted.x == BUFFER:
        ax.set_xticks(range(len(buffers)), [f"{b:g}" for b in buffers])
        ax.set_xlim(-0.5, max(len(buffers), 1) - 0.5)
        _scaled(ax, [e for p in of for c in controls if (e := _entry(p, c, wanted.y))])
    elif wanted.x == BOUND:
        # One scale for both axes: a mark above the dotted line does more harm than the bound.
        (low, high), (least, most) = ax.get_xlim(), ax.get_ylim()
        ax.axline((0, 0), slope=1, color="#444444", linewidth=0.6, linestyle=":")
        ax.set_xlim(min(low, least, 0), max(high, most, 1))
        ax.set_ylim(min(low, least, 0), max(high, most, 1))
    elif all(at > 0 for p in of for c in controls if (at := _x(wanted, case, p, c)) is not None):
        ax.set_xscale("log")
        for axis in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            axis(LogFormatter(minor_thresholds=(1, 0.4)))
    legend = legend_above(figure, *ax.get_legend_handles_labels(), small=True)
    placed([ax], True, legend, between=0.0, below=BELOW)
    return figure


def _x(wanted: SuiteFigure, case: Case, point: Mapping[str, Any], control: str) -> float | None:
    """Coordinates of a point of a figure."""
    if wanted.x == BUFFER:
        return next(p.parameters[BUFFER] for p in case.paths if p.name == point["path"])
    if wanted.x == BOUND:
        found = [e["mean"] for c in case.baselines if (e := _entry(point, c, wanted.y))]
        return max(found) if len(found) == len(case.baselines) else None
    entry = _entry(point, control, wanted.x)
    return None if entry is None else float(entry["mean"])


def _beside(k: int, controls: Sequence[str]) -> float:
    """Where the mark of the k-th control stands beside the middle of all."""
    return (k - (len(controls) - 1) / 2) * 0.16


def _marks(ax: Axes, at: Sequence[float], entries: Sequence[Mapping[str, Any]], k: int, control: str) -> None:
    """Means with their intervals, of the k-th control.

    Where no mean is negative, intervals end at 0.
    """
    half = [0.0 if e["ci95"] is None else (e["ci95"][1] - e["ci95"][0]) / 2 for e in entries]
    some_below = any(e["mean"] < 0 for e in entries)
    lower = half if some_below else [min(h, e["mean"]) for h, e in zip(half, entries, strict=True)]
    place, sign = _LOOKS[k % len(_LOOKS)]
    colour = OKABE_ITO[place]
    means = [e["mean"] for e in entries]
    bars = [[(x, m - low), (x, m + h)] for x, m, low, h in zip(at, means, lower, half, strict=True) if h]
    ax.add_collection(LineCollection(bars, colors=colour, linewidth=0.8, zorder=2))
    ax.plot(
        at, means, sign, markersize=4.5 if k == 0 else 3.5, color=colour, mfc=colour if k == 0 else "white",
        label=control, zorder=2,
    )  # fmt: skip


def _scaled(ax: Axes, entries: Sequence[Mapping[str, Any]]) -> None:
    """From 0 on, or from the smallest value below it, with room for the marks there."""
    ends = [e["ci95"] or [e["mean"], e["mean"]] for e in entries]
    below = min((e["mean"] for e in entries), default=0.0) < 0
    low = min((end[0] for end in ends), default=0.0) if below else 0.0
    top = max((end[1] for end in ends), default=0.0)
    height = top - low if top > low else 1.0
    ax.set_ylim(low - 0.06 * height, low + 1.12 * height)


def _entry(point: Mapping[str, Any], control: str, metric: str) -> Mapping[str, Any] | None:
    """Mean and interval of a control on a path; None: there is no value."""
    found: Mapping[str, Any] | None = point["compare"].get(control, {}).get(metric)
    return found if found is not None and found["mean"] is not None else None


def _short(unit: str) -> str:
    """A unit for an axis: its first word where it is a sentence."""
    first = unit.split(maxsplit=1)[0] if unit else ""
    return (
        unit if len(unit) <= 14 else textwrap.shorten(unit, 40, placeholder=" …") if first in ("of", "per") else first
    )
