"""From tree to computation: what fits together in a metric, and how to compute it.

Mistakes in a metric that do not depend on the run are found here, before any run. A value that a
run does not have is `Absent`.

Sums are numpy's pairwise sums, whose order does not depend on the processor; a dot product's (BLAS)
does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from lasthop.campaign.metrics import _catalogue
from lasthop.campaign.metrics._catalogue import ALIASES, FUNCTIONS, OF_SAMPLES
from lasthop.campaign.metrics._functions import REDUCE, Chosen, percentile
from lasthop.campaign.metrics._selection import chosen_rows, known_text, no_row, only_row, picked, stretch
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
)
from lasthop.campaign.metrics._tables import Absent, Floats, Mask, Tables
from lasthop.campaign.metrics._terms import (
    Compute,
    Kind,
    Term,
    column_values,
    literal,
    one_number,
    product_unit,
    same_rows,
    scaled,
    sum_unit,
)
from lasthop.campaign.metrics._units import DB, DBM, PLAIN, SECOND, Unit


def compile_metric(node: Node) -> tuple[Compute, Unit, frozenset[str]]:
    """How to compute a metric, its unit, and the tables that it needs.

    Raises:
        Fault: its parts do not fit together, or it is not one number.
    """
    compiler = _Compiler()
    term = compiler.term(node)
    if term.kind is not Kind.NUMBER:
        raise Fault(f"a metric is one number, this is {term.kind.value}", term.span, one_number(term))
    if not compiler.tables:
        raise Fault(
            "the metric names no table, it is the same in every run", term.span, "name a table: flows.app_bytes"
        )
    return term.number, PLAIN if term.unit is None else term.unit, frozenset(compiler.tables)


class _Compiler:
    def __init__(self) -> None:
        self.tables: set[str] = set()
        #: The rows inside whose parentheses names are columns.
        self.inside: Rows | None = None

    def term(self, node: Node) -> Term:
        match node:
            case Number():
                return literal(node)
            case Text():
                return Term(Kind.TEXT, node.span, text=node.value)
            case Name():
                assert self.inside is not None
                return self.column_of(self.inside, node.name, node.span)
            case Rows():
                return self.rows(node)
            case Column():
                return self.column(node)
            case Call():
                return self.call(node)
            case Unary():
                return self.unary(node)
            case Binary(operator="and" | "or"):
                return self.logic(node)
            case Binary() if node.operator in COMPARISONS:
                return self.comparison(node)
            case Binary():
                return self.arithmetic(node)
            case In():
                return self.converted(node)

    # Rows and columns

    def rows(self, node: Rows) -> Term:
        facts = _catalogue.table_of(node.word)
        self.tables.add(facts.name)
        if node.word in ALIASES and (node.key is None or "*" in node.key.value):
            raise Fault(
                f"'{node.word}' is one row: it needs the name of the {node.word}",
                node.span,
                f'{node.word}("NAME") is one, {facts.name} are all, {facts.name}("a*") those whose names begin with a',
            )
        if node.key is not None:
            known_text(facts, facts.key, node.key)
        # A condition is of the table's rows, not of those that it chooses.
        self.inside = Rows(facts.name)
        conditions = [self.condition(part, "stands between the parentheses") for part in node.where]
        self.inside = None
        if facts.row_per_flow and node.key is not None and "*" not in node.key.value:
            return Term(Kind.ROW, node.span, rows=node, number=only_row(node, facts, conditions))
        return Term(Kind.ROWS, node.span, rows=node, values=chosen_rows(node, facts, conditions))

    def condition(self, node: Node, place: str) -> Term:
        term = self.term(node)
        if term.kind is not Kind.CONDITION:
            raise Fault(f"a condition {place}, this is {term.kind.value}", term.span, "a condition compares: bytes > 0")
        return term

    def column(self, node: Column) -> Term:
        rows = self.term(node.rows)
        if rows.kind is Kind.ROWS:
            assert rows.rows is not None
            return self.column_of(rows.rows, node.name, (rows.span[0], node.span[1]))
        assert rows.kind is Kind.ROW
        facts, index = rows.facts, rows.number
        column = facts.columns[node.name]
        span = (rows.span[0], node.span[1])
        if column.is_text:
            return Term(Kind.TEXT, span, rows=rows.rows, text=node.name)

        def number(tables: Tables) -> float:
            value = float(tables.numbers(facts.name, node.name)[int(index(tables))])
            if value != value:
                raise Absent(f"{node} is empty in this run")
            return value

        return Term(Kind.NUMBER, span, column.unit, number=number)

    def column_of(self, rows: Rows, name: str, span: Span) -> Term:
        facts = _catalogue.table_of(rows.word)
        column = facts.columns[name]
        if column.is_text:
            return Term(Kind.TEXTS, span, rows=rows, text=name)
        kind = Kind.CONDITION if column.is_bool else Kind.COLUMN
        return Term(kind, span, column.unit, rows, values=lambda tables: tables.numbers(facts.name, name))

    # Operators

    def unary(self, node: Unary) -> Term:
        if node.operator == "not":
            term = self.condition(node.operand, "follows 'not'")
            values = term.values
            return replace(term, values=lambda tables: 1.0 - values(tables))
        term = self.numeric(node.operand)
        number, values = term.number, term.values
        return replace(
            term,
            number=lambda tables: -number(tables),
            values=lambda tables: -values(tables),
        )

    def numeric(self, node: Node) -> Term:
        """A number or a column of numbers, in units without `%`."""
        term = self.term(node)
        if term.kind not in (Kind.NUMBER, Kind.COLUMN):
            raise Fault(f"a number is needed here, this is {term.kind.value}", term.span, one_number(term))
        if term.unit is None:
            return term
        unit, factor = term.unit.without_percent()
        return replace(scaled(term, factor), unit=unit)

    def arithmetic(self, node: Binary) -> Term:
        left, right = self.numeric(node.left), self.numeric(node.right)
        rows = same_rows(left, right, node)
        if node.operator in "+-":
            unit, right = sum_unit(left, right, node)
        else:
            unit, right = product_unit(left, right, node)
        kind = Kind.NUMBER if rows is None else Kind.COLUMN
        span = (left.span[0], right.span[1])
        if rows is not None:
            a, b = column_values(left), column_values(right)
            compute = _ROW_BY_ROW[node.operator]
            return Term(kind, span, unit, rows, values=lambda tables: compute(a(tables), b(tables)))
        x, y = left.number, right.number
        if node.operator == "/":
            return Term(kind, span, unit, number=lambda tables: _quotient(x(tables), y(tables), node))
        single = _SINGLE[node.operator]
        return Term(kind, span, unit, number=lambda tables: single(x(tables), y(tables)))

    def comparison(self, node: Binary) -> Term:
        if isinstance(node.left, Text):
            raise Fault(
                "the text stands on the right", node.left.span, f"write {node.right} {node.operator} {node.left}"
            )
        if isinstance(node.right, Text):
            return self.text_comparison(node, node.right)
        left, right = self.numeric(node.left), self.numeric(node.right)
        rows = same_rows(left, right, node)
        if rows is None:
            raise Fault(
                "this compares two numbers; a condition is about rows",
                (left.span[0], right.span[1]),
                "compare a column: share(tcp.rtt_us > 50 ms)",
            )
        _, right = sum_unit(left, right, node)
        a, b = column_values(left), column_values(right)
        compare = _COMPARE[node.operator]

        def values(tables: Tables) -> Floats:
            x, y = np.broadcast_arrays(a(tables), b(tables))
            return np.where(np.isnan(x) | np.isnan(y), np.nan, compare(x, y))

        return Term(Kind.CONDITION, (left.span[0], right.span[1]), PLAIN, rows, values=values)

    def text_comparison(self, node: Binary, text: Text) -> Term:
        left = self.term(node.left)
        span = (left.span[0], text.span[1])
        if left.kind is Kind.TEXT:
            raise Fault(
                "this compares the text of one row; a condition is about rows",
                span,
                'choose rows by it: count(flows(cc = "reno"))',
            )
        if left.kind is not Kind.TEXTS:
            raise Fault(f"a text is compared with {left.kind.value}", span, "compare numbers with numbers")
        if node.operator not in ("=", "!="):
            raise Fault(f"texts have no order for '{node.operator}'", node.span, "texts are compared by = and !=")
        facts, column = left.facts, left.text
        known_text(facts, column, text)

        def values(tables: Tables) -> Floats:
            hits = tables.matching(facts.name, column, text.value)
            return hits if node.operator == "=" else 1.0 - hits

        return Term(Kind.CONDITION, span, PLAIN, left.rows, values=values)

    def logic(self, node: Binary) -> Term:
        """`and`, `or` of three values (Kleene).

        What is not known decides nothing that the other side decides.
        """
        left = self.condition(node.left, f"stands before '{node.operator}'")
        right = self.condition(node.right, f"follows '{node.operator}'")
        rows = same_rows(left, right, node)
        a, b = left.values, right.values
        decisive = 0.0 if node.operator == "and" else 1.0

        def values(tables: Tables) -> Floats:
            x, y = a(tables), b(tables)
            either = np.where(np.isnan(x) | np.isnan(y), np.nan, 1.0 - decisive)
            return np.where((x == decisive) | (y == decisive), decisive, either)

        return Term(Kind.CONDITION, (left.span[0], right.span[1]), PLAIN, rows, values=values)

    def converted(self, node: In) -> Term:
        term = self.term(node.operand)
        wanted = Unit.parse(node.unit)
        if term.kind not in (Kind.NUMBER, Kind.COLUMN):
            raise Fault(f"'in' converts a number, this is {term.kind.value}", term.span, one_number(term))
        factor = (term.unit or PLAIN).factor_to(wanted)
        if factor is None:
            raise Fault(
                f"a value in {term.unit or PLAIN} has no value in {node.unit}",
                node.span,
                "both must measure the same: s and ms, B and bit, bit/s and Mbit/s",
            )
        return replace(scaled(term, factor), unit=wanted)

    # Functions

    def call(self, node: Call) -> Term:
        if node.function == "percentile":
            return self.percentile(node)
        if len(node.arguments) != 1:
            raise Fault(
                f"{node.function}() takes one argument and a window, here are {len(node.arguments)}",
                node.span,
                f"as in {_example(node.function)}",
            )
        term = self.argument(node, node.arguments[0])
        if node.function in ("first", "last"):
            return self.end_row(node, term)
        if node.function == "count":
            return self.count(node, term)
        place = _catalogue.percentile_of(node.function)
        if place is not None:
            return self.reduced(node, term, lambda chosen: percentile(chosen, place), term.unit)
        unit, seconds = term.unit, Fraction(1)
        if node.function in ("share", "time_share", "jain"):
            unit = PLAIN
        elif node.function in ("std", "increase") and unit == DBM:
            unit = DB
        elif node.function == "rate":
            unit, seconds = (unit or PLAIN).times(SECOND, -1)
        return scaled(self.reduced(node, term, REDUCE[node.function], unit), 1 / seconds)

    def argument(self, node: Call, argument: Node) -> Term:
        """The argument of a function, of the kind that it takes."""
        takes = FUNCTIONS.get(node.function, "values")
        term = self.term(argument)
        fits = {
            "values": term.kind is Kind.COLUMN,
            "condition": term.kind is Kind.CONDITION,
            "rows": term.kind is Kind.ROWS,
            "anything": term.kind in (Kind.ROWS, Kind.COLUMN, Kind.CONDITION, Kind.TEXTS),
        }[takes]
        if not fits:
            remedy = f"as in {_example(node.function)}"
            if term.kind in (Kind.NUMBER, Kind.ROW) and takes == "values":
                remedy = f"one row has one value: leave out {node.function}()"
            raise Fault(f"{node.function}() takes {_TAKES[takes]}, this is {term.kind.value}", term.span, remedy)
        facts = term.facts
        if node.window is not None and not facts.has_time:
            timed = [t.name for t in _catalogue.tables().values() if t.has_time]
            raise Fault(
                f"the rows of '{facts.name}' have no time, so no window",
                node.window.span,
                f"leave it out, or take a table of samples or events: {', '.join(timed)}",
            )
        if takes == "rows" and not facts.has_time:
            raise Fault(
                f"the rows of '{facts.name}' have no time: none is the {node.function}", term.span, one_number(term)
            )
        if node.function in OF_SAMPLES and facts.identity is None:
            held = [t.name for t in _catalogue.tables().values() if t.identity]
            what = f"'{facts.name}' holds no samples of a state that lasts from one to the next"
            raise Fault(what, term.span, f"{node.function}() is for {', '.join(held)}; others have mean(), sum()")
        return term

    def reduced(self, node: Call, term: Term, reduce: Callable[[Chosen], float], unit: Unit | None) -> Term:
        """A function over the values of the chosen rows."""
        rows, values, facts = term.rows, term.values, term.facts
        assert rows is not None
        window = stretch(node.window)
        below = self.rows(rows)

        def number(tables: Tables) -> float:
            bounds = window.bounds(tables)
            mask = picked(below, tables)
            if facts.has_time and node.function not in OF_SAMPLES:
                mask = mask & bounds.contain(tables, facts)
            chosen = Chosen(node, facts, tables, values(tables), mask, bounds)
            if not mask.any():
                raise Absent(no_row(rows, node, tables))
            return reduce(chosen)

        return Term(Kind.NUMBER, node.span, unit, number=number)

    def count(self, node: Call, term: Term) -> Term:
        rows, values, facts, texts = term.rows, term.values, term.facts, term.text
        assert rows is not None
        kind = term.kind
        window = stretch(node.window)
        below = self.rows(rows)

        def number(tables: Tables) -> float:
            bounds = window.bounds(tables)
            mask = picked(below, tables)
            if facts.has_time:
                mask = mask & bounds.contain(tables, facts)
            if kind is Kind.TEXTS:
                mask = mask & (tables.texts(facts.name, texts)[0] >= 0)
            elif kind is not Kind.ROWS:
                column = values(tables)
                mask = mask & (column == 1.0 if kind is Kind.CONDITION else ~np.isnan(column))
            return float(np.count_nonzero(mask))

        return Term(Kind.NUMBER, node.span, PLAIN, number=number)

    def end_row(self, node: Call, term: Term) -> Term:
        """The row with the smallest or largest time.

        Of equal times the first or last of the table.
        """
        rows, facts = term.rows, term.facts
        assert rows is not None
        window = stretch(node.window)

        def index(tables: Tables) -> float:
            bounds = window.bounds(tables)
            mask = picked(term, tables) & bounds.contain(tables, facts)
            places = np.flatnonzero(mask)
            if len(places) == 0:
                raise Absent(no_row(rows, node, tables))
            times = tables.numbers(facts.name, "time_s")[places]
            if node.function == "first":
                return float(places[np.argmin(times)])
            return float(places[len(times) - 1 - np.argmax(times[::-1])])

        return Term(Kind.ROW, node.span, rows=rows, number=index)

    def percentile(self, node: Call) -> Term:
        if len(node.arguments) != 2:
            raise Fault(
                f"percentile() takes values and the percentage, here are {len(node.arguments)} arguments",
                node.span,
                "as in percentile(tcp.rtt_us, 99.9)",
            )
        place = node.arguments[1]
        if not isinstance(place, Number) or place.unit not in (None, "%") or not 0 <= place.value <= 100:
            raise Fault("the percentage is a number from 0 to 100", place.span, "as in percentile(tcp.rtt_us, 99.9)")
        term = self.argument(node, node.arguments[0])
        return self.reduced(node, term, lambda chosen: percentile(chosen, place.value), term.unit)


def _quotient(x: float, y: float, node: Binary) -> float:
    if y == 0:
        raise Absent(f"the divisor {node.right} is 0")
    return x / y


def _divided(x: Floats, y: Floats) -> Floats:
    """A row whose divisor is 0 has no value."""
    x, y = np.broadcast_arrays(x, y)
    quotient: Floats = np.divide(x, y, out=np.full(x.shape, np.nan), where=y != 0)
    return quotient


_SINGLE: dict[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
}
_ROW_BY_ROW: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
}
_COMPARE: dict[str, Callable[[Floats, Floats], Mask]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TAKES = {
    "values": "a column of numbers",
    "condition": "a condition",
    "rows": "rows of a table",
    "anything": "rows, a column or a condition",
}
_EXAMPLES = {
    "values": '{}(tcp("ftp").rtt_us, 10 s .. 60 s)',
    "condition": '{}(tcp("ftp").rtt_us > 50 ms)',
    "rows": '{}(events(kind = "rto")).time_s',
    "anything": '{}(events(kind = "rto"))',
}


def _example(function: str) -> str:
    return _EXAMPLES[FUNCTIONS.get(function, "values")].format(function)
