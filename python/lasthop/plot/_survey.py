"""Figures of a radio network at large scale: distributions over UEs, and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lasthop._errors import mistake
from lasthop.plot._style import COLUMN_INCHES, Figure, legend, line_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What a survey says of each UE: axis label by column.
DISTRIBUTIONS = {
    "coupling_gain_db": "Coupling gain (dB)",
    "geometry_db": "Geometry, no noise (dB)",
    "sinr_db": "Wideband SINR at full load (dB)",
    "rsrp_dbm": "RSRP (dBm)",
}

#: What a map shows: label, column, colours, and the percentiles between which the colours run.
MAPS = {
    "rsrp": ("RSRP of the strongest cell (dBm)", "rsrp_dbm", "viridis"),
    "sinr": ("Wideband SINR at full load (dB)", "sinr_db", "RdYlBu"),
}


def distribution(
    surveys: Mapping[str, pa.Table],
    column: str = "sinr_db",
    references: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    width: float = COLUMN_INCHES,
    height: float | None = None,
) -> Figure:
    """The distribution of a quantity over the UEs of surveys.

    Args:
        surveys: tables of `Scenario.geometry` by the name of their curve.
        column: "coupling_gain_db", "geometry_db", "sinr_db" or "rsrp_dbm".
        references: published points to draw beside the curve of the same name: percents (0 to 100)
            and values.
        width: inches.
        height: inches; None: the golden ratio.
    """
    if column not in DISTRIBUTIONS:
        raise mistake(f"no quantity of a survey is called {column!r}; there are: {', '.join(DISTRIBUTIONS)}")
    fig, axes = new_figure(DISTRIBUTIONS[column], "UEs below (%)", width, height)
    for i, (name, table) in enumerate(surveys.items()):
        values = np.sort(table[column].drop_null().to_numpy())
        if len(values) == 0:
            raise mistake(f"{name}: no UE has a value of {column!r}: there is one cell only")
        # A curve of a hundred thousand steps and one of five hundred look the same.
        percents = np.linspace(0, 100, min(len(values), 500))
        style = line_style(i)
        axes.plot(np.percentile(values, percents), percents, label=name, **style)
        points = (references or {}).get(name)
        if points is not None:
            axes.plot(points[1], points[0], linestyle="none", marker="o", markersize=3, color=style["color"])
    axes.set_ylim(0, 100)
    legend(axes)
    return fig


def radio_map(
    table: pa.Table,
    quantity: str = "sinr",
    sites: Sequence[tuple[float, float]] = (),
    width: float = COLUMN_INCHES * 1.4,
) -> Figure:
    """A radio environment map.

    Args:
        table: a table of `Scenario.radio_map`.
        quantity: "rsrp" or "sinr".
        sites: x and y of places to mark, in metres.
        width: inches.
    """
    if quantity not in MAPS:
        raise mistake(f"no map is called {quantity!r}; there are: {', '.join(MAPS)}")
    label, column, colours = MAPS[quantity]
    x, y = (np.unique(table[axis].to_numpy()) for axis in ("x_m", "y_m"))
    values = table[column].to_numpy().reshape(len(y), len(x))
    low, high = np.percentile(values, (1, 99))
    fig, axes = new_figure("x (m)", "y (m)", width, width * 0.82)
    axes.grid(False)
    half = (x[1] - x[0]) / 2 if len(x) > 1 else 0.5
    extent = (x[0] - half, x[-1] + half, y[0] - half, y[-1] + half)
    picture: dict[str, Any] = {"origin": "lower", "extent": extent, "cmap": colours, "interpolation": "nearest"}
    shown = axes.imshow(values, vmin=low, vmax=high if high > low else low + 1, **picture)
    bar = fig.colorbar(shown, ax=axes, shrink=0.9)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    if sites:
        axes.plot(*zip(*sites, strict=True), linestyle="none", marker="^", markersize=4, color="black")
    axes.set_aspect("equal")
    return fig
