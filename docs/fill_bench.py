"""Writes the measured table of docs/performance.md from target/bench.json (`make bench` makes it).

    python docs/fill_bench.py

A second table comes from target/bench-rlc-am.json. The page names the machine and the commit on
which the figures were taken. Nothing else in the page changes.
"""

from __future__ import annotations

import datetime as dt
import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN = "<!-- bench:begin (written by docs/fill_bench.py from target/bench.json; do not edit) -->"
END = "<!-- bench:end -->"


def main() -> None:
    """Replaces what stands between the two marks."""
    source = ROOT / "target" / "bench.json"
    if not source.is_file():
        sys.exit(f"{source.relative_to(ROOT)} is missing: run `make bench` first")
    cases = json.loads(source.read_text(encoding="utf-8"))
    if isinstance(cases, dict):
        cases = cases["cases"]
    tables = table(cases)
    rlc = ROOT / "target" / "bench-rlc-am.json"
    if rlc.is_file():
        tables += "\n" + rlc_table(json.loads(rlc.read_text(encoding="utf-8")))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n{provenance()}\n\n{END}{after}", encoding="utf-8")


def table(cases: list[dict[str, Any]]) -> str:
    """One line per case; an empty cell where a figure was not taken."""
    lines = [
        "| case | times real time | events/s | ns/segment | peak RSS [MiB] | instructions |",
        "|---|---|---|---|---|---|",
    ]
    for c in cases:
        figures = [c.get(k) for k in ("sim_s_per_s", "events_per_s", "ns_per_segment", "peak_rss_mib", "instructions")]
        lines.append(f"| `{c['name']}` | " + " | ".join(map(number, figures)) + " |")
    return "\n".join(lines) + "\n"


def rlc_table(cases: list[dict[str, Any]]) -> str:
    """What an SDU costs in RLC."""
    lines = ["| `rlc-am` | ns/SDU | allocations per 1000 SDUs | PDUs per SDU |", "|---|---|---|---|"]
    for c in cases:
        figures = [c["ns_per_sdu"], c["allocations_per_1000_sdus"], c["pdus_per_sdu"]]
        lines.append(f"| {c['name']} | " + " | ".join(map(number, figures)) + " |")
    return "\n".join(lines) + "\n"


def number(value: float | None) -> str:
    """Three significant figures, large ones with a decimal prefix."""
    if value is None:
        return ""
    for factor, name in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{name}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def provenance() -> str:
    """Where, when and of what the figures are."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    machine = f"{processor()}, {platform.system()} {platform.machine()}"
    return f"`make bench` at `{commit or 'unknown commit'}`, {today}, {machine}."


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8")) if info.is_file() else None
    return found.group(1).strip() if found else platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()
