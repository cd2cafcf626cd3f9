"""The lte-handover study without a simulator: its definition, its reducer on made-up packets, verdicts that fail."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
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
                    "after_bps": (9e6 - queue * 1e3 if seamless else 1e7) + i * 1e3,
                    "cwnd_kept": 0.5 if seamless else 1.0,
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
    paper, calibrated = STUDY.parameter_sets
    assert STUDY.primary == paper.name
    assert not paper.calibrated
    assert {v.tag for v in paper.values if v.tag not in "PCD"} == {"R"}
    assert len(calibrated.calibrated) == 4
    assert STUDY.sensitivity is not None
    assert STUDY.sensitivity.only["speed"] == (36.6, 40.6, 45.2)
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
        ("H4", {"cwnd_kept": 1.0}),
        ("H6", {"after_bps": 9e6}),
        ("H8", {"delay_p95_s": 0.9}),
    ],
)
def test_a_claim_can_fail(name: str, changes: dict[str, float]) -> None:
    judge = getattr(evaluate, claim(name).evaluator)
    assert judge(claim(name), sweep(**changes)).verdict == "differs"


class Made:
    """A run of made-up tables."""

    def __init__(self, **tables: list[dict[str, object]]) -> None:
        self.tables = {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


def test_a_packet_is_sent_forwarded_received_or_discarded() -> None:
    def row(t: float, packet: int, event: str) -> dict[str, object]:
        fixed = {"seq": packet * 1000, "len": 1000, "retransmission": False, "flow": "ftp"}
        return {"time_s": t, "packet": packet, "event": event, **fixed}

    packets = [row(1.0, 1, "sent"), row(1.1, 2, "sent"), row(1.2, 1, "forwarded"), row(1.5, 1, "received")]
    drops = [{"time_s": 1.2, "packet": 2, "cause": "handover-discard"}, {"time_s": 1.3, "packet": 9, "cause": "full"}]
    found = reduce.packet_table(Made(packets=packets, drops=drops))  # type: ignore[arg-type]
    nan = float("nan")
    for name, values in {
        "sent": [1.0, 1.1],
        "forwarded": [1.2, nan],
        "received": [1.5, nan],
        "discarded": [nan, 1.2],
    }.items():
        np.testing.assert_array_equal(found[name], values)


def test_the_window_that_is_kept_is_the_smallest_after_the_handover() -> None:
    tcp = [{"time_s": t, "snd_cwnd": w} for t, w in [(1.0, 30.0), (2.0, 40.0), (2.5, 10.0), (4.0, 20.0), (14.0, 1.0)]]
    assert reduce.window_kept(Made(tcp=tcp), 2.2) == 0.25  # type: ignore[arg-type]


def test_ping_pong_and_failures_are_counted() -> None:
    kinds = ["handover-complete", "handover-complete", "handover-ping-pong", "radio-link-failure"]
    run = Made(events=[{"kind": k} for k in kinds])
    run.row = lambda name: {"goodput_bps": 5.0}  # type: ignore[attr-defined]
    values = reduce.reduce_trigger(run)  # type: ignore[arg-type]
    assert (values["handovers"], values["ping_pong"], values["failures"], values["too_late"]) == (2, 1, 1, 0)


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
