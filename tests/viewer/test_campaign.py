"""The page of a campaign: small multiples with a cursor, and the report as one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import expect

from lasthop.campaign.results import CampaignResults
from lasthop.campaign.tidy import tidy
from lasthop.cli import main
from lasthop.viewer import Viewer
from tests.viewer.conftest import Sheet

SWEEP = (
    "--axis", "flow.download.tcp.cc=reno,cubic",
    "--axis", "link.bottleneck.rate=2 Mbit/s,10 Mbit/s",
    "--metric", 'g=flow("download-1").goodput_bps',
    "--seeds", "2",
)  # fmt: skip


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    done = CliRunner().invoke(
        main,
        ["sweep", "--base", "dumbbell", "--set", "scenario.duration=1 s", *SWEEP, "--out", str(folder / "out")],
    )
    assert done.exit_code == 0, done.output
    return folder / "out"


def test_a_campaign_is_small_multiples_with_a_cursor(swept: Path, sheet: Sheet) -> None:
    results = CampaignResults.load(swept)
    with Viewer({}, campaign=results) as viewer:
        sheet.open(viewer.address)
        page = sheet.page
        page.locator(".multiples").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".choices output")).to_have_text(re.compile("rate 2"))
        shown = page.locator(".values").first.inner_text()
        estimates = tidy(results).estimates("g", 0.95)
        mean = next(e.mean for labels, e in estimates.items() if labels[0] == "reno")
        assert f"{mean / 1e6:.4g}" in shown
        assert page.locator(".multiple circle").count() == 4
        key = page.locator(".values .key").first
        swatch, whole = (found.bounding_box() for found in (key.locator("svg"), key))
        assert swatch is not None
        assert whole is not None
        assert swatch["width"] < whole["width"] / 2, "the key of a value is a short line before it"
        assert whole["height"] < 2 * swatch["height"] + 24, "on one line"
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert sheet.wrong == []


def test_the_report_of_a_campaign_is_the_same_page(swept: Path, sheet: Sheet) -> None:
    sheet.open((swept / "report.html").as_uri())
    page = sheet.page
    links = page.locator("nav a").all_inner_texts()
    assert links == ["Campaign", "What was swept", "Figures", "Points", "Failures", "Plan and cost", "How to repeat it"]
    page.locator(".multiples").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".choices output")).to_have_text(re.compile("rate 2"))
    assert page.locator("#points tbody tr").count() == 4
    expect(page.locator("#figures img").first).to_be_visible()
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    assert sheet.asked == [(swept / "report.html").as_uri()] + [u for u in sheet.asked if u.startswith("data:")]
    assert sheet.wrong == []
