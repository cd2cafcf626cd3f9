"""`lasthop results`: what a campaign has measured."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop._errors import mistake
from lasthop.cli import _output

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from lasthop.campaign.query import Answer
    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import Estimate, Tidy

#: So many points are shown without `--all`.
MOST_SHOWN = 200
#: So many rows of a query's answer are shown as a table.
MOST_ROWS = 1000


def as_level(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A level of confidence as a share: `95 %` or `0.95`."""
    if value is None:
        return None
    text = value.strip()
    try:
        level = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise click.BadParameter(f"'{value}' is no level, such as 95% or 0.95") from None
    if not 0.5 <= level <= 0.999999:
        raise click.BadParameter(f"{value} is outside of 50 % to 99.9999 %")
    return round(level, 12)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric. May be repeated.")
@click.option(
    "--level", callback=as_level, metavar="LEVEL", help="Level of each interval. [that of the stopping rule, else 95%]"
)
@click.option("--sql", metavar="QUERY", help="Query the tables 'results', 'failures' and those that are kept, in SQL.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: a row for each run, or the answer of --sql.")
@click.option("--all", "everything", is_flag=True, help=f"Show all points, not the first {MOST_SHOWN}.")
@_output.json_option
def results(
    folder: Path,
    metrics: tuple[str, ...],
    level: float | None,
    sql: str | None,
    as_csv: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Show the results of a campaign, point by point.

    Each metric has its mean and the interval of the mean. DIR is the folder that 'lasthop sweep'
    has left. Intervals are those of Student's t over the seeds; where a stopping rule chose the
    number of seeds, they allow for it. Queries are SQL in the dialect of DuckDB; they only read.

    \b
    Examples:
      lasthop results results/bufferbloat
      lasthop results results/bufferbloat --csv > runs.csv
      lasthop results results/bufferbloat --sql \\
          "SELECT cc, avg(goodput) FROM results GROUP BY cc"
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json are two forms: choose one")
    if sql is not None and metrics:
        raise click.UsageError("--metric does not go with --sql: choose columns in the query")
    if sql is not None:
        _answer(folder, sql, as_csv, as_json)
        return
    from lasthop.campaign.tidy import tidy

    found = loaded(folder)
    data = tidy(found)
    chosen = [data.require_metric(m) for m in metrics] or list(data.units)
    if as_csv:
        _csv(data.table.select([*data.axis_names, "seed", *chosen]).to_reader(50_000))
    elif as_json:
        _output.json_object(described(found, data, chosen, level or data.level))
    else:
        show_points(data, chosen, level or data.level, None if everything else MOST_SHOWN)
        tell_unmoved(data)
        _output.line(summary(found, data, level or data.level))


def loaded(folder: Path) -> CampaignResults:
    """The results in a folder; where they are not whole, that is said.

    Raises:
        LasthopError: there are none.
    """
    from lasthop.campaign.results import CampaignResults

    found = CampaignResults.load(folder)
    if found.incomplete is not None:
        _output.note(found.incomplete)
    return found


def _note_incomplete(folder: Path) -> None:
    """As `loaded` says it, without reading the tables.

    A folder that is none has its error elsewhere.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))["incomplete"]
        _output.note(f"these are no whole results: {found['what']}")


def _answer(folder: Path, sql: str, as_csv: bool, as_json: bool) -> None:
    """Prints the answer of a query batch by batch.

    Over `results`, `failures` and the kept tables.
    """
    from lasthop.campaign.query import asked, tables_of

    _note_incomplete(folder)
    with asked(sql, tables_of(folder)) as batches:
        if as_csv:
            _csv(batches)
        elif as_json:
            _json(batches)
        else:
            _table(batches)


def described(found: CampaignResults, data: Tidy, metrics: list[str], level: float) -> dict[str, Any]:
    """The results as the object of `--json`."""
    by_metric = {m: data.estimates(m, level) for m in metrics}
    points = [
        {
            "labels": dict(zip(data.axis_names, point, strict=True)),
            "metrics": {m: _json_estimate(by_metric[m][point]) for m in metrics},
        }
        for point in data.points
    ]
    return {
        "campaign": found.about.get("name"),
        "folder": str(found.folder.resolve()) if found.folder else None,
        "axes": {a: list(labels) for a, labels in data.axes.items()},
        "units": {m: data.units[m] for m in metrics},
        "level": level,
        "runs": len(data.table),
        "failures": found.failures().num_rows,
        "points": points,
    }


def _json_estimate(e: Estimate) -> dict[str, Any]:
    estimate: dict[str, Any] = {"mean": e.mean, "low": e.low, "high": e.high, "n": e.n, "missing": e.missing}
    if e.reached is not None:
        estimate["verdict"] = "certain" if e.reached else "undecided"
        if not e.reached:
            estimate["why"] = e.why
    return estimate


def show_points(data: Tidy, metrics: list[str], level: float, most: int | None) -> None:
    """Prints the points with their intervals, and what their marks mean.

    Args:
        data: the results.
        metrics: the metrics shown.
        level: level of each interval.
        most: so many points are shown; None: all.
    """
    from lasthop.campaign.figures import measured, shown_unit, text, title, unit_text

    by_metric = {m: data.estimates(m, level) for m in metrics}
    units = {m: shown_unit(data.units[m], _largest(by_metric[m])) for m in metrics}
    points = data.points[:most] if most else data.points
    rows = []
    for point in points:
        cells = []
        for m in metrics:
            e, factor = by_metric[m][point], units[m][0]
            cells.append(measured(e.mean * factor, e.low * factor, e.high * factor) + _marks(e))
        rows.append((*map(text, point), str(data.runs[point]), *cells))
    names = [m if units[m][1] in ("", "1") else f"{m} ({unit_text(units[m][1])})" for m in metrics]
    headers = (*(title(a, unit) for a, unit in data.axis_units.items()), "runs", *names)
    first = len(data.axis_names)
    _output.table(headers, rows, right=range(first, len(headers)))
    _output.line()
    if len(points) < len(data.points):
        _output.line(f"{len(data.points) - len(points):,} more points: --all shows them")
    estimates = [e for m in metrics for e in by_metric[m].values()]
    for why, count in Counter(e.why for e in estimates if e.reached is False).items():
        _output.line(f"? {count:,} undecided: {why}")
    if missing := sum(e.missing for e in estimates):
        _output.line(
            f"* {missing:,} {'value is' if missing == 1 else 'values are'} missing:"
            " 'lasthop results DIR --sql \"FROM failures\"' says why"
        )


def tell_unmoved(data: Tidy) -> None:
    """Says where seeds change nothing: an interval of width 0 is no certainty there."""
    from lasthop.campaign.tidy import unmoved_text

    if text := unmoved_text(data):
        _output.line(text)


def summary(found: CampaignResults, data: Tidy, level: float) -> str:
    """How many points and runs, and what the intervals are."""
    kind = f"intervals are of {100 * level:g} %"
    if data.rule is not None:
        kind += f" and allow for the rule {data.rule}"
    points, runs = len(data.points), len(data.table)
    name = found.about.get("name", "campaign")
    return (
        f"{name}: {points:,} {'point' if points == 1 else 'points'}, {runs:,} {'run' if runs == 1 else 'runs'}; {kind}"
    )


def _marks(e: Estimate) -> str:
    return (" ?" if e.reached is False else "") + (" *" if e.missing else "")


def _largest(estimates: dict[Any, Estimate]) -> float:
    return max((abs(e.mean) for e in estimates.values() if e.n), default=0.0)


def _csv(batches: Answer | pa.RecordBatchReader) -> None:
    import pyarrow as pa
    import pyarrow.csv as pc

    from lasthop.export import plain

    header = True
    for table in _tables(batches):
        out = io.BytesIO()
        try:
            pc.write_csv(plain(table), out, pc.WriteOptions(include_header=header))
        except (TypeError, ValueError, NotImplementedError, pa.ArrowException) as error:
            raise mistake(
                f"the answer cannot be written as CSV: {error}", "choose columns of numbers and texts"
            ) from None
        click.echo(out.getvalue().decode(), nl=False)
        header = False


def _json(batches: Answer) -> None:
    """One object, its rows on a line each."""
    columns = batches.schema.names
    click.echo(f'{{\n  "columns": {_output.json_text(columns)},\n  "rows": [', nl=False)
    before = "\n"
    for table in _tables(batches):
        for row in zip(*(c.to_pylist() for c in table.columns), strict=True):
            click.echo(f"{before}    {_output.json_text(row)}", nl=False)
            before = ",\n"
    click.echo("\n  ]\n}")


def _table(batches: Answer) -> None:
    """The first rows for display.

    A table that is as long as the answer would take as much memory.
    """
    import pyarrow as pa

    from lasthop import _format

    first: list[pa.Table] = []
    count = 0
    for part in _tables(batches):
        first.append(part.slice(0, MOST_ROWS + 1 - count))
        count += len(first[-1])
        if count > MOST_ROWS:
            break
    table = pa.concat_tables(first)
    numbers = [i for i, f in enumerate(table.schema) if str(f.type).startswith(("int", "uint", "double", "float"))]
    rows = zip(*(c.to_pylist() for c in table.slice(0, MOST_ROWS).columns), strict=True)
    _output.table(table.column_names, [[_format.plain(v) for v in row] for row in rows], right=numbers)
    if len(table) > MOST_ROWS:
        _output.line()
        _output.line(f"These are the first {MOST_ROWS:,} rows; --csv and --json print all")


def _tables(batches: Answer | pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The batches as tables; one without rows where there is none."""
    import pyarrow as pa

    some = False
    for batch in batches:
        some = True
        yield pa.Table.from_batches([batch])
    if not some:
        yield batches.schema.empty_table()
