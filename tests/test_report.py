"""Reports: one file, nothing fetched, everything escaped, the same bytes twice."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from lasthop import LasthopError, Results
from lasthop._results import Tables
from lasthop.explain import explain
from lasthop.report import figure_svg, page, run_report, section, table_html
from lasthop.report._pieces import compact, svg_bytes

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


def test_flows_without_their_names_are_shown_without_explanations(made_up: Results) -> None:
    tables = {name: made_up.table(name) for name in made_up.table_names}
    tables["flows"] = tables["flows"].drop_columns(["flow"])
    results = Results(Tables(json.dumps(made_up.manifest), json.dumps(made_up.summary), tables))
    assert_well_formed(run_report(results))
    with pytest.raises(LasthopError, match=r"`flows` has no column `flow`.*\n  help: run the scenario again"):
        explain(results)
    tables["flows"] = made_up.flows.append_column("rx_bytes", [["x"] * len(made_up.flows)])
    results = Results(Tables(json.dumps(made_up.manifest), json.dumps(made_up.summary), tables))
    with pytest.raises(LasthopError, match="column `rx_bytes` of the table `flows` holds no numbers"):
        explain(results)


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
    assert "data:image/svg+xml;charset=utf-8," in html


def test_a_compact_figure_draws_the_same() -> None:
    """Lengths keep a hundredth of a point, and what is no length all of its digits."""
    svg = (
        '<?xml version="1.0"?>\n<svg width="515.52pt">\n <!-- 12.3456 -->\n <g id="a1.23456">\n'
        '  <path d="M 33.134567 -120.987654 \nL 0.004 7 \n" transform="scale(0.015625)"/>\n </g>\n</svg>'
    )
    assert compact(svg) == (
        "<?xml version='1.0'?><svg width='515.52pt'><g id='a1.23456'>"
        "<path d='M 33.13 -120.99 L 0 7 ' transform='scale(0.015625)'/></g></svg>"
    )


def test_a_figure_in_a_page_is_the_figure(made_up: Results) -> None:
    """What a browser reads from the address is well-formed SVG of the figure's size."""
    figure = made_up.plot.cwnd()
    found = re.search(r'src="data:image/svg\+xml;charset=utf-8,([^"]*)"', figure_svg(figure, "window"))
    assert found
    root = ET.fromstring(unquote(found[1]))
    width, height = figure.get_size_inches() * 72
    assert root.get("viewBox") == f"0 0 {round(width, 2):g} {round(height, 2):g}"
    assert len(svg_bytes(figure)) > len(found[1])
