"""A congestion control over the recorded hop itself and over the replay of its trace."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lasthop.capacity._formats import mahimahi
from lasthop.capacity._recording import Recording, bulk, delays, of_flow
from lasthop.capacity._scenes import PROBE, replay

if TYPE_CHECKING:
    from lasthop import Results, Scenario

#: Percentiles of the one-way delay that are compared.
SHARES = (50, 95)


@dataclass(frozen=True)
class Measured:
    """One flow: goodput [bit/s], one-way delay of its data packets [s].

    The delay is given at the percentiles of `SHARES`.
    """

    goodput: float
    delay: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """A congestion control over the hop and over the replay of its trace.

    Args:
        cc: the congestion control.
        hop: over the scenario itself.
        trace: over the replay.
        ks: the largest difference of the two distributions of one-way delay (Kolmogorov and
            Smirnov), 0 to 1.
    """

    cc: str
    hop: Measured
    trace: Measured
    ks: float

    @property
    def goodput_error(self) -> float:
        """The error of the replay's goodput, as a share of the hop's goodput."""
        return self.trace.goodput / self.hop.goodput - 1 if self.hop.goodput else float("nan")

    @property
    def delay_errors(self) -> tuple[float, ...]:
        """The error of the replay's delay at each percentile, as a share of the hop's delay."""
        return tuple(b / a - 1 for a, b in zip(self.hop.delay, self.trace.delay, strict=True))


def compare(recording: Recording, cc: str, seed: int = 1) -> Comparison:
    """Runs a TCP flow that always has data over the scenario and over the trace.

    Args:
        recording: what `record` has returned.
        cc: name of a congestion control.
        seed: seed of the replay.

    Raises:
        LasthopError: there is no such congestion control.
    """
    stage = recording.scene
    flow = bulk(stage, recording.direction, cc)
    hop, at_hop = _measured(stage.with_flows({PROBE: flow}))
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        trace = Path(folder, "trace")
        trace.write_bytes(mahimahi(recording))
        rest = {key: value for key, value in flow.items() if key not in ("from", "to")}
        spans = (recording.least_delay, recording.back_delay)
        replayed, at_trace = _measured(replay(trace, recording.duration, seed, spans, recording.buffer, rest))
    return Comparison(cc, hop, replayed, distance(at_hop, at_trace))


def _measured(scenario: Scenario) -> tuple[Measured, np.ndarray]:
    results: Results = scenario.run()
    (row,) = (row for row in results.flows.to_pylist() if row["flow"] == PROBE)
    one_way = delays(*of_flow(results))
    shares = np.percentile(one_way, SHARES) if len(one_way) else np.full(len(SHARES), np.nan)
    return Measured(row["goodput_bps"] or 0.0, tuple(float(share) for share in shares)), one_way


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """The largest difference of two empirical distributions, 0 to 1; NaN when one is empty."""
    if not len(first) or not len(second):
        return float("nan")
    every = np.concatenate([first, second])
    shares = [np.searchsorted(np.sort(values), every, side="right") / len(values) for values in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())
