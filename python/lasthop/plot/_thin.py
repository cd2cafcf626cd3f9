"""Thinning: fewer points, the same picture. A vector figure of millions of points is of no use."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

# Two per printed dot of a 3.5-inch column at 300 dpi would be 2100; half of that is beyond what an
# eye resolves.
BUCKETS = 1000


def line(x: Floats, y: Floats, buckets: int = BUCKETS) -> tuple[Floats, Floats]:
    """Keeps first, smallest, largest and last value of each of `buckets` stretches.

    Stretches of `x`, which is sorted.
    """
    if len(x) <= 4 * buckets:
        return x, y
    stretch = _cells(x, buckets)
    starts = np.flatnonzero(np.r_[True, stretch[1:] != stretch[:-1]])
    ends = np.r_[starts[1:], len(x)] - 1
    group = np.repeat(np.arange(len(starts)), ends - starts + 1)
    by_value = np.lexsort((y, group))
    keep = np.unique(np.r_[starts, ends, by_value[starts], by_value[ends]])
    return x[keep], y[keep]


def dots(x: Floats, y: Floats, across: int = BUCKETS, up: int = BUCKETS // 2) -> tuple[Floats, Floats]:
    """Keeps one of the points that would print on the same dot."""
    if len(x) <= across:
        return x, y
    _, keep = np.unique(_cells(x, across) * up + _cells(y, up), return_index=True)
    return x[keep], y[keep]


def _cells(v: Floats, n: int) -> NDArray[np.int64]:
    low, high = float(np.min(v)), float(np.max(v))
    if high <= low:
        return np.zeros(len(v), dtype=np.int64)
    return np.minimum(((v - low) * (n / (high - low))).astype(np.int64), n - 1)
