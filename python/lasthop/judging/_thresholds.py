"""The values at which a variable would cross the bound of a check, other values unchanged."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from lasthop.judging._evaluation import Evaluation
from lasthop.judging._failures import calls_in, comparisons_in
from lasthop.judging._functions import FUNCTIONS, NUMBER
from lasthop.judging._recording import Moment
from lasthop.judging._syntax import Binary, Call, Compare, Name, Number, Tree, Unary, Within, parts_of
from lasthop.judging._writing import written
from lasthop.judging.case import Check

#: Functions that give one value of a variable's course.
_REDUCE = ("at", "before", "min", "max", "mean", "quantile")
#: A bound is looked for between so many values from 0 to beyond the largest of the course.
_GRID, _BEYOND = 64, 1.5
_HALVINGS = 40
#: A figure has no more lines than these.
_MOST = 6


def thresholds(evaluation: Evaluation, checks: Sequence[Check], plotted: Collection[str]) -> list[dict[str, Any]]:
    """The bounds that checks set to variables of a figure.

    A comparison with one value of a variable over time (such as its largest in an interval) depends
    on this value: the bound is the value at which the result changes. The same applies to each
    value in the interval of an `all(...)`.

    Args:
        evaluation: of the run.
        checks: those that decide.
        plotted: the variables of the figure.

    Returns:
        Of each bound: `check`, `variable`, `value` in the variable's unit, and the interval
        `from_s` to `to_s` of which the value is; for the value at a moment both are that moment.
    """
    found: list[dict[str, Any]] = []
    for check in checks:
        parts: list[tuple[Compare | Within, tuple[Tree, ...]]]
        parts = [(part, ()) for part in comparisons_in(evaluation, check.tree)]
        for call in (c for c in calls_in(check.tree) if c.function == "all"):
            parts += [(part, call.arguments[1:]) for part in comparisons_in(evaluation, call.arguments[0])]
        for part, ends in parts:
            for entry in _of(evaluation, part, ends, plotted):
                if entry not in [{k: v for k, v in f.items() if k != "check"} for f in found]:
                    found.append({"check": check.name, **entry})
    return found[:_MOST]


def _of(
    evaluation: Evaluation, part: Compare | Within, ends: Sequence[Tree], plotted: Collection[str]
) -> Iterator[dict[str, Any]]:
    """The bounds of a comparison; `ends` of the interval in which it is made at each instant."""
    whole = _expanded(evaluation, part)
    targets = {written(t): t for t in (_variables(whole, plotted) if ends else _reductions(whole, plotted))}
    if not targets:
        return
    text, target = next(iter(targets.items()))  # of several the first one's bound follows from the others
    folded = _folded(evaluation, whole, text)
    variable = target.arguments[0] if isinstance(target, Call) else target
    between = target.arguments[1:] if isinstance(target, Call) else ends
    moments = [m for m in map(evaluation.of, between) if isinstance(m, Moment)]
    if folded is None or not moments or not isinstance(variable, Name):
        return
    values = evaluation.variable(variable.name).values
    top = float(np.max(values[np.isfinite(values)], initial=0.0))

    def holds(x: float) -> bool:
        return evaluation.of(_with(folded, text, x)) is True

    for value in (*_equal(folded, text), *_changes(holds, _BEYOND * top, _roots(evaluation, folded, text, top))):
        if 0 <= value <= _BEYOND * top:
            first, last = moments[0].time_s, moments[-1].time_s
            yield {"variable": variable.name, "value": float(f"{value:.6g}"), "from_s": first, "to_s": last}


def _roots(evaluation: Evaluation, tree: Tree, text: str, top: float) -> Iterator[float]:
    """Where a part that is linear in the value is 0: `abs(x / 5 - 1) < 1 %` holds about 5 only."""
    for part in parts_of(tree):
        yield from _roots(evaluation, part, text, top)
    if isinstance(tree, Binary) and tree.operator in ("+", "-") and _has(tree, text) and top > 0:
        found = [evaluation.of(_with(tree, text, x)) for x in (top / 3, 2 * top / 3, top)]
        known = [float(v) for v in found if isinstance(v, (int, float))]
        slope = (known[2] - known[0]) / (2 * top / 3) if len(known) == 3 else 0.0
        if slope and math.isclose(known[0] + known[2], 2 * known[1], rel_tol=1e-6, abs_tol=1e-9 * abs(slope) * top):
            yield top / 3 - known[0] / slope


def _changes(holds: Any, top: float, more: Iterable[float]) -> Iterator[float]:
    """The values from 0 to `top` at which a truth changes; `more` is looked at beside a grid."""
    if not (math.isfinite(top) and top > 0):
        return
    grid = [*np.linspace(0.0, top, _GRID + 1).tolist(), *(x for x in more if 0 < x < top)]
    for low, high in pairwise(sorted(grid)):
        at_low = holds(low)
        if at_low == holds(high):
            continue
        a, b = low, high
        for _ in range(_HALVINGS):
            middle = (a + b) / 2
            a, b = (middle, b) if holds(middle) == at_low else (a, middle)
        yield b


def _equal(tree: Tree, text: str) -> Iterator[float]:
    """The number that a value must equal."""
    if isinstance(tree, Compare) and tree.operators == ("==",):
        for side, other in (tree.terms, tree.terms[::-1]):
            if written(side) == text and isinstance(other, Number) and math.isfinite(other.value):
                yield other.value


def _expanded(evaluation: Evaluation, tree: Tree) -> Tree:
    """The tree with the expressions of names in their place, where these are numbers.

    And with the values of `at_acks(x)` as those of x: a bound is the same at ACKs.
    """
    if isinstance(tree, Call) and tree.function == "at_acks":
        return _expanded(evaluation, tree.arguments[0])
    meant = evaluation.meant(tree.name) if isinstance(tree, Name) else None
    if meant is not None and isinstance(evaluation.of(tree), (int, float)):
        return _expanded(evaluation, meant)
    return _rebuilt(tree, lambda part: _expanded(evaluation, part))


def _variables(tree: Tree, plotted: Collection[str]) -> Iterator[Tree]:
    if isinstance(tree, Name) and tree.name in plotted:
        yield tree
    for part in parts_of(tree):
        yield from _variables(part, plotted)


def _reductions(tree: Tree, plotted: Collection[str]) -> Iterator[Tree]:
    if isinstance(tree, Call) and tree.function in _REDUCE:
        first = tree.arguments[0]
        if isinstance(first, Name) and first.name in plotted:
            yield tree
            return
    for part in parts_of(tree):
        yield from _reductions(part, plotted)


def _folded(evaluation: Evaluation, tree: Tree, text: str) -> Tree | None:
    """The tree with numbers in the place of all parts without the reduction.

    None where a function needs a series in the place of the number, as `change(cwnd)` does.
    """
    if written(tree) == text:
        return tree
    if isinstance(tree, Call) and any(_has(part, text) and not free for part, free in _arguments(tree)):
        return None
    if not _has(tree, text):
        value = evaluation.of(tree)
        known = isinstance(value, (int, float)) and not isinstance(value, bool)
        return Number(tree.first, tree.last, float(value)) if known and isinstance(value, (int, float)) else None
    parts = [_folded(evaluation, part, text) for part in parts_of(tree)]
    if any(part is None for part in parts):
        return None
    given = iter(parts)
    return _rebuilt(tree, lambda _: next(given))


def _arguments(call: Call) -> Iterator[tuple[Tree, bool]]:
    """The arguments of a function, and of each whether it may be a number."""
    takes = FUNCTIONS[call.function].takes
    for place, part in enumerate(call.arguments):
        yield part, NUMBER in takes[min(place, len(takes) - 1)]


def _with(tree: Tree, text: str, x: float) -> Tree:
    if written(tree) == text:
        return Number(tree.first, tree.last, x)
    return _rebuilt(tree, lambda part: _with(part, text, x))


def _has(tree: Tree, text: str) -> bool:
    return written(tree) == text or any(_has(part, text) for part in parts_of(tree))


def _rebuilt(tree: Tree, of: Any) -> Tree:
    """The tree with other parts, in their order."""
    if isinstance(tree, Call):
        return replace(tree, arguments=tuple(map(of, tree.arguments)))
    if isinstance(tree, Unary):
        return replace(tree, of=of(tree.of))
    if isinstance(tree, Binary):
        left = of(tree.left)
        return replace(tree, left=left, right=of(tree.right))
    if isinstance(tree, Compare):
        return replace(tree, terms=tuple(map(of, tree.terms)))
    if isinstance(tree, Within):
        value, low = of(tree.of), of(tree.low)
        return replace(tree, of=value, low=low, high=of(tree.high))
    return tree
