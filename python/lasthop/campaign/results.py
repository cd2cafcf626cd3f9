"""The results of a campaign: one tidy table, a row for each point and seed.

    DIR/results.parquet     the table
    DIR/failures.parquet    why rows lack values
    DIR/tables/NAME.parquet the tables of `keep`, each row with the labels of its run
    DIR/campaign.json       plan, cost, the first failures
    DIR/campaign.toml       the campaign, every default spelled out; it can be run as it is
    DIR/files/              copies of the files that it names

The columns of the table are the labels of the axes, `seed`, and the metrics with their units in the
metadata. It is sorted by point, then seed, and depends on the campaign and the build alone: each
executor gives the same octets.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lasthop import __version__
from lasthop._errors import mistake
from lasthop._files import Earlier
from lasthop.campaign.store import engine

if TYPE_CHECKING:
    from os import PathLike

    from lasthop.campaign.jobs import Label, Plan, Point

TABLE = "results.parquet"
FAILURES = "failures.parquet"
ABOUT = "campaign.json"
FILE = "campaign.toml"
TABLES = "tables"
COPIES = "files"
#: What a folder of results may hold beside `ABOUT`, so that it may be replaced: also what is drawn
#: from them.
EARLIER = Earlier(ABOUT, ("name", "digest", "runs"), (TABLE, FAILURES, FILE, TABLES, COPIES, "figures", "report.html"))

Kept: TypeAlias = "Callable[[str], Iterator[tuple[int, pa.Table]]]"
"""The kept tables of one name, each with the row of its run in the results, in that order."""


@dataclass(frozen=True)
class Row:
    """The outcome of one run."""

    #: Index of the point.
    point: int
    seed: int
    #: A value for each measure of the plan [its unit]; None where there is none.
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row lacks a value."""

    point: int
    seed: int
    #: The metric that has no value; None: the run itself failed, and the next call makes it again.
    metric: str | None
    reason: str


@dataclass
class CampaignResults:
    """The results of a campaign, in memory or in a folder."""

    _table: pa.Table
    _failures: pa.Table
    #: Plan, cost and failures: the content of campaign.json.
    about: dict[str, Any]
    #: The campaign as TOML.
    toml: str
    #: The folder of the results; None when they are only in memory.
    folder: Path | None = None
    _kept: Kept | None = field(default=None, repr=False)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> CampaignResults:
        """Opens a folder that a campaign has left.

        Raises:
            LasthopError: there is no such folder, or it is incomplete.
        """
        path = Path(folder)
        if not path.is_dir():
            raise mistake(f"there is no folder '{path}'", "`lasthop sweep CAMPAIGN --out FOLDER` writes one")
        if not (path / ABOUT).is_file():
            raise mistake(f"'{path}' is not the folder of a campaign: it has no {ABOUT}")
        try:
            about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
            toml = (path / FILE).read_text(encoding="utf-8")
            return cls(pq.read_table(path / TABLE), pq.read_table(path / FAILURES), about, toml, path)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise mistake(
                f"cannot read the results in '{path}': {error}",
                "run the campaign again: it finds its runs in the store and writes the folder anew",
            ) from error

    def table(self) -> pa.Table:
        """A row for each point and seed: labels, `seed`, metrics.

        Null where a metric has no value.
        """
        return self._table

    def failures(self) -> pa.Table:
        """A row for each value that is missing: labels, `seed`, `metric`, `reason`.

        `metric` is null where the run failed.
        """
        return self._failures

    @property
    def axes(self) -> list[str]:
        """The columns of labels."""
        names: list[str] = self._table.column_names
        return names[: names.index("seed")]

    @property
    def metrics(self) -> list[str]:
        """The columns of values."""
        names: list[str] = self._table.column_names
        return names[names.index("seed") + 1 :]

    def kept(self, name: str) -> pa.Table:
        """A table of `keep`, of all runs: labels and `seed` of the run, then its own columns.

        A column of the table that has the name of an axis is called `TABLE.COLUMN`: with an axis
        `cc`, `flows.cc`.

        Raises:
            LasthopError: the campaign did not keep it.
        """
        names = self.about.get("keep", [])
        if name not in names:
            raise mistake(
                f"the campaign kept no table '{name}'; it kept: {', '.join(names) or 'none'}",
                f'keep = ["{name}"] in [campaign] keeps it',
            )
        if self._kept is None:
            assert self.folder is not None  # results are in memory with their store, or in a folder
            path = self.folder / TABLES / f"{name}.parquet"
            try:
                return pq.read_table(path)
            except (OSError, pa.ArrowException) as error:
                raise mistake(f"cannot read '{path}': {error}") from error
        parts = list(self._labelled(name))
        return pa.concat_tables(parts) if parts else pa.table({})

    @property
    def incomplete(self) -> str | None:
        """What is missing, in words, if the results have only some of the runs; else None."""
        found = self.about.get("incomplete")
        return None if found is None else f"these are no whole results: {found['what']}"

    def write_into(self, folder: Path) -> None:
        """Writes the files into a folder.

        Raises:
            LostError: a kept table is not in the store any more.
            LasthopError: a file cannot be written.
        """
        try:
            pq.write_table(self._table, folder / TABLE, compression="zstd")
            pq.write_table(self._failures, folder / FAILURES, compression="zstd")
            for name in self.about["keep"]:
                (folder / TABLES).mkdir(exist_ok=True)
                self._write_kept(name, folder / TABLES / f"{name}.parquet")
            (folder / FILE).write_text(self.toml, encoding="utf-8")
            self.write_about(folder)
        except (OSError, pa.ArrowException) as error:
            why = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise mistake(
                f"cannot write the results: {why}",
                "make room for them, or name another folder with --out: finished runs are in the store",
            ) from error

    def write_about(self, folder: Path) -> None:
        """Writes campaign.json."""
        text = json.dumps(self.about, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / ABOUT).write_text(text + "\n", encoding="utf-8")

    def tell_repeat(self, folder: Path) -> None:
        """Stores the command that repeats the results, from any folder.

        Args:
            folder: where the results will be.
        """
        words = ["lasthop", "sweep", str(folder.absolute() / FILE), "--out", str(folder.absolute())]
        words += ["--store", str(Path(self.about["store"]).absolute())]
        if self.about["shard"] is not None:
            words += ["--shard", "{}/{}".format(*self.about["shard"])]
        self.about["command"] = shlex.join(words)

    def _write_kept(self, name: str, path: Path) -> None:
        """Run by run: memory stays that of one run."""
        parts = self._labelled(name)
        first = next(parts, None)
        if first is None:
            pq.write_table(pa.table({}), path)
            return
        with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(part)

    def _labelled(self, name: str) -> Iterator[pa.Table]:
        """The kept tables of one name with the labels of their runs.

        All in the columns of the first one.
        """
        assert self._kept is not None
        schema: pa.Schema | None = None
        head = [self._table.schema.field(i) for i in range(len(self.axes) + 1)]
        for row, table in self._kept(name):
            one = self._table.slice(row, 1)
            columns = [pa.repeat(_plain(one[f.name][0]), table.num_rows) for f in head]
            taken = {f.name for f in head}
            fields = [_plain_field(f) for f in head]
            fields += [_plain_field(f, f"{name}.{f.name}" if f.name in taken else f.name) for f in table.schema]
            columns += [table[f.name].cast(_plain_type(f.type)) for f in table.schema]
            made = pa.table(columns, schema=pa.schema(fields))
            if schema is None:
                schema = made.schema
            elif made.schema != schema:
                made = _fitted(made, schema)
            yield made


def check_target(path: Path, plan: Plan, store: Path, force: bool = False, finished_only: bool = False) -> list[str]:
    """Whether the results of a campaign may be written to a folder, asked before the first run.

    Results that the campaign would give again may be replaced: those of the same campaign with
    other seeds or another rule, and those of an earlier version of it, if the campaign still has
    all of the base, points, metrics and tables of that version. The user's own code may differ.

    Args:
        path: the folder.
        plan: the campaign.
        store: the store that it uses.
        force: results of any campaign may be replaced.
        finished_only: the new results may be incomplete, so they do not replace complete ones.

    Returns:
        Notes for the user: that results of an earlier version are replaced.

    Raises:
        LasthopError: the folder holds something else, or results that this campaign would not give
            again.
    """
    real, kept = path.resolve(), store.resolve()
    if real == kept or real in kept.parents or kept in real.parents:
        raise mistake(
            f"'{path}' is no folder for results, because of the store in '{store}'",
            "name another folder with --out, or another store with --store",
        )
    about = path / ABOUT
    if not about.is_file():
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise mistake(
                f"'{path}' holds something else than the results of a campaign", "name another folder with --out"
            )
        return []
    try:
        earlier = json.loads(about.read_text(encoding="utf-8"))
        name, lost = earlier["name"], _lost(earlier, plan)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise mistake(f"'{about}' is not that of a campaign: {error}", "name another folder with --out") from error
    if (foreign := sorted({p.name for p in path.iterdir()} - {*EARLIER.names, ABOUT})) != []:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise mistake(
            f"'{path}' holds files that are not of the results: {', '.join(foreign[:3])}{more}",
            "move them away, or name another folder with --out",
        )
    if finished_only and earlier.get("incomplete") is None and not force:
        raise mistake(
            f"'{path}' holds whole results, and what is finished now may be less",
            "name another folder with --out, or replace them with --force",
        )
    if name == plan.name and earlier.get("subject", earlier["digest"]) in (plan.subject, plan.digest):
        return []
    if name != plan.name:
        lost = f"those of the campaign '{name}'"
    if lost and not force:
        raise mistake(
            f"'{path}' holds results that this campaign would not give again: {lost}",
            "name another folder with --out, or replace them with --force; their runs stay in the store",
        )
    return [f"the results of an earlier form of the campaign in '{path}' are replaced{f': {lost}' if lost else ''}"]


def settings_of(point: Point) -> str:
    """Digest of the settings of a point, as hex, because two points may have the same labels."""
    return hashlib.blake2b("\n".join(point.overrides).encode(), digest_size=4).hexdigest()


def _lost(earlier: Mapping[str, Any], plan: Plan) -> str:
    """What a plan does not give of the results that an earlier one has left.

    In words; empty: it gives all.
    """
    axes = [(axis.name, list(axis.keys)) for axis in plan.axes]
    if axes != [(axis["name"], list(axis["keys"])) for axis in earlier["axes"]]:
        return f"those over {', '.join(axis['name'] for axis in earlier['axes']) or 'one point'}"
    if earlier.get("ground", plan.ground) != plan.ground:
        return "its base scenario or [set] differs"
    mine = {tuple(label for _, label in point.labels): settings_of(point) for point in plan.points}
    points = [tuple(labels) for labels in earlier["points"]]
    gone = sum(labels not in mine for labels in points)
    if gone:
        return f"{gone:,} of its {len(points):,} points are not in this one"
    settings = earlier.get("settings", [mine[labels] for labels in points])
    changed = sum(mine[labels] != before for labels, before in zip(points, settings, strict=True))
    if changed:
        return f"{changed:,} of its {len(points):,} points set other values under the same labels"
    metrics = {(m.name, m.unit, m.text) for m in plan.measures}
    other = [m["name"] for m in earlier["metrics"] if (m["name"], m["unit"], m["text"]) not in metrics]
    other += [name for name in earlier["keep"] if name not in plan.keep]
    return f"{', '.join(other)} {'is' if len(other) == 1 else 'are'} not in this one, or differs" if other else ""


def tabulate(plan: Plan, rows: Iterable[Row]) -> pa.Table:
    """The table of results, sorted by point, then seed."""
    ordered = sorted(rows, key=lambda row: (row.point, row.seed))
    fields, columns = _labels(plan, [row.point for row in ordered])
    fields.append(pa.field("seed", pa.uint64(), nullable=False, metadata={"unit": "1"}))
    columns.append(pa.array([row.seed for row in ordered], pa.uint64()))
    for i, measure in enumerate(plan.measures):
        fields.append(pa.field(measure.name, pa.float64(), metadata={"unit": measure.unit, "text": measure.text}))
        columns.append(pa.array([row.values[i] for row in ordered], pa.float64()))
    return pa.table(columns, schema=pa.schema(fields, metadata=_marks(plan)))


def tabulate_failures(plan: Plan, failures: Iterable[Failure]) -> pa.Table:
    """The table of failures, sorted by point, seed and metric."""
    order = {measure.name: i for i, measure in enumerate(plan.measures)}
    ordered = sorted(failures, key=lambda f: (f.point, f.seed, -1 if f.metric is None else order[f.metric]))
    fields, columns = _labels(plan, [f.point for f in ordered])
    fields.append(pa.field("seed", pa.uint64(), nullable=False, metadata={"unit": "1"}))
    columns.append(pa.array([f.seed for f in ordered], pa.uint64()))
    for name, texts in (("metric", [f.metric for f in ordered]), ("reason", [f.reason for f in ordered])):
        fields.append(pa.field(name, pa.string()))
        columns.append(pa.array(texts, pa.string()))
    return pa.table(columns, schema=pa.schema(fields, metadata=_marks(plan)))


def _labels(plan: Plan, points: Sequence[int]) -> tuple[list[pa.Field], list[pa.Array]]:
    """A column for each axis: numbers where all labels are, else texts."""
    fields, columns = [], []
    for i, axis in enumerate(plan.axes):
        every = [point.labels[i][1] for point in plan.points]
        kind = _type_of(every)
        metadata = {"unit": axis.unit} if axis.unit is not None else None
        if kind is not None:
            column = pa.array([every[p] for p in points], kind)
        else:
            texts = list(dict.fromkeys(map(label_text, every)))
            number = {text: n for n, text in enumerate(texts)}
            indices = pa.array([number[label_text(every[p])] for p in points], pa.int32())
            column = pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))
        fields.append(pa.field(axis.name, column.type, nullable=False, metadata=metadata))
        columns.append(column)
    return fields, columns


def _type_of(labels: Sequence[Label]) -> pa.DataType | None:
    kinds = {type(label) for label in labels}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else None


def label_text(label: Label) -> str:
    """A label as text, as TOML writes it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _marks(plan: Plan) -> Mapping[str, str]:
    return {"campaign": plan.name, "digest": plan.digest, "engine": engine(), "lasthop": __version__}


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Texts without a dictionary, which may differ between runs."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain_field(field: pa.Field, name: str | None = None) -> pa.Field:
    """The core gives metadata in no order; the file is to have the same octets each time."""
    metadata = dict(sorted(field.metadata.items())) if field.metadata else None
    return pa.field(name or field.name, _plain_type(field.type), metadata=metadata)


def _plain(scalar: pa.Scalar) -> pa.Scalar:
    return pa.scalar(scalar.as_py(), _plain_type(scalar.type))


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table in the columns of another; those that it lacks are null."""
    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type) for f in schema
    ]
    return pa.table(columns, schema=schema)
