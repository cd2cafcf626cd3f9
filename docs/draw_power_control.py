"""Draws docs/images/power-control.svg for the page on many cells and prints its table.

    python docs/draw_power_control.py        needs cargo and matplotlib; some minutes

Mean and 5 % point of the uplink of 57 sectors over P0 and alpha, counted by the example
`spectral_efficiency` of the crate `lte`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "lasthop"  # no random ids

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = (0.735, 0.024)
# alpha -> P0 [dBm]
GRID = {
    0.5: [-48, -44],
    0.6: [-64, -60, -57, -54],
    0.7: [-75, -72, -68],
    0.8: [-90, -86, -83, -80, -77],
    1.0: [-108, -104, -101, -98],
}
ANTENNAS = {"2d": "antenna of TR 25.814", "3d": "antenna of TR 36.814, tilt 15 degrees"}

Points = dict[tuple[str, float, int], tuple[float, float]]


def measure() -> Points:
    """Mean and 5 % point by antenna, alpha and P0."""
    example = ["cargo", "run", "--quiet", "--release", "-p", "lasthop-lte", "--example", "spectral_efficiency", "--"]
    points: Points = {}
    for antenna in ANTENNAS:
        for alpha, p0s in GRID.items():
            for p0 in p0s:
                keys = [f"antenna={antenna}", f"alpha={alpha}", f"p0={p0}", "receive=2", "seconds=0.8", "warm=0.4"]
                done = subprocess.run([*example, "uplink", *keys], cwd=ROOT, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout)
                points[antenna, alpha, p0] = (found["mean"], found["edge"])
    return points


def draw(points: Points) -> None:
    """The figure: a curve for each alpha."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True)
    for axes, (antenna, title) in zip(panels, ANTENNAS.items(), strict=True):
        for alpha, p0s in GRID.items():
            x, y = zip(*(points[antenna, alpha, p0] for p0 in p0s), strict=True)
            axes.plot(x, y, "o-", markersize=3, linewidth=1.2, label=f"alpha {alpha:g}, P0 {p0s[0]} to {p0s[-1]} dBm")
        axes.plot(*PUBLISHED, "k*", markersize=9, label="E-UTRA 1x2, published")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("mean [bit/s/Hz/cell]")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("5 % point of UEs [bit/s/Hz]")
    panels[0].set_ylim(0)
    panels[1].legend(fontsize=7, loc="lower left")
    figure.tight_layout()
    figure.savefig(ROOT / "docs/images/power-control.svg", metadata={"Date": None})


def table(points: Points) -> str:
    """The page's table."""
    lines = ["| alpha | P0 [dBm] | mean, 2D | 5 %, 2D | mean, 3D | 5 %, 3D |", "|---|---|---|---|---|---|"]
    for alpha, p0s in GRID.items():
        for p0 in p0s:
            flat, tilted = points["2d", alpha, p0], points["3d", alpha, p0]
            lines.append(f"| {alpha:g} | {p0} | {flat[0]:.3f} | {flat[1]:.4f} | {tilted[0]:.3f} | {tilted[1]:.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    found = measure()
    draw(found)
    print(table(found))
