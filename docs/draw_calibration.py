"""Draws the pictures of docs/concepts/calibration.md; prints tables.

And the map of docs/guides/radio-networks.md.

By hand: `python docs/draw_calibration.py`. Curves are surveys of the scenarios in docs/calibration,
points are published figures: an independent Monte Carlo program's for the cases of TR 36.814, and
medians over the companies that took part in 3GPP's calibrations (TR 36.873 clause 8.2, R1-165974)
for the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import lasthop as lh
from lasthop.plot import radio_map

HERE = Path(__file__).resolve().parent
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

CASES = (5, 10, 25, 50, 75, 90, 95)
#: Name, scenario, drops, column of the geometry, its values, coupling gain at 5, 50 and 95 %.
MACRO: tuple[tuple[str, str, int, str, tuple[float, ...], tuple[float, ...]], ...] = (
    ("case 1, 3D", "case-1", 120, "sinr_db", (-2.83, -1.24, 1.23, 5.83, 11.99, 17.14, 19.23), (-129.1, -112.5, -93.7)),
    (
        "case 3, 2D",
        "case-3-2d",
        80,
        "sinr_db",
        (-5.58, -4.23, -1.62, 1.87, 7.10, 12.26, 14.58),
        (-141.4, -127.3, -107.0),
    ),
    (
        "case 1, 2D, plain",
        "case-1-2d",
        100,
        "geometry_db",
        (-4.30, -2.63, -0.46, 2.99, 7.97, 12.79, 14.72),
        (-118.0, -109.3, -93.0),
    ),
)

PERCENTS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
#: Name, scenario, keys, coupling gain, geometry.
MEDIANS: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
    (
        "36.873 UMi, K = M = 10",
        "umi-3d",
        {},
        "-128.8 -123.9 -117.7 -112.7 -107.9 -103 -97.5 -91.9 -84.7 -72.7 -63.9",
        "-1.7 -0.4 1.5 3.4 5.6 8.1 10.9 14.2 18.3 23.3 25.6",
    ),
    (
        "36.873 UMa, K = M = 1",
        "uma-3d",
        {"cell.c.radio.antenna.elements": 1},
        "-132.1 -129 -124.3 -120.2 -116.3 -112.3 -108.2 -104 -99.1 -91.6 -84.1",
        "-3.1 -1.9 -0.1 1.4 3 4.9 7.2 9.9 13.5 18.8 22.6",
    ),
    (
        "38.901 UMi, 6 GHz",
        "nr-umi",
        {},
        "-142.3 -136.4 -128.9 -122.9 -117.6 -112.2 -106.4 -99.9 -92.2 -82 -74.8",
        "-1.7 -0.5 1.2 3 5 7.3 9.9 13 17 22.1 24.9",
    ),
    (
        "38.901 UMi, 70 GHz",
        "nr-umi",
        {"radio.downlink": "70 GHz", "radio.uplink": "70 GHz"},
        "-184.2 -177.8 -169.2 -162 -155.5 -149.1 -142.4 -133.6 -119.8 -105.2 -96.8",
        "-1.6 -0.4 1.3 3.1 5.2 7.5 10.2 13.4 17.3 22.4 25",
    ),
    (
        "38.901 UMa, 6 GHz",
        "nr-uma",
        {},
        "-150.4 -144.7 -137 -131.1 -125.8 -120.3 -114.7 -109.1 -102.8 -93.7 -86",
        "-1 0.1 2 3.9 6 8.6 11.3 14.7 18.6 23.4 25.6",
    ),
    (
        "38.901 UMa, 70 GHz",
        "nr-uma",
        {"radio.downlink": "70 GHz", "radio.uplink": "70 GHz"},
        "-191.4 -185.5 -176.8 -169.2 -162.6 -156.6 -149.8 -140.4 -130.4 -119.7 -110.7",
        "-0.9 0.1 2 3.9 6.1 8.5 11.3 14.7 18.6 23.4 25.6",
    ),
    (
        "38.901 office, 6 GHz",
        "nr-office",
        {},
        "-71.1 -69.4 -67.2 -65.1 -62.3 -59.3 -56.4 -53.6 -50.7 -47.2 -45",
        "-4.4 -3.5 -2 -0.6 1 3 5.5 8.4 11.7 15.6 17.9",
    ),
)


def survey(scenario: str, drops: int, keys: dict[str, Any]) -> pa.Table:
    """The survey of a scenario of this folder."""
    return lh.Scenario.load(HERE / "calibration" / f"{scenario}.toml").with_(keys).geometry(drops)


def values(table: pa.Table, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column without its gaps."""
    return np.asarray(table[column].drop_null().to_numpy())


def draw(ax: Any, x: Any, points: Any, percents: Any, label: str, i: int) -> list[float]:
    """A curve with its published points; returns the differences."""
    grid = np.linspace(0, 100, 400)
    ax.plot(np.percentile(x, grid), grid, lw=1, color=COLOURS[i], label=label)
    ax.plot(points, percents, "o", ms=3, color=COLOURS[i])
    return [float(a - b) for a, b in zip(np.percentile(x, percents), points, strict=True)]


def finish(axes: Any, labels: tuple[str, str]) -> None:
    """Labels, grid and legend."""
    for ax, label in zip(axes, labels, strict=True):
        ax.set_xlabel(label, fontsize=8)
        ax.set_ylabel("users below [%]", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.grid(color="#e3e3e3", lw=0.5)
        ax.set_ylim(0, 100)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=7)


def row(name: str, geometry: list[float], coupling: list[float]) -> str:
    """A line of the table: largest and mean difference."""

    def cell(d: list[float]) -> str:
        return f"{max(map(abs, d)):.2f}, {np.mean(d):+.2f}"

    return f"| {name} | {cell(geometry)} | {cell(coupling)} |"


def main() -> None:
    """Both pictures and the table."""
    fig = Figure(figsize=(7.2, 2.9), layout="constrained")
    axes = fig.subplots(1, 2)
    for i, (name, scenario, drops, column, geometry, coupling) in enumerate(MACRO):
        table = survey(scenario, drops, {})
        found = draw(axes[0], values(table, column), geometry, CASES, name, i)
        print(row(name, found, draw(axes[1], values(table, "coupling_gain_db"), coupling, (5, 50, 95), name, i)))
    finish(axes, ("wideband SINR or geometry [dB]", "coupling gain [dB]"))
    fig.savefig(HERE / "images" / "calibration-macro.svg", metadata={"Date": None})
    fig = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = fig.subplots(1, 2)
    for i, (name, scenario, keys, gain, ratio) in enumerate(MEDIANS):
        table = survey(scenario, 20, keys)
        published = [[float(v) for v in text.split()] for text in (ratio, gain)]
        found = draw(axes[0], values(table, "geometry_db"), published[0], PERCENTS, name, i)
        print(row(name, found, draw(axes[1], values(table, "coupling_gain_db"), published[1], PERCENTS, name, i)))
    finish(axes, ("geometry [dB]", "coupling gain [dB]"))
    fig.savefig(HERE / "images" / "calibration-3gpp.svg", metadata={"Date": None})
    sites = lh.Scenario.load(HERE.parent / "scenarios" / "lte-7-sites.toml")
    radio_map(sites.radio_map(step=10), "sinr").savefig(HERE / "images" / "rem-7-sites.png", dpi=110)


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "lasthop"
    main()
