"""The charts of the page: time, cursor, lines that are chosen, and what is not recorded."""

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
from tests.viewer.conftest import Sheet, pointed, shown


def test_charts_zoom_together_by_button_key_wheel_and_drag(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    assert shown(sheet) == (0, 1)
    page.get_by_title("Zoom in (+)").click()
    assert shown(sheet) == (0.25, 0.75)
    page.keyboard.press("ArrowRight")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    low, high = shown(sheet)
    assert high - low == pytest.approx(0.5)
    assert low > 0.25
    page.get_by_role("button", name="All").click()
    assert shown(sheet) == (0, 1)
    over = page.locator(".u-over").nth(1)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20, steps=4)
    page.mouse.up()
    page.mouse.move(2, 2)
    low, high = shown(sheet)
    assert low == pytest.approx(0.25, abs=0.02)
    assert high == pytest.approx(0.75, abs=0.02)
    assert sheet.wrong == []


def test_the_cursor_reads_every_chart(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    over = page.locator(".u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    expect(page.locator(".bar output")).to_contain_text("at 0.")
    figure = page.locator("figure", has_text="Congestion window")
    reading = figure.locator(".reading").first.inner_text()
    at = pointed(sheet)
    rows = [r for r in drive.tcp.to_pylist() if r["time_s"] <= at]
    assert float(reading.split()[0]) == pytest.approx(rows[-1]["snd_cwnd"], rel=1e-3)
    # The dot is at the cursor, at the height of the value that is read.
    dot = figure.locator(".dot").bounding_box()
    area = figure.locator(".u-over").bounding_box()
    assert dot
    assert area
    assert dot["x"] + 3 - area["x"] == pytest.approx(at * area["width"], abs=1.5)
    top = max(r["snd_cwnd"] for r in drive.tcp.to_pylist()) * 1.05
    assert area["y"] + area["height"] - dot["y"] - 3 == pytest.approx(
        float(reading.split()[0]) / top * area["height"], abs=1.5
    )


def test_flows_without_tcp_are_charted_from_windows(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-qos").with_({"scenario.duration": "1 s", "output.windows": "100 ms"}).run()
    sheet.opened(run_report(run), tmp_path)
    figure = sheet.page.locator("figure", has_text="Packets delivered in each window")
    figure.scroll_into_view_if_needed()
    flows = sorted({r["flow"] for r in run.windows.to_pylist()})
    assert sorted(t.strip() for t in figure.locator(".line-toggle").all_inner_texts()) == flows
    box = figure.locator(".u-over").bounding_box()
    assert box
    sheet.page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20)
    at = pointed(sheet)
    label = figure.locator(".line-toggle").first.inner_text().split()[0]
    row = [r for r in run.windows.to_pylist() if r["flow"] == label and r["start_s"] <= at][-1]
    rate = row["delivered_bytes"] * 8e-6 / (row["end_s"] - row["start_s"])
    assert float(figure.locator(".reading").first.inner_text().split()[0]) == pytest.approx(rate, rel=1e-3)


def test_airtime_is_of_an_interval_also_after_intervals_without_traffic(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("wifi-download").with_({"scenario.duration": "1 s"}).run()
    # A station without traffic has no row: leave out every second interval.
    wifi = run.wifi.filter(pa.array([round(t * 10) % 2 == 0 for t in run.wifi["time_s"].to_pylist()]))
    tables = {name: run.table(name) for name in run.table_names} | {"wifi": wifi}
    sheet.opened(run_report(Results(Tables(json.dumps(run.manifest), json.dumps(run.summary), tables))), tmp_path)
    page = sheet.page
    figure = page.locator("figure", has_text="Wi-Fi airtime")
    figure.scroll_into_view_if_needed()
    box = figure.locator(".u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 20)
    expect(page.locator(".bar output")).to_contain_text("at 0.")
    at = pointed(sheet)
    label = figure.locator(".line-toggle").first.inner_text()
    first = wifi.to_pylist()[0]
    assert label.startswith(f"{first['station']} {first['direction']}")
    key = (first["station"], first["direction"])
    last = [r for r in wifi.to_pylist() if (r["station"], r["direction"]) == key and r["time_s"] <= at][-1]
    interval = 0.1
    reading = float(figure.locator(".reading").first.inner_text().split()[0])
    assert reading == pytest.approx(last["airtime_s"] / interval * 100, rel=1e-3)


def test_lines_of_many_are_chosen_by_name(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.5 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    figure = sheet.page.locator("figure", has_text="Congestion window [")
    expect(figure.locator(".line-toggle")).to_have_count(12)
    expect(figure).to_contain_text("30 more are not drawn")
    sheet.page.get_by_role("searchbox", name="Lines").fill("DOWNLOAD-4")
    expect(figure.locator(".line-toggle")).to_have_text([re.compile(f"^download-{n}\\s*$") for n in (4, 40, 41, 42)])
    sheet.page.get_by_role("searchbox", name="Lines").fill("nobody")
    expect(figure).to_contain_text("No line has this name.")
    queues = sheet.page.locator("figure", has_text="Queues of links")
    expect(queues).not_to_contain_text("No line")
    sheet.page.get_by_role("searchbox", name="Lines").fill("")
    expect(figure.locator(".u-over")).to_have_count(1)
    assert sheet.wrong == []


def test_what_is_not_recorded_is_said_once_with_the_key_that_records_it(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-qos").with_({"scenario.duration": "1 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    expect(sheet.page.locator("#series > p.mute").last).to_have_text(
        re.compile("^call: no chart .*output.windows=100 ms")
    )
    expect(sheet.page.locator("#packets")).to_contain_text("--set output.packets=true")
    with_both: dict[str, bool | str] = {"scenario.duration": "1 s", "output.windows": "100 ms", "output.packets": True}
    sheet.opened(run_report(lh.Scenario.load("lte-qos").with_(with_both).run()), tmp_path)
    expect(sheet.page.locator("#series")).not_to_contain_text("no chart")
    expect(sheet.page.locator("#packets")).not_to_contain_text("output.packets")


def test_a_media_call_has_its_rates_and_frames(sheet: Sheet, tmp_path: Path) -> None:
    """It has no TCP: the table `media` has what it wanted and what arrived."""
    run = lh.Scenario.load("media-call").with_({"scenario.duration": "5 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    series = sheet.page.locator("#series")
    for title in ("Target rate of the media rate control", "Media as received", "Mean delay of media frames"):
        expect(series.locator("figcaption", has_text=title)).to_have_count(1)
    expect(series).not_to_contain_text("no chart of throughput")
    assert sheet.wrong == []
