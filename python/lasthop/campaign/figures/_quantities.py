"""Labels and units on axes: where a label stands, how it is written.

Also the unit in which a metric is shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lasthop.campaign.metrics._units import Unit, spelled
from lasthop.campaign.tidy import Label

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµμ%]+)(?:/([A-Za-z]+))?\s*\Z")

#: Units that are written in another one where values are large or small; a unit that the user chose
#: stays.
_LADDERS: dict[str, tuple[str, ...]] = {
    "bit/s": ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"),
    "B/s": ("B/s", "kB/s", "MB/s", "GB/s"),
    "B": ("B", "kB", "MB", "GB"),
    "bit": ("bit", "kbit", "Mbit", "Gbit"),
    "s": ("ns", "us", "ms", "s"),
    "us": ("ns", "us", "ms", "s"),
    "ns": ("ns", "us", "ms", "s"),
    "m": ("m", "km"),
}

#: Distances between ticks in units that are not counted by tens.
_STEPS: dict[str, tuple[float, ...]] = {
    "dB": (0.5, 1, 2, 3, 5, 6, 10, 20, 30),
    "dBm": (0.5, 1, 2, 3, 5, 6, 10, 20, 30),
    "min": (0.5, 1, 2, 5, 10, 15, 30, 60, 120),
    "h": (0.25, 0.5, 1, 2, 3, 6, 12, 24),
    "%": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50),
    "KiB": tuple(2.0**n for n in range(21)),
    "MiB": tuple(2.0**n for n in range(21)),
    "GiB": tuple(2.0**n for n in range(21)),
}


@dataclass(frozen=True)
class Positions:
    """Where the labels of an axis stand.

    Attributes:
        at: position of each label.
        texts: how each label is written.
        unit: unit of the positions; empty without one.
        numeric: whether the positions are quantities; else they are 0, 1, 2 and so on.
        by_factor: whether neighbouring labels differ by a factor rather than by a step.
    """

    at: tuple[float, ...]
    texts: tuple[str, ...]
    unit: str
    numeric: bool
    by_factor: bool


def positions(labels: Sequence[Label], unit: str = "") -> Positions:
    """The positions of labels: their values if all are numbers of one kind; else their order.

    Quantities of one dimension are of one kind.

    Args:
        labels: the labels of an axis.
        unit: the unit of labels that are numbers.
    """
    found = [quantity(label, unit) for label in labels]
    given = [f for f in found if f is not None]
    units = [u for _, u in given]
    one = len(given) == len(labels) and all(u.factor_to(units[0]) is not None for u in units)
    if not one or len({v * _factor(u, units[0]) for v, u in given}) < len(labels):
        return Positions(tuple(map(float, range(len(labels)))), tuple(map(text, labels)), "", False, False)
    shown = min(dict.fromkeys(units), key=lambda u: _length([v * _factor(w, u) for v, w in given]))
    values = [v * _factor(u, shown) for v, u in given]
    name = "" if shown.plain else str(shown)
    return Positions(tuple(values), tuple(number(v) for v in values), name, True, _by_factor(values))


def quantity(label: Label, unit: str = "") -> tuple[float, Unit] | None:
    """A number in `unit`, or a text such as "50 kB", as value and unit; None: it is neither."""
    if isinstance(label, bool):
        return None
    if isinstance(label, (int, float)):
        return (float(label), Unit.parse(unit)) if math.isfinite(label) else None
    found = _QUANTITY.match(label)
    if found is None:
        return None
    value, above, below = float(found[1]), spelled(found[2]), spelled(found[3]) if found[3] else ""
    if above is None or below is None:
        return None
    return value, Unit.parse(f"{above}/{below}" if below else above)


def shown_unit(unit: str, largest: float) -> tuple[float, str]:
    """The factor and the unit in which values up to `largest` [`unit`] are easily read.

    Base units (`bit/s`, `B`, `s`, `us`, `m`) go to a multiple; a unit that is a multiple already
    was chosen by the user and stays.
    """
    ladder = _LADDERS.get(unit)
    if ladder is None or not math.isfinite(largest) or largest <= 0:
        return 1.0, unit
    best = ladder[0] if unit != "m" else "m"
    for other in ladder:
        if largest * _factor(Unit.parse(unit), Unit.parse(other)) >= 1:
            best = other
    return _factor(Unit.parse(unit), Unit.parse(best)), best


def title(name: str, unit: str) -> str:
    """A name with its unit: "goodput (Mbit/s)"."""
    spoken = name.replace("_", " ")
    return spoken if unit in ("", "1") else f"{spoken} ({unit_text(unit)})"


def unit_text(unit: str) -> str:
    """A unit as it is printed."""
    return re.sub(r"\bus\b", "µs", unit).replace("*", " ")


def text(label: Label) -> str:
    """A label as it is printed."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return number(label) if isinstance(label, float) else str(label)


def with_unit(label: Label, unit: str) -> str:
    """A label of an axis whose labels are numbers with this unit: "50 kB"."""
    return f"{text(label)} {unit_text(unit)}" if unit not in ("", "1") else text(label)


def number(value: float) -> str:
    """A number without needless digits: 3200, 0.25, 1e-06."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.6g}"


def measured(mean: float, low: float, high: float) -> str:
    """A mean with its interval: `31.23 ± 0.43`.

    It is `19.1 (16.2 to 37.8)` if the mean is not in the middle of the interval.

    The half-width has two significant digits, and the mean as many decimals. Without an interval:
    the mean alone.
    """
    half = (high - low) / 2 if math.isfinite(low) and math.isfinite(high) else math.inf
    if math.isfinite(half) and math.isfinite(mean) and abs(low + half - mean) > 0.05 * half:
        decimals = min(6, max(0, 1 - math.floor(math.log10(half))))
        return f"{mean:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"
    if not math.isfinite(mean):
        return "–"
    if not math.isfinite(half):
        return f"{mean:.3g}" if abs(mean) < 1000 else f"{mean:.0f}"
    if half <= 1e-12 * abs(mean):
        return f"{mean:.4g} ± 0" if abs(mean) < 1e4 else f"{mean:.0f} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6 or abs(mean) >= 1e7:
        return f"{mean:.4g} ± {half:.2g}"
    # A mean that rounds to zero has no sign.
    return f"{round(mean, decimals) + 0.0:.{decimals}f} ± {half:.{decimals}f}"


def steps(unit: str, low: float, high: float, most: int = 5) -> list[float] | None:
    """Ticks from `low` to `high` in the unit's own steps; None: tens are as good as any."""
    known = _STEPS.get(unit)
    if known is None or not high > low:
        return None
    step = next((s for s in known if (high - low) / s <= most), None)
    if step is None:
        return None
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _by_factor(values: Sequence[float]) -> bool:
    """Whether sorted values are spaced more evenly on a logarithmic scale.

    Only over a factor of eight or more.
    """
    ordered = sorted(values)
    if len(ordered) < 3 or ordered[0] <= 0 or ordered[-1] / ordered[0] < 8:
        return False
    linear = [b - a for a, b in pairwise(ordered)]
    factors = [math.log(b / a) for a, b in pairwise(ordered)]
    return max(factors) / min(factors) < max(linear) / min(linear)


def _factor(one: Unit, other: Unit) -> float:
    factor = one.factor_to(other)
    return math.nan if factor is None else float(factor)


def _length(values: Sequence[float]) -> tuple[int, int]:
    """How many values have decimals; then how long all are when written."""
    return sum(v != round(v) for v in values), sum(len(number(v)) for v in values)
