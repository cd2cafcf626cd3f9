"""Measures the table "Real TCP beside the simulated one" of docs/guides/live.md.

iperf3 with the host's CUBIC through `lasthop live`, and `linux-6` with CUBIC on the same scenario.

    python docs/measure_live.py FOLDER [SCENARIO...]

Needs iperf3 and namespaces (`lasthop live --check`), and takes nine minutes of wall time. A row has
the mean over three runs, the smallest and the largest, and the p99 of the lateness of each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean

from lasthop import Results, Scenario

WIRED = """
[scenario]
name = "wired"
duration = "20 s"
[link.path]
between = ["server", "phone"]
rate = "20 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 67 }
[flow.download]
from = "server"
to = "phone"
"""
#: Name, receiver, seconds, keys.
SCENARIOS = {
    "wired": ("phone", 20, []),
    "umts-download": ("ue", 60, []),
    "lte-download": ("phone", 20, ["cell.enb.resource_blocks=25"]),
    "lte-handover": ("car", 38, ["cell.west.resource_blocks=25", "cell.east.resource_blocks=25"]),
    "wifi-download": ("phone", 20, []),
}
RUNS = 3


def real(name: str, out: Path, n: int) -> tuple[float, float, float]:
    """Goodput [Mbit/s], mean smoothed RTT of the kernel [ms], p99 of the lateness [ms]."""
    node, seconds, keys = SCENARIOS[name]
    scenario, said, folder = name, out / f"{name}-{n}.json", out / f"{name}-{n}"
    if name == "wired":
        (out / "wired.toml").write_text(WIRED)
        scenario = str(out / "wired.toml")
    words = [sys.executable, "-m", "lasthop", "live", scenario, "--realtime", "--late-limit", "1 s", "--seed", str(n)]
    words += ["--in", f"server=iperf3 -s -1 -i 0.1 -J > {said}", "--out", str(folder), "--force", "--quiet"]
    # The run ends with the client. The server writes its report after the connection.
    client = f"iperf3 -c server -R -C cubic -t {seconds} > /dev/null && sleep 1"
    words += ["--in", f"{node}={client}", "--duration", f"{seconds + 6} s"]
    for key in keys:
        words += ["--set", key]
    subprocess.run(words, check=True)
    measured = Results.load(folder)
    data = max(measured.flows.to_pylist(), key=lambda f: f["app_bytes"])
    intervals = json.loads(said.read_text())["intervals"]
    rtt = fmean(i["streams"][0]["rtt"] for i in intervals) / 1e3
    # What waits in buffers after the last write arrives behind `seconds`.
    lasted = data["last_rx_s"] - data["first_tx_s"]
    return data["app_bytes"] * 8 / lasted / 1e6, rtt, measured.summary["live"]["lateness"]["p99_s"] * 1e3


def simulated(name: str, n: int) -> tuple[float, float]:
    """As `real`, of the simulated sender."""
    _, seconds, keys = SCENARIOS[name]
    scenario = Scenario.parse(WIRED) if name == "wired" else Scenario.load(name)
    flow = "ftp" if name == "umts-download" else "download"
    tcp = f'flow.{flow}.tcp={{ profile = "linux-6", cc = "cubic" }}'
    output = ["output.tcp=interval", "output.interval=100 ms"]
    results = scenario.with_([*keys, tcp, *output, f"scenario.duration={seconds} s", f"scenario.seed={n}"]).run()
    rtts = [row["rtt_us"] / 1e3 for row in results.tcp.to_pylist() if row["rtt_us"]]
    return results.flows.to_pylist()[0]["goodput_bps"] / 1e6, fmean(rtts)


def main(out: Path, names: list[str]) -> None:
    """Prints the rows as Markdown."""
    out.mkdir(parents=True, exist_ok=True)
    print("| scenario | goodput | mean RTT (`tcpi_rtt` each 100 ms) | lateness (p99) |\n|---|---|---|---|")
    for name in names:
        theirs = [real(name, out, n) for n in range(1, RUNS + 1)]
        ours = [fmean(found) for found in zip(*(simulated(name, n) for n in range(1, RUNS + 1)), strict=True)]
        cells = []
        for k, own in enumerate(ours):
            apart = [100 * (found[k] / own - 1) for found in theirs]
            cells.append(f"{fmean(apart):+.1f} % ({min(apart):+.1f} to {max(apart):+.1f})")
        late = ", ".join(f"{found[2]:.2f}" for found in theirs)
        print(f"| `{name}` | {cells[0]} | {cells[1]} | {late} ms |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(SCENARIOS))
