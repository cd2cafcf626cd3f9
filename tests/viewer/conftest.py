"""A real Chromium for tests of the page: Debian's, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import lasthop as lh
from lasthop import Results
from lasthop._values import Value


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    if found is None:
        why = "the page was not opened: there is no chromium on this machine (Debian's package `chromium`)"
        if os.environ.get("LASTHOP_NEEDS_CHROMIUM"):
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Sheet:
    """A page that notes what went wrong in it, and everything that it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        self.asked: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str) -> Sheet:
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def opened(self, html: str, folder: Path) -> Sheet:
        file = folder / "page.html"
        file.write_text(html, encoding="utf-8")
        return self.open(file.as_uri())


@pytest.fixture
def sheet(browser: Browser) -> Iterator[Sheet]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield Sheet(page)
    page.close()


#: The handover of `drive`, in seconds: the UE begins near the border of the cells.
HANDOVER = (0.507, 0.541)


@pytest.fixture(scope="session")
def drive() -> Results:
    """A handover with everything that can be recorded, in one second."""
    recorded: dict[str, Value] = {f"output.{t}": True for t in ("packets", "steps", "positions", "measurements")}
    near: dict[str, Value] = {"scenario.duration": "1 s", "ue.car.radio.position": ["440 m", "20 m", "1.5 m"]}
    run = lh.Scenario.load("lte-handover").with_(near | recorded).run()
    times = {r["kind"]: r["time_s"] for r in run.events.to_pylist() if r["source"] == "ue/car"}
    assert (times["handover-start"], times["handover-complete"]) == pytest.approx(HANDOVER, abs=1e-9)
    return run


@pytest.fixture(scope="session")
def explained() -> Results:
    """A download of ten seconds with an exact budget."""
    return lh.Scenario.load("umts-download").with_({"scenario.duration": "10 s", "output.explain": True}).run()


@pytest.fixture(scope="session")
def long() -> Results:
    """A handover with more packets than a file carries."""
    return lh.Scenario.load("lte-handover").with_({"output.packets": True}).run()


def drawn(sheet: Sheet) -> None:
    """Wait for the frame that shows what has changed: a move of the pointer is handled in one
    frame and drawn in the next."""
    sheet.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def shown(sheet: Sheet) -> tuple[float, float]:
    """The stretch of time that the bar names."""
    drawn(sheet)
    text = sheet.page.locator(".bar output").inner_text()
    found = re.fullmatch(r"([\d.]+) s to ([\d.]+) s", text)
    assert found, text
    return float(found[1]), float(found[2])


def pointed(sheet: Sheet) -> float:
    """The moment of the cursor that the bar names."""
    drawn(sheet)
    found = re.match(r"at ([\d.]+) s, ", sheet.page.locator(".bar output").inner_text())
    assert found, sheet.page.locator(".bar output").inner_text()
    return float(found[1])
