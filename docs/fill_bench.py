"""Writes the measured tables of docs/performance.md.

    python docs/fill_bench.py [--page]

Takes target/bench.json and target/bench-rlc-am.json (`make bench` makes them) and
target/bench-commands.json (`python docs/measure_commands.py`), whichever there are, into the record
of this machine below docs/bench, and writes the tables of all records and the counts of
crates/sim/benches/instructions.json into the page. With `--page` it measures nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
RECORDS = ROOT / "docs" / "bench"
#: Other simulators' figures, which no command of this project measures.
PEER = RECORDS / "ns-3.json"
#: Measurements that take long, with the command and the commit of each.
RECORDED = RECORDS / "recorded.json"
#: Instructions of the cases, with what counted them.
COUNTS = ROOT / "crates" / "sim" / "benches" / "instructions.json"
BEGIN = "<!-- bench:begin (written by docs/fill_bench.py from docs/bench; do not edit) -->"
END = "<!-- bench:end -->"
#: What is measured: the file below target/, and the command that makes it.
MEASURED = {
    "cases": ("bench.json", "make bench"),
    "rlc_am": ("bench-rlc-am.json", "make bench"),
    "commands": ("bench-commands.json", "python docs/measure_commands.py"),
}


def main() -> None:
    """Renews this machine's record, then what stands between the two marks of the page."""
    if "--page" not in sys.argv[1:] and not record_this_machine():
        sys.exit("nothing was measured: run `make bench` or `python docs/measure_commands.py` first")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + generated() + after, encoding="utf-8")


def record_this_machine() -> bool:
    """Takes what was measured into the record of this machine. False: nothing was."""
    machine = f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    path = RECORDS / (re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-") + ".json")
    record: dict[str, Any] = {"machine": machine}
    if path.is_file():
        record = json.loads(path.read_text(encoding="utf-8"))
    found = False
    for part, (file, command) in MEASURED.items():
        source = ROOT / "target" / file
        if not source.is_file():
            continue
        measured = json.loads(source.read_text(encoding="utf-8"))
        # Only what is new: figures keep the commit at which they were taken.
        if measured == record.get(part, {}).get("rows"):
            continue
        found = True
        record[part] = {"command": command, "commit": commit(), "date": today(), "load": load(), "rows": measured}
    if found:
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return found


def generated() -> str:
    """What stands between the marks: a section a machine, by name, and the peer's figures."""
    peer, recorded = (json.loads(p.read_text(encoding="utf-8")) for p in (PEER, RECORDED))
    machines = sorted(set(RECORDS.glob("*.json")) - {PEER, RECORDED})
    sections = [section(json.loads(p.read_text(encoding="utf-8")), peer) for p in machines]
    counts = count_section(json.loads(COUNTS.read_text(encoding="utf-8")))
    return "\n\n".join([BEGIN, *sections, counts, peer_section(peer), recorded_section(recorded), END])


def section(record: dict[str, Any], peer: dict[str, Any]) -> str:
    """The tables of one machine."""
    tables = {"cases": lambda rows: case_table(rows, peer), "rlc_am": rlc_table, "commands": command_table}
    parts = [f"### {record['machine']}"]
    for part, table in tables.items():
        if part in record:
            of = record[part]
            parts += [table(of["rows"]).rstrip(), provenance(of)]
    return "\n\n".join(parts)


def provenance(of: dict[str, Any]) -> str:
    """Where the figures of a table come from."""
    busy = f", beside a load of {of['load']:.1f}" if of["load"] > 0.5 else ""
    return f"`{of['command']}` at `{of['commit']}`, {of['date']}{busy}."


def case_table(rows: list[dict[str, Any]], peer: dict[str, Any]) -> str:
    """One line per case; an empty cell where a figure was not taken."""
    theirs = {case["name"]: case["ns3"] for case in peer["cases"]}
    lines = [
        "| case | times real time | ns-3 | events/s | ns/segment | peak RSS [MiB] | instructions |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        speed = number(row.get("sim_s_per_s"))
        other = number(theirs.get(row["name"]))
        rest = [row.get(k) for k in ("events_per_s", "ns_per_segment", "peak_rss_mib", "instructions")]
        lines.append(" | ".join([f"| `{row['name']}`", speed, other, *map(number, rest)]) + " |")
    return "\n".join(lines) + "\n"


def rlc_table(rows: list[dict[str, Any]]) -> str:
    """What an SDU costs in RLC."""
    lines = ["| `rlc-am` | ns/SDU | allocations per 1000 SDUs | PDUs per SDU |", "|---|---|---|---|"]
    for row in rows:
        figures = [row["ns_per_sdu"], row["allocations_per_1000_sdus"], row["pdus_per_sdu"]]
        lines.append(f"| {row['name']} | " + " | ".join(map(number, figures)) + " |")
    return "\n".join(lines) + "\n"


def command_table(rows: list[dict[str, Any]]) -> str:
    """Processor time of commands and of what they call."""
    lines = ["| what | processor time | |", "|---|---|---|"]
    lines += [f"| {row['what']} | {row['value']:.3g} {row['unit']} | {row['note']} |" for row in rows]
    return "\n".join(lines) + "\n"


def count_section(counts: dict[str, Any]) -> str:
    """The instructions of each case's shortened run."""
    lines = ["| case | instructions | segments | instructions a segment |", "|---|---|---|---|"]
    for name, of in counts["cases"].items():
        each = number(of["instructions"] / of["segments"])
        lines.append(f"| `{name}` | {number(of['instructions'])} | {of['segments']:,} | {each} |")
    tools = f"`make bench-check UPDATE=1`; {counts['rustc']}, {counts['valgrind']}, {counts['machine']}."
    return "### Instructions\n\n" + "\n".join(lines) + f"\n\n{tools}"


def peer_section(peer: dict[str, Any]) -> str:
    """Both simulators on one machine, and how ns-3 was called."""
    lines = [
        "### Beside ns-3",
        f"{peer['machine']}, both in one run, one process at a time on one core. Simulated seconds per second.",
        "| case | Lasthop | ns-3 | ratio | ns-3's scenario |\n|---|---|---|---|---|",
    ]
    for case in peer["cases"]:
        ratio = case["lasthop"] / case["ns3"]
        figures = " | ".join(number(n) for n in (case["lasthop"], case["ns3"], ratio))
        lines[-1] += f"\n| `{case['name']}` | {figures} | {case['scenario']} |"
    return "\n\n".join([*lines, textwrap.fill(peer["source"], 120, break_on_hyphens=False)])


def recorded_section(recorded: dict[str, Any]) -> str:
    """Measurements that no renewal of the page repeats."""
    lines = ["| what | figure | command | commit | date |", "|---|---|---|---|---|"]
    of_row = "| {what} | {value} | `{command}` | `{commit}` | {date} |"
    lines += [of_row.format(**row) for row in recorded["rows"]]
    note = textwrap.fill(recorded["note"], 120, break_on_hyphens=False)
    return f"### {recorded['title']}\n\n{note}\n\n" + "\n".join(lines)


def number(value: float | None) -> str:
    """Three significant figures, large ones with a decimal prefix."""
    if value is None:
        return ""
    for factor, name in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{name}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def commit() -> str:
    """The commit that was measured."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown commit"


def today() -> str:
    """The date."""
    return str(dt.datetime.now(tz=dt.timezone.utc).date())


def load() -> float:
    """What else the machine did: its load in the last quarter of an hour, less the bench's own."""
    return round(max(os.getloadavg()[2] - 1.0, 0.0), 1)


def processor() -> str:
    """The processor's name, where the system gives it."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8")) if info.is_file() else None
    return found.group(1).strip() if found else platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()
