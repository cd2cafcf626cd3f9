"""The lte-handover study without a simulator.

Its definition, its reducer on made-up packets, verdicts that fail.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lasthop.harness import Claim, Data, find_study
from lasthop.harness.data import Record
from lasthop.studies.lte_handover import evaluate, reduce

STUDY = find_study("lte-handover")
QUEUES = (64, 256, 1024)


def claim(name: str) -> Claim:
    return next(c for c in STUDY.claims if c.id == name)


def sweep(changed: str = "seamless", **changes: float) -> Data:
    """Runs as the slides have them; `changes` override values of those of one kind."""
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
                    "later_mean_s": (0.1 if seamless else 0.2) + queue * 1e-5 + i * 1e-4,
                    "later_p95_s": (0.2 if seamless else 0.4) + queue * 1e-5 + i * 1e-4,
                    **dict.fromkeys(("by_handover", "by_queue", "spurious", "spurious_timeouts"), 0.0),
                }
                if kind == changed:
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
    named = ["path loss", "bandwidth", "cells", "power of the UE", "radio interruption"]
    assert [v.name for v in calibrated.calibrated] == named
    changed = {v.name for v, p in zip(calibrated.values, paper.values, strict=True) if v is not p}
    assert changed == set(named), "whatever is chosen counts as calibrated"
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
    assert judge(claim(name), sweep("seamless", **changes)).verdict == "differs"


def test_a_correlation_that_the_runs_disagree_about_is_undecided() -> None:
    """H6: the means rise with the size, but the correlations of the runs differ.

    Of ten five are 1 and five -1, in the mean 0 +- 0.75.

    t(9; 0.975) = 2.262 times 1.054 over the root of 10. With one run its number decides.
    """
    data = sweep()
    for record in data.runs("sweep", type="seamless"):
        falls = record.point["speed"] < 5
        record.values["after_bps"] = 9e6 + record.point["queue"] * 1e3 * (-1.0 if falls else 1.1)  # type: ignore[index]
    found = evaluate.goodput_falls(claim("H6"), data)
    assert found.verdict == "undecided"
    # The note says why, for the correlation of the means alone is far from the limit.
    assert "a 95 % interval of -0.75 to 0.75, which contains the limit" in found.note
    # Six of -1 and three of 1 have the mean -1/3; the correlation of the means is -1, and the
    # interval has 0.
    for record in data.runs("sweep", type="seamless"):
        slope = -10.0 if record.point["speed"] < 6 else 1.1
        record.values["after_bps"] = 1e8 + record.point["queue"] * 1e3 * slope  # type: ignore[index]
    assert evaluate.goodput_falls(claim("H6"), data).verdict == "undecided"
    for i, verdict in ((9, "differs"), (0, "agrees")):
        alone = [r for r in data.records["sweep"] if r.point["speed"] == i]
        found = evaluate.goodput_falls(claim("H6"), replace(data, records={"sweep": alone}))
        assert found.verdict == verdict
        assert "interval" not in found.note, "of one run there is none"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("H5", {"lost_bytes": 1.0}),
        ("H5", {"spurious": 1.0}),
        ("H5", {"by_handover": 1.0}),
        ("H5", {"spurious_timeouts": 1.0}),
        ("H7", {"delay_mean_s": 0.2}),
    ],
)
def test_a_claim_about_lossless_handovers_can_fail(name: str, changes: dict[str, float]) -> None:
    judge = getattr(evaluate, claim(name).evaluator)
    assert judge(claim(name), sweep("lossless", **changes)).verdict == "differs"


def test_a_window_that_only_the_full_queue_cuts_is_kept() -> None:
    assert evaluate.window_kept(claim("H5"), sweep("lossless", by_queue=3.0, timeouts=1.0)).verdict == "agrees"


def test_a_rise_of_rounding_errors_is_none() -> None:
    data = sweep()
    for i, record in enumerate(data.records["sweep"]):
        record.values["delay_mean_s"] = 0.3 + 1e-16 * i  # type: ignore[index]
    found = evaluate.delay_rises(claim("H7"), data)
    assert found.verdict == "differs"
    assert "not above 1 ms" in found.note


def test_delays_may_be_counted_from_the_handover_on() -> None:
    later = replace(claim("H3"), settings={**claim("H3").settings, "delays": "later"})
    data = sweep(delay_p95_s=0.9)
    assert evaluate.delay_order(claim("H3"), data).verdict == "differs"
    assert evaluate.delay_order(later, data).verdict == "agrees"


def test_without_a_handover_nothing_is_judged_and_single_speeds_are_left_out() -> None:
    none = sweep(handovers=0.0)
    for name in ("H1", "H2", "H5", "H7", "H8"):
        finding = getattr(evaluate, claim(name).evaluator)(claim(name), none)
        assert (finding.verdict, finding.note) == ("not-testable", "no handover in 30 of 60 runs, at every speed")
    some = sweep()
    some.records["sweep"][0].values["handovers"] = 0.0  # type: ignore[index]
    assert evaluate.discards_or_forwards(claim("H1"), some).verdict == "differs"
    finding = evaluate.goodput_order(claim("H2"), some)
    assert finding.n == 9
    assert "1 speeds left out" in finding.note


def load(after: float) -> Data:
    data = Data(STUDY.parameter_sets[0])
    values = {"users": 10.0, "before_bps": 2e6, "after_bps": 1e6, "rtt_before_s": 1.0, "rtt_after_s": 2.5}
    runs = [{**values, "timeouts_before": 0.0, "timeouts_after": after + 0.01 * i} for i in range(10)]
    data.records["load"] = [Record({"added": 10}, i, v) for i, v in enumerate(runs)]
    return data


def test_a_sudden_load_without_timeouts_differs_in_that_part_alone() -> None:
    assert evaluate.load_step(claim("H9"), load(3.0)).verdict == "agrees"
    finding = evaluate.load_step(claim("H9"), load(-0.1))
    assert (finding.verdict, finding.failed) == ("differs", ["timeouts +10"])


def test_h9_may_be_judged_without_its_timeouts() -> None:
    lenient = replace(claim("H9"), settings={**claim("H9").settings, "timeouts": False})
    finding = evaluate.load_step(lenient, load(-0.1))
    assert (finding.verdict, finding.failed) == ("agrees", [])


def test_a_speed_at_which_nothing_arrives_has_no_delay() -> None:
    some = sweep()
    nothing = {"delay_mean_s": float("nan")}

    def silenced(only: dict[str, object] | None = None) -> list[Record]:
        return [
            replace(r, values={**r.values, **nothing}) if only in (None, r.point) else r for r in some.records["sweep"]
        ]

    some.records["sweep"] = silenced({"type": "seamless", "queue": 1024, "speed": 3})
    finding = evaluate.delay_order(claim("H3"), some)
    assert finding.verdict == "agrees"
    assert "1 of 10 speeds left out: nothing arrived" in finding.text
    assert "nan" not in finding.text
    some.records["sweep"] = silenced()
    assert "mean delay 256 kB" in evaluate.delay_order(claim("H3"), some).failed


def test_a_recovery_belongs_to_what_dropped_its_segment() -> None:
    packets = {
        "sent": np.array([0.5, 0.6, 0.7, 1.5, 2.5, 3.5]),
        "seq": np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
        "cause": ["handover-discard", "pdcp-buffer-full", "", "", "", ""],
        "again": np.array([False, False, False, True, True, True]),
    }
    events = [{"time_s": t, "kind": k} for t, k in [(1.5, "recovery-enter"), (2.5, "recovery-enter"), (3.5, "rto")]]
    # A second recovery at 2.7 s that sends nothing: the hole at 1 was filled before, and the ACK of
    # it is under way.
    events.insert(2, {"time_s": 2.7, "kind": "recovery-enter"})
    tcp = pa.table({"time_s": [1.5, 2.5, 2.7, 3.5], "snd_una": [0, 1, 1, 2]})
    found = reduce.answers(events, packets, tcp, 1.0)
    assert found == {"by_handover": 1, "by_queue": 2, "spurious": 0, "timeouts": 1, "spurious_timeouts": 1}
    tcp = pa.table({"time_s": [1.5, 2.5, 2.7, 3.5], "snd_una": [0, 1, 2, 2]})
    assert reduce.answers(events, packets, tcp, 1.0)["spurious"] == 1


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
