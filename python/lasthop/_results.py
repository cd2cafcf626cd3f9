"""The results of a run: tables, summary, manifest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lasthop import _core
from lasthop._errors import mistake
from lasthop._registry import on_request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pyarrow as pa

    from lasthop.plot import Plots


#: The format of results that this version writes and reads: the number `format` in `manifest.json`.
#: It counts up when a file, table or column changes its name or meaning. What is added leaves it as
#: it is.
FORMAT = 1


class Source(Protocol):
    """Where results come from: memory (`_core.RunOutput`) or a folder."""

    @property
    def manifest(self) -> str: ...
    @property
    def summary(self) -> str: ...
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> pa.Table: ...


class Results:
    """The results of a run, in memory or in a folder.

    Tables are Arrow tables. `r.flows.to_pandas()`, `polars.from_arrow(r.flows)` and DuckDB read
    them without copies. Each column carries its unit and description in its metadata:
    `r.flows.schema.field("goodput_bps")`.
    """

    def __init__(self, source: Source, path: Path | None = None) -> None:
        self._source = source
        self._path = path

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Results:
        """Opens the folder of a finished run. Tables are read at their first use.

        Raises:
            LasthopError: the folder is not that of a finished run, it is damaged, or another
                version of Lasthop wrote it in a format that this version cannot read.
        """
        path = Path(folder)
        results = cls(Folder(path), path)
        _check_format(results.manifest, path)
        return results

    @property
    def path(self) -> Path | None:
        """The folder of the results; None when they are only in memory."""
        return self._path

    def _place(self, file: str) -> str:
        """A file of the results, for messages."""
        return f"'{self._path / file}'" if self._path is not None else f"the text of {file}"

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Version, effective scenario, seed and hashes of the run."""
        return _json_object(self._source.manifest, self._place("manifest.json"))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A few numbers that summarise the run."""
        return _json_object(self._source.summary, self._place("summary.json"))

    @property
    def table_names(self) -> list[str]:
        """The tables that this run recorded."""
        return self._source.table_names()

    @property
    def reads_columns(self) -> bool:
        """Whether reading some columns of a table takes less time than reading the whole table."""
        return isinstance(self._source, (_core.RunOutput, Folder))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table by name.

        Args:
            name: the table.
            columns: the result has only those of these columns that the table has, in the table's
                order; None: all columns. A table of a run in memory is made column by column, so
                fewer columns take less time.

        Raises:
            LasthopError: this run did not record it.
        """
        if name not in self.table_names:
            raise mistake(
                f"this run has no table '{name}'; it recorded: {', '.join(self.table_names)}",
                f"`--set output.{name}=true` makes a run record it"
                if name in on_request()
                else f"`lasthop describe tables {name}` says which runs have it",
            )
        if columns is None:
            return self._source.table(name)
        if isinstance(self._source, (_core.RunOutput, Folder)):  # `reads_columns`
            return self._source.table(name, columns)
        table = self._source.table(name)
        return table.select([c for c in table.column_names if c in columns])

    def shape(self, name: str) -> tuple[pa.Schema, int]:
        """Schema and number of rows of a table.

        For results in a folder the table itself is not read.

        Raises:
            LasthopError: this run did not record it, or it is damaged.
        """
        if isinstance(self._source, Folder) and name in self.table_names:
            return self._source.shape(name)
        table = self.table(name)
        return table.schema, table.num_rows

    # The tables of the registry as properties, made by `make properties`.

    @cached_property
    def flows(self) -> pa.Table:
        """Flows: the flow monitor's statistics of the data's direction.

        And the sender's own counters.
        """
        return self.table("flows")

    @cached_property
    def quality(self) -> pa.Table:
        """Quality of VoIP and game flows: loss, lateness, and the opinion score of calls."""
        return self.table("quality")

    @cached_property
    def applications(self) -> pa.Table:
        """Completion times of requests, web pages, files and frames; start-up.

        Stalls and bitrate of video.
        """
        return self.table("applications")

    @cached_property
    def tcp(self) -> pa.Table:
        """State of TCP senders under the names of Linux tcp_info, sampled as `output.tcp` says."""
        return self.table("tcp")

    @cached_property
    def cc(self) -> pa.Table:
        """Variables of TCP senders and of their congestion controls by name.

        Written where `output.cc` is not "off".
        """
        return self.table("cc")

    @cached_property
    def packets(self) -> pa.Table:
        """Packets: sent by a transport, received by one, or dropped.

        Written with `output.packets = true`, and for `output.explain`.
        """
        return self.table("packets")

    @cached_property
    def steps(self) -> pa.Table:
        """Requests, grants, reports and transport blocks of LTE with their outcomes.

        Written with `output.steps = true`.
        """
        return self.table("steps")

    @cached_property
    def rlc_pdus(self) -> pa.Table:
        """PDUs of RLC of LTE's cells on the air.

        Written with `output.rlc_pdus = true`.
        """
        return self.table("rlc_pdus")

    @cached_property
    def stages(self) -> pa.Table:
        """Where each packet is, in intervals without gap or overlap.

        Written with `output.explain = true`.
        """
        return self.table("stages")

    @cached_property
    def limits(self) -> pa.Table:
        """What each TCP sender was limited by: each row holds until the flow's next one.

        Written with `output.explain = true`.
        """
        return self.table("limits")

    @cached_property
    def pdus(self) -> pa.Table:
        """The PDUs that dropped packets were in.

        A row for each that RLC or 802.11 had sent and that did not arrive. A packet that was in no
        PDU has no row. Written with `output.explain = true`.
        """
        return self.table("pdus")

    @cached_property
    def rlc(self) -> pa.Table:
        """RLC entities of radio bearers every `output.interval`; counters run from the start."""
        return self.table("rlc")

    @cached_property
    def mac(self) -> pa.Table:
        """Dedicated channels every `output.interval`; counters run from the start."""
        return self.table("mac")

    @cached_property
    def radio(self) -> pa.Table:
        """Transport blocks of UEs in LTE cells over each `output.interval`.

        A UE without any, and without a request for some, has no row.
        """
        return self.table("radio")

    @cached_property
    def measurements(self) -> pa.Table:
        """What each connected UE has measured of each cell, after layer 3 filtering.

        Every `output.interval`. Written with `output.measurements = true` where there is a table
        `[handover]`.
        """
        return self.table("measurements")

    @cached_property
    def positions(self) -> pa.Table:
        """Where each UE is and which cell serves it, every `output.interval`.

        Written with `output.positions = true`.
        """
        return self.table("positions")

    @cached_property
    def hints(self) -> pa.Table:
        """Reports of `[hint]` tables with `record = true`: reported values beside actual ones."""
        return self.table("hints")

    @cached_property
    def wifi(self) -> pa.Table:
        """Data of stations on wireless LANs over each `output.interval`.

        A station that sent nothing and has nothing waiting has no row.
        """
        return self.table("wifi")

    @cached_property
    def windows(self) -> pa.Table:
        """What each flow got in each interval of `output.windows`.

        Packets of the data's direction.
        """
        return self.table("windows")

    @cached_property
    def media(self) -> pa.Table:
        """Media flows: rates, delays, losses and frames between samples.

        Every `output.interval`. Sizes and rates are of RTP packets, their headers included.
        """
        return self.table("media")

    @cached_property
    def queues(self) -> pa.Table:
        """Queues of links every `output.interval`: what waits.

        The packet in service not counted.
        """
        return self.table("queues")

    @cached_property
    def events(self) -> pa.Table:
        """Events: connections, recoveries, timeouts, RLC resets, changes of the scenario."""
        return self.table("events")

    @cached_property
    def drops(self) -> pa.Table:
        """Packets (or fragments) that were dropped, each with its place and cause."""
        return self.table("drops")

    # End of what was made.

    @cached_property
    def plot(self) -> Plots:
        """Figures fit for a paper: `r.plot.cwnd().savefig("cwnd.pdf")`."""
        from lasthop.plot import Plots

        return Plots(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the path of results in a folder, the tables of others."""
        if self._path is not None:
            return Results.load, (self._path.resolve(),)
        tables = {name: self._source.table(name) for name in self.table_names}
        return Results, (Tables(self._source.manifest, self._source.summary, tables),)

    def __repr__(self) -> str:
        where = f" in {self._path}" if self._path else ""
        return f"<Results{where}: {', '.join(self.table_names)}>"


@dataclass(frozen=True)
class Tables:
    """Results in the memory of Python, as a `Source`."""

    manifest: str
    summary: str
    tables: dict[str, pa.Table]

    def table_names(self) -> list[str]:
        """The tables present."""
        return list(self.tables)

    def table(self, name: str) -> pa.Table:
        """A table."""
        return self.tables[name]


class Folder:
    """The folder of a finished run, as a `Source`."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise mistake(f"there is no folder '{path}'", "`lasthop run SCENARIO --out FOLDER` writes one")
        if not (path / "manifest.json").is_file():
            within = sorted(found.parent for found in path.glob("*/manifest.json"))
            remedy = f"there are runs in it: name one, such as '{within[0]}'" if within else None
            raise mistake(f"'{path}' is not the folder of a finished run: it has no manifest.json", remedy)
        self._path = path

    @property
    def manifest(self) -> str:
        """The text of manifest.json."""
        return self._text("manifest.json")

    @property
    def summary(self) -> str:
        """The text of summary.json."""
        return self._text("summary.json")

    def table_names(self) -> list[str]:
        """The tables present."""
        if not (self._path / "manifest.json").is_file():
            raise mistake(
                f"the folder '{self._path}' is gone, or no longer the folder of a run",
                "it was removed or renamed after its results were loaded: load them from where they are now",
            )
        return sorted(p.stem for p in self._path.glob("*.parquet"))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Reads a table, or some of its columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._path / f"{name}.parquet"
        try:
            if columns is not None:
                columns = [c for c in pq.read_schema(path).names if c in columns]
            return pq.read_table(path, columns=columns)
        except (OSError, pa.ArrowException) as err:
            raise mistake(f"cannot read '{self._path / name}.parquet': {err}", "run the scenario again") from err

    def shape(self, name: str) -> tuple[pa.Schema, int]:
        """Schema and number of rows of a table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(self._path / f"{name}.parquet")
        except (OSError, pa.ArrowException) as err:
            raise mistake(f"cannot read '{self._path / name}.parquet': {err}", "run the scenario again") from err
        with file:
            return file.schema_arrow, file.metadata.num_rows

    def _text(self, name: str) -> str:
        try:
            return (self._path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as err:
            raise mistake(f"cannot read '{self._path / name}': {err}") from err


def _check_format(manifest: dict[str, Any], path: Path) -> None:
    """Refuses results of formats that this version does not read."""
    version = manifest.get("format")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise mistake(
            f"'{path}/manifest.json' does not give the format of the results: `format` is {json.dumps(version)}",
            "the file is damaged, or another program wrote it: run the scenario again",
        )
    if version > FORMAT:
        raise mistake(
            f"the results in '{path}' have format {version}; this version of Lasthop reads up to {FORMAT}",
            f"Lasthop {manifest.get('lasthop', 'of a later version')} wrote them: read them with it, or run the"
            " scenario again with this one",
        )


def _json_object(text: str, place: str) -> dict[str, Any]:
    help_ = "run the scenario again"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as err:
        raise mistake(f"{place} is damaged, it is not JSON: {err}", help_) from err
    if not isinstance(value, dict):
        raise mistake(f"{place} is damaged: a JSON object was expected", help_)
    return value
