"""Numbers for people."""

from __future__ import annotations

from typing import Any


def number(value: Any) -> str:
    """A value of a check: five digits at most, a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)
