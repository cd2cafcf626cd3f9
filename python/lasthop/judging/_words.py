"""Numbers for people."""

from __future__ import annotations

from typing import Any

#: A float64 keeps 16 digits: the difference of two shares that are equal is smaller than this.
NOTHING = 1e-12


def number(value: Any) -> str:
    """A value of a check: five digits at most, a dash where there is none.

    0 for what rounding has left of a 0.
    """
    if value is None:
        return "–"
    if isinstance(value, float) and abs(value) < NOTHING:
        return "0"
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)
