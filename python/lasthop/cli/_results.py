"""`lasthop results`: what a campaign has measured."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop._errors import mistake
from lasthop.cli import _output

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import Estimate, Tidy

#: So many points are shown unless `--all` asks for more.
MOST_SHOWN = 200


def as_level(_ctx: click.Context, _option: click.Parameter, value: str) -> float:
    """A level of confidence as a share: `95 %` or `0.95`."""
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
    "--level", default="95%", show_default=True, callback=as_level, metavar="LEVEL", help="Level of each interval."
)
@click.option("--sql", metavar="QUERY", help="Ask tables 'results', 'failures' and those that are kept.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: a row for each run, or the answer of --sql.")
@click.option("--all", "everything", is_flag=True, help=f"Show all points, not the first {MOST_SHOWN}.")
@_output.json_option
def results(
    folder: Path,
    metrics: tuple[str, ...],
    level: float,
    sql: str | None,
    as_csv: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Show the results of a campaign: for each point the mean of each metric with its interval.

    DIR is the folder that 'lasthop sweep' has left. Intervals are those of Student's t over the seeds, or those of
    the campaign's stopping rule. Queries are SQL in the dialect of DuckDB; they only read.

    \b
    Examples:
      lasthop results results/bufferbloat
      lasthop results results/bufferbloat --csv > runs.csv
      lasthop results results/bufferbloat --sql "SELECT cc, avg(goodput) FROM results GROUP BY cc"
    """
    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import tidy

    if as_csv and as_json:
        raise click.UsageError("--csv and --json are two forms: choose one")
    if sql is not None and metrics:
        raise click.UsageError("--metric does not go with --sql: choose columns in the query")
    found = CampaignResults.load(folder)
    if sql is not None:
        _table(answer(found, sql), as_csv, as_json)
        return
    data = tidy(found)
    chosen = [data.require_metric(m) for m in metrics] or list(data.units)
    if as_csv:
        _table(data.table.select([*data.axis_names, "seed", *chosen]), as_csv=True, as_json=False)
    elif as_json:
        _output.json_object(described(found, data, chosen, level))
    else:
        _show(found, data, chosen, level, None if everything else MOST_SHOWN)


def answer(found: CampaignResults, sql: str) -> pa.Table:
    """The answer of a query over `results`, `failures` and the kept tables.

    Raises:
        LasthopError: it is no query, or it fails.
    """
    import pyarrow.dataset as ds

    from lasthop.campaign.query import query

    tables: dict[str, Any] = {"results": found.table(), "failures": found.failures()}
    for name in found.about.get("keep", []):
        if found.folder is not None and (path := found.folder / "tables" / f"{name}.parquet").is_file():
            tables.setdefault(name, ds.dataset(path))
    return query(sql, tables)


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
    told: dict[str, Any] = {"mean": e.mean, "low": e.low, "high": e.high, "n": e.n, "missing": e.missing}
    if e.reached is not None:
        told["verdict"] = "certain" if e.reached else "undecided"
    return told


def _show(found: CampaignResults, data: Tidy, metrics: list[str], level: float, most: int | None) -> None:
    from lasthop.campaign.figures import measured, shown_unit, text, title

    by_metric = {m: data.estimates(m, level) for m in metrics}
    units = {m: shown_unit(data.units[m], _largest(by_metric[m])) for m in metrics}
    names = [m if units[m][1] in ("", "1") else f"{m} ({units[m][1]})" for m in metrics]
    points = data.points[:most] if most else data.points
    rows = []
    for point in points:
        cells = []
        for m in metrics:
            e, factor = by_metric[m][point], units[m][0]
            cells.append(measured(e.mean * factor, e.low * factor, e.high * factor) + _marks(e))
        rows.append((*map(text, point), str(max((by_metric[m][point].n for m in metrics), default=0)), *cells))
    headers = (*(title(a, unit) for a, unit in data.axis_units.items()), "runs", *names)
    first = len(data.axis_names)
    _output.table(headers, rows, right=range(first, len(headers)))
    _output.line()
    _notes(found, data, metrics, by_metric, level, len(points))


def _notes(
    found: CampaignResults, data: Tidy, metrics: list[str], by_metric: dict[str, Any], level: float, shown: int
) -> None:
    rule = data.rule
    kind = f"intervals are of {100 * level:g} %"
    if rule is not None and rule.metric in metrics:
        kind += f"; those of {rule.metric} follow the rule {rule}" if rule.level == level else ""
    _output.line(f"{found.about.get('name', 'campaign')}: {len(data.points)} points, {len(data.table)} runs; {kind}")
    if shown < len(data.points):
        _output.line(f"{len(data.points) - shown} more points: --all shows them")
    estimates = [e for m in metrics for e in by_metric[m].values()]
    if undecided := sum(e.reached is False for e in estimates):
        _output.line(f"? {undecided} undecided: the interval is not narrow enough at the rule's most runs")
    if missing := sum(e.missing for e in estimates):
        _output.line(f"* {missing} values are missing: 'lasthop results DIR --sql \"FROM failures\"' says why")


def _marks(e: Estimate) -> str:
    return (" ?" if e.reached is False else "") + (" *" if e.missing else "")


def _largest(estimates: dict[Any, Estimate]) -> float:
    return max((abs(e.mean) for e in estimates.values() if e.n), default=0.0)


def _table(table: pa.Table, as_csv: bool, as_json: bool) -> None:
    import pyarrow.csv as pc

    if as_csv:
        out = io.BytesIO()
        try:
            pc.write_csv(_plain(table), out)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise mistake(
                f"the answer cannot be written as CSV: {error}", "choose columns of numbers and texts"
            ) from None
        click.echo(out.getvalue().decode(), nl=False)
    elif as_json:
        _output.json_object({"columns": table.column_names, "rows": [list(r.values()) for r in table.to_pylist()]})
    else:
        from lasthop import _format

        numbers = [i for i, f in enumerate(table.schema) if str(f.type).startswith(("int", "uint", "double", "float"))]
        rows = zip(*(c.to_pylist() for c in table.columns), strict=True)
        _output.table(table.column_names, [[_format.plain(v) for v in row] for row in rows], right=numbers)


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which CSV does not know."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table
