"""The statistics by which claims are judged.

They are estimates with confidence intervals, time-weighted means, and shares.

A replication is one run; its index is its seed, so that two points of a grid with the same seeds
share their random numbers and differences can be taken pair by pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over replications with its 95 % confidence interval (Student t).

    With one replication there is no interval: `ci95` is None.
    """

    samples: tuple[float, ...]

    @staticmethod
    def of(samples: Sequence[float]) -> Estimate:
        """One sample per replication, in seed order."""
        if not samples:
            raise ValueError("an estimate needs at least one sample")
        return Estimate(tuple(float(s) for s in samples))

    @property
    def n(self) -> int:
        """The number of replications."""
        return len(self.samples)

    @property
    def mean(self) -> float:
        """Mean over the replications."""
        return math.fsum(self.samples) / self.n

    @property
    def stdev(self) -> float:
        """Sample standard deviation (divisor n - 1); 0 for one sample."""
        if self.n < 2:
            return 0.0
        mean = self.mean
        return math.sqrt(math.fsum((s - mean) ** 2 for s in self.samples) / (self.n - 1))

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval; None for one replication."""
        if self.n < 2:
            return None
        return student_t_975(self.n - 1) * self.stdev / math.sqrt(self.n)

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean."""
        half = self.half_width
        return None if half is None else (self.mean - half, self.mean + half)

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit."""
        return Estimate(tuple(s * factor for s in self.samples))

    def minus(self, other: Estimate) -> Estimate:
        """The difference, seed by seed (common random numbers). Both must have the same seeds."""
        if self.n != other.n:
            raise ValueError(f"paired difference of {self.n} and {other.n} replications")
        return Estimate(tuple(a - b for a, b in zip(self.samples, other.samples, strict=True)))

    def text(self, digits: int = 3, unit: str = "") -> str:
        """`5.12 ± 0.08 s`: the mean and half the interval, with the same number of places.

        Half the interval has two significant digits, and the mean has as many decimal places.
        Neither has more than one place beyond `digits` significant digits of the mean.
        """
        half = self.half_width
        after = f" {unit}" if unit else ""
        if half is None or not math.isfinite(half) or half <= 1e-12 * abs(self.mean):
            # One replication, or equal ones but for the rounding of their mean.
            spread = " ± 0" if half is not None and math.isfinite(half) else ""
            return f"{_number(self.mean, digits)}{spread}{after}"
        finest = _places(self.mean, digits) + 1 if self.mean else _places(half, digits)
        places = min(_places(half, 2), finest)
        if half < 0.5 * 10**-places:
            return f"{_number(self.mean, digits)} ± <{_rounded(10**-places, places)}{after}"
        return f"{_rounded(self.mean, places)} ± {_rounded(half, places)}{after}"


def plain(x: float, digits: int = 4) -> str:
    """A number with four significant digits: 22000 rather than 2.2e+04."""
    return _number(x, digits)


def _number(x: float, digits: int) -> str:
    """`digits` significant digits, but 1500 rather than 1.5e+03."""
    text = f"{x:.{digits}g}"
    return f"{x:.0f}" if "e+" in text and abs(x) < 1e9 else text


def _places(x: float, digits: int) -> int:
    """Decimal places of `digits` significant digits; negative: before the point."""
    return digits - 1 - math.floor(math.log10(abs(x)))


def _rounded(x: float, places: int) -> str:
    """To so many decimal places, without zeros at the end of them.

    Very small and very large numbers as powers.
    """
    value = round(x, places)
    if value and not 1e-5 <= abs(value) < 1e9:
        return f"{value:.2g}"
    if not value:
        return "0"
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def student_t_975(df: int) -> float:
    """The 97.5 % quantile of Student's t with `df` degrees of freedom, good to 5e-4.

    Up to 30 from the table in every textbook; beyond, the Cornish-Fisher expansion (Abramowitz and
    Stegun 26.7.5).
    """
    if df < 1:
        raise ValueError(f"no t quantile for {df} degrees of freedom")
    if df <= len(_T_975):
        return _T_975[df - 1]
    z = 1.959963984540054
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return float(z + g1 / df + g2 / df**2 + g3 / df**3)


@dataclass(frozen=True)
class StepSeries:
    """A quantity that keeps its value from one sample to the next: a congestion window, a queue.

    Statistics are weighted by time, from `start` to `end`; samples before `start` only give the
    value there.
    """

    time_s: FloatArray
    value: FloatArray
    end_s: float

    def __post_init__(self) -> None:
        if len(self.time_s) != len(self.value):
            raise ValueError("a step series needs as many times as values")

    def between(self, start_s: float, end_s: float | None = None) -> StepSeries:
        """The part in [start, end); the value in force at `start` is carried in."""
        end = self.end_s if end_s is None else min(end_s, self.end_s)
        before = int(np.searchsorted(self.time_s, start_s, side="right"))
        until = int(np.searchsorted(self.time_s, end, side="left"))
        time, value = self.time_s[before:until], self.value[before:until]
        if before > 0:
            time = np.concatenate(([start_s], time))
            value = np.concatenate(([self.value[before - 1]], value))
        return StepSeries(time, value, end)

    def durations(self) -> FloatArray:
        """How long each value was in force."""
        return np.diff(np.append(self.time_s, self.end_s))

    def mean(self) -> float:
        """Mean over time."""
        weights = self.durations()
        total = float(weights.sum())
        return float((weights * self.value).sum() / total) if total > 0 else math.nan

    def max(self) -> float:
        """The largest value that was in force for any time at all."""
        held = self.value[self.durations() > 0]
        return float(held.max()) if len(held) else math.nan

    def share(self, low: float, high: float) -> float:
        """The share of time in which low <= value < high."""
        weights = self.durations()
        total = float(weights.sum())
        inside = (self.value >= low) & (self.value < high)
        return float(weights[inside].sum() / total) if total > 0 else math.nan


def share_on_grid(values: FloatArray, step: float, tolerance: float) -> float:
    """The largest share of `values` that lies within `tolerance` of one grid offset + k * step.

    The offset is free: it is the one that catches most values.
    """
    if len(values) == 0:
        return math.nan
    bins = max(1, round(step / tolerance))
    phase = np.mod(values, step) / step
    counts = np.bincount(np.floor(phase * bins).astype(int) % bins, minlength=bins)
    # Two neighbouring bins of one tolerance each: a window of +-tolerance wherever the cluster
    # falls.
    return float((counts + np.roll(counts, -1)).max() / len(values))


def histogram(values: FloatArray, step: float, upper: float) -> tuple[FloatArray, FloatArray]:
    """Counts in bins of width `step` centred on k * step; returns (centres, counts)."""
    bins = math.ceil(upper / step) + 1
    index = np.clip(np.floor(values / step + 0.5).astype(int), 0, bins - 1)
    counts = np.bincount(index, minlength=bins).astype(np.float64)
    return np.arange(bins, dtype=np.float64) * step, counts


# fmt: off
_T_975 = (
    12.706, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)
# fmt: on
