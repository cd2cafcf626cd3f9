"""A loop that reads the state of TCP every second and makes the radio worse.

demonstrates in particular:

- `step_until`, `tcp_info` and `set`: step, look, change, go on;
- that stepping without changes gives the same run as running in one go.

    host ---- link.wired (28 ms) ---- rnc )))) bearer.dch (UMTS, RLC AM) )))) phone
        flow.ftp: bulk TCP Reno ------------------------------------------->

Run it: python examples/change_the_radio_step_by_step.py
"""

import lasthop as lh

SCENARIO = """
[scenario]
name = "worse-and-worse"
duration = "60 s"

[link.wired]
between = ["host", "rnc"]
rate = "10 Mbit/s"
delay = "28 ms"

[bearer.dch]
kind = "umts"
between = ["rnc", "phone"]

[flow.ftp]
from = "host"
to = "phone"
transport = "tcp"
app = "bulk"

[flow.ftp.tcp]
profile = "ns2"
cc = "reno"
mss = "512 B"
"""


def main() -> None:
    """Adds five percent of block errors every ten seconds and prints the state of TCP."""
    scenario = lh.Scenario.parse(SCENARIO)
    sim = scenario.simulate()
    before = 0
    print("   t   errors  window   RTT      rate")
    for second in range(10, 61, 10):
        sim.step_until(f"{second} s")
        info = sim.tcp_info("ftp")
        rate = (info["bytes_acked"] - before) * 8 / 10
        before = info["bytes_acked"]
        errors = (second - 10) // 2
        window, rtt = info["snd_cwnd"], info["rtt_us"] / 1e6
        print(f"{second:4d} s  {errors:4d} %  {window:6}  {rtt:.2f} s  {rate / 1e3:4.0f} kbit/s")
        sim.set("bearer.dch.downlink.bler", f"{errors + 5} %")
    results = sim.finish()
    print(f"in all {results.flows.to_pylist()[0]['goodput_bps'] / 1e3:.0f} kbit/s")

    stepped = scenario.simulate()
    for second in range(7, 60, 7):
        stepped.step_until(float(second))
    assert stepped.finish().tcp.equals(scenario.run().tcp), "stepping alone changes nothing"
    print("stepping alone changes nothing")


if __name__ == "__main__":
    main()
