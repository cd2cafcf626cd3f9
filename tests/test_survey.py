"""Surveys and radio maps: the API, the commands, and the figures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop._bundled import bundled
from lasthop.cli._main import main
from lasthop.plot import distribution, radio_map

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def sites() -> lh.Scenario:
    return lh.Scenario.load(bundled()["lte-7-sites"])


def test_a_survey_has_a_row_for_each_ue_and_drop(sites: lh.Scenario) -> None:
    shares: list[float] = []
    table = sites.geometry(drops=3, progress=shares.append)
    assert table.num_rows == 3 * 42
    assert shares[-1] == 1.0
    assert table.equals(sites.geometry(drops=3))
    # A drop is the scenario with the next seed.
    later = sites.with_(seed=sites.seed + 2).geometry()
    assert table.slice(2 * 42)["sinr_db"].to_pylist() == later["sinr_db"].to_pylist()
    # Noise never helps, and RSRP is the cell's power by resource element plus the coupling gain:
    # 46 dBm - 10 log10(50 * 12) = 18.218 dBm.
    for row in table.to_pylist():
        assert row["sinr_db"] <= row["geometry_db"]
        assert math.isclose(row["rsrp_dbm"] - row["coupling_gain_db"], 46 - 10 * math.log10(600), abs_tol=1e-4)


def test_a_map_is_a_grid(sites: lh.Scenario) -> None:
    table = sites.radio_map(100, area=(-200, -100, 200, 100))
    assert table.num_rows == 5 * 3
    assert table["x_m"].to_pylist()[:6] == [-200, -100, 0, 100, 200, -200]
    # One period of the wrapped ground to the side: the same antennas and distances; shadowing
    # apart, the same SINR.
    plain = sites.set("radio.shadowing", "0 dB")
    moved = (500 * 2.5, 500 * math.sqrt(3) / 2)  # the lattice vector (2, 1) of seven sites
    here = plain.radio_map(100, area=(-200, -100, 200, 100))["sinr_db"].to_pylist()
    there = (-200 + moved[0], -100 + moved[1], 200.001 + moved[0], 100.001 + moved[1])
    for a, b in zip(here, plain.radio_map(100, area=there)["sinr_db"].to_pylist(), strict=True):
        assert math.isclose(a, b, abs_tol=1e-3)


def test_mistakes_are_reported(sites: lh.Scenario) -> None:
    wired = lh.Scenario.load(bundled()["dumbbell"])
    with pytest.raises(lh.LasthopError, match="needs cells"):
        wired.geometry()
    with pytest.raises(lh.LasthopError, match="too many for a map"):
        sites.radio_map(0.01)
    with pytest.raises(lh.LasthopError, match="there are: phone"):
        sites.radio_map(50, ue="phones")
    with pytest.raises(lh.LasthopError, match="corner"):
        sites.radio_map(50, area=(10, 0, -10, 20))
    with pytest.raises(lh.LasthopError, match="no map"):
        radio_map(sites.radio_map(500), "snr")
    with pytest.raises(lh.LasthopError, match="no quantity"):
        distribution({"x": sites.geometry()}, "snr")


def test_the_commands_write_tables_and_pictures(tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(main, ["survey", "lte-7-sites", "--drops", "2", "--out", str(tmp_path / "s"), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed["ues"] == 84
    assert printed["percentiles"]["sinr_db"]["5"] < printed["percentiles"]["sinr_db"]["95"]
    done = runner.invoke(main, ["rem", "lte-7-sites", "--step", "100", "--out", str(tmp_path / "m"), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert {Path(f).name for f in printed["written"]} == {"rem.parquet", "rem-rsrp.png", "rem-sinr.png"}
    assert pq.read_table(tmp_path / "m" / "rem.parquet").num_rows == printed["places"]
    assert all(Path(f).stat().st_size > 1000 for f in printed["written"])


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "calibration").glob("*.toml")), ids=lambda p: p.stem)
def test_calibration_scenarios_are_whole(path: Path) -> None:
    scenario = lh.Scenario.load(path)
    assert [w for w in scenario.warnings if "no flow" not in w["message"]] == []
    assert scenario.geometry().num_rows > 300
