"""What the page makes of hostile results: markup in names, empty and damaged tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
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
        expect(sheet.page.locator("[role=alert]")).to_have_count(1)
        expect(sheet.page.locator("[role=alert] p")).to_have_count(1)
        expect(sheet.page.locator("[role=alert]")).to_contain_text("tcp.parquet")
        expect(sheet.page.locator("#overview table").first).to_be_visible()
        # Of the charts those of the other tables are there.
        titles = sheet.page.locator("#series figcaption strong").all_inner_texts()
        assert "Queues of links" in titles
        assert "Congestion window" not in titles


def test_a_viewer_that_ended_is_said_once(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(out=folder)
    with Viewer({"run": Results.load(folder)}) as viewer:
        sheet.page.route("**/table/**", lambda route: route.abort())
        sheet.page.route("**/explained/**", lambda route: route.abort())
        sheet.open(viewer.address)
        alerts = sheet.page.locator("[role=alert]", has_text="The server does not answer")
        expect(alerts).to_have_count(1)
        expect(alerts).to_contain_text("flows")
        for name in ("Overview", "Time series", "Tables"):
            expect(sheet.page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_a_table_that_was_truncated_before_is_named_on_top(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(out=folder)
    for name in ("tcp", "drops"):
        whole = (folder / f"{name}.parquet").read_bytes()
        (folder / f"{name}.parquet").write_bytes(whole[: len(whole) // 2] if name == "tcp" else b"")
    with Viewer({"run": Results.load(folder)}) as viewer:
        sheet.open(viewer.address)
        served = _damage(sheet)
        assert ["tcp.parquet" in text for text in served] == [True, False]
        assert ["drops.parquet" in text for text in served] == [False, True]
        expect(sheet.page.locator("#overview table").first).to_be_visible()
        assert sheet.wrong == []
    # A report shows and says the same.
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 0
    assert [name in done.stderr for name in ("tcp.parquet", "drops.parquet")] == [True, True]
    sheet.open((folder / "report.html").as_uri())
    assert sorted(_damage(sheet)) == sorted(served)
    expect(sheet.page.locator("#overview table").first).to_be_visible()
    assert sheet.wrong == []


def test_packets_without_their_damaged_stages_are_shown(sheet: Sheet, tmp_path: Path) -> None:
    """The body of the table is damaged, its schema is not."""
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s", "output.explain": True}).run(out=folder)
    whole = bytearray((folder / "stages.parquet").read_bytes())
    whole[4:4000] = bytes(3996)
    (folder / "stages.parquet").write_bytes(whole)
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 0
    assert "stages.parquet" in done.stderr
    sheet.open((folder / "report.html").as_uri())
    assert ["stages.parquet" in text for text in _damage(sheet)] == [True]
    sheet.page.locator("canvas.ways").focus()
    sheet.page.keyboard.press("ArrowRight")
    expect(sheet.page.locator(".life caption")).to_contain_text("Packet 0")
    assert sheet.wrong == []


def _damage(sheet: Sheet) -> list[str]:
    """What the one alert of the page says."""
    alert = sheet.page.locator("[role=alert]")
    expect(alert).to_have_count(1)
    return alert.locator("p").all_inner_texts()


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
    with pytest.warns(UserWarning, match="'tcp' is missing"):
        sheet.opened(run_report(Results.load(folder)), tmp_path)
    (said,) = _damage(sheet)
    assert "'tcp' is missing" in said
    expect(sheet.page.locator("#overview table").first).to_be_visible()
    # Several are named in one sentence.
    for name in ("drops", "queues"):
        (folder / f"{name}.parquet").unlink()
    with pytest.warns(UserWarning, match="3 tables are missing"):
        sheet.opened(run_report(Results.load(folder)), tmp_path)
    (said,) = _damage(sheet)
    assert all(f"'{name}'" in said for name in ("tcp", "drops", "queues"))
    assert sheet.wrong == []
