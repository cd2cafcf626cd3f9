"""From numbers to verdicts: bands, orders, equalities, trends, shares, mechanisms.

A study's evaluator builds its finding from the functions of this module. They get no parameters of
the runs: they judge data only, and each of them can give `differs`.

A comparison is **open** if its 95 % interval, with the present replications, has values that the
claim accepts and values that it does not. It is the interval of the mean for a band or a limit, and
that of the difference (paired by seed) for an order, an equality or a step. More replications may
change the result, on whichever side the mean is. A comparison holds if all of its interval is
accepted and fails if none of it is. A claim `agrees` if every comparison holds, it `differs` if one
fails, and otherwise it is `undecided`. One replication has no interval: the number alone decides,
and a note says so.

A claim of several comparisons agrees by an intersection-union test (R. L. Berger, Technometrics 24,
1982): where one of them is false, the probability that all hold is no larger than the probability
that this one holds. So the level of each comparison is that of the claim, whatever their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

from lasthop.harness.stats import Estimate, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Verdict = Literal["agrees", "differs", "undecided", "ambiguous", "not-testable"]

#: How the numbers of a comparison stand to each other or to what the claim accepts.
Relation = Literal["band", "order", "equal", "trend", "given", "fact"]

#: Replications that an order claim needs.
ORDER_REPLICATIONS = 10


@dataclass(frozen=True)
class Finding:
    """The result of an evaluator: a verdict and everything on which it is based.

    `values` are the judged numbers, by name, as estimates over replications. `text` is our value as
    a reader sees it. `evidence` names the run and the plot or table that show it. `parts` are the
    comparisons of a claim that has several, and whether each held; None: it is open.
    """

    verdict: Verdict
    text: str
    values: Mapping[str, Estimate] = field(default_factory=dict)
    note: str = ""
    evidence: tuple[str, ...] = ()
    parts: Mapping[str, bool | None] = field(default_factory=dict)
    #: The comparisons themselves, for the report's figures.
    checks: tuple[Check, ...] = ()
    #: Of `note`, what was said beyond the notes of the comparisons.
    remarks: tuple[str, ...] = ()

    @property
    def failed(self) -> list[str]:
        """The comparisons that failed.

        They are not open, so more replications would not change them.
        """
        return [name for name, held in self.parts.items() if held is False]

    def turned_by(self, other: Finding) -> list[str]:
        """The comparisons that fail in this finding and hold in the other."""
        return [name for name in self.failed if other.parts.get(name)]

    @property
    def ours(self) -> Any:
        """The number, or `{name: number}` when several were judged; the text when none was."""
        if not self.values:
            return self.text
        if len(self.values) == 1:
            return next(iter(self.values.values())).mean
        return {name: value.mean for name, value in self.values.items()}

    @property
    def ci95(self) -> Any:
        """The interval(s) of `ours`, in the same shape.

        `[low, high]`, null without replications.
        """
        if not self.values:
            return None
        if len(self.values) == 1:
            return _interval(next(iter(self.values.values())))
        return {name: _interval(value) for name, value in self.values.items()}

    @property
    def n(self) -> int | None:
        """The fewest replications behind any of the numbers."""
        return min((value.n for value in self.values.values()), default=None)

    def noting(self, note: str) -> Finding:
        """The same with one more note."""
        whole = f"{self.note}; {note}" if self.note else note
        return replace(self, note=whole, remarks=(*self.remarks, note))

    def showing(self, *evidence: str) -> Finding:
        """The same with more evidence."""
        return replace(self, evidence=(*self.evidence, *evidence))


@dataclass(frozen=True)
class Shown:
    """A number that a comparison judges, as a figure shows it.

    The claim accepts [low, high], if anything by itself.
    """

    label: str
    value: Estimate
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Check:
    """One comparison of a claim: whether the mean passes, with a sentence for the reader.

    `open`: the interval has values that the claim accepts and others, so more replications may
    change the result. `relation` and `shown` define what a figure shows: "band" one number with the
    accepted range, "order" numbers that rise from one to the next, "equal" numbers that agree,
    "trend" numbers over a parameter, "given" one number that is not judged, "fact" only the text.
    `asked` is the condition on "equal" numbers and on a "trend", as a reader sees it.
    """

    passed: bool
    text: str
    values: Mapping[str, Estimate] = field(default_factory=dict)
    note: str = ""
    open: bool = False
    relation: Relation = "fact"
    shown: tuple[Shown, ...] = ()
    unit: str = ""
    digits: int = 3
    asked: str = ""
    #: Of a band: its lower end itself is not accepted.
    strict: bool = False

    @property
    def held(self) -> bool | None:
        """Whether it holds; None: it is open."""
        return None if self.open else self.passed


def _banded(
    name: str,
    value: Estimate,
    passed: bool,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    digits: int,
    unit: str,
    note: str = "",
    open: bool = False,
) -> Check:
    """One number and what the claim accepts of it."""
    text = f"{name} {value.text(digits, unit)}"
    return Check(passed, text, {name: value}, note, open, "band", (Shown(name, value, low, high),), unit, digits)


def _compared(values: Mapping[str, Estimate]) -> tuple[Shown, ...]:
    return tuple(Shown(name, value) for name, value in values.items())


def in_band(name: str, value: Estimate, band: Sequence[float], digits: int = 3, unit: str = "") -> Check:
    """The mean lies in the band [low, high]. Notes an interval that reaches over an edge."""
    low, high = band
    note = ""
    interval = value.ci95
    passed = low <= value.mean <= high
    if interval is not None and (interval[0] < low <= interval[1] or interval[0] <= high < interval[1]):
        note = f"the 95 % interval of {name} reaches over an edge of the band {low:g}-{high:g}"
    possible = is_open(passed, interval, low, high)
    return _banded(name, value, passed, low, high, digits=digits, unit=unit, note=note, open=possible)


def at_most(name: str, value: Estimate, high: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is no larger than `high`."""
    passed = value.mean <= high
    possible = is_open(passed, value.ci95, high=high)
    return _banded(name, value, passed, high=high, digits=digits, unit=unit, open=possible)


def at_least(name: str, value: Estimate, low: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is no smaller than `low`."""
    passed = value.mean >= low
    return _banded(name, value, passed, low, digits=digits, unit=unit, open=is_open(passed, value.ci95, low))


def above(name: str, value: Estimate, low: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is strictly larger than `low`: a count above zero, a share above a half."""
    passed = value.mean > low
    # Touching the limit is not above it.
    over = value.ci95 is not None and value.ci95[0] <= low < value.ci95[1]
    return replace(_banded(name, value, passed, low, digits=digits, unit=unit, open=over), strict=True)


def never(name: str, value: Estimate, digits: int = 3, unit: str = "") -> Check:
    """A count or an amount, which cannot be negative, is 0 in every replication.

    If one replication has another value, further replications do not change the result.
    """
    return _banded(name, value, not any(value.samples), 0.0, 0.0, digits=digits, unit=unit)


def ordered(values: Mapping[str, Estimate], digits: int = 3, unit: str = "") -> Check:
    """Each value is smaller than the next beyond the 95 % interval of their difference.

    Replications are paired by seed (common random numbers) where both have the same number of them;
    else the two intervals must not meet. One replication has no interval: then the order of the
    numbers alone decides, and the note says so.
    """
    names = list(values)
    failed, notes, possible = [], [], []
    for low_name, high_name in pairwise(names):
        low, high = values[low_name], values[high_name]
        if low.mean >= high.mean:
            failed.append(f"{low_name} is not below {high_name}")
        elif not _beyond_interval(low, high):
            failed.append(f"{low_name} is below {high_name}, but not beyond the 95 % interval")
        else:
            continue
        interval = _difference(high, low)
        possible.append(interval is not None and interval[1] > 0)
    n = min(value.n for value in values.values())
    if n == 1:
        notes.append("one replication: order of single numbers")
    elif n < ORDER_REPLICATIONS:
        notes.append(f"n = {n}, an order needs {ORDER_REPLICATIONS} replications")
    text = ", ".join(f"{name} {value.text(digits, unit)}" for name, value in values.items())
    note, open_ = "; ".join([*failed, *notes]), bool(failed) and all(possible)
    return Check(not failed, text, dict(values), note, open_, "order", _compared(values), unit, digits)


def equal_within(values: Mapping[str, Estimate], percent: float, digits: int = 3, unit: str = "") -> Check:
    """The means differ by less than `percent` of their mean: "same", "close"."""
    means = [value.mean for value in values.values()]
    centre = sum(means) / len(means)
    spread = max(means) - min(means)
    passed = spread == 0 or (centre != 0 and spread / abs(centre) * 100 < percent)
    text = ", ".join(f"{name} {value.text(digits, unit)}" for name, value in values.items())
    share = spread / abs(centre) * 100 if centre else float("inf") if spread else 0.0
    limit = percent / 100 * abs(centre)
    judged = [(a, b) for a, b in combinations(values.values(), 2) if passed or abs(a.mean - b.mean) >= limit]
    possible = [is_open(passed, _difference(a, b), -limit, limit) for a, b in judged]
    note, open_ = f"spread {share:.2g} %", any(possible) if passed else all(possible)
    differ = plain(share, 2) if share >= 0.01 or not share else "less than 0.01"
    asked = f"equal within {percent:g} % of their mean; they differ by {differ} %"
    return Check(passed, text, dict(values), note, open_, "equal", _compared(values), unit, digits, asked)


def not_below(values: Mapping[str, Estimate], percent: float, digits: int = 3, unit: str = "") -> Check:
    """The first of two means is not below the second by `percent` of their mean or more."""
    first, second = values.values()
    limit = percent / 100 * abs(first.mean + second.mean) / 2
    difference = first.mean - second.mean
    passed = difference == 0 or difference > -limit
    text = ", ".join(f"{name} {value.text(digits, unit)}" for name, value in values.items())
    asked = f"the first not below the second by {percent:g} % of their mean or more"
    open_ = is_open(passed, _difference(first, second), -limit)
    return Check(passed, text, dict(values), "", open_, "equal", _compared(values), unit, digits, asked)


def monotone(
    name: str,
    xs: Sequence[float],
    ys: Sequence[Estimate],
    direction: Literal["falling", "rising"],
    slack: float = 0.0,
) -> Check:
    """Every step of the means goes in `direction`; a step back of up to `slack` is accepted."""
    sign = 1 if direction == "rising" else -1
    every = list(pairwise(zip(xs, ys, strict=True)))
    steps = [step for step in every if sign * (step[1][1].mean - step[0][1].mean) < -slack]
    wrong = [f"from {x0:g} to {x1:g}" for (x0, _), (x1, _) in steps]
    forward = [_difference(y1, y0) if sign > 0 else _difference(y0, y1) for (_, y0), (_, y1) in steps or every]
    possible = [is_open(not wrong, interval, -slack) for interval in forward]
    text = f"{name} " + ", ".join(f"{plain(y.mean, 3)} at {x:g}" for x, y in zip(xs, ys, strict=True))
    note = f"not {direction} {', '.join(wrong)}" if wrong else ""
    values = {f"{name} at {x:g}": y for x, y in zip(xs, ys, strict=True)}
    shown = tuple(Shown(f"{x:g}", y) for x, y in zip(xs, ys, strict=True))
    asked = f"{direction}{f', steps back of up to {slack:g} accepted' if slack else ''}"
    open_ = all(possible) if wrong else any(possible)
    return Check(not wrong, text, values, note, open_, "trend", shown, asked=asked)


def slope(xs: Sequence[float], ys: Sequence[Estimate]) -> Estimate:
    """Least-squares slope of y over x, one per replication: its sign is a claim of kind S."""
    n = min(y.n for y in ys)
    centre = sum(xs) / len(xs)
    scale = sum((x - centre) ** 2 for x in xs)

    def fitted(i: int) -> float:
        products = [(x - centre) * y.samples[i] for x, y in zip(xs, ys, strict=True)]
        found = math.fsum(products)
        # Equal numbers have no slope, whatever their products come to when each is rounded.
        return 0.0 if abs(found) < 1e-12 * math.fsum(map(abs, products)) else found / scale

    return Estimate.of([fitted(i) for i in range(n)])


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's rho (no ties expected; tied values share their mean rank)."""
    rx, ry = _ranks(xs), _ranks(ys)
    mx, my = sum(rx) / len(rx), sum(ry) / len(ry)
    top = sum((a - mx) * (b - my) for a, b in zip(rx, ry, strict=True))
    bottom = (sum((a - mx) ** 2 for a in rx) * sum((b - my) ** 2 for b in ry)) ** 0.5
    return top / bottom if bottom else 0.0


def exact(name: str, ours: float, expected: float, tolerance: float = 1e-9) -> Check:
    """An arithmetic identity."""
    shown = (Shown(name, Estimate.of([ours]), expected, expected),)
    return Check(abs(ours - expected) <= tolerance, f"{name} = {ours:g}", relation="band", shown=shown)


def given(name: str, value: Estimate, digits: int = 3, unit: str = "") -> Check:
    """A number that is shown beside the judged ones, and that has no effect on the verdict."""
    text = f"{name} {value.text(digits, unit)}"
    return Check(True, text, relation="given", shown=(Shown(name, value),), unit=unit, digits=digits)


def holds(text: str, passed: bool, note: str = "", open: bool = False) -> Check:
    """A plain yes or no: an event sequence found in a trace.

    `open`: intervals of means leave it undecided.
    """
    return Check(passed, text, {}, note, open)


def all_of(checks: Iterable[Check], evidence: Sequence[str] = ()) -> Finding:
    """Agrees when every part holds.

    Otherwise the note names the parts that do not pass and those that are open.
    """
    parts = list(checks)
    failed = [part for part in parts if not part.passed]
    notes = list(dict.fromkeys(note for part in parts if part.note for note in part.note.split("; ")))
    if failed and len(parts) > 1:
        notes.insert(0, "outside: " + "; ".join(part.text for part in failed))
    if (beyond := [part for part in parts if part.passed and part.open]) and len(parts) > 1:
        notes.append("the 95 % interval reaches beyond what is accepted: " + "; ".join(part.text for part in beyond))
    values: dict[str, Estimate] = {}
    for part in parts:
        values.update(part.values)
    text = "; ".join(part.text for part in parts)
    counts = sorted({value.n for value in values.values()})
    if counts:
        text += f" (n = {'-'.join(map(str, counts))})"
    return Finding(verdict_of(parts), text, values, "; ".join(notes), tuple(evidence), checks=tuple(parts))


def verdict_of(checks: Iterable[Check]) -> Verdict:
    """`differs` if one fails, else `undecided` if one is open, else `agrees`."""
    held = [check.held for check in checks]
    return "differs" if False in held else "undecided" if None in held else "agrees"


def contradicted(finding: Finding, why: str) -> Finding:
    """The source contradicts itself or does not define the quantity.

    Our value is shown, and there is no verdict for or against the claim.
    """
    return replace(finding, verdict="ambiguous").noting(why)


def not_testable(why: str) -> Finding:
    """The source's figure is lost, or this form of the study does not make the runs."""
    return Finding("not-testable", "-", note=why)


def _beyond_interval(low: Estimate, high: Estimate) -> bool:
    interval = _difference(high, low)
    return interval is None or interval[0] > 0


def _difference(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """The 95 % interval of a - b, paired by seed where both have as many.

    Else the ends of the two intervals.
    """
    if a.n == b.n:
        return a.minus(b).ci95
    one, other = a.ci95, b.ci95
    return None if one is None or other is None else (one[0] - other[1], one[1] - other[0])


def is_open(passed: bool, interval: tuple[float, float] | None, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether the interval of a comparison has values on both sides of a limit.

    It is the limit of the accepted range, seen from the mean.
    """
    if interval is None:
        return False
    if passed:
        return not (low <= interval[0] and interval[1] <= high)
    return interval[0] <= high and interval[1] >= low


def _interval(value: Estimate) -> list[float] | None:
    interval = value.ci95
    return None if interval is None else [interval[0], interval[1]]


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in range(first, last + 1):
            ranks[order[i]] = (first + last) / 2
        first = last + 1
    return ranks
