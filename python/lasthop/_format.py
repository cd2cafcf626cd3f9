"""Numbers for people: three significant figures and a unit."""

from __future__ import annotations

from typing import Any

_DASH = "–"


def rate(bps: float | None) -> str:
    """A bit rate: `rate(384e3)` is "384 kbit/s"."""
    return _scaled(bps, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")))


def size(n: float | None) -> str:
    """A number of bytes: `size(1.5e6)` is "1.5 MB"."""
    return _scaled(n, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")))


def duration(s: float | None) -> str:
    """A time: `duration(0.05)` is "50 ms"."""
    if s == 0:
        return "0 s"
    if s is not None and s >= 1000:
        return f"{s:.0f} s"
    return _scaled(s, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")))


def count(n: float | None) -> str:
    """A whole number with thin groups: `count(12000)` is "12,000"."""
    return _DASH if n is None else f"{n:,.0f}"


def plain(value: Any) -> str:
    """Any cell of a table."""
    if value is None:
        return _DASH
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _scaled(value: float | None, units: tuple[tuple[float, str], ...]) -> str:
    if value is None or value != value:
        return _DASH
    factor, name = next((u for u in units if abs(value) >= u[0] * 0.9995), units[-1])
    if value == 0:
        return f"0 {name}"
    x = value / factor
    digits = 0 if abs(x) >= 99.95 else 1 if abs(x) >= 9.995 else 2
    text = f"{x:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {name}"
