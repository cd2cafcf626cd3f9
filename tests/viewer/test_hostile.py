"""What the page makes of hostile results: markup in names, empty and damaged tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from playwright.sync_api import expect

import lasthop as lh
from lasthop import Results
from lasthop._results import Tables
from lasthop.cli import main
from lasthop.report import run_report
from lasthop.viewer import Viewer
from tests.viewer.conftest import Sheet

EVIL = "<img src=x onerror=window.hit=1><script>window.hit=1</script></script><b>"


def hostile(results: Results) -> Results:
    """The same results with names that try to be markup."""
    tables = {}
    for name in results.table_names:
        table = results.table(name)
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                texts = [None if t is None else EVIL + t for t in table[field.name].to_pylist()]
                table = table.set_column(i, field, pa.array(texts).dictionary_encode().cast(field.type))
        tables[name] = table
    manifest: dict[str, Any] = {
        **results.manifest,
        "name": EVIL,
        "scenario": f"[scenario]\nname = '''x'''\ndescription = '''{EVIL}'''\n",
    }
    return Results(Tables(json.dumps(manifest), json.dumps(results.summary), tables))


def test_names_that_are_markup_stay_names(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(hostile(drive)), tmp_path)
    assert sheet.page.evaluate("window.hit") is None
    expect(sheet.page.locator("h1")).to_contain_text("<img src=x")
    assert sheet.page.locator("main img, main script").count() == 0
    assert sheet.wrong == []


def test_empty_tables_and_no_flows(sheet: Sheet, drive: Results, tmp_path: Path) -> None:
    empty = {name: drive.table(name).slice(0, 0) for name in drive.table_names}
    sheet.opened(run_report(Results(Tables(json.dumps(drive.manifest), json.dumps(drive.summary), empty))), tmp_path)
    assert sheet.wrong == []
    expect(sheet.page.get_by_text("No packet was dropped.")).to_be_visible()


def test_a_truncated_table_is_named_and_the_rest_is_shown(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(out=folder)
    whole = (folder / "tcp.parquet").read_bytes()
    pq.ParquetFile(folder / "tcp.parquet").close()
    with Viewer({"run": Results.load(folder)}) as viewer:
        # The end of the file, where Parquet keeps its schema, is intact when the page asks for the
        # index.
        sheet.page.route("**/table/0/tcp*", lambda route: _cut(route, folder, whole))
        sheet.open(viewer.address)
        expect(sheet.page.locator("[role=alert]").first).to_contain_text("tcp")
        expect(sheet.page.locator("#overview table").first).to_be_visible()


def test_a_table_that_was_truncated_before_is_named_on_top(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(out=folder)
    for name in ("tcp", "drops"):
        whole = (folder / f"{name}.parquet").read_bytes()
        (folder / f"{name}.parquet").write_bytes(whole[: len(whole) // 2] if name == "tcp" else b"")
    with Viewer({"run": Results.load(folder)}) as viewer:
        sheet.open(viewer.address)
        alerts = sheet.page.locator("main > [role=alert]")
        expect(alerts).to_have_count(2)
        expect(alerts.first).to_contain_text("tcp.parquet")
        expect(alerts.last).to_contain_text("drops.parquet")
        expect(sheet.page.locator("#overview table").first).to_be_visible()
        assert sheet.wrong == []
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 1
    assert "tcp.parquet" in done.stderr or "drops.parquet" in done.stderr


def _cut(route: Any, folder: Path, whole: bytes) -> None:
    (folder / "tcp.parquet").write_bytes(whole[: len(whole) // 2])
    route.continue_()


def test_a_file_of_any_name_beside_the_tables_is_no_table(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    tables = {name: drive.table(name) for name in drive.table_names}
    tables['x"><img src=x onerror=window.hit=1>'] = drive.flows
    results = Results(Tables(json.dumps(drive.manifest), json.dumps(drive.summary), tables))
    sheet.opened(run_report(results), tmp_path)
    assert sheet.page.evaluate("window.hit") is None
    assert sheet.wrong == []


def test_a_table_that_was_removed_is_named_on_top(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(out=folder)
    (folder / "tcp.parquet").unlink()
    sheet.opened(run_report(Results.load(folder)), tmp_path)
    alerts = sheet.page.locator("main > [role=alert]")
    expect(alerts).to_have_count(1)
    expect(alerts).to_contain_text("'tcp' is missing")
    expect(sheet.page.locator("#overview table").first).to_be_visible()
    assert sheet.wrong == []
