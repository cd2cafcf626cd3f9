"""`lasthop export` and `lasthop ss`."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path

import click

from lasthop import Results
from lasthop._stop import leaving, making
from lasthop.cli import _output

FORMATS = ("csv", "flowmonitor", "ns3", "perfetto", "qlog", "qvis", "sqlog")

#: Seconds per unit of `--at`.
UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}


def as_time(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A time in seconds: `12.3s`, `12.3 s`, `300 ms` or `12.3`."""
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*([a-z]*)\s*", value)
    if match is None or match[2] not in UNITS:
        raise click.BadParameter(f"'{value}' is no time, such as 12.3s or 300ms")
    seconds = float(match[1]) * UNITS[match[2]]
    if not math.isfinite(seconds):
        raise click.BadParameter(f"'{value}' is too long a time")
    return seconds


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER", help="[RUN-FORMAT]")
@click.option("--flow", metavar="NAME", help="Only this flow. [all]")
@click.option("--from", "from_s", callback=as_time, default="0", metavar="TIME", help="Only from this moment on.")
@click.option("--to", "to_s", callback=as_time, metavar="TIME", help="Only before this moment. [the end]")
@_output.json_option
def export(
    folder: Path, form: str, out: Path | None, flow: str | None, from_s: float, to_s: float | None, as_json: bool
) -> None:
    """Write a run in the format of another tool.

    RUN is the folder of a finished run. 'csv' writes every table; 'flowmonitor' the XML file of
    ns-3's FlowMonitor; 'ns3' the text files of ns-3's LTE module that the run's tables can fill;
    'qlog' and 'sqlog' what TCP senders did, in the IETF's schema as JSON and as JSON text
    sequences; 'qvis' the same in the older version that qvis opens; 'perfetto' the way of packets
    as a trace for ui.perfetto.dev. The folder's README.txt says what is estimated or left out; an
    earlier export of the same format is replaced.

    \b
    Examples:
      lasthop export results/umts-download-1 --format csv
      lasthop export results/umts-download-1 --format flowmonitor --out old
      lasthop export results/umts-download-1 --format qlog --flow ftp --to 20s
    """
    from lasthop.export import export_run

    run = folder.resolve()
    target = out or run.parent / f"{run.name}-{form}"
    results = Results.load(folder)
    with leaving(making("the export is", target)):
        done = export_run(results, form, target, flow=flow, from_s=from_s, to_s=math.inf if to_s is None else to_s)
        if as_json:
            _output.json_object(
                {"format": form, "folder": str(target.resolve()), "files": done.files, "notes": done.notes}
            )
            return
        _output.line(f"Exported: {target.resolve()}")
        for file in done.files:
            _output.line(f"  {file}")
        _output.line("What is estimated or left out: README.txt")


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--at", "at_s", callback=as_time, required=True, metavar="TIME", help="The moment: 12.3s, 300ms.")
@click.option("--flow", metavar="NAME", help="Only this flow. [all]")
@_output.json_option
def ss(folder: Path, at_s: float, flow: str | None, as_json: bool) -> None:
    """Show the state of TCP senders as 'ss -i' does.

    RUN is the folder of a finished run with the table 'tcp'. Of each flow the last sample is taken
    that is not after the moment of --at; names and formats are those of iproute2, times are in ms.
    Fields that the table does not have are left out.

    \b
    Example:
      lasthop ss results/umts-download-1 --at 12.3s
    """
    from lasthop.export import sockets_at

    found = sockets_at(Results.load(folder), at_s, flow)
    if as_json:
        _output.json_object({"at_s": at_s, "sockets": [{**asdict(s), "line": s.line} for s in found]})
        return
    for socket in found:
        _output.line(f"{socket.flow}  {socket.src} -> {socket.dst}  sampled at {socket.sample['time_s']:.9g} s")
        click.echo(f"\t {socket.line}")  # rich would make spaces of the tab
