"""Division of time among several causes, in whole nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: Moments that are looked at together: bounds the memory.
CHUNK = 1 << 14


def divide(length: Ints, weights: Ints) -> Ints:
    """Divides each length among the rows of `weights`, to the unit.

    The unit that is left over when all shares are rounded down goes to the largest fraction, the
    next one to the next (Hamilton's method); of equal ones to the first. A column without weight
    gets nothing.

    Args:
        length: one length for each column, not negative.
        weights: a row for each recipient, a column for each length; not negative.

    Returns:
        As `weights`; where a column has weight, it adds up to the length.
    """
    if not weights.size:
        return np.zeros_like(weights)
    # Products have to fit into 63 bits: with intervals below a quarter of an hour, weights keep 22
    # bits.
    while int(length.max(initial=0)) * int(weights.max(initial=0)) >= 1 << 62:
        weights = np.where(weights > 0, np.maximum(weights >> 1, 1), 0)
    total = weights.sum(axis=0)
    some = np.where(total > 0, total, 1)
    product = weights * length
    parts: Ints = product // some
    fraction = product % some
    rest = np.where(total > 0, length - parts.sum(axis=0), 0)
    order = np.argsort(-fraction, axis=0, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(weights))[:, None], axis=0)
    return parts + (rank < rest)


@dataclass(frozen=True)
class Stays:
    """Weights that are somewhere for a time."""

    start: Ints
    end: Ints
    #: The number of the place.
    key: Ints
    weight: Ints

    @classmethod
    def joined(cls, several: list[Stays]) -> Stays:
        """All of them."""
        if not several:
            none = np.zeros(0, np.int64)
            return cls(none, none, none, none)
        return cls(*(np.concatenate([getattr(s, name) for s in several]) for name in ("start", "end", "key", "weight")))

    def within(self, start: int, end: int) -> Stays:
        """The parts of them between two moments."""
        a, b = np.maximum(self.start, start), np.minimum(self.end, end)
        kept = (a < b) & (self.weight > 0)
        return Stays(a[kept], b[kept], self.key[kept], self.weight[kept])


def sweep(stays: Stays, keys: int, moments: Ints, take: object) -> None:
    """Walks through time.

    Args:
        stays: weights with place and time; all ends are among `moments`.
        keys: how many places there are.
        moments: ascending moments between which nothing changes.
        take: is called with (first, weights): the number of the first interval of a chunk, and the
            weight in each place (rows) during each of its intervals (columns).
    """
    n = len(moments) - 1
    at = np.concatenate([np.searchsorted(moments, stays.start), np.searchsorted(moments, stays.end)])
    key = np.concatenate([stays.key, stays.key])
    change = np.concatenate([stays.weight, -stays.weight])
    order = np.argsort(at, kind="stable")
    at, key, change = at[order], key[order], change[order]
    now = np.zeros(keys, np.int64)
    for first in range(0, n, CHUNK):
        count = min(CHUNK, n - first)
        a, b = np.searchsorted(at, [first, first + count])
        weights = np.zeros((keys, count), np.int64)
        np.add.at(weights, (key[a:b], at[a:b] - first), change[a:b])
        weights[:, 0] += now
        np.cumsum(weights, axis=1, out=weights)
        now = weights[:, -1].copy()
        take(first, weights)  # type: ignore[operator]
