"""Measures processor times of commands and calls for docs/performance.md.

The figures go to target/bench-commands.json.

    python docs/measure_commands.py

Takes about two minutes of one core. Each figure is the least of five. `python docs/fill_bench.py`
then writes them into the page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lasthop as lh

ROOT = Path(__file__).resolve().parent.parent
TIMES = 5
#: 100 Mbit/s for 20 s: 166,000 segments and half as many ACKs.
WIRED = """
[scenario]
name = "control"
duration = "20 s"
[link.path]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", packets = 167 }
[flow.ftp]
from = "a"
to = "b"
[output]
tcp = "off"
queues = false
"""
EXPLAINED = ["dumbbell", "umts-download", "lte-download", "lte-upload", "lte-handover", "wifi-download"]


class Idle(lh.CongestionControl):
    """The empty call: the window stays."""

    def __init__(self) -> None:
        self.cwnd = 300.0

    def on_ack(self, ack: lh.AckSample) -> None:
        pass


class Reno(lh.CongestionControl):
    """RFC 5681, as `tests/test_own_control.py` has it."""

    def __init__(self) -> None:
        self.counted = 0.0

    def on_ack(self, ack: lh.AckSample) -> None:
        if not ack.may_grow or not ack.cwnd_limited:
            return
        acked = ack.acked / ack.mss
        if self.cwnd < self.ssthresh:
            self.cwnd += min(acked, 1.0)
            return
        self.counted += acked
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += 1.0

    def on_loss(self, loss: lh.Congestion) -> None:
        self.ssthresh = self.cwnd = max(loss.flight / 2, 2.0)
        self.counted = 0.0


def main() -> None:
    """Measures all and writes the file."""
    rows = [*start_up(), *controls(), *explain()]
    path = ROOT / "target" / "bench-commands.json"
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(f"{row['what']}: {row['value']:.3g} {row['unit']} {row['note']}")


def start_up() -> list[dict[str, Any]]:
    """Commands from the shell: processor time of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", "wifi-download", "--set", "scenario.duration=1 s", "--out", "out", "--force"]
        commands = [(["--help"], "`lasthop --help`"), (run, "`lasthop run wifi-download` of 1 s, with its results")]
        return [row(what, command_s(words, folder), "s") for words, what in commands]


def command_s(words: list[str], folder: str) -> float:
    """The least processor time of a command [s]."""
    program = [sys.executable, "-c", "from lasthop._command import main; main()", *words]

    def once() -> float:
        before = os.times()
        subprocess.run(program, cwd=folder, capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(TIMES))


def controls() -> list[dict[str, Any]]:
    """What a control in Python adds to an ACK, beside the built-in Reno."""
    built_in = lh.Scenario.parse(WIRED, set={"flow.ftp.tcp.cc": "reno"})
    base = run_s(built_in)
    rows = []
    for cls, what in [(Idle, "an empty `on_ack` in Python"), (Reno, "RFC 5681 in Python")]:
        own = lh.Scenario.parse(WIRED, cc={"mine": cls}, set={"flow.ftp.tcp.cc": "mine"})
        acks = own.run().flows["reverse_rx_packets"][0].as_py()
        rows.append(row(what, (run_s(own) - base) / acks * 1e6, "µs", "more for each ACK than the built-in Reno"))
    return rows


def explain() -> list[dict[str, Any]]:
    """How much longer a run takes that notes every stage of every packet."""
    rows = []
    for name in EXPLAINED:
        scenario = lh.Scenario.load(name)
        without, noted = run_s(scenario), run_s(scenario.with_(output__explain=True))
        note = f"with `output.explain = true` beside {without:.3g} s without, tables in memory"
        rows.append(row(f"`{name}`", noted, "s", note))
    return rows


def run_s(scenario: lh.Scenario) -> float:
    """The least processor time of a run [s]."""
    return min(spent_s(scenario.run) for _ in range(TIMES))


def spent_s(call: Callable[[], object]) -> float:
    """Processor time of a call [s]."""
    began = time.process_time()
    call()
    return time.process_time() - began


def row(what: str, value: float, unit: str, note: str = "") -> dict[str, Any]:
    """A row of the table."""
    return {"what": what, "value": round(value, 4), "unit": unit, "note": note}


if __name__ == "__main__":
    main()
