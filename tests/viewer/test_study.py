"""The report of a study in a real browser: read by anyone, nothing cut, nothing asked for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from markupsafe import Markup
from playwright.sync_api import Browser, expect

from lasthop.harness import TableView
from lasthop.harness.report import COLUMNS, ROWS, _table
from lasthop.report import page as page_of
from tests.test_harness_study import folder, run
from tests.viewer.conftest import Sheet

__all__ = ["folder"]

#: Tables that are wider than their place: what is beyond it is seen by moving sideways only.
CUT = """[...document.querySelectorAll(".scroll")].filter((s) => s.scrollWidth > s.clientWidth + 1).length"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_a_study_is_for_everyone(folder: Path, browser: Browser, scheme: str) -> None:
    report = run(folder).report.as_uri()
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    assert [url for url in asked if not url.startswith("data:")] == [report]
    # The figure in the address is drawn, with its shape.
    assert page.evaluate("[...document.images].every((i) => i.naturalWidth > 0)")
    assert page.locator("img").count() > 0
    page.close()


def test_a_wide_table_is_seen_whole_and_a_long_one_is_folded(sheet: Sheet, tmp_path: Path) -> None:
    """The columns of the widest table of a study: two names and ten numbers with intervals."""
    names = "throughput [Mbit/s], delay [ms], jitter [ms], undelivered, dropped, retransmitted, Jain, timeouts"
    headers = ("variant", "network", *names.split(", "), "fast retransmits", "mean cwnd")
    row = ("HighSpeed", "802.11ac", *["0.02766 ± 0.00046"] * 10)
    assert len(headers) > COLUMNS
    tables = [TableView("wide", "Wide", headers, (row,)), TableView("long", "Long", headers, (row,) * (ROWS + 1))]
    file = tmp_path / "report.html"
    file.write_text(page_of("tables", "".join(map(_table, tables))), encoding="utf-8")
    page = sheet.page
    page.goto(file.as_uri())
    assert page.evaluate(CUT) == 0
    expect(page.locator("#wide tbody tr")).to_be_visible()
    expect(page.locator("#long summary")).to_have_text(f"{ROWS + 1} rows")
    expect(page.locator("#long tbody tr").first).to_be_hidden()
    page.locator("#long summary").click()
    expect(page.locator("#long tbody tr").first).to_be_visible()
    assert page.evaluate(CUT) == 0


def pages_of(pdf: bytes) -> list[str]:
    """The text of each page."""
    if shutil.which("pdftotext") is None:
        pytest.skip("the print was not read: there is no pdftotext on this machine (Debian's package `poppler-utils`)")
    text = subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True).stdout
    return text.decode().split("\f")[:-1]


def test_a_printed_table_leaves_no_single_row_with_its_head(sheet: Sheet, tmp_path: Path) -> None:
    """Before a table there is all of a page but so many pixels.

    Of five rows some fit, one never stands alone.
    """
    rows = tuple((f"row {i}",) for i in range(5))
    table = _table(TableView("short", "Short", ("name",), rows))
    filler = Markup('<div style="height:{}px"></div>')
    for height in range(800, 890, 6):
        file = tmp_path / "report.html"
        file.write_text(page_of("tables", filler.format(height) + table), encoding="utf-8")
        sheet.page.goto(file.as_uri())
        pages = pages_of(sheet.page.pdf(format="A4", prefer_css_page_size=True))
        on_pages = [sum(f"row {i}" in text for i in range(5)) for text in pages]
        assert sum(on_pages) == 5
        assert 1 not in on_pages, (height, on_pages)
        assert len(pages) == 2, height
