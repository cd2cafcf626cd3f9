"""A scheduler written in Python, beside the built-in ones that are most like it.

demonstrates in particular:

- a class that weighs the UEs of a TTI: best channel first, unless a packet of voice has waited for
  `budget`;
- the parameter `budget` as a key of the scenario;
- a call at the edge of the cell and three downloads nearer by, here and under two built-in
  schedulers.

    server ---- link.core ---- enb ==== cell, 25 blocks ==== phone-1 ... phone-3   downloads
                                                        ==== caller                voice

Run it: python examples/own_scheduler.py
"""

import lasthop as lh

SCENARIO = """
[scenario]
name = "own-scheduler"
duration = "5 s"

[link.core]
between = ["server", "enb"]
delay = "10 ms"

[radio]
fading = "epa"

[cell.enb]
resource_blocks = 25
radio = { power = "10 dBm" }

[ue.phone]
count = 3
ring = { inner = "200 m", outer = "1 km" }

[ue.caller]
radio = { position = ["2 km", "0 m", "1.5 m"] }
qos = { qci = 1 }
rlc = { mode = "um" }

[flow.download]
from = "server"
to = "phone"

[flow.call]
from = "server"
to = "caller"
transport = "udp"
app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
"""


# [late-first]
class LateFirst(lh.Scheduler):
    """Voice first whose oldest packet has waited for `budget`, then the best channel."""

    domain = "rate"  # each group of resource blocks goes to the largest weight times rate there

    def __init__(self, budget: float = 0.01) -> None:
        self.budget = budget

    def weigh(self, _tti: int, candidates: list[lh.Candidate]) -> list[float]:
        """The weight of a late UE outdoes any difference of rates."""
        return [1000.0 if self.is_late(c) else 1.0 for c in candidates]

    def is_late(self, c: lh.Candidate) -> bool:
        """Class 1 is voice; the head of a download's queue is always old."""
        return c.qci == 1 and c.head_delay >= self.budget


# [end]


def main() -> None:
    """Three schedulers, one table."""
    scenario = lh.Scenario.parse(SCENARIO, schedulers={"late-first": LateFirst})
    key = "cell.enb.downlink.scheduler"
    print("call: arrived, mean delay, longest   downloads            scheduler")
    for scheduler in (
        "fdmt",
        "proportional-fair",
        "late-first",
        {"kind": "late-first", "budget": 0.001},
    ):
        flows = {f["flow"]: f for f in scenario.set(key, scheduler).run().flows.to_pylist()}
        call = flows["call"]
        arrived = call["rx_packets"] / call["tx_packets"]
        rates = [f["goodput_bps"] / 1e6 for name, f in flows.items() if name != "call"]
        print(
            f"{arrived:8.0%} {1e3 * call['delay_mean_s']:11.1f} ms {1e3 * call['delay_max_s']:6.0f} ms"
            f"   {' '.join(f'{r:4.1f}' for r in rates)} Mbit/s   {scheduler}"
        )


if __name__ == "__main__":
    main()
