"""Student's t distribution: tail probability and quantile, by the incomplete beta function.

Sources: M. Abramowitz and I. A. Stegun (eds.), Handbook of Mathematical Functions (1964): 26.5.8
(continued fraction of the incomplete beta function), 26.5.2 (its symmetry), 26.7.1 (the t
distribution as an incomplete beta function).
"""

from __future__ import annotations

import math
from functools import lru_cache

#: The continued fraction ends when a step changes it by less than this share.
_EPSILON = 1e-15
#: Replaces a zero denominator in the modified Lentz method.
_TINY = 1e-300
#: More steps than the continued fraction needs below `_MAX_DF`: it needs about the root of the
#: larger parameter.
_MAX_STEPS = 20_000
#: The largest count of degrees of freedom that the functions take.
_MAX_DF = 10_000_000


def two_sided_p(t: float, df: int) -> float:
    """The probability that a t variate with `df` degrees of freedom is at least |t| from zero.

    Args:
        t: the statistic; infinite values are taken, NaN is not.
        df: degrees of freedom, 1 to 10,000,000.

    Returns:
        The two-sided p-value, 0 to 1, with a relative error below 1e-9 also in the tails.

    Raises:
        ValueError: if `t` is not a number or `df` is out of range.
    """
    _check_df(df)
    if math.isnan(t):
        raise ValueError("the t statistic is not a number")
    square = t * t
    if math.isinf(square):
        return 0.0
    return _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square))


@lru_cache(maxsize=4096)
def quantile_two_sided(alpha: float, df: int) -> float:
    """The critical value c of a two-sided t test: P(|T| >= c) = alpha.

    Args:
        alpha: the probability outside of (-c, c), in 1e-15 to 1 - 1e-12.
        df: degrees of freedom, 1 to 10,000,000.

    Returns:
        c, with a relative error below 1e-9.

    Raises:
        ValueError: if an argument is out of range.
    """
    _check_df(df)
    if not 1e-15 <= alpha <= 1 - 1e-12:
        raise ValueError(f"alpha = {alpha} is outside of 1e-15 to 1 - 1e-12")
    low, high = 0.0, 1.0
    while two_sided_p(high, df) > alpha:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if two_sided_p(middle, df) > alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _check_df(df: int) -> None:
    if not 1 <= df <= _MAX_DF:
        raise ValueError(f"{df} degrees of freedom are outside of 1 to {_MAX_DF:,}")


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) for y = 1 - x.

    Both are arguments because 1 - x loses the digits of a small difference.
    """
    if x <= 0.0:
        return 0.0
    if y <= 0.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _continued_fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _continued_fraction(b, a, y) / b


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The fraction of Abramowitz and Stegun 26.5.8, evaluated forward (modified Lentz method)."""
    c = 1.0
    d = _reciprocal(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = _reciprocal(1 + term * d)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            value *= change
        if abs(change - 1) < _EPSILON:
            return value
    raise ArithmeticError(f"no convergence of the incomplete beta function at a = {a}, b = {b}, x = {x}")


def _reciprocal(x: float) -> float:
    return 1 / (x if abs(x) > _TINY else _TINY)
