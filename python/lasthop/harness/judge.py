"""From numbers to verdicts: bands, orders, equalities, trends, shares, mechanisms.

A study's evaluator builds its finding from these. They never see a parameter: what they judge is data, and each of
them can say `differs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Verdict = Literal["agrees", "differs", "ambiguous", "not-testable"]

#: Replications that an order claim asks for.
ORDER_REPLICATIONS = 10


@dataclass(frozen=True)
class Finding:
    """What an evaluator found: a verdict and everything that it rests on.

    `values` are the numbers judged, by name, as estimates over replications. `text` is our value as a reader wants
    it. `evidence` says which run and which plot or table show it. `parts` are the comparisons of a claim that has
    several, and whether each held.
    """

    verdict: Verdict
    text: str
    values: Mapping[str, Estimate] = field(default_factory=dict)
    note: str = ""
    evidence: tuple[str, ...] = ()
    parts: Mapping[str, bool] = field(default_factory=dict)

    @property
    def failed(self) -> list[str]:
        """The comparisons that did not hold."""
        return [name for name, held in self.parts.items() if not held]

    def turned_by(self, other: Finding) -> list[str]:
        """The comparisons that fail here and hold there."""
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
        """The interval(s) of `ours`, in the same shape: `[low, high]`, null without replications."""
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
        return replace(self, note=f"{self.note}; {note}" if self.note else note)

    def showing(self, *evidence: str) -> Finding:
        """The same with more evidence."""
        return replace(self, evidence=(*self.evidence, *evidence))


@dataclass(frozen=True)
class Check:
    """One part of a claim: passed or not, with the sentence that says so."""

    passed: bool
    text: str
    values: Mapping[str, Estimate] = field(default_factory=dict)
    note: str = ""


def in_band(name: str, value: Estimate, band: Sequence[float], digits: int = 3, unit: str = "") -> Check:
    """The mean lies in the band [low, high]. Notes an interval that reaches over an edge."""
    low, high = band
    note = ""
    interval = value.ci95
    passed = low <= value.mean <= high
    if interval is not None and (interval[0] < low <= interval[1] or interval[0] <= high < interval[1]):
        note = f"the 95 % interval of {name} reaches over an edge of the band {low:g}-{high:g}"
    return Check(passed, f"{name} {value.text(digits, unit)}", {name: value}, note)


def at_most(name: str, value: Estimate, high: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is no larger than `high`."""
    return Check(value.mean <= high, f"{name} {value.text(digits, unit)}", {name: value})


def at_least(name: str, value: Estimate, low: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is no smaller than `low`."""
    return Check(value.mean >= low, f"{name} {value.text(digits, unit)}", {name: value})


def above(name: str, value: Estimate, low: float, digits: int = 3, unit: str = "") -> Check:
    """The mean is strictly larger than `low`: a count above zero, a share above a half."""
    return Check(value.mean > low, f"{name} {value.text(digits, unit)}", {name: value})


def ordered(values: Mapping[str, Estimate], digits: int = 3, unit: str = "") -> Check:
    """Each value is smaller than the next beyond the 95 % interval of their difference.

    Replications are paired by seed (common random numbers) where both have the same number of them; else the two
    intervals must not meet. One replication has no interval: then the order of the numbers alone decides, and the
    note says so.
    """
    names = list(values)
    failed, notes = [], []
    for low_name, high_name in pairwise(names):
        low, high = values[low_name], values[high_name]
        if low.mean >= high.mean:
            failed.append(f"{low_name} is not below {high_name}")
        elif not _beyond_interval(low, high):
            failed.append(f"{low_name} is below {high_name}, but not beyond the 95 % interval")
    n = min(value.n for value in values.values())
    if n == 1:
        notes.append("one replication: order of single numbers")
    elif n < ORDER_REPLICATIONS:
        notes.append(f"n = {n}, an order asks for {ORDER_REPLICATIONS} replications")
    text = ", ".join(f"{name} {value.text(digits, unit)}" for name, value in values.items())
    return Check(not failed, text, dict(values), "; ".join([*failed, *notes]))


def equal_within(values: Mapping[str, Estimate], percent: float, digits: int = 3, unit: str = "") -> Check:
    """The means differ by less than `percent` of their mean: "same", "close"."""
    means = [value.mean for value in values.values()]
    centre = sum(means) / len(means)
    spread = max(means) - min(means)
    passed = spread == 0 or (centre != 0 and spread / abs(centre) * 100 < percent)
    text = ", ".join(f"{name} {value.text(digits, unit)}" for name, value in values.items())
    share = spread / abs(centre) * 100 if centre else float("inf") if spread else 0.0
    return Check(passed, text, dict(values), f"spread {share:.2g} %")


def monotone(
    name: str,
    xs: Sequence[float],
    ys: Sequence[Estimate],
    direction: Literal["falling", "rising"],
    slack: float = 0.0,
) -> Check:
    """Every step of the means goes in `direction`; a step back of up to `slack` is let pass."""
    sign = 1 if direction == "rising" else -1
    wrong = [
        f"from {x0:g} to {x1:g}"
        for (x0, y0), (x1, y1) in pairwise(zip(xs, ys, strict=True))
        if sign * (y1.mean - y0.mean) < -slack
    ]
    text = f"{name} " + ", ".join(f"{y.mean:.3g} at {x:g}" for x, y in zip(xs, ys, strict=True))
    note = f"not {direction} {', '.join(wrong)}" if wrong else ""
    return Check(not wrong, text, {f"{name} at {x:g}": y for x, y in zip(xs, ys, strict=True)}, note)


def slope(xs: Sequence[float], ys: Sequence[Estimate]) -> Estimate:
    """Least-squares slope of y over x, one per replication: its sign is a claim of kind S."""
    n = min(y.n for y in ys)
    centre = sum(xs) / len(xs)
    scale = sum((x - centre) ** 2 for x in xs)
    return Estimate.of(
        [sum((x - centre) * y.samples[i] for x, y in zip(xs, ys, strict=True)) / scale for i in range(n)]
    )


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's rho (no ties expected; tied values share their mean rank)."""
    rx, ry = _ranks(xs), _ranks(ys)
    mx, my = sum(rx) / len(rx), sum(ry) / len(ry)
    top = sum((a - mx) * (b - my) for a, b in zip(rx, ry, strict=True))
    bottom = (sum((a - mx) ** 2 for a in rx) * sum((b - my) ** 2 for b in ry)) ** 0.5
    return top / bottom if bottom else 0.0


def exact(name: str, ours: float, expected: float, tolerance: float = 1e-9) -> Check:
    """An arithmetic identity."""
    return Check(abs(ours - expected) <= tolerance, f"{name} = {ours:g}")


def holds(text: str, passed: bool, note: str = "") -> Check:
    """A plain yes or no: an event sequence found in a trace."""
    return Check(passed, text, {}, note)


def all_of(checks: Iterable[Check], evidence: Sequence[str] = ()) -> Finding:
    """Agrees when every part passes; otherwise differs, naming the parts that failed."""
    parts = list(checks)
    failed = [part for part in parts if not part.passed]
    notes = [part.note for part in parts if part.note]
    if failed and len(parts) > 1:
        notes.insert(0, "outside: " + "; ".join(part.text for part in failed))
    values: dict[str, Estimate] = {}
    for part in parts:
        values.update(part.values)
    text = "; ".join(part.text for part in parts)
    counts = sorted({value.n for value in values.values()})
    if counts:
        text += f" (n = {'-'.join(map(str, counts))})"
    return Finding("differs" if failed else "agrees", text, values, "; ".join(notes), tuple(evidence))


def contradicted(finding: Finding, why: str) -> Finding:
    """The source contradicts itself or does not define the quantity: ours is printed, no score is given."""
    return replace(finding, verdict="ambiguous").noting(why)


def not_testable(why: str) -> Finding:
    """The figure is lost, or this form of the study does not make the runs."""
    return Finding("not-testable", "-", note=why)


def _beyond_interval(low: Estimate, high: Estimate) -> bool:
    if low.n == high.n:
        interval = high.minus(low).ci95
        return interval is None or interval[0] > 0
    low_interval, high_interval = low.ci95, high.ci95
    if low_interval is None or high_interval is None:
        return True
    return low_interval[1] < high_interval[0]


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
