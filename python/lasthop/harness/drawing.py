"""How studies draw: one width and two sizes of letters for all figures, as a two-column paper prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter

from lasthop.plot._style import blank_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Inches: the text width of a two-column paper (IEEE and ACM: both columns and the gap between them).
WIDTH = 7.16


def study_figure(height: float) -> Figure:
    """An empty figure of the width that all figures of studies have, in the house style.

    Args:
        height: inches.
    """
    return blank_figure(WIDTH, height)


def decade_axis(axis: Axis) -> None:
    """Plain numbers at the decades of a logarithmic axis: 1, 10, 100 rather than powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def doubling_axis(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic x axis with a tick at each of these values and their numbers: 64, 128, 256 rather than powers.

    Args:
        axes: the axes.
        values: the values that were run, in the unit of the axis.
    """
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()
