"""A congestion window over a link that follows a trace.

demonstrates in particular:

- a link driven by a capacity trace, looped at its end;
- figures of window, round-trip time and queue over the same stretch of time;
- a figure of one's own from two tables.

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
    """A link that offers 12 Mbit/s for two seconds and 3 Mbit/s for two seconds.

    One line, one packet.
    """
    fast = range(0, 2000, 1)
    slow = range(2000, 4001, 4)
    path.write_text("".join(f"{ms}\n" for ms in [*fast, *slow]), encoding="utf-8")


def main() -> None:
    """Runs, prints the flow, draws window, round-trip time and queue."""
    write_trace(Path("wave.down"))
    r = lh.Scenario.parse(SCENARIO, base_dir=".").run()
    flow = r.flows.to_pylist()[0]
    print(f"goodput {flow['goodput_bps'] / 1e6:.2f} Mbit/s, mean RTT {flow['rtt_mean_s'] * 1e3:.0f} ms")
    print(f"retransmitted {flow['lost_retransmitted']}, timeouts {flow['timeouts']}")

    for name in ("cwnd", "rtt", "queue"):
        getattr(r.plot, name)(t=(10, 30)).savefig(f"link-{name}.pdf")
        print(f"wrote link-{name}.pdf")

    tcp, queues = r.tcp.to_pandas(), r.queues.to_pandas().query("queue == 'cell.forward'")
    figure, axes = plt.subplots(figsize=(3.5, 2.6), constrained_layout=True)
    axes.plot(queues.time_s, queues.bytes / 1e3, label="queue")
    axes.plot(tcp.time_s, tcp.unacked * 1.46, label="in flight")
    axes.set(xlabel="Time (s)", ylabel="kB", xlim=(10, 30))
    axes.legend()
    figure.savefig("link-together.pdf")
    print("wrote link-together.pdf")


if __name__ == "__main__":
    main()
