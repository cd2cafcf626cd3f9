"""The radio-aware-tcp study without a simulator: its arithmetic, and verdicts on made-up runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lasthop.harness import find_study
from lasthop.harness.stats import Estimate
from lasthop.studies.radio_aware_tcp.evaluate import over, saved
from lasthop.studies.radio_aware_tcp.reduce import drift, reduce_files

STUDY = find_study("radio-aware-tcp")


def test_every_claim_of_the_contribution_is_there_and_a_few_values_are_fitted() -> None:
    assert [c.id for c in STUDY.claims] == [f"R{i}" for i in range(1, 15)]
    assert len(STUDY.parameter_sets[1].calibrated) == 4


def test_ratios_are_taken_seed_by_seed() -> None:
    a, b = Estimate.of([1.0, 4.0]), Estimate.of([2.0, 4.0])
    assert list(over(a, b).samples) == [0.5, 1.0]
    assert saved(a, b).mean == pytest.approx(0.25)


def test_an_estimate_of_the_queue_drifts_by_the_error_of_the_rate() -> None:
    # 1 Mbit/s too little is 125 B a millisecond: after n steps of 10 ms the estimate is n * 1250 B above, which is
    # 1250 * 100.5 in the mean of 200; set right every 100 ms (after 10 steps) it is 1250 * 5.5 above.
    time = np.arange(201, dtype=np.float64) * np.float64(0.01)
    sent = np.arange(201, dtype=np.float64) * np.float64(2500)
    rate = np.full(201, 1e6)
    real = np.zeros(201)
    assert drift(time, rate, sent, real, None) == pytest.approx(1250 * 100.5)
    assert drift(time, rate, sent, real, 0.1) == pytest.approx(1250 * 5.5)
    assert drift(time, rate, sent, real, 0.01) == pytest.approx(1250)


class Files:
    """A run of two connections that start at 1 and 4 s, and a third that does not end."""

    duration_s = 10.0

    def table(self, _: str) -> Files:
        return self

    def to_pylist(self) -> list[dict[str, object]]:
        return [
            {"flow": "down-1", "start_s": 1.0, "completion_s": 1.5},
            {"flow": "down-2", "start_s": 4.0, "completion_s": 4.25},
            {"flow": "down-3", "start_s": 9.0, "completion_s": None},
            {"flow": "background-1", "start_s": 0.0, "completion_s": None},
        ]


def test_a_burst_takes_from_its_connections_start_to_its_last_byte() -> None:
    run: Any = Files()
    assert reduce_files(run) == {"latency": 0.375, "done": 2.0}
