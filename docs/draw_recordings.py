"""Lays recordings of a real Linux over the endpoint.

For docs/concepts/linux-recordings.md and its two pictures.

    LASTHOP_SHARED=DIR python docs/draw_recordings.py

DIR holds `data/linux-6.1-tcp`. Our curves and the table of bars are written by the test that holds
the bars, `crates/tcp/tests/linux_recordings.rs`, which is run for it. What is committed needs no
recordings to be built.
"""

from __future__ import annotations

from kernel_curves import DOCS, curve, curves, drawing, read_bars, recordings

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

INTRODUCTION = """\
# Beside a real kernel

This page compares the profile `linux-6` with recordings of a Linux 6.1.192 sender: one bulk flow on two known paths,
with nine congestion controls. The kernel ran in virtual time (User-mode Linux, HZ = 1000), as three network
namespaces joined by veth, with MTU 1500, timestamps and SACK, without ECN or segmentation offload, `tcp_wmem` 4096
262144 8388608 and `tcp_rmem` 4096 1048576 8388608; netem made rate, delay and drop-tail limit, and `tcp_info` was
read about every 50 ms. Lasthop's endpoint runs between two links of the same rate, delay and limit, with the same
buffers, and is sampled at the same times. The default of `tcp_rmem` matters: while the offered window grows, Linux
acknowledges each segment at once (tcp_grow_window). With 128 KiB instead CUBIC's HyStart loses the train of ACKs on
p1 and leaves slow start at 88 segments; with 1 MiB at 38, as the kernel does.
"""
PARTINGS = """\
## Differences

- `cubic` on p2: from the fourth on, our losses come 0.1 to 0.3 s sooner. On p1 all six coincide with the kernel's,
  within a sample of 50 ms.
- `reno`, `veno`, `dctcp` on p1: losses after the first come 0 to 0.15 s later; with `highspeed` 0.15 to 0.45 s, with
  `scalable` 0.05 to 0.3 s. The receiver follows the kernel in two details: the kernel sets the budget of quick ACKs
  before tcp_grow_window sets its lowest bit, so that 16 single ACKs follow the last growth of the offered window, not
  14; and tcp_rcv_space_adjust counts 2984 octets of memory for a segment of 1448, of which half is window. The
  difference begins at 0.295 s: our receiver has read 76 segments in a round trip after 45 in the one before, and grows
  the buffer by 71,000 octets; about 72 would agree with the smoothed round trips of the recording. The recordings hold
  neither ACKs nor the receiver's buffer, so this part is an inference.
- On p2 our second loss of `reno`, `veno` and `dctcp` comes 0.35 to 0.45 s sooner; with `highspeed` the fourth to the
  sixth come 0.3 to 0.7 s later.
- `bbr` on p2: the kernel's third ProbeRTT comes at 37.65 s, ours at 30.9 to 32.3 s in 20 runs with other random
  numbers. A round trip shorter than the smallest by 1 us puts the next ProbeRTT off. The recording does not show single
  round trips. Its window shows that the smallest changed by less than 0.6 % at 27.6 s: the target stays at 342
  segments; a single segment's round trip, 0.6 ms shorter than a pair's, would have made it 340. The start of the
  third ProbeRTT therefore depends on fractions of a microsecond, and at that scale the recording host differs from a
  network with exact times. In User-mode Linux the clock has steps of 256 ns, and a timer that fires before the clock
  has reached its time is set again for 501 ns (TIMER_MULTIPLIER, TIMER_MIN_DELTA). With delay lines that have these
  steps the third ProbeRTT of our 20 runs comes at 31.3 to 40.4 s, 3 of them after the kernel's. Which ACK of the kernel
  had the shorter round trip is not known.
- CDG draws random numbers; single runs of the kernel have 1114 kB/s on p1 and 1870 on p2. A test
  (`the_kernels_runs_of_cdg_are_within_the_interval_of_ours`) holds both within the prediction interval of 20 runs of
  ours.
"""


def main() -> None:
    """Runs the test and writes page and pictures."""
    kernel = recordings("linux-6.1-tcp")
    with curves("linux_recordings") as ours:
        for path, about in PATHS.items():
            pairs = {cc: (curve(kernel / f"{path}-{cc}.csv"), curve(ours / f"{path}-{cc}.csv")) for cc in CCS}
            out = DOCS / "images" / f"linux-recordings-{path}.svg"
            out.write_text(drawing(about, pairs), encoding="utf-8")
        PAGE.write_text(page(read_bars(ours)), encoding="utf-8")


def page(bars: list[dict[str, str]]) -> str:
    """The page around the pictures."""
    missed = [b for b in bars if b["holds"] != "true"]
    verdict = f"All {len(bars)} hold." if not missed else f"{len(missed)} of {len(bars)} do not hold; they are bold."
    return "\n".join(
        [
            INTRODUCTION,
            "| path | rate, delay, limit (on the wire and waiting), duration |\n|---|---|",
            *(f"| {path} | {about} |" for path, about in PATHS.items()),
            "\nSample-by-sample equality is not to be expected once the first loss differs by one packet: one sawtooth",
            "may be ahead of the other. The quantities that must agree have a bar.\n",
            *(picture(path, about) for path, about in PATHS.items()),
            PARTINGS,
            "## The bars\n",
            "A bar is the largest deviation from the kernel:",
            "; ".join(f"{what} {bar}" for what, bar in BARS.items()) + ".",
            "Where a bar has two values, the larger one counts. Retransmissions within a second are one episode.",
            f"{verdict} The recordings are no part of the repository; where they are at hand,",
            "`LASTHOP_SHARED=DIR cargo test -p lasthop-tcp --test integration linux_recordings` checks them again, and",
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
