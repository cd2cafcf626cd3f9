"""SQL over the results of a campaign. It reads, and can do nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from lasthop._errors import mistake
from lasthop.campaign.results import ABOUT, FAILURES, TABLE, TABLES, CampaignResults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: No file, network or extension is within reach of a query.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


#: Rows that are in memory at a time.
_BATCH = 50_000


def query(sql: str, tables: Mapping[str, Any]) -> pa.Table:
    """The answer to one SQL query, as a whole; arguments and errors are those of `asked`."""
    with asked(sql, tables) as answer:
        return pa.Table.from_batches(answer, answer.schema)


@dataclass(frozen=True)
class Answer:
    """The answer to a query: its columns, and its rows batch by batch."""

    schema: pa.Schema
    _reader: pa.RecordBatchReader
    _remedy: str

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The batches, once.

        Raises:
            LasthopError: the query fails.
        """
        while True:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return
            except (OSError, pa.ArrowException) as error:  # DuckDB's errors come through Arrow
                raise mistake(f"the query fails: {_told(error)}", self._remedy) from None
            yield batch


@contextmanager
def asked(sql: str, tables: Mapping[str, Any]) -> Iterator[Answer]:
    """The answer to one SQL query, batch by batch, for the block.

    The dialect is DuckDB's, which is close to PostgreSQL's. Tables are read where they are, without a copy; of a data
    set only the columns that the query names. Memory is that of the query itself, as in a sort or a join, and of a
    batch of rows.

    Args:
        sql: one SELECT (also WITH, FROM, DESCRIBE, EXPLAIN).
        tables: Arrow tables or data sets by the names under which the query has them.

    Raises:
        LasthopError: DuckDB is not installed, the text is not one query, or the query fails.
    """
    try:
        import duckdb
    except ImportError:
        raise mistake("SQL needs DuckDB, which is not installed", "pip install 'lasthop[sql]'") from None
    remedy = "; ".join(f"table '{name}' has {_columns(table)}" for name, table in tables.items())
    with duckdb.connect(":memory:", config=_CLOSED) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        # Python variables are no tables, and the query cannot change that.
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_progress_bar = false")  # it would go to stdout, among the rows
        connection.execute("SET lock_configuration = true")
        try:
            found = connection.extract_statements(sql)
        except duckdb.Error as error:
            raise mistake(f"the query is no SQL: {_told(error)}", remedy) from None
        reads = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(found) != 1 or found[0].type not in reads:
            raise mistake("the query is not one SELECT", "results are only read: write one SELECT ... FROM results")
        try:
            relation = connection.sql(sql)
            # DuckDB below 1.4 has the older name alone, later ones warn of it.
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
            reader = read(_BATCH)
        except duckdb.Error as error:
            raise mistake(f"the query fails: {_told(error)}", remedy) from None
        yield Answer(reader.schema, reader, remedy)


def tables_of(folder: Path) -> dict[str, Any]:
    """The tables of the folder of a campaign as data sets: `results`, `failures`, and those that are kept.

    Nothing is read but their schemas.

    Raises:
        LasthopError: there is no such folder, or it is not whole.
    """
    if not (folder / ABOUT).is_file():
        CampaignResults.load(folder)  # says what is wrong
    names = {"results": TABLE, "failures": FAILURES}
    kept = {path.stem: f"{TABLES}/{path.name}" for path in sorted((folder / TABLES).glob("*.parquet"))}
    try:
        return {name: ds.dataset(folder / file) for name, file in {**kept, **names}.items()}
    except (OSError, pa.ArrowException) as error:
        raise mistake(
            f"cannot read the results in '{folder}': {error}",
            "run the campaign again: it finds its runs in the store and writes the folder anew",
        ) from error


def _told(error: Exception) -> str:
    """DuckDB's message on lines of their own, its mark below the query kept."""
    return "\n".join("  " * (i > 0) + line for i, line in enumerate(str(error).strip().splitlines()))


def _columns(table: Any) -> str:
    names = list(table.schema.names)
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
