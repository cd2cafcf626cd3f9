"""Finds mistakes in the meaning of case expressions before a run."""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import floor, inf
from typing import TypeGuard

from lasthop.campaign._faults import nearest
from lasthop.campaign.metrics import Metric, MetricError
from lasthop.campaign.metrics._catalogue import EVENT_KINDS
from lasthop.judging._functions import (
    CONDITION,
    EVENTS,
    FUNCTIONS,
    MOMENT,
    MOMENTS,
    NUMBER,
    NUMBERS,
    SERIES,
    TEXT,
    TRUTH,
    Function,
    Names,
)
from lasthop.judging._syntax import (
    DIMENSIONS,
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
    parts_of,
)

_NUMERIC = (NUMBER, SERIES)
_LOGICAL = (TRUTH, CONDITION)
_TIMES = tuple(unit for unit, dimension in DIMENSIONS.items() if dimension == (1, 0))
#: Functions of flows with the table that they read, where runs have it on request.
OF_FLOWS: dict[str, str | None] = {
    **dict.fromkeys(("goodput_of", "jain_of", "starved_of", "time_to_reach", "time_to_settle", "spread_of"), "tcp"),
    **dict.fromkeys(("loss_of", "marked_of", "wait_of", "delay_of", "carried_of"), "windows"),
    **dict.fromkeys(("ecn_of", "burst_of"), "packets"), "completion_of": None,
}  # fmt: skip
#: Functions whose values are from 0 to 1, and others whose values are not below 0.
SHARES = ("share", "largest_share", "loss_of", "marked_of", "ecn_of", "jain_of", "starved_of")
_NOT_NEGATIVE = (
    "goodput_of", "carried_of", "delay_of", "wait_of", "spread_of", "swings", "burst_of", "completion_of",
    "time_to_reach", "time_to_settle", "count",
)  # fmt: skip
#: Arguments that are a length of time, by function.
_LENGTHS = {
    "largest": (1,), "largest_share": (2,), "spread_of": (1,), "swings": (3,), "burst_of": (1,), "jain_of": (1,),
    "starved_of": (2,), "time_to_reach": (2,), "time_to_settle": (3, 4),
}  # fmt: skip
_RTT = "metric('flow(\"judged\").rtt_mean_s')"
#: What is no variable and can be had otherwise.
_MEASURED = {
    **dict.fromkeys(("rtt", "srtt", "rtt_us"), _RTT), "min_rtt": _RTT.replace("mean", "min"),
    **dict.fromkeys(("throughput", "delivery_rate", "bw"), "goodput(late, end)"),
    **dict.fromkeys(("loss", "loss_rate", "drops"), "loss_of('judged', late, end), with output.windows"),
    **dict.fromkeys(("delay", "wait", "queue"), "wait_of('judged', 95, late, end), with output.windows"),
}  # fmt: skip
#: Functions that read a run whatever their arguments are.
_OF_RUNS = (*OF_FLOWS, "enter", "leave", "events", "goodput", "rounds", "metric", "flow")


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

    def truth(self, tree: Tree) -> None:
        """Checks an expression that must hold or not.

        Raises:
            ExpressionError: it has a mistake, or is not a condition.
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

    def of_run(self, tree: Tree) -> None:
        """Checks that an expression depends on what a run has recorded.

        Raises:
            ExpressionError: it has one value for every control.
        """
        if not self.reads(tree):
            raise ExpressionError(
                "this does not depend on the control: no variable, event or metric of the run is in it",
                "compare what the run has recorded, such as max(cwnd, start, end) >= 4", *_place(tree),
            )  # fmt: skip

    def can_fail(self, tree: Tree) -> None:
        """Checks that a comparison with a bound does not hold for every possible value.

        Raises:
            ExpressionError: it always holds.
        """
        if not isinstance(tree, Compare) or len(tree.operators) != 1:
            return
        (left, right), sign = tree.terms, tree.operators[0]
        if (sign, self._constant(right)) in (("<=", inf), (">", -inf), (">=", -inf)):
            raise ExpressionError(
                "this always holds: no value is beyond inf", "a bound that a control can miss", *_place(tree)
            )
        if not isinstance(left, Call):
            left, right, sign = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        bound = self._constant(right)
        if not isinstance(left, Call) or bound is None or left.function not in (*SHARES, *_NOT_NEGATIVE):
            return
        most = 1.0 if left.function in SHARES else inf
        always = {
            "<": most < bound, "<=": most <= bound, ">": bound < 0, ">=": bound <= 0,
        }.get(sign, False)  # fmt: skip
        if always:
            values = "from 0 to 1" if most == 1 else "never below 0"
            remedy = "1 % is 0.01: such as <= 1 %" if most == 1 else "a bound that a control can miss"
            raise ExpressionError(f"this always holds: {left.function}(...) is {values}", remedy, *_place(tree))

    def reads(self, tree: Tree) -> bool:
        """Whether an expression depends on what a run has recorded."""
        if isinstance(tree, Name):
            let = self._names.let.get(tree.name)
            return tree.name in self._names.variables if let is None else self.reads(let)
        if isinstance(tree, Call):
            return tree.function in _OF_RUNS or any(map(self.reads, parts_of(tree)))
        return any(map(self.reads, parts_of(tree)))

    def kind(self, tree: Tree) -> str:
        """The kind of a part.

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
        low, high = self._constant(tree.low), self._constant(tree.high)
        if low is not None and high is not None and low > high:
            raise ExpressionError("no value is in this range", "the smaller end comes first: in [2, 3]", *_place(tree))
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
        measured = _MEASURED.get(name)
        if name in self._names.parameters:
            remedy = f"write {{{name}}}" + (f"; what was measured is {measured}" if measured else "")
            raise ExpressionError(f"'{name}' is a value of the path", remedy, *_place(tree))
        known = [*self._names.variables, *self._names.let, *MOMENTS, *NUMBERS]
        remedy = "a variable of the control's own stands in `observables`; lasthop describe cc NAME lists others"
        remedy = f"no variable, but a value of the run: {measured}" if measured else nearest(name, known, remedy)
        raise ExpressionError(f"there is no '{name}'", remedy, *_place(tree))

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
        if tree.operator == "/" and isinstance(tree.right, Number) and tree.right.value == 0:
            raise ExpressionError("a division by 0", "the check would never be known", *_place(tree.right))
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

    def _is_state(self, tree: Tree) -> TypeGuard[Name]:
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
        assert isinstance(pair[1], Text)
        self.used.add(pair[0].name)
        self._check_state(pair[0].name, pair[1])
        return CONDITION

    def _check_state(self, variable: str, state: Text) -> None:
        """A variable whose states are listed has this one."""
        states = self._names.states.get(variable, ())
        if states and state.value not in states:
            own = f'a variable with states of its own is declared: "{variable}: text" in `observables`'
            remedy = f"{nearest(state.value, states)} ({own})"
            raise ExpressionError(f"'{variable}' has no state '{state.value}'", remedy, *_place(state))

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
                remedy = f"its form is {function.form}"
                if kind == NUMBER and wanted == (MOMENT,):
                    remedy += "; a moment is start + 3 s"
                if self._is_state(argument) and CONDITION in wanted:
                    remedy += f"; of a state write {argument.name} = 'STATE'"
                raise ExpressionError(
                    f"argument {number + 1} of '{tree.function}' is {kind}, not {' or '.join(wanted)}",
                    remedy,
                    *_place(argument),
                )
            kinds.append(kind)
        if tree.function in ("min", "max") and MOMENT in kinds and kinds[1:] != [MOMENT, MOMENT]:
            raise ExpressionError("an interval has two ends", f"its form is {function.form}", tree.first, tree.last)
        self._check_texts(tree)
        self._check_values(tree)
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
            for state in texts[1:]:
                self._check_state(variable.value, state)
        if tree.function == "events" and texts and texts[0].value not in EVENT_KINDS:
            kind = texts[0].value
            raise ExpressionError(
                f"there are no events '{kind}'", nearest(kind, EVENT_KINDS), *_place(tree.arguments[0])
            )
        if tree.function == "metric":
            try:
                metric = Metric.parse("metric", texts[0].value)
            except MetricError as error:
                message = f"the metric is wrong: {error.what or error}"
                raise ExpressionError(message, error.help or None, *_place(texts[0])) from None
            for name, _ in metric.flows():
                self._check_flows(name, texts[0])
        if texts and (tree.function in OF_FLOWS or tree.function == "flow"):
            self._check_flows(texts[0].value, texts[0])
        if tree.function in ("rounds", "goodput"):
            self.used.add("round" if tree.function == "rounds" else "delivered")

    def _check_flows(self, of: str, place: Text) -> None:
        """Some flow has this name or fits this pattern; `count` makes NAME-1, NAME-2 of NAME."""
        known = self._names.flows
        if known and not any(fnmatchcase(n, of) or fnmatchcase(f"{n}-1", of) or of.startswith(f"{n}-") for n in known):
            raise ExpressionError(f"no flow fits '{of}'", nearest(of, sorted(known)), *_place(place))

    def _check_values(self, tree: Call) -> None:
        """Numbers of which it is known before a run that they have no meaning there."""
        numbers = [a for a in tree.arguments if isinstance(a, Number)]
        if tree.function in ("min", "max") and [n.unit in _TIMES for n in numbers] == [True, True]:
            raise ExpressionError("an interval lies between moments", "a moment is start + 3 s", *_place(numbers[0]))
        if tree.function in ("quantile", "completion_of"):
            share = self._constant(tree.arguments[1])
            if share is not None and not 0 <= share <= 1:
                raise ExpressionError("a quantile is from 0 to 1", "such as 0.95, or 95 %", *_place(tree.arguments[1]))
        for place in _LENGTHS.get(tree.function, ()):
            length = self._constant(tree.arguments[place])
            if length is not None and not 0 < length < inf:
                remedy = f"its form is {FUNCTIONS[tree.function].form}"
                raise ExpressionError("a length of time is above 0", remedy, *_place(tree.arguments[place]))
        if tree.function == "nth" and (n := self._constant(tree.arguments[1])) is not None and (n < 1 or n != floor(n)):
            raise ExpressionError("events are counted from 1", "such as nth(e, 2)", *_place(tree.arguments[1]))
        if tree.function == "swings":
            low, high = self._constant(tree.arguments[1]), self._constant(tree.arguments[2])
            if low is not None and high is not None and low >= high:
                remedy = f"its form is {FUNCTIONS['swings'].form}"
                raise ExpressionError("`low` is below `high`", remedy, *_place(tree.arguments[1]))
        if not numbers or numbers[0] not in tree.arguments[1:2]:
            return
        if tree.function in ("wait_of", "delay_of") and numbers[0].value not in (50, 95, 99):
            raise ExpressionError("a window has the quantiles 50, 95 and 99", "such as 95", *_place(numbers[0]))

    def _constant(self, tree: Tree) -> float | None:
        """The value of a number, also with a sign or by a name; None: it is not known here."""
        if isinstance(tree, Name) and tree.name in self._names.let:
            return self._constant(self._names.let[tree.name])
        if isinstance(tree, Unary) and tree.operator == "-":
            of = self._constant(tree.of)
            return None if of is None else -of
        if isinstance(tree, Name) and tree.name == "inf":
            return inf
        return tree.value if isinstance(tree, Number) else None

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
