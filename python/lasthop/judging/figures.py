"""The figure of a point: the states of the control as a strip, and the course of each variable that the case names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lasthop.harness.drawing import WIDTH, study_figure
from lasthop.judging._variables import unit_of
from lasthop.plot._style import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of states, in the order in which a run has them first.
_STRIP = ("#bcd9ec", "#f3cdb5", "#bfe3d6", "#efd9e7", "#f6e3b5", "#d3ecf9", "#dcdcdc", "#e9e4c9")
#: Rates and times read better in larger units.
_SCALES = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "B": (1e-6, "MB")}


def course_figure(shown: Mapping[str, Any], plot: Sequence[str], small: bool = False) -> Figure:
    """The course of a point.

    Args:
        shown: `series`, `states` and `moments` of the point.
        plot: the variables, in the order of the case.
        small: of half the width, with one variable: for the first page.
    """
    series = [name for name in plot if shown["series"].get(name)]
    if small:
        series = series[:1]
    rows = max(len(series), 1)
    figure = study_figure(0.75 + 1.0 * rows)
    if small:
        figure.set_size_inches(WIDTH / 2, 1.5)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    end = max((p[0] for name in series for p in shown["series"][name]), default=1.0)
    for ax, name in zip(axes, series, strict=False):
        _line(ax, name, shown["series"][name])
        for moment, at in shown["moments"].items():
            if 0 < at < end:
                ax.axvline(at, color="#444444", linewidth=0.6, linestyle=":")
                if ax is axes[0]:
                    ax.annotate(
                        moment, (at, 1.0), xycoords=("data", "axes fraction"), fontsize=7, ha="center", va="bottom"
                    )
    strips = list(shown["states"].values())
    if strips:
        for ax in axes:
            _strip(ax, strips[0], end, legend=ax is axes[0])
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(0, end)
    return figure


def _line(ax: Axes, name: str, points: Sequence[Sequence[float | None]]) -> None:
    factor, unit = _SCALES.get(unit_of(name), (1.0, unit_of(name)))
    known = [(t, v * factor) for t, v in points if t is not None and v is not None and math.isfinite(v)]
    if known:
        times, values = zip(*known, strict=True)
        ax.step(times, values, where="post", color=OKABE_ITO[0], linewidth=1.0, zorder=3)
        ax.set_ylim(0, max(max(values) * 1.15, 1e-9))
    ax.set_ylabel(f"{name}\n[{unit}]" if unit else name, fontsize=7)


def _strip(ax: Axes, changes: Sequence[Sequence[Any]], end: float, *, legend: bool) -> None:
    """Coloured spans of the states behind the course."""
    names = list(dict.fromkeys(state for _, state in changes))
    colours = {state: _STRIP[k % len(_STRIP)] for k, state in enumerate(names)}
    labelled: set[str] = set()
    following = [*(t for t, _ in changes[1:]), end]
    for (begin, state), until in zip(changes, following, strict=True):
        if until > begin:
            label = None if state in labelled else state
            labelled.add(state)
            ax.axvspan(begin, min(until, end), color=colours[state], linewidth=0, zorder=0, label=label)
    if legend and labelled:
        handles, labels = ax.get_legend_handles_labels()
        _legend(ax.figure, handles, labels)


def _legend(figure: Any, handles: Any, labels: Any) -> None:
    """A legend above all axes; of a figure of half the width in smaller rows."""
    most = 3 if figure.get_figwidth() < WIDTH else 5
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), most), frameon=False, fontsize=6)


def contest_figure(
    metrics: Sequence[tuple[str, str]],
    points: Sequence[Mapping[str, Any]],
    controls: Sequence[str],
    small: bool = False,
) -> Figure:
    """Means and 95 % intervals of the candidate and the references, by path.

    Args:
        metrics: name and unit of each.
        points: the paths, with `compare`.
        controls: the candidate first.
        small: of half the width: for the first page.
    """
    rows = len(metrics)
    figure = study_figure(0.6 + 1.2 * rows)
    if small:
        figure.set_size_inches(WIDTH / 2, 1.5)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for ax, (metric, unit) in zip(axes, metrics, strict=True):
        for k, control in enumerate(controls):
            offset = (k - (len(controls) - 1) / 2) * 0.16
            found = [(i, p["compare"][control][metric]) for i, p in enumerate(points)]
            known = [(i, c) for i, c in found if c["mean"] is not None]
            half = [0.0 if c["ci95"] is None else (c["ci95"][1] - c["ci95"][0]) / 2 for _, c in known]
            # The candidate is filled and of the second colour, so that it stands out.
            colour = OKABE_ITO[1 if k == 0 else (0, 2, 3, 4, 5)[(k - 1) % 5]]
            ax.errorbar(
                [i + offset for i, _ in known], [c["mean"] for _, c in known], yerr=half, fmt="oosD^"[k % 5],
                markersize=5 if k == 0 else 4, color=colour, mfc=colour if k == 0 else "white", linewidth=0.8,
                label=control,
            )  # fmt: skip
        tops = [c["ci95"][1] if c["ci95"] else c["mean"] for p in points for c in _known(p, controls, metric)]
        ax.set_ylim(0, max(max(tops, default=1.0) * 1.12, 1e-9))
        ax.set_ylabel(f"{metric}\n[{unit}]" if unit else metric, fontsize=7)
    axes[-1].set_xticks(range(len(points)), [p["path"] for p in points])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(controls), frameon=False)
    return figure


def _known(point: Mapping[str, Any], controls: Sequence[str], metric: str) -> list[Mapping[str, Any]]:
    found = [point["compare"][control][metric] for control in controls]
    return [entry for entry in found if entry["mean"] is not None]
