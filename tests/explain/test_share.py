"""Division of time in whole nanoseconds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from lasthop.explain._share import CHUNK, Ints, Stays, divide, sweep


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def test_the_unit_that_is_left_goes_to_the_largest_fraction() -> None:
    # 10 among 1:1:1 is 3 1/3 each: one more for the first of equals. 7 among 5:3 is 4 3/8 and 2
    # 5/8.
    assert divide(ints(10), ints(1, 1, 1)[:, None])[:, 0].tolist() == [4, 3, 3]
    assert divide(ints(7), ints(5, 3)[:, None])[:, 0].tolist() == [4, 3]
    assert divide(ints(7), ints(0, 0)[:, None])[:, 0].tolist() == [0, 0]


def test_parts_add_up_and_are_within_one_of_the_exact_share() -> None:
    draw = np.random.default_rng(1)
    weights = draw.integers(0, 1 << 20, (7, 500))
    length = draw.integers(0, 1 << 35, 500)
    parts = divide(length, weights)
    total = weights.sum(axis=0)
    assert (parts.sum(axis=0) == length).all()
    for k, n in np.ndindex(parts.shape):
        exact = Fraction(int(length[n]) * int(weights[k, n]), int(total[n]))
        assert abs(parts[k, n] - exact) < 1


def test_large_products_do_not_overflow() -> None:
    """A quarter of an hour, and the octets of a window that no path holds.

    The sum is exact, a share nearly so.
    """
    length, weights = ints(10**12), ints(3 * 10**9, 10**9)[:, None]
    parts = divide(length, weights)[:, 0]
    assert parts.sum() == 10**12
    assert parts[0] == pytest.approx(0.75e12, rel=1e-6)


def test_a_sweep_has_the_weights_of_every_interval() -> None:
    stays = Stays(ints(0, 5, 5), ints(10, 20, 8), ints(0, 1, 1), ints(3, 4, 1))
    moments = ints(0, 5, 8, 10, 20, 30)
    seen = []
    sweep(stays, 2, moments, lambda first, w: seen.append((first, w.tolist())))
    assert seen == [(0, [[3, 3, 3, 0, 0], [0, 5, 4, 4, 0]])]


def test_a_sweep_goes_on_over_chunks() -> None:
    n = 2 * CHUNK + 7
    moments = np.arange(n + 1, dtype=np.int64)
    stays = Stays(ints(3), ints(n - 2), ints(0), ints(9))
    found = np.zeros(n, np.int64)

    def take(first: int, weights: Ints) -> None:
        found[first : first + weights.shape[1]] = weights[0]

    sweep(stays, 1, moments, take)
    assert found.sum() == 9 * (n - 5)
    assert found[3] == 9
    assert found[2] == 0
    assert found[n - 2] == 0
