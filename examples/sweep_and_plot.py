"""Two congestion controls over a grid of error rates and seeds.

On every core, with confidence intervals.

demonstrates in particular:

- `run_many` over copies of one scenario made with `with_`;
- paired differences by common random numbers: the same seed meets the same block errors;
- `harness.Estimate` for means with 95 % intervals.

    host ---- link.wired (28 ms) ---- rnc )))) bearer.dch (UMTS, block errors 0 to 10 %) )))) phone
        flow.ftp: bulk TCP, Reno or Vegas ----------------------------------------------->

Run it: python examples/sweep_and_plot.py
"""

import itertools

import matplotlib.pyplot as plt

import lasthop as lh
from lasthop.harness import Estimate

SCENARIO = """
[scenario]
name = "sweep"
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
mss = "512 B"
"""

CONTROLS = ("reno", "vegas")
ERRORS = (0, 5, 10)
SEEDS = (1, 2, 3)


def main() -> None:
    """Runs the grid and draws goodput over the error rate."""
    base = lh.Scenario.parse(SCENARIO)
    grid = list(itertools.product(CONTROLS, ERRORS, SEEDS))
    results = lh.run_many(
        [
            base.with_(
                {"bearer.dch.downlink.bler": f"{p} %", "bearer.dch.uplink.bler": f"{p} %", "flow.ftp.tcp.cc": cc},
                seed=seed,
            )
            for cc, p, seed in grid
        ]
    )
    goodput = {point: r.flows.to_pylist()[0]["goodput_bps"] / 1e3 for point, r in zip(grid, results, strict=True)}
    estimates = {(cc, p): Estimate.of([goodput[cc, p, s] for s in SEEDS]) for cc in CONTROLS for p in ERRORS}

    for p in ERRORS:
        gain = estimates["reno", p].minus(estimates["vegas", p])
        print(f"{p:3d} %: Reno is {gain.text(unit='kbit/s')} above Vegas")

    figure, axes = plt.subplots(figsize=(3.5, 2.6), constrained_layout=True)
    for cc in CONTROLS:
        values = [estimates[cc, p] for p in ERRORS]
        axes.errorbar(ERRORS, [v.mean for v in values], yerr=[v.half_width for v in values], capsize=3, label=cc)
    axes.set(xlabel="block error rate [%]", ylabel="goodput [kbit/s]", ylim=(0, None))
    axes.legend()
    figure.savefig("sweep.pdf")
    print("wrote sweep.pdf")


if __name__ == "__main__":
    main()
