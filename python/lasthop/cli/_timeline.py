"""`lasthop timeline`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from lasthop import Results
from lasthop.cli import _output


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--packet", type=int, metavar="N", help="Number of the packet (table `packets`).")
@click.option("--flow", metavar="NAME", help="Take a packet with data of this flow. [any]")
@click.option("--nth", type=int, default=0, show_default=True, metavar="I", help="Its place among those, from 0.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw it: .svg, .pdf or .png."
)
@_output.json_option
def timeline(folder: Path, packet: int | None, flow: str | None, nth: int, out: Path | None, as_json: bool) -> None:
    """Show the path of one packet through LTE, TTI by TTI.

    DIR is the folder of a finished run with the tables `packets` and `steps`: requests, grants,
    reports, transport blocks and their HARQ feedback, a lane per node.

    \b
    Example:
      lasthop run sidelink --set output.packets=true --set output.steps=true
      lasthop timeline results/sidelink-1 --flow ftp --nth 100 --out way.svg
    """
    from lasthop.plot._timeline import find_packet, timeline_figure, way_of

    results = Results.load(folder)
    number = packet if packet is not None else find_packet(results.packets, flow, nth)
    moments = way_of(results, number)
    start = moments[0].time_s
    if out is not None:
        _output.files({out: timeline_figure(moments, 7.16).content(out.suffix.lstrip(".") or "png")})
    if as_json:
        rows = [{**asdict(m), "after_ms": m.after(start)} for m in moments]
        _output.json_object({"packet": number, "start_s": start, "moments": rows})
        return
    _output.table(
        ("ms", "node", "to", "what", "link", ""),
        [(f"{m.after(start):g}", m.node, m.to, m.what, m.link, m.detail) for m in moments],
        right=(0,),
    )
    if out is not None:
        _output.line(f"Drawn: {out.resolve()}")
