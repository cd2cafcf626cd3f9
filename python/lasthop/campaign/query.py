"""SQL over the results of a campaign. It reads, and can do nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lasthop._errors import mistake

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

#: No file, network or extension is within reach of a query.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def query(sql: str, tables: Mapping[str, Any]) -> pa.Table:
    """The answer to one SQL query.

    The dialect is DuckDB's, which is close to PostgreSQL's. Tables are read where they are, without a copy.

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
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise mistake(f"the query fails: {_told(error)}", remedy) from None


def _told(error: Exception) -> str:
    """DuckDB's message on lines of their own, its mark below the query kept."""
    return "\n".join("  " * (i > 0) + line for i, line in enumerate(str(error).strip().splitlines()))


def _columns(table: Any) -> str:
    names = list(table.schema.names)
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
