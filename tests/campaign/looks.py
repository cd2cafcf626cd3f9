"""The exact coverage of the rule of `lasthop.campaign.sequential` for normal samples.

Computed without random numbers.

Derivation. The samples are normal with mean 0 and standard deviation 1; d is the target's
half-width. At look k, with n_k samples, SS_k is the sum of squares about the sample mean. By
Helmert's transformation SS_k is the sum of n_k - 1 squares of independent standard normal variates,
of which the first n_j - 1 sum to SS_j at each earlier look j, and all of them are independent of
the sample mean at n_k. Hence:

* SS_k - SS_(k-1) is chi-square with n_k - n_(k-1) degrees of freedom, independent of SS_1 ...
  SS_(k-1).
* The rule stops at the first look with c_k sqrt(SS_k / (n_k - 1) / n_k) < d, and at the last one in
  any case. This is an event of SS_1 ... SS_k alone, so the mean at the stop is still normal with
  variance 1 / n_k.
* Given SS_k, the interval of half-width h = c_k sqrt(SS_k / (n_k - 1) / n_k) covers 0 with
  probability 2 Phi(h sqrt(n_k)) - 1 = erf(c_k sqrt(SS_k / (n_k - 1) / 2)).

`coverage` carries the distribution of SS_k over the campaigns that have not stopped, on a grid of
step `step`, from look to look (a convolution by FFT) and sums the probability of covering where
they stop.

`python -m tests.campaign.looks` prints the table of `sequential.py`: for each level and smallest
number of replications the largest per-look alpha at which the coverage is at least the level for
every target.

`missed` is for an interval at another level than the rule's, of a multiple of the rule's metric.
The rule stops by its own critical values c_k, the interval at the stop has others, c'_k. It misses
0 with the probability erfc(c'_k sqrt(SS_k / (n_k - 1) / 2)). At levels near 1 it misses where SS_k
is far below the grid's step, so the first look is integrated by itself, over the logarithm of SS_1.
Later looks have at least the SS_1 at which the first one did not stop. `python -m
tests.campaign.looks others` prints the table of `stopped.py`: the largest alpha' over alpha at
which an interval misses with at most alpha, for every target and each level of the rule.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lasthop.campaign.sequential import _ALPHA_LOOK
from lasthop.campaign.stopped import _ALPHAS
from lasthop.campaign.student import quantile_two_sided

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]

_ERF_AT = np.linspace(0.0, 6.0, 6001)
_ERF = np.array([math.erf(x) for x in _ERF_AT])


def coverage(looks: Sequence[int], alpha: float, targets: Sequence[float], step: float = 0.05) -> list[float]:
    """The probability that the interval at the stop covers, for each target.

    A target is half-width / standard deviation.
    """
    cells = 1 << math.ceil(math.log2((looks[-1] + 8 * math.sqrt(2 * looks[-1]) + 40) / step))
    found = []
    for target in targets:
        running = np.zeros(cells)
        running[0] = 1.0
        covered, before = 0.0, 1
        for k, n in enumerate(looks):
            # Each increment of i cells stands for the middle of its cell, hence k + 1 half cells.
            sums = (np.arange(cells) + (k + 1) / 2) * step
            running = np.fft.irfft(np.fft.rfft(running, 2 * cells) * _increment(n - before, step, cells))[:cells]
            critical = quantile_two_sided(alpha, n - 1)
            stops = critical * np.sqrt(sums / (n - 1) / n) < target if n != looks[-1] else np.ones(cells, dtype=bool)
            covers = np.interp(critical * np.sqrt(sums / (n - 1) / 2), _ERF_AT, _ERF)
            covered += float((running * covers)[stops].sum())
            running = np.where(stops, 0.0, running)
            before = n
        found.append(covered)
    return found


@lru_cache(maxsize=256)
def _increment(df: int, step: float, cells: int) -> npt.NDArray[np.complex128]:
    """The transform of a chi-square variate's probabilities of the cells of the grid."""
    edges: FloatArray = np.arange(cells + 1, dtype=np.float64) * step
    return np.fft.rfft(np.diff(chi_square_cdf(edges, df)), 2 * cells)


def chi_square_cdf(x: FloatArray, df: int) -> FloatArray:
    """P(chi-square with `df` degrees <= x).

    P(1/2, x/2) = erf(sqrt(x/2)) or P(1, x/2) = 1 - exp(-x/2), then the recurrence P(a + 1, y) =
    P(a, y) - y^a exp(-y) / Gamma(a + 1) (Abramowitz and Stegun 6.5.21).
    """
    y = x / 2
    if df % 2:
        a, value = 0.5, np.where(np.sqrt(y) < 6, np.interp(np.sqrt(y), _ERF_AT, _ERF), 1.0)
    else:
        a, value = 1.0, -np.expm1(-y)
    positive = np.where(y > 0, y, 1.0)
    while a < df / 2 - 0.25:
        value = value - np.where(y > 0, np.exp(a * np.log(positive) - y - math.lgamma(a + 1)), 0.0)
        a += 1
    return np.clip(value, 0.0, 1.0)


def worst(looks: Sequence[int], alpha: float, level: float, step: float = 0.05) -> tuple[float, float]:
    """The smallest coverage over the targets and the target at which it is found."""
    z = quantile_two_sided(1 - level, 1_000_000)
    # The targets at which a known standard deviation would need 0.5 to 8 times the first look.
    needed = looks[0] * np.geomspace(0.5, 8.0, 13)
    for _ in range(2):
        targets = z / np.sqrt(needed)
        found = coverage(looks, alpha, list(targets), step)
        at = int(np.argmin(found))
        needed = np.geomspace(needed[max(at - 1, 0)], needed[min(at + 1, len(needed) - 1)], 7)
    return min(found), float(targets[at])


def calibrated(looks: Sequence[int], level: float) -> float:
    """The largest alpha of a look whose worst coverage is `level`.

    Rounded down to three significant digits.
    """
    step = 0.05 if looks[-1] < 500 else 0.1
    low, high = 0.3 * (1 - level), 1 - level
    while high - low > 5e-4 * low:
        middle = (low + high) / 2
        if worst(looks, middle, level, step)[0] >= level:
            low = middle
        else:
            high = middle
    digits = 2 - math.floor(math.log10(low))
    return float(math.floor(low * 10.0**digits) / 10.0**digits)


def looks_from(first: int, last: int) -> list[int]:
    """first, then each time a fifth more (rounded up), up to `last`."""
    looks = [first]
    while looks[-1] < last:
        looks.append(min(last, -(-6 * looks[-1] // 5)))
    return looks


def missed(
    looks: Sequence[int], alpha_rule: float, alpha: float, targets: Sequence[float], step: float = 0.05
) -> list[float]:
    """The probability that a t interval at `alpha` misses at the stop, for each target.

    The stop of a rule with `alpha_rule`.
    """
    cells = 1 << math.ceil(math.log2((looks[-1] + 8 * math.sqrt(2 * looks[-1]) + 40) / step))
    found = []
    for target in targets:
        first = looks[0]
        # The rule stops at its first look below this sum of squares.
        below = (first - 1) * first * (target / quantile_two_sided(alpha_rule, first - 1)) ** 2
        lost = _missed_at_first(first, alpha, below if len(looks) > 1 else math.inf)
        edges: FloatArray = np.arange(cells + 1, dtype=np.float64) * step
        running: FloatArray = np.diff(chi_square_cdf(np.maximum(edges, below), first - 1))
        before = first
        for k, n in enumerate(looks[1:], 1):
            sums: FloatArray = (np.arange(cells, dtype=np.float64) + (k + 1) / 2) * step
            running = np.fft.irfft(np.fft.rfft(running, 2 * cells) * _increment(n - before, step, cells))[:cells]
            running = np.maximum(running, 0.0)
            critical = quantile_two_sided(alpha_rule, n - 1)
            stops = critical * np.sqrt(sums / (n - 1) / n) < target if n != looks[-1] else np.ones(cells, dtype=bool)
            lost += float((running * _misses(sums, n, alpha))[stops].sum())
            running = np.where(stops, 0.0, running)
            before = n
        found.append(lost)
    return found


def _missed_at_first(n: int, alpha: float, below: float) -> float:
    """The probability of missing with SS_1 below `below`.

    An integral over the logarithm of SS_1.
    """
    df = n - 1
    top = min(below, df + 12 * math.sqrt(2 * df) + 80)
    at = np.linspace(math.log(top) - 60, math.log(top), 60_001)
    sums = np.exp(at)
    density = np.exp((df / 2) * at - sums / 2 - (df / 2) * math.log(2) - math.lgamma(df / 2))
    return float((density * _misses(sums, n, alpha)).sum() * (at[1] - at[0]))


def _misses(sums: FloatArray, n: int, alpha: float) -> FloatArray:
    """erfc(c sqrt(SS / (n - 1) / 2)) of each sum of squares."""
    x = quantile_two_sided(alpha, n - 1) * np.sqrt(sums / (n - 1) / 2)
    return np.where(x < _ERFC_AT[-1], np.exp(np.interp(x, _ERFC_AT, _LOG_ERFC)), 0.0)


_ERFC_AT = np.linspace(0.0, 20.0, 20_001)
_LOG_ERFC = np.log([math.erfc(x) for x in _ERFC_AT])


def most_missed(looks: Sequence[int], alpha_rule: float, alpha: float, step: float = 0.05) -> float:
    """The largest probability of missing over the targets."""
    z = quantile_two_sided(alpha_rule, 1_000_000)
    needed = looks[0] * np.geomspace(0.1, 8.0, 16)
    for _ in range(2):
        found = missed(looks, alpha_rule, alpha, list(z / np.sqrt(needed)), step)
        at = int(np.argmax(found))
        needed = np.geomspace(needed[max(at - 1, 0)], needed[min(at + 1, len(needed) - 1)], 6)
    return max(found)


def ratio_of_others(first: int, alpha: float) -> float:
    """The largest alpha' / alpha at which an interval misses with at most `alpha`.

    Rounded down to three digits.

    At 1e-3 and below 3 % are taken off: with a fourth of the step it is up to 1.6 % smaller, and
    between two levels up to 1.3 %.
    """
    least = 1.0
    looks = looks_from(first, 15 * first)
    step = 0.05 if looks[-1] < 500 else 0.1
    for table in _ALPHA_LOOK.values():
        low, high = 0.1 * least, least
        if most_missed(looks, table[first], high * alpha, step) <= alpha:
            continue
        while high - low > 5e-4:
            middle = (low + high) / 2
            if most_missed(looks, table[first], middle * alpha, step) <= alpha:
                low = middle
            else:
                high = middle
        least = low
    return math.floor((least if alpha > 1e-3 else 0.97 * least) * 1000) / 1000


if __name__ == "__main__":
    firsts = (5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
    if sys.argv[1:] == ["others"]:
        for first in firsts:
            found = [ratio_of_others(first, alpha) for alpha in _ALPHAS]
            print(first, tuple(min(found[: i + 1]) for i in range(len(found))), flush=True)
    else:
        for level in (0.9, 0.95, 0.99):
            for first in firsts:
                print(level, first, calibrated(looks_from(first, 15 * first), level), flush=True)
