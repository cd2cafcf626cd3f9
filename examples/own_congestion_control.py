"""Two congestion controls written in Python, beside the built-in ones that are most like them.

demonstrates in particular:

- a class that cuts to 0.7 of the window at a loss, with the factor as a parameter of the scenario;
- a class that steers by delay: it adds a segment per round trip while fewer than three queue, and
  takes one away while more than five do;
- one figure that compares them with `reno` and `vegas`.

    server ==== link.bottleneck (10 Mbit/s, 20 ms, 100 packets) ==== phone
        flow.down: bulk TCP ----------------------->

Run it: python examples/own_congestion_control.py
"""

import math

import matplotlib.pyplot as plt

import lasthop as lh

SCENARIO = """
[scenario]
name = "own-control"
duration = "30 s"

[link.bottleneck]
between = ["server", "phone"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 100 }

[flow.down]
from = "server"
to = "phone"
tcp = { profile = "linux-6", cc = "reno", initial_ssthresh = 60 }

[output]
tcp = "ack"
"""


# [aimd]
class Aimd(lh.CongestionControl):
    """Adds a segment per round trip; keeps the share `beta` of the window at a loss."""

    def __init__(self, beta: float = 0.7) -> None:
        self.beta = beta

    def on_ack(self, ack: lh.AckSample) -> None:
        """Slow start, then one segment for each window that is acknowledged."""
        if ack.may_grow and ack.cwnd_limited:
            left = self.slow_start(ack)
            self.cwnd += left / self.cwnd

    def on_loss(self, loss: lh.Congestion) -> None:
        """Loss recovery begins: this happens once per window, however many segments were lost."""
        self.ssthresh = self.cwnd = max(self.beta * loss.flight, 2.0)


# [end]


# [queue]
class Queue(lh.CongestionControl):
    """Holds three to five segments in the path's queue.

    By the smallest round trip of each round.
    """

    def __init__(self) -> None:
        self.base = math.inf
        self.round = math.inf

    def on_ack(self, ack: lh.AckSample) -> None:
        """Notes the round trip; grows by itself in slow start only."""
        if ack.rtt is not None:
            self.base = min(self.base, ack.rtt)
            self.round = min(self.round, ack.rtt)
        if ack.may_grow:
            self.slow_start(ack)

    def on_round(self, ack: lh.AckSample) -> None:
        """Once per round trip: how many segments of the window were waiting somewhere?"""
        waiting = self.cwnd * (1 - self.base / self.round) if self.round < math.inf else 0.0
        self.round = math.inf
        if waiting > 3:
            self.ssthresh = 2.0  # slow start is over
        if self.cwnd >= self.ssthresh and ack.may_grow:
            self.cwnd = max(self.cwnd + (waiting < 3) - (waiting > 5), 2.0)


# [end]


def main() -> None:
    """Runs four controls over the same link and draws window and round trip of each."""
    base = lh.Scenario.parse(SCENARIO, cc={"aimd": Aimd, "queue": Queue})
    names = ["aimd", "reno", "queue", "vegas"]
    results = lh.run_many([base.set("flow.down.tcp.cc", name) for name in names])

    figure, axes = plt.subplots(2, 4, figsize=(7.2, 3.2), sharex=True, sharey="row", constrained_layout=True)
    for column, name, r in zip(axes.T, names, results, strict=True):
        tcp, flow = r.tcp.to_pandas(), r.flows.to_pylist()[0]
        print(f"{name:6} {flow['goodput_bps'] / 1e6:5.2f} Mbit/s, mean RTT {flow['rtt_mean_s'] * 1e3:3.0f} ms")
        own = name in ("aimd", "queue")
        colour = "#D55E00" if own else "#0072B2"
        column[0].plot(tcp.time_s, tcp.snd_cwnd, color=colour, linewidth=0.9)
        column[1].plot(tcp.time_s, tcp.rtt_sample_us / 1e3, color=colour, linewidth=0.6)
        column[0].set_title(f"{name} (own)" if own else name, fontsize=9)
        column[1].set_xlabel("Time (s)")
    axes[0][0].set_ylabel("Window (segments)")
    axes[1][0].set_ylabel("Round trip (ms)")
    figure.savefig("own-congestion-control.svg", metadata={"Date": None})
    print("wrote own-congestion-control.svg")

    for beta in (0.5, 0.9):
        r = base.with_({"flow.down.tcp.cc": "aimd", "flow.down.tcp.cc_parameters.beta": beta}).run()
        print(f"aimd with beta {beta}: mean RTT {r.flows.to_pylist()[0]['rtt_mean_s'] * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
