"""The page in a real browser: each bundled scenario, screens, themes, keyboard.

And what it asks for.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

import lasthop as lh
from lasthop import Results
from lasthop.report import run_report, runs_report
from lasthop.viewer import Viewer
from tests.viewer.conftest import Sheet, shown

BUNDLED = sorted(p.stem for p in (Path(lh.__file__).parent / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("name", BUNDLED)
def test_the_report_of_each_bundled_scenario_opens(name: str, sheet: Sheet, tmp_path: Path) -> None:
    results = lh.Scenario.load(name).with_({"scenario.duration": "1 s"}).run()
    sheet.opened(run_report(results), tmp_path)
    assert sheet.wrong == []
    assert len(sheet.asked) == 1, "the file is all that is read"
    flows = sheet.page.locator("#overview table").first.locator("tbody tr")
    assert flows.count() == min(results.flows.num_rows, 40)
    if "tcp" in results.table_names and results.tcp.num_rows:
        expect(sheet.page.get_by_text("Congestion window", exact=True)).to_be_visible()


def test_a_run_in_real_time_shows_its_lateness(sheet: Sheet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lh.Scenario.load("dumbbell").with_({"scenario.duration": "1 s"}).run(folder)
    written = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    one = {"count": 5294, "p50_s": 104e-6, "p99_s": 0.014, "max_s": 0.04}
    for lateness, rows in (
        ({"departures": one, "entries": {"count": "many"}, "events": one}, ["packets out", "events"]),
        (["no", "object"], []),
    ):
        lost = {"lost_before_entry": {"server": 418, "phone": 0}, "lost_after_exit": ["no", "object"]}
        text = json.dumps({**written, "live": {"lateness": lateness, **lost}})
        (folder / "summary.json").write_text(text, encoding="utf-8")
        sheet.opened(run_report(Results.load(folder)), tmp_path)
        table = sheet.page.locator("#overview table", has_text="Lateness in real time")
        assert table.locator("tbody th").all_text_contents() == rows
        if rows:
            cells = table.locator("tbody tr").first.locator("td")
            assert cells.all_text_contents() == ["5,294", "104 µs", "14 ms", "40 ms"]
        expect(sheet.page.locator("#overview")).to_contain_text("418 packets of server were lost before they entered")
        expect(sheet.page.locator("#overview")).not_to_contain_text("phone were lost")
    assert sheet.wrong == []


def test_drops_have_their_direction_and_marks_their_names(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-rlc-um").with_({"scenario.duration": "5 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    drops = sheet.page.locator("#overview table", has_text="Drops of data and ACKs").locator("tbody tr")
    cells = [row.locator("td").all_text_contents() for row in drops.all()]
    assert sorted(c[0] for c in cells) == ["radio downlink", "radio uplink"]
    assert sum(int(c[3]) for c in cells) == run.drops.num_rows
    down = next(int(c[3]) for c in cells if c[0] == "radio downlink")
    assert down == run.flows["lost_dropped"][0].as_py()
    changes = lh.Scenario.load("change-during-run").run()
    sheet.opened(run_report(changes), tmp_path)
    sheet.page.get_by_text("What the 4 marks are").click()
    rows = sheet.page.get_by_role("region", name="Marks").locator("tbody tr").all()
    assert [[c.strip() for c in row.locator("td").all_text_contents()[1:]] for row in rows] == [
        ["flow/first", "rto"],
        ["link/path", "change"],
        ["link/path", "change"],
        ["flow/second", "flow-stop"],
    ]
    assert sheet.wrong == []


def test_nobody_is_shut_out(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    for theme in ("light", "dark"):
        sheet.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        found = Axe().run(sheet.page)
        assert found.violations_count == 0, found.generate_report()


def test_themes_and_widths(drive: Results, sheet: Sheet, browser: Browser, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_title("Dark or light").click()
    assert page.evaluate(paper) != light
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, "nothing reaches beyond a small screen"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.bar')).display") == "none"
    expect(page.locator("#tables")).to_be_hidden()
    assert sheet.wrong == []


def test_the_page_is_used_by_keyboard_alone(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.title") == "Zoom in (+)":
            break
    page.keyboard.press("Enter")
    assert shown(sheet) == (0.25, 0.75)
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "the focus can be seen"


def test_runs_are_compared(sheet: Sheet, tmp_path: Path) -> None:
    scenario = lh.Scenario.load("dumbbell").with_({"scenario.duration": "2 s"})
    runs = {"one": scenario.run(), "two": scenario.with_({"scenario.seed": 9}).run()}
    sheet.opened(runs_report(runs), tmp_path)
    expect(sheet.page.locator("h1")).to_have_text("one, two · Lasthop")
    what, table = (sheet.page.get_by_role("region", name=name) for name in ("Differences", "Comparison of runs"))
    told = [row.locator("th, td").all_text_contents() for row in what.locator("tbody tr").all()]
    assert told == [["scenario", "dumbbell", "dumbbell"], ["seed", "1", "9"], ["duration", "2 s", "2 s"]]
    expect(table.locator("thead th").nth(2)).to_have_text("one")
    rates = [r.flows.to_pylist()[0]["goodput_bps"] for r in runs.values()]
    row = table.locator("tbody tr", has_text="Goodput").first
    change = (rates[1] / rates[0] - 1) * 100
    expect(row.locator("small")).to_contain_text(f"{change:+.3g}"[:4].replace("-", "−"))
    assert sheet.wrong == []


def test_unlike_runs_are_compared_with_a_remark(sheet: Sheet, tmp_path: Path) -> None:
    wired = lh.Scenario.load("dumbbell").with_({"scenario.duration": "2 s"})
    wifi = lh.Scenario.load("wifi-slow-station").with_({"scenario.duration": "3 s"}).run()
    sheet.opened(
        runs_report({"a": wired.run(), "b": wired.with_({"flow.download.tcp.cc": "bbr3"}).run(), "c": wifi}), tmp_path
    )
    page = sheet.page
    expect(page.locator("#comparison")).to_contain_text("runs of different scenarios")
    expect(page.locator("#comparison")).to_contain_text("last differently long")
    rows = page.get_by_role("region", name="Comparison of runs").locator("tbody tr")
    of = [row.locator("th, td").all_text_contents() for row in rows.all()]
    assert [row[2:4] for row in of if row[:2] == ["call", "Mean delay"]] == [["–", "–"]]
    # Airtime is a share of the run's three seconds.
    share = (
        sum(r["airtime_s"] for r in wifi.wifi.to_pylist() if (r["station"], r["direction"]) == ("far", "downlink")) / 3
    )
    line = next(row for row in of if row[:2] == ["far downlink", "Airtime"])
    assert float(line[4].split()[0]) == pytest.approx(share * 100, rel=0.01)
    # Marks of a run are in the charts that have its lines, and its parts are in the navigation.
    page.locator("nav").get_by_role("link", name="c", exact=True).click()
    assert page.locator("details.run").nth(2).evaluate("node => node.open")
    assert sheet.wrong == []


def test_a_small_screen_and_axe_with_all_open(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    page.locator("canvas.ways").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".life caption")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    expect(page.get_by_label("Filter rows")).to_be_visible()
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing reaches beyond the screen"
        for theme in ("light", "dark"):
            page.evaluate(
                f"document.documentElement.dataset.theme = '{theme}'; document.dispatchEvent(new Event('theme'))"
            )
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()


#: What has the focus: its element, and its title, label or text.
FOCUSED = """(() => {
  const node = document.activeElement;
  return `${node.tagName} ${node.title || node.getAttribute("aria-label") || node.innerText}`.trim();
})()"""


def test_everything_can_be_reached_and_used_by_keyboard(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        name = page.evaluate(FOCUSED)
        reached.append(name)
        if name.startswith("CANVAS Packets"):
            page.keyboard.press("ArrowRight")
            expect(page.locator(".life caption")).to_contain_text("Packet 0")
        if name == "SUMMARY Show a table":
            page.keyboard.press("Enter")
            expect(page.get_by_label("Filter rows")).to_be_visible()
        if name.startswith("INPUT Filter rows"):
            page.keyboard.type("no such name")
            expect(page.get_by_text(re.compile(r"^0 of"))).to_be_visible()
            break
        shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert shown != "none" or name.startswith("BODY"), f"the focus on {name!r} can be seen"
    else:
        pytest.fail(f"the filter was not reached: {reached}")
    for wanted in (
        "BUTTON Dark or light",
        "A Time series",
        "BUTTON Zoom in (+)",
        "SUMMARY All causes",
        "CANVAS Packets",
    ):
        assert any(name.startswith(wanted) for name in reached), wanted


def test_a_served_run_asks_this_machine_alone(drive: Results, sheet: Sheet) -> None:
    with Viewer({"drive": drive}) as viewer:
        sheet.open(viewer.address)
        sheet.page.wait_for_selector("canvas.ways")
        assert sheet.wrong == []
        assert all(url.startswith((viewer.address, "data:")) for url in sheet.asked)
        assert len(sheet.asked) > 3


def test_on_paper_charts_have_the_width_of_the_page(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    """A4 within margins of 12 mm is 703 CSS pixels wide.

    Charts are drawn for it, also from a small screen.
    """
    sheet.page.set_viewport_size({"width": 400, "height": 800})
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    page.wait_for_selector(".u-wrap")
    # Nothing below was ever in sight.
    assert page.locator("canvas.ways").evaluate("c => c.width") == 300, "the canvas as HTML makes it"
    widths = "[...document.querySelectorAll('.chart .u-wrap')].map((c) => c.offsetWidth)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert set(page.evaluate(widths)) == {700}
    assert len(page.evaluate(widths)) == page.locator(".chart").count()
    assert page.locator("canvas.ways").evaluate("c => c.width") > 300, "packets are drawn, too"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert max(page.evaluate(widths)) < 400
    page.emulate_media(media="print")
    box = page.locator("#packets select").last.evaluate("s => getComputedStyle(s).borderTopWidth")
    assert box == "0px", "a choice has no box on paper"
    assert sheet.wrong == []
