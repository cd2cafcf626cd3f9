"""Numbers for people."""

from __future__ import annotations

import math
from typing import Any

#: A float64 keeps 16 digits: the difference of two shares that are equal is smaller than this.
NOTHING = 1e-12


def number(value: Any) -> str:
    """A value of a check: five digits at most, a dash where there is none.

    A value that differs from 0 only by rounding is 0.
    """
    if value is None:
        return "–"
    if isinstance(value, float) and abs(value) < NOTHING:
        return "0"
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)


#: Of each unit that has prefixes: these with their factors, the largest first.
_PREFIXES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}


def quantity(value: Any, unit: str) -> str:
    """A value with its unit, as `number` writes it: `1.5 Mbit/s`, `18.2 ms`."""
    if not unit or not isinstance(value, (int, float)) or not math.isfinite(value):
        return number(value)
    size = abs(value) if abs(value) >= NOTHING else 0.0
    prefixes = _PREFIXES.get(unit, ((1.0, unit),))
    factor, name = next((p for p in prefixes if size >= p[0]), prefixes[-1] if size else (1.0, unit))
    return f"{number(float(value) / factor)} {name}"
