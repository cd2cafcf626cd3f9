"""`lasthop report`."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop import Results
from lasthop._errors import mistake
from lasthop._stop import leaving, making
from lasthop.cli import _output


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="[DIR/report.html]")
@_output.json_option
def report(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Make an HTML report of runs, a campaign or a study.

    DIR is the folder of a finished run (the page of `lasthop view`: flows, linked charts, map,
    packets, tables; of several runs: the same axes, and the differences in a table), of a campaign
    (what was swept, figures, points with intervals, failures, cost, how to repeat it) or of a study
    (its claims are judged again, without running anything; without --out its figures, tables and
    verdicts are written again, too). The report is one file that needs nothing else and can be
    mailed.

    \b
    Examples:
      lasthop report results/umts-download-1
      lasthop report results/bufferbloat
      lasthop report results/umts-vegas-quick
      lasthop report results/cubic-1 results/bbr3-1 --out compared.html
    """
    folder = folders[0]
    if len(folders) > 1 and out is None:
        raise click.UsageError("a report of several runs belongs to none of their folders: name its file with --out")
    target = out or folder / "report.html"
    with leaving(making("the report is", target)):
        if len(folders) == 1 and (folder / "claims.json").is_file():
            _study(folder, out)
        elif len(folders) > 1:
            _output.files({target: _runs(folders)})
        else:
            html = _campaign(folder) if (folder / "campaign.json").is_file() else _run(folder)
            _output.files({target: html})
        if as_json:
            _output.json_object({"report": str(target.resolve()), "bytes": target.stat().st_size})
        else:
            _output.line(f"Report: {target.resolve()}")


def _run(folder: Path) -> str:
    from lasthop.report import run_report

    return run_report(Results.load(folder), _output.note)


def _runs(folders: tuple[Path, ...]) -> str:
    from lasthop.cli._view import labelled
    from lasthop.report import runs_report

    return runs_report(labelled(folders), _output.note)


def _campaign(folder: Path) -> str:
    from lasthop.cli._results import loaded
    from lasthop.report.campaign import campaign_report

    return campaign_report(loaded(folder))


def _study(folder: Path, out: Path | None) -> None:
    from lasthop.harness import StudyError, remake_study
    from lasthop.harness.folder import claimed, report_of, write_folder

    try:
        study, evidence = remake_study(folder)
        if out is not None:
            _output.files({out: report_of(study, evidence)})
            return
        whole = folder.resolve()
        with claimed(whole):
            write_folder(study, evidence, whole)
    except StudyError as err:
        raise mistake(str(err)) from err
