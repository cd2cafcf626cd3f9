"""The tables of a run as arrays, and clear words where one is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasthop._errors import mistake
from lasthop._registry import run_tables
from lasthop._values import to_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop._results import Results

RECORD = "run the scenario again with `--set output.explain=true`"


def nanoseconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Times of a table in whole nanoseconds.

    A time that was a whole number of nanoseconds before its conversion to seconds is the same
    number again.
    """
    return np.rint(np.asarray(seconds, np.float64) * 1e9).astype(np.int64)


def of_flow(table: pa.Table, flow: str) -> pa.Table:
    """The rows of a flow."""
    return table.filter(pc.equal(table["flow"], flow))


def column(table: pa.Table, name: str, missing: Any = None) -> NDArray[Any]:
    """A column as an array; `missing` stands for what is not there."""
    values = table[name]
    if missing is not None:
        values = pc.fill_null(values, missing)
    array: NDArray[Any] = values.combine_chunks().to_numpy(zero_copy_only=False)
    return array


@dataclass(frozen=True)
class Names:
    """Names of a column by number."""

    names: list[str]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, table: pa.Table, name: str) -> Names:
        """Those of a column of names."""
        values = table[name].combine_chunks()
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return cls(values.dictionary.to_pylist(), values.indices.to_numpy(zero_copy_only=False).astype(np.int64))


def flow_names(results: Results) -> list[str]:
    """The flows of a run, those that sent most packets first.

    Raises:
        LasthopError: the run has no table `flows`.
    """
    rows = _flow_rows(results)
    return sorted(rows, key=lambda name: -int(rows[name].get("tx_packets") or 0))


def _flow_rows(results: Results) -> dict[str, dict[str, Any]]:
    if "flows" not in results.table_names:
        raise mistake("the run has no table `flows`: its folder is not whole", "run the scenario again")
    columns_of(results, "flows", FLOW)
    table = results.table("flows")
    _check_types("flows", table, [name for name in NUMBERS if name in table.column_names])
    return {row["flow"]: row for row in table.to_pylist()}


def flow_row(results: Results, flow: str | None) -> dict[str, Any]:
    """The row of a flow in the table `flows`.

    Raises:
        LasthopError: there is no such flow, or no flow is named and there are several or none.
    """
    rows = _flow_rows(results)
    if flow is None:
        if len(rows) == 1:
            return next(iter(rows.values()))
        if not rows:
            raise mistake("the run has no flows: there is nothing to explain")
        raise mistake(f"the run has {len(rows)} flows: name one", f"`--flow NAME`, one of: {_some(list(rows))}")
    if flow not in rows:
        raise mistake(f"there is no flow '{flow}' in this run", f"its flows are: {_some(list(rows))}")
    return rows[flow]


#: What is read of a row of `flows` without a check whether it is there.
FLOW = ("flow", "src", "dst", "transport")
#: Its numbers that are read where they are there.
NUMBERS = ("start_s", "end_s", "first_tx_s", "last_rx_s", "tx_packets", "rx_bytes", "rtt_min_s", "delay_min_s",
           "throughput_bps", "timeouts")  # fmt: skip


def scenario_of(results: Results) -> dict[str, Any]:
    """The scenario of the manifest; empty where that has none, or none that can be read."""
    try:
        scenario: dict[str, Any] = tomllib.loads(results.manifest.get("scenario", ""))
    except (tomllib.TOMLDecodeError, TypeError, AttributeError):
        return {}
    return {name: value for name, value in scenario.items() if isinstance(value, dict)}


def without_capture(text: str) -> str:
    """A scenario without `[output.capture]`, for a run without a folder that the file could be in.

    A text that cannot be read is returned unchanged: its reader reports the mistake.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    output = tables.get("output")
    if not isinstance(output, dict) or output.pop("capture", None) is None:
        return text
    return "\n".join(f"{name} = {to_toml(table)}" for name, table in tables.items())


@dataclass(frozen=True)
class Happening:
    """A row of the table `events`."""

    at_ns: int
    kind: str
    detail: str | None


def happenings(results: Results, source: str) -> list[Happening]:
    """The events of one source (`flow/ftp`, `ue/car`), in order.

    None where the run has no table of them.
    """
    if "events" not in results.table_names:
        return []
    table = columns_of(results, "events", ("time_s", "source", "kind", "detail"))
    table = table.filter(pc.equal(table["source"], source))
    times = nanoseconds(column(table, "time_s")).tolist()
    rows = zip(times, table["kind"].to_pylist(), table["detail"].to_pylist(), strict=True)
    return [Happening(*row) for row in rows]


def columns_of(results: Results, name: str, wanted: tuple[str, ...]) -> pa.Table:
    """Columns of a table.

    Raises:
        LasthopError: the table or one of them is missing, as in results of an older Lasthop, or one
            has values of another type.
    """
    if name not in results.table_names:
        raise mistake(f"the run has no table `{name}`", RECORD)
    table = results.table(name, wanted)
    absent = [c for c in wanted if c not in table.column_names]
    if absent:
        raise mistake(
            f"the table `{name}` has no column `{absent[0]}`: the results are of another version of Lasthop",
            "run the scenario again with this version",
        )
    _check_types(name, table, wanted)
    return table


def _check_types(name: str, table: pa.Table, columns: Iterable[str]) -> None:
    """Checks that columns of a table have values of the type that `lasthop describe` gives.

    A column without a value has no type. Numbers may have any type of numbers.
    """
    known = {c["name"]: c["type"] for c in run_tables().get(name, {}).get("columns", ())}
    for column in columns:
        wanted = known.get(column, "")
        kind = table.schema.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        fits, what = {
            "string": (pa.types.is_string(kind) or pa.types.is_large_string(kind), "no text"),
            "bool": (pa.types.is_boolean(kind), "neither true nor false"),
            "": (True, ""),
        }.get(wanted, (pa.types.is_floating(kind) or pa.types.is_integer(kind), "no numbers"))
        if not fits and not pa.types.is_null(kind):
            raise mistake(
                f"the column `{column}` of the table `{name}` holds {what}: the results are of another program",
                "run the scenario with this version of Lasthop",
            )


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f", and {len(names) - most} more" if len(names) > most else "")
