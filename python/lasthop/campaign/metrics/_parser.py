"""From text to tree: a recursive descent over tokens.

Tables, columns and functions are looked up by name, so that a misspelt one is reported at its
place. `_compile` checks kinds, rows and units.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lasthop.campaign.metrics import _catalogue, _units
from lasthop.campaign.metrics._syntax import (
    COMPARISONS,
    Binary,
    Call,
    Column,
    Fault,
    In,
    Name,
    Node,
    Number,
    Rows,
    Span,
    Text,
    Unary,
    Window,
)

#: Parentheses and signs within each other; each takes some ten calls, of which Python allows a
#: thousand.
MOST_NESTED = 25
#: Nodes of a tree: a chain of additions is as deep as it is long.
MOST_NODES = 200

_KEYWORDS = ("and", "or", "not", "in")
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<text>"(?:[^"\\\n]|\\["'\\])*"|'(?:[^'\\\n]|\\["'\\])*')
    |(?P<sign>\.\.|!=|<=|>=|[-+*/()<>=,.%])
    """,
    re.VERBOSE | re.ASCII,
)
#: Letters of units that are not ASCII.
_MICRO = re.compile("[µμ]s(?![A-Za-z0-9_])")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def span(self) -> Span:
        return self.start, self.start + max(len(self.text), 1)

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def parse(text: str) -> Node:
    """The tree of a metric.

    Raises:
        Fault: the text is not a metric.
    """
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        micro = None if found else _MICRO.match(text, at)
        if micro:
            tokens.append(_Token("name", micro[0], at))
        elif found is None:
            raise _unreadable(text, at)
        elif found.lastgroup != "space":
            tokens.append(_Token(str(found.lastgroup), found[0], at))
        at = (found or micro or _never()).end()
    return [*tokens, _Token("end", "", at)]


def _never() -> re.Match[str]:
    raise AssertionError("a token was found")


def _unreadable(text: str, at: int) -> Fault:
    span = (at, at + 1)
    if text[at] in "\"'":
        return Fault("a text without its closing quote", (at, len(text)), 'close it; \\" is a quote inside a text')
    if text[at] == "!":
        return Fault("'!' alone means nothing", span, "'!=' is 'not equal', 'not' turns a condition round")
    if text[at] in "&|":
        return Fault(f"'{text[at]}' means nothing here", span, "conditions are joined by 'and' and 'or'")
    shown = repr(text[at]) if text[at].isprintable() else ascii(text[at])
    return Fault(f"the character {shown} has no meaning in a metric", span, "remove it; names go into quotes")


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.nested = 0
        self.nodes = 0
        #: Inside the parentheses of a table, names are its columns.
        self.table: _catalogue.TableFacts | None = None

    # Tokens

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def sees(self, *texts: str) -> bool:
        return self.next.kind in ("sign", "name") and self.next.text in texts

    def expect(self, text: str, what: str) -> _Token:
        if not self.sees(text):
            raise Fault(f"expected {what}, found {self.next}", self.next.span, f"write '{text}' here")
        return self.take()

    def node(self, node: Node) -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise Fault(f"the metric has more than {MOST_NODES} parts", node.span, "split it into several metrics")
        return node

    def deeper(self, rule: Callable[[], Node]) -> Node:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise Fault(
                f"more than {MOST_NESTED} parentheses or signs within each other",
                self.next.span,
                "leave out the needless ones, or split the metric",
            )
        node = rule()
        self.nested -= 1
        return node

    # Rules, from the loosest to the tightest

    def whole(self) -> Node:
        if self.next.kind == "end":
            raise Fault("the metric is empty", self.next.span, 'a metric is, for example, flow("ftp").goodput_bps')
        node = self.disjunction()
        if self.sees("=") and self.tokens[self.at - 1].text in ("=", "<", ">", "!"):
            raise Fault("'==' is written '='", self.next.span, "write one '='")
        if self.sees(".."):
            raise Fault("a window belongs into a function", self.next.span, _WINDOW)
        if self.sees(*COMPARISONS):
            raise Fault("comparisons are not chained", self.next.span, "join two of them by 'and'")
        if self.next.kind != "end":
            raise Fault(
                f"expected an operator or the end, found {self.next}",
                self.next.span,
                "operators are + - * / = != < <= > >= and or in",
            )
        return node

    def disjunction(self) -> Node:
        return self.chain(self.conjunction, "or")

    def conjunction(self) -> Node:
        return self.chain(self.negation, "and")

    def negation(self) -> Node:
        if self.sees("not"):
            token = self.take()
            return self.node(Unary("not", self.deeper(self.negation), token.span))
        return self.comparison()

    def comparison(self) -> Node:
        left = self.converted()
        if not self.sees(*COMPARISONS):
            return left
        token = self.take()
        if token.text == "=" and self.sees("="):
            raise Fault("'==' is written '='", (token.start, self.next.span[1]), "write one '='")
        return self.node(Binary(token.text, left, self.converted(), token.span))

    def converted(self) -> Node:
        node = self.addition()
        while self.sees("in"):
            token = self.take()
            node = self.node(In(node, self.unit(), token.span))
        return node

    def addition(self) -> Node:
        return self.chain(self.product, "+", "-")

    def product(self) -> Node:
        return self.chain(self.sign, "*", "/")

    def chain(self, rule: Callable[[], Node], *operators: str) -> Node:
        node = rule()
        while self.sees(*operators):
            token = self.take()
            node = self.node(Binary(token.text, node, rule(), token.span))
        return node

    def sign(self) -> Node:
        if self.sees("-"):
            token = self.take()
            return self.node(Unary("-", self.deeper(self.sign), token.span))
        return self.postfix()

    def postfix(self) -> Node:
        node = self.primary()
        while self.sees("."):
            dot = self.take()
            name = self.take()
            if name.kind != "name":
                raise Fault(f"expected a column after '.', found {name}", name.span, _columns(node))
            facts = _table_below(node)
            if facts is None:
                raise Fault(
                    "only rows have columns",
                    (dot.start, name.span[1]),
                    "a column follows its table, as in queues.bytes, or first(...) and last(...)",
                )
            self.known_column(facts, name)
            node = self.node(Column(node, name.text, name.span))
        return node

    def primary(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return self.node(self.number(token))
        if token.kind == "text":
            return self.node(Text(re.sub(r"\\(.)", r"\1", token.text[1:-1]), token.span))
        if token.text == "(":
            node = self.deeper(self.disjunction)
            self.expect(")", "')'")
            return node
        if token.kind == "name" and token.text not in _KEYWORDS:
            return self.node(self.named(token))
        if token.text == ".":
            raise Fault("a number begins with a digit", token.span, "write 0.5 for .5")
        if token.text == "..":
            raise Fault("a window belongs into a function", token.span, _WINDOW)
        raise Fault(
            f"expected a number, a table or a function, found {token}",
            token.span,
            'a metric is, for example, flow("ftp").goodput_bps',
        )

    def number(self, token: _Token) -> Number:
        value = float(token.text)
        if value == float("inf"):
            raise Fault("the number is too large", token.span, "the largest is 1.7e308")
        unit = None
        if self.sees("%") or (self.next.kind == "name" and self.next.text not in _KEYWORDS):
            unit = self.unit(per_time=True)
        return Number(value, unit, (token.start, self.tokens[self.at - 1].span[1]))

    def unit(self, per_time: bool = False) -> str:
        """A unit: a name, or a name over a name.

        Of a number over a time only, as the rest may be another operand.
        """
        token = self.take()
        name = "%" if token.text == "%" else _units.spelled(token.text)
        if name is None:
            found = "the end" if token.kind == "end" else f"'{token.text}'"
            raise Fault(
                f"{found} is no unit",
                token.span,
                f"{_catalogue.suggestion(token.text, _units.KNOWN)}units are, for example, s, ms, us, B, Mbit/s, %",
            )
        if self.sees("/") and "/" not in name:
            below = self.tokens[self.at + 1]
            lower = _units.spelled(below.text) if below.kind == "name" else None
            if lower is not None and "/" not in lower and (lower in _units.TIMES or not per_time):
                self.at += 2
                return f"{name}/{lower}"
        return name

    def named(self, token: _Token) -> Node:
        word = token.text
        if self.table is not None:
            if self.sees("("):
                raise Fault(
                    "inside the parentheses of a table stand conditions on its columns, no function",
                    token.span,
                    f"as in {self.table.name}({next(iter(self.table.columns))} > 0)",
                )
            self.known_column(self.table, token)
            return Name(word, token.span)
        if _catalogue.is_function(word):
            return self.call(token)
        if word in _catalogue.words():
            return self.rows(token)
        raise _unknown(token, "function or table" if self.sees("(") else "table")

    def rows(self, token: _Token) -> Rows:
        """`events`, `events("flow/ftp", kind = "rto")`."""
        if not self.sees("("):
            return Rows(token.text, span=token.span)
        self.take()
        facts = _catalogue.table_of(token.text)
        self.table = facts
        key: Text | None = None
        where: list[Node] = []
        while not self.sees(")"):
            begin = self.next
            part = self.deeper(self.disjunction)
            if isinstance(part, Text):
                if key is not None or where:
                    raise Fault("a name stands first and alone", part.span, f'as in {facts.name}("NAME", CONDITION)')
                key = part
            else:
                if self.sees(".."):
                    raise Fault("a window belongs into a function", begin.span, _WINDOW)
                where.append(part)
            self.separated(token)
        close = self.take()
        self.table = None
        return Rows(token.text, key, tuple(where), (token.start, close.span[1]))

    def call(self, token: _Token) -> Call:
        """`mean(queues.bytes, 10 s .. 60 s)`."""
        self.expect("(", f"'(' after the function '{token.text}'")
        arguments: list[Node] = []
        window: Window | None = None
        while not self.sees(")"):
            if window is not None:
                raise Fault("a window is the last argument", self.next.span, "write ')' after it")
            begin = self.next
            part = None if self.sees("..") else self.deeper(self.disjunction)
            if self.sees(".."):
                window = self.window(part, begin)
            elif part is not None:
                arguments.append(part)
            self.separated(token)
        close = self.take()
        return Call(token.text, tuple(arguments), window, (token.start, close.span[1]))

    def separated(self, opened: _Token) -> None:
        """After a part in parentheses comes a comma or their end."""
        if self.next.kind == "end":
            raise Fault(
                f"expected ',' or ')', found the end: '{opened.text}(' is open", self.next.span, "write ')' here"
            )
        if not self.sees(")"):
            self.expect(",", "',' or ')'")

    def window(self, start: Node | None, begin: _Token) -> Window:
        dots = self.take()
        end = None if self.sees(")", ",") else self.deeper(self.sign)
        for node in (start, end):
            if node is not None and not (isinstance(node, Number) and node.unit in _units.TIMES):
                raise Fault("an end of a window is a time with its unit", node.span, _WINDOW)
        assert start is None or isinstance(start, Number)
        assert end is None or isinstance(end, Number)
        if start is None and end is None:
            raise Fault("a window has one end at least", dots.span, _WINDOW)
        return Window(start, end, (begin.start, self.tokens[self.at - 1].span[1]))

    def known_column(self, facts: _catalogue.TableFacts, token: _Token) -> None:
        if token.text not in facts.columns:
            near = _catalogue.suggestion(token.text, facts.columns)
            more = f"`lasthop describe tables {facts.name}` explains all"
            raise Fault(
                f"the table '{facts.name}' has no column '{token.text}'",
                token.span,
                f"{near}{more}" if near else f"it has: {', '.join(facts.columns)}",
            )


def _unknown(token: _Token, what: str) -> Fault:
    word = token.text
    near = _catalogue.suggestion(word, (*_catalogue.FUNCTIONS, "p95", *_catalogue.words()))
    having = [t.name for t in _catalogue.tables().values() if word in t.columns]
    if having:
        remedy = f"it is a column: {', '.join(f'{name}.{word}' for name in having)}"
    elif near:
        remedy = f"{near}`lasthop describe tables` lists the tables"
    else:
        functions = ", ".join((*_catalogue.FUNCTIONS, "p95"))
        remedy = f"tables: {', '.join(_catalogue.words())}; functions: {functions}"
    return Fault(f"there is no {what} '{word}'", token.span, remedy)


_WINDOW = "as in mean(queues.bytes, 10 s .. 60 s); one end may be left out"


def _table_below(node: Node) -> _catalogue.TableFacts | None:
    """The table whose columns follow a node with a dot; None: none do."""
    match node:
        case Rows():
            return _catalogue.table_of(node.word)
        case Call(function="first" | "last", arguments=(Rows() as rows, *_)):
            return _catalogue.table_of(rows.word)
        case _:
            return None


def _columns(node: Node) -> str:
    facts = _table_below(node)
    return f"{facts.name} has: {', '.join(facts.columns)}" if facts else "a column follows its table: queues.bytes"
