"""The grammar of case expressions: text to tree. Nothing of Python is reachable from it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

#: An expression has no more characters, and no more levels, than this.
_MOST_CHARACTERS = 2_000
_MOST_LEVELS = 40

#: Units of numbers: seconds, bit/s and octets; counts and shares are plain.
UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0,
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "%": 0.01, "packets": 1.0, "segments": 1.0, "rounds": 1.0,
}  # fmt: skip
#: What each unit measures, for the values of scenario keys: powers of time and of data.
DIMENSIONS = {
    **dict.fromkeys(("ns", "us", "ms", "s", "min"), (1, 0)),
    **dict.fromkeys(("bit/s", "kbit/s", "Mbit/s", "Gbit/s"), (-1, 1)),
    **dict.fromkeys(("B", "kB", "MB", "GB"), (0, 1)),
    **dict.fromkeys(("%", "packets", "segments", "rounds"), (0, 0)),
}


class ExpressionError(Exception):
    """A mistake in an expression."""

    def __init__(self, message: str, help: str | None, first: int, last: int) -> None:
        super().__init__(message)
        self.message, self.help, self.first, self.last = message, help, first, last


@dataclass(frozen=True)
class Node:
    """A part of an expression: its characters in the text."""

    first: int
    last: int


@dataclass(frozen=True)
class Number(Node):
    """A number in seconds, bit/s, octets or counts."""

    value: float
    unit: str = ""


@dataclass(frozen=True)
class Text(Node):
    """A text in quotes."""

    value: str


@dataclass(frozen=True)
class Name(Node):
    """A variable, a name of `[case.let]`, or a moment such as `start`."""

    name: str


@dataclass(frozen=True)
class Parameter(Node):
    """A value of the path, in braces."""

    name: str


@dataclass(frozen=True)
class Call(Node):
    """A function with its arguments."""

    function: str
    arguments: tuple[Tree, ...]
    #: The characters of the function's name end here.
    named: int


@dataclass(frozen=True)
class Unary(Node):
    """`-` or `not`."""

    operator: str
    of: Tree


@dataclass(frozen=True)
class Binary(Node):
    """`+ - * / ^ and or`."""

    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True)
class Compare(Node):
    """`a < b`, or a chain `a < b <= c`."""

    operators: tuple[str, ...]
    terms: tuple[Tree, ...]


@dataclass(frozen=True)
class Within(Node):
    """`x in [low, high]`, both ends included."""

    of: Tree
    low: Tree
    high: Tree
    negated: bool


Tree: TypeAlias = "Number | Text | Name | Parameter | Call | Unary | Binary | Compare | Within"

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<parameter>\{\s*[A-Za-z_][A-Za-z0-9_]*\s*\})
      | (?P<rate>(?:bit|kbit|Mbit|Gbit)/s\b)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
      | (?P<sign><=|>=|==|!=|\*\*|[-+*/^<>=()\[\],%])""",
    re.VERBOSE,
)
_WORDS = frozenset({"and", "or", "not", "in"})


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    first: int
    last: int


def parse(text: str) -> Tree:
    """The tree of an expression.

    Raises:
        ExpressionError: the text is not an expression; the exception has the place and the remedy.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise ExpressionError(
                f"an expression of {len(text):,} characters", f"use [case.let]; the most is {_MOST_CHARACTERS:,}", 0, 1
            )
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._level = 0

    def whole(self) -> Tree:
        if self._token().kind == "end":
            self._fail("the expression is empty", "write a comparison, such as max(cwnd, start, end) >= 4")
        tree = self._or()
        token = self._token()
        if token.kind != "end":
            self._unexpected(token)
        return tree

    def _unexpected(self, token: _Token) -> NoReturn:
        if token.text == "**":
            self._fail("there is no operator '**'", "write a power as x ^ 2", token)
        if token.text == "[":
            self._fail("brackets stand behind 'in' alone", "write x in [2, 3]; of events nth(e, 2)", token)
        before = self._tokens[self._at - 1].text if self._at else ""
        if token.text in ("<", ">") and before in ("=", "=="):
            self._fail(f"there is no operator '={token.text}'", f"write {token.text}=", token)
        what = f"'{token.text}'" if token.kind != "end" else "the end of the expression"
        remedy = "an operator or a comma may be missing"
        if token.kind in ("number", "name", "text") and self._at and self._tokens[self._at - 1].kind == "number":
            remedy = f"a number may have a unit: {', '.join(UNITS)}"
        self._fail(f"{what} is not expected here", remedy, token)

    def _or(self) -> Tree:
        self._level += 1
        if self._level > _MOST_LEVELS:
            self._fail(f"more than {_MOST_LEVELS} levels of parentheses", "use [case.let]")
        tree = self._and()
        while self._word("or"):
            right = self._and()
            tree = Binary(tree.first, right.last, "or", tree, right)
        self._level -= 1
        return tree

    def _and(self) -> Tree:
        tree = self._not()
        while self._word("and"):
            right = self._not()
            tree = Binary(tree.first, right.last, "and", tree, right)
        return tree

    def _not(self) -> Tree:
        first: _Token | None = None
        odd = False
        while (token := self._token()).text == "not" and token.kind == "name":
            self._at += 1
            first = first or token
            odd = not odd
        tree = self._comparison()
        return Unary(first.first, tree.last, "not", tree) if odd and first is not None else tree

    def _comparison(self) -> Tree:
        left = self._sum()
        negated = False
        if self._token().text == "not" and self._tokens[self._at + 1].text == "in":
            self._at += 1
            negated = True
        if self._word("in"):
            return self._within(left, negated)
        operators: list[str] = []
        terms = [left]
        while (token := self._token()).kind == "sign" and token.text in ("<", "<=", ">", ">=", "=", "==", "!="):
            self._at += 1
            operators.append("==" if token.text == "=" else token.text)
            terms.append(self._sum())
        if not operators:
            return left
        return Compare(left.first, terms[-1].last, tuple(operators), tuple(terms))

    def _within(self, left: Tree, negated: bool) -> Tree:
        self._expect("[", "a range follows 'in': x in [2, 3]")
        low = self._sum()
        self._expect(",", "a range has two ends: x in [2, 3]")
        high = self._sum()
        last = self._expect("]", "a range has two ends: x in [2, 3]").last
        unit, last = self._unit(last)
        if unit:
            low, high = (_scaled(end, unit) for end in (low, high))
        return Within(left.first, last, left, low, high, negated)

    def _sum(self) -> Tree:
        tree = self._product()
        while (token := self._token()).text in ("+", "-") and token.kind == "sign":
            self._at += 1
            right = self._product()
            tree = Binary(tree.first, right.last, token.text, tree, right)
        return tree

    def _product(self) -> Tree:
        tree = self._sign()
        while (token := self._token()).text in ("*", "/") and token.kind == "sign":
            self._at += 1
            right = self._sign()
            tree = Binary(tree.first, right.last, token.text, tree, right)
        return tree

    def _sign(self) -> Tree:
        signs = []
        while (token := self._token()).text in ("-", "+") and token.kind == "sign":
            self._at += 1
            signs.append(token)
        tree = self._power()
        if sum(token.text == "-" for token in signs) % 2:
            tree = Unary(signs[0].first, tree.last, "-", tree)
        return tree

    def _power(self) -> Tree:
        tree = self._primary()
        if self._token().text == "^":
            self._at += 1
            right = self._primary() if self._token().text not in ("-", "+") else self._sign()
            if self._token().text == "^":
                self._fail("a power of a power", "parentheses say which comes first: (a ^ b) ^ c", self._token())
            return Binary(tree.first, right.last, "^", tree, right)
        return tree

    def _primary(self) -> Tree:
        token = self._token()
        self._at += 1
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                self._fail(f"{token.text} is too large", "the largest number is 1.8e308", token)
            unit, last = self._unit(token.last)
            return Number(token.first, last, value * UNITS.get(unit, 1.0), unit)
        if token.kind == "text":
            return Text(token.first, token.last, token.text[1:-1])
        if token.kind == "parameter":
            return Parameter(token.first, token.last, token.text[1:-1].strip())
        if token.kind == "name" and token.text not in _WORDS:
            if self._token().text == "(":
                return self._call(token)
            return Name(token.first, token.last, token.text)
        if token.text != "(":
            self._at -= 1
            self._unexpected(token)
        tree = self._or()
        self._expect(")", "a parenthesis is not closed")
        return tree

    def _call(self, name: _Token) -> Tree:
        self._at += 1
        arguments: list[Tree] = []
        while self._token().text != ")":
            arguments.append(self._or())
            if self._token().text != ",":
                break
            self._at += 1
        last = self._expect(")", "a parenthesis is not closed").last
        return Call(name.first, last, name.text, tuple(arguments), name.last)

    def _unit(self, last: int) -> tuple[str, int]:
        token = self._token()
        if token.text in UNITS and token.kind in ("name", "rate", "sign"):
            self._at += 1
            return token.text, token.last
        return "", last

    def _word(self, word: str) -> bool:
        token = self._token()
        if token.kind == "name" and token.text == word:
            self._at += 1
            return True
        return False

    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _expect(self, text: str, help: str) -> _Token:
        token = self._token()
        if token.text != text or token.kind != "sign":
            found = f"'{token.text}'" if token.kind != "end" else "the end of the expression"
            self._fail(f"'{text}' is expected, not {found}", help, token)
        self._at += 1
        return token

    def _fail(self, message: str, help: str | None, token: _Token | None = None) -> NoReturn:
        token = token or self._token()
        raise ExpressionError(message, help, token.first, token.last)


def _scaled(tree: Tree, unit: str) -> Tree:
    if isinstance(tree, Number) and not tree.unit:
        return Number(tree.first, tree.last, tree.value * UNITS[unit], unit)
    return Binary(tree.first, tree.last, "*", tree, Number(tree.first, tree.last, UNITS[unit], unit))


def _tokens(text: str) -> list[_Token]:
    found = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            letter = "names have the letters a to z alone" if text[at].isalpha() else None
            remedy = _FOREIGN.get(text[at], letter)
            raise ExpressionError(f"the character '{text[at]}' has no meaning here", remedy, at, at + 1)
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup, match[0], at, match.end()))
        at = match.end()
    return [*found, _Token("end", "", len(text), len(text) + 1)]


_FOREIGN = {
    "'": "the text is not closed",
    '"': "the text is not closed",
    "{": "a value of the path stands in braces: {rate}",
    "!": "write not, or != for unequal",
    "&": "write and",
    "|": "write or",
    ";": "a check is one expression; write several into the list",
    ".": "a name has letters, digits and underscores: bbr.state",
}


def parts_of(tree: Tree) -> tuple[Tree, ...]:
    """The parts of which a tree consists, of the next level."""
    if isinstance(tree, Call):
        return tree.arguments
    if isinstance(tree, Unary):
        return (tree.of,)
    if isinstance(tree, Binary):
        return tree.left, tree.right
    if isinstance(tree, Compare):
        return tree.terms
    return (tree.of, tree.low, tree.high) if isinstance(tree, Within) else ()


def bounds_of(tree: Tree) -> list[Tree]:
    """What a check compares its left side with, as far as the check does not say the number."""
    terms = tree.terms[1:] if isinstance(tree, Compare) else (tree.low, tree.high) if isinstance(tree, Within) else ()
    return [term for term in terms if term != left_of(tree) and not isinstance(term, (Number, Text))]


def left_of(tree: Tree) -> Tree | None:
    """The side of a check whose value is shown: the compared expression."""
    if isinstance(tree, Compare):
        return tree.terms[0] if not isinstance(tree.terms[0], (Number, Text)) else tree.terms[1]
    return tree.of if isinstance(tree, Within) else None
