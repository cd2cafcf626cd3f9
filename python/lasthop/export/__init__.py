"""Results in the formats of other tools.

These are CSV, qlog, Perfetto, ns-3's FlowMonitor XML and LTE text files, and lines like those of
`ss -i`.

Each export is a folder that appears whole or not at all. Its `export.json` says what it was made
from, what is estimated and what is left out; `README.txt` says the same in words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lasthop._errors import mistake
from lasthop._files import Earlier, whole_folder
from lasthop._registry import run_tables
from lasthop.export._content import Content, Selection
from lasthop.export._csv import csv_content, plain
from lasthop.export._flowmonitor import flowmonitor_content
from lasthop.export._ns3 import FILES as NS3_FILES
from lasthop.export._ns3 import ns3_content
from lasthop.export._perfetto import FILE as PERFETTO_FILE
from lasthop.export._perfetto import perfetto_content
from lasthop.export._qlog import qlog_content, qvis_content, sqlog_content
from lasthop.export._ss import Socket, sockets_at

if TYPE_CHECKING:
    from os import PathLike

    from lasthop._results import Results

__all__ = ["FORMATS", "Exported", "Socket", "export_run", "plain", "sockets_at"]

#: Version of `export.json`.
FORMAT = 1
ABOUT = "export.json"
README = "README.txt"


def _whole(format: str, content: Callable[[Results], Content]) -> Callable[[Results, Selection], Content]:
    """The maker of the content of a format that has no choice of a part of a run."""

    def made(results: Results, selection: Selection) -> Content:
        if not selection.everything:
            raise mistake(
                f"the format '{format}' is of a whole run: it takes neither a flow nor an interval",
                "leave out --flow, --from and --to",
            )
        return content(results)

    return made


#: What makes the content of each format.
FORMATS: dict[str, Callable[[Results, Selection], Content]] = {
    "csv": csv_content,
    "flowmonitor": _whole("flowmonitor", flowmonitor_content),
    "ns3": _whole("ns3", ns3_content),
    "perfetto": perfetto_content,
    "qlog": qlog_content,
    "qvis": qvis_content,
    "sqlog": sqlog_content,
}


@dataclass(frozen=True)
class Exported:
    """What an export has written."""

    #: The folder.
    folder: Path
    #: The files in it, without `export.json` and `README.txt`.
    files: tuple[str, ...]
    #: Sentences about what is estimated, left out, or not written.
    notes: tuple[str, ...]


def export_run(
    results: Results,
    format: str,
    out: str | PathLike[str],
    *,
    flow: str | None = None,
    from_s: float = 0.0,
    to_s: float = math.inf,
) -> Exported:
    """Writes the results of a run in another tool's format.

    Args:
        results: the run, in memory or in a folder.
        format: a key of `FORMATS`: "csv", "flowmonitor", "ns3", "perfetto", "qlog", "qvis" or
            "sqlog".
        out: the folder to write; absent, empty, or an earlier export of the same format, which is
            replaced.
        flow: only this flow; None: all. "flowmonitor" and "ns3" take neither a flow nor an
            interval.
        from_s: only what happened at this moment or later, in seconds of virtual time.
        to_s: only what happened before this moment, in seconds of virtual time; more than `from_s`.

    Raises:
        LasthopError: the format is unknown, the run lacks the tables that it needs, or the folder
            holds something else.
    """
    if format not in FORMATS:
        raise mistake(f"there is no export format '{format}'", f"the formats are: {', '.join(FORMATS)}")
    if not from_s < to_s:
        raise mistake(f"the interval from {from_s:g} s to {to_s:g} s is empty", "let --to be later than --from")
    content = FORMATS[format](results, Selection(flow, from_s, to_s))
    manifest = results.manifest
    about = {
        "export": format,
        "export_format": FORMAT,
        "run": {k: manifest.get(k) for k in ("name", "seed", "lasthop", "scenario_hash")},
        "files": sorted(content.files),
        "notes": list(content.notes),
        **content.more,
    }
    folder = Path(out)
    names = _names(format, folder)
    with whole_folder(folder, replaces=Earlier(ABOUT, ("export", "export_format"), names)) as partial:
        for name, data in content.files.items():
            with (partial / name).open("wb") as file:
                for part in data():
                    file.write(part)
        (partial / README).write_text(_readme(format, content), encoding="utf-8")
        text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False)
        (partial / ABOUT).write_text(text + "\n", encoding="utf-8")
    return Exported(folder, tuple(sorted(content.files)), tuple(content.notes))


def _names(format: str, folder: Path) -> tuple[str, ...]:
    """The files, besides `export.json`, of an earlier export that may be replaced."""
    files = {
        "csv": tuple(f"{table}.csv" for table in run_tables()),
        "flowmonitor": ("flowmon.xml",),
        "ns3": NS3_FILES,
        "perfetto": (PERFETTO_FILE,),
        "qlog": ("run.qlog",),
        "qvis": ("run.qlog",),
        "sqlog": _listed(folder, ".sqlog"),
    }
    return (README, *files[format])


def _listed(folder: Path, ending: str) -> tuple[str, ...]:
    """The files with this ending that the `export.json` of an earlier export lists.

    Their names are those of flows.
    """
    try:
        files = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["files"]
        return tuple(name for name in files if name.endswith(ending))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()


def _readme(format: str, content: Content) -> str:
    lines = [content.title, "", *(f"- {note}" for note in content.notes), ""]
    lines.append(f"Written by `lasthop export --format {format}`; {ABOUT} holds the same for programs.")
    return "\n".join(lines) + "\n"
