"""Why a flow was slow, on the page: sentences, causes, and bands over time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Route, expect

import lasthop as lh
from lasthop import Results
from lasthop.explain import explain
from lasthop.report import run_report, runs_report
from lasthop.viewer import Viewer
from lasthop.viewer._explained import explained as explained_flows
from tests.viewer.conftest import Sheet, pointed, shown


def test_bands_of_causes_zoom_with_the_charts(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    sheet.opened(run_report(explained), tmp_path)
    page = sheet.page
    figure = page.locator("figure.bands")
    expect(figure).to_contain_text("What the time went into")
    budget = explain(explained).budget
    keys = figure.locator("li")
    expect(keys).to_have_count(8)
    first = budget.parts[0].cause
    expect(keys.first).to_contain_text(f"1{first.label} ({first.where})")
    # The bar of the budget has the same colour and the same mark.
    bar = page.locator(".causes i").first
    assert bar.inner_text() == "1"
    colours = [
        node.evaluate("n => getComputedStyle(n).backgroundColor") for node in (bar, keys.first.locator(".patch"))
    ]
    assert colours[0] == colours[1]
    over = figure.locator(".u-over")
    over.scroll_into_view_if_needed()
    # 5 s in intervals of 4.4 pixels: shorter ones are not asked for.
    keys.first.evaluate("n => n.dataset.old = '1'")
    page.keyboard.press("+")
    low, high = shown(sheet)
    expect(figure).to_contain_text("steps of 41.67 ms")
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    expect(page.locator(".bar output")).to_contain_text("at ")
    # The causes of these 5 s are others than those of the run. Their keys come after the pointer,
    # with its readings.
    expect(figure.locator("li[data-old]")).to_have_count(0)
    at = pointed(sheet)
    assert low < at < high
    timeline = budget.timeline
    assert timeline
    i = next(k for k, edge in enumerate(timeline.edges_ns[1:]) if at * 1e9 < edge)
    column = [row[i] for row in timeline.rows]
    reading = float(keys.first.locator(".reading").inner_text().removesuffix(" %"))
    assert reading == pytest.approx(column[0] / sum(column) * 100, abs=0.1)
    colour = keys.first.locator(".patch").evaluate("n => getComputedStyle(n).backgroundColor")
    page.get_by_title("Dark or light").click()
    expect(keys.first.locator(".patch")).not_to_have_css("background-color", colour)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert sheet.wrong == []


@pytest.mark.parametrize("served", [True, False])
def test_zooming_into_bands_asks_for_shorter_intervals(
    explained: Results, sheet: Sheet, tmp_path: Path, served: bool
) -> None:
    def step() -> float:
        found = re.search(r"in steps of ([\d.]+) (m?s)", sheet.page.locator("figure.bands").inner_text())
        assert found
        return float(found[1]) * (1e-3 if found[2] == "ms" else 1)

    with Viewer({"run": explained}) as viewer:
        if served:
            sheet.open(viewer.address)
        else:
            html = run_report(explained)
            assert len(html) < 3_000_000
            sheet.opened(html, tmp_path)
        over = sheet.page.locator("figure.bands .u-over")
        over.scroll_into_view_if_needed()
        coarse = step()
        for _ in range(5):
            sheet.page.keyboard.press("+")
        # 10 s in 240 intervals are 42 ms each; 0.3 s are seen then, and a file has 7680 intervals
        # of 1.3 ms.
        sheet.page.wait_for_function(
            "() => Number(/in steps of ([0-9.]+) ms/.exec(document.querySelector('figure.bands').innerText)?.[1]) < 5",
            timeout=20_000,
        )
        assert step() < 0.005 < coarse
        # What is read there is what the run's tables say of this time.
        low, high = shown(sheet)
        box = over.bounding_box()
        assert box
        sheet.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
        at = pointed(sheet)
        near = explain(explained, start_s=at - step(), end_s=at + step()).budget
        largest = max(near.parts, key=lambda p: p.ns)
        key = sheet.page.locator("figure.bands li", has_text=largest.cause.label).first
        assert low < at < high
        assert float(key.locator(".reading").inner_text().removesuffix(" %")) > 0
    assert sheet.wrong == []


def test_bands_of_several_flows_and_runs(sheet: Sheet, tmp_path: Path) -> None:
    scenario = lh.Scenario.load("lte-um-am").with_({"scenario.duration": "2 s"})
    runs = {"estimated": scenario.run(), "exact": scenario.with_({"output.explain": True}).run()}
    sheet.opened(runs_report(runs), tmp_path)
    figures = sheet.page.locator("figure.bands")
    expect(figures).to_have_count(2)
    expect(figures.first).to_contain_text(", estimated")
    expect(figures.last).not_to_contain_text("estimated")
    flows = runs["exact"].flows["flow"].to_pylist()
    assert len(flows) > 1
    choice = figures.last.get_by_label("Flow of the causes in exact")
    assert choice.locator("option").all_inner_texts() == flows
    for results, flow in ((runs["exact"], flows[1]), (runs["exact"], flows[0])):
        choice.select_option(flow)
        cause = explain(results, flow).budget.parts[0].cause
        text = f"{cause.label} ({cause.where})" if cause.where else cause.label
        expect(figures.last.locator("li").first).to_contain_text(text)
    assert sheet.wrong == []


def test_a_long_explanation_comes_after_the_charts(
    explained: Results, sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lasthop.viewer._explained.QUICK_ROWS", 10)
    with Viewer({"run": explained}) as viewer:
        sheet.open(viewer.address)
        for sentence in explain(explained).sentences:
            expect(sheet.page.locator("#why").get_by_text(sentence, exact=True)).to_be_visible()
        expect(sheet.page.locator("figure.bands .u-over")).to_be_visible()
        expect(sheet.page.locator("#why")).to_contain_text("All causes")
        assert sheet.wrong == []


def test_progress_of_a_long_explanation_is_shown(
    explained: Results, sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lasthop.viewer._explained.QUICK_ROWS", 10)
    held: list[Route] = []
    page = sheet.page
    with Viewer({"run": explained}) as viewer:
        page.route("**/explained/**", lambda route: held.append(route))  # noqa: PLW0108
        page.route("**/progress/**", lambda route: route.fulfill(json={"flow": "ftp", "part": 0.42}))
        sheet.open(viewer.address)
        expect(page.locator("#why")).to_contain_text("42 % after")
        assert page.locator("#why progress").evaluate("node => node.value") == 0.42
        before = page.locator("#overview").bounding_box()
        held[0].continue_()
        expect(page.locator("#why")).to_contain_text(explain(explained).sentences[0])
        expect(page.locator("#why progress")).to_have_count(0)
        assert page.locator("#overview").bounding_box() == before
        expect(page.get_by_text("Show all of it")).to_have_count(0)
    assert sheet.wrong == []


def test_what_is_longer_than_its_place_is_cut_until_it_is_asked_for(
    explained: Results, sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = [one for one in explained_flows(explained) if one["flow"] == "ftp"]
    long = [{**found, "sentences": [f"Sentence {n}." for n in range(40)]}]
    monkeypatch.setattr("lasthop.viewer._explained.QUICK_ROWS", 10)
    monkeypatch.setattr("lasthop.viewer._server.explained", lambda *_: long)
    page = sheet.page
    with Viewer({"run": explained}) as viewer:
        held: list[Route] = []
        page.route("**/explained/**", lambda route: held.append(route))  # noqa: PLW0108
        sheet.open(viewer.address)
        expect(page.locator("#why progress")).to_be_visible()
        before = page.locator("#overview").bounding_box()
        held[0].continue_()
        page.get_by_role("button", name="Show all of it").wait_for()
        assert page.locator("#overview").bounding_box() == before
        page.get_by_role("button", name="Show all of it").click()
        expect(page.get_by_text("Sentence 39.")).to_be_visible()
        assert page.locator("#overview").bounding_box() != before
        expect(page.get_by_text("Show all of it")).to_have_count(0)
    assert sheet.wrong == []


def test_an_estimate_says_at_once_how_to_be_exact(explained: Results, sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("umts-download").with_({"scenario.duration": "5 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    advice = sheet.page.locator(".why > p", has_text="output.explain=true")
    expect(advice).to_be_visible()
    expect(advice).to_contain_text("Estimated from samples")
    sheet.opened(run_report(explained), tmp_path)
    expect(sheet.page.locator(".why > p", has_text="output.explain=true")).to_have_count(0)


def test_why_a_flow_was_slow_stands_on_top(sheet: Sheet, tmp_path: Path) -> None:
    scenario = lh.Scenario.load("umts-download").with_({"scenario.duration": "10 s", "output.explain": True})
    run = scenario.run()
    found = explain(run)
    sheet.opened(run_report(run), tmp_path)
    first = sheet.page.locator("main > section").first
    expect(first.locator("h2")).to_have_text("Why")
    for sentence in found.sentences:
        expect(first.get_by_text(sentence, exact=True)).to_be_visible()
    first.get_by_text("All causes").click()
    rows = first.locator("tbody tr")
    expect(rows).to_have_count(len(found.budget.parts))
    expect(rows.first).to_contain_text(found.budget.parts[0].cause.label)
    shares = [float(row.locator("td").nth(1).inner_text()) for row in rows.all()]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert sheet.wrong == []


def test_an_explanation_says_each_sentence_once(sheet: Sheet, tmp_path: Path) -> None:
    run = lh.Scenario.load("dumbbell").with_({"scenario.duration": "5 s"}).run()
    sheet.opened(run_report(run), tmp_path)
    section = sheet.page.locator("#why")
    sentence = explain(run, "download-1").sentences[0]
    assert section.inner_text().count(sentence) == 1


def test_settings_that_are_advised_stand_apart(
    explained: Results, sheet: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are copied from the page.

    Without a space between them a shell has one argument too few.
    """
    once = explain(explained, "ftp")
    advice = replace(once.advice[0], changes=["a.b=1", "c.d=2"])
    monkeypatch.setattr("lasthop.explain.explain", lambda *_, **__: replace(once, advice=[advice]))
    sheet.opened(run_report(explained), tmp_path)
    text = sheet.page.locator(".why p", has_text="a.b=1").inner_text()
    assert "--set 'a.b=1' --set 'c.d=2'" in text
