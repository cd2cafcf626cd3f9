"""The block error curves in the crate are those that the script makes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

RADIO = Path(__file__).resolve().parent.parent / "crates/radio"


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.\d+", text)]


def test_the_block_error_curves_are_what_the_script_makes() -> None:
    spec = importlib.util.spec_from_file_location("make_bler_curves", RADIO / "tools/make_bler_curves.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    kept = (RADIO / "src/lte/bler_curves.rs").read_text(encoding="utf-8")
    # The fit of 256QAM may end some 1e-4 apart with another numpy.
    assert numbers(kept) == pytest.approx(numbers(script.rust()), abs=2e-3)
