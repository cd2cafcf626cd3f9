"""The page of scorecards has every control and every case.

Some of its verdicts are compared with those of today.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import lasthop as lh
from lasthop.judging.suite import load_suite

DOCS = Path(__file__).parent.parent.parent / "docs"


def drawing() -> Any:
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("draw_scorecards", DOCS / "draw_scorecards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_control_and_every_case_is_on_the_page() -> None:
    drawn, text = drawing(), (DOCS / "concepts" / "scorecards.md").read_text(encoding="utf-8")
    assert len(drawn.controls()) == 21
    for name in drawn.controls():
        for case in load_suite("rfc9743").cases:
            assert f'title="{name}, {case.id} ' in text, (name, case.id)
    for suite, name in (("bbr", "bbr3"), ("l4s", "prague"), ("anchors", "simulator")):
        for case in load_suite(suite).cases:
            assert f'title="{name}, {case.id} ' in text, (name, case.id)
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links <= set(re.findall(r' id="([^"]+)"', text))


@pytest.mark.parametrize(
    ("control", "suite", "case"),
    [("reno", "rfc9743", "CCE-13-MARK"), ("bbr", "rfc9743", "CCE-13-MARK"), ("bbr3", "bbr", "BBR-19"),
     ("prague", "l4s", "L4S-01")],
)  # fmt: skip
def test_a_verdict_of_the_page_is_that_of_today(control: str, suite: str, case: str, tmp_path: Path) -> None:
    text = (DOCS / "concepts" / "scorecards.md").read_text(encoding="utf-8")
    (row,) = lh.judge(control, suite, cases=[case], quick=True, store=tmp_path, jobs=1).rows
    assert drawing().cell(control, row) in text, "`make scorecards` renews the page"
