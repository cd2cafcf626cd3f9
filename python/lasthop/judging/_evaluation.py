"""Evaluates case expressions over a run."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lasthop._core import LasthopError
from lasthop.campaign.metrics import Metric, MetricError
from lasthop.judging._functions import MOMENTS, Names
from lasthop.judging._recording import Events, Moment, Recording, Steps, Unknown, held, joined
from lasthop.judging._shares import Shares
from lasthop.judging._syntax import (
    Binary,
    Call,
    Compare,
    Name,
    Number,
    Parameter,
    Text,
    Tree,
    Unary,
)
from lasthop.judging._writing import written

Found: TypeAlias = "float | bool | str | Moment | Events | Steps | Unknown"
"""What a part of an expression comes to."""

#: `largest` takes no more intervals.
_MOST_INTERVALS = 100_000

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow,
}  # fmt: skip
#: Functions whose moments may be outside of the run.
ANY_TIME = frozenset({"after", "shift", "time"})
_ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "log2": np.log2, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


class Evaluation:
    """Evaluates expressions over a run.

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
        self._shares = Shares(recording.run)

    def of(self, tree: Tree) -> Found:
        """The value of an expression."""
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
        inside = self._each(parts, lambda x, low, high: _and(x >= low, x <= high), written(tree), truth=True)
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

    def meant(self, name: str) -> Tree | None:
        """The expression of a name of `[case.let]`; None: it is not such a name."""
        return self._names.let.get(name)

    def variable(self, name: str) -> Steps:
        """A number over time."""
        if name not in self._steps:
            self._steps[name] = self._run.steps(name)
        return self._steps[name]

    def _unary(self, tree: Unary) -> Found:
        value = self.of(tree.of)
        if tree.operator == "not":
            return self._not(value)
        return self._each([value], operator.neg, written(tree))

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
        return self._each([left, right], _ARITHMETIC[tree.operator], written(tree))

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
            return self._each([left, right], combine, written(tree), truth=True)
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
        return self._each(moments, lambda *x: _chain(tree.operators, x), written(tree), truth=True)

    def _each(self, parts: Sequence[Any], combine: Callable[..., Any], what: str, truth: bool = False) -> Found:
        """The same for numbers, and for values over time instant by instant."""
        for part in parts:
            if isinstance(part, Unknown):
                return part
        if any(isinstance(part, Steps) for part in parts):
            whole = combine if truth else _finite(combine)
            return joined([p if isinstance(p, Steps) else float(p) for p in parts], whole, what)
        with np.errstate(all="ignore"):
            try:
                value = combine(*(np.float64(p) for p in parts))
            except (ArithmeticError, ValueError):
                value = np.float64(math.nan)
        value = float(value)
        if math.isinf(value) and all(math.isfinite(p) for p in parts):
            return Unknown(f"{what} has no finite value: a division by 0, or a number above 1.8e308")
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
        if name not in ANY_TIME and not (name == "before" and isinstance(arguments[0], Events)):
            for argument in arguments:
                if isinstance(argument, Moment) and (outside := self._run.outside(argument)) is not None:
                    return outside
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
        return Unknown(f"there are {len(events.moments)} such events, not {n:.15g}" if events.moments else events.what)

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

    def _increases(self, steps: Steps, length_s: float, first: Moment, last: Moment) -> Any:
        """The increase in each of the intervals."""
        count = int((last.time_s - first.time_s) / length_s) if length_s > 0 else 0
        if not 1 <= count <= _MOST_INTERVALS:
            return Unknown(f"there are {count} intervals of {length_s:g} s, not 1 to {_MOST_INTERVALS}")
        edges = [self._run.at(steps, self._run.moment(first.time_s + k * length_s)) for k in range(count + 1)]
        for edge in edges:
            if isinstance(edge, Unknown):
                return edge
        return np.diff(np.array(edges, dtype=float))

    def _largest(self, steps: Steps, length_s: float, first: Moment, last: Moment) -> Found:
        found = self._increases(steps, length_s, first, last)
        return found if isinstance(found, Unknown) else float(np.max(found))

    def _largest_share(self, part: Steps, rest: Steps, length_s: float, first: Moment, last: Moment) -> Found:
        found = [self._increases(steps, length_s, first, last) for steps in (part, rest)]
        for increases in found:
            if isinstance(increases, Unknown):
                return increases
        whole = found[0] + found[1]
        if not np.any(whole > 0):
            return Unknown(f"neither {part.what} nor {rest.what} increases")
        return float(np.max(found[0][whole > 0] / whole[whole > 0]))

    def _goodput(self, first: Moment, last: Moment) -> Found:
        return self._each([self._rate(self.variable("delivered"), first, last), 8.0], operator.mul, "goodput(...)")

    def _goodput_of(self, flows: str, first: Moment, last: Moment) -> Found:
        return self._shares.gets(flows, first.time_s, last.time_s)

    def _carried_of(self, flows: str, first: Moment, last: Moment) -> Found:
        return self._shares.carried(flows, first.time_s, last.time_s)

    def _delay_of(self, flows: str, percent: float, first: Moment, last: Moment) -> Found:
        return self._shares.delay(flows, percent, first.time_s, last.time_s)

    def _spread_of(self, flows: str, length_s: float, first: Moment, last: Moment) -> Found:
        return self._shares.spread(flows, length_s, first.time_s, last.time_s)

    def _swings(self, steps: Steps, low: float, high: float, within_s: float, first: Moment, last: Moment) -> Found:
        window = self._run.window(steps, first, last)
        if isinstance(window, Unknown):
            return window
        values, lengths = window
        ends = np.cumsum(lengths)
        side, left, count = 0, 0.0, 0
        for value, begin, end in zip(values, ends - lengths, ends, strict=True):
            now = -1 if value <= low else 1 if value >= high else 0
            if now and side == -now and begin - left <= within_s:
                count += 1
            if now:
                side, left = now, end
        return float(count)

    def _loss_of(self, flows: str, first: Moment, last: Moment) -> Found:
        return self._shares.loss(flows, first.time_s, last.time_s)

    def _marked_of(self, flows: str, first: Moment, last: Moment) -> Found:
        return self._shares.marked(flows, first.time_s, last.time_s)

    def _ecn_of(self, flows: str, codepoint: str, first: Moment, last: Moment) -> Found:
        return self._shares.codepoint(flows, codepoint, first.time_s, last.time_s)

    def _burst_of(self, flows: str, length_s: float, first: Moment, last: Moment) -> Found:
        return self._shares.burst(flows, length_s, first.time_s, last.time_s)

    def _wait_of(self, flows: str, percent: float, first: Moment, last: Moment) -> Found:
        return self._shares.wait(flows, percent, first.time_s, last.time_s)

    def _completion_of(self, flows: str, share: float) -> Found:
        return self._shares.completion(flows, share)

    def _jain_of(self, flows: str, length_s: float, first: Moment, last: Moment) -> Found:
        return self._shares.jain(flows, length_s, first.time_s, last.time_s)

    def _starved_of(self, flows: str, below: float, length_s: float, first: Moment, last: Moment) -> Found:
        return self._shares.starved(flows, below, length_s, first.time_s, last.time_s)

    def _time_to_reach(self, flows: str, rate: float, length_s: float, first: Moment) -> Found:
        return self._shares.reached(flows, rate, length_s, first.time_s, self._run.duration_s)

    def _time_to_settle(
        self, flows: str, rate: float, within: float, length_s: float, hold_s: float, first: Moment
    ) -> Found:
        return self._shares.settled(flows, rate, within, length_s, hold_s, first.time_s, self._run.duration_s)

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

    def _excess(self, steps: Steps, rate: Steps | float) -> Found:
        """As UpdateACKAggregation of draft-ietf-ccwg-bbr: the rate is that before the ACK."""
        acks = self._run.acks
        grown = held(steps, acks) - held(steps, acks - 1)
        rates = held(rate, acks - 1) if isinstance(rate, Steps) else np.full(len(acks), rate)
        times = self._run.times[acks]
        found = np.full(len(acks), math.nan)
        more, since = 0.0, float(times[0]) if len(acks) else 0.0
        for k in range(len(acks)):
            if math.isnan(grown[k]):
                continue
            expected = rates[k] * (times[k] - since) if times[k] > since and not math.isnan(rates[k]) else 0.0
            if more <= expected:
                more, since, expected = 0.0, float(times[k]), 0.0
            more += float(grown[k])
            found[k] = more - expected
        return Steps(acks, found, f"excess of {steps.what}", sampled=True)

    def _flow(self, name: str, steps: Steps) -> Found:
        if name not in self._run.flows:
            return Unknown(f"there is no flow '{name}'; there are: {', '.join(self._run.flows)}")
        other = Recording(self._run.run, name, self._run.duration_s)
        if steps.what not in other.variables:
            return Unknown(f"the flow '{name}' has no '{steps.what}'")
        found = other.steps(steps.what)
        # The other flow's instants are others: its value holds from the first instant at or after
        # its time.
        at = np.searchsorted(self._run.times, other.times[found.at], side="left")
        keep = np.append(np.diff(at) != 0, True) & (at < len(self._run.times))
        return Steps(at[keep], found.values[keep], f"{steps.what} of {name}")

    def _metric(self, text: str) -> Found:
        try:
            outcome = Metric.parse("metric", text).outcome(self._run.run)
        except (LasthopError, MetricError) as error:
            return Unknown(str(error).partition("\n")[0])
        return outcome.value if outcome.value is not None else Unknown(outcome.reason or "no value")


def _finite(combine: Callable[..., Any]) -> Callable[..., Any]:
    """The same without a value where finite ones give an infinite one: where a divisor is 0."""

    def combined(*columns: Any) -> Any:
        found = np.asarray(combine(*columns), dtype=float)
        given = np.logical_and.reduce([np.isfinite(column) for column in np.broadcast_arrays(*columns)])
        return np.where(np.isinf(found) & given, math.nan, found)

    return combined


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
