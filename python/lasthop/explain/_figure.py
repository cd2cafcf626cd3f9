"""The budget over time as a stacked figure."""

from __future__ import annotations

import textwrap

import numpy as np
from numpy.typing import NDArray

from lasthop._errors import mistake
from lasthop.explain._model import Budget
from lasthop.plot._style import OKABE_ITO, Figure, new_figure

#: So many causes have a colour of their own; the others are "other".
MOST = 7
OTHER = "#bbbbbb"
#: A cause that is the largest in this share of the intervals has one.
LEAST = 0.01


def timeline_figure(budget: Budget, width: float = 7.16) -> Figure:
    """The causes of a flow's time in percent, over time, with a colour for each cause.

    Args:
        budget: a budget with a timeline.
        width: inches.

    Raises:
        LasthopError: the budget has no timeline: the delays of datagrams were estimated.
    """
    if budget.timeline is None:
        raise mistake(
            "there is no timeline: delays of datagrams were estimated over the whole run",
            "run the scenario again with `--set output.explain=true`",
        )
    edges = np.array(budget.timeline.edges_ns) / 1e9
    rows = np.array(budget.timeline.rows, float)
    named = _named(rows)
    labels = [f"{budget.parts[i].cause.label} {budget.parts[i].cause.where}".strip() for i in named]
    if len(rows) > len(named):
        rest = np.delete(rows, named, axis=0).sum(axis=0)
        rows, labels = np.vstack([rows[named], rest]), [*labels, "other"]
    whole = rows.sum(axis=0)
    percent = 100 * np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0)
    what = "Share of the time (%)" if budget.packets is None else "Share of the delay (%)"
    figure, axes = new_figure("Time (s)", what, width, width * 0.42)
    bottom = np.zeros(len(edges) - 1)
    for i, (label, row) in enumerate(zip(labels, percent, strict=True)):
        colour = OTHER if label == "other" else OKABE_ITO[i % len(OKABE_ITO)]
        axes.stairs(bottom + row, edges, baseline=bottom, fill=True, color=colour, label=_lines(label), linewidth=0)
        bottom = bottom + row
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 100)
    handles, names = axes.get_legend_handles_labels()
    # As they are stacked: the uppermost first.
    axes.legend(handles[::-1], names[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7, frameon=False)
    return figure


def _named(rows: NDArray[np.float64]) -> list[int]:
    """The causes with a colour of their own.

    The largest of some time, then those with the largest share.
    """
    if not len(rows) or not rows.shape[1]:
        return list(range(min(len(rows), MOST)))
    first = np.bincount(rows.argmax(axis=0), minlength=len(rows)) / rows.shape[1]
    first[first < LEAST] = 0.0
    order = np.lexsort((-rows.sum(axis=1), -first))
    return sorted(order[:MOST].tolist())


def _lines(label: str, width: int = 34) -> str:
    return "\n".join(textwrap.wrap(label, width, break_on_hyphens=False))
