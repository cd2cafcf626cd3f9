"""`lasthop view`."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop import Results
from lasthop._errors import mistake
from lasthop.cli import _output

if TYPE_CHECKING:
    from lasthop.viewer import Viewer


def labelled(folders: Sequence[Path]) -> dict[str, Results]:
    """Runs by the names of their folders; where two agree, with what their paths add.

    Raises:
        LasthopError: a folder is none of a run, or is named twice.
    """
    found: dict[str, Results] = {}
    paths = [folder.resolve() for folder in folders]
    for folder, path in zip(folders, paths, strict=True):
        if (path / "campaign.json").is_file() or (path / "claims.json").is_file():
            raise mistake(f"'{folder}' holds a campaign or a study", "name it alone, or the folders of runs")
        if paths.count(path) > 1:
            raise mistake(f"'{folder}' is named twice")
        depth = 1
        while sum(p.parts[-depth:] == path.parts[-depth:] for p in paths) > 1:
            depth += 1
        found["/".join(path.parts[-depth:])] = Results.load(folder)
    return found


def _viewer(folders: tuple[Path, ...], port: int) -> Viewer:
    from lasthop.viewer import Viewer

    folder = folders[0]
    if len(folders) == 1 and (folder / "campaign.json").is_file():
        from lasthop.cli._results import loaded

        return Viewer({}, port, campaign=loaded(folder))
    if len(folders) == 1 and (folder / "claims.json").is_file():
        try:
            document = (folder / "report.html").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise mistake(f"cannot read '{folder / 'report.html'}': {error}", "run the study again") from None
        return Viewer({}, port, document=document)
    return Viewer(labelled(folders), port)


@click.command()
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="TCP port on this machine. [a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@_output.json_option
def view(folders: tuple[Path, ...], port: int, no_browser: bool, as_json: bool) -> None:
    """Show runs, a campaign or a study in a browser.

    RUN is the folder of a finished run (linked charts, map, packets, tables; several are compared
    on one page), of a campaign (its axes as charts side by side, with a cursor through them) or of
    a study (its report). The page comes from a server that listens on this machine only, and loads
    nothing from elsewhere; its address has a secret token. Ctrl-C ends it. `lasthop report` writes
    runs and campaigns as one file.

    \b
    Examples:
      lasthop view results/lte-handover-1
      lasthop view results/cubic-1 results/bbr3-1
      lasthop view results/bufferbloat
    """
    with _viewer(folders, port) as viewer:
        if as_json:
            _output.json_object({"address": viewer.address})
        else:
            _output.line(f"View: {viewer.address}")
            _output.line("Ctrl-C ends it.")
        if not (no_browser or as_json):
            webbrowser.open(viewer.address)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return
