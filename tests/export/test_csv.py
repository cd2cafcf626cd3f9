"""CSV: what is read back are the tables; a folder appears whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop.export import export_run
from tests.scenarios import WIRED


@pytest.fixture(scope="module")
def wired() -> Results:
    return lh.Scenario.parse(WIRED).run()


def test_every_table_comes_back_bit_for_bit(wired: Results, tmp_path: Path) -> None:
    done = export_run(wired, "csv", tmp_path / "out")
    assert done.files == tuple(sorted(f"{name}.csv" for name in wired.table_names))
    for name in wired.table_names:
        table = wired.table(name)
        plain = pa.schema(
            [(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
        )
        options = pc.ConvertOptions(column_types=plain, strings_can_be_null=True, quoted_strings_can_be_null=False)
        back = pc.read_csv(tmp_path / "out" / f"{name}.csv", convert_options=options)
        assert back.column_names == table.column_names
        assert back.to_pylist() == table.to_pylist(), name


def test_units_stand_beside(wired: Results, tmp_path: Path) -> None:
    export_run(wired, "csv", tmp_path / "out")
    about = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))
    assert (about["export"], about["export_format"]) == ("csv", 1)
    assert about["run"]["name"] == "wired"
    columns = {c["name"]: c for c in about["tables"]["flows"]["columns"]}
    assert columns["goodput_bps"]["unit"] == "bit/s"
    assert columns["flow"] == {
        "name": "flow",
        "type": "string",
        "unit": "",
        "description": "name of the flow",
    }
    assert about["tables"]["packets"]["rows"] == wired.packets.num_rows


def test_a_table_longer_than_a_piece_has_one_header(
    wired: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lasthop.export._csv.ROWS_AT_ONCE", 7)
    export_run(wired, "csv", tmp_path / "out")
    with (tmp_path / "out" / "packets.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == wired.packets.column_names
    assert len(rows) == wired.packets.num_rows + 1


def test_an_earlier_export_is_replaced_and_nothing_else(wired: Results, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_run(wired, "csv", out)
    export_run(wired, "csv", out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(LasthopError, match=r"notes\.txt"):
        export_run(wired, "csv", out)
    assert (out / "notes.txt").read_text() == "mine"


def test_a_failed_export_leaves_nothing(wired: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lasthop.export._csv.pc.write_csv", full)
    with pytest.raises(OSError, match="No space"):
        export_run(wired, "csv", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_names_the_known_ones(wired: Results, tmp_path: Path) -> None:
    with pytest.raises(LasthopError, match="csv, flowmonitor, ns3"):
        export_run(wired, "xlsx", tmp_path / "out")
