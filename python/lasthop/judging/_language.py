"""What the words of case expressions mean: names and functions, checked before a run and worked out after it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lasthop._core import LasthopError
from lasthop.campaign._faults import nearest
from lasthop.campaign.metrics import Metric, MetricError
from lasthop.judging._recording import Events, Moment, Recording, Steps, Unknown, held, joined
from lasthop.judging._syntax import (
    UNITS,
    Binary,
    Call,
    Compare,
    ExpressionError,
    Name,
    Number,
    Parameter,
    Text,
    Tree,
    Unary,
    Within,
    parse,
)

Found: TypeAlias = "float | bool | str | Moment | Events | Steps | Unknown"
"""What a part of an expression comes to."""

#: Kinds of parts: of a number, of something that holds or not, of both over time, of moments, of texts.
NUMBER, TRUTH, SERIES, CONDITION, MOMENT, EVENTS, TEXT = (
    "a number", "true or false", "a value over time", "a condition over time", "a moment", "events", "a text",
)  # fmt: skip
_NUMERIC = (NUMBER, SERIES)
_LOGICAL = (TRUTH, CONDITION)

#: `largest` takes no more intervals.
_MOST_INTERVALS = 100_000

#: Moments that every run has, with their meaning.
MOMENTS = {
    "start": "the beginning of the run",
    "end": "the end of the run",
    "late": "the beginning of the last two thirds of the run",
}
#: Numbers that every path has, with or without braces.
NUMBERS = ("ref", "mss", "inf")


@dataclass(frozen=True)
class Function:
    """A function of the language."""

    #: Kinds of its arguments; each may be one of several, and those from `least` on may be left out.
    takes: tuple[tuple[str, ...], ...]
    least: int
    gives: Callable[[Sequence[str]], str]
    form: str
    about: str
    #: The last argument may be repeated.
    more: bool = False


def _always(kind: str) -> Callable[[Sequence[str]], str]:
    return lambda _: kind


def _as_first(kinds: Sequence[str]) -> str:
    return SERIES if any(k in (SERIES, CONDITION) for k in kinds) else NUMBER


def _reduced_or_over(kinds: Sequence[str]) -> str:
    """`min(x, a, b)` is a number; `min(x, y)` is a value over time if one of them is."""
    if len(kinds) == 3 and kinds[1] == kinds[2] == MOMENT:
        return NUMBER
    return _as_first(kinds)


_T, _S, _C, _M, _E, _N = (TEXT,), (SERIES,), (CONDITION,), (MOMENT,), (EVENTS,), (NUMBER,)
_ANY_NUMBER = (NUMBER, SERIES)

FUNCTIONS: dict[str, Function] = {
    "enter": Function((_T, _T, _T), 2, _always(EVENTS), "enter('VARIABLE', 'STATE'[, 'FROM'])",
                      "each change of a state to STATE, from FROM if given"),
    "leave": Function((_T, _T), 2, _always(EVENTS), "leave('VARIABLE', 'STATE')", "each change of a state from STATE"),
    "changes": Function((_S,), 1, _always(EVENTS), "changes(x)", "each change of a value"),
    "rises": Function((_C,), 1, _always(EVENTS), "rises(c)", "each moment at which a condition begins to hold"),
    "events": Function((_T, _T), 1, _always(EVENTS), "events('KIND'[, 'SOURCE'])",
                       "rows of the table `events`; SOURCE: of another source than the judged flow, such as 'link/bn'"),
    "after": Function((_E, _M), 2, _always(EVENTS), "after(e, m)", "the events later than a moment"),
    "before": Function((_E + _S + _C, _M), 2, lambda k: EVENTS if k[0] == EVENTS else NUMBER, "before(x, m)",
                       "of events: those earlier than a moment; of a value: what it was one instant earlier"),
    "first": Function((_E,), 1, _always(MOMENT), "first(e)", "the first of some events"),
    "last": Function((_E,), 1, _always(MOMENT), "last(e)", "the last of some events"),
    "nth": Function((_E, _N), 2, _always(MOMENT), "nth(e, n)", "the n-th of some events, from 1"),
    "shift": Function((_M, _N), 2, _always(MOMENT), "shift(m, t)", "the moment t seconds later"),
    "time": Function((_M,), 1, _always(NUMBER), "time(m)", "its time [s]"),
    "exists": Function((_E + _M + _N + _S,), 1, _always(TRUTH), "exists(x)", "whether there is such a moment or value"),
    "at": Function((_S + _C, _M), 2, lambda k: TRUTH if k[0] == CONDITION else NUMBER, "at(x, m)",
                   "the value at a moment: with all that its ACK has changed"),
    "all": Function((_C, _M, _M), 3, _always(TRUTH), "all(c, a, b)",
                    "whether it holds at each instant from a on and before b"),
    "any": Function((_C, _M, _M), 3, _always(TRUTH), "any(c, a, b)", "whether it holds at one of these instants"),
    "share": Function((_C, _M, _M), 3, _always(NUMBER), "share(c, a, b)", "the share of the time in which it holds"),
    "count": Function((_E + _C, _M, _M), 1, _always(NUMBER), "count(e[, a, b])",
                      "how many events there are, or instants at which a condition holds"),
    "mean": Function((_S, _M, _M), 3, _always(NUMBER), "mean(x, a, b)", "mean over time"),
    "quantile": Function((_S, _N, _M, _M), 4, _always(NUMBER), "quantile(x, q, a, b)",
                         "the value that x does not exceed for the share q of the time"),
    "increase": Function((_S, _M, _M), 3, _always(NUMBER), "increase(x, a, b)", "x at b less x at a"),
    "rate": Function((_S, _M, _M), 3, _always(NUMBER), "rate(x, a, b)", "the increase in a second"),
    "largest": Function((_S, _N, _M, _M), 4, _always(NUMBER), "largest(x, t, a, b)",
                        "the largest increase of x in one of the intervals of t seconds from a to b"),
    "goodput": Function((_M, _M), 2, _always(NUMBER), "goodput(a, b)",
                        "payload acknowledged between two moments [bit/s]"),
    "rounds": Function((_M, _M), 2, _always(NUMBER), "rounds(a, b)",
                       "round trips between two moments: by the observable that ends in round_count, else by `round`"),
    "min": Function((_ANY_NUMBER, (NUMBER, SERIES, MOMENT)), 2, _reduced_or_over, "min(x, a, b), min(x, y, ...)",
                    "the smallest value between two moments; the smaller of values", more=True),
    "max": Function((_ANY_NUMBER, (NUMBER, SERIES, MOMENT)), 2, _reduced_or_over, "max(x, a, b), max(x, y, ...)",
                    "the largest value between two moments; the larger of values", more=True),
    "abs": Function((_ANY_NUMBER,), 1, _as_first, "abs(x)", "without sign"),
    "sqrt": Function((_ANY_NUMBER,), 1, _as_first, "sqrt(x)", "square root"),
    "log2": Function((_ANY_NUMBER,), 1, _as_first, "log2(x)", "logarithm to base 2"),
    "floor": Function((_ANY_NUMBER,), 1, _as_first, "floor(x)", "the largest whole number not above x"),
    "ceil": Function((_ANY_NUMBER,), 1, _as_first, "ceil(x)", "the smallest whole number not below x"),
    "ratio": Function((_ANY_NUMBER, _ANY_NUMBER), 2, _as_first, "ratio(x, y)", "x / y"),
    "change": Function((_S,), 1, _always(SERIES), "change(x)",
                       "by how much x changes where it does, known at these instants only"),
    "at_acks": Function((_S + _C,), 1, lambda k: k[0], "at_acks(x)", "x at the instants of ACKs only"),
    "flow": Function((_T, _S), 2, _always(SERIES), "flow('NAME', x)", "a variable of another flow"),
    "metric": Function((_T,), 1, _always(NUMBER), "metric('EXPRESSION')",
                       "a metric of campaigns over all tables of the run, in its unit"),
}  # fmt: skip


@dataclass(frozen=True)
class Names:
    """The names that the expressions of a case may use."""

    #: Variables of the table `cc`: name, and whether it is a state.
    variables: Mapping[str, bool]
    #: The expressions of `[case.let]`.
    let: Mapping[str, Tree]
    #: Names in braces.
    parameters: frozenset[str]


class Checker:
    """Finds the kind of each part, and mistakes, before a run.

    Args:
        names: what may be used.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._kinds: dict[str, str] = {}
        self._open: list[str] = []
        #: The variables that the expressions use.
        self.used: set[str] = set()
        #: Kinds of events that they ask for.
        self.tables: set[str] = set()

    def truth(self, tree: Tree) -> None:
        """Checks an expression that must hold or not.

        Raises:
            ExpressionError: it has a mistake, or comes to something else.
        """
        kind = self.kind(tree)
        if kind == CONDITION:
            raise ExpressionError(
                "this is a condition over time", "say when it must hold: all(..., a, b), any(..., a, b)", *_place(tree)
            )
        if kind != TRUTH:
            raise ExpressionError(
                f"this is {kind}, and a check must be true or false", "write a comparison, such as x < 3", *_place(tree)
            )

    def kind(self, tree: Tree) -> str:
        """What a part comes to.

        Raises:
            ExpressionError: it has a mistake.
        """
        if isinstance(tree, Number):
            return NUMBER
        if isinstance(tree, Text):
            return TEXT
        if isinstance(tree, Parameter):
            self._parameter(tree)
            return NUMBER
        if isinstance(tree, Name):
            return self._name(tree)
        if isinstance(tree, Call):
            return self._call(tree)
        if isinstance(tree, Unary):
            kind = self.kind(tree.of)
            self._among(tree.of, kind, _LOGICAL if tree.operator == "not" else _NUMERIC, f"'{tree.operator}'")
            return kind
        if isinstance(tree, Binary):
            return self._binary(tree)
        if isinstance(tree, Compare):
            return self._compare(tree)
        kinds = [self.kind(part) for part in (tree.of, tree.low, tree.high)]
        for part, kind in zip((tree.of, tree.low, tree.high), kinds, strict=True):
            self._among(part, kind, _NUMERIC, "'in'")
        return CONDITION if SERIES in kinds else TRUTH

    def _parameter(self, tree: Parameter) -> None:
        if tree.name not in self._names.parameters:
            remedy = nearest(tree.name, sorted(self._names.parameters))
            raise ExpressionError(f"the paths have no '{tree.name}'", remedy, *_place(tree))

    def _name(self, tree: Name) -> str:
        name = tree.name
        if name in self._names.let:
            if name in self._open:
                circle = " -> ".join([*self._open[self._open.index(name) :], name])
                raise ExpressionError(f"'{name}' is explained by itself: {circle}", "break the circle", *_place(tree))
            if name not in self._kinds:
                self._open.append(name)
                try:
                    self._kinds[name] = self.kind(self._names.let[name])
                except ExpressionError as error:
                    if "explained by itself" in error.message:
                        raise ExpressionError(error.message, error.help, *_place(tree)) from None
                    # The mistake is shown at the name's own expression.
                    raise InLetError(name, error) from None
                finally:
                    self._open.pop()
            return self._kinds[name]
        if name in self._names.variables:
            self.used.add(name)
            return EVENTS if self._names.variables[name] else SERIES
        if name in MOMENTS:
            return MOMENT
        if name in NUMBERS:
            return NUMBER
        if name in FUNCTIONS:
            raise ExpressionError(f"'{name}' is a function", f"it is called as {FUNCTIONS[name].form}", *_place(tree))
        if name in UNITS:
            raise ExpressionError(f"the unit '{name}' stands behind a number", f"such as 3 {name}", *_place(tree))
        if name in self._names.parameters:
            raise ExpressionError(f"'{name}' is a value of the path", f"write {{{name}}}", *_place(tree))
        known = [*self._names.variables, *self._names.let, *MOMENTS, *NUMBERS]
        remedy = "a variable of the control's own stands in `observables`; lasthop describe cc NAME lists others"
        raise ExpressionError(f"there is no '{name}'", nearest(name, known, remedy), *_place(tree))

    def _binary(self, tree: Binary) -> str:
        left, right = self.kind(tree.left), self.kind(tree.right)
        sign = f"'{tree.operator}'"
        if tree.operator in ("and", "or"):
            self._among(tree.left, left, _LOGICAL, sign)
            self._among(tree.right, right, _LOGICAL, sign)
            return CONDITION if CONDITION in (left, right) else TRUTH
        if left == MOMENT and tree.operator == "-" and right == MOMENT:
            return NUMBER
        if left == MOMENT and tree.operator in "+-" and right == NUMBER:
            return MOMENT
        self._among(tree.left, left, _NUMERIC, sign)
        self._among(tree.right, right, _NUMERIC, sign)
        return SERIES if SERIES in (left, right) else NUMBER

    def _compare(self, tree: Compare) -> str:
        kinds = [TEXT if self._is_state(term) and self._has_text(tree) else self.kind(term) for term in tree.terms]
        if TEXT in kinds:
            return self._compare_state(tree)
        if set(kinds) == {MOMENT}:
            return TRUTH
        if set(kinds) <= {TRUTH, CONDITION} and set(tree.operators) <= {"==", "!="}:
            return CONDITION if CONDITION in kinds else TRUTH
        for term, kind in zip(tree.terms, kinds, strict=True):
            self._among(term, kind, _NUMERIC, "a comparison")
        return CONDITION if SERIES in kinds else TRUTH

    def _is_state(self, tree: Tree) -> bool:
        return isinstance(tree, Name) and self._names.variables.get(tree.name, False)

    def _has_text(self, tree: Compare) -> bool:
        return any(isinstance(term, Text) for term in tree.terms)

    def _compare_state(self, tree: Compare) -> str:
        pair = sorted(tree.terms, key=lambda term: isinstance(term, Text))
        right = len(pair) == 2 and isinstance(pair[0], Name) and isinstance(pair[1], Text)
        if not right or tree.operators[0] not in ("==", "!=") or not self._is_state(pair[0]):
            raise ExpressionError(
                "a text is compared with a state alone", "write bbr.state = 'Drain'", tree.first, tree.last
            )
        assert isinstance(pair[0], Name)
        self.used.add(pair[0].name)
        return CONDITION

    def _call(self, tree: Call) -> str:
        function = FUNCTIONS.get(tree.function)
        place = (tree.first, tree.named)
        if function is None:
            raise ExpressionError(f"there is no function '{tree.function}'", nearest(tree.function, FUNCTIONS), *place)
        count = len(tree.arguments)
        most = len(function.takes)
        if count < function.least or (count > most and not function.more):
            raise ExpressionError(
                f"'{tree.function}' takes {_counted(function)}, not {count}",
                f"its form is {function.form}",
                tree.first,
                tree.last,
            )
        if tree.function == "count" and count == 2:
            raise ExpressionError("an interval has two ends", f"its form is {function.form}", tree.first, tree.last)
        kinds = []
        for number, argument in enumerate(tree.arguments):
            kind = self.kind(argument)
            wanted = function.takes[min(number, most - 1)]
            if kind not in wanted:
                raise ExpressionError(
                    f"argument {number + 1} of '{tree.function}' is {kind}, not {' or '.join(wanted)}",
                    f"its form is {function.form}",
                    *_place(argument),
                )
            kinds.append(kind)
        if tree.function in ("min", "max") and MOMENT in kinds and kinds[1:] != [MOMENT, MOMENT]:
            raise ExpressionError("an interval has two ends", f"its form is {function.form}", tree.first, tree.last)
        self._check_texts(tree)
        return function.gives(kinds)

    def _check_texts(self, tree: Call) -> None:
        texts = [a for a in tree.arguments if isinstance(a, Text)]
        if tree.function in ("enter", "leave"):
            variable = texts[0] if texts else None
            if variable is None or not self._names.variables.get(variable.value, False):
                known = [name for name, state in self._names.variables.items() if state]
                name = "" if variable is None else variable.value
                if name in self._names.variables:
                    raise ExpressionError(
                        f"'{name}' is a number, not a state",
                        "use rises(x > 3) or changes(x)",
                        *_place(tree.arguments[0]),
                    )
                raise ExpressionError(f"there is no state '{name}'", nearest(name, known), *_place(tree.arguments[0]))
            self.used.add(variable.value)
        if tree.function == "events":
            self.tables.add("events")
        if tree.function == "metric":
            try:
                metric = Metric.parse("metric", texts[0].value)
            except MetricError as error:
                message = f"the metric is wrong: {error.what or error}"
                raise ExpressionError(message, error.help or None, *_place(texts[0])) from None
            self.tables |= metric.tables
        if tree.function in ("rounds", "goodput"):
            self.used.add("round" if tree.function == "rounds" else "delivered")

    def _among(self, tree: Tree, kind: str, wanted: tuple[str, ...], what: str) -> None:
        if kind in wanted:
            return
        remedy = {
            EVENTS: "use first(...), nth(..., n) or count(...); a state is compared with a text",
            CONDITION: "say when it must hold: all(..., a, b)",
            MOMENT: "time(m) is its time; at(x, m) is a value at it",
        }.get(kind)
        raise ExpressionError(f"{what} needs {' or '.join(wanted)}, and this is {kind}", remedy, *_place(tree))


def _counted(function: Function) -> str:
    """How many arguments a function takes, in words."""
    least, most = function.least, len(function.takes)
    if function.more:
        return f"{least} arguments or more"
    span = f"{least}" if least == most else f"{least} to {most}"
    return f"{span} argument{'' if span == '1' else 's'}"


class InLetError(ExpressionError):
    """A mistake in the expression of a name."""

    def __init__(self, name: str, error: ExpressionError) -> None:
        super().__init__(error.message, error.help, error.first, error.last)
        self.name = getattr(error, "name", name)


def _place(tree: Tree) -> tuple[int, int]:
    return tree.first, tree.last


def variables_of(tree: Tree) -> set[str]:
    """All names of an expression, of whatever they are."""
    if isinstance(tree, Name):
        return {tree.name}
    return {name for part in _parts(tree) for name in variables_of(part)}


def _parts(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, Call):
        return tree.arguments
    if isinstance(tree, Unary):
        return (tree.of,)
    if isinstance(tree, Binary):
        return (tree.left, tree.right)
    if isinstance(tree, Compare):
        return tree.terms
    if isinstance(tree, Within):
        return (tree.of, tree.low, tree.high)
    return ()


def names_in(text: str) -> Iterable[str]:
    """Names of an expression; none of one with a mistake."""
    try:
        return variables_of(parse(text))
    except ExpressionError:
        return ()


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow,
}  # fmt: skip
_ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "log2": np.log2, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


class Evaluation:
    """Works expressions out over a run.

    Args:
        recording: the judged flow.
        names: as they were checked.
        parameters: values of names in braces.
        rounds: the variable that counts round trips.
    """

    def __init__(
        self, recording: Recording, names: Names, parameters: Mapping[str, float], rounds: str = "round"
    ) -> None:
        self._run = recording
        self._names = names
        self._parameters = parameters
        self._counter = rounds
        self._known: dict[str, Found] = {}
        self._steps: dict[str, Steps] = {}

    def of(self, tree: Tree) -> Found:
        """What an expression comes to."""
        if isinstance(tree, Number):
            return tree.value
        if isinstance(tree, Text):
            return tree.value
        if isinstance(tree, Parameter):
            return float(self._parameters[tree.name])
        if isinstance(tree, Name):
            return self._name(tree.name)
        if isinstance(tree, Call):
            return self._call(tree)
        if isinstance(tree, Unary):
            return self._unary(tree)
        if isinstance(tree, Binary):
            return self._binary(tree)
        if isinstance(tree, Compare):
            return self._compare(tree)
        parts = [self.of(part) for part in (tree.of, tree.low, tree.high)]
        inside = self._each(parts, lambda x, low, high: _and(x >= low, x <= high), _shown(tree), truth=True)
        return self._not(inside) if tree.negated else inside

    def _name(self, name: str) -> Found:
        if name in self._names.let:
            if name not in self._known:
                self._known[name] = self.of(self._names.let[name])
            return self._known[name]
        if name in self._names.variables:
            if self._names.variables[name]:
                return Events((), f"{name} is a state")
            return self.variable(name)
        if name in MOMENTS:
            run = self._run
            return {"start": run.start, "end": run.end, "late": run.moment(run.duration_s / 3)}[name]
        return math.inf if name == "inf" else float(self._parameters[name])

    def variable(self, name: str) -> Steps:
        """A number over time."""
        if name not in self._steps:
            self._steps[name] = self._run.steps(name)
        return self._steps[name]

    def _unary(self, tree: Unary) -> Found:
        value = self.of(tree.of)
        if tree.operator == "not":
            return self._not(value)
        return self._each([value], operator.neg, _shown(tree))

    def _not(self, value: Found) -> Found:
        if isinstance(value, (bool, np.bool_)):
            return not value
        return self._each([value], lambda x: np.where(np.isnan(x), math.nan, 1.0 - x), "not", truth=True)

    def _binary(self, tree: Binary) -> Found:
        left = self.of(tree.left)
        if tree.operator in ("and", "or"):
            return self._logic(tree, left)
        right = self.of(tree.right)
        if isinstance(left, Moment) and not isinstance(right, Unknown):
            if isinstance(right, Moment):
                return left.time_s - right.time_s
            assert isinstance(right, (int, float))
            return self._run.moment(left.time_s + (right if tree.operator == "+" else -right))
        return self._each([left, right], _ARITHMETIC[tree.operator], _shown(tree))

    def _logic(self, tree: Binary, left: Found) -> Found:
        """Three values: what is not known decides nothing that the other side decides."""
        deciding = tree.operator == "or"
        if left is deciding:
            return left
        right = self.of(tree.right)
        if right is deciding:
            return right
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        if isinstance(left, Steps) or isinstance(right, Steps):
            combine = _or if deciding else _and
            return self._each([left, right], combine, _shown(tree), truth=True)
        return right

    def _compare(self, tree: Compare) -> Found:
        if any(isinstance(term, Text) for term in tree.terms):
            state, text = sorted(tree.terms, key=lambda term: isinstance(term, Text))
            assert isinstance(state, Name)
            assert isinstance(text, Text)
            found = self._run.states(state.name, text.value)
            return self._not(found) if tree.operators[0] == "!=" else found
        parts = [self.of(term) for term in tree.terms]
        moments = [p.row if isinstance(p, Moment) else p for p in parts]
        return self._each(moments, lambda *x: _chain(tree.operators, x), _shown(tree), truth=True)

    def _each(self, parts: Sequence[Any], combine: Callable[..., Any], what: str, truth: bool = False) -> Found:
        """The same for numbers, and for values over time instant by instant."""
        for part in parts:
            if isinstance(part, Unknown):
                return part
        if any(isinstance(part, Steps) for part in parts):
            return joined([p if isinstance(p, Steps) else float(p) for p in parts], combine, what)
        with np.errstate(all="ignore"):
            try:
                value = combine(*(np.float64(p) for p in parts))
            except (ArithmeticError, ValueError):
                value = np.float64(math.nan)
        value = float(value)
        if math.isnan(value):
            return Unknown(f"{what} has no value")
        return bool(value) if truth else value

    def _call(self, tree: Call) -> Found:
        name = tree.function
        arguments = [self.of(argument) for argument in tree.arguments]
        if name == "exists":
            return not isinstance(arguments[0], Unknown) and not (
                isinstance(arguments[0], Events) and not arguments[0].moments
            )
        for argument in arguments:
            if isinstance(argument, Unknown):
                return argument
        if name in _ELEMENTWISE:
            return self._each(arguments, _ELEMENTWISE[name], f"{name}(...)")
        found: Found = getattr(self, f"_{name}")(*arguments)
        return found

    # One method for each function of the language, called by its name.

    def _enter(self, variable: str, state: str, origin: str | None = None) -> Found:
        return self._run.transitions(variable, state, origin)

    def _leave(self, variable: str, state: str) -> Found:
        return self._run.transitions(variable, None, state)

    def _changes(self, steps: Steps) -> Found:
        return self._run.changes(steps)

    def _rises(self, truth: Steps) -> Found:
        return self._run.rises(truth)

    def _events(self, kind: str, source: str | None = None) -> Found:
        table = self._run.run.table("events")
        of = source or f"flow/{self._run.flow}"
        rows = zip(table.column("time_s").to_pylist(), table.column("source").to_pylist(),
                   table.column("kind").to_pylist(), strict=True)  # fmt: skip
        times = [t for t, s, k in rows if k == kind and s == of]
        return Events(tuple(self._run.moment(t) for t in times), f"there is no event '{kind}' of {of}")

    def _after(self, events: Events, moment: Moment) -> Found:
        return Events(
            tuple(m for m in events.moments if m.row > moment.row), f"after {moment.time_s:.6g} s {events.what}"
        )

    def _before(self, of: Events | Steps, moment: Moment) -> Found:
        if isinstance(of, Steps):
            return self._run.before(of, moment)
        return Events(tuple(m for m in of.moments if m.row < moment.row), f"before {moment.time_s:.6g} s {of.what}")

    def _first(self, events: Events) -> Found:
        return events.moments[0] if events.moments else Unknown(events.what)

    def _last(self, events: Events) -> Found:
        return events.moments[-1] if events.moments else Unknown(events.what)

    def _nth(self, events: Events, n: float) -> Found:
        k = int(n)
        if 1 <= k <= len(events.moments):
            return events.moments[k - 1]
        return Unknown(f"there are {len(events.moments)} such events, not {n:g} ({events.what})")

    def _shift(self, moment: Moment, by_s: float) -> Found:
        return self._run.moment(moment.time_s + by_s)

    def _time(self, moment: Moment) -> Found:
        return moment.time_s

    def _at(self, steps: Steps, moment: Moment) -> Found:
        return self._run.at(steps, moment)

    def _all(self, truth: Steps, first: Moment, last: Moment) -> Found:
        window = self._run.window(truth, first, last)
        if isinstance(window, Unknown):
            return window
        values = window[0]
        if np.any(values == 0):
            return False
        return Unknown(f"{truth.what} is not always known") if np.any(np.isnan(values)) else True

    def _any(self, truth: Steps, first: Moment, last: Moment) -> Found:
        window = self._run.window(truth, first, last)
        if isinstance(window, Unknown):
            return window
        values = window[0]
        if np.any(values == 1):
            return True
        return Unknown(f"{truth.what} is not always known") if np.any(np.isnan(values)) else False

    def _share(self, truth: Steps, first: Moment, last: Moment) -> Found:
        return self._mean(truth, first, last)

    def _count(self, of: Events | Steps, first: Moment | None = None, last: Moment | None = None) -> Found:
        low, high = first or self._run.start, last or self._run.end
        if isinstance(of, Events):
            return float(sum(low.row <= m.row < high.row for m in of.moments))
        window = self._run.window(of, low, high)
        return window if isinstance(window, Unknown) else float(np.sum(window[0] == 1))

    def _known_values(self, steps: Steps, first: Moment, last: Moment) -> tuple[Any, Any] | Unknown:
        window = self._run.window(steps, first, last)
        if isinstance(window, Unknown):
            return window
        known = ~np.isnan(window[0])
        if not np.any(known):
            return Unknown(f"{steps.what} is not known from {first.time_s:.6g} s to {last.time_s:.6g} s")
        return window[0][known], window[1][known]

    def _mean(self, steps: Steps, first: Moment, last: Moment) -> Found:
        found = self._known_values(steps, first, last)
        if isinstance(found, Unknown):
            return found
        values, lengths = found
        total = float(np.sum(lengths))
        return float(np.sum(values * lengths) / total) if total > 0 else float(np.mean(values))

    def _quantile(self, steps: Steps, q: float, first: Moment, last: Moment) -> Found:
        found = self._known_values(steps, first, last)
        if isinstance(found, Unknown):
            return found
        if not 0 <= q <= 1:
            return Unknown(f"a quantile of {q:g} is outside of 0 to 1")
        order = np.argsort(found[0], kind="stable")
        values, lengths = found[0][order], np.cumsum(found[1][order])
        return float(values[min(int(np.searchsorted(lengths, q * lengths[-1])), len(values) - 1)])

    def _increase(self, steps: Steps, first: Moment, last: Moment) -> Found:
        ends = [self._run.at(steps, m) for m in (first, last)]
        return self._each([ends[1], ends[0]], operator.sub, "increase(...)")

    def _rate(self, steps: Steps, first: Moment, last: Moment) -> Found:
        return self._each(
            [self._increase(steps, first, last), last.time_s - first.time_s], operator.truediv, "rate(...)"
        )

    def _largest(self, steps: Steps, length_s: float, first: Moment, last: Moment) -> Found:
        count = int((last.time_s - first.time_s) / length_s) if length_s > 0 else 0
        if not 1 <= count <= _MOST_INTERVALS:
            return Unknown(f"there are {count} intervals of {length_s:g} s, not 1 to {_MOST_INTERVALS}")
        edges = [self._run.at(steps, self._run.moment(first.time_s + k * length_s)) for k in range(count + 1)]
        for edge in edges:
            if isinstance(edge, Unknown):
                return edge
        return float(np.max(np.diff(np.array(edges, dtype=float))))

    def _goodput(self, first: Moment, last: Moment) -> Found:
        return self._each([self._rate(self.variable("delivered"), first, last), 8.0], operator.mul, "goodput(...)")

    def _rounds(self, first: Moment, last: Moment) -> Found:
        return self._increase(self.variable(self._counter), first, last)

    def _extreme(self, which: str, parts: Sequence[Any]) -> Found:
        if len(parts) == 3 and isinstance(parts[1], Moment):
            if not isinstance(parts[0], Steps):
                return float(parts[0])
            found = self._known_values(parts[0], parts[1], parts[2])
            if isinstance(found, Unknown):
                return found
            return float(np.min(found[0]) if which == "min" else np.max(found[0]))
        take: Callable[..., Any] = np.minimum if which == "min" else np.maximum
        value: Found = parts[0]
        for part in parts[1:]:
            value = self._each([value, part], take, f"{which}(...)")
        return value

    def _min(self, *parts: Any) -> Found:
        return self._extreme("min", parts)

    def _max(self, *parts: Any) -> Found:
        return self._extreme("max", parts)

    def _ratio(self, x: Any, y: Any) -> Found:
        return self._each([x, y], operator.truediv, "ratio(...)")

    def _change(self, steps: Steps) -> Found:
        return Steps(steps.at[1:], np.diff(steps.values), f"change of {steps.what}", sampled=True)

    def _at_acks(self, steps: Steps) -> Found:
        acks = self._run.acks
        if steps.sampled:
            acks = acks[np.isin(acks, steps.at)]
        return Steps(acks, held(steps, acks), steps.what, sampled=True)

    def _flow(self, name: str, steps: Steps) -> Found:
        if name not in self._run.flows:
            return Unknown(f"there is no flow '{name}'; there are: {', '.join(self._run.flows)}")
        other = Recording(self._run.run, name, self._run.duration_s)
        if steps.what not in other.variables:
            return Unknown(f"the flow '{name}' has no '{steps.what}'")
        found = other.steps(steps.what)
        # The other flow's instants are others: its value holds from the first instant at or after its time.
        at = np.searchsorted(self._run.times, other.times[found.at], side="left")
        keep = np.append(np.diff(at) != 0, True) & (at < len(self._run.times))
        return Steps(at[keep], found.values[keep], f"{steps.what} of {name}")

    def _metric(self, text: str) -> Found:
        try:
            outcome = Metric.parse("metric", text).outcome(self._run.run)
        except (LasthopError, MetricError) as error:
            return Unknown(str(error).partition("\n")[0])
        return outcome.value if outcome.value is not None else Unknown(outcome.reason or "no value")


def _chain(operators: Sequence[str], values: Sequence[Any]) -> Any:
    """`a < b <= c`, with NaN where a value is not known."""
    known = np.ones(np.broadcast(*values).shape if len(values) > 1 else (), dtype=bool)
    holds: Any = True
    for sign, left, right in zip(operators, values, values[1:], strict=False):
        holds = holds & _COMPARE[sign](left, right)
        known = known & ~(np.isnan(left) | np.isnan(right))
    return np.where(known, holds, math.nan)


def _and(left: Any, right: Any) -> Any:
    decided = (left == 0) | (right == 0)
    return np.where(decided, 0.0, np.where(np.isnan(left) | np.isnan(right), math.nan, 1.0))


def _or(left: Any, right: Any) -> Any:
    decided = (left == 1) | (right == 1)
    return np.where(decided, 1.0, np.where(np.isnan(left) | np.isnan(right), math.nan, 0.0))


def _shown(tree: Tree) -> str:
    """A part in words, for messages."""
    if isinstance(tree, Name):
        return tree.name
    if isinstance(tree, Number):
        return f"{tree.value:g}"
    if isinstance(tree, Parameter):
        return f"{{{tree.name}}}"
    if isinstance(tree, Text):
        return f"'{tree.value}'"
    if isinstance(tree, Call):
        return f"{tree.function}(...)"
    if isinstance(tree, Unary):
        return f"{tree.operator} {_shown(tree.of)}"
    if isinstance(tree, Compare):
        words = [_shown(tree.terms[0])]
        for sign, term in zip(tree.operators, tree.terms[1:], strict=True):
            words += [sign, _shown(term)]
        return " ".join(words)
    if isinstance(tree, Within):
        return f"{_shown(tree.of)} in [{_shown(tree.low)}, {_shown(tree.high)}]"
    return f"{_shown(tree.left)} {tree.operator} {_shown(tree.right)}"


def left_of(tree: Tree) -> Tree | None:
    """The side of a check whose value is shown: what is compared."""
    if isinstance(tree, Compare):
        return tree.terms[0] if not isinstance(tree.terms[0], (Number, Text)) else tree.terms[1]
    return tree.of if isinstance(tree, Within) else None
