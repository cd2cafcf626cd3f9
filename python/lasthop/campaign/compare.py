"""Paired comparison of variants that share their random numbers.

It gives differences, their intervals, and the pairs for which the answer is undecided.

Two variants run with the same seeds have the same channel and the same arrivals. The difference of
a metric is taken seed by seed, and its mean has the variance of the paired differences, which is
smaller than that of two independent sets of runs if the variants respond in the same way to the
random numbers. `Difference.variance_factor` is the ratio of the two.

For the m pairs of a comparison that have two common seeds or more (other pairs have no interval):

* `interval` is the Student t interval at the level 1 - (1 - level) / m. By Bonferroni's inequality
  all of the intervals together cover their means with at least the level, whatever the dependence
  between pairs (which share variants).
* `answer` follows from this interval alone: "higher" or "lower" if it excludes zero, else
  "undecided". So the chance of one or more wrong answers, a wrong sign included, is at most 1 -
  level.
* n equal differences other than zero have no p-value: a t test takes them as n independent draws,
  but where the seeds change nothing they are one. Their deviation of 0 is no estimate of anything,
  and the interval of width 0 is that of these runs alone.
* `p_holm` is the p-value of "the means are equal" after S. Holm's correction (A simple sequentially
  rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979, 65-70). It is never
  above Bonferroni's, so each answer other than "undecided" has p_holm <= 1 - level, if it has one.

Holm's test may reject equality (`differs`) for a pair whose interval still contains zero. Intervals
that agree with Holm's test in each case exist, but they are half-lines from zero that do not depend
on the size of the difference: with one pair left the test uses the whole error probability for this
pair, so that none remains for the sizes of the other differences. (W. Brannath, L. Kluge, M.
Scharpenberg, arXiv:2402.13719, discuss such intervals.) Here such a pair is "undecided" with the
reason `NOT_SETTLED`: the means differ, but sign and size need more seeds.

The t interval is exact for normal differences. A difference of two runs that share their random
numbers is closer to symmetric than either metric. Rank and sign tests are not offered: they make
statements about the median, and with n pairs their smallest two-sided p-value is 2^(1-n), 0.0625
for the five seeds of a common sweep.

Where a stopping rule has chosen the number of seeds, intervals and p-values allow for it
(`lasthop.campaign.stopped`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from lasthop._errors import mistake
from lasthop.campaign._moments import checked, moments
from lasthop.campaign.stopped import look_alpha, stopped_p
from lasthop.campaign.student import quantile_two_sided, two_sided_p

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from lasthop.campaign.sequential import Rule

Answer = Literal["higher", "lower", "undecided"]

#: Fewer common seeds than this are "undecided" unless the caller gives a smaller number.
DEFAULT_MIN_PAIRS = 5

#: Reasons of an answer "undecided".
TOO_FEW_SEEDS = "too few seeds"
CONTAINS_ZERO = "interval contains zero"
NOT_SETTLED = "means differ, interval contains zero"
EQUAL = "equal on every seed"


@dataclass(frozen=True)
class Difference:
    """The mean paired difference `first - second` of a metric, in the metric's unit.

    Attributes:
        first: name of one variant.
        second: name of the other variant.
        n: seeds that both variants have.
        unpaired: values of either variant whose seed the other lacks; they are not used.
        mean: mean of the paired differences; NaN without a common seed.
        low: lower end of the simultaneous interval; minus infinity below two pairs.
        high: upper end of the simultaneous interval; infinity below two pairs.
        p: two-sided p-value of this pair alone; 1 below the smallest number of pairs; None if all
            differences are equal.
        p_holm: the p-value after Holm's correction over all pairs of the comparison; None as `p`.
        differs: whether Holm's test rejects that the means are equal; False without a p-value.
        variance_factor: (variance of first + variance of second) / variance of the difference: how
            many times more seeds independent runs need for an interval of the same width. Below 1,
            pairing makes the interval wider. Infinite if the difference does not vary; NaN below
            two pairs or if neither variant varies.
        variance_factor_low: lower end of its own 95 % interval; 0 without one.
        variance_factor_high: upper end; infinity without one.
        answer: "higher" if `first` is higher, "lower" if it is lower, or "undecided".
        reason: why the answer is "undecided", one of the constants of this module; empty otherwise.
        pairs_needed: an estimate of the pairs at which the interval excludes zero if the mean and
            the standard deviation stay as they are; None if decided, without an estimate, or above
            10,000.
    """

    first: str
    second: str
    n: int
    unpaired: int
    mean: float
    low: float
    high: float
    p: float | None
    p_holm: float | None
    differs: bool
    variance_factor: float
    variance_factor_low: float
    variance_factor_high: float
    answer: Answer
    reason: str
    pairs_needed: int | None


@dataclass(frozen=True)
class Comparison:
    """All pairs of a comparison.

    Attributes:
        level: level at which all intervals together cover, 0 to 1.
        family: number of differences that the correction is for: those with an interval, if the
            caller named no number.
        differences: one for each pair, in the order of the pairs.
    """

    level: float
    family: int
    differences: tuple[Difference, ...]

    @property
    def undecided(self) -> tuple[Difference, ...]:
        """The pairs without an answer."""
        return tuple(d for d in self.differences if d.answer == "undecided")


def compare(
    samples: Mapping[str, Mapping[Hashable, float]],
    *,
    level: float = 0.95,
    pairs: Sequence[tuple[str, str]] | None = None,
    family: int | None = None,
    min_pairs: int = DEFAULT_MIN_PAIRS,
    rule: Rule | None = None,
) -> Comparison:
    """Compare variants pair by pair over their common seeds.

    Args:
        samples: for each variant the metric by seed.
        level: level at which all intervals together cover, 0.5 to 0.999999.
        pairs: the pairs to compare; each unordered pair of variants, in the order of `samples`, if
            None.
        family: the number of differences that are reported together, if that is more than these
            pairs (the same pairs at other points of a grid, other metrics). Their intervals then
            cover together at `level`; p-values of the others count as 1, which is conservative.
        min_pairs: common seeds below which a pair is "undecided", at least 2.
        rule: the stopping rule that has chosen the number of seeds of each variant, by this metric
            or another one.

    Raises:
        LasthopError: if an argument is out of range, a pair names an unknown variant or the same
            variant twice, or a value is not a finite number.
    """
    chosen = list(combinations(samples, 2)) if pairs is None else [(a, b) for a, b in pairs]
    _check_arguments(samples, chosen, level, family, min_pairs)
    values = {
        name: dict(zip(of, checked(list(of.values()), f"the metric of {name}", list(of)), strict=True))
        for name, of in samples.items()
    }
    found = [_Pair(a, b, values[a], values[b]) for a, b in chosen]
    size = sum(pair.n >= 2 for pair in found) if family is None else family
    alpha = look_alpha((1 - level) / max(size, 1), rule)
    p_values = [_p_value(pair, min_pairs, rule) for pair in found]
    adjusted = _holm_of_pairs(found, p_values, size)
    return Comparison(
        level,
        size,
        tuple(
            pair.difference(alpha, p, p_holm, p_holm is not None and p_holm <= 1 - level, min_pairs)
            for pair, p, p_holm in zip(found, p_values, adjusted, strict=True)
        ),
    )


def holm(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Holm's adjusted p-values, in the order of `p_values`.

    The i-th smallest of m p-values (i from 0) is multiplied by m - i; an adjusted value is at least
    that of each smaller p-value and at most 1. Rejecting the adjusted values up to alpha keeps the
    chance of one or more false rejections at most alpha, whatever the dependence (Holm 1979).

    Args:
        p_values: p-values, each in 0 to 1.
        family: m, if it is more than the number of p-values; the others count as 1.

    Raises:
        LasthopError: if a value is not in 0 to 1 or `family` is smaller than the number of
            p-values.
    """
    m = len(p_values) if family is None else family
    if m < len(p_values):
        raise mistake(
            f"a family of {m} has {len(p_values)} p-values", "count all differences that are reported together"
        )
    for i, p in enumerate(p_values):
        if not 0 <= p <= 1:
            raise mistake(f"p-value {i + 1} is {p}, not in 0 to 1")
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for i, k in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        largest = max(largest, min(1.0, (m - i) * p_values[k]))
        adjusted[k] = largest
    return adjusted


def _p_value(pair: _Pair, min_pairs: int, rule: Rule | None) -> float | None:
    if pair.n < min_pairs:
        return 1.0
    p = pair.p()
    return None if p is None else stopped_p(p, rule)


def _holm_of_pairs(found: Sequence[_Pair], p_values: Sequence[float | None], family: int) -> list[float | None]:
    """Holm's adjusted p-values of the pairs that have an interval; 1 of the others.

    A pair without a p-value counts in the family as 1, which is conservative.
    """
    counted = [i for i, pair in enumerate(found) if pair.n >= 2]
    adjusted: list[float | None] = [1.0] * len(found)
    known = [1.0 if (p := p_values[i]) is None else p for i in counted]
    for i, p in zip(counted, holm(known, max(family, len(counted))), strict=True):
        adjusted[i] = None if p_values[i] is None else p
    return adjusted


class _Pair:
    """The values of two variants at their common seeds."""

    def __init__(self, first: str, second: str, a: Mapping[Hashable, float], b: Mapping[Hashable, float]) -> None:
        self.first, self.second = first, second
        common = [seed for seed in a if seed in b]
        self.a = [a[seed] for seed in common]
        self.b = [b[seed] for seed in common]
        self.n = len(common)
        self.unpaired = len(a) + len(b) - 2 * self.n
        self.mean, self.stdev = moments([x - y for x, y in zip(self.a, self.b, strict=True)])

    def p(self) -> float | None:
        """The two-sided p-value of a t test of the paired differences.

        None: they are equal, so that there is no test.
        """
        if self.stdev == 0.0:
            return None
        return two_sided_p(self.mean / self.stdev * math.sqrt(self.n), self.n - 1)

    def variance_factor(self) -> float:
        if self.n < 2:
            return math.nan
        ratio_a, ratio_b = (moments(x)[1] for x in (self.a, self.b))
        if self.stdev == 0.0:
            return math.inf if ratio_a or ratio_b else math.nan
        # Ratios of standard deviations before squaring: squares overflow earlier.
        return (ratio_a / self.stdev) ** 2 + (ratio_b / self.stdev) ** 2

    def variance_factor_ends(self, factor: float) -> tuple[float, float]:
        """The 95 % interval of the factor, for a fixed number of pairs of normal samples.

        With the sum s and the difference d of the values of a seed it is (var s / var d + 1) / 2.
        The interval of the ratio of variances of two correlated normal samples is that of E. J. G.
        Pitman (A note on normal correlation, Biometrika 31, 1939, 9-12): w (k -+ sqrt(k^2 - 1)),
        with the ratio w, the correlation r of s and d, and k = 1 + 2 (1 - r^2) t^2 / (n - 2) for
        the t of n - 2 degrees of freedom.
        """
        if self.n < 3 or self.stdev == 0.0 or not math.isfinite(factor):
            return (0.0, math.inf) if math.isfinite(factor) else (factor, factor)
        sums = [x + y for x, y in zip(self.a, self.b, strict=True)]
        differences = [x - y for x, y in zip(self.a, self.b, strict=True)]
        r = _correlation(sums, differences)
        ratio = max(0.0, 2 * factor - 1)
        k = 1 + 2 * (1 - r * r) * quantile_two_sided(0.05, self.n - 2) ** 2 / (self.n - 2)
        spread = k + math.sqrt(k * k - 1)
        return (ratio / spread + 1) / 2, (ratio * spread + 1) / 2

    def difference(
        self, alpha: float, p: float | None, p_holm: float | None, differs: bool, min_pairs: int
    ) -> Difference:
        half = quantile_two_sided(alpha, self.n - 1) * self.stdev / math.sqrt(self.n) if self.n >= 2 else math.inf
        # Without a common seed the mean is NaN and the interval is all numbers.
        low, high = (self.mean - half, self.mean + half) if self.n else (-math.inf, math.inf)
        answer: Answer = "undecided"
        reason = ""
        if self.n < min_pairs:
            reason = TOO_FEW_SEEDS
        elif low > 0:
            answer = "higher"
        elif high < 0:
            answer = "lower"
        elif self.mean == 0.0 and self.stdev == 0.0:
            reason = EQUAL
        else:
            reason = NOT_SETTLED if differs else CONTAINS_ZERO
        return Difference(
            first=self.first,
            second=self.second,
            n=self.n,
            unpaired=self.unpaired,
            mean=self.mean,
            low=low,
            high=high,
            p=p,
            p_holm=p_holm,
            differs=differs,
            variance_factor=(factor := self.variance_factor()),
            variance_factor_low=(ends := self.variance_factor_ends(factor))[0],
            variance_factor_high=ends[1],
            answer=answer,
            reason=reason,
            pairs_needed=self.pairs_needed(alpha, min_pairs) if answer == "undecided" else None,
        )

    def pairs_needed(self, alpha: float, min_pairs: int) -> int | None:
        """The smallest n up to 10,000 with c(n - 1) stdev / sqrt(n) < |mean|.

        Found by bisection, as the left side falls.
        """
        if self.n < 2 or self.mean == 0.0:
            return None

        def excludes_zero(n: int) -> bool:
            return quantile_two_sided(alpha, n - 1) * self.stdev / math.sqrt(n) < abs(self.mean)

        low, high = max(2, min_pairs) - 1, max(10_000, min_pairs)
        if not excludes_zero(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if excludes_zero(middle):
                high = middle
            else:
                low = middle
        return high


def _correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one does not vary."""
    (mean_x, deviation_x), (mean_y, deviation_y) = moments(x), moments(y)
    if deviation_x == 0.0 or deviation_y == 0.0:
        return 0.0
    products = ((a - mean_x) / deviation_x * ((b - mean_y) / deviation_y) for a, b in zip(x, y, strict=True))
    return max(-1.0, min(1.0, math.fsum(products) / (len(x) - 1)))


def _check_arguments(
    samples: Mapping[str, Mapping[Hashable, float]],
    chosen: Sequence[tuple[str, str]],
    level: float,
    family: int | None,
    min_pairs: int,
) -> None:
    if not 0.5 <= level <= 0.999999:
        raise mistake(f"the level {level} is outside of 0.5 to 0.999999", "95 % is written 0.95")
    if min_pairs < 2:
        raise mistake(f"min_pairs = {min_pairs} is below 2", "one pair has no variance")
    if family is not None and not len(chosen) <= family <= 1_000_000:
        raise mistake(
            f"a family of {family} for {len(chosen)} pairs is outside of {len(chosen)} to 1,000,000",
            "count all differences that are reported together",
        )
    for a, b in chosen:
        for name in (a, b):
            if name not in samples:
                raise mistake(f"no variant `{name}`", f"the variants are {', '.join(map(str, samples)) or 'none'}")
        if a == b:
            raise mistake(f"variant `{a}` is compared with itself", "name two variants")
