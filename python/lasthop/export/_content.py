"""The content that a format returns for writing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lasthop._errors import mistake

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop._results import Results


@dataclass(frozen=True)
class Content:
    """The files of an export and the notes on them."""

    #: First line of the README.
    title: str
    #: What yields the bytes of each file; called once, while the folder is written.
    files: dict[str, Callable[[], Iterable[bytes]]]
    #: Sentences about what is estimated, left out, or not written.
    notes: list[str]
    #: Further entries of `export.json`.
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """The part of a run that an export is about."""

    #: Only this flow; None: all.
    flow: str | None = None
    #: Only rows from this moment on and before that one, in seconds of virtual time.
    from_s: float = 0.0
    to_s: float = math.inf

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self == Selection()

    def takes(self, flow: str) -> bool:
        """Whether a flow belongs to it."""
        return self.flow is None or self.flow == flow

    def of(self, table: pa.Table) -> pa.Table:
        """The rows of a table that belong to it, as far as the table has a flow or a time."""
        if self.flow is not None and "flow" in table.column_names:
            import pyarrow.compute as pc

            table = table.filter(pc.equal(table["flow"], self.flow))
        return self.between(table) if "time_s" in table.column_names else table

    def between(self, table: pa.Table) -> pa.Table:
        """The rows of a table with a column `time_s` that belong to its interval."""
        if self.from_s <= 0 and math.isinf(self.to_s):
            return table
        import pyarrow.compute as pc

        time = table["time_s"]
        return table.filter(pc.and_(pc.greater_equal(time, self.from_s), pc.less(time, self.to_s)))


def needed(results: Results, name: str, columns: Sequence[str]) -> pa.Table:
    """These columns of a table, in this order.

    Raises:
        LasthopError: the run has no such table, or it lacks one of the columns.
    """
    table = results.table(name, columns)
    if missing := [column for column in columns if column not in table.column_names]:
        raise mistake(
            f"the table `{name}` lacks columns that the export needs: {', '.join(missing)}",
            "another version of Lasthop wrote it, or another program: run the scenario again",
        )
    return table.select(list(columns))
