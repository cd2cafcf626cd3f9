"""Measures the table of docs/concepts/real-linux.md.

A real Linux kernel and `linux-6` on the same simulated path.

    [LASTHOP_SHARED=DIR] python docs/measure_linux.py FOLDER [CONTROL...]

FOLDER gets the results of all runs; those that are there are not run again. DIR holds
`data/linux-6.1-tcp`: recordings of nine controls, made with another harness. Needs a kernel:
`lasthop linux build`. Both paths with all controls take half an hour of one core.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import NamedTuple

from lasthop import Results, Scenario
from lasthop.linux import CONTROLS, at, find, run

#: The recordings' netem holds 100 and 250 packets, those on the wire included: 16.5 and 82.6 of
#: 1514 octets.
PATHS = {"p1": (10, 20, 83, 30), "p2": (20, 50, 167, 60)}
PATH = """
[scenario]
name = "{name}"
duration = "{duration} s"

[link.path]
between = ["server", "client"]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
overhead = "14 B"
queue = {{ kind = "droptail", packets = {queue} }}

[link.path.reverse]
rate = "1 Gbit/s"

[flow.ftp]
from = "server"
to = "client"
app = "bulk"

[flow.ftp.tcp]
profile = "linux-6"
cc = "{cc}"
receive_tuning = true
receive_buffer_start = "512 KiB"
receive_buffer = "4 MiB"
send_buffer_start = "256 KiB"
send_buffer_max = "8 MiB"

[output]
interval = "50 ms"
"""
#: The mean window is taken from here on [s].
SETTLED = 5.0


class Found(NamedTuple):
    """What a run shows."""

    goodput: float
    window: float
    again: int


def of(results: Results, duration: float) -> Found:
    """Goodput [kB/s] and retransmissions of a whole run, mean window [segments]."""
    rows = [row for row in results.tcp.to_pylist() if row["trigger"] == "interval"]
    windows = [row["snd_cwnd"] for row in rows if row["time_s"] >= SETTLED]
    return Found(rows[-1]["bytes_acked"] / duration / 1e3, sum(windows) / len(windows), rows[-1]["total_retrans"])


def recorded(path: str, cc: str, duration: float) -> Found | None:
    """As `of`; None where there is no recording."""
    file = Path(os.environ.get("LASTHOP_SHARED", "."), "data", "linux-6.1-tcp", f"{path}-{cc}.csv")
    if not file.is_file():
        return None
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    windows = [float(row["snd_cwnd"]) for row in rows if float(row["time_s"]) >= SETTLED]
    last = rows[-1]
    return Found(float(last["bytes_acked"]) / duration / 1e3, sum(windows) / len(windows), int(last["total_retrans"]))


def main(folder: Path, controls: list[str]) -> None:
    """Prints the table as Markdown."""
    kernel = find()
    print("| path | control | goodput, kB/s: kernel, `linux-6` | mean window: kernel, `linux-6` | difference "
          "| sent again: kernel, `linux-6` | recording: window, kernel beside it |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name, (rate, delay, queue, duration) in PATHS.items():
        for cc in controls:
            text = PATH.format(name=name, duration=duration, rate=rate, delay=delay, queue=queue, cc=cc)
            out = folder / f"{name}-{cc}"
            if not out.exists():
                run(Scenario.parse(text, set=at(["server", "client"])), kernel, out)
            theirs = of(Results.load(out), duration)
            ours = of(Scenario.parse(text).run(), duration)
            held = recorded(name, cc, duration)
            beside = f"{held.window:.1f}, {theirs.window / held.window - 1:+.1%}" if held else ""
            print(f"| {name} | `{cc}` | {theirs.goodput:.0f}, {ours.goodput:.0f} "
                  f"| {theirs.window:.1f}, {ours.window:.1f} | {ours.window / theirs.window - 1:+.1%} "
                  f"| {theirs.again}, {ours.again} | {beside} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(CONTROLS))
