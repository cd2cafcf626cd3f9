"""The tables of one run as numpy columns, each made once; rows are chosen by masks."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lasthop._registry import on_request
from lasthop._results import Results
from lasthop.campaign.metrics._catalogue import TableFacts, table_of

Floats: TypeAlias = npt.NDArray[np.float64]
"""A value for each row; NaN where a row has none. Conditions are 1 (true), 0 (false) and NaN."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]

#: Names that a reason lists.
_MOST_NAMES = 8


class Absent(Exception):  # noqa: N818 -- an answer
    """The run has no value; the text says why."""


class Tables:
    """What metrics read of a run."""

    def __init__(self, run: Results) -> None:
        self._run = run
        self._names = run.table_names
        self._columns: dict[tuple[str, str], pa.ChunkedArray | None] = {}
        #: Tables that are read as a whole.
        self._whole: dict[str, pa.Table] = {}
        self._numbers: dict[tuple[str, str], Floats] = {}
        self._end: float | None = None
        self._texts: dict[tuple[str, str], tuple[Indices, list[str | None]]] = {}

    def length(self, table: str) -> int:
        """The number of its rows."""
        self._require(table)
        columns = (self._find(table, name) for name in table_of(table).columns)
        return next((len(column) for column in columns if column is not None), 0)

    def numbers(self, table: str, column: str) -> Floats:
        """A column of numbers, or of true (1) and false (0)."""
        found = self._numbers.get((table, column))
        if found is None:
            try:
                found = self._column(table, column).cast(pa.float64(), safe=False).to_numpy()
            except pa.ArrowException:
                raise Absent(f"{table}.{column} of this run does not hold numbers") from None
            self._numbers[table, column] = found
        return found

    def texts(self, table: str, column: str) -> tuple[Indices, list[str | None]]:
        """A column of texts: for each row the index of its text, and the texts.

        The index is -1 where a row has none.
        """
        found = self._texts.get((table, column))
        if found is None:
            data = self._column(table, column)
            if not pa.types.is_dictionary(data.type):
                data = data.dictionary_encode()
            if data.num_chunks == 0:
                found = (np.zeros(0, np.intp), [])
            else:
                part = data.chunk(0) if data.num_chunks == 1 else data.unify_dictionaries().combine_chunks()
                indices = part.indices.fill_null(-1) if part.null_count else part.indices
                found = (indices.to_numpy(zero_copy_only=False).astype(np.intp), part.dictionary.to_pylist())
            self._texts[table, column] = found
        return found

    def matching(self, table: str, column: str, pattern: str) -> Floats:
        """Where a column of texts has this text, in which `*` stands for any part."""
        indices, texts = self.texts(table, column)
        wanted = _matcher(pattern)
        # One place more than there are texts: index -1 finds it.
        hits = np.array([*(float(text is not None and wanted(text)) for text in texts), np.nan])
        if column == "flow" and "*" not in pattern:
            self._require_flow(pattern)
        return hits[indices]

    def present(self, table: str, column: str) -> str:
        """The texts of a column, for people."""
        indices, texts = self.texts(table, column)
        names = [str(texts[i]) for i in np.unique(indices[indices >= 0])]
        return _listed(names) if names else "none"

    def near(self, table: str, column: str, word: str) -> str:
        """`; did you mean 'x'?`, of the texts that the column has, or nothing."""
        names = [text for text in self.texts(table, column)[1] if text is not None]
        # `core` is near to `core.forward`, `ftp` to `flow/ftp`.
        near = [n for n in names if word in re.split(r"[./]", n)] or difflib.get_close_matches(word, names, 1)
        return f"; did you mean '{near[0]}'?" if near else ""

    def end(self) -> float | None:
        """The end of the run [s]; None: it has no flow that says."""
        if self._end is None:
            self._end = math.nan
            if "flows" in self._names and self._find("flows", "end_s") is not None:
                self._end = float(np.fmax.reduce(self.numbers("flows", "end_s"), initial=math.nan))
        return None if math.isnan(self._end) else self._end

    def series(self, facts: TableFacts) -> tuple[Indices, Indices]:
        """Of a table of samples: the order of its rows, and the series of each of these rows.

        The order is by series and time.
        """
        number = np.zeros(self.length(facts.name), np.intp)
        for column in facts.identity or ():
            indices, texts = self.texts(facts.name, column)
            number = number * (len(texts) + 1) + indices + 1
        order = np.lexsort((self.numbers(facts.name, "time_s"), number))
        return order, number[order]

    def _require(self, name: str) -> None:
        if name not in self._names:
            remedy = f"; `output.{name} = true` makes a run record it" if name in on_request() else ""
            raise Absent(f"this run has no table '{name}', it has: {', '.join(self._names)}{remedy}")

    def _find(self, table: str, column: str) -> pa.ChunkedArray | None:
        """A column by itself.

        A table of a run in memory has many, and each takes time to be made.
        """
        if (table, column) not in self._columns:
            if self._run.reads_columns:
                found = self._run.table(table, [column])
            else:
                if table not in self._whole:
                    self._whole[table] = self._run.table(table)
                found = self._whole[table]
            self._columns[table, column] = found.column(column) if column in found.column_names else None
        return self._columns[table, column]

    def _column(self, table: str, column: str) -> pa.ChunkedArray:
        self._require(table)
        found = self._find(table, column)
        if found is None:
            raise Absent(f"the table '{table}' of this run has no column '{column}': another version wrote it")
        return found

    def _require_flow(self, name: str) -> None:
        """A flow without drops has no row among the drops; a name that no flow has is a mistake."""
        names = [text for text in self.texts("flows", "flow")[1] if text is not None]
        if name not in names:
            raise Absent(f"this run has no flow '{name}', it has: {_listed(names)}{self.near('flows', 'flow', name)}")


def _matcher(pattern: str) -> Callable[[str], bool]:
    if "*" not in pattern:
        return pattern.__eq__
    regular = re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))), re.DOTALL)
    return lambda text: regular.fullmatch(text) is not None


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
