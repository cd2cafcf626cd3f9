"""Draws docs/images/radio-bler.svg and radio-fading.svg for the page on the radio models.

    python docs/draw_radio.py        needs cargo, numpy and matplotlib

The curves are read from the generated Rust table, the fading is printed by an example of the crate:
what is drawn is what runs.
"""

from __future__ import annotations

import csv
import io
import math
import re
import subprocess
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "lasthop"  # no random ids

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
RADIO = ROOT / "crates/radio"
CLASS_OF = {512: 4, 1024: 5, 6144: 8}  # places of code block sizes in a row of curves
# SINR at BLER 10 % of an independent family, CQI 1 to 15 (the test in src/lte/bler.rs has the
# same).
OTHERS = (-6.75, -4.96, -2.96, -1.01, 0.96, 2.88, 4.92, 6.70, 8.72, 10.51, 12.45, 14.35, 16.07, 17.88, 19.97)


def curves() -> dict[int, list[tuple[float, float]]]:
    """MCS -> (s50, sigma) of each size class."""
    text = (RADIO / "src/lte/bler_curves.rs").read_text(encoding="utf-8")
    rows = re.findall(r"// MCS (\d+)\n.*?curves: \[(.*?)\] }", text)
    return {int(m): [(float(a), float(b)) for a, b in re.findall(r"c\(([-\d.]+), ([\d.]+)\)", c)] for m, c in rows}


def draw_bler() -> None:
    """Curves of every second MCS, and the points they were calibrated to.

    And the other family at 10 %.
    """
    figure, axes = plt.subplots(figsize=(9, 4))
    snr = np.arange(-10, 24, 0.02)
    colours = plt.get_cmap("viridis")
    table = curves()
    with (RADIO / "data/bler_thresholds.csv").open(encoding="utf-8") as f:
        points = list(csv.DictReader(f))
    for mcs in range(0, 29, 2):
        colour = colours(mcs / 30)
        for bits, style in ((1024, "-"), (6144, ":")):
            s50, sigma = table[mcs][CLASS_OF[bits]]
            bler = [0.5 * math.erfc((s - s50) / (math.sqrt(2) * sigma)) for s in snr]
            axes.semilogy(snr, bler, style, color=colour, linewidth=1)
        for row in points:
            if int(row["mcs"]) == mcs and row["code_block_bits"] in ("1024", "6144"):
                at = [float(row[c]) for c in ("snr50_db", "snr10_db", "snr1_db")]
                axes.plot(at, [0.5, 0.1, 0.01], ".", color=colour, markersize=4)
    axes.plot(OTHERS, [0.1] * 15, "x", color="black", markersize=5, label="independent family at 10 %, CQI 1 to 15")
    axes.plot([], [], "k-", linewidth=1, label="block of 1024 bits")
    axes.plot([], [], "k:", linewidth=1, label="block of 6144 bits")
    axes.plot([], [], "k.", markersize=4, label="calibration points")
    axes.set(
        xlabel="effective SINR [dB], curves of MCS 0, 2, ... 28",
        ylabel="code block error rate",
        ylim=(1e-3, 1.2),
        xlim=(-9, 22),
    )
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    save(figure, "radio-bler.svg")


def draw_fading() -> None:
    """Gain of each resource block over time for two links."""
    figure, both = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axes, (profile, speed, ms) in zip(both, (("epa", 3, 400), ("eva", 60, 60)), strict=True):
        command = [
            "cargo",
            "run",
            "--quiet",
            "-p",
            "lasthop-radio",
            "--example",
            "fading_map",
            "--",
            profile,
            str(speed),
        ]
        printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        gains = np.loadtxt(io.StringIO(printed), delimiter=",")[:ms]
        picture = axes.imshow(
            gains.T,
            aspect="auto",
            origin="lower",
            vmin=-20,
            vmax=6,
            cmap="magma",
            interpolation="none",
            extent=(0, len(gains), 0, 100),
        )
        axes.set(xlabel="time [ms]", title=f"{profile.upper()}, {speed} km/h at 2 GHz")
    both[0].set_ylabel("resource block")
    figure.colorbar(picture, ax=both, label="gain [dB]")
    save(figure, "radio-fading.svg")


def save(figure: plt.Figure, name: str) -> None:
    """Writes without a date."""
    figure.savefig(IMAGES / name, bbox_inches="tight", dpi=72, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw_bler()
    draw_fading()
