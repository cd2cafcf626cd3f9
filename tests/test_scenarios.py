"""The bundled scenarios: valid, without warnings, explained, and they run."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop as lh
from lasthop._bundled import bundled

every = pytest.mark.parametrize("path", bundled().values(), ids=lambda p: p.stem)


@every
def test_it_opens_with_what_it_demonstrates_and_is_named_like_its_file(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Demonstrates in particular:"
    assert any(f"lasthop run {path.stem}" in line for line in lines[:30])
    assert max(map(len, lines)) <= 120
    assert lh.Scenario.load(path).name == path.stem


@every
def test_it_is_valid_without_warnings(path: Path) -> None:
    assert lh.Scenario.load(path).warnings == []


@every
def test_every_flow_gets_something_done(path: Path) -> None:
    results = lh.Scenario.load(path).run()
    flows = results.flows.select(["flow", "app_bytes"]).to_pylist()
    # No receiver answers a group's speaker: its farthest listeners get what reaches them.
    to_a_group = "[multicast." in path.read_text(encoding="utf-8")
    for flow in flows:
        assert flow["app_bytes"] > (0 if to_a_group else 10_000), flow
    assert max(flow["app_bytes"] for flow in flows) > 10_000
