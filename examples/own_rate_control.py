"""A rate control of media written in Python, beside the built-in ones.

demonstrates in particular:

- a class that follows the receiver's reports: more each second, less where packets wait;
- the parameters `wait`, `step`, `beta` as keys of the scenario, and a variable in the table `cc`;
- a call over a link of 1 Mbit/s here and under two built-in controls.

Run it: python examples/own_rate_control.py
"""

import math

import lasthop as lh

SCENARIO = """
[scenario]
name = "own-rate-control"
duration = "60 s"

[link.access]
between = ["server", "client"]
rate = "1 Mbit/s"
delay = "50 ms"
queue = { kind = "droptail", bytes = "37500 B" }

[flow.call]
from = "server"
to = "client"
transport = "udp"
app = { kind = "media", control = "nada" }

[output]
cc = "interval"
"""


# [steady]
class Steady(lh.RateControl):
    """Grows by a constant rate, and falls to a share where packets wait or are lost."""

    observables = {"steady.wait": "s"}

    def __init__(self, *, wait: float = 0.05, step: float = 40e3, beta: float = 0.85) -> None:
        self.most, self.step, self.beta = wait, step, beta  # [s], [bit/s per s], share of the rate
        self.base = math.inf  # the shortest delay so far
        self.wait = 0.0
        self.last = 0.0  # when the latest report came
        self.quiet_until = 0.0  # a reduction shows in reports one round trip later

    def on_feedback(self, report: lh.MediaReport) -> None:
        delays = [p.arrival - p.sent for p in report.packets if p.arrival is not None]
        if delays:
            self.base = min(self.base, *delays)
            self.wait = min(delays) - self.base
        lost = any(p.arrival is None for p in report.packets)
        if (lost or self.wait > self.most) and report.now >= self.quiet_until:
            self.target_rate *= self.beta
            self.quiet_until = report.now + 2 * (report.rtt or 0.1)
        elif self.wait <= self.most and not lost:
            self.target_rate += self.step * (report.now - self.last)
        self.target_rate = min(self.target_rate, self.highest)
        self.last = report.now

    def init(self, start: lh.MediaStart) -> None:
        super().init(start)
        self.highest = start.max_rate

    def observe(self) -> dict[str, float]:
        return {"steady.wait": self.wait}


# [end]
def main() -> None:
    base = lh.Scenario.parse(SCENARIO, cc={"steady": Steady})
    for control in ("steady", "nada", "gcc"):
        run = base.set("flow.call.app.control", control).run()
        late = [row for row in run.media.to_pylist() if row["time_s"] > 30]
        received = sum(row["received_bps"] for row in late) / len(late)
        delay = max(row["delay_max_s"] or 0 for row in late)
        print(f"{control:7} {received / 1e3:5.0f} kbit/s received after 30 s, longest delay {delay * 1e3:4.0f} ms")


if __name__ == "__main__":
    main()
