"""The page in a real browser: each bundled scenario, screens, themes, keyboard.

And what it asks for.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, expect

import lasthop as lh
from lasthop import Results
from lasthop.report import run_report, runs_report
from lasthop.viewer import Viewer
from lasthop.viewer._index import differences
from tests.viewer.conftest import HANDOVER, Sheet, shown

BUNDLED = sorted(p.stem for p in (Path(lh.__file__).parent / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("name", BUNDLED)
def test_the_report_of_each_bundled_scenario_opens_and_is_used(name: str, sheet: Sheet, tmp_path: Path) -> None:
    results = lh.Scenario.load(name).with_({"scenario.duration": "1 s", "output.packets": True}).run()
    sheet.opened(run_report(results), tmp_path)
    page = sheet.page
    assert len(sheet.asked) == 1, "the file is all that is read"
    flows = page.locator("#overview table").first.locator("tbody tr")
    assert flows.count() == min(results.flows.num_rows, 40)
    if "tcp" in results.table_names and results.tcp.num_rows:
        expect(page.get_by_text("Congestion window", exact=True)).to_be_visible()
    # Zoom.
    page.get_by_title("Zoom in (+)").click()
    assert shown(sheet) == (0.25, 0.75)
    page.get_by_role("button", name="All", exact=True).click()
    assert shown(sheet) == (0, 1)
    # A packet.
    page.locator("canvas.ways").focus()
    page.keyboard.press("ArrowRight")
    shown_flow = page.get_by_label("Flow", exact=True)
    wanted = shown_flow.input_value() if shown_flow.count() else ""
    sent = (r for r in results.packets.to_pylist() if r["event"] == "sent" and wanted in ("", r["flow"]))
    expect(page.locator(".life caption")).to_contain_text(f"Packet {next(sent)['packet']} of ")
    # A filter.
    page.get_by_text("Show a table").click()
    page.locator("#tables select").select_option("flows")
    every = results.flows["flow"].to_pylist()
    page.get_by_label("Filter rows").fill(f"flow = {every[-1]}")
    expect(page.locator("#tables [role=status]")).to_contain_text(f"1 of {len(every)} row")
    # The other theme, and a small screen.
    page.get_by_title("Dark or light").click()
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, "nothing reaches beyond a small screen"
    assert sheet.wrong == []


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
    cells = [row.locator("th, td").all_text_contents() for row in what.locator("tbody tr").all()]
    assert cells == [["scenario", "dumbbell", "dumbbell"], ["seed", "1", "9"], ["duration", "2 s", "2 s"]]
    expect(table.locator("thead th").nth(2)).to_have_text("one")
    rates = [r.flows.to_pylist()[0]["goodput_bps"] for r in runs.values()]
    row = table.locator("tbody tr", has_text="Goodput").first
    change = (rates[1] / rates[0] - 1) * 100
    expect(row.locator("small")).to_contain_text(f"{change:+.3g}"[:4].replace("-", "−"))
    # The values of a column are below each other, whatever the difference beside them is.
    changes = [found.bounding_box() for found in table.locator("td small").all()]
    assert len({round(box["x"]) for box in changes if box is not None}) == 1
    assert len(changes) > 5
    assert sheet.wrong == []


def test_a_key_of_a_later_run_is_with_its_like() -> None:
    scenario = lh.Scenario.load("lte-handover").with_({"scenario.duration": "100 ms"})
    runs = [scenario.set("output.positions", True).run(), scenario.set("handover.trigger", "none").run()]
    keys = [row["key"] for row in differences(runs)["keys"]]
    groups = [key.partition(".")[0] for key in keys]
    assert {"handover.trigger", "output.positions"} <= {*keys}
    assert groups == sorted(groups, key=groups.index)


def test_columns_beyond_the_edge_show_in_a_shadow(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    """Also where the edge of the screen is the end of a column."""
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    flows = page.get_by_role("region", name="Flows")
    narrow = flows.evaluate("node => node.firstChild.getBoundingClientRect().width") - 150
    page.set_viewport_size({"width": int(narrow), "height": 800})

    def darkest() -> int:
        """Of the pixels at the right edge, in the margin above the table."""
        picture = Image.open(io.BytesIO(flows.screenshot())).convert("L")
        width, height = picture.size
        return min(picture.crop((width - 3, 0, width, height)).tobytes())

    heading = flows.locator("thead th").last
    expect(heading).not_to_be_in_viewport()
    flows.evaluate("node => node.querySelectorAll('*').forEach((n) => { n.style.visibility = 'hidden'; })")
    assert darkest() < 200
    flows.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
    assert darkest() > 240, "there are no more columns"


def test_unlike_runs_are_compared_with_a_remark(sheet: Sheet, tmp_path: Path) -> None:
    wired = lh.Scenario.load("dumbbell").with_({"scenario.duration": "2 s"})
    wifi = lh.Scenario.load("wifi-slow-station").with_({"scenario.duration": "3 s"}).run()
    sheet.opened(
        runs_report({"a": wired.run(), "b": wired.with_({"flow.download.tcp.cc": "bbr3"}).run(), "c": wifi}), tmp_path
    )
    page = sheet.page
    expect(page.locator("#comparison")).to_contain_text("runs of different scenarios")
    expect(page.locator("#comparison")).to_contain_text("have different durations")
    rows = page.get_by_role("region", name="Comparison of runs").locator("tbody tr")
    of = [row.locator("th, td").all_text_contents() for row in rows.all()]
    assert [row[2:4] for row in of if row[:2] == ["call", "Mean delay"]] == [["–", "–"]]
    # What one of them cannot drop it has not dropped 0 times.
    dropped = next(row for row in of if row[:2] == ["bottleneck.forward", "Dropped: queue-full"])
    assert int(dropped[2]) > 0
    assert dropped[4] == "–"
    what = page.get_by_role("region", name="Differences").locator("tbody tr", has_text="control of").first
    assert what.locator("th, td").all_text_contents() == ["control of download-1", "reno", "bbr3", "–"]
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


def test_three_runs_with_other_flows_and_durations_share_one_page(sheet: Sheet, tmp_path: Path) -> None:
    wired = lh.Scenario.load("dumbbell").with_({"scenario.duration": "2 s"})
    wifi = lh.Scenario.load("wifi-slow-station").with_({"scenario.duration": "3 s"})
    runs = {"short": wired.run(), "long": wired.with_({"scenario.duration": "4 s"}).run(), "air": wifi.run()}
    sheet.opened(runs_report(runs), tmp_path)
    page = sheet.page
    assert shown(sheet) == (0, 4), "the axis is that of the longest"

    def labels(title: str) -> list[str]:
        figure = page.locator("#series figure", has=page.get_by_text(title, exact=True))
        figure.scroll_into_view_if_needed()
        return sorted(text.strip() for text in figure.locator(".line-toggle").all_inner_texts())

    senders = [f"{run}: {flow}" for run, results in runs.items() for flow in set(results.tcp["flow"].to_pylist())]
    assert labels("Congestion window") == sorted(senders)
    ways = {(r["station"], r["direction"]) for r in runs["air"].wifi.to_pylist()}
    assert labels("Wi-Fi airtime") == sorted(f"air: {station} {way}" for station, way in ways)
    what = page.get_by_role("region", name="Differences").locator("tbody tr").all()
    rows = [row.locator("th, td").all_text_contents() for row in what]
    assert rows[:3] == [
        ["scenario", "dumbbell", "dumbbell", "wifi-slow-station"],
        ["seed", "1", "1", "1"],
        ["duration", "2 s", "4 s", "3 s"],
    ]
    # A number of a cause is of no other cause on the page.
    causes: dict[str, set[str]] = {}
    for key in page.locator("figure.bands li.key", has=page.locator("[data-colour]")).all():
        number = key.locator(".patch").inner_text()
        causes.setdefault(number, set()).add(key.evaluate("n => n.childNodes[1].textContent.split(' (')[0]"))
    assert len(causes) > 3
    assert all(len(names) == 1 for names in causes.values()), causes
    for run in runs:
        expect(page.locator("nav").get_by_role("link", name=run, exact=True)).to_have_count(1)
    assert sheet.wrong == []


def test_a_handover_is_marked_and_no_one_is_shut_out_of_it(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    start, end = HANDOVER
    sheet.opened(run_report(drive), tmp_path)
    page = sheet.page
    expect(page.locator("#series .legend")).to_have_text("handover")
    page.get_by_text("What the mark is").click()
    cells = page.get_by_role("region", name="Marks").locator("td").all_text_contents()
    assert cells == [f"{start:g} s", f"{(end - start) * 1e3:.4g} ms", "ue/car", "handover-start"]
    # Each chart has it: a band of the mark's colour from its start to its end.
    figures = page.locator("#series figure.panel")
    assert figures.count() > 8
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator("canvas")).to_have_count(1)
        area = figure.locator(".u-over").bounding_box()
        whole = figure.locator("canvas").bounding_box()
        assert area
        assert whole
        middle = area["x"] - whole["x"] + area["width"] * (start + end) / 2
        inside = figure.evaluate(PIXEL, [middle, area["y"] - whole["y"] + 3])
        outside = figure.evaluate(PIXEL, [middle - area["width"] * 0.03, area["y"] - whole["y"] + 3])
        assert inside != outside, figure.locator("figcaption").inner_text()
    # While it lasts the bar names it, wherever the cursor is in it.
    over = figures.nth(1).locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, box["y"] + 20)
    expect(page.locator(".bar output")).to_contain_text("ue/car handover-start")


#: The colour of a chart's canvas at a place in CSS pixels.
PIXEL = """(figure, [x, y]) => {
  const canvas = figure.querySelector("canvas");
  const context = canvas.getContext("2d");
  return [...context.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].join();
}"""


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
    assert "or use the arrow keys" in page.locator("#packets").inner_text()
    page.emulate_media(media="print")
    assert "or use the arrow keys" not in page.locator("#packets").inner_text(), "nothing can be pressed on paper"
    box = page.locator("#packets select").last.evaluate("s => getComputedStyle(s).borderTopWidth")
    assert box == "0px", "a choice has no box on paper"
    assert sheet.wrong == []
