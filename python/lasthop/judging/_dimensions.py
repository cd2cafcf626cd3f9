"""The quantities of the parts of case expressions.

Times are not compared with rates, nor shares with octets.

A number without a unit takes the quantity of the operand beside it, because variables have the
units of the table `cc`. A factor without a unit may convert octets to bits or packets, or represent
a time (`/ 10` for 10 s). A product with such a factor is refused only where both sides have a time,
with different powers: a rate beside a time. Products of quantities with units are compared exactly:
a rate times a time is data in bits, and not compared with octets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lasthop.campaign.metrics import Metric, MetricError
from lasthop.campaign.metrics._units import Unit
from lasthop.judging._checker import Checker
from lasthop.judging._functions import FUNCTIONS, MOMENT, MOMENTS, Names
from lasthop.judging._syntax import (
    DIMENSIONS,
    Binary,
    Call,
    Compare,
    ExpressionError,
    Name,
    Number,
    Parameter,
    Text,
    Tree,
    Unary,
)
from lasthop.judging._variables import unit_of

#: Units that a case may give a variable of a control of one's own.
UNITS_OF_VARIABLES = ("s", "bit/s", "B", "segments", "packets", "rounds", "1")


@dataclass(frozen=True)
class Quantity:
    """Powers of time and of data."""

    time: float
    #: None: a factor without a unit has left it open.
    data: float | None
    #: A number without a unit.
    bare: bool = False
    #: Power of 8 by which the value exceeds one in octets: 1 of bits.
    bits: float = 0
    #: The unit of a metric that is another one than that of expressions.
    unit: str = ""

    def times(self, other: Quantity, sign: int = 1) -> Quantity:
        """The product; with `sign` -1 the quotient."""
        if self.bare and other.bare:
            return BARE
        time = self.time + sign * other.time
        if self.bare or other.bare or self.data is None or other.data is None:
            return Quantity(time, None)
        unit = self.unit or other.unit
        return Quantity(time, self.data + sign * other.data, bits=self.bits + sign * other.bits, unit=unit)

    def agrees(self, other: Quantity) -> bool:
        """Whether the two can be compared or added."""
        if self.bare or other.bare:
            return True
        if self.data is None or other.data is None:
            return self.time == other.time or not self.time or not other.time
        mine, theirs = ((q.time, q.data, q.bits if q.data else 0, q.unit) for q in (self, other))
        return mine == theirs

    def __str__(self) -> str:
        """In words, for messages."""
        exact = self.data is not None
        if self.unit:
            return f"a metric in {self.unit}"
        for quantity, words in _WORDS:
            if quantity.time == self.time and (not exact or (quantity.data, quantity.bits) == (self.data, self.bits)):
                return words if exact else f"{words} times a number without a unit"
        data = "bit" if self.bits else "B"
        powers = [f"{unit}^{power:g}" for unit, power in (("s", self.time), (data, self.data or 0)) if power]
        return f"a quantity in {' '.join(powers)}"


BARE = Quantity(0, None, bare=True)
PLAIN, TIME, RATE, DATA = Quantity(0, 0), Quantity(1, 0), Quantity(-1, 1, bits=1), Quantity(0, 1)
_WORDS = (
    (PLAIN, "a number without a dimension"), (TIME, "a time [s]"), (RATE, "a rate [bit/s]"), (DATA, "data [B]"),
    (Quantity(0, 1, bits=1), "data in bits"), (Quantity(-1, 1), "octets per second"),
    (Quantity(-1, 0), "a number per time [1/s]"),
)  # fmt: skip
#: What the units of variables measure; others are left open.
_UNITS = {
    "s": TIME, "bit/s": RATE, "B": DATA, **dict.fromkeys(("segments", "rounds", "packets", "%", "1"), PLAIN)
}  # fmt: skip
#: Units of metrics that the language has.
_OF_METRICS = {"s": TIME, "bit/s": RATE, "B": DATA, "1": PLAIN, "1/s": Quantity(-1, 0)}
#: Names of the language and values that each path has.
_NAMES = {"ref": RATE, "mss": DATA}
_COUNTS = frozenset({"bdp", "buffer"})

#: What functions give: a quantity, or that of the argument with this number. None: it is left open.
GIVES: Mapping[str, Quantity | int | None] = {
    **dict.fromkeys(("enter", "leave", "changes", "rises", "events", "after", "metric"), None),
    **dict.fromkeys(("first", "last", "nth", "shift", "time", "time_to_reach", "time_to_settle", "wait_of",
                     "delay_of", "completion_of"), TIME),
    **dict.fromkeys(("share", "count", "largest_share", "loss_of", "marked_of", "ecn_of", "jain_of", "starved_of",
                     "rounds", "spread_of", "swings", "log2", "exists", "all", "any"), PLAIN),
    **dict.fromkeys(("goodput", "goodput_of", "carried_of"), RATE),
    "burst_of": DATA,
    **dict.fromkeys(("at", "before", "mean", "quantile", "increase", "largest", "change", "excess", "at_acks", "abs",
                     "floor", "ceil", "min", "max", "rate", "ratio", "sqrt"), 0),
    "flow": 1,
}  # fmt: skip
#: What arguments of functions measure, by their number.
_TAKES: Mapping[str, Mapping[int, Quantity]] = {
    "nth": {1: PLAIN},
    "shift": {1: TIME},
    "quantile": {1: PLAIN},
    "largest": {1: TIME},
    "largest_share": {2: TIME},
    "burst_of": {1: TIME},
    "wait_of": {1: PLAIN},
    "delay_of": {1: PLAIN},
    "completion_of": {1: PLAIN},
    "spread_of": {1: TIME},
    "swings": {3: TIME},
    "jain_of": {1: TIME},
    "starved_of": {1: RATE, 2: TIME},
    "time_to_reach": {1: RATE, 2: TIME},
    "time_to_settle": {1: RATE, 2: PLAIN, 3: TIME, 4: TIME},
}

_REMEDY = (
    "compare and add the same quantities; a factor that is a time or data has its unit, such as x / 10 s; "
    "bits / 8 are octets"
)


class Dimensions:
    """Finds the quantity of each part of an expression, after the checker has found its kinds.

    Args:
        names: what may be used.
        checker: it has found no mistake in the expressions.
        of_paths: powers of time and data of the paths' values; a name is left open where paths
            differ.
    """

    def __init__(self, names: Names, checker: Checker, of_paths: Mapping[str, tuple[int, int] | None]) -> None:
        self._names = names
        self._checker = checker
        self._of_paths = of_paths
        self._known: dict[str, Quantity | None] = {}

    def of(self, tree: Tree) -> Quantity | None:
        """The quantity of a part.

        None: it is not known, as of a control's own variables that have no unit.

        Raises:
            ExpressionError: different quantities are compared, added, or given to a function.
        """
        if isinstance(tree, Number):
            return _of_powers(*DIMENSIONS[tree.unit]) if tree.unit else BARE
        if isinstance(tree, Text):
            return None
        if isinstance(tree, Parameter):
            return self._parameter(tree.name)
        if isinstance(tree, Name):
            return self._name(tree.name)
        if isinstance(tree, Call):
            return self._call(tree)
        if isinstance(tree, Unary):
            return self.of(tree.of)
        if isinstance(tree, Binary):
            return self._binary(tree)
        if isinstance(tree, Compare):
            self._same(tree.terms, "compared with")
            return PLAIN
        self._same((tree.of, tree.low, tree.high), "compared with")
        return PLAIN

    def _parameter(self, name: str) -> Quantity | None:
        powers = self._of_paths.get(name)
        if powers == (0, 0) and name not in _COUNTS:
            return BARE
        return None if powers is None else _of_powers(*powers)

    def _name(self, name: str) -> Quantity | None:
        if name in self._names.let:
            if name not in self._known:
                self._known[name] = None
                try:
                    self._known[name] = self.of(self._names.let[name])
                except ExpressionError:  # shown at the name's own expression
                    return None
            return self._known[name]
        if name in MOMENTS:
            return TIME
        if name in _NAMES or name == "inf":
            return _NAMES.get(name, BARE)
        return _UNITS.get(self._names.units.get(name) or unit_of(name))

    def _binary(self, tree: Binary) -> Quantity | None:
        if tree.operator in ("+", "-"):
            return self._same((tree.left, tree.right), "added to" if tree.operator == "+" else "subtracted from")
        left, right = self.of(tree.left), self.of(tree.right)
        if tree.operator in ("and", "or"):
            return PLAIN
        if left is None or right is None:
            return None
        if tree.operator == "^":
            exponent = tree.right.value if isinstance(tree.right, Number) else None
            return _power(left, exponent)
        return left.times(right, 1 if tree.operator == "*" else -1)

    def _call(self, tree: Call) -> Quantity | None:
        name = tree.function
        if name in ("min", "max") and self._checker.kind(tree.arguments[1]) != MOMENT:
            return self._same(tree.arguments, "compared with")
        found = [self.of(argument) for argument in tree.arguments]
        if name == "swings":
            self._same(tree.arguments[:3], "compared with")
        for number, wanted in _TAKES.get(name, {}).items():
            here = found[number] if number < len(found) else None
            if here is not None and not here.agrees(wanted):
                argument = tree.arguments[number]
                message = f"argument {number + 1} of '{name}' is {here}, not {wanted}"
                raise ExpressionError(message, f"its form is {FUNCTIONS[name].form}", argument.first, argument.last)
        if name == "metric":
            return _metric(tree)
        gives = GIVES[name]
        if not isinstance(gives, int):
            return gives
        of = found[gives]
        if of is None:
            return None
        if name == "rate":
            return of.times(TIME, -1)
        if name == "ratio":
            return None if found[1] is None else of.times(found[1], -1)
        return _power(of, 0.5) if name == "sqrt" else of

    def _same(self, parts: tuple[Tree, ...], verb: str) -> Quantity | None:
        """What parts measure that must measure the same.

        That of the first whose quantity is known.
        """
        known: Quantity | None = None
        left_open = False
        for part in parts:
            here = self.of(part)
            if here is None:
                left_open = True
            elif known is None or known.bare:
                known = here
            elif not here.agrees(known):
                left, right = (here, known) if verb != "compared with" else (known, here)
                remedy = f"end the metric with `in {_base_of(here, known)}`" if here.unit or known.unit else _REMEDY
                raise ExpressionError(f"{left} is {verb} {right}", remedy, part.first, part.last)
            elif known.data is None and not here.bare:
                known = here
        return None if left_open and (known is None or known.bare) else known


def _of_powers(time: int, data: int) -> Quantity:
    """Rates are in bits, data in octets."""
    return Quantity(time, data, bits=data if time else 0)


def _power(of: Quantity, exponent: float | None) -> Quantity | None:
    if of.bare:
        return BARE
    if exponent is None:
        return None
    data = None if of.data is None else of.data * exponent
    return Quantity(of.time * exponent, data, bits=of.bits * exponent, unit=of.unit)


def _base_of(*quantities: Quantity) -> str:
    """The unit of expressions that a metric in another unit should have."""
    metric = next(q for q in quantities if q.unit)
    return next((base for base, of in _OF_METRICS.items() if replace(metric, unit="") == of), "s, bit/s or B")


def _metric(tree: Call) -> Quantity | None:
    """What a metric of campaigns measures."""
    text = tree.arguments[0]
    try:
        unit = Metric.parse("metric", text.value if isinstance(text, Text) else "").unit
    except MetricError:
        return None  # the checker has said so
    for base, quantity in _OF_METRICS.items():
        factor = Unit.parse(unit).factor_to(Unit.parse(base))
        if factor is not None:
            return quantity if factor == 1 else replace(quantity, unit=unit)
    return None


def agreed(paths: list[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int] | None]:
    """The powers of the paths' values; None where paths differ."""
    found: dict[str, tuple[int, int] | None] = {}
    for path in paths:
        for name, powers in path.items():
            found[name] = powers if found.get(name, powers) == powers else None
    return found


def of_unit(unit: str) -> Quantity:
    """The quantity of a unit of the language."""
    return _of_powers(*DIMENSIONS[unit])


def unit_in_words(quantity: Quantity | None) -> str:
    """The unit in which a value is shown; empty: a number, or not known."""
    if quantity is None or quantity.bare:
        return ""
    return quantity.unit or {TIME: "s", RATE: "bit/s", DATA: "B"}.get(quantity, "")
