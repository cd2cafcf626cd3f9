"""The radio-aware-tcp study without a simulator: its arithmetic, and verdicts on made-up runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lasthop.harness import find_study
from lasthop.harness.stats import Estimate
from lasthop.studies.radio_aware_tcp.evaluate import over, saved
from lasthop.studies.radio_aware_tcp.reduce import burst_times, drift, reduce_files, stuck

STUDY = find_study("radio-aware-tcp")


def test_every_claim_of_the_contribution_is_there_and_a_few_values_are_fitted() -> None:
    assert [c.id for c in STUDY.claims] == [f"R{i}" for i in range(1, 15)]
    assert len(STUDY.parameter_sets[1].calibrated) == 5


def test_ratios_are_taken_seed_by_seed() -> None:
    a, b = Estimate.of([1.0, 4.0]), Estimate.of([2.0, 4.0])
    assert list(over(a, b).samples) == [0.5, 1.0]
    assert saved(a, b).mean == pytest.approx(0.25)


def test_an_estimate_of_the_queue_drifts_by_the_error_of_the_rate() -> None:
    # 1 Mbit/s too little is 125 B a millisecond: 1250 B a step of 10 ms, 12500 B after ten of them.
    time = np.arange(201, dtype=np.float64) * np.float64(0.01)
    estimate = np.arange(201, dtype=np.float64) * np.float64(1250)
    real = np.zeros(201)
    assert drift(time, estimate, real, 0.01) == pytest.approx(1250)
    assert drift(time, estimate, real, 0.1) == pytest.approx(12500)


def test_an_estimate_that_takes_too_much_off_stands_at_zero() -> None:
    # From 300 B: 200, 100, 0, 0, then up to 100 and down to 0 again: three of the six steps end at
    # 0.
    assert stuck(np.asarray([0.0, -100.0, -200.0, -300.0, -400.0, -300.0, -400.0]), 300.0) == 0.5


def test_a_burst_lasts_from_its_first_octet_to_its_last_acknowledgement() -> None:
    # Two bursts of 2 MB: the first begins between 0.1 and 0.2 s and is acknowledged at 0.5 s; the
    # second leaves at once between 0.6 and 0.7 s and is acknowledged at 0.9 s; of a third half is.
    mb = 1_000_000
    tcp = pa.table(
        {
            "time_s": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1],
            "snd_nxt": [0, mb, mb, 2 * mb, 2 * mb, 2 * mb, 4 * mb, 3 * mb, 4 * mb, 5 * mb, 5 * mb],
            "bytes_acked": [0, 0, mb, mb, 2 * mb, 2 * mb, 2 * mb, 3 * mb, 4 * mb, 4 * mb, 5 * mb],
        }
    )
    assert burst_times(tcp) == pytest.approx([0.4, 0.3])


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
