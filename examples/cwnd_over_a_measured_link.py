"""A congestion window over a link that follows a trace.

demonstrates in particular:

- a link driven by a capacity trace, looped at its end;
- several figures in one matplotlib figure;
- zooming in time.

    server ==== link.cell (trace, 20 ms) ==== phone
        flow.down: bulk TCP ------------------->

Run it: python examples/cwnd_over_a_measured_link.py
"""

from pathlib import Path

import matplotlib.pyplot as plt

import lasthop as lh

SCENARIO = """
[scenario]
name = "measured-link"
duration = "30 s"

[link.cell]
between = ["server", "phone"]
delay = "20 ms"
queue = { kind = "droptail", bytes = "150 kB" }
forward = { trace = "wave.down" }
reverse = { rate = "5 Mbit/s" }

[flow.down]
from = "server"
to = "phone"
transport = "tcp"
app = "bulk"

[output]
interval = "50 ms"
"""


def write_trace(path: Path) -> None:
    """A link that offers 12 Mbit/s for two seconds and 3 Mbit/s for two seconds: one line, one packet."""
    fast = range(0, 2000, 1)
    slow = range(2000, 4001, 4)
    path.write_text("".join(f"{ms}\n" for ms in [*fast, *slow]), encoding="utf-8")


def main() -> None:
    """Runs, prints the flow, draws window, round-trip time and queue above each other."""
    write_trace(Path("wave.down"))
    r = lh.Scenario.parse(SCENARIO, base_dir=".").run()
    flow = r.flows.to_pylist()[0]
    print(f"goodput {flow['goodput_bps'] / 1e6:.2f} Mbit/s, mean RTT {flow['rtt_mean_s'] * 1e3:.0f} ms")
    print(f"retransmitted {flow['lost_retransmitted']}, timeouts {flow['timeouts']}")

    figure, axes = plt.subplots(3, 1, figsize=(3.5, 5), sharex=True, constrained_layout=True)
    r.plot.cwnd(ax=axes[0], t=(10, 30))
    r.plot.rtt(ax=axes[1], t=(10, 30))
    r.plot.queue(ax=axes[2], t=(10, 30))
    figure.savefig("measured-link.pdf")
    print("wrote measured-link.pdf")


if __name__ == "__main__":
    main()
