"""Takes the pictures that README and the guides show.

Of the page of a run (docs/images/view.png) and of a study.

    make page-picture

It runs `lte-handover` and the quick form of `umts-vegas`. It needs Chromium (Debian's package
`chromium`). Fonts are those of the machine, so that two machines give two pictures.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import lasthop as lh
from lasthop.cli import main as command
from lasthop.report import run_report

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1180, 860
#: Pixels between parts of a picture.
GAP = 16
#: Colours of the palette of the picture, which keeps the file small.
COLOURS = 256


def main() -> None:
    """Runs the scenario and the study, opens their reports and leaves the pictures."""
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
        kept([taken(page)], IMAGES / "view.png")
        study = Path(folder) / "umts-vegas"
        done = CliRunner().invoke(command, ["study", "run", "umts-vegas", "--quick", "--out", str(study)])
        if done.exit_code != 0:
            sys.exit(done.output)
        page.goto((study / "report.html").as_uri())
        # The verdicts, and a claim of several comparisons.
        kept([page.locator(part).screenshot() for part in ("#verdicts", "#claim-calibrated-U4")], IMAGES / "study.png")
        browser.close()


def kept(shots: list[bytes], target: Path) -> None:
    """Leaves pictures, one below the other, in few colours."""
    parts = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    image = Image.new(
        "RGB", (max(p.width for p in parts), sum(p.height for p in parts) + GAP * (len(parts) - 1)), "white"
    )
    top = 0
    for part in parts:
        image.paste(part, (0, top))
        top += part.height + GAP
    image = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(target, optimize=True)
    print(target, f"{target.stat().st_size / 1000:.0f} kB")


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
