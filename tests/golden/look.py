"""Where two result folders of one run part.

The first row of each table that differs, and in which columns.
"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def first_differences(before: Path, now: Path) -> list[str]:
    """For each table a line that says where it differs first; nothing for equal ones."""
    files = sorted({p.name for folder in (before, now) for p in folder.glob("*.parquet")})
    return [line for name in files if (line := _of_table(before / name, now / name)) is not None]


def _of_table(before: Path, now: Path) -> str | None:
    table = before.stem
    missing = [p for p in (before, now) if not p.exists()]
    if missing:
        return f"{table}: {missing[0]} does not exist"
    old, new = pq.read_table(before), pq.read_table(now)
    if old.column_names != new.column_names:
        left, right = (sorted(set(a.column_names) - set(b.column_names)) for a, b in ((old, new), (new, old)))
        return f"{table}: columns differ; only before: {left}, only now: {right}"
    for row, (a, b) in enumerate(zip_longest(_rows(old), _rows(new))):
        if a is None or b is None:
            return f"{table}: the same up to row {row}, where one ends; {old.num_rows} rows before, {new.num_rows} now"
        # As text: NaN equals itself, and zero differs from minus zero, as in the hash.
        columns = [name for name in a if repr(a[name]) != repr(b[name])]
        if columns:
            what = ", ".join(f"{name} {a[name]!r} -> {b[name]!r}" for name in columns)
            time = f" at {a['time_s']} s" if "time_s" in a else ""
            return f"{table}: row {row}{time}: {what}"
    return None


def _rows(table: Any) -> Any:
    for batch in table.to_batches(max_chunksize=1024):
        yield from batch.to_pylist()
