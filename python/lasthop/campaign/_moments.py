"""Mean and standard deviation of a metric's values, and the check that they are numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lasthop._errors import mistake

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

#: Larger values are refused, so that sums and intervals of the values are finite.
LARGEST = 1e300


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (divisor n - 1), of correctly rounded sums.

    The result has neither overflow nor underflow.

    Equal values have exactly their value as the mean and 0 as the deviation. One value has the
    deviation 0; without a value both are NaN.
    """
    if not values:
        return math.nan, math.nan
    if min(values) == max(values):
        return values[0], 0.0
    scaled, exponent = _scaled(values)
    mean = math.fsum(scaled) / len(scaled)
    variance = math.fsum((v - mean) ** 2 for v in scaled) / (len(scaled) - 1)
    return math.ldexp(mean, exponent), math.ldexp(math.sqrt(variance), exponent)


def skewness(values: Sequence[float]) -> float:
    """The third central moment over the 3/2 power of the second one; 0 for equal values.

    Both moments have the divisor n.
    """
    if not values or min(values) == max(values):
        return 0.0
    scaled, _ = _scaled(values)
    mean = math.fsum(scaled) / len(scaled)
    second = math.fsum((v - mean) ** 2 for v in scaled) / len(scaled)
    third = math.fsum((v - mean) ** 3 for v in scaled) / len(scaled)
    return third / second**1.5 if second**1.5 > 0.0 else 0.0


def _scaled(values: Sequence[float]) -> tuple[list[float], int]:
    """The values below 1 in magnitude, and the power of two that was taken out.

    Taking it out does not round.
    """
    exponent = math.frexp(max(abs(v) for v in values))[1]
    return [math.ldexp(v, -exponent) for v in values], exponent


def checked(samples: Sequence[float], what: str, seeds: Sequence[Hashable] | None = None) -> list[float]:
    """The samples as floats.

    Raises:
        LasthopError: if one is not a finite number up to `LARGEST` in magnitude; it names `what`
            and the seed, or without `seeds` the place in order of seed, counted from 1.
    """
    values = [float(v) for v in samples]
    for i, v in enumerate(values):
        if not abs(v) <= LARGEST:
            where = f"replication {i + 1} in order of seed" if seeds is None else f"seed {seeds[i]}"
            raise mistake(
                f"{what} is {v:g} at {where}, not a finite number up to {LARGEST:g}",
                "define the metric so that each run has a value, or leave the run out",
            )
    return values
