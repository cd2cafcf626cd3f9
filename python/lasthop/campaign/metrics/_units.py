"""Units of columns and quantities: products of powers of named units, converted by dimension."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

#: Named units: dimension, and the factor to the dimension's base (SI brochure, 9th edition; IEC
#: 80000-13 for KiB).
_NAMED: dict[str, tuple[str, Fraction]] = {
    "ns": ("time", Fraction(1, 10**9)),
    "us": ("time", Fraction(1, 10**6)),
    "ms": ("time", Fraction(1, 10**3)),
    "s": ("time", Fraction(1)),
    "min": ("time", Fraction(60)),
    "h": ("time", Fraction(3600)),
    "bit": ("data", Fraction(1)),
    "kbit": ("data", Fraction(10**3)),
    "Mbit": ("data", Fraction(10**6)),
    "Gbit": ("data", Fraction(10**9)),
    "B": ("data", Fraction(8)),
    "kB": ("data", Fraction(8 * 10**3)),
    "MB": ("data", Fraction(8 * 10**6)),
    "GB": ("data", Fraction(8 * 10**9)),
    "KiB": ("data", Fraction(8 * 2**10)),
    "MiB": ("data", Fraction(8 * 2**20)),
    "GiB": ("data", Fraction(8 * 2**30)),
    "m": ("length", Fraction(1)),
    "km": ("length", Fraction(1000)),
    "%": ("1", Fraction(1, 100)),
    # Counts are numbers (SI brochure, 5.4.7): they divide to shares.
    **{name: ("1", Fraction(1)) for name in ("packets", "segments", "SDUs", "PDUs", "blocks")},
    # Levels convert to nothing else.
    **{name: (name, Fraction(1)) for name in ("dB", "dBm")},
}
#: Other spellings, those that scenario files take too.
_SPELLINGS = {
    "µs": "us",
    "μs": "us",
    "KB": "kB",
    "kb": "kbit",
    "Mb": "Mbit",
    "Gb": "Gbit",
    "bps": "bit/s",
    "kbps": "kbit/s",
    "Mbps": "Mbit/s",
    "Gbps": "Gbit/s",
}
TIMES = frozenset(name for name, (dimension, _) in _NAMED.items() if dimension == "time")
KNOWN = (*_NAMED, *_SPELLINGS)
_FACTOR = re.compile(r"([*/]?)([^*/^]+)(?:\^(\d+))?")


def spelled(name: str) -> str | None:
    """The one spelling of a unit without denominator: `µs` is `us`; None: there is no such unit."""
    return name if name in _NAMED else _SPELLINGS.get(name)


@dataclass(frozen=True)
class Unit:
    """A product of powers: `bit/s` is `{"bit": 1, "s": -1}`. No dimension has two units in it."""

    powers: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def parse(text: str) -> Unit:
        """The unit that a column's metadata names: `bit/s`, `us`, `1`; the empty text is `1`."""
        powers: dict[str, int] = {}
        for sign, name, power in _FACTOR.findall(text):
            if name != "1":
                powers[name] = powers.get(name, 0) + int(power or 1) * (-1 if sign == "/" else 1)
        return _unit(powers)

    def __str__(self) -> str:
        up = [_power(name, n) for name, n in self.powers if n > 0]
        down = [f"/{_power(name, -n)}" for name, n in self.powers if n < 0]
        return ("*".join(up) or "1") + "".join(down)

    @property
    def plain(self) -> bool:
        """A number without unit."""
        return not self.powers

    def factor_to(self, other: Unit) -> Fraction | None:
        """What a value in this unit is multiplied by to be in `other`.

        None: they measure different things.
        """
        if self._dimensions() != other._dimensions():
            return None
        return self._scale() / other._scale()

    def without_percent(self) -> tuple[Unit, Fraction]:
        """The unit with `1` for `%`, and the factor to it."""
        powers = {name: n for name, n in self.powers if name != "%"}
        unit = _unit(powers)
        return unit, self._scale() / unit._scale()

    def times(self, other: Unit, power: int = 1) -> tuple[Unit, Fraction]:
        """The unit of a product (`power` 1) or quotient (-1), and the other operand's factor.

        Where both operands have a unit of one dimension, the other's is converted: us * s is us^2.
        """
        powers = dict(self.powers)
        mine = {_dimension(name): name for name in powers}
        factor = Fraction(1)
        for name, n in other.powers:
            same = mine.get(_dimension(name), name)
            factor *= (_factor(name) / _factor(same)) ** n
            powers[same] = powers.get(same, 0) + n * power
        return _unit(powers), factor

    def _dimensions(self) -> dict[str, int]:
        return {_dimension(name): n for name, n in self.powers if _dimension(name) != "1"}

    def _scale(self) -> Fraction:
        scale = Fraction(1)
        for name, n in self.powers:
            scale *= _factor(name) ** n
        return scale


PLAIN = Unit()
DB = Unit((("dB", 1),))
DBM = Unit((("dBm", 1),))
SECOND = Unit((("s", 1),))


def _unit(powers: dict[str, int]) -> Unit:
    """A number per packets, say, is a number."""
    if all(n <= 0 and _dimension(name) == "1" for name, n in powers.items()):
        return Unit()
    return Unit(tuple(sorted((name, n) for name, n in powers.items() if n)))


def _power(name: str, n: int) -> str:
    return name if n == 1 else f"{name}^{n}"


def _dimension(name: str) -> str:
    return _NAMED[name][0] if name in _NAMED else name


def _factor(name: str) -> Fraction:
    return _NAMED[name][1] if name in _NAMED else Fraction(1)
