"""Quantities of a campaign's axes: numbers with the units that scenarios use, exact."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from lasthop.campaign.metrics._units import KNOWN, Unit, spelled

_TEXT = re.compile(
    r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z\u00b5\u03bc%][A-Za-z\u00b5\u03bc%/]*)\s*\Z"
)
#: Units of scenarios beside those of metrics (SI brochure, 9th edition): dimension and factor.
_MORE: dict[str, tuple[str, Fraction]] = {
    "Hz": ("frequency", Fraction(1)),
    "kHz": ("frequency", Fraction(10**3)),
    "MHz": ("frequency", Fraction(10**6)),
    "GHz": ("frequency", Fraction(10**9)),
    "dBi": ("dBi", Fraction(1)),
}
#: Exponents beyond this are no quantities, and would take long to multiply out.
_LARGEST_EXPONENT = 30
_MOST_DIGITS = 60


@dataclass(frozen=True)
class Quantity:
    """A number with a unit; the empty unit is a plain number."""

    number: Fraction
    unit: str = ""

    def within(self, unit: str) -> Fraction | None:
        """The number in another unit; None: the units measure different quantities."""
        if self.unit == unit:
            return self.number
        factor = _factor(self.unit, unit)
        return None if factor is None else self.number * factor


def quantity(value: object) -> Quantity | None:
    """A number, or the quantity that a text names, such as `50 kB`; None: it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Quantity(Fraction(value))
    if isinstance(value, float):
        return Quantity(Fraction(Decimal(repr(value)))) if math.isfinite(value) else None
    found = _TEXT.match(value) if isinstance(value, str) else None
    if found is None or not known(found[2]):
        return None
    number = plain_number(found[1])
    return None if number is None else Quantity(number, found[2])


def plain_number(text: str) -> Fraction | None:
    """The number of some digits; None where there are too many digits or it is too large."""
    number = Decimal(text.replace("_", ""))
    if len(text) > _MOST_DIGITS or abs(number.adjusted()) > _LARGEST_EXPONENT:
        return None
    return Fraction(number)


def known(unit: str) -> bool:
    """Whether quantities of scenarios and metrics have this unit."""
    return bool(unit) and (unit in _MORE or all(part in KNOWN for part in unit.split("/")))


def number_text(number: Fraction) -> str:
    """The number in TOML: exact if its decimals are finite, else the nearest double."""
    if number.denominator == 1:
        return str(number.numerator)
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1 and number.denominator < 10**18:
        exact = Decimal(number.numerator) / Decimal(number.denominator)
        if Fraction(exact) == number:
            return f"{exact:f}"
    return repr(float(number))


def label(number: Fraction) -> int | float:
    """The number as a label; a whole number is written without a point."""
    return int(number) if number.denominator == 1 else float(number)


def _factor(unit: str, other: str) -> Fraction | None:
    if not unit or not other:
        return None
    if unit in _MORE or other in _MORE:
        (mine, scale), (theirs, base) = (_MORE.get(u, (u, Fraction(1))) for u in (unit, other))
        return scale / base if mine == theirs else None
    return _unit(unit).factor_to(_unit(other))


def _unit(text: str) -> Unit:
    return Unit.parse("/".join(spelled(part) or part for part in text.split("/")))
