"""Judges a congestion control of one's own, and a mutant of it, by a case of one's own.

demonstrates in particular:
  - a class whose variables a case can observe
  - a case as TOML: path, moment, precondition, check
  - that a case finds the mistake that it is for

    python examples/judge_a_control.py
"""

from __future__ import annotations

from pathlib import Path

import lasthop as lh


# [control]
class Mine(lh.CongestionControl):
    """Additive increase; 0.7 of what was in flight is left at a loss."""

    observables = {"mine.cuts": ""}

    def __init__(self) -> None:
        self.cuts = 0

    def on_ack(self, ack: lh.AckSample) -> None:
        if ack.may_grow and ack.cwnd_limited:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd

    def on_loss(self, loss: lh.Congestion) -> None:
        self.cuts += 1
        self.ssthresh = self.cwnd = max(2.0, 0.7 * loss.flight)

    def observe(self) -> dict[str, float]:
        return {"mine.cuts": float(self.cuts)}


# [end]
# [mutant]
class ForgottenCut(Mine):
    """A mutant: it counts the loss and keeps the window."""

    def on_loss(self, loss: lh.Congestion) -> None:
        self.cuts += 1
        self.ssthresh = self.cwnd


# [end]
PROMISE = """
# [case]
[case]
id = "PROMISE-1"
title = "0.7 of the flight is left at a loss"
source = "the docstring of Mine"
observables = ["mine.cuts"]
requires = ["exists(cut)"]
pass = [
    "at(ssthresh, cut) / before(inflight, cut) in [0.65, 0.75]",
    "goodput(late, end) >= 0.9 * ref",
]
chosen = ["0.05 about 0.7", "0.9 of the path's goodput"]
plot = ["cwnd", "ssthresh"]

[case.let]
cut = "first(rises(mine.cuts >= 1))"

[case.scenario]
duration = "15 s"

[case.paths]
near = { rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }
far = { rate = "4 Mbit/s", rtt = "100 ms", buffer_bdp = 1 }
# [end case]
"""


def main() -> None:
    case = Path("promise.toml")
    case.write_text(PROMISE, encoding="utf-8")
    print(f"wrote {case}")
    for control in (Mine, ForgottenCut):
        verdicts = lh.judge("mine", [case], own={"mine": control}, jobs=1, store="store")
        (row,) = verdicts.rows
        print(f"{control.__name__}: {row.verdict}; {row.why}")
        folder = verdicts.save(f"judge-{control.__name__}")
        print(f"wrote {folder}/report.html")


if __name__ == "__main__":
    main()
