"""Replications of processes whose mean is known in closed form, each begun in its steady state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MM1Wait:
    """The mean waiting time in queue of the customers of an M/M/1 queue with service rate 1.

    Wq = rho / (mu - lambda) = rho / (1 - rho). An arriving customer in steady state finds the
    server idle with probability 1 - rho, else its wait is exponential with the rate mu - lambda = 1
    - rho.
    """

    rho: float
    customers: int

    @property
    def mean(self) -> float:
        return self.rho / (1 - self.rho)

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The means of `n` replications."""
        means: FloatArray = self.each(rng, n).mean(axis=1)
        return means

    def each(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The waits of all customers of `n` replications.

        Lindley's recursion W(i+1) = max(0, W(i) + X(i)), with service minus interarrival time X,
        has the solution W(i) = max(W(0) + C(i), C(i) - min of C(0) ... C(i)) with the partial sums
        C.
        """
        first = np.where(rng.random(n) < self.rho, rng.standard_exponential(n) / (1 - self.rho), 0.0)
        sums = np.zeros((n, self.customers))
        np.subtract(
            rng.standard_exponential((n, self.customers - 1)),
            rng.standard_exponential((n, self.customers - 1)) / self.rho,
            out=sums[:, 1:],
        )
        np.cumsum(sums, axis=1, out=sums)
        waits: FloatArray = sums - np.minimum(np.minimum.accumulate(sums, axis=1), -first[:, None])
        return waits

    @staticmethod
    def together(rhos: Sequence[float], customers: int, rng: np.random.Generator, n: int) -> list[FloatArray]:
        """The means of `n` replications of several queues with the same random numbers."""
        state = rng.bit_generator.state
        found = []
        for rho in rhos:
            rng.bit_generator.state = state
            found.append(MM1Wait(rho, customers).draw(rng, n))
        return found


@dataclass(frozen=True)
class AR1:
    """The mean of `steps` steps of X(i+1) = mean + phi (X(i) - mean) + e(i).

    With standard normal e.
    """

    phi: float
    mean: float
    steps: int

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The means of `n` replications; X(0) has the stationary variance 1 / (1 - phi^2)."""
        x = rng.standard_normal(n) / np.sqrt(1 - self.phi**2)
        total = x.copy()
        for _ in range(self.steps - 1):
            x *= self.phi
            x += rng.standard_normal(n)
            total += x
        means: FloatArray = self.mean + total / self.steps
        return means
