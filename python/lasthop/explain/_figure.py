"""The budget over time as a stacked figure."""

from __future__ import annotations

import numpy as np

from lasthop._errors import mistake
from lasthop.explain._model import Budget
from lasthop.plot._style import OKABE_ITO, Figure, new_figure

#: So many causes have a colour of their own; the others are "other".
MOST = 7
OTHER = "#bbbbbb"


def timeline_figure(budget: Budget, width: float = 7.16) -> Figure:
    """What each moment of a flow went into, in percent, a colour for each cause.

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
    if len(rows) > MOST:
        rows = np.vstack([rows[:MOST], rows[MOST:].sum(axis=0)])
    labels = [f"{p.cause.label} {p.cause.place}".strip() for p in budget.parts[:MOST]]
    labels += ["other"] * (len(rows) - len(labels))
    whole = rows.sum(axis=0)
    percent = 100 * np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0)
    what = "Share of the time (%)" if budget.packets is None else "Share of the delay (%)"
    figure, axes = new_figure("Time (s)", what, width, width * 0.42)
    bottom = np.zeros(len(edges) - 1)
    for i, (label, row) in enumerate(zip(labels, percent, strict=True)):
        colour = OTHER if label == "other" else OKABE_ITO[i % len(OKABE_ITO)]
        axes.stairs(bottom + row, edges, baseline=bottom, fill=True, color=colour, label=_short(label), linewidth=0)
        bottom = bottom + row
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 100)
    handles, names = axes.get_legend_handles_labels()
    # As they are stacked: the uppermost first.
    axes.legend(handles[::-1], names[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7, frameon=False)
    return figure


def _short(label: str, most: int = 34) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
