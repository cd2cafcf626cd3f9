"""What a check compares over an interval, and the first time at which a check does not hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from lasthop.judging._evaluation import Evaluation
from lasthop.judging._recording import Moment, Recording, Steps, Unknown, Whole, held, thinned
from lasthop.judging._syntax import (
    Binary,
    Call,
    Compare,
    Name,
    Number,
    Text,
    Tree,
    Within,
    parts_of,
)
from lasthop.judging._writing import written

#: A side of a comparison is shown with so many points at most.
_POINTS = 200


def broken(evaluation: Evaluation, recording: Recording, tree: Tree) -> dict[str, Any] | None:
    """The first instant at which an `all(...)` of a check does not hold.

    Args:
        evaluation: of the run.
        recording: of the run.
        tree: the check; it does not hold.

    Returns:
        `time_s`, `values` of the compared expressions by their texts, and `sides`: both sides over
        time in the interval where they decide. None: the check has no such part.
    """
    call = _condition(evaluation, tree)
    if call is None:
        return None
    inside = _interval(evaluation, recording, call)
    if inside is None:
        return None
    found, first, last = inside
    wrong = np.flatnonzero(found.values == 0)
    if not len(wrong):
        return None
    at = found.at[wrong[:1]]
    values, sides = _compared(evaluation, recording, call, found, at, last, failing=True)
    return {"time_s": max(float(recording.times[at[0]]), first.time_s), "values": values, "sides": sides}


def sides_of(evaluation: Evaluation, recording: Recording, tree: Tree) -> list[dict[str, Any]]:
    """The courses of both sides of the first comparison in an `all(...)` of a check that holds."""
    call = next((c for c in calls_in(tree) if c.function == "all"), None)
    inside = None if call is None else _interval(evaluation, recording, call)
    if call is None or inside is None or not len(inside[0].at):
        return []
    found, _, last = inside
    return _compared(evaluation, recording, call, found, found.at[:1], last, failing=False)[1]


def calls_in(tree: Tree) -> Iterator[Call]:
    """The calls of a tree."""
    if isinstance(tree, Call):
        yield tree
    for part in parts_of(tree):
        yield from calls_in(part)


def _interval(evaluation: Evaluation, recording: Recording, call: Call) -> tuple[Steps, Moment, Moment] | None:
    """The condition of an `all(...)` in its interval, and the interval's ends.

    None: the interval is empty, or its ends are not known.
    """
    truth, first, last = (evaluation.of(argument) for argument in call.arguments)
    if not (isinstance(truth, Steps) and isinstance(first, Moment) and isinstance(last, Moment)):
        return None
    if isinstance(recording.window(truth, first, last), Unknown):
        return None
    return recording.inside(truth, first, last), first, last


def _compared(
    evaluation: Evaluation, recording: Recording, call: Call, found: Steps, at: Whole, last: Moment, *, failing: bool
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """What an `all(...)` compares at an instant, and the courses of both sides in its interval.

    With `failing` of the comparisons that do not hold at that instant.
    """
    values: dict[str, float] = {}
    sides: list[dict[str, Any]] = []
    for part in comparisons_in(evaluation, call.arguments[0]):
        holds = evaluation.of(part)
        if not isinstance(holds, Steps) or (failing and held(holds, at)[0] != 0):
            continue
        if not failing and isinstance(part, Compare) and "==" in part.operators:
            continue  # both sides are one line
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
        known_points = [(text, points) for text, points in courses if any(v is not None for _, v in points)]
        sides = sides or [{"text": text, "points": points} for text, points in known_points]
    return values, sides


def _condition(evaluation: Evaluation, tree: Tree) -> Call | None:
    """The first `all(...)` of a check that is false, of the parts that `and` joins."""
    if isinstance(tree, Call) and tree.function == "all":
        return tree
    if isinstance(tree, Binary) and tree.operator == "and":
        for side in (tree.left, tree.right):
            if evaluation.of(side) is False:
                return _condition(evaluation, side)
    return None


def comparisons_in(evaluation: Evaluation, tree: Tree) -> Iterator[Compare | Within]:
    """The comparisons of numbers in a condition."""
    if isinstance(tree, Binary) and tree.operator in ("and", "or"):
        yield from comparisons_in(evaluation, tree.left)
        yield from comparisons_in(evaluation, tree.right)
    elif isinstance(tree, Call) and tree.function == "at_acks":
        yield from comparisons_in(evaluation, tree.arguments[0])
    elif isinstance(tree, Within) or (
        isinstance(tree, Compare) and not any(isinstance(term, Text) for term in tree.terms)
    ):
        yield tree
    elif isinstance(tree, Name) and (meant := evaluation.meant(tree.name)) is not None:
        yield from comparisons_in(evaluation, meant)
