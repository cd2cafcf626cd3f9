"""Reports: one file, nothing fetched, everything escaped, the same bytes twice."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from markupsafe import Markup

from lasthop import Results
from lasthop.report import figure_svg, page, run_report, section, table_html

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Balance(HTMLParser):
    """Fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def assert_well_formed(html: str) -> None:
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []


def test_a_run_report_is_self_contained_and_escaped(made_up: Results) -> None:
    html = run_report(made_up)
    assert "made-up <b>" not in html
    assert "made-up \\u003cb\\u003e" in html
    outside = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:|#)|@import', html)
    assert outside == []
    assert "default-src 'none'" in html


def test_a_run_report_is_the_same_twice(made_up: Results) -> None:
    assert run_report(made_up) == run_report(made_up)


def test_tables_escape_cells_and_take_classes() -> None:
    html = table_html(["a", "b"], [["<x>", 1], [Markup("<b>bold</b>"), None]], ["", "num"])
    assert "&lt;x&gt;" in html
    assert "<b>bold</b>" in html
    assert '<td class="num">1</td>' in html
    assert '<table class="claims">' in table_html(["a"], [], "claims")


def test_page_and_section_take_plain_headings() -> None:
    html = page("a < b", section("c & d", "<p>body</p>", anchor="here"), subtitle="x < y")
    assert_well_formed(html)
    assert "<title>a &lt; b</title>" in html
    assert '<section id="here">' in html
    assert "c &amp; d" in html
    assert "<p>body</p>" in html


def test_a_figure_is_vector_graphics_with_a_text_for_readers(made_up: Results) -> None:
    html = figure_svg(made_up.plot.cwnd(), "the <window>")
    assert 'alt="the &lt;window&gt;"' in html
    assert "data:image/svg+xml;base64," in html
