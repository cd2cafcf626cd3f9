"""What a node of a metric means: its kind, unit and rows.

Also how its value is computed from the tables of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from lasthop.campaign.metrics import _catalogue
from lasthop.campaign.metrics._catalogue import TableFacts
from lasthop.campaign.metrics._syntax import Binary, Fault, Number, Rows, Span
from lasthop.campaign.metrics._tables import Floats, Tables
from lasthop.campaign.metrics._units import DB, DBM, PLAIN, Unit

Compute: TypeAlias = Callable[[Tables], float]
ComputeRows: TypeAlias = Callable[[Tables], Floats]


class Kind(Enum):
    """What a node stands for; the values are for messages."""

    NUMBER = "one number"
    COLUMN = "a column of numbers"
    CONDITION = "a condition"
    ROWS = "rows of a table"
    ROW = "a row of a table"
    TEXTS = "a column of texts"
    TEXT = "a text"


def _no_number(_: Tables) -> float:
    raise AssertionError("this kind has no number")


def _no_values(_: Tables) -> Floats:
    raise AssertionError("this kind has no values")


@dataclass(frozen=True)
class Term:
    """A node with its meaning. Which of the computations is there follows from the kind."""

    kind: Kind
    span: Span
    #: None: a bare number, which takes the unit of what it is compared with or added to.
    unit: Unit | None = PLAIN
    #: The rows that a column, a condition or a row is of.
    rows: Rows | None = None
    #: Of one number; of a row: its index.
    number: Compute = _no_number
    #: Of a column, a condition or rows: a value for each row of the whole table.
    values: ComputeRows = _no_values
    #: Of texts: the column, or the text itself.
    text: str = ""

    @property
    def facts(self) -> TableFacts:
        """The table below it."""
        assert self.rows is not None
        return _catalogue.table_of(self.rows.word)


def one_number(term: Term) -> str:
    """How to make one number of something else, for the remedy of an error."""
    match term.kind:
        case Kind.COLUMN if term.facts.row_per_flow:
            return f'one flow: {singular(term.facts)}("NAME").COLUMN; of several: mean(...), sum(...), jain(...)'
        case Kind.COLUMN:
            return "mean(...), p95(...), max(...), sum(...) make one number of a column"
        case Kind.CONDITION:
            return "share(...) is the share of the rows in which it holds, count(...) their number"
        case Kind.ROWS:
            return "count(...) is their number; a column follows a dot"
        case Kind.ROW:
            return f"a column follows a dot: {', '.join(_numeric(term.facts))}"
        case _:
            return 'compare it with = and count the rows: count(flows(cc = "reno"))'


def singular(facts: TableFacts) -> str:
    """The word for one row of a table with a row for each flow."""
    return "flow" if facts.name == "flows" else facts.name


def _numeric(facts: TableFacts) -> list[str]:
    return [c.name for c in facts.columns.values() if not c.is_text]


def literal(node: Number) -> Term:
    """A literal: with a unit in this unit, `%` as a plain number, else bare."""
    if node.unit is None:
        return Term(Kind.NUMBER, node.span, None, number=lambda _: node.value)
    unit, factor = Unit.parse(node.unit).without_percent()
    value = to_float(Fraction(repr(node.value)) * factor, node.span)
    return Term(Kind.NUMBER, node.span, unit, number=lambda _: value)


def scaled(term: Term, factor: Fraction) -> Term:
    """The term with its values times a factor, in the unit that it had."""
    if factor == 1:
        return term
    number, values = term.number, term.values
    # Both are whole numbers, mostly exact; a factor of 1e-6 is not.
    up, down = (to_float(Fraction(part), term.span) for part in (factor.numerator, factor.denominator))
    return replace(
        term,
        number=lambda tables: number(tables) * up / down,
        values=lambda tables: values(tables) * up / down,
    )


def to_float(value: Fraction, span: Span) -> float:
    """The nearest float; a `Fault` if there is none."""
    try:
        return float(value)
    except OverflowError:
        raise Fault(
            "the number is too large", span, "the largest is 1.7e308, in the unit of seconds, bits or metres"
        ) from None


def same_rows(left: Term, right: Term, node: Binary) -> Rows | None:
    """The rows that two operands go over together; None: both are single numbers."""
    if left.rows is not None and right.rows is not None and left.rows != right.rows:
        raise Fault(
            f"'{node.operator}' goes row by row, but one side has the rows {left.rows}, the other {right.rows}",
            node.span,
            "make one number of each side first: sum(...), mean(...), count(...)",
        )
    return left.rows if left.rows is not None else right.rows


def column_values(term: Term) -> ComputeRows:
    """The values of a column, or one number for all of its rows."""
    if term.kind is Kind.COLUMN:
        return term.values
    number = term.number
    return lambda tables: np.asarray(number(tables), np.float64)


def sum_unit(left: Term, right: Term, node: Binary) -> tuple[Unit | None, Term]:
    """The unit of a sum, and the right operand in the left one's unit.

    Levels: dBm + dB is dBm, dBm - dBm is dB.
    """
    if right.unit is None or left.unit is None:
        return (right.unit if left.unit is None else left.unit), right
    pair = (left.unit, right.unit)
    if node.operator == "-" and pair == (DBM, DBM):
        return DB, right
    if (node.operator in "+-" and pair == (DBM, DB)) or (node.operator == "+" and pair == (DB, DBM)):
        return DBM, right
    factor = None if node.operator == "+" and pair == (DBM, DBM) else right.unit.factor_to(left.unit)
    if factor is None:
        verb = {"+": "added to", "-": "subtracted from"}.get(node.operator, "compared with")
        pair_named = (left.unit, right.unit) if verb == "compared with" else (right.unit, left.unit)
        raise Fault(
            f"a value in {pair_named[0]} cannot be {verb} one in {pair_named[1]}",
            node.span,
            "both must measure the same; a number without unit takes that of the other side",
        )
    return left.unit, scaled(right, factor)


def product_unit(left: Term, right: Term, node: Binary) -> tuple[Unit | None, Term]:
    """The unit of a product or quotient, and the right operand in matching units.

    None of its units is another of the left one's.
    """
    if right.unit is None:
        return left.unit, right
    unit, factor = (left.unit or PLAIN).times(right.unit, 1 if node.operator == "*" else -1)
    return unit, scaled(right, factor)
