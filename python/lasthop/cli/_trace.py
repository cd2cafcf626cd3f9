"""`lasthop import-trace`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lasthop import _core, _format
from lasthop._stop import leaving, making
from lasthop.cli import _output

FORMATS = ("mahimahi", "mbps-csv", "nyu-mets", "5gophers")


@click.command("import-trace")
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path))
@click.argument("target", metavar="DST", type=click.Path(path_type=Path))
@click.option("--format", type=click.Choice(FORMATS), help="Format of SRC. [recognised from the content]")
@_output.json_option
def import_trace(source: Path, target: Path, format: str | None, as_json: bool) -> None:
    """Convert a measured capacity trace for use as a link.

    DST is written in Mahimahi's format: one millisecond timestamp a line, each an opportunity to send one MTU; the
    trace starts again at its end. A link uses it with `trace = "DST"` in place of `rate`.

    \b
    Formats of SRC:
      mahimahi   milliseconds, one a line
      mbps-csv   time_s,mbps
      nyu-mets   NYU METS cellular measurements
      5gophers   5Gophers throughput measurements

    \b
    Example:
      lasthop import-trace measured.csv lte.down --format mbps-csv
    """
    with leaving(making("the trace is", target)):
        stats = json.loads(_core.import_trace(source, target, format))
        for note in stats.pop("notes"):
            _output.note(note)
        if as_json:
            _output.json_object({"written": str(target), "trace": stats})
            return
        _output.table(("trace", ""), _rows(stats))
        _output.line()
        _output.line(f"Wrote {target}")
        _output.line(f'Use it in a scenario: [link.NAME] trace = "{target}"')


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What is in the trace, each figure with its unit."""
    stats = found["stats"]
    shares = ("p5", "p50", "p95")
    return [
        ("format", found["format"]),
        ("length", f"{stats['length_s']:,.3f} s"),
        ("opportunities", _format.count(stats["opportunities"])),
        ("mean rate", _format.rate(stats["mean_mbps"] * 1e6)),
        ("rate of a second: 5 %, median, 95 %", ", ".join(_format.rate(stats[f"rate_{p}_mbps"] * 1e6) for p in shares)),
        ("first opportunity", _format.duration(stats["first_ms"] / 1e3)),
        ("longest gap", _format.duration(stats["longest_gap_ms"] / 1e3)),
    ]
