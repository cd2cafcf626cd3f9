import math

import numpy as np
import pytest

from lasthop.harness.stats import Estimate, StepSeries, histogram, share_on_grid, student_t_975


def series(*pairs: tuple[float, float], end: float) -> StepSeries:
    return StepSeries(np.array([t for t, _ in pairs]), np.array([v for _, v in pairs]), end)


@pytest.mark.parametrize(
    ("df", "t"), [(1, 12.706), (9, 2.262), (30, 2.042), (31, 2.0395), (60, 2.0003), (1000, 1.9623)]
)
def test_student_t_is_the_textbooks(df: int, t: float) -> None:
    assert student_t_975(df) == pytest.approx(t, abs=6e-4)


def test_student_t_needs_a_degree_of_freedom() -> None:
    with pytest.raises(ValueError, match="0 degrees"):
        student_t_975(0)


def test_an_interval_over_ten_replications_is_students() -> None:
    e = Estimate.of([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    # mean 5.5, s = 3.02765, 2.2622 * s / sqrt(10) = 2.1659
    assert e.mean == 5.5
    assert e.half_width == pytest.approx(2.1659, abs=1e-4)
    assert e.ci95 == pytest.approx((3.3341, 7.6659), abs=1e-4)


def test_one_replication_has_no_interval_and_none_is_no_estimate() -> None:
    assert Estimate.of([3.0]).ci95 is None
    assert Estimate.of([3.0]).text() == "3"
    assert Estimate.of([24000.0, 26000.0]).text() == "25000 ± 13000", "half 12706"
    assert Estimate.of([999.7]).text() == "1000"
    assert Estimate.of([0.1 + 0.2, 0.3, 0.3]).text() == "0.3 ± 0"
    assert Estimate.of([1e12]).text() == "1e+12"
    with pytest.raises(ValueError, match="at least one"):
        Estimate.of([])


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (847.7, 1629.0, "800 ± 1600"),
        (94.33, 0.263, "94.33 ± 0.26"),
        (4.114, 5.04, "4.1 ± 5"),
        (0.12, 0.00016, "0.12 ± 0.0002"),
        (1.0, 7.7e-6, "1 ± <0.001"),
        (25158.0, 1461.0, "25200 ± 1500"),
        (0.0, 0.0, "0 ± 0"),
        (0.0, 0.03, "0 ± 0.03"),
        (-3.0, 0.5, "-3 ± 0.5"),
    ],
)
def test_mean_and_half_of_the_interval_end_at_one_place(mean: float, half: float, text: str) -> None:
    # Of two samples the interval's half is t * difference / 2, with t = 12.706.
    away = half / 12.706
    assert Estimate.of([mean - away, mean + away]).text() == text


def test_what_is_no_number_has_no_interval() -> None:
    assert Estimate.of([float("nan"), 1.0]).text() == "nan"


def test_a_difference_is_taken_seed_by_seed() -> None:
    low, high = Estimate.of([1, 10, 100]), Estimate.of([2, 11, 101])
    assert high.minus(low).samples == (1, 1, 1)
    with pytest.raises(ValueError, match="paired"):
        high.minus(Estimate.of([1.0]))


def test_a_step_series_is_weighted_by_time_not_by_samples() -> None:
    window = series((0, 2), (1, 4), (1.5, 4), (9, 6), end=10)
    assert window.mean() == pytest.approx((2 * 1 + 4 * 8 + 6 * 1) / 10)
    assert window.share(4, 5) == pytest.approx(0.8)
    assert window.max() == 6


def test_the_value_in_force_is_carried_into_a_later_start() -> None:
    late = series((0, 2), (1, 4), (9, 6), end=10).between(5)
    assert late.time_s[0] == 5
    assert late.mean() == pytest.approx((4 * 4 + 6 * 1) / 5)
    assert late.max() == 6
    middle = series((0, 2), (1, 4), (9, 6), end=10).between(5, 8)
    assert middle.mean() == 4


def test_a_value_that_holds_for_no_time_is_no_maximum() -> None:
    assert series((0, 2), (3, 64), (3, 2), end=10).max() == 2


def test_an_empty_series_has_no_mean() -> None:
    assert math.isnan(series(end=10).mean())
    assert math.isnan(series(end=10).max())


def test_samples_on_a_grid_are_found_at_any_offset() -> None:
    grid = 0.123 + 0.020 * np.arange(50, dtype=np.float64)
    jitter = 0.0005 * np.sin(np.arange(50, dtype=np.float64))
    assert share_on_grid(grid, 0.020, 0.002) == 1.0
    assert share_on_grid(grid + jitter, 0.020, 0.002) == 1.0


def test_samples_off_a_grid_are_not_taken_for_one() -> None:
    spread = np.linspace(0.1, 0.5, 1001)
    assert share_on_grid(spread, 0.020, 0.002) < 0.25
    half = np.concatenate([0.02 * np.arange(500), 0.01 + 0.02 * np.arange(500)])
    assert share_on_grid(half, 0.020, 0.002) == pytest.approx(0.5, abs=0.01)


def test_histogram_bins_are_centred_and_the_last_one_is_open() -> None:
    centres, counts = histogram(np.array([0.119, 0.121, 0.14, 9.0]), 0.020, 0.2)
    assert counts[6] == 2
    assert centres[6] == pytest.approx(0.12)
    assert counts[7] == 1
    assert counts[-1] == 1
    assert counts.sum() == 4
