"""Packets and tables on the page: followed through the layers, and kept in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import expect

import lasthop as lh
from lasthop import Results
from lasthop._results import Tables
from lasthop.report import run_report
from lasthop.viewer import Viewer
from lasthop.viewer._explained import explainable
from tests.viewer.conftest import Sheet, shown


def test_a_table_is_filtered(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    page.get_by_text("Show a table").click()
    page.locator("#tables select").select_option("tcp")
    expect(page.get_by_text(f"{drive.tcp.num_rows} of {drive.tcp.num_rows} rows")).to_be_visible()
    page.get_by_label("Filter rows").fill("snd_cwnd > 40 and flow = download")
    wanted = sum(r["snd_cwnd"] > 40 and r["flow"] == "download" for r in drive.tcp.to_pylist())
    expect(page.get_by_text(f"{wanted} of {drive.tcp.num_rows} rows")).to_be_visible()
    page.get_by_label("Filter rows").fill("snd_cwd > 40")
    expect(page.get_by_text("The table has no column 'snd_cwd'.")).to_be_visible()
    lefts = "(row) => [...row.querySelectorAll('span')].map((s) => s.getBoundingClientRect().left)"
    head, first = (page.locator(f"#tables {row}").first.evaluate(lefts) for row in (".grid-head", ".grid-space > div"))
    assert first == pytest.approx(head), "columns are below their heads"


def test_packets_are_zoomed_where_they_are_drawn(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    canvas = page.locator("canvas.ways")
    canvas.focus()
    page.keyboard.press("+")
    page.wait_for_function("() => document.querySelector('output').textContent === '0.25 s to 0.75 s'")
    page.keyboard.press("0")
    page.wait_for_function("() => document.querySelector('output').textContent === '0 s to 1 s'")
    box = canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 40
    page.mouse.move(x, y)
    expect(page.locator(".ways-cursor")).to_be_visible()
    page.mouse.down()
    page.mouse.move(x + 120, y)
    expect(page.locator(".ways-selection")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".ways-selection")).to_be_hidden()
    page.mouse.move(0, 0)
    page.wait_for_timeout(100)
    low, high = shown(sheet)
    assert 0.4 < low < high < 0.75
    assert page.locator(".life caption").count() == 0, "a drag chooses no packet"
    page.mouse.dblclick(x, y)
    page.mouse.move(0, 0)
    page.wait_for_timeout(100)
    assert shown(sheet) == (0, 1)
    assert sheet.wrong == []


def test_what_is_sent_at_the_last_moment_is_among_the_packets_of_the_run(
    drive: Results, sheet: Sheet, tmp_path: Path
) -> None:
    sent = [row["time_s"] for row in drive.packets.to_pylist() if row["event"] == "sent"]
    assert max(sent) == 1, "the run ends then"
    sheet.opened(run_report(drive), tmp_path)
    expect(sheet.page.locator("#packets")).to_contain_text(f"{len(sent):,} packets between 0 s and 1 s")
    overview = sheet.page.locator("#overview tr", has=sheet.page.get_by_text("Sent", exact=True))
    expect(overview.locator("td").first).to_have_text(f"{len(sent):,}")


def test_a_packet_is_followed_by_keyboard(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    canvas = page.locator("canvas.ways")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".life caption")).to_contain_text("Packet 0 of download")
    rows = page.locator(".life tbody tr")
    expect(rows.first).to_contain_text("sent at server")
    steps = sum(r["packet"] == 0 for r in drive.steps.to_pylist())
    events = sum(r["packet"] == 0 for r in drive.packets.to_pylist())
    expect(rows).to_have_count(steps + events)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".life caption")).not_to_contain_text("Packet 0 of")
    expect(page.get_by_text("output.explain = true").last).to_be_visible()


def test_packets_are_drawn_through_the_layers_where_the_run_has_recorded_them(
    explained: Results, drive: Results, sheet: Sheet, tmp_path: Path
) -> None:
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    page.locator("canvas.ways").scroll_into_view_if_needed()
    senders = {r["packet"]: r["node"] for r in explained.packets.to_pylist() if r["event"] == "sent"}
    lanes = {(r["stage"], r["where"], senders[r["packet"]]) for r in explained.stages.to_pylist()}
    page.wait_for_function(f"() => document.querySelector('canvas.ways').clientHeight === {len(lanes) * 22 + 62}")
    layered = page.locator("canvas.ways").screenshot()
    page.get_by_label("Drawn").select_option("nodes")
    page.wait_for_function("() => document.querySelector('canvas.ways').clientHeight === 142")
    assert page.locator("canvas.ways").screenshot() != layered
    sheet.opened(run_report(drive), tmp_path)
    expect(page.locator("#packets")).to_contain_text("output.explain=true")
    assert sheet.wrong == []


def test_a_packet_is_followed_from_its_writing_to_its_acknowledgement(explained: Results, sheet: Sheet) -> None:
    with Viewer({"run": explained}) as viewer:
        sheet.open(viewer.address)
        page = sheet.page
        page.locator("canvas.ways").focus()
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        expect(page.locator(".life caption")).to_contain_text("Packet 8 of ftp")
        shown = [row.locator("td").all_inner_texts() for row in page.locator(".life tbody tr").all()]
    rows = [r for r in explained.packets.to_pylist() if r["packet"] == 8]
    sent, received = rows[0], rows[-1]
    stages = [r for r in explained.stages.to_pylist() if r["packet"] == 8]
    words = [row[3] for row in shown]
    for stage in stages:
        row = shown[words.index(f"{stage['stage']} ({stage['where']})")]
        assert float(row[1].removesuffix(" ms")) == pytest.approx(
            (stage["start_ns"] - sent["time_s"] * 1e9) / 1e6, abs=1e-3
        )
        assert float(row[2].removesuffix(" ms")) == pytest.approx((stage["end_ns"] - stage["start_ns"]) / 1e6, abs=1e-3)
    written = next(w for w in words if w.startswith("written by the application"))
    assert words.index(written) < words.index("sent at server") < words.index("received at ue")
    assert "in order at ue: the application can read it" in words
    end = sent["seq"] + sent["len"]
    ack = next(
        r
        for r in explained.packets.to_pylist()
        if r["event"] == "received" and r["node"] == "server" and r["ack"] is not None and r["ack"] >= end
    )
    assert f"acknowledged to server by packet {ack['packet']}" in words
    assert received["event"] == "received"
    assert sheet.wrong == []


def test_a_long_run_keeps_the_packets_of_some_stretches(long: Results, sheet: Sheet, tmp_path: Path) -> None:
    html = run_report(long)
    assert len(html) < 3_000_000
    sheet.opened(html, tmp_path)
    page = sheet.page
    notice = page.locator(".excerpt")
    expect(notice).to_contain_text("lasthop view shows all of them")
    handover = notice.get_by_role("button", name=re.compile("handover"))
    found = re.search(r"([\d.]+) s to ([\d.]+) s", handover.inner_text())
    assert found
    handover.click()
    low, high = shown(sheet)
    assert low == pytest.approx(float(found[1]), rel=1e-3)
    assert high == pytest.approx(float(found[2]), rel=1e-3)
    # Within the shown stretch, whose ends are rounded: packets leave at whole milliseconds.
    low, high = int(low * 1000 + 1) / 1000 + 0.0005, int(high * 1000) / 1000 - 0.0005
    all_packets = [r for r in long.packets.to_pylist() if r["event"] == "sent" and low <= r["time_s"] < high]
    expect(page.get_by_text(re.compile(r"packets of this file between"))).to_be_visible()
    # Every packet of the stretch is there: `Tables` has as many sent ones as the run.
    page.get_by_text("Show a table").click()
    page.locator("#tables select").select_option("packets")
    page.get_by_label("Filter rows").fill(f"event = sent and time_s >= {low} and time_s < {high}")
    expect(page.get_by_text(re.compile(rf"^{len(all_packets):,} of [\d,]+ rows"))).to_be_visible()
    assert sheet.wrong == []


def test_of_many_flows_one_is_drawn_with_its_lanes(sheet: Sheet, tmp_path: Path) -> None:
    """All 42 downloads through the layers would have some seven hundred lanes."""
    run = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.6 s", "output.explain": True}).run()
    sheet.opened(run_report(run), tmp_path)
    packets = sheet.page.locator("#packets")
    first = sheet.page.locator("#why summary").first.inner_text().split(":")[0]
    expect(packets.get_by_label("Flow", exact=True)).to_have_value(first)
    packets.scroll_into_view_if_needed()
    expect(packets.locator("canvas.ways")).to_have_attribute("style", re.compile(r"height: \d{3}px"))
    assert sheet.wrong == []


def test_the_largest_flow_is_explained_first(sheet: Sheet, tmp_path: Path) -> None:
    """A control connection comes before a transfer in the table.

    Flows of one size keep its order.
    """
    run = lh.Scenario.load("dumbbell").with_({"scenario.duration": "5 s"}).run()

    def order(octets: list[int]) -> list[str]:
        tables = {name: run.table(name) for name in run.table_names}
        flows = tables["flows"]
        at = flows.column_names.index("app_bytes")
        tables["flows"] = flows.set_column(at, flows.schema.field(at), pa.array(octets, flows.schema.field(at).type))
        made = Results(Tables(json.dumps(run.manifest), json.dumps(run.summary), tables))
        return list(explainable(made)["flows"])

    assert order([500, 600, 700]) == ["download-1", "download-2", "download-3"]
    assert order([37, 500, 600]) == ["download-3", "download-1", "download-2"]
    sheet.opened(run_report(run), tmp_path)
    expect(sheet.page.locator("#why")).not_to_contain_text("more flow")
