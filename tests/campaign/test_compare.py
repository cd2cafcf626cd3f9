"""Paired comparisons: t intervals by hand, Holm's correction, what is undecided.

And measured simultaneous coverage.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lasthop import LasthopError
from lasthop.campaign import compare as c
from lasthop.campaign.compare import Difference, compare, holm
from lasthop.campaign.student import quantile_two_sided


def seeds(*values: float, first: int = 1) -> dict[Any, float]:
    """The values by seed, counted from `first`."""
    return {first + i: v for i, v in enumerate(values)}


def one(a: dict[Any, float], b: dict[Any, float], **keywords: Any) -> Difference:
    return compare({"a": a, "b": b}, **keywords).differences[0]


def test_a_pair_by_hand() -> None:
    # Differences 3, 1, 2, 4, 5: mean 3, sum of squares about it 4 + 4 + 1 + 1 + 0 = 10, s =
    # sqrt(10/4) = 1.581139, standard error s / sqrt(5) = 0.707107. t(4, 97.5 %) = 2.776445:
    # half-width 1.963243. T = 3 / 0.707107 = 3 sqrt(2); with 4 degrees sin a = T / sqrt(4 + T^2) =
    # sqrt(18/22), p = 1 - sin a (3 - sin^2 a) / 2 = 0.013236. Variances: of a (13, 21, 32, 44, 55:
    # mean 33) 1150 / 4 = 287.5 ; of b (10, 20, 30, 40, 50) 1000 / 4 = 250; of the difference 2.5:
    # factor 537.5 / 2.5 = 215.
    found = one(seeds(13, 21, 32, 44, 55), seeds(10, 20, 30, 40, 50))
    assert (found.n, found.unpaired, found.mean) == (5, 0, 3.0)
    assert (found.low, found.high) == pytest.approx((3 - 1.963243, 3 + 1.963243), abs=1e-6)
    sine = math.sqrt(18 / 22)
    assert found.p == pytest.approx(1 - sine * (3 - sine**2) / 2, rel=1e-9)
    assert found.p == pytest.approx(0.013236, abs=1e-5)
    assert found.p_holm == found.p
    assert found.variance_factor == pytest.approx(215)
    assert (found.answer, found.reason, found.pairs_needed, found.differs) == ("higher", "", None, True)


def test_the_other_order_has_the_other_sign() -> None:
    a, b = seeds(13, 21, 32, 44, 55), seeds(10, 20, 30, 40, 50)
    there, back = one(a, b), one(b, a)
    assert (back.mean, back.low, back.high, back.answer) == (-there.mean, -there.high, -there.low, "lower")
    assert back.p == there.p


def test_pairs_are_formed_by_seed_and_not_by_place() -> None:
    a = {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 6.0, "x": 9.0}
    b = {7: 100.0, 5: 5.0, 4: 3.0, 3: 2.0, 2: 1.0, 1: 0.0}
    found = one(a, b)
    assert (found.n, found.unpaired, found.mean) == (5, 2, 1.0)


def test_an_interval_with_zero_is_undecided_and_says_how_many_pairs_it_needs() -> None:
    # Differences -1, 0, 1, 2, 3: mean 1, s = sqrt(10/4). c(n-1) s / sqrt(n) < 1 needs n > 2.5 c^2:
    # at n = 12, c = 2.2010 and 2.5 c^2 = 12.11; at n = 13, c = 2.1788 and 2.5 c^2 = 11.87.
    found = one(seeds(-1, 0, 1, 2, 3), seeds(0, 0, 0, 0, 0))
    assert (found.answer, found.reason, found.pairs_needed) == ("undecided", c.CONTAINS_ZERO, 13)


def test_too_few_seeds_are_undecided_although_the_interval_excludes_zero() -> None:
    a, b = seeds(10, 20, 30), seeds(9.0, 19.01, 29.02)
    found = one(a, b)
    assert found.low > 0
    assert (found.answer, found.reason, found.p, found.differs) == ("undecided", c.TOO_FEW_SEEDS, 1.0, False)
    assert found.pairs_needed == 5
    assert one(a, b, min_pairs=3).answer == "higher"


def test_one_or_no_common_seed_has_no_interval() -> None:
    single = one(seeds(3), seeds(1))
    assert (single.mean, single.low, single.high) == (2.0, -math.inf, math.inf)
    none = one(seeds(3), seeds(1, first=2))
    assert math.isnan(none.mean)
    assert (none.n, none.unpaired, none.low, none.high) == (0, 2, -math.inf, math.inf)
    for found in (single, none):
        assert (found.answer, found.reason, found.pairs_needed) == ("undecided", c.TOO_FEW_SEEDS, None)
        assert math.isnan(found.variance_factor)


def test_variants_that_are_equal_or_differ_by_a_constant() -> None:
    a = seeds(1, 2, 3, 4, 5)
    equal = one(a, dict(a))
    assert (equal.low, equal.high, equal.p, equal.p_holm) == (0.0, 0.0, None, None)
    assert (equal.answer, equal.reason) == ("undecided", c.EQUAL)
    constant = one(a, seeds(0.5, 1.5, 2.5, 3.5, 4.5))
    assert (constant.low, constant.high, constant.p, constant.answer) == (0.5, 0.5, None, "higher")
    assert constant.variance_factor == math.inf
    assert math.isnan(one(seeds(2, 2, 2, 2, 2), seeds(1, 1, 1, 1, 1)).variance_factor)


def test_equal_differences_have_no_p_value_and_count_in_the_family() -> None:
    """Five equal differences of runs that seeds do not change are one sample, not five."""
    a, b = seeds(13, 21, 32, 44, 55), seeds(10, 20, 30, 40, 50)
    found = compare({"a": a, "b": b, "c": seeds(9, 19, 29, 39, 49)}, pairs=[("a", "b"), ("b", "c")])
    of_equal = found.differences[1]
    assert (of_equal.mean, of_equal.p, of_equal.p_holm, of_equal.differs) == (1.0, None, None, False)
    first = found.differences[0]
    assert first.p is not None
    assert first.p_holm == pytest.approx(2 * first.p)


def test_a_pair_without_two_common_seeds_does_not_widen_the_others() -> None:
    a, b = seeds(13, 21, 32, 44, 55), seeds(10, 20, 30, 40, 50)
    alone = compare({"a": a, "b": b})
    beside = compare({"a": a, "b": b, "empty": {}, "one": seeds(3)})
    assert (alone.family, beside.family, len(beside.differences)) == (1, 1, 6)
    assert beside.differences[0] == alone.differences[0]
    for other in beside.differences[1:]:
        assert (other.answer, other.reason, other.p_holm) == ("undecided", c.TOO_FEW_SEEDS, 1.0)


def test_the_interval_of_the_variance_factor_covers_that_of_a_known_correlation() -> None:
    # Equal variances and correlation 0.8: 1 / (1 - 0.8) = 5. Of 2,000 samples the standard error of
    # a share near 95 % is 0.5 %.
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        x, y = rng.standard_normal((2, 6))
        found = one(seeds(*x), seeds(*(0.8 * x + 0.6 * y)))
        covered += found.variance_factor_low <= 5 <= found.variance_factor_high
    assert 0.935 <= covered / 2000 <= 0.965


def test_the_interval_of_the_variance_factor_by_hand() -> None:
    # The pair above: sums 23, 41, 62, 84, 105 and differences 3, 1, 2, 4, 5. Products about the
    # means 63 and 3: (-40)(0) + (-22)(-2) + (-1)(-1) + 21 * 1 + 42 * 2 = 150; squares 1600 + 484 +
    # 1 + 441 + 1764 = 4290, and 10; r^2 = 22500 / 42900 = 0.524476. t(3, 97.5 %) = 3.182446, k = 1
    # + 2 * 0.475524 * 10.127965 / 3 = 4.210722, k + sqrt(k^2 - 1) = 8.300977. Ratio of variances
    # 429: (429 / 8.300977 + 1) / 2, (429 * 8.300977 + 1) / 2.
    found = one(seeds(13, 21, 32, 44, 55), seeds(10, 20, 30, 40, 50))
    assert found.variance_factor_low == pytest.approx(26.340, abs=1e-2)
    assert found.variance_factor_high == pytest.approx(1781.06, abs=0.5)


def test_the_variance_factor_is_that_of_a_known_correlation() -> None:
    # Equal variances and correlation r: (1 + 1) / (2 - 2 r) = 1 / (1 - r); 10 for r = 0.9, 1 for r
    # = 0, 1/2 for r = -1. With 20,000 pairs the relative standard error of a ratio of variances is
    # below 2 sqrt(1 / 20000) = 0.014.
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 20_000))
    for r in (0.9, 0.0, -1.0):
        found = one(seeds(*x), seeds(*(r * x + math.sqrt(1 - r * r) * y)))
        assert found.variance_factor == pytest.approx(1 / (1 - r), rel=4 * 0.014)


def test_holm_in_a_worked_example() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; the last is raised to
    # 0.06. At 3.5 % two are rejected, where Bonferroni (times 4: 0.02, 0.04, 0.12, 0.16) rejects
    # one.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.04, 0.03, 0.005], family=6) == pytest.approx([0.05, 0.12, 0.12, 0.03])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_refuses_what_is_no_p_value() -> None:
    for values, family in (([0.1, math.nan], None), ([1.1], None), ([-0.1], None), ([0.1, 0.2], 1)):
        with pytest.raises(LasthopError):
            holm(values, family)


def three_variants(rng: np.random.Generator, n: int, means: tuple[float, float, float]) -> dict[str, dict[Any, float]]:
    """Three variants with a common part of each seed: differences of variance 1 + 1."""
    common = rng.normal(0, 3, n)
    return {
        name: {i: float(v) for i, v in enumerate(mean + common + rng.standard_normal(n))}
        for name, mean in zip("abc", means, strict=True)
    }


def test_all_pairs_share_the_error_probability() -> None:
    samples = three_variants(np.random.default_rng(3), 8, (0.0, 2.0, 5.0))
    all_pairs = compare(samples)
    assert [(d.first, d.second) for d in all_pairs.differences] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all_pairs.family == 3
    alone = compare(samples, pairs=[("a", "b")]).differences[0]
    first = all_pairs.differences[0]
    # Bonferroni: level 1 - 0.05 / 3 with 7 degrees of freedom.
    ratio = quantile_two_sided(0.05 / 3, 7) / quantile_two_sided(0.05, 7)
    assert (first.high - first.low) / (alone.high - alone.low) == pytest.approx(ratio)
    assert compare(samples, pairs=[("a", "b")], family=3).differences[0].low == first.low


def test_an_answer_agrees_with_its_interval_and_with_holm() -> None:
    rng = np.random.default_rng(4)
    reasons = set()
    for _ in range(300):
        for d in compare(three_variants(rng, 6, (0.0, 1.5, 3.0))).differences:
            decided = d.answer != "undecided"
            assert decided == (d.low > 0 or d.high < 0)
            assert d.answer == ("higher" if d.low > 0 else "lower" if d.high < 0 else "undecided")
            assert d.p is not None
            assert d.p_holm is not None
            assert not decided or (d.differs and d.p_holm <= 0.05)
            assert decided == (d.p < 0.05 / 3)
            assert (d.reason == c.NOT_SETTLED) == (d.differs and not decided)
            reasons.add(d.reason)
    assert reasons == {"", c.CONTAINS_ZERO, c.NOT_SETTLED}


def simultaneous(count: int, n: int, means: tuple[float, float, float], seed: int) -> tuple[float, float, float]:
    """Shares of comparisons in which all intervals cover, or something is wrong.

    An answer is wrong, or Holm rejects an equal pair.
    """
    rng = np.random.default_rng(seed)
    truth = dict(zip("abc", means, strict=True))
    cover = wrong = false = 0
    for _ in range(count):
        found = compare(three_variants(rng, n, means)).differences
        true = [truth[d.first] - truth[d.second] for d in found]
        cover += all(d.low <= t <= d.high for d, t in zip(found, true, strict=True))
        wrong += any(
            (d.answer == "higher" and t <= 0) or (d.answer == "lower" and t >= 0)
            for d, t in zip(found, true, strict=True)
        )
        false += any(d.differs and t == 0 for d, t in zip(found, true, strict=True))
    return cover / count, wrong / count, false / count


MEANS = [(0.0, 0.0, 0.0), (0.0, 0.0, 4.0), (0.0, 0.5, 3.0)]


@pytest.mark.parametrize("means", MEANS)
def test_simultaneous_coverage_of_400_comparisons(means: tuple[float, float, float]) -> None:
    # Bonferroni promises at least 95 %; 2.5 standard errors of 400 comparisons, sqrt(0.05 * 0.95 /
    # 400) = 0.011.
    cover, wrong, false = simultaneous(400, 6, means, seed=9)
    assert cover >= 0.95 - 2.5 * 0.011
    assert max(wrong, false) <= 0.05 + 2.5 * 0.011


@pytest.mark.slow
@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("n", [5, 20])
def test_simultaneous_coverage_of_3000_comparisons(means: tuple[float, float, float], n: int) -> None:
    # The same with sqrt(0.05 * 0.95 / 3000) = 0.0040. The pairs share variants, so the coverage is
    # above Bonferroni's bound, but not far: at most 97.5 %.
    cover, wrong, false = simultaneous(3000, n, means, seed=10)
    print(f"{means}, {n} seeds: {100 * cover:.1f} % cover, {100 * wrong:.1f} % wrong, {100 * false:.1f} % false")
    assert 0.95 - 2.5 * 0.0040 <= cover <= 0.975
    assert max(wrong, false) <= 0.05 + 2.5 * 0.0040


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"level": 95}, "level 95"),
        ({"level": math.nan}, "level nan"),
        ({"min_pairs": 1}, "min_pairs = 1"),
        ({"family": 0}, "family of 0"),
        ({"pairs": [("a", "z")]}, "no variant `z`.*\n.*a, b"),
        ({"pairs": [("a", "a")]}, "compared with itself"),
    ],
)
def test_arguments_out_of_range_are_refused(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(LasthopError, match=says):
        compare({"a": seeds(1, 2), "b": seeds(1, 2)}, **keywords)


def test_a_value_that_is_no_number_is_refused_with_variant_and_seed() -> None:
    with pytest.raises(LasthopError, match="the metric of b is nan at seed 2"):
        compare({"a": seeds(1, 2), "b": seeds(1, math.nan)})


def test_fewer_than_two_variants_have_no_pairs() -> None:
    assert compare({}).differences == compare({"a": seeds(1)}).differences == ()


def test_values_near_the_largest_stay_finite() -> None:
    found = one(seeds(1e300, -1e300, 1e300, 9e299, 8e299), seeds(-1e300, 1e300, 0, 0, 0))
    assert math.isfinite(found.variance_factor)
    assert math.isfinite(found.mean)
    assert found.answer == "undecided"
