"""Conditions on the labels of a campaign's axes, such as `not (aqm == 'none' and buffer > 100 kB)`.

A closed language: names of axes, texts in quotes, numbers with or without a unit, `true`, `false`,
the comparisons `== != < <= > >=`, `in [...]`, `and`, `or`, `not` and parentheses. Conditions have
no access to Python.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasthop.campaign._faults import nearest
from lasthop.campaign._quantity import Quantity, known, label, plain_number, quantity

Labels = Mapping[str, Any]
Test = Callable[[Labels], bool]

#: Parentheses and `not` within each other.
_DEEPEST = 60
_LONGEST = 10_000
_WORDS = ("and", "or", "not", "in", "true", "false")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>'[^']*'|\"[^\"]*\")|(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,))"
)
_UNIT = re.compile(r"\s*([A-Za-z\u00b5\u03bc%][A-Za-z\u00b5\u03bc%/]*)")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class FilterError(Exception):
    """A mistake in a condition: a description, the remedy, and the characters with the mistake."""

    def __init__(self, what: str, help: str, span: tuple[int, int]) -> None:
        super().__init__(what)
        self.what, self.help, self.span = what, help, span


@dataclass(frozen=True)
class Known:
    """The data of an axis that a condition needs."""

    labels: Sequence[Any]
    unit: str | None

    @property
    def kind(self) -> type:
        """`str`, `bool` or `float`: a number."""
        first = self.labels[0]
        return bool if isinstance(first, bool) else str if isinstance(first, str) else float


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    span: tuple[int, int]
    unit: str = ""


@dataclass(frozen=True)
class _Operand:
    """An axis by name, or a constant."""

    span: tuple[int, int]
    axis: str | None = None
    value: Any = None


def compile_filter(text: str, axes: Mapping[str, Known]) -> Test:
    """The condition as a function of a point's labels.

    Raises:
        FilterError: the text is not a condition, or compares values that cannot be compared.
    """
    if len(text) > _LONGEST:
        raise FilterError(f"the condition is longer than {_LONGEST} characters", "write several", (0, 1))
    parser = _Parser(text, axes)
    test = parser.either(0)
    rest = parser.peek()
    if rest.kind != "end":
        raise FilterError(
            f"expected 'and', 'or' or the end, found '{rest.text}'", "join conditions with and, or", rest.span
        )
    return test


class _Parser:
    def __init__(self, text: str, axes: Mapping[str, Known]) -> None:
        self.axes = axes
        self.tokens = _tokens(text)
        self.at = 0

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def word(self, *words: str) -> bool:
        if self.peek().kind in ("word", "sign") and self.peek().text in words:
            self.at += 1
            return True
        return False

    def expect(self, sign: str, why: str) -> None:
        if not self.word(sign):
            token = self.peek()
            raise FilterError(f"expected '{sign}', found {_shown(token)}", why, token.span)

    def either(self, depth: int) -> Test:
        tests = [self.both(depth)]
        while self.word("or"):
            tests.append(self.both(depth))
        return tests[0] if len(tests) == 1 else lambda labels: any(t(labels) for t in tests)

    def both(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self.word("and"):
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda labels: all(t(labels) for t in tests)

    def one(self, depth: int) -> Test:
        if depth > _DEEPEST:
            raise FilterError("too many parentheses within each other", "write several conditions", self.peek().span)
        if self.word("not"):
            inner = self.one(depth + 1)
            return lambda labels: not inner(labels)
        if self.word("("):
            inner = self.either(depth + 1)
            self.expect(")", "close the parenthesis")
            return inner
        return self.comparison()

    def comparison(self) -> Test:
        left = self.operand()
        token = self.take()
        if token.text == "in" and token.kind == "word":
            return self.member(left)
        if token.kind != "sign" or token.text not in _COMPARE:
            if left.axis is not None and self.axes[left.axis].kind is bool:
                self.at -= token.kind != "end"
                return _comparison(left, "==", _Operand(left.span, value=True), self.axes)
            example = f"{left.axis} == {_example(self.axes[left.axis])}" if left.axis else "NAME == VALUE"
            raise FilterError(f"expected a comparison, found {_shown(token)}", f"such as {example}", token.span)
        return _comparison(left, token.text, self.operand(), self.axes)

    def member(self, left: _Operand) -> Test:
        self.expect("[", "after 'in' stands a list: in ['a', 'b']")
        tests = []
        while True:
            tests.append(_comparison(left, "==", self.operand(), self.axes))
            if not self.word(","):
                break
        self.expect("]", "close the list")
        return lambda labels: any(t(labels) for t in tests)

    def operand(self) -> _Operand:
        token = self.take()
        if token.kind == "name":
            if token.text not in self.axes:
                others = f"axes are: {', '.join(self.axes)}; a text stands in quotes"
                remedy = nearest(token.text, self.axes, others)
                raise FilterError(f"there is no axis '{token.text}'", remedy, token.span)
            return _Operand(token.span, axis=token.text)
        if token.kind == "text":
            return _Operand(token.span, value=token.text[1:-1])
        if token.kind == "number":
            number = plain_number(token.text)
            if number is None:
                raise FilterError(f"'{token.text}' is out of range", "write a smaller number", token.span)
            return _Operand(token.span, value=Quantity(number, token.unit))
        if token.kind == "word" and token.text in ("true", "false"):
            return _Operand(token.span, value=token.text == "true")
        raise FilterError(
            f"expected the name of an axis or a value, found {_shown(token)}",
            f"axes are: {', '.join(self.axes)}",
            token.span,
        )


def _comparison(left: _Operand, sign: str, right: _Operand, axes: Mapping[str, Known]) -> Test:
    """A comparison, its constants in the unit of the axis."""
    if left.axis is None and right.axis is None:
        raise FilterError("neither side is an axis", f"axes are: {', '.join(axes)}", left.span)
    compare = _COMPARE[sign]
    sides = [_side(here, there, sign, axes) for here, there in ((left, right), (right, left))]
    (a, b) = sides
    return lambda labels: compare(a(labels), b(labels))


def _side(here: _Operand, there: _Operand, sign: str, axes: Mapping[str, Known]) -> Callable[[Labels], Any]:
    if here.axis is not None:
        name = here.axis
        if sign not in ("==", "!=") and axes[name].kind is not float:
            raise FilterError(
                f"the labels of '{name}' are no numbers: '{sign}' does not apply",
                f"compare with == or in [...]; labels are: {_labels(axes[name])}",
                here.span,
            )
        if there.axis is not None:
            mine, other = axes[name], axes[there.axis]
            if mine.kind is not other.kind or mine.unit != other.unit:
                raise FilterError(
                    f"'{name}' and '{there.axis}' have labels of different kinds", "compare with a value", there.span
                )
        return lambda labels: labels[name]
    assert there.axis is not None  # one of the two sides is an axis
    value = _constant(here, there.axis, sign, axes[there.axis])
    return lambda _labels: value


def _constant(here: _Operand, name: str, sign: str, axis: Known) -> Any:
    value = here.value
    if axis.kind is float and isinstance(value, str):
        value = quantity(value) or value  # a quantity in quotes
    if isinstance(value, Quantity):
        if axis.kind is not float:
            raise FilterError(f"the labels of '{name}' are no numbers", f"labels are: {_labels(axis)}", here.span)
        number = value.number if not value.unit else value.within(axis.unit or "")
        if number is None:
            unit = f"in {axis.unit}" if axis.unit else "numbers without a unit"
            raise FilterError(f"'{name}' is {unit}, not in {value.unit}", f"labels are: {_labels(axis)}", here.span)
        value = label(number)
    elif type(value) is not axis.kind:
        raise FilterError(f"'{name}' has no label like this", f"labels are: {_labels(axis)}", here.span)
    if sign in ("==", "!=") and value not in axis.labels:
        raise FilterError(
            f"'{name}' has no label {value!r}",
            nearest(str(value), map(str, axis.labels), f"labels are: {_labels(axis)}"),
            here.span,
        )
    return value


def _labels(axis: Known) -> str:
    shown = [_literal(v) for v in axis.labels[:12]]
    unit = f" [{axis.unit}]" if axis.unit else ""
    return ", ".join(shown) + (", ..." if len(axis.labels) > len(shown) else "") + unit


def _example(axis: Known) -> str:
    return _literal(axis.labels[0])


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _shown(token: _Token) -> str:
    return "the end" if token.kind == "end" else f"'{token.text}'"


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise FilterError(f"'{text[start]}' has no meaning here", _WRITTEN, (start, start + 1))
        kind = str(match.lastgroup)
        written, span, at = match[kind], match.span(kind), match.end()
        unit = ""
        if kind == "name" and written in _WORDS:
            kind = "word"
        if kind == "number":
            follows = _UNIT.match(text, at)
            if follows and follows[1] not in _WORDS:
                if not known(follows[1]):
                    raise FilterError(f"'{follows[1]}' is no unit", "such as ms, kB, Mbit/s, dB, %", follows.span(1))
                unit, at = follows[1], follows.end()
                span = (span[0], at)
        found.append(_Token(kind, written, span, unit))
    end = len(text.rstrip())
    return [*found, _Token("end", "", (end, end + 1))]


_WRITTEN = "conditions are written like: not (aqm == 'none' and buffer > 100 kB)"
