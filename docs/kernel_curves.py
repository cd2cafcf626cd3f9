"""Congestion windows of a real Linux and of Lasthop on one another.

What the pages beside the recordings share.

`draw_recordings.py` and `draw_two_flows.py` use it. Our curves and the table of bars come from a
test of `lasthop-tcp` that writes them to the folder LASTHOP_CURVES.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).resolve().parent
KERNEL, OURS = "#222", "#d9480f"
COLUMNS, WIDTH, HEIGHT, LEFT, TOP = 3, 300, 150, 46, 66
GAP_X, GAP_Y = 56, 52
STYLE = (
    "text{font:12px sans-serif;fill:#222}.n{font-size:11px;fill:#555}.t{font-weight:600}"
    "path{fill:none;stroke-linejoin:round}.g{stroke:#ddd}.a{stroke:#888}"
    f".k{{stroke:{KERNEL};stroke-width:2.4;opacity:.45}}.o{{stroke:{OURS};stroke-width:1.1}}"
)
Curve = list[tuple[float, float]]


def recordings(name: str) -> Path:
    """The folder of recordings `name` below LASTHOP_SHARED.

    The program ends where that is not set.
    """
    shared = os.environ.get("LASTHOP_SHARED")
    if not shared:
        sys.exit(f"{Path(sys.argv[0]).stem}: set LASTHOP_SHARED to the folder that holds data/{name}")
    return Path(shared) / "data" / name


@contextmanager
def curves(test: str, *flags: str) -> Iterator[Path]:
    """Runs a test of `lasthop-tcp` and yields the folder that it has written its curves to."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "test", "--quiet", *flags, "-p", "lasthop-tcp", "--test", test]
        subprocess.run(command, check=True, cwd=DOCS.parent, env={**os.environ, "LASTHOP_CURVES": folder})
        yield Path(folder)


def read_bars(folder: Path) -> list[dict[str, str]]:
    """The table of bars that the test has written."""
    with (folder / "bars.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


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
