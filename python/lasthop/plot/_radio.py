"""The figure of a cell's radio: one quantity of each UE over time."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.plot import _thin
from lasthop.plot._style import Figure, legend, line_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lasthop.plot._thin import Floats

#: What can be shown: axis label, and how it is read from the table's rows.
QUANTITIES = {
    "sinr": ("Effective SINR (dB)", "sinr_db"),
    "cqi": ("CQI", "cqi"),
    "mcs": ("MCS", "mcs"),
    "rate": ("Transport blocks (Mbit/s)", "bytes"),
    "blocks": ("Resource blocks in a TTI", "resource_blocks"),
    "power": ("PUSCH power (dBm)", "power_dbm"),
    "errors": ("Transmissions not decoded (%)", "errors"),
}


def radio_figure(
    table: pa.Table,
    quantity: str,
    ue: str | Sequence[str] | None,
    direction: str,
    t: tuple[float | None, float | None] | None,
    width: float,
    height: float | None,
) -> Figure:
    """A line per UE."""
    if quantity not in QUANTITIES:
        raise mistake(f"no radio quantity is called {quantity!r}; there are: {', '.join(QUANTITIES)}")
    if direction not in ("downlink", "uplink"):
        raise mistake(f"no direction is called {direction!r}; there are: downlink, uplink")
    rows = table.filter(pc.equal(table["direction"], direction))
    names = [str(name) for name in pc.unique(rows["ue"]).to_pylist()]
    # A UE has its number among all of the table: the same colour in each direction and for each
    # quantity.
    numbers = {str(name): i for i, name in enumerate(pc.unique(table["ue"]).to_pylist())}
    wanted = [n for n in names if ue is None or any(fnmatchcase(n, p) for p in ([ue] if isinstance(ue, str) else ue))]
    if not wanted:
        known = ", ".join(names) or "none"
        raise mistake(f"no UE {'' if ue is None else repr(ue)} had {direction} blocks; UEs that had: {known}")
    label, column = QUANTITIES[quantity]
    fig, axes = new_figure("Time (s)", label, width, height)
    interval = _interval(rows)
    for name in wanted:
        x, y = _curve(rows.filter(pc.equal(rows["ue"], name)), column, interval)
        axes.plot(*_thin.line(x, y), label=name, **line_style(numbers[name]))
    if quantity not in ("sinr", "power"):
        axes.set_ylim(bottom=0)
    start, end = t or (None, None)
    axes.set_xlim(left=0 if start is None else start, right=end)
    legend(axes)
    return fig


def _interval(rows: pa.Table) -> float:
    """The time between two samples: the smallest step of any UE's rows."""
    steps = np.diff(np.unique(rows["time_s"].to_numpy()))
    return float(steps.min()) if len(steps) else 1.0


def _curve(rows: pa.Table, column: str, interval: float) -> tuple[Floats, Floats]:
    x = rows["time_s"].to_numpy().astype(np.float64)
    y = rows[column].to_numpy(zero_copy_only=False).astype(np.float64)
    ttis = rows["ttis"].to_numpy().astype(np.float64)
    if column == "bytes":
        y = y * 8 / interval / 1e6
    elif column == "resource_blocks":
        y = y / ttis
    elif column == "errors":
        sent = rows["blocks"].to_numpy().astype(np.float64) + rows["retransmissions"].to_numpy().astype(np.float64)
        y = 100 * y / np.maximum(sent, 1)
    # A stretch without rows is silence: the line breaks there.
    gaps = np.flatnonzero(np.diff(x) > 1.5 * interval) + 1
    return np.insert(x, gaps, x[gaps - 1]), np.insert(y, gaps, np.nan)
