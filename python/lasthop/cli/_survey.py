"""`lasthop survey` and `lasthop rem`: the radio of a scenario before anything is sent."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lasthop._progress import share_bar
from lasthop.cli import _completion, _output
from lasthop.cli._run import load
from lasthop.plot import Figure, distribution, radio_map
from lasthop.plot._survey import DISTRIBUTIONS, MAPS

PERCENTS = (5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95)

_set_option = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=_completion.assignments,
    help="Override a key. May be repeated.",
)


@click.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@_set_option
@click.option("--drops", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Drops, one seed each.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the first drop.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Also write survey.parquet and pictures.")
@_output.json_option
def survey(scenario: str, sets: tuple[str, ...], drops: int, seed: int | None, out: Path | None, as_json: bool) -> None:
    """Show what the UEs of a scenario receive before anything is sent.

    For every UE of every drop: its strongest cell, coupling gain (antennas, path loss, shadowing, walls), RSRP,
    geometry (strongest cell over the sum of all others) and SINR when every cell sends at full power. Large scale only:
    no fading. Layouts are calibrated with these distributions (TR 36.814 annex A, TR 36.873 clause 8.2).

    \b
    Examples:
      lasthop survey lte-7-sites
      lasthop survey case1.toml --drops 100 --out results/case1
    """
    checked = load(scenario, sets, seed, ())
    with share_bar(f"{drops} drops", not as_json) as progress:
        table = checked.geometry(drops, progress=progress or False)
    columns = [c for c in DISTRIBUTIONS if table[c].null_count < table.num_rows]
    found = {c: np.percentile(table[c].drop_null().to_numpy(), PERCENTS) for c in columns}
    files: list[Path] = []
    if out is not None:
        files = _write(out, table, "survey", {c: distribution({checked.name: table}, c) for c in columns})
    if as_json:
        quantiles = {c: dict(zip(map(str, PERCENTS), map(float, v), strict=True)) for c, v in found.items()}
        told = {"scenario": checked.name, "ues": table.num_rows, "drops": drops, "percentiles": quantiles}
        _output.json_object({**told, "written": [str(f) for f in files]})
        return
    rows = [(f"{p} %", *(f"{found[c][i]:.2f}" for c in columns)) for i, p in enumerate(PERCENTS)]
    _output.table(("UEs below", *(DISTRIBUTIONS[c] for c in columns)), rows, right=range(1, len(columns) + 1))
    _output.line()
    _output.line(f"{table.num_rows} UEs in {drops} drops")
    for file in files:
        _output.line(f"Wrote {file}")


@click.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@_set_option
@click.option("--step", type=click.FloatRange(min=0, min_open=True), default=10, show_default=True, help="Grid [m].")
@click.option(
    "--area", type=float, nargs=4, metavar="X0 Y0 X1 Y1", help="Lower left and upper right corner [m]. [all sites]"
)
@click.option("--height", type=float, metavar="M", help="Height of the receiver [m]. [the UE's]")
@click.option("--ue", metavar="NAME", help="The UE table whose receiver is carried around. [the first]")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of every random draw.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder. [results/NAME-rem]")
@_output.json_option
def rem(
    scenario: str,
    sets: tuple[str, ...],
    step: float,
    area: tuple[float, float, float, float] | None,
    height: float | None,
    ue: str | None,
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draw the radio environment map of a scenario.

    The strongest cell's RSRP and the SINR when every cell sends at full power, over a grid: as Parquet and as pictures.
    Large scale only: path loss, antennas and shadowing, no fading.

    \b
    Examples:
      lasthop rem lte-7-sites
      lasthop rem my.toml --step 5 --area -500 -500 500 500 --out results/map
    """
    checked = load(scenario, sets, seed, ())
    with share_bar("map", not as_json) as progress:
        table = checked.radio_map(step, area=area, height=height, ue=ue, progress=progress or False)
    folder = out or Path("results") / f"{checked.name}-rem"
    files = _write(folder, table, "rem", {q: radio_map(table, q) for q in MAPS})
    if as_json:
        _output.json_object({"scenario": checked.name, "places": table.num_rows, "written": [str(f) for f in files]})
        return
    _output.line(f"{table.num_rows} places")
    for file in files:
        _output.line(f"Wrote {file}")


def _write(folder: Path, table: pa.Table, name: str, figures: dict[str, Figure]) -> list[Path]:
    """The table and its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.parquet"]
    pq.write_table(table, files[0])
    for what, figure in figures.items():
        files.append(folder / f"{name}-{what.rpartition('_')[0] or what}.png")
        figure.savefig(files[-1])
    return files
