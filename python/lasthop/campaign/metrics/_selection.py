"""Which rows of a table a metric takes: by name, by conditions, by time.

Also the reason that is given where there are no rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lasthop.campaign.metrics import _catalogue
from lasthop.campaign.metrics._catalogue import TableFacts
from lasthop.campaign.metrics._functions import Stretch
from lasthop.campaign.metrics._syntax import Call, Fault, Number, Rows, Text, Window
from lasthop.campaign.metrics._tables import Absent, Floats, Mask, Tables
from lasthop.campaign.metrics._terms import Compute, ComputeRows, Term, to_float
from lasthop.campaign.metrics._units import SECOND, Unit


def chosen_rows(node: Rows, facts: TableFacts, conditions: list[Term]) -> ComputeRows:
    """1 for each row that the name and the conditions choose."""

    def values(tables: Tables) -> Floats:
        mask = np.ones(tables.length(facts.name))
        if node.key is not None:
            mask = tables.matching(facts.name, facts.key, node.key.value)
        for condition in conditions:
            mask = np.where(condition.values(tables) == 1.0, mask, 0.0)
        return mask

    return values


def only_row(node: Rows, facts: TableFacts, conditions: list[Term]) -> Compute:
    """The index of the one row; `Absent` if there is none, or several."""
    choose = chosen_rows(node, facts, conditions)

    def index(tables: Tables) -> float:
        places = np.flatnonzero(choose(tables) == 1.0)
        if len(places) == 0:
            raise Absent(no_row(node, None, tables))
        if len(places) > 1:
            raise Absent(f"{len(places)} rows are {node}, one is expected")
        return float(places[0])

    return index


def picked(rows: Term, tables: Tables) -> Mask:
    """The rows of a table that a term of kind `ROWS` takes."""
    mask: Mask = rows.values(tables) == 1.0
    return mask


def stretch(window: Window | None) -> Stretch:
    """A window's ends in seconds."""

    def seconds(end: Number | None) -> float | None:
        if end is None:
            return None
        factor = Unit.parse(end.unit or "s").factor_to(SECOND)
        assert factor is not None
        return to_float(Fraction(repr(end.value)) * factor, end.span)

    if window is None:
        return Stretch(None, None)
    start, end = seconds(window.start), seconds(window.end)
    if start is not None and end is not None and start >= end:
        raise Fault("the window ends before it begins", window.span, "the earlier time stands first")
    return Stretch(start, end)


def no_row(rows: Rows, node: Call | None, tables: Tables) -> str:
    """Why no row is chosen, with the names that the run has."""
    facts = _catalogue.table_of(rows.word)
    there = ""
    if rows.key is not None and not np.any(tables.matching(facts.name, facts.key, rows.key.value) == 1.0):
        there = (
            f"; it has these of {facts.name}.{facts.key}: {tables.present(facts.name, facts.key)}"
            f"{tables.near(facts.name, facts.key, rows.key.value)}"
        )
    window = f" within {node.window}" if node is not None and node.window is not None else ""
    return f"this run has no row of {rows}{window}{there}"


def known_text(facts: TableFacts, column: str, text: Text) -> None:
    """A text that no row can have is a mistake: counting it would give 0 for ever."""
    known = _catalogue.texts_of(facts.name, column)
    if known is not None and text.value not in known and "*" not in text.value:
        near = _catalogue.suggestion(text.value, known)
        all_ = f"it is one of: {', '.join(known)}"
        raise Fault(f"{facts.name}.{column} is never {text}", text.span, near.strip() or all_)
