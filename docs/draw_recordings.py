"""Lays recordings of a real Linux over the endpoint: docs/concepts/linux-recordings.md and its two pictures.

    LASTHOP_SHARED=DIR python docs/draw_recordings.py

DIR holds `data/linux-6.1-tcp`. Our curves and the table of bars are written by the test that holds the bars,
`crates/tcp/tests/linux_recordings.rs`, which is run for it. What is committed needs no recordings to be built.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from html import escape
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "concepts" / "linux-recordings.md"
CCS = ["reno", "cubic", "westwood", "highspeed", "vegas", "scalable", "veno", "dctcp", "bbr"]
PATHS = {
    "p1": "10 Mbit/s, 20 ms each way, 100 packets, 30 s",
    "p2": "20 Mbit/s, 50 ms each way, 250 packets, 60 s",
}
BARS = {
    "goodput": "2 %",
    "mean cwnd": "10 %",
    "max cwnd": "5 %",
    "episodes": "1, or 10 %",
    "retransmissions": "1, or 20 %",
}
HEADS = {
    "goodput": "goodput, kB/s",
    "mean cwnd": "mean cwnd after 5 s, segments",
    "max cwnd": "largest cwnd, segments",
    "episodes": "loss episodes",
    "retransmissions": "retransmissions",
}
KERNEL, OURS = "#222", "#d9480f"
COLUMNS, WIDTH, HEIGHT, LEFT, TOP = 3, 300, 150, 46, 66
GAP_X, GAP_Y = 56, 52
STYLE = (
    "text{font:12px sans-serif;fill:#222}.n{font-size:11px;fill:#555}.t{font-weight:600}"
    "path{fill:none;stroke-linejoin:round}.g{stroke:#ddd}.a{stroke:#888}"
    f".k{{stroke:{KERNEL};stroke-width:2.4;opacity:.45}}.o{{stroke:{OURS};stroke-width:1.1}}"
)
Curve = list[tuple[float, float]]


def main() -> None:
    """Runs the test and writes page and pictures."""
    shared = os.environ.get("LASTHOP_SHARED")
    if not shared:
        sys.exit("draw_recordings: set LASTHOP_SHARED to the folder that holds data/linux-6.1-tcp")
    recordings = Path(shared) / "data" / "linux-6.1-tcp"
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "test", "--quiet", "-p", "lasthop-tcp", "--test", "linux_recordings"]
        subprocess.run(command, check=True, cwd=DOCS.parent, env={**os.environ, "LASTHOP_CURVES": folder})
        curves = Path(folder)
        for path, about in PATHS.items():
            pairs = {cc: (curve(recordings / f"{path}-{cc}.csv"), curve(curves / f"{path}-{cc}.csv")) for cc in CCS}
            out = DOCS / "images" / f"linux-recordings-{path}.svg"
            out.write_text(drawing(about, pairs), encoding="utf-8")
        with (curves / "bars.csv").open(encoding="utf-8", newline="") as rows:
            PAGE.write_text(page(list(csv.DictReader(rows))), encoding="utf-8")


def curve(path: Path, time: str = "time_s", cwnd: str = "snd_cwnd") -> Curve:
    """Time and congestion window of one file; the names of their columns."""
    with path.open(encoding="utf-8", newline="") as rows:
        return [(float(r[time]), float(r[cwnd])) for r in csv.DictReader(rows)]


def drawing(about: str, pairs: dict[str, tuple[Curve, Curve]], columns: int = COLUMNS) -> str:
    """Small multiples, one panel a curve of each, all of one scale of time."""
    rows = -(-len(pairs) // columns)
    width = LEFT + columns * (WIDTH + GAP_X) - GAP_X + 16
    height = TOP + rows * (HEIGHT + GAP_Y)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>Congestion window over time, Linux 6.1 and Lasthop: {escape(about)}</title>",
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18">cwnd in segments over time in s; {escape(about)}</text>',
        f'<path class="k" d="M{LEFT} 34h26"/><text x="{LEFT + 32}" y="38">Linux 6.1</text>',
        f'<path class="o" d="M{LEFT + 112} 34h26"/><text x="{LEFT + 144}" y="38">Lasthop, profile linux-6</text>',
    ]
    for i, (cc, (kernel, ours)) in enumerate(pairs.items()):
        x, y = LEFT + i % columns * (WIDTH + GAP_X), TOP + i // columns * (HEIGHT + GAP_Y)
        out += panel(x, y, cc, kernel, ours)
    return "\n".join([*out, "</svg>", ""])


def panel(x: int, y: int, cc: str, kernel: Curve, ours: Curve) -> list[str]:
    """One algorithm: frame, ticks, two curves."""
    most = max(w for c in (kernel, ours) for _, w in c)
    end = round(max(kernel[-1][0], ours[-1][0]))
    step = next(s for s in (20, 25, 50, 100, 200, 500) if most / s <= 5)
    top = step * -(-int(most) // step)
    out = [f'<text class="t" x="{x}" y="{y - 8}">{cc}</text>']
    for tick in range(0, top + 1, step):
        at = y + HEIGHT * (1 - tick / top)
        out.append(f'<path class="g" d="M{x} {at:.1f}h{WIDTH}"/>')
        out.append(f'<text class="n" x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{tick}</text>')
    for second in range(0, end + 1, 10):
        at = x + WIDTH * second / end
        out.append(f'<path class="a" d="M{at:.1f} {y + HEIGHT}v4"/>')
        out.append(f'<text class="n" x="{at:.1f}" y="{y + HEIGHT + 16}" text-anchor="middle">{second}</text>')
    out.append(f'<path class="a" d="M{x} {y + HEIGHT}h{WIDTH}"/>')
    for name, points in (("k", kernel), ("o", ours)):
        places = [(x + WIDTH * t / end, y + HEIGHT * (1 - w / top)) for t, w in points]
        out.append(f'<path class="{name}" d="{line(places)}"/>')
    return out


def line(places: list[tuple[float, float]]) -> str:
    """A path through the places, in tenths of a pixel; what lies on a level is one stroke."""
    grid = [(round(x * 10), round(y * 10)) for x, y in places]
    kept = [grid[0]]
    for before, here, after in zip(grid, grid[1:], grid[2:], strict=False):
        if not before[1] == here[1] == after[1]:
            kept.append(here)
    kept.append(grid[-1])
    out = f"M{kept[0][0] / 10:g} {kept[0][1] / 10:g}l"
    moves = [f"{(b[0] - a[0]) / 10:g} {(b[1] - a[1]) / 10:g}" for a, b in pairwise(kept)]
    return out + " ".join(moves).replace(" -", "-")


def page(bars: list[dict[str, str]]) -> str:
    """The page around the pictures."""
    missed = [b for b in bars if b["holds"] != "true"]
    verdict = f"All {len(bars)} hold." if not missed else f"{len(missed)} of {len(bars)} do not hold; they are bold."
    return "\n".join(
        [
            "# Beside a real kernel\n",
            "The profile `linux-6` beside recordings of a Linux 6.1.192 sender: one bulk flow on two known paths, with",
            "nine congestion controls. The kernel ran in virtual time (User-mode Linux, HZ = 1000), as three network",
            "namespaces joined by veth, with MTU 1500, timestamps and SACK, without ECN or segmentation offload;",
            "netem made rate, delay and drop-tail limit, and `tcp_info` was read every 50 ms. Ours is the endpoint",
            "itself between two links of the same rate, delay and limit, read at the same moments.\n",
            "| path | rate, delay, limit (on the wire and waiting), duration |\n|---|---|",
            *(f"| {path} | {about} |" for path, about in PATHS.items()),
            "\nSample-by-sample equality is not to be expected once the first loss differs by one packet: a sawtooth",
            "may run ahead or behind. What must agree has a bar.\n",
            *(picture(path, about) for path, about in PATHS.items()),
            "## Where they part\n",
            "- `cubic` on p1: the kernel's HyStart ends slow start at 38 segments, ours at 88. Our first loss",
            "  comes 1.2 s sooner, the last 0.7 s; the sawteeth are alike.",
            "- `reno`, `highspeed`, `veno`, `dctcp` on p1: our second loss comes 0.05 to 0.15 s later.",
            "  On p2 that of `reno`, `veno` and `dctcp` comes 0.3 to 0.4 s sooner.",
            "- `highspeed` on p2: ours needs 2 % longer from loss to loss.",
            "- `bbr` on p2: the kernel's third ProbeRTT comes at 37.6 s, ours at 30.6 s; from then on both probe every",
            "  10.3 s.\n",
            "## The bars\n",
            "A bar is the largest deviation from the kernel:",
            "; ".join(f"{what} {bar}" for what, bar in BARS.items()) + ".",
            "The larger of two counts. Retransmissions within a second are one episode.",
            f"{verdict} The recordings are no part of the repository; where they are at hand,",
            "`LASTHOP_SHARED=DIR cargo test -p lasthop-tcp --test linux_recordings` checks them again, and",
            "`LASTHOP_SHARED=DIR python docs/draw_recordings.py` makes this page anew.\n",
            *(table(what, [b for b in bars if b["what"] == what]) for what in BARS),
        ]
    )


def picture(path: str, about: str) -> str:
    """One path's picture."""
    alt = f"Congestion window over time of nine algorithms on path {path}, Linux 6.1 and Lasthop on one another"
    return f"## {path}: {about}\n\n![{alt}](../images/linux-recordings-{path}.svg)\n"


def table(what: str, bars: list[dict[str, str]]) -> str:
    """One quantity: an algorithm a row, both paths."""
    cells = {(b["path"], b["cc"]): b for b in bars}
    heads = " | ".join(f"{p} kernel | {p} ours | {p} deviation" for p in PATHS)
    out = [f"### {HEADS[what]} (bar {BARS[what]})\n", f"| cc | {heads} |", "|---|" + "---|" * 3 * len(PATHS)]
    for cc in CCS:
        row = [f"`{cc}`"]
        for path in PATHS:
            bar = cells[path, cc]
            row += numbers(what, float(bar["kernel"]), float(bar["ours"]), bar["holds"] == "true")
        out.append(f"| {' | '.join(row)} |")
    return "\n".join([*out, ""])


def numbers(what: str, kernel: float, ours: float, holds: bool) -> list[str]:
    """Kernel, ours and the deviation, as text."""
    if what == "goodput":
        kernel, ours = kernel / 1e3, ours / 1e3
    counted = what in ("episodes", "retransmissions")
    off = f"{ours - kernel:+.0f}" if counted else f"{100 * (ours - kernel) / kernel:+.1f} %"
    if float(off.removesuffix(" %")) == 0:
        off = "0"
    digits = 1 if what in ("goodput", "mean cwnd") else 0
    return [f"{kernel:.{digits}f}", f"{ours:.{digits}f}", off if holds else f"**{off}**"]


if __name__ == "__main__":
    main()
