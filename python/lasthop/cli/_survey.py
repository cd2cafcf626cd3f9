"""`lasthop survey` and `lasthop rem`: the radio of a scenario at large scale, without a run."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from lasthop import FolderInUseError, Scenario
from lasthop._core import clear_stale_claims
from lasthop._errors import mistake
from lasthop._files import claimed
from lasthop._progress import share_bar
from lasthop._stop import leaving, making
from lasthop.cli import _completion, _output
from lasthop.cli._folder import first_free
from lasthop.cli._run import load, set_option

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.plot import Figure

Area: TypeAlias = "tuple[float, float, float, float] | None"

PERCENTS = (5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95)

_set_option = set_option("Override a key. May be repeated.")


@click.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@_set_option
@click.option("--drops", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Drops, one seed each.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the first drop.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Also write survey.parquet and pictures.")
@click.option("--force", is_flag=True, help="Replace an earlier survey in the folder.")
@_output.json_option
def survey(
    scenario: str,
    sets: tuple[str, ...],
    drops: int,
    seed: int | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show the coverage of a scenario's UEs without a run.

    For every UE of every drop: its strongest cell, coupling gain (antennas, path loss, shadowing,
    walls), RSRP, geometry (strongest cell over the sum of all others) and SINR when every cell
    sends at full power. Large scale only: no fading. Layouts are calibrated with these
    distributions (TR 36.814 annex A, TR 36.873 clause 8.2).

    \b
    Examples:
      lasthop survey lte-7-sites
      lasthop survey case1.toml --drops 100 --out results/case1
    """
    checked = load(scenario, sets, seed, ())
    if out is None:
        _survey(checked, drops, None, as_json)
        return
    with _claimed(out, "survey", force):
        _survey(checked, drops, out, as_json)


def _survey(checked: Scenario, drops: int, out: Path | None, as_json: bool) -> None:
    import numpy as np

    from lasthop.plot._survey import DISTRIBUTIONS, distribution

    with share_bar(f"{drops} drops", not as_json) as progress:
        table = checked.geometry(drops, progress=progress or False)
    columns = [c for c in DISTRIBUTIONS if table[c].null_count < table.num_rows]
    found = {c: np.percentile(table[c].drop_null().to_numpy(), PERCENTS) for c in columns}
    if out is None:
        _show_survey(checked.name, table, drops, found, [], as_json)
        return
    with leaving(making("the survey is", out / "survey.parquet")):
        files = _write(out, table, "survey", {c: distribution({checked.name: table}, c) for c in columns})
        _show_survey(checked.name, table, drops, found, files, as_json)


def _show_survey(
    name: str, table: pa.Table, drops: int, found: dict[str, Any], files: list[Path], as_json: bool
) -> None:
    from lasthop.plot._survey import DISTRIBUTIONS

    columns = list(found)
    if as_json:
        quantiles = {c: dict(zip(map(str, PERCENTS), map(float, v), strict=True)) for c, v in found.items()}
        summary = {"scenario": name, "ues": table.num_rows, "drops": drops, "percentiles": quantiles}
        _output.json_object({**summary, "written": [str(f) for f in files]})
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
@click.option("--ue", metavar="NAME", help="The UE table whose receiver is moved over the grid. [the first]")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of every random draw.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder. [results/NAME-rem]")
@click.option("--force", is_flag=True, help="Replace an earlier map in the folder.")
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
    force: bool,
    as_json: bool,
) -> None:
    """Draw the radio environment map of a scenario.

    The strongest cell's RSRP and the SINR when every cell sends at full power, over a grid: as
    Parquet and as pictures. Large scale only: path loss, antennas and shadowing, no fading. Without
    --out a further map of the same scenario takes results/NAME-rem-2, -3 and so on.

    \b
    Examples:
      lasthop rem lte-7-sites
      lasthop rem my.toml --step 5 --area -500 -500 500 500 --out results/map
    """
    checked = load(scenario, sets, seed, ())

    def into(folder: Path) -> None:
        with _claimed(folder, "rem", force):
            table = _map(checked, as_json, step, area, height, ue)
            _write_map(checked.name, table, folder, as_json)

    first_free(Path("results") / f"{checked.name}-rem", out, force, into)


def _map(checked: Scenario, as_json: bool, step: float, area: Area, height: float | None, ue: str | None) -> pa.Table:
    with share_bar("map", not as_json) as progress:
        return checked.radio_map(step, area=area, height=height, ue=ue, progress=progress or False)


def _write_map(name: str, table: pa.Table, folder: Path, as_json: bool) -> None:
    from lasthop.plot._survey import MAPS, radio_map

    with leaving(making("the map is", folder / "rem.parquet")):
        files = _write(folder, table, "rem", {q: radio_map(table, q) for q in MAPS})
        written = [str(f) for f in files]
        if as_json:
            _output.json_object({"scenario": name, "places": table.num_rows, "written": written})
            return
        _output.line(f"{table.num_rows} places")
        for file in files:
            _output.line(f"Wrote {file}")


@contextmanager
def _claimed(folder: Path, name: str, force: bool) -> Iterator[None]:
    """Keeps others from writing the files of `name` in `folder`.

    Refuses where an earlier command has written them.

    Raises:
        FolderInUseError: they are there already, or are being written.
    """
    _refuse_earlier(folder, name, force)
    for note in clear_stale_claims(folder, name):
        _output.note(note)
    with claimed(folder, name):
        _refuse_earlier(folder, name, force)  # another command may have ended meanwhile
        yield


def _earlier(folder: Path, name: str) -> list[Path]:
    """What an earlier command has written: the table and its pictures.

    No other file, whatever its name.
    """
    from lasthop.plot._survey import DISTRIBUTIONS, MAPS

    pictures = [_picture(folder, name, q) for q in (DISTRIBUTIONS if name == "survey" else MAPS)]
    return [f for f in (folder / f"{name}.parquet", *pictures) if os.path.lexists(f)]


def _picture(folder: Path, name: str, quantity: str) -> Path:
    return folder / f"{name}-{quantity.rpartition('_')[0] or quantity}.png"


def _refuse_earlier(folder: Path, name: str, force: bool) -> None:
    if (earlier := _earlier(folder, name)) and not force:
        remedy = "--force replaces it; --out DIR takes another folder"
        raise mistake(f"'{earlier[0]}' is there already", remedy, FolderInUseError)


def _write(folder: Path, table: pa.Table, name: str, figures: dict[str, Figure]) -> list[Path]:
    """The table and its pictures, all or none.

    Pictures of an earlier table do not stay beside them.
    """
    import pyarrow.parquet as pq

    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    files: dict[Path, str | bytes] = {folder / f"{name}.parquet": parquet.getvalue()}
    for what, figure in figures.items():
        files[_picture(folder, name, what)] = figure.content("png")
    earlier = _earlier(folder, name)
    _output.files(files)
    for file in earlier:
        if file not in files:
            file.unlink(missing_ok=True)
    return list(files)
