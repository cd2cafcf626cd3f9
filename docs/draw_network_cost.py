"""Draws docs/images/network-cost.svg: what LTE networks cost by their size.

    python docs/draw_network_cost.py        needs matplotlib

The figures are in docs/data/network-cost.json, which `make bench-scale` writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "lasthop"  # no random ids

DOCS = Path(__file__).resolve().parent
DATA = DOCS / "data/network-cost.json"
OUT = DOCS / "images/network-cost.svg"
# Series, column on the x axis, its name, and what all of its points share.
PANELS = (
    ("cells", "cells", "cells", "10 active UEs a cell, 500 kbit/s each"),
    ("active UEs", "active", "active UEs", "21 cells, 500 kbit/s each"),
    ("idle UEs", "idle", "idle UEs", "21 cells, 210 active UEs, 500 kbit/s each"),
    ("load", "load_kbps", "load of a UE [kbit/s]", "21 cells, 210 active UEs"),
)


def rows(series: str) -> list[dict[str, Any]]:
    """The networks of a series."""
    return [row for row in json.loads(DATA.read_text(encoding="utf-8")) if row["series"] == series]


def main() -> None:
    """A panel for each thing that varies: instructions, and memory below them."""
    figure, panels = plt.subplots(2, len(PANELS), figsize=(12, 5.4), sharex="col", sharey="row")
    for (above, below), (series, column, name, shared) in zip(panels.T, PANELS, strict=True):
        points = rows(series)
        x = [row[column] for row in points]
        above.plot(x, [row["instructions_per_s"] / 1e9 for row in points], "o-", color="#00618f")
        below.plot(x, [row["peak_rss_mib"] for row in points], "s-", color="#a03e00")
        above.set_title(shared, fontsize=9)
        below.set_xlabel(name)
        for axes in (above, below):
            axes.set_xlim(left=0)
            axes.grid(alpha=0.3)
    for row in panels:  # once the panels of a row, which share the axis, are complete
        row[0].set_ylim(bottom=0)
    panels[0][0].set_ylabel("instructions for a simulated\nsecond [thousand million]")
    panels[1][0].set_ylabel("peak memory\nof 1 s [MiB]")
    figure.tight_layout()
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
