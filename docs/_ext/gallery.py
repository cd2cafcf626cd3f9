"""The gallery: every congestion control over the same three links.

Drawn from runs that `make docs` makes.

One figure per link; small multiples, window above round trip for each control. Runs take a few
seconds; a figure is drawn again only when its scenarios or the extension have changed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
TRACES = ROOT / "python" / "lasthop" / "scenarios" / "traces"

#: Name, title, what to look for, keys of the link, end of the figure [s].
LINKS: tuple[tuple[str, str, str, str, int], ...] = (
    (
        "deep",
        "A deep buffer",
        (
            "10 Mbit/s and 40 ms, a queue of 200 packets: six times the bandwidth-delay product of 33. Controls that "
            "grow until a loss fill the queue, and the round trip rises from 40 to 280 ms; controls that react to it "
            "keep it low."
        ),
        'rate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = { kind = "droptail", packets = 200 }',
        30,
    ),
    (
        "shallow",
        "A shallow buffer with random loss",
        (
            "10 Mbit/s and 40 ms, a queue of 10 packets, and one packet in a thousand is lost at random. Controls that "
            "react to each loss as to congestion reduce their window before the link is full."
        ),
        (
            'rate = "10 Mbit/s"\ndelay = "20 ms"\nforward = { loss = "0.1 %" }\n'
            'queue = { kind = "droptail", packets = 10 }'
        ),
        30,
    ),
    (
        "cellular",
        "A cellular link",
        "The capacity follows the synthetic LTE trace that comes with Lasthop; 40 ms, a queue of 200 packets.",
        (
            'delay = "20 ms"\nqueue = { kind = "droptail", packets = 200 }\n'
            'forward = { trace = "synthetic-lte.down" }\nreverse = { trace = "synthetic-lte.up" }'
        ),
        30,
    ),
)

SCENARIO = """
[scenario]
name = "gallery-{name}"
duration = "{seconds} s"
[link.l]
between = ["server", "phone"]
{keys}
[flow.f]
from = "server"
to = "phone"
tcp = {{ profile = "linux-6" }}
[output]
tcp = "interval"
interval = "50 ms"
"""


def write(folder: Path) -> str:
    """Draws what is not fresh into `folder`; the page's text."""
    lasthop = importlib.import_module("lasthop")
    described = json.loads(importlib.import_module("lasthop._core").describe())
    names = [a["name"] for a in described["cc"]]
    out = [
        "# Gallery of congestion controls\n",
        "Each control alone on the same three links, in the profile `linux-6`: window in segments above, smoothed",
        "round trip in ms below, over 30 s. `make docs` runs and draws this page. The figures in a panel are goodput",
        "and mean round trip.\n",
    ]
    for name, title, text, keys, seconds in LINKS:
        base = lasthop.Scenario.parse(SCENARIO.format(name=name, keys=keys, seconds=seconds), base_dir=TRACES)
        scenarios = [base.set("flow.f.tcp.cc", cc) for cc in names]
        picture = folder / f"gallery-{name}.svg"
        draw_if_stale(picture, names, scenarios, seconds)
        alt = f"Window and round trip over time of {len(names)} congestion controls: {title.lower()}"
        out.append(f"## {title}\n\n{text}\n\n![{alt}]({picture.name})\n")
    own_example(folder)
    control_variables(folder)
    return "\n".join(out)


def draw_if_stale(picture: Path, names: Sequence[str], scenarios: Sequence[Any], seconds: int) -> None:
    """Runs and draws unless the picture is of these scenarios, this extension and this file."""
    if is_fresh(picture, scenarios):
        return
    results = importlib.import_module("lasthop").run_many(scenarios)
    draw(picture, list(zip(names, results, strict=True)), seconds)


def is_fresh(picture: Path, scenarios: Sequence[Any]) -> bool:
    """True if the picture is of these scenarios, this extension and this file.

    Else it will be once it is drawn.
    """
    core = Path(importlib.import_module("lasthop._core").__file__ or "")
    made_of = hashlib.blake2b(core.read_bytes() + Path(__file__).read_bytes())
    for scenario in scenarios:
        made_of.update(scenario.hash.encode())
    stamp, mark = picture.with_suffix(".stamp"), made_of.hexdigest()
    if picture.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == mark:
        return True
    picture.unlink(missing_ok=True)
    stamp.write_text(mark, encoding="utf-8")
    return False


def draw(picture: Path, runs: Sequence[tuple[str, Any]], seconds: int, columns: int = 4) -> None:
    """Small multiples: for each control its window over its round trip, all on the same axes."""
    style = importlib.import_module("lasthop.plot._style")
    import matplotlib as mpl

    rows = -(-len(runs) // columns)
    with mpl.rc_context(style.STYLE):
        fig = style.Figure(figsize=(7.6, 1.75 * rows), layout="constrained")
        grid = fig.subplots(2 * rows, columns, sharex=True, squeeze=False, height_ratios=[1.25, 1] * rows)
        curves = [curve(r) for _, r in runs]
        # `none` has no window: its column holds a number above every window, which would flatten
        # all others.
        windows = [c["cwnd"] for (name, _), c in zip(runs, curves, strict=True) if name != "none"]
        top = [max(max(w) for w in windows) * 1.08, max(max(c["rtt"]) for c in curves) * 1.08]
        for i in range(rows * columns):
            upper, lower = grid[2 * (i // columns)][i % columns], grid[2 * (i // columns) + 1][i % columns]
            if i >= len(runs):
                upper.set_axis_off()
                lower.set_axis_off()
                continue
            (name, r), c = runs[i], curves[i]
            flow = r.flows.to_pylist()[0]
            if name == "none":
                upper.text(0.5, 0.5, "no window", transform=upper.transAxes, ha="center", fontsize=6)
            else:
                upper.plot(c["time"], c["cwnd"], color=style.OKABE_ITO[0], linewidth=0.8)
            lower.plot(c["time"], c["rtt"], color=style.OKABE_ITO[1], linewidth=0.8)
            upper.set_title(name, loc="left", fontsize=7, pad=2, fontweight="bold")
            note = f"{flow['goodput_bps'] / 1e6:.1f} Mbit/s, {flow['rtt_mean_s'] * 1e3:.0f} ms"
            upper.set_title(note, loc="right", fontsize=5.5, pad=2)
            for ax, limit in ((upper, top[0]), (lower, top[1])):
                ax.set_xlim(0, seconds)
                ax.set_ylim(0, limit)
                ax.grid(True)
                ax.locator_params(axis="y", nbins=3)
                ax.tick_params(labelleft=i % columns == 0, length=2)
            if i % columns == 0:
                upper.set_ylabel("segments", fontsize=6.5)
                lower.set_ylabel("RTT (ms)", fontsize=6.5)
            if i + columns >= len(runs):
                lower.tick_params(labelbottom=True)
            if i // columns == rows - 1:
                lower.set_xlabel("Time (s)", fontsize=6.5)
        fig.savefig(picture)


def curve(results: Any) -> dict[str, list[float]]:
    """Time, window and smoothed round trip of a run, from its first sample with a round trip on."""
    columns = results.tcp.select(["time_s", "snd_cwnd", "rtt_us"]).to_pydict()
    rows = [r for r in zip(*columns.values(), strict=True) if r[2] is not None]
    time, cwnd, rtt = zip(*rows, strict=True)
    return {"time": list(time), "cwnd": list(cwnd), "rtt": [t / 1e3 for t in rtt]}


def own_example(folder: Path) -> None:
    """The figure of the guide on congestion controls of one's own.

    By the example that the guide shows.
    """
    script = ROOT / "examples" / "own_congestion_control.py"
    picture = folder / "own-congestion-control.svg"
    if picture.exists() and picture.stat().st_mtime > script.stat().st_mtime:
        return
    subprocess.run([sys.executable, str(script)], cwd=folder, check=True, stdout=subprocess.DEVNULL)


#: Colour of each state of BBRv3 and of each region of CUBIC.
STATES = {
    "Startup": "#E69F00", "Drain": "#CC79A7", "ProbeBW_DOWN": "#D55E00", "ProbeBW_CRUISE": "#56B4E9",
    "ProbeBW_REFILL": "#F0E442", "ProbeBW_UP": "#009E73", "ProbeRTT": "#999999",
}  # fmt: skip
REGIONS = {
    "slow-start": "#E69F00", "waiting": "#999999", "reno-friendly": "#CC79A7", "concave": "#56B4E9",
    "convex": "#009E73",
}  # fmt: skip


def control_variables(folder: Path) -> None:
    """The figure of the guide on variables of congestion controls.

    BBRv3 and CUBIC on the same link.
    """
    lasthop = importlib.import_module("lasthop")
    keys = 'rate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = { kind = "droptail", packets = 110 }'
    base = lasthop.Scenario.parse(SCENARIO.format(name="variables", keys=keys, seconds=30))
    base = base.with_(output__cc="change")
    scenarios = [base.set("flow.f.tcp.cc", cc) for cc in ("bbr3", "cubic")]
    picture = folder / "control-variables.svg"
    if is_fresh(picture, scenarios):
        return
    bbr, cubic = (Variables(r) for r in lasthop.run_many(scenarios))
    style = importlib.import_module("lasthop.plot._style")
    import matplotlib as mpl

    with mpl.rc_context(style.STYLE):
        fig = style.Figure(figsize=(7.6, 3.9), layout="constrained")
        grid = fig.subplots(3, 2, sharex=True, squeeze=False, height_ratios=[0.35, 1, 1])
        strip(grid[0][0], *bbr.words("bbr.state"), STATES, "BBRv3: bbr.state")
        strip(grid[0][1], *cubic.words("cubic.region"), REGIONS, "CUBIC: cubic.region")
        for name in ("bbr.max_bw", "bbr.pacing_rate"):
            line(grid[1][0], *bbr.numbers(name), name, 1e-6)
        for name in ("inflight", "bbr.inflight_at_1"):
            line(grid[2][0], *bbr.numbers(name), name)
        for name in ("cwnd", "cubic.w_max"):
            line(grid[1][1], *cubic.numbers(name), name)
        line(grid[2][1], *cubic.numbers("cubic.k"), "cubic.k")
        labels = (("Mbit/s", "segments"), ("segments", "s"))
        for column, names in zip(grid.T, labels, strict=True):
            for ax, label in zip(column[1:], names, strict=True):
                ax.set_ylabel(label, fontsize=6.5)
                ax.set_ylim(bottom=0)
                ax.grid(True)
                ax.legend(frameon=False, fontsize=6, loc="upper right", ncols=2)
            column[-1].set_xlabel("Time (s)", fontsize=6.5)
            column[-1].set_xlim(0, 30)
        grid[1][0].set_ylim(0, 20)
        grid[2][0].set_ylim(0, 160)
        grid[1][1].set_ylim(0, 220)
        fig.savefig(picture)


class Variables:
    """The table `cc` of a run, by variable."""

    def __init__(self, results: Any) -> None:
        self._rows: dict[str, list[tuple[float, float | None, str | None]]] = {}
        columns = results.table("cc").select(["time_s", "variable", "value", "text"]).to_pydict()
        for time, variable, value, text in zip(*columns.values(), strict=True):
            self._rows.setdefault(variable, []).append((time, value, text))

    def numbers(self, name: str) -> tuple[list[float], list[float]]:
        """Times and values of a number."""
        known = [(time, value) for time, value, _ in self._rows[name] if value is not None]
        return [time for time, _ in known], [value for _, value in known]

    def words(self, name: str) -> tuple[list[float], list[str]]:
        """Times and values of a state."""
        return [time for time, _, _ in self._rows[name]], [text or "" for _, _, text in self._rows[name]]


def line(ax: Any, times: list[float], values: list[float], label: str, scale: float = 1.0) -> None:
    """A variable that keeps its value until the next row, and the last one to the end."""
    ax.plot([*times, 30.0], [v * scale for v in [*values, values[-1]]], label=label, drawstyle="steps-post", lw=0.8)


def strip(ax: Any, times: list[float], words: list[str], colours: dict[str, str], title: str) -> None:
    """A state over time as a strip of colours."""
    from matplotlib.patches import Patch

    for begin, end, word in zip(times, [*times[1:], 30.0], words, strict=True):
        if end > begin:
            ax.axvspan(begin, end, color=colours[word], lw=0)
    ax.set_yticks([])
    ax.set_title(title, loc="left", fontsize=7, fontweight="bold", pad=22)
    handles = [Patch(color=colour, label=word) for word, colour in colours.items() if word in words]
    ax.legend(
        handles=handles, frameon=False, fontsize=5.5, ncols=4, loc="lower left", bbox_to_anchor=(-0.02, 0.95),
        handlelength=1.0, columnspacing=0.8, borderaxespad=0.2,
    )  # fmt: skip
