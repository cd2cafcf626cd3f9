"""`lasthop import-trace` and `lasthop export-trace`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop import _core, _format
from lasthop._bundled import scenario_file
from lasthop._stop import leaving, making
from lasthop.cli import _completion, _output
from lasthop.cli._run import load

if TYPE_CHECKING:
    from lasthop.capacity import Comparison, Recording

FORMATS = ("mahimahi", "mbps-csv", "nyu-mets", "5gophers")


@click.command("import-trace")
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path))
@click.argument("target", metavar="DST", type=click.Path(path_type=Path))
@click.option("--format", type=click.Choice(FORMATS), help="Format of SRC. [recognised from the content]")
@_output.json_option
def import_trace(source: Path, target: Path, format: str | None, as_json: bool) -> None:
    """Convert a measured capacity trace for use as a link.

    DST is written in Mahimahi's format: one millisecond timestamp a line, each an opportunity to
    send one MTU; the trace starts again at its end. A link uses it with `trace = "DST"` in place of
    `rate`.

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


@click.command("export-trace")
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@click.argument("target", metavar="DST", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--node", required=True, metavar="NODE", help="The node whose last hop is recorded.")
@click.option(
    "--direction", type=click.Choice(["down", "up"]), default="down", show_default=True, help="To the node or from it."
)
@click.option("--peer", metavar="NODE", help="The other end. [that of the node's first flow]")
@click.option(
    "--under", metavar="CC", help="Record under a TCP sender with this congestion control. [UDP above the capacity]"
)
@click.option(
    "--format", type=click.Choice(["mahimahi", "netem-trace"]), default="mahimahi", show_default=True, help="Of DST."
)
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="CC",
    help="Compare this congestion control over the hop and over the trace. May be repeated. [cubic and bbr]",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=_completion.assignments,
    help="Override a key. May be repeated.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of every random draw.")
@_output.json_option
def export_trace(
    scenario: str,
    target: Path,
    node: str,
    direction: str,
    peer: str | None,
    under: str | None,
    format: str,
    compared: tuple[str, ...],
    sets: tuple[str, ...],
    seed: int | None,
    as_json: bool,
) -> None:
    """Record the capacity of a node's last hop as a trace.

    A sender that always has data takes the place of the node's flows; the rest of the scenario
    stays. DST appears whole or not at all.

    A trace does not react to a sender, as the hop does. To show how its replay differs, congestion
    controls run over the scenario and over the trace: goodput, one-way delay of data packets, and
    the largest difference of the two distributions of delay (KS).

    \b
    Formats of DST:
      mahimahi     a millisecond a line, each an opportunity to send 1500 bytes
                   (mm-link, lasthop)
      netem-trace  bandwidth by steps of 10 ms, as JSON
                   (rattan, the crate netem-trace)

    \b
    Examples:
      lasthop export-trace lte-download phone.down --node phone
      lasthop export-trace lte-upload phone.up --node phone --direction up \\
          --compare vegas
    """
    from lasthop import capacity

    checked = load(scenario, sets, seed, ())
    way: capacity.Direction = "up" if direction == "up" else "down"
    with leaving(making("the trace is", target)):
        recording = capacity.record(checked, node, way, peer, under, scenario_file(scenario).parent)
        found = [capacity.compare(recording, cc) for cc in compared or ("cubic", "bbr")]
        _output.files({target: capacity.content(recording, format)})
        if as_json:
            _output.json_object(
                {"written": str(target), **_recorded(recording), "compared": [_compared(c) for c in found]}
            )
            return
        _show(recording, found, target)


def _recorded(recording: Recording) -> dict[str, Any]:
    stage = recording.scene
    source, sink = stage.ends(recording.direction)
    return {
        "from": source,
        "to": sink,
        "left_out": list(stage.left_out),
        "seconds": recording.duration,
        "packets": len(recording.times),
        "mean_bps": recording.mean_rate,
        "offered_bps": recording.offered,
        "buffer_bytes": recording.buffer,
        "least_delay_s": recording.least_delay,
        "reverse_delay_s": recording.back_delay,
    }


def _compared(found: Comparison) -> dict[str, Any]:
    return {**asdict(found), "goodput_error": found.goodput_error, "delay_errors": list(found.delay_errors)}


def _show(recording: Recording, found: list[Comparison], target: Path) -> None:
    facts = _recorded(recording)
    left_out = ", ".join(facts["left_out"])
    _output.table(
        ("trace", ""),
        [
            ("from, to", f"{facts['from']}, {facts['to']}"),
            ("flows left out", left_out or "none"),
            ("length", f"{recording.duration:,.3f} s"),
            ("mean rate", _format.rate(recording.mean_rate)),
            ("buffer before the hop", "no limit found" if recording.buffer is None else _format.size(recording.buffer)),
            ("least delay with the data", _format.duration(recording.least_delay)),
            ("mean delay against it", _format.duration(recording.back_delay)),
        ],
    )
    _output.line()
    _output.line(
        "What a replay loses: congestion controls over the hop and over the trace, with that buffer and delay."
    )
    rows = []
    for c in found:
        rows.append(
            (c.cc, "goodput", _format.rate(c.hop.goodput), _format.rate(c.trace.goodput), f"{c.goodput_error:+.0%}")
        )
        for share, hop, trace, error in zip((50, 95), c.hop.delay, c.trace.delay, c.delay_errors, strict=True):
            rows.append(("", f"delay, {share} %", _format.duration(hop), _format.duration(trace), f"{error:+.0%}"))
        rows.append(("", "KS of the delays", "", "", f"{c.ks:.2f}"))
    _output.table(("control", "", "hop", "trace", "error"), rows, right=(2, 3, 4))
    _output.line()
    _output.line(f"Wrote {target}")
