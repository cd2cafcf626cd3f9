"""A figure of panels in the sizes of a paper.

One font size, shared axes, one legend, nothing clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator

from lasthop.campaign.figures._letters import POINTS, broken, families, line_count, widest_mm, width_mm
from lasthop.campaign.figures._quantities import Positions, number, steps
from lasthop.campaign.figures._spec import WIDTHS, FigureSpec
from lasthop.plot._style import DASHES, OKABE_ITO, STYLE, Figure

MM = 1 / 25.4
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Height of a line of text, and what a legend's entry needs beside its text [mm].
LINE = 3.5
_ENTRY = 11.0
#: Least distance between two texts of ticks [mm].
_APART = 1.6

_SIZES = (
    "axes.labelsize",
    "axes.titlesize",
    "font.size",
    "legend.fontsize",
    "legend.title_fontsize",
    "xtick.labelsize",
    "ytick.labelsize",
)
_STYLE: dict[Any, Any] = {
    **STYLE,
    **dict.fromkeys(_SIZES, POINTS),
    "text.parse_math": False,  # a dollar sign in a label is one
    "axes.titlepad": 3.0,
    "axes.titleweight": "normal",
    "lines.markersize": 3.6,
    "lines.markeredgewidth": 0.8,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "hatch.linewidth": 0.5,
}


@contextmanager
def style() -> Iterator[None]:
    """The settings of these figures, for the block."""
    with mpl.rc_context({**_STYLE, "font.family": families()}):
        yield


@dataclass(frozen=True)
class Grid:
    """A figure with rows and columns of panels."""

    figure: Figure
    panels: list[list[Axes]]
    #: Width and height of a panel, about [mm].
    panel_mm: float
    row_mm: float

    def settle(self) -> None:
        """Lays the figure out as it is now; `size` is exact then."""
        self.figure.draw_without_rendering()

    def size(self, axes: Axes) -> tuple[float, float]:
        """Width and height of a panel as it is laid out [mm]."""
        place = axes.get_position()
        width, height = self.figure.get_size_inches()
        return place.width * width * 25.4, place.height * height * 25.4


def grid(
    spec: FigureSpec,
    rows: int,
    columns: int,
    row_mm: float | None = None,
    above: float = 0.0,
    sharex: Any = "all",
    sharey: Any = "all",
    beside: float = 14.0,
) -> Grid:
    """An empty figure.

    Args:
        spec: width and height.
        rows: rows of panels.
        columns: columns of panels.
        row_mm: height of a row [mm]; None: three quarters of a panel's width, 26 mm to 55 mm.
        above: height of what stands above the panels [mm].
        sharex: which panels share the horizontal axis: "all", "row", "col" or "none".
        sharey: which panels share the vertical axis.
        beside: width of what stands beside the panels, about [mm].
    """
    width = WIDTHS[spec.width]
    panel = panel_width(spec, columns, beside)
    row = row_mm if row_mm is not None else min(55.0, max(26.0, 0.72 * panel))
    height = spec.height or min(400.0, rows * row + 9 + above + (5 if columns > 1 else 0))
    figure = Figure(figsize=(width * MM, height * MM), layout="constrained")
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    return Grid(figure, [list(line) for line in panels], panel, row)


def panel_width(spec: FigureSpec, columns: int, beside: float = 14.0) -> float:
    """Width of a panel, about [mm], with `beside` for what stands beside the panels."""
    return (WIDTHS[spec.width] - beside) / columns


def turned_mm(places: Positions, panel_mm: float) -> float:
    """Height of the texts below a panel beyond one line [mm].

    Labels without room side by side are turned.
    """
    return 0.0 if places.numeric or _side_by_side(places.texts) <= panel_mm else widest_mm(places.texts) - 3


def _side_by_side(texts: Sequence[str]) -> float:
    """Width of equal places for texts side by side [mm]."""
    return len(texts) * (widest_mm(texts) + _APART)


def curve(index: int) -> dict[str, Any]:
    """Colour, marker and dashes of the n-th curve.

    No two of the first seven share colour or marker.
    """
    n = len(OKABE_ITO)
    return {
        "color": OKABE_ITO[index % n],
        "marker": MARKERS[index % n],
        "linestyle": DASHES[(index % n + index // n) % len(DASHES)],
    }


def legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], title: str, room_mm: float) -> None:
    """One legend above the panels; before it the name of the quantity that it distinguishes."""
    labels = [broken(text, room_mm - _ENTRY) for text in labels]
    made = figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=_legend_columns(labels, room_mm),
        title=broken(title, room_mm - 4) or None,
        alignment="left",
        columnspacing=1.2,
        handletextpad=0.5,
        handlelength=2.2,
        borderaxespad=0.1,
        borderpad=0.1,
        labelspacing=0.25,
    )
    made.get_title().set_fontsize(POINTS)


def _legend_columns(labels: Sequence[str], room_mm: float) -> int:
    return max(1, min(len(labels), int((room_mm + 2) / (widest_mm(labels) + _ENTRY))))


def legend_rows(labels: Sequence[str], title: str, room_mm: float) -> int:
    """Lines of `legend`, its title included."""
    labels = [broken(text, room_mm - _ENTRY) for text in labels]
    columns = _legend_columns(labels, room_mm) if labels else 1
    lines = max(map(line_count, labels), default=1)
    return line_count(broken(title, room_mm - 4)) + lines * math.ceil(len(labels) / columns)


def label_ticks(axis: Any, scale: str, places: Positions, panel_mm: float, vertical: bool = False) -> None:
    """Ticks of an axis along which the labels of a campaign stand.

    A tick stands at each label. Quantities whose texts have no room side by side are written at
    every second label, or every third and so on; other labels are turned. Quantities on a linear
    `scale` that are crowded at one end have ticks in the unit's own steps.
    """
    texts = list(places.texts)
    need = 0.0 if vertical else _side_by_side(texts)
    if places.numeric and scale != "log" and not _spread(places.at):
        value_ticks(axis, scale, places.unit, min(places.at), max(places.at), 8, panel_mm)
        return
    if need > panel_mm and not vertical:
        if places.numeric:
            widest = widest_mm(texts) + _APART
            every = math.ceil(len(texts) / max(1, int(panel_mm / widest)))
            rank = {at: i for i, at in enumerate(sorted(places.at))}
            texts = [t if rank[at] % every == 0 else "" for t, at in zip(texts, places.at, strict=True)]
        else:
            axis.set_tick_params(rotation=90)
    axis.set_major_locator(FixedLocator(list(places.at)))
    axis.set_major_formatter(FixedFormatter(texts))
    axis.set_minor_locator(FixedLocator([]))


def value_ticks(
    axis: Any, scale: str, unit: str, low: float, high: float, most: int = 5, panel_mm: float = math.inf
) -> None:
    """Ticks of an axis of values from `low` to `high` [`unit`].

    Decades, the unit's own steps, or 1, 2, 5.

    There are about `most` of them, or fewer where their texts would meet side by side on
    `panel_mm`.
    """
    for count in range(most, 0, -1):
        at = _ticks(scale, unit, low, high, count)
        if _fit(at, scale, low, high, panel_mm):
            break
    if scale == "log" or steps(unit, low, high, count):
        axis.set_major_locator(FixedLocator(at))
        axis.set_major_formatter(FuncFormatter(lambda v, _at: number(v)))
        if scale == "log":
            axis.set_minor_locator(FixedLocator([]))
    else:
        axis.set_major_locator(MaxNLocator(count, steps=_TENS))


#: Distances between ticks, in powers of ten.
_TENS = [1, 2, 2.5, 5, 10]


def _ticks(scale: str, unit: str, low: float, high: float, most: int) -> list[float]:
    if scale == "log":
        return log_ticks(low, high, most)
    if own := steps(unit, low, high, most):
        return own
    return [float(v) for v in MaxNLocator(most, steps=_TENS).tick_values(low, high)]


def _fit(at: Sequence[float], scale: str, low: float, high: float, panel_mm: float) -> bool:
    """Whether the texts of ticks have room side by side."""
    if not math.isfinite(panel_mm) or not high > low:
        return True
    ends = [math.log(v) if scale == "log" else v for v in (low, high)]
    places = [(math.log(v) if scale == "log" else v) for v in at if low <= v <= high]
    widths = [width_mm(number(v)) for v in at if low <= v <= high]
    # The texts of one axis have as many decimals as the longest.
    widest = max(widths, default=0.0)
    return all((b - a) / (ends[1] - ends[0]) * panel_mm >= widest + _APART for a, b in pairwise(places))


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, both above 0, for a logarithmic axis.

    Two to `most` of them, if there are.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = range(first, last + 1)
    found: list[float] = []
    for digits in ((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [d * 10.0**k for k in decades for d in digits if low * 0.999 <= d * 10.0**k <= high * 1.001]
        gaps = [math.log(b / a) for a, b in pairwise(found)]
        if len(found) <= most and min(gaps, default=math.inf) >= math.log(high / low) / (1.6 * most):
            return found
    return found[:: math.ceil(len(found) / most)]


def _spread(at: Sequence[float]) -> bool:
    """Whether no two neighbours are so close that their texts would meet."""
    ordered = sorted(at)
    if len(ordered) < 2:
        return True
    least = min(b - a for a, b in pairwise(ordered))
    return least * (len(ordered) - 1) * 2 > ordered[-1] - ordered[0]
