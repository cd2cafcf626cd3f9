"""Whether variants differ.

The result is how far apart the means are, and how many pairs the replications distinguish.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lasthop.harness.stats import Estimate


@dataclass(frozen=True)
class Spread:
    """The variants of one condition beside each other."""

    #: Largest minus smallest mean, in percent of their mean.
    percent: float
    #: Pairs whose paired 95 % interval does not hold zero and whose means differ by more than
    #: "equal" allows.
    apart: int
    #: All pairs.
    pairs: int
    lowest: str
    highest: str


def spread(values: Mapping[str, Estimate], equal_percent: float) -> Spread:
    """The spread of one metric over variants."""
    means = {name: value.mean for name, value in values.items()}
    lowest, highest = min(means, key=lambda n: means[n]), max(means, key=lambda n: means[n])
    centre = sum(means.values()) / len(means)
    width = means[highest] - means[lowest]
    pairs = list(itertools.combinations(values, 2))
    apart = sum(distinguished(values[a], values[b], equal_percent) for a, b in pairs)
    percent = 100 * width / abs(centre) if centre else 0.0
    return Spread(percent, apart, len(pairs), lowest, highest)


def distinguished(a: Estimate, b: Estimate, equal_percent: float) -> bool:
    """Different beyond the interval of the difference and by more than counts as equal."""
    gap = abs(a.mean - b.mean)
    if gap == 0 or gap * 100 < equal_percent * max(abs(a.mean), abs(b.mean)):
        return False
    interval = a.minus(b).ci95 if a.n == b.n else None
    return interval is None or not interval[0] <= 0 <= interval[1]
