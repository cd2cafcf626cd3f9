"""What golden runs leave behind, in short.

Of each table its columns, its number of rows, the hash of its content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lasthop import _core
from tests.golden.runs import HERE, GoldenRun

HASHES = HERE / "hashes.txt"
COLUMNS = HERE / "columns.txt"

#: The summary of a run, beside its tables.
SUMMARY = "(summary)"

#: Digits of a hash that are kept: 64 of its 256 bits tell any two runs apart.
DIGITS = 16

#: Differences of one kind that a message spells out.
SHOWN = 12


@dataclass(frozen=True)
class Content:
    """What is kept of one table of one run."""

    rows: int
    #: The first digits of the hash that `manifest.json` has.
    hash: str


@dataclass
class Record:
    """What is kept of all golden runs."""

    #: By run and table.
    contents: dict[tuple[str, str], Content] = field(default_factory=dict)
    #: By table: a line for each column, with its type and unit.
    columns: dict[str, list[str]] = field(default_factory=dict)

    def add(self, run: str, output: _core.RunOutput) -> None:
        """Takes down a run."""
        for table, entry in json.loads(output.manifest)["tables"].items():
            self.contents[run, table] = Content(entry["rows"], entry["blake3"][:DIGITS])
            if table not in self.columns:
                self.columns[table] = [_column(f) for f in output.table(table).schema]
        summary = hashlib.sha256(output.summary.encode()).hexdigest()
        self.contents[run, SUMMARY] = Content(1, summary[:DIGITS])

    def write(self, hashes: Path = HASHES, columns: Path = COLUMNS) -> None:
        """Writes one line for each run and table, and one for each column of a table; sorted."""
        lines = [f"{run} {table} {c.rows} {c.hash}" for (run, table), c in sorted(self.contents.items())]
        hashes.write_text("\n".join([*_HEAD_OF_HASHES, *lines, ""]), encoding="utf-8")
        lines = [f"{table} {column}" for table, of_table in sorted(self.columns.items()) for column in of_table]
        columns.write_text("\n".join([*_HEAD_OF_COLUMNS, *lines, ""]), encoding="utf-8")

    @classmethod
    def read(cls, hashes: Path = HASHES, columns: Path = COLUMNS) -> Record:
        """Reads what `write` has written."""
        record = cls()
        for line in _lines(hashes):
            run, table, rows, digits = line.split(" ")
            record.contents[run, table] = Content(int(rows), digits)
        for line in _lines(columns):
            table, column = line.split(" ", 1)
            record.columns.setdefault(table, []).append(column)
        return record


def take(runs: Sequence[GoldenRun], jobs: int = 0, progress: Callable[[int], None] = lambda _done: None) -> Record:
    """Makes the runs, `jobs` at a time (0: one for each core).

    Of a run nothing but its record is kept.
    """
    record = Record()
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        # Reading a scenario and hashing are parts of the job: a batch bounds what waits in memory.
        for first in range(0, len(runs), BATCH):
            batch = runs[first : first + BATCH]
            for run, output in zip(batch, pool.map(lambda r: _core.run(r.scenario()), batch), strict=True):
                record.add(run.name, output)
            progress(first + len(batch))
    return record


def differences(before: Record, now: Record) -> list[str]:
    """What differs, a line each.

    Columns first, then what there is no longer, what is new, other values.

    A table whose columns differ has other hashes in every run: only its columns are named.
    """
    found: list[str] = []
    others = {t for t in before.columns.keys() & now.columns.keys() if before.columns[t] != now.columns[t]}
    for table in sorted(others):
        found.append(f"table `{table}`: other columns, so its values cannot be compared")
        found += [f"    before: {c}" for c in before.columns[table] if c not in now.columns[table]]
        found += [f"    now:    {c}" for c in now.columns[table] if c not in before.columns[table]]
        if sorted(before.columns[table]) == sorted(now.columns[table]):
            found.append("    the same columns in another order")
    found += _shown(_only_in(before.contents, now.contents, "is no longer there"))
    found += _shown(_only_in(now.contents, before.contents, "is not in the golden file"))
    values = [
        (run, table)
        for (run, table), content in sorted(before.contents.items())
        if now.contents.get((run, table), content) != content and table not in others
    ]
    found += _shown([_values(key, before.contents, now.contents) for key in values])
    if values:
        tables = Counter(table for _, table in values)
        runs = len({run for run, _ in values})
        found.append(f"in {runs} runs: " + ", ".join(f"{n} times `{table}`" for table, n in tables.most_common()))
    return found


def _only_in(one: Mapping[tuple[str, str], Content], other: Mapping[tuple[str, str], Content], what: str) -> list[str]:
    """Whole runs once, single tables of runs that both have by name."""
    runs = {run for run, _ in other}
    lines = [
        f"{run}: `{table}` {what}" if run in runs else f"{run} {what}" for run, table in sorted(one.keys() - other)
    ]
    return list(dict.fromkeys(lines))


def _values(
    key: tuple[str, str], before: Mapping[tuple[str, str], Content], now: Mapping[tuple[str, str], Content]
) -> str:
    (run, table), rows, other = key, before[key].rows, now[key].rows
    what = f"{rows} rows, other values" if rows == other else f"{rows} rows before, {other} now"
    return f"{run}: `{table}`: {'other values' if table == SUMMARY else what}"


def _shown(lines: list[str]) -> list[str]:
    left = len(lines) - SHOWN
    return [*lines[:SHOWN], f"... and {left} more of this kind"] if left > 0 else lines


def _column(column: object) -> str:
    """Name, type, nullability and unit of a column.

    That is what the hash of a table's content covers beside its values.
    """
    name, kind, nullable = column.name, str(column.type), column.nullable  # type: ignore[attr-defined]
    unit = column.metadata[b"unit"].decode()  # type: ignore[attr-defined]
    kind = "name" if kind.startswith("dictionary") else kind
    return f"{name} {kind}{' or null' if nullable else ''} [{unit}]"


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


#: Runs that are begun before the record of the first of them is taken.
BATCH = 32

_HEAD_OF_HASHES = (
    "# Every table of every golden run: run, table, rows, first digits of the hash of its content in manifest.json.",
    "# `make golden` renews this file, `make golden-check` compares; the commit that renews it says why results moved.",
)
_HEAD_OF_COLUMNS = (
    "# Every column of every table of the golden runs: table, column, type, unit. Renewed like hashes.txt.",
)
