"""Intervals and p-values of samples whose number a stopping rule has chosen.

The rule may use another metric, or another level.

A stopping rule (`lasthop.campaign.sequential`) stops more often when the standard deviation of its
metric is small by chance than when it is large. A metric that is correlated with the rule's metric
then has a small standard deviation too, and so has a difference between two points. So the t
interval of such a metric covers less often than it states.

For normal samples and an absolute target the mean is independent of all sums of squares and
products, and so of the stop. The loss of coverage is then caused by the standard deviation alone.
It is largest where the metric is a multiple of the rule's metric, and zero where the two are
independent. `look_alpha` gives the probability with which the t interval of such a multiple covers
at its level for each target. It is computed like the rule's own critical values
(`tests/campaign/looks.py`): the exact coverage at the stop, for each level of the rule and each
target. For metrics in between, for relative targets, for differences of two points of which each
has its own stop, and for skewed metrics the tests measure the coverage
(`tests/campaign/test_stopped.py`).

The intervals hold for the stop of the rule. They do not hold for a campaign that is repeated
with more seeds until a difference is decided.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING

from lasthop.campaign._moments import moments, skewness
from lasthop.campaign.sequential import unskewed
from lasthop.campaign.student import quantile_two_sided

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from lasthop.campaign.sequential import Rule


def interval(values: Sequence[float], level: float, rule: Rule) -> tuple[float, float]:
    """The interval of the mean, adjusted for skewness as the rule's own is.

    Args:
        values: two values or more, finite.
        level: level of the interval, 0.5 to 0.999999.
        rule: the rule that chose their number.

    Returns:
        Its ends, in the unit of the values.
    """
    n = len(values)
    mean, deviation = moments(values)
    critical = quantile_two_sided(look_alpha(1 - level, rule), n - 1)
    bias = skewness(values) / (6 * math.sqrt(n))
    error = deviation / math.sqrt(n)
    return mean - error * unskewed(critical, bias), mean - error * unskewed(-critical, bias)


def look_alpha(alpha: float, rule: Rule | None) -> float:
    """The probability outside of a t interval that is wrong with `alpha` at the stop of a rule.

    Args:
        alpha: the probability that the interval does not cover, above 0 to 1.
        rule: the rule that chose the number of samples; None, or one with a single look: `alpha`
            itself.

    Returns:
        At most `alpha`.
    """
    if not _chose(rule):
        return alpha
    ratios = _ratios(rule.min)
    at = next((i for i, known in enumerate(_ALPHAS) if alpha >= known * _ROUNDED), len(_ALPHAS) - 1)
    return alpha * ratios[at]


def stopped_p(p: float, rule: Rule | None) -> float:
    """The p-value of a t test at the stop of a rule.

    The least `alpha` whose `look_alpha` is at least `p`.

    Args:
        p: the p-value that the test has for a fixed number of samples, 0 to 1.
        rule: the rule that chose the number of samples; None, or one with a single look: `p`
            itself.

    Returns:
        At least `p`, at most 1.
    """
    if not _chose(rule):
        return p
    above = 1.0
    best = 1.0
    for known, ratio in zip(_ALPHAS, _ratios(rule.min), strict=True):
        lowest = known * _ROUNDED if known != _ALPHAS[-1] else 0.0
        if (alpha := max(lowest, p / ratio)) < above:
            best = alpha
        above = known * _ROUNDED
    return min(1.0, best)


def _chose(rule: Rule | None) -> TypeGuard[Rule]:
    return rule is not None and rule.max > rule.min


def _ratios(first: int) -> tuple[float, ...]:
    """The ratios of the next smaller `min` in the table, which is the safe side."""
    return _RATIOS[_MINS[bisect_right(_MINS, first) - 1]]


#: Levels of intervals as the probability outside of them. Between two of them the smaller one's
#: ratio holds, and below the last one that of the last.
_ALPHAS = (0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
#: 1 - 0.9 is 0.09999999999999998.
_ROUNDED = 1 - 1e-12
#: `look_alpha` over `alpha` for each of `_ALPHAS`, by the rule's `min`; `python -m
#: tests.campaign.looks others` prints it. Far out the ratio grows again (such an interval misses
#: where the rule stops at its first look); the table has the smallest one so far, and for `min` 8
#: no larger one than for 10.
_RATIOS: dict[int, tuple[float, ...]] = {
    5: (0.661, 0.571, 0.415, 0.299, 0.265, 0.265, 0.265, 0.265),
    6: (0.707, 0.625, 0.467, 0.326, 0.264, 0.264, 0.264, 0.264),
    7: (0.74, 0.663, 0.512, 0.357, 0.289, 0.254, 0.254, 0.254),
    8: (0.766, 0.695, 0.55, 0.388, 0.308, 0.262, 0.258, 0.247),
    10: (0.804, 0.744, 0.614, 0.452, 0.353, 0.294, 0.259, 0.247),
    12: (0.833, 0.779, 0.663, 0.504, 0.399, 0.329, 0.282, 0.253),
    15: (0.861, 0.816, 0.715, 0.566, 0.463, 0.38, 0.323, 0.284),
    20: (0.891, 0.855, 0.772, 0.641, 0.543, 0.46, 0.395, 0.341),
    30: (0.923, 0.898, 0.837, 0.73, 0.653, 0.58, 0.515, 0.459),
    50: (0.95, 0.933, 0.894, 0.81, 0.758, 0.703, 0.653, 0.607),
}
_MINS = tuple(sorted(_RATIOS))
