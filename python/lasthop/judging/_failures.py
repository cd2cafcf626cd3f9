"""Where a check that does not hold breaks first, and what it compares there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from lasthop.judging._evaluation import Evaluation
from lasthop.judging._recording import Moment, Recording, Steps, held, thinned
from lasthop.judging._syntax import (
    UNITS,
    Binary,
    Call,
    Compare,
    Name,
    Number,
    Parameter,
    Text,
    Tree,
    Unary,
    Within,
)

#: A side of a comparison is shown with so many points at most.
_POINTS = 200
#: How much operators bind; comparisons: 2.
_BINDS = {"or": 0, "and": 1, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}


def broken(evaluation: Evaluation, recording: Recording, tree: Tree) -> dict[str, Any] | None:
    """The first instant at which an `all(...)` of a check does not hold.

    Args:
        evaluation: of the run.
        recording: of the run.
        tree: the check; it does not hold.

    Returns:
        `time_s`, `values` of what is compared there by their texts, and `sides`: the courses of
        both sides in the interval where they decide. None: the check has no such part.
    """
    call = _condition(evaluation, tree)
    if call is None:
        return None
    truth, first, last = (evaluation.of(argument) for argument in call.arguments)
    if not (isinstance(truth, Steps) and isinstance(first, Moment) and isinstance(last, Moment)):
        return None
    found = recording.inside(truth, first, last)
    wrong = np.flatnonzero(found.values == 0)
    if not len(wrong):
        return None
    at = found.at[wrong[:1]]
    values: dict[str, float] = {}
    sides: list[dict[str, Any]] = []
    for part in _comparisons(evaluation, call.arguments[0]):
        holds = evaluation.of(part)
        if not isinstance(holds, Steps) or held(holds, at)[0] != 0:
            continue
        terms = part.terms if isinstance(part, Compare) else (part.of, part.low, part.high)
        # Where the comparison is wrong and the condition holds, another part of it decides.
        decides = ~((held(holds, found.at) == 0) & (found.values == 1))
        courses = []
        for term in terms:
            value = evaluation.of(term)
            if not isinstance(value, (Steps, int, float)):
                continue
            here = float(held(value, at)[0]) if isinstance(value, Steps) else float(value)
            if not isinstance(term, Number) and math.isfinite(here):
                values[written(term)] = float(f"{here:.6g}")
            course = held(value, found.at) if isinstance(value, Steps) else np.full(len(found.at), here)
            course = np.where(decides & np.isfinite(course), course, math.nan)
            # A gap stays one as long as there are few points.
            known = np.isfinite(course) if len(course) > _POINTS else np.ones(len(course), dtype=bool)
            shown = Steps(found.at[known], course[known], "")
            courses.append([written(term), thinned(shown, recording.times, last.time_s, _POINTS)])
        sides = sides or [{"text": text, "points": points} for text, points in courses if points]
    return {"time_s": max(float(recording.times[at[0]]), first.time_s), "values": values, "sides": sides}


def _condition(evaluation: Evaluation, tree: Tree) -> Call | None:
    """The first `all(...)` of a check that is false, of the parts that `and` joins."""
    if isinstance(tree, Call) and tree.function == "all":
        return tree
    if isinstance(tree, Binary) and tree.operator == "and":
        for side in (tree.left, tree.right):
            if evaluation.of(side) is False:
                return _condition(evaluation, side)
    return None


def _comparisons(evaluation: Evaluation, tree: Tree) -> Iterator[Compare | Within]:
    """The comparisons of numbers in a condition."""
    if isinstance(tree, Binary) and tree.operator in ("and", "or"):
        yield from _comparisons(evaluation, tree.left)
        yield from _comparisons(evaluation, tree.right)
    elif isinstance(tree, Within) or (
        isinstance(tree, Compare) and not any(isinstance(term, Text) for term in tree.terms)
    ):
        yield tree
    elif isinstance(tree, Name) and (meant := evaluation.meant(tree.name)) is not None:
        yield from _comparisons(evaluation, meant)


def written(tree: Tree) -> str:
    """An expression as it is written in a case."""
    if isinstance(tree, Number):
        value = tree.value / UNITS[tree.unit] if tree.unit else tree.value
        return f"{value:.10g} {tree.unit}".rstrip()
    if isinstance(tree, (Name, Parameter)):
        return tree.name if isinstance(tree, Name) else f"{{{tree.name}}}"
    if isinstance(tree, Text):
        return f"'{tree.value}'"
    if isinstance(tree, Call):
        return f"{tree.function}({', '.join(map(written, tree.arguments))})"
    if isinstance(tree, Unary):
        return f"{tree.operator}{' ' * tree.operator.isalpha()}{_inner(tree.of)}"
    if isinstance(tree, Compare):
        words = [written(tree.terms[0])]
        for sign, term in zip(tree.operators, tree.terms[1:], strict=True):
            words += [sign, written(term)]
        return " ".join(words)
    if isinstance(tree, Within):
        return f"{written(tree.of)}{' not' * tree.negated} in [{written(tree.low)}, {written(tree.high)}]"
    binds = _BINDS[tree.operator]
    return f"{_inner(tree.left, binds)} {tree.operator} {_inner(tree.right, binds + 1)}"


def _inner(tree: Tree, binds: int = 6) -> str:
    """A part of an expression, in parentheses where it binds less than what is around it."""
    own = _BINDS[tree.operator] if isinstance(tree, Binary) else 2 if isinstance(tree, (Compare, Within)) else 6
    return written(tree) if own >= binds else f"({written(tree)})"
