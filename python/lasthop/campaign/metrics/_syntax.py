"""The tree of a metric. `str()` of a node is a text that parses to an equal node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""From where to where in the text: offsets of the first character and of the one after the last. No part of what a
node says."""


class Fault(Exception):  # noqa: N818 -- an answer of the parser, which `Metric.parse` makes an error of
    """A mistake at a place in the text."""

    def __init__(self, what: str, span: Span, help: str) -> None:
        super().__init__(what)
        self.what = what
        self.span = span
        self.help = help


@dataclass(frozen=True)
class Number:
    """A number with or without unit: `2`, `10 ms`."""

    value: float
    unit: str | None = None
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        whole = self.value == int(self.value) and abs(self.value) < 1e15
        number = str(int(self.value)) if whole else repr(self.value)
        return f"{number} {self.unit}" if self.unit else number


@dataclass(frozen=True)
class Text:
    """A text in quotes."""

    value: str
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


@dataclass(frozen=True)
class Name:
    """A column inside the parentheses of its table."""

    name: str
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Rows:
    """Rows of a table: `events`, `flow("ftp")`, `queues("core.*", bytes > 0)`."""

    word: str
    key: Text | None = None
    where: tuple[Node, ...] = ()
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        inner = [*([str(self.key)] if self.key else []), *map(str, self.where)]
        return f"{self.word}({', '.join(inner)})" if inner else self.word


@dataclass(frozen=True)
class Column:
    """A column of rows, or of the one row that `flow`, `first` and `last` give."""

    rows: Node
    name: str
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{_inside(self.rows, _POSTFIX)}.{self.name}"


@dataclass(frozen=True)
class Window:
    """A part of the run's time; an end that is None is that of the run."""

    start: Number | None
    end: Number | None
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.start or ""), "..", str(self.end or ""))))


@dataclass(frozen=True)
class Call:
    """A function of its arguments, over a window of time."""

    function: str
    arguments: tuple[Node, ...]
    window: Window | None = None
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        inner = [*map(str, self.arguments), *([str(self.window)] if self.window else [])]
        return f"{self.function}({', '.join(inner)})"


@dataclass(frozen=True)
class Unary:
    """`-x`, `not x`."""

    operator: str
    operand: Node
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        gap = " " if self.operator == "not" else ""
        return f"{self.operator}{gap}{_inside(self.operand, _level(self))}"


@dataclass(frozen=True)
class Binary:
    """`a + b`, `a < b`, `a and b`.

    Arithmetic and `and`, `or` associate to the left, comparisons not at all.
    """

    operator: str
    left: Node
    right: Node
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        level = _level(self)
        left = _inside(self.left, level + (level == _COMPARISON))
        return f"{left} {self.operator} {_inside(self.right, level + 1)}"


@dataclass(frozen=True)
class In:
    """A value in another unit: `x in ms`."""

    operand: Node
    unit: str
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{_inside(self.operand, _level(self))} in {self.unit}"


Node: TypeAlias = "Number | Text | Name | Rows | Column | Call | Unary | Binary | In"

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_NOT, _COMPARISON, _IN, _SIGN, _POSTFIX = 3, 4, 5, 8, 9
_LEVELS = {"or": 1, "and": 2, "+": 6, "-": 6, "*": 7, "/": 7, **dict.fromkeys(COMPARISONS, _COMPARISON)}


def walk(node: Node) -> Iterator[Node]:
    """A node and all nodes below it."""
    yield node
    match node:
        case Rows():
            below: tuple[Node, ...] = node.where
        case Column():
            below = (node.rows,)
        case Call():
            below = node.arguments
        case Binary():
            below = (node.left, node.right)
        case Unary() | In():
            below = (node.operand,)
        case _:
            below = ()
    for each in below:
        yield from walk(each)


def _level(node: Node) -> int:
    """How tightly a node holds together: the larger, the tighter."""
    match node:
        case Binary():
            return _LEVELS[node.operator]
        case Unary():
            return _NOT if node.operator == "not" else _SIGN
        case In():
            return _IN
        case _:
            return _POSTFIX


def _inside(node: Node, level: int) -> str:
    return f"({node})" if _level(node) < level else str(node)
