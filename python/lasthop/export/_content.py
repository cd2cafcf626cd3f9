"""What a format hands over to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lasthop._errors import mistake

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop._results import Results


@dataclass(frozen=True)
class Content:
    """The files of an export and what is to be said of them."""

    #: First line of the README.
    title: str
    #: What yields the bytes of each file; called once, while the folder is written.
    files: dict[str, Callable[[], Iterable[bytes]]]
    #: Sentences about what is estimated, left out, or not written.
    notes: list[str]
    #: Further entries of `export.json`.
    more: dict[str, Any] = field(default_factory=dict)


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
