"""Overrides: Python values as the texts that the core reads."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lasthop as lh
from lasthop._values import assignments, to_toml
from tests.scenarios import WIRED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

plain = st.one_of(st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text())
values = st.recursive(plain, lambda v: st.one_of(st.lists(v), st.dictionaries(st.text(), v)), max_leaves=10)


@given(values)
def test_any_value_reads_back_from_toml(value: object) -> None:
    assert tomllib.loads(f"x = {to_toml(value)}")["x"] == value


def test_a_value_that_contains_itself_or_is_too_deep_is_a_mistake() -> None:
    in_itself: list[Any] = []
    in_itself += [in_itself, in_itself]
    table: dict[str, Any] = {}
    table["x"] = [table]
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    for value in (in_itself, table, deep):
        with pytest.raises(lh.LasthopError, match=r"nested more than 100 levels deep\n  help: .* contain itself\?"):
            to_toml(value)
        with pytest.raises(lh.LasthopError, match="nested more than 100 levels deep"):
            lh.Scenario.parse(WIRED).set("link.path.queue", value)


def test_numpy_numbers_are_numbers() -> None:
    assert to_toml(np.float64(0.05)) == "0.05"
    assert to_toml(np.int32(7)) == "7"


def test_keywords_and_mappings_become_assignments() -> None:
    assert assignments({"link.a.delay": "5 ms"}, {"seed": 3, "flow__ftp__tcp__cc": "reno"}) == [
        'link.a.delay="5 ms"',
        "scenario.seed=3",
        'flow.ftp.tcp.cc="reno"',
    ]
    assert assignments(["a=1"]) == ["a=1"]


def test_what_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="not bytes"):
        to_toml(b"x")
    with pytest.raises(TypeError, match="not as one text"):
        assignments("a=1")


def test_names_that_are_no_text_are_refused() -> None:
    with pytest.raises(TypeError, match="the names in a table are text, not int: write '1' for 1"):
        assignments({"link.l.rate": {1: 2}})  # type: ignore[dict-item]
