"""`lasthop report`."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop import Results
from lasthop._stop import leaving, making
from lasthop.cli import _output


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="[DIR/report.html]")
@_output.json_option
def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Make an HTML report of a run: summary, flows, figures, drops by cause, events, the scenario.

    DIR is the folder of a finished run. The report is one file that needs nothing else and can be mailed.

    \b
    Example:
      lasthop report results/umts-download-1
    """
    from lasthop.report import run_report

    target = out or folder / "report.html"
    with leaving(making("the report is", target)):
        html = run_report(Results.load(folder))
        _output.files({target: html})
        if as_json:
            _output.json_object({"report": str(target.resolve()), "bytes": target.stat().st_size})
        else:
            _output.line(f"Report: {target.resolve()}")
