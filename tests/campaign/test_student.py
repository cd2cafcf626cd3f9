"""Student's t distribution against closed forms and the table of a handbook."""

from __future__ import annotations

import math

import pytest

from lasthop.campaign.student import quantile_two_sided, two_sided_p


@pytest.mark.parametrize("t", [1e-6, 0.1, 1.0, 2.5, 40.0])
def test_p_values_of_one_two_and_four_degrees_of_freedom_have_closed_forms(t: float) -> None:
    # Density 1 / (pi (1 + t^2)), integrated from t to infinity, twice.
    assert two_sided_p(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-11)
    # P(|T| < t) = t / sqrt(2 + t^2); one minus it without cancellation.
    root = math.sqrt(2 + t * t)
    assert two_sided_p(t, 2) == pytest.approx(2 / (root * (root + t)), rel=1e-11)
    # Abramowitz and Stegun 26.7.4: P(|T| < t) = sin a (1 + cos^2 a / 2) with tan a = t / 2. With u
    # = 1 - sin a, sin a (3 - sin^2 a) / 2 = 1 - u^2 (3 - u) / 2.
    u = (4 / (4 + t * t)) / (1 + t / math.sqrt(4 + t * t))
    assert two_sided_p(t, 4) == pytest.approx(u * u * (3 - u) / 2, rel=1e-11)


def test_p_is_symmetric_and_ends_at_one_and_zero() -> None:
    assert two_sided_p(-2.0, 7) == two_sided_p(2.0, 7)
    assert two_sided_p(0.0, 7) == 1.0
    assert two_sided_p(math.inf, 7) == 0.0


@pytest.mark.parametrize(
    ("alpha", "df", "value"),
    # Abramowitz and Stegun, table 26.10, to the digits that it prints.
    [
        (0.05, 1, 12.706), (0.05, 4, 2.776), (0.05, 9, 2.262), (0.05, 30, 2.042), (0.05, 120, 1.980),
        (0.10, 5, 2.015), (0.10, 20, 1.725), (0.01, 3, 5.841), (0.01, 10, 3.169), (0.01, 60, 2.660),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_table(alpha: float, df: int, value: float) -> None:
    assert quantile_two_sided(alpha, df) == pytest.approx(value, abs=5.01e-4)


@pytest.mark.parametrize("df", [1, 2, 9, 100, 10_000, 10_000_000])
@pytest.mark.parametrize("alpha", [1e-12, 0.003, 0.05, 0.5, 0.99])
def test_the_quantile_inverts_the_p_value(alpha: float, df: int) -> None:
    assert two_sided_p(quantile_two_sided(alpha, df), df) == pytest.approx(alpha, rel=1e-7)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    for z in (0.5, 1.959963984540054, 4.0):
        assert two_sided_p(z, 10_000_000) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-5)


def test_arguments_out_of_range_are_refused() -> None:
    for t, df in ((1.0, 0), (1.0, 10_000_001), (math.nan, 3)):
        with pytest.raises(ValueError, match=r"degrees of freedom|not a number"):
            two_sided_p(t, df)
    for alpha, df in ((0.0, 3), (1.0, 3), (math.nan, 3), (0.05, 0)):
        with pytest.raises(ValueError, match=r"alpha|degrees of freedom"):
            quantile_two_sided(alpha, df)
