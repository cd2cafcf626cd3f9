"""The words of case expressions: kinds of values, moments, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lasthop.judging._syntax import Tree

#: Kinds of parts: of a number, of something that holds or not, of both over time, of moments, of
#: texts.
NUMBER, TRUTH, SERIES, CONDITION, MOMENT, EVENTS, TEXT = (
    "a number", "true or false", "a value over time", "a condition over time", "a moment", "events", "a text",
)  # fmt: skip

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

    #: Kinds of its arguments; each may be one of several, and those from `least` on may be left
    #: out.
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
    "largest_share": Function((_S, _S, _N, _M, _M), 5, _always(NUMBER), "largest_share(x, y, t, a, b)",
                              "the largest part that the increase of x has of those of x and y together, likewise"),
    "goodput": Function((_M, _M), 2, _always(NUMBER), "goodput(a, b)",
                        "payload acknowledged between two moments [bit/s]"),
    "goodput_of": Function((_T, _M, _M), 3, _always(NUMBER), "goodput_of('FLOWS', a, b)",
                     "goodput of flows together [bit/s]; `*` and `?` in names; of media flows what RTP packets carry"),
    "carried_of": Function((_T, _M, _M), 3, _always(NUMBER), "carried_of('FLOWS', a, b)",
                     "rate of their IP packets that arrive [bit/s], in the windows of `output.windows` from a to b"),
    "delay_of": Function((_T, _N, _M, _M), 4, _always(NUMBER), "delay_of('FLOWS', q, a, b)",
                     "one-way delay [s] that q (50, 95, 99) percent of a window's packets do not exceed: the mean"),
    "spread_of": Function((_T, _N, _M, _M), 4, _always(NUMBER), "spread_of('FLOWS', t, a, b)",
                     "standard deviation of the flows' goodput together in intervals of t seconds, over its mean"),
    "swings": Function((_S, _N, _N, _N, _M, _M), 6, _always(NUMBER), "swings(x, low, high, t, a, b)",
                     "how often x passes from low or less to high or more, or back, within t seconds"),
    "loss_of": Function((_T, _M, _M), 3, _always(NUMBER), "loss_of('FLOWS', a, b)",
                     "their dropped packets over those sent, of the windows of `output.windows` between a and b"),
    "marked_of": Function((_T, _M, _M), 3, _always(NUMBER), "marked_of('FLOWS', a, b)",
                     "their packets that arrive with a mark over those that arrive, likewise"),
    "ecn_of": Function((_T, _T, _M, _M), 4, _always(NUMBER), "ecn_of('FLOWS', 'CODEPOINT', a, b)",
                     "share of the packets with data that leave with a codepoint (not-ect, ect0, ect1, ce)"),
    "burst_of": Function((_T, _N, _M, _M), 4, _always(NUMBER), "burst_of('FLOWS', t, a, b)",
                     "the most octets that leave within t seconds (table `packets`)"),
    "wait_of": Function((_T, _N, _M, _M), 4, _always(NUMBER), "wait_of('FLOWS', q, a, b)",
                     "time in queues [s] that q (50, 95, 99) percent of a window's packets do not exceed: the mean"),
    "completion_of": Function((_T, _N), 2, _always(NUMBER), "completion_of('FLOWS', q)",
                     "seconds that the share q of their transfers do not exceed; one that is not complete: to the end"),
    "jain_of": Function((_T, _N, _M, _M), 4, _always(NUMBER), "jain_of('FLOWS', t, a, b)",
                     "Jain's index of the flows' goodput in intervals of t seconds, its mean"),
    "starved_of": Function((_T, _N, _N, _M, _M), 5, _always(NUMBER), "starved_of('FLOWS', x, t, a, b)",
                        "the share of the flows' intervals of t seconds with a goodput below x"),
    "time_to_reach": Function((_T, _N, _N, _M), 4, _always(NUMBER), "time_to_reach('FLOWS', x, t, m)",
                        "seconds from m on until their goodput together is x in an interval of t; to the end if never"),
    "time_to_settle": Function((_T, _N, _N, _N, _N, _M), 6, _always(NUMBER), "time_to_settle('FLOWS', x, d, t, h, m)",
                        "seconds from m on until it stays within the share d of x for h seconds, in intervals of t"),
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
    "excess": Function((_S, _ANY_NUMBER), 2, _always(SERIES), "excess(x, r)",
                       "at ACKs, by how much x has grown beyond r a second since it was last behind"),
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
    #: Units that a case gives variables of a control of one's own.
    units: Mapping[str, str] = field(default_factory=dict)
    #: The states that a variable can have, where they are listed.
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The flows of the case's scenarios, as these name them; none: they are not known.
    flows: frozenset[str] = frozenset()
