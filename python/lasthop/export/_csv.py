"""Every table of a run as CSV, with the units and descriptions of its columns beside."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pc

from lasthop._errors import mistake
from lasthop.export._content import Content, Selection

if TYPE_CHECKING:
    from lasthop._results import Results

#: So many rows become text at once: a table of packets may be larger than the memory as text.
ROWS_AT_ONCE = 50_000


def csv_content(results: Results, selection: Selection) -> Content:
    """`NAME.csv` for each table; the units go to `export.json`.

    Raises:
        LasthopError: there is no such flow.
    """
    names = results.table_names
    known = results.table("flows", ["flow"])["flow"].to_pylist() if "flows" in names else []
    if selection.flow is not None and selection.flow not in known:
        raise mistake(f"there is no flow '{selection.flow}' in this run", f"its flows are: {', '.join(known[:20])}")
    return Content(
        title="The tables of a run as CSV",
        files={f"{name}.csv": partial(_pieces, results, name, selection) for name in names},
        notes=[
            "The first line of a file names its columns. Units, types and descriptions are in export.json, `tables`.",
            "An empty cell is a missing value. Texts are in double quotes, a quote in them is doubled (RFC 4180).",
            "Numbers are the shortest decimals that give the same 64-bit float when read back.",
            *(
                ["Of tables with a flow or a time only the requested rows are here."]
                if not selection.everything
                else []
            ),
        ],
        more={"tables": {name: _described(selection.of(results.table(name))) for name in names}},
    )


def plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which CSV does not know."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table


def _pieces(results: Results, name: str, selection: Selection) -> Iterator[bytes]:
    table = selection.of(results.table(name))
    for start in range(0, max(table.num_rows, 1), ROWS_AT_ONCE):
        out = io.BytesIO()
        try:
            pc.write_csv(plain(table.slice(start, ROWS_AT_ONCE)), out, pc.WriteOptions(include_header=start == 0))
        except (pa.ArrowException, TypeError) as error:
            raise mistake(
                f"table '{name}' cannot be written as CSV: {error}",
                "CSV holds numbers and texts; read other columns from the Parquet file of the table",
            ) from None
        yield out.getvalue()


def _described(table: pa.Table) -> dict[str, Any]:
    def of(field: pa.Field, key: bytes) -> str:
        value: bytes = (field.metadata or {}).get(key, b"")
        return value.decode(errors="replace")

    def kind(field: pa.Field) -> str:
        return str(field.type.value_type if pa.types.is_dictionary(field.type) else field.type)

    columns = [
        {"name": f.name, "type": kind(f), "unit": of(f, b"unit"), "description": of(f, b"description")}
        for f in table.schema
    ]
    return {"rows": table.num_rows, "columns": columns}
