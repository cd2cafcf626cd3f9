"""Where the axes and the legend of a judgement's figures stand.

A report has some thirty figures, and a layout engine draws each one twice to find the sizes of
labels. So the places are given here in inches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lasthop.harness.drawing import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of every figure of the first page [inches].
SMALL = 2.05
#: Heights [inches]: of axes with one variable or metric, of what is between those that share their
#: time, of the gap above and below all.
_AXES, BETWEEN, GAP = 0.94, 0.15, 0.08
#: Of numbers at an axis, of the label below it, of a row of the legend and of a row of names.
_TICKS, _XLABEL, _LEGEND, _NAMES = 0.23, 0.13, 0.13, 8 / 72
#: Of what is below an axis with numbers and a label.
BELOW = _TICKS + _XLABEL
#: Widths [inches]: of numbers at the side, and of a line of the label beside them.
_SIDE, _LINE = 0.52, 0.12


def placed(
    axes: Sequence[Axes], small: bool, legend: int, *, names: int = 0, between: float, below: float, scale: float = 1.0
) -> None:
    """Places axes below one another, and their labels.

    Args:
        axes: from the top.
        small: in a figure of the first page; otherwise it gets as high as they need.
        legend: rows of the legend above all.
        names: rows of names of moments between legend and axes.
        between: height between axes [inches].
        below: height below the last axes [inches].
        scale: the mean height of axes over that of axes with one variable.
    """
    figure: Any = axes[0].figure
    above = 2 * GAP + _LEGEND * legend + _NAMES * names
    fixed = above + between * (len(axes) - 1) + below + GAP
    width, height = (WIDTH / 2, SMALL) if small else (WIDTH, fixed + _AXES * scale * len(axes))
    figure.set_size_inches(width, height)
    figure.set_layout_engine(None)
    each = (height - fixed) / len(axes)
    lines = max(ax.get_ylabel().count("\n") + 1 for ax in axes)
    left, right = _SIDE + _LINE * lines + GAP, 2 * GAP
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - above / height, bottom=(below + GAP) / height,
        hspace=between / each,
    )  # fmt: skip
    for ax in axes:
        ax.yaxis.set_label_coords(-_SIDE / (width - left - right), 0.5)
        ax.xaxis.set_label_coords(0.5, -_TICKS / each)


def legend_above(figure: Any, handles: Any, labels: Any, small: bool) -> int:
    """A legend above all axes, in rows that fit the width; how many rows."""
    if not labels:
        return 0
    longest = max((len(label) for label in labels), default=1)
    # A column has the letters (0.05 inches each at 6 points), the handle and the gaps (0.45
    # inches).
    columns = max(1, min(len(labels), int(WIDTH / (1 + small) / (0.05 * longest + 0.45))))
    figure.legend(
        handles, labels, loc="upper center", ncols=columns, frameon=False, fontsize=6, handlelength=1.4,
        columnspacing=1.2,
    )  # fmt: skip
    return math.ceil(len(labels) / columns)
