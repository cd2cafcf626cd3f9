"""The folder that a study writes: report, claims, figures, data, configuration.

It is written under another name, then renamed.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lasthop._files import Earlier, whole_folder
from lasthop.harness.echo import config_echo
from lasthop.harness.errors import StudyError
from lasthop.harness.recorded import RUNS, recorded
from lasthop.harness.report import study_report

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure as MplFigure

    from lasthop.harness.definition import Study
    from lasthop.harness.result import Evidence, Figure, TableView

#: Columns up to this length go to CSV as well as Parquet: they can be read by eye.
CSV_ROWS = 20_000
#: The file by which the result of a study is known.
CLAIMS = "claims.json"
#: The result of a study.
_EARLIER = Earlier(
    CLAIMS, ("study", "parameter_sets"), ("figures", "data", "scenarios", "config.json", "report.html", RUNS)
)


def write_folder(study: Study, evidence: Evidence, folder: Path) -> None:
    """Writes everything under another name and renames it to `folder`, so `folder` is complete."""
    check_target(study, folder)
    with whole_folder(folder, replaces=_EARLIER) as partial:
        for sub in ("figures", "data", "scenarios"):
            (partial / sub).mkdir(parents=True)
        figures, tables = _drawn(study, evidence)
        for figure in figures:
            _save_figure(figure.figure, partial / "figures" / figure.name)
            for name, columns in figure.data.items():
                _save_columns(columns, partial / "data" / name)
        for table in tables:
            _save_csv(table.headers, table.rows, partial / "data" / f"{table.name}.csv")
            if table.document is not None:
                _save_json(table.document, partial / "data" / f"{table.name}.json")
        for name, scenario in evidence.scenarios.items():
            (partial / "scenarios" / f"{name}.toml").write_text(scenario.to_toml(), encoding="utf-8")
        config = config_echo(study, evidence)
        _save_json(config, partial / "config.json")
        _save_json(_claims(study, evidence), partial / CLAIMS)
        report = study_report(study, evidence, figures, tables, config)
        (partial / "report.html").write_text(report, encoding="utf-8")
        if (runs := recorded(study, evidence)) is not None:
            (partial / RUNS).write_bytes(runs)


def report_of(study: Study, evidence: Evidence) -> str:
    """The report alone, as one HTML document."""
    return study_report(study, evidence, *_drawn(study, evidence), config_echo(study, evidence))


def _drawn(study: Study, evidence: Evidence) -> tuple[Sequence[Figure], Sequence[TableView]]:
    return list(study.function("figures")(evidence)), list(study.function("tables")(evidence))


def check_target(study: Study, folder: Path) -> None:
    """Only an earlier result of the same study, or an empty folder, may be replaced."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        return
    if not folder.is_dir():
        raise StudyError(f"{folder} exists and is no folder")
    if not any(folder.iterdir()):
        return
    try:
        earlier = json.loads((folder / CLAIMS).read_text(encoding="utf-8")).get("study")
    except (OSError, ValueError, AttributeError):
        earlier = None
    if earlier != study.name:
        raise StudyError(f"{folder} holds something else than a result of {study.name}; name another folder")
    if foreign := sorted({p.name for p in folder.iterdir()} - {CLAIMS, *_EARLIER.names}):
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        raise StudyError(f"{folder} holds files that are not of the result: {shown}; move them, or name another folder")


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Holds `<folder>.lock` while a study works for `folder` and the runs that are kept beside it.

    The operating system holds the lock: it ends with its process, in whatever way that ends, and a
    lock file that is left has no effect. On a file system without locks there is no lock.

    Raises:
        StudyError: Another study holds it; the message names its process.
    """
    path = folder.with_name(folder.name + ".lock")
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StudyError(f"cannot create {path}: {error.strerror}") from error
        mine = _try_lock(lock)
        try:
            if not mine:
                holder = os.read(lock, 1000).decode(errors="replace").strip() or "no process is named"
                message = f"{folder} is being written by another study ({holder})"
                raise StudyError(f"{message}: wait until it has ended, or name another folder")
            # Its holder may have removed the file between `open` and here: then the lock excludes
            # no other process.
            if _same_file(lock, path):
                os.ftruncate(lock, 0)
                os.write(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                yield
                return
        finally:
            if mine and sys.platform != "win32" and _same_file(lock, path):  # Windows removes no open file
                path.unlink(missing_ok=True)
            os.close(lock)


def _try_lock(file: int) -> bool:
    """Whether no other process holds the file; True as well where a file system has no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(file, 1 << 20, os.SEEK_SET)  # beyond what is read
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def _same_file(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _claims(study: Study, evidence: Evidence) -> dict[str, Any]:
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "form": "quick" if study.quick else "full",
        "parameter_set": evidence.main_set,
        "parameter_sets": {
            name: {
                "calibrated": [v.name for v in study.parameter_set(name).calibrated],
                "claims": [r.full() for r in results],
            }
            for name, results in evidence.claims.items()
        },
    }


def _save_figure(figure: MplFigure, path: Path) -> None:
    """Vector files without dates or random ids: the same figure gives the same bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "lasthop", "pdf.fonttype": 42}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})


def _save_columns(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: pa.array(list(values)) for name, values in columns.items()})
    pq.write_table(table, path.with_suffix(".parquet"))
    if table.num_rows <= CSV_ROWS:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        _save_csv(table.column_names, rows, path.with_suffix(".csv"))


def _save_csv(headers: Sequence[str], rows: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows(rows)


def _save_json(content: Any, path: Path) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
