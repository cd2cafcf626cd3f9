"""Takes the picture of the page of runs that README and the guide show: docs/images/view.png.

    make page-picture

It needs Chromium (Debian's package `chromium`). Fonts are those of the machine, so that two machines give two pictures.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import lasthop as lh
from lasthop.report import run_report

TARGET = Path(__file__).parent / "images" / "view.png"
WIDTH, HEIGHT = 1180, 860
#: Colours of the palette of the picture, which keeps the file small.
COLOURS = 256


def main() -> None:
    """Runs the scenario, opens its report and leaves the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no chromium on this machine (Debian's package `chromium`)")
    results = lh.Scenario.load("lte-handover").with_({"output.explain": True}).run()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        file.write_text(run_report(results), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        shot = taken(page)
        browser.close()
    image = (
        Image.open(io.BytesIO(shot))
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    image.save(TARGET, optimize=True)
    print(TARGET, f"{TARGET.stat().st_size / 1000:.0f} kB")


def taken(page: Page) -> bytes:
    """The time series around the handover, with the cursor a little after it."""
    page.get_by_title("Zoom in (+)").click()
    page.evaluate("document.querySelector('#series').scrollIntoView()")
    box = page.locator("#series .u-over").nth(1).bounding_box()
    if box is None:
        sys.exit("the page has no chart")
    page.mouse.move(box["x"] + box["width"] * 0.78, box["y"] + box["height"] / 2)
    page.wait_for_timeout(300)
    return page.screenshot()


if __name__ == "__main__":
    main()
