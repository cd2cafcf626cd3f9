"""The map of the page: what it draws, what it lacks, and its names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import lasthop as lh
from lasthop import Results
from lasthop._results import Tables
from lasthop.report import run_report
from lasthop.viewer._index import index
from tests.viewer.conftest import HANDOVER, Sheet


def test_a_map_says_what_it_lacks(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-handover").with_({"scenario.duration": "1 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    expect(sheet.page.locator("#map")).to_contain_text("car: not drawn")
    expect(sheet.page.locator("#map code")).to_have_text("--set output.positions=true")
    assert sheet.page.locator("#map input").count() == 0, "nothing moves with the time"
    sheet.opened(run_report(drive), tmp_path)
    expect(sheet.page.locator("#map")).not_to_contain_text("not drawn")
    expect(sheet.page.locator("#map circle:not(.map-trails *)")).to_have_count(1)
    # Who stands still has a place, and is no one who moves.
    wifi = lh.Scenario.load("wifi-download").with_({"scenario.duration": "1 s"}).run()
    sheet.opened(run_report(wifi), tmp_path)
    assert {t.strip() for t in sheet.page.locator("#map text").all_text_contents()} >= {"home", "phone"}
    expect(sheet.page.locator("#map")).not_to_contain_text("not drawn")
    # Its access point serves it.
    assert sheet.page.locator("#map line[x2][stroke]").count() == 1
    # One place alone.
    text = str(run.manifest["scenario"])
    alone = re.sub(r"\[cell\.east.*?(?=\n\[[a-z])", "", text, flags=re.DOTALL)
    tables = {name: run.table(name) for name in run.table_names}
    sheet.opened(
        run_report(Results(Tables(json.dumps({**run.manifest, "scenario": alone}), json.dumps(run.summary), tables))),
        tmp_path,
    )
    expect(sheet.page.locator("#map")).to_contain_text("west alone has a position")
    assert sheet.wrong == []


def test_the_map_has_the_handovers(drive: Results, sheet: Sheet, tmp_path: Path) -> None:
    """The track changes its colour where the cell changes; the slider has a tick at that time."""
    start, _ = HANDOVER
    sheet.opened(run_report(drive), tmp_path)
    drawn = sheet.page.locator("#map")
    trails = drawn.locator(".map-trails polyline")
    expect(trails).to_have_count(2)
    assert trails.nth(0).get_attribute("stroke") != trails.nth(1).get_attribute("stroke")
    expect(drawn.locator("text", has_text="west → east")).to_have_count(1)
    tick = drawn.locator(".slider line")
    assert float(tick.get_attribute("x1") or "nan") == pytest.approx(start * 1000, rel=1e-6)
    # The link of the car goes to the cell that serves it.
    ends = []
    for at in (start - 0.2, start + 0.2):
        drawn.locator("input").fill(f"{at:.3f}")
        ends.append(drawn.locator("line[x2][stroke]").get_attribute("x2"))
    assert ends[0] != ends[1]
    # The bar names the mark under the cursor.
    drawn.locator("input").fill(f"{start:.3f}")
    expect(sheet.page.locator(".bar output")).to_contain_text("ue/car handover-start")
    assert sheet.wrong == []


def test_the_map_has_the_cells_of_a_layout(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.3 s", "output.positions": True}).run()
    sheet.opened(run_report(run), tmp_path)
    drawn = sheet.page.locator("#map")
    expect(drawn.locator("path")).to_have_count(21)
    # The sectors of a site have one name.
    assert {f"macro-{k}" for k in range(1, 8)} <= {t.strip() for t in drawn.locator("text").all_text_contents()}
    expect(drawn.locator("circle")).to_have_count(42)
    expect(drawn.locator("line[x2]")).to_have_count(42 + 1)  # a link for each phone, and the scale
    expect(drawn).to_contain_text("The ground is repeated")
    # Without positions the sites are there, and what is missing is named.
    still = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.3 s"}).run()
    sheet.opened(run_report(still), tmp_path)
    expect(drawn.locator("path")).to_have_count(21)
    expect(drawn).to_contain_text("phone: not drawn")
    assert sheet.wrong == []


def test_a_run_of_an_earlier_version_says_whose_places_it_lacks(sheet: Sheet, tmp_path: Path) -> None:
    """Its manifest has no `places`: without UEs that are recorded there is nothing else to draw."""
    run = lh.Scenario.load("lte-7-sites").with_({"scenario.duration": "0.3 s"}).run()
    manifest = {key: value for key, value in run.manifest.items() if key != "places"}
    tables = {name: run.table(name) for name in run.table_names}
    older = Results(Tables(json.dumps(manifest), json.dumps(run.summary), tables))
    assert index({"a": older})["runs"][0]["unplaced"] == ["the cells of macro"]
    assert index({"a": run})["runs"][0]["unplaced"] == []
    sheet.opened(run_report(older), tmp_path)
    expect(sheet.page.locator("#map")).to_contain_text("Not drawn: the cells of macro")
    sheet.opened(run_report(run), tmp_path)
    expect(sheet.page.locator("#map")).not_to_contain_text("Not drawn")
    assert sheet.wrong == []


#: Pairs of names on the map that lie over each other, and names beyond its edge.
CROWDED = """(() => {
  const map = document.querySelector("svg.map").getBoundingClientRect();
  const texts = [...document.querySelectorAll("#map text")];
  const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
  const isCut = (b) => b.left < map.left - 1 || b.right > map.right + 1;
  const found = boxes.filter(([, b]) => isCut(b)).map(([name]) => name);
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const isBeside = a.left >= b.right - 1 || b.left >= a.right - 1;
    if (!isBeside && a.top < b.bottom - 3 && b.top < a.bottom - 3) found.push(`${one} and ${other}`);
  }));
  return found;
})()"""


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["lte-um-am", "sidelink-multicast"])
def test_names_on_the_map_are_not_over_each_other(name: str, width: int, sheet: Sheet, tmp_path: Path) -> None:
    sheet.page.set_viewport_size({"width": width, "height": 900})
    run = lh.Scenario.load(name).with_({"scenario.duration": "1 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    sheet.page.locator("#map").scroll_into_view_if_needed()
    assert sheet.page.locator("#map text").count() > 2
    assert sheet.page.evaluate(CROWDED) == []
