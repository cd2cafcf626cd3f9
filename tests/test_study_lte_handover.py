"""The lte-handover study without a simulator: its definition, its reducer on made-up packets, verdicts that fail."""

from __future__ import annotations

import numpy as np
import pytest

from lasthop.harness import Claim, Data, find_study
from lasthop.harness.runner import Record
from lasthop.studies.lte_handover import evaluate, reduce

STUDY = find_study("lte-handover")
QUEUES = (64, 256, 1024)


def claim(name: str) -> Claim:
    return next(c for c in STUDY.claims if c.id == name)


def sweep(**changes: float) -> Data:
    """Runs as the slides have them; `changes` override values of the seamless ones."""
    data = Data(STUDY.parameter_sets[0])
    records = []
    for kind in ("seamless", "lossless"):
        for queue in QUEUES:
            for i in range(10):
                seamless = kind == "seamless"
                values = {
                    "handovers": 1.0,
                    "queue_bytes": queue * 900.0,
                    "lost_bytes": queue * 800.0 if seamless else 0.0,
                    "goodput_bps": (9e6 - queue * 1e3 if seamless else 1e7) + i * 1e3,
                    "delay_mean_s": (0.1 if seamless else 0.2) + queue * 1e-5 + i * 1e-4,
                    "delay_p95_s": (0.2 if seamless else 0.4) + queue * 1e-5 + i * 1e-4,
                    "retransmits": 50.0 if seamless else 0.0,
                    "timeouts": 0.0,
                }
                if seamless:
                    values.update(changes)
                records.append(Record({"type": kind, "queue": queue, "speed": i}, 1, values))
    data.records["sweep"] = records
    return data


def test_the_definition_is_whole() -> None:
    assert [c.id for c in STUDY.claims] == [f"H{i}" for i in range(1, 11)]
    assert all(c.switch is not None for c in STUDY.claims if c.kind == "M")
    assert not any(v.calibrated for s in STUDY.parameter_sets for v in s.values)
    assert STUDY.readings[0].name.startswith("B")


@pytest.mark.parametrize("name", ["H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8"])
def test_runs_as_the_slides_have_them_agree(name: str) -> None:
    judge = getattr(evaluate, claim(name).evaluator)
    assert judge(claim(name), sweep()).verdict == "agrees"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("H1", {"lost_bytes": 0.0}),
        ("H2", {"goodput_bps": 1.1e7}),
        ("H3", {"delay_mean_s": 0.5}),
        ("H4", {"retransmits": 0.0}),
        ("H6", {"goodput_bps": 9e6}),
        ("H8", {"delay_p95_s": 0.9}),
    ],
)
def test_a_claim_can_fail(name: str, changes: dict[str, float]) -> None:
    judge = getattr(evaluate, claim(name).evaluator)
    assert judge(claim(name), sweep(**changes)).verdict == "differs"


def test_bytes_count_once_and_delays_belong_to_arrivals() -> None:
    packets = {
        "sent": np.array([0.0, 0.1, 0.2]),
        "received": np.array([0.5, np.nan, 0.6]),
        "seq": np.array([0.0, 1000.0, 0.0]),
        "len": np.array([1000.0, 1000.0, 1000.0]),
        "again": np.array([False, False, True]),
    }
    assert reduce.fresh_bytes(packets, ~np.isnan(packets["received"])) == 1000.0
    assert reduce.delays(packets, 0.0, 1.0).tolist() == pytest.approx([0.5, 0.4])
