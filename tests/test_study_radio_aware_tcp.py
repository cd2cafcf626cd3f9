"""The radio-aware-tcp study without a simulator: its arithmetic, and verdicts on made-up runs."""

from __future__ import annotations

import numpy as np
import pytest

from lasthop.harness import find_study
from lasthop.harness.stats import Estimate
from lasthop.studies.radio_aware_tcp.evaluate import over, saved
from lasthop.studies.radio_aware_tcp.reduce import drift

STUDY = find_study("radio-aware-tcp")


def test_every_claim_of_the_contribution_is_there_and_a_few_values_are_fitted() -> None:
    assert [c.id for c in STUDY.claims] == [f"R{i}" for i in range(1, 15)]
    assert len(STUDY.parameter_sets[1].calibrated) == 3


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
    assert drift(time, rate, sent, real, 0.0999) == pytest.approx(1250 * 5.5)
