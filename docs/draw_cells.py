"""Draws docs/images/faded-interferers.svg and docs/images/cells-cost.svg.

For the page on many cells.

    python docs/draw_cells.py        needs cargo, valgrind, numpy and matplotlib; some minutes

It prints the page's tables. The SINRs come from an example of the crate `lte`. The cost is counted
in instructions, which do not depend on what else the machine does: those of a longer run less those
of a shorter one.
"""

from __future__ import annotations

import collections
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
SCENARIO = ROOT / "crates/sim/benches/sectors57.toml"
# Sectors -> what makes the layout of 57 smaller. Ten UEs in each.
LAYOUTS = {
    1: ["layout.macro.sites.rings=0", "layout.macro.sectors=1", 'ue.phone.drop.kind="layout"', "ue.phone.count=10"],
    3: ["layout.macro.sites.rings=0", "ue.phone.count=30"],
    21: ["layout.macro.sites.rings=1", "ue.phone.count=210"],
    57: [],
}
SECONDS = (0.6, 1.0)


def draw_sinr() -> None:
    """Distribution of the SINR, and its change with fewer fading interferers.

    Differences to all as a table.
    """
    command = ["cargo", "run", "--quiet", "--release", "-p", "lasthop-lte", "--example", "faded_interferers"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    curves: dict[str, list[tuple[float, float, float]]] = collections.defaultdict(list)
    rms: dict[str, tuple[float, float]] = {}
    for line in output.splitlines():
        k, q, block, effective = line.split(",")
        if q == "rms":
            rms[k] = (float(block), float(effective))
        else:
            curves[k].append((float(q), float(block), float(effective)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    everything = curves["all"]
    q = [row[0] for row in everything]
    left.plot([row[1] for row in everything], q, label="a resource block", linewidth=1.2)
    left.plot([row[2] for row in everything], q, label="the carrier (effective)", linewidth=1.2)
    left.set_xlabel("SINR with fading on all interfering links [dB]")
    left.set_ylabel("share of UEs and TTIs below")
    left.set_xlim(-20, 30)
    left.legend(fontsize=8)
    for k, curve in curves.items():
        if k != "all":
            off = [row[1] - other[1] for row, other in zip(curve, everything, strict=True)]
            right.plot(off, q, label=f"{k} fading interferer{'' if k == '1' else 's'}", linewidth=1.2)
    right.set_xlabel("SINR of a block less that with all fading [dB]")
    right.set_xticks(np.arange(-2, 0.3, 0.5))
    right.legend(fontsize=8, loc="lower left")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(IMAGES / "faded-interferers.svg", metadata={"Date": None})
    print("| links that fade | block 5 % | block 50 % | effective 5 % | effective 50 % | rms block | rms effective |")
    print("|---|---|---|---|---|---|---|")
    for k, curve in curves.items():
        at = {round(row[0], 2): row for row in curve}
        cells = [at[0.05][1], at[0.5][1], at[0.05][2], at[0.5][2], *rms[k]]
        print(f"| {k} | " + " | ".join(f"{x:.2f}" for x in cells) + " |")


def instructions(seconds: float, changes: list[str]) -> int:
    """Instructions of a run of the scenario, counted by valgrind."""
    binary = ROOT / "target/release/examples/cell_rates"
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    arguments = [str(SCENARIO), f'scenario.duration="{seconds} s"', *changes]
    done = subprocess.run([*command, str(binary), *arguments], check=True, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found.group(1).replace(",", ""))


def draw_cost() -> None:
    """Instructions of a TTI over the number of sectors, ten UEs in each."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "lasthop-sim", "--example", "cell_rates"]
    subprocess.run(build, cwd=ROOT, check=True)
    cost = {}
    for sectors, changes in LAYOUTS.items():
        short, long = (instructions(s, changes) for s in SECONDS)
        cost[sectors] = (long - short) / ((SECONDS[1] - SECONDS[0]) * 1e3)
        print(f"| {sectors} | {10 * sectors} | {cost[sectors] / 1e6:.3f} M | {cost[sectors] / 1e3 / sectors:.0f} k |")
    figure, axes = plt.subplots(figsize=(5, 3.4))
    axes.plot([10 * s for s in cost], [c / 1e6 for c in cost.values()], "o-", markersize=4)
    axes.set_xlabel("UEs with a full-buffer download, 10 in a sector")
    axes.set_ylabel("instructions per TTI [million]")
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(IMAGES / "cells-cost.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw_sinr()
    draw_cost()
