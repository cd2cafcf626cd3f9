"""SQL over the results of a campaign. Queries can read, and can do nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lasthop._errors import mistake
from lasthop.campaign.results import ABOUT, FAILURES, TABLE, TABLES, CampaignResults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: No extension is within reach of a query.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
#: Nor are files but those of its tables, network, Python variables (which are no tables) or these
#: settings; progress would go to stdout, among the rows.
_CLOSE = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET enable_progress_bar = false",
    "SET lock_configuration = true",
)


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
                raise mistake(f"the query fails: {_message_of(error)}", self._remedy) from None
            yield batch


@contextmanager
def asked(sql: str, tables: Mapping[str, Any]) -> Iterator[Answer]:
    """The answer to one SQL query, batch by batch, for the block.

    The dialect is DuckDB's, which is close to PostgreSQL's. Arrow tables are read without a copy;
    from a Parquet file only the columns are read that the query names. The memory needed is that of
    the query itself, as in a sort or a join, and of a batch of rows.

    Args:
        sql: one SELECT (also WITH, FROM, DESCRIBE, EXPLAIN).
        tables: Arrow tables, or Parquet files, by the names under which the query has them.

    Raises:
        LasthopError: DuckDB is not installed, the text is not one query, or the query fails.
    """
    try:
        import duckdb
    except ImportError:
        raise mistake("SQL needs DuckDB, which is not installed", "pip install 'lasthop[sql]'") from None
    remedy = "; ".join(f"table '{name}' has {_columns(table)}" for name, table in tables.items())
    files = {name: str(table.resolve()) for name, table in tables.items() if isinstance(table, Path)}
    with duckdb.connect(":memory:", config=_CLOSED) as connection:
        connection.execute(f"SET allowed_paths = [{', '.join(map(_text, files.values()))}]")
        for name, table in tables.items():
            if name not in files:
                connection.register(name, table)
        try:
            for name, file in files.items():
                connection.execute(f"CREATE VIEW {_name(name)} AS SELECT * FROM read_parquet({_text(file)})")
        except duckdb.Error as error:
            raise mistake(f"cannot read the tables: {_message_of(error)}", "run the campaign again") from None
        for setting in _CLOSE:
            connection.execute(setting)
        try:
            found = connection.extract_statements(sql)
        except duckdb.Error as error:
            raise mistake(f"the query is no SQL: {_message_of(error)}", remedy) from None
        reads = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(found) != 1 or found[0].type not in reads:
            raise mistake("the query is not one SELECT", "results are only read: write one SELECT ... FROM results")
        try:
            relation = connection.sql(sql)
            # DuckDB below 1.4 has the older name alone, later ones warn of it.
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
            reader = read(_BATCH)
        except duckdb.Error as error:
            raise mistake(f"the query fails: {_message_of(error)}", remedy) from None
        yield Answer(reader.schema, reader, remedy)


def tables_of(folder: Path) -> dict[str, Path]:
    """The files of the tables of a campaign's folder: `results`, `failures` and kept tables.

    Raises:
        LasthopError: there is no such folder, or it is incomplete.
    """
    files = {"results": folder / TABLE, "failures": folder / FAILURES}
    if not all(path.is_file() for path in (folder / ABOUT, *files.values())):
        CampaignResults.load(folder)  # says what is wrong
    kept = {path.stem: path for path in sorted((folder / TABLES).glob("*.parquet")) if _names(path)}
    return {**kept, **files}


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _message_of(error: Exception) -> str:
    """DuckDB's message on lines of their own, its mark below the query kept."""
    return "\n".join("  " * (i > 0) + line for i, line in enumerate(str(error).strip().splitlines()))


def _columns(table: Any) -> str:
    names = _names(table)
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _names(table: Any) -> list[str]:
    """The columns of an Arrow table or a Parquet file."""
    try:
        schema = pq.read_schema(table) if isinstance(table, Path) else table.schema
    except (OSError, pa.ArrowException) as error:
        raise mistake(
            f"cannot read '{table}': {error}",
            "run the campaign again: it finds its runs in the store and writes the folder anew",
        ) from error
    return list(schema.names)
