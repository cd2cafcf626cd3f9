"""The d2d-tcp study without a simulator.

Its definition, and its reducers on tables made by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lasthop.harness import Claim, Data, Record, find_study
from lasthop.harness.stats import Estimate
from lasthop.studies.d2d_tcp import evaluate
from lasthop.studies.d2d_tcp.reduce import (
    LEG,
    Packets,
    Steps,
    after_switch,
    asking_share,
    direct_legs,
    riders,
    trip,
    waiting,
)

STUDY = find_study("d2d-tcp")


def steps_of(rows: list[dict[str, Any]]) -> Steps:
    """Those rows as the reducers see them."""
    return Steps(pa.Table.from_pylist(rows))


def packets_of(rows: list[dict[str, Any]]) -> Packets:
    """Those rows as the reducers see them."""
    return Packets(pa.Table.from_pylist(rows))


def step(tti: int, node: str, to: str, what: str, link: str, packet: int | None = None) -> dict[str, Any]:
    """A row of the table `steps`."""
    return {"time_s": tti / 1e3, "node": node, "to": to, "step": what, "link": link, "packet": packet}


def burst(start: int, packet: int) -> list[dict[str, Any]]:
    """One packet from a to b in direct mode, as in figure 4 of the paper."""
    return [
        step(start, "a", "enb", "request", "uplink"),
        step(start + 3, "enb", "a", "grant", "uplink"),
        step(start + 5, "a", "enb", "report", "uplink"),
        step(start + 9, "enb", "a", "report-heard", "uplink"),
        step(start + 9, "enb", "a", "grant", "sidelink"),
        step(start + 11, "a", "b", "data", "sidelink", packet),
        step(start + 15, "b", "a", "ack", "sidelink", packet),
    ]


def packet(tti: float, number: int, node: str, event: str) -> dict[str, Any]:
    """A row of the table `packets`."""
    return {"time_s": tti / 1e3, "packet": number, "node": node, "event": event}


def test_every_claim_is_there_and_two_values_are_chosen_by_us() -> None:
    assert [c.id for c in STUDY.claims] == [f"D{i}" for i in range(1, 26)]
    assert [len(s.calibrated) for s in STUDY.parameter_sets] == [0, 2]
    scaled = STUDY.parameter_sets[1].calibrated[1].overrides(0.8)
    assert 'from = "76 m", cqi = 8' in scaled[0]  # 95 m x 0.8; a CQI is no quantity


def test_the_leg_of_the_paper_is_found_and_another_one_is_not() -> None:
    steps = [row for i in range(5) for row in burst(100 * i, i)]
    assert (
        direct_legs(steps_of(steps), "a").tolist() == [list(LEG.values())] * 3
    )  # the last two requests may lack what follows
    late = [{**s, "time_s": s["time_s"] + 1e-3} if s["step"] == "data" else s for s in steps]
    assert direct_legs(steps_of(late), "a")[:, list(LEG).index("data")].tolist() == [12] * 3


def test_two_thirds_of_the_way_is_asking() -> None:
    steps = steps_of(burst(0, 7))
    packets = packets_of([packet(0, 7, "a", "sent"), packet(15, 7, "b", "received")])
    assert asking_share(steps, packets, "a", "b") == pytest.approx(11 / 15)
    assert trip(steps, packets_of([packet(30, 8, "a", "received")])) == 30


def test_what_comes_after_the_report_waits_for_the_next_request() -> None:
    # Requests at 0, 13 and 60; packet 2 comes at 6, after the report of 5, and goes with the second
    # request.
    steps = burst(0, 1) + burst(13, 2) + burst(60, 3)
    packets = [packet(0, 1, "a", "sent"), packet(6, 2, "a", "sent"), packet(60, 3, "a", "sent")]
    assert waiting(steps_of(steps), packets_of(packets), "a") == (1.0, 7.0, 13.0)


def test_a_packet_in_two_blocks_rides_with_no_report() -> None:
    steps = [step(0, "b", "enb", "request", "uplink"), step(5, "b", "enb", "report", "uplink")]
    steps += [step(5, "b", "enb", "data", "uplink", p) for p in (1, 2)] + [step(11, "b", "enb", "data", "uplink", 2)]
    assert riders(steps_of(steps), "b") == (1.0, 1.0)


def test_renos_deadlock_is_read_off_the_samples() -> None:
    # Recovery at 0.05 s, left at 0.08; silence to the timeout at 1.08; a second recovery at 1.5.
    kinds = [(0.05, "recovery-enter"), (0.08, "recovery-exit"), (1.08, "rto"), (1.5, "recovery-enter")]
    t = np.arange(0.0, 3.0, 0.01)
    in_recovery = (t > 0.05) & (t < 0.08)
    cwnd = np.where(t <= 0.05, 244.0, np.where(t < 0.08, 150.0, 122.0))
    ssthresh = np.where(t <= 0.05, 500.0, 122.0)
    acked = np.where(t < 0.05, t, np.where(t < 1.2, 0.05, t))
    found = after_switch(kinds, t, cwnd, ssthresh, in_recovery, np.zeros_like(t), acked, 244.0)
    assert (found["cut"], found["inflated"], found["after"]) == (0.5, 28.0, 122.0)
    assert found["silence_s"] == pytest.approx(1.0)
    assert (found["timeouts"], found["second_share"], found["kept_recovery"]) == (1.0, 1.0, 0.0)


def judged(name: str, data: Data) -> str:
    """The verdict on a claim."""
    claim: Claim = next(c for c in STUDY.claims if c.id == name)
    return getattr(evaluate, claim.evaluator)(claim, data).verdict  # type: ignore[no-any-return]


def windows(rtt: dict[int, list[float]]) -> Data:
    """Round trips by window [KB], a number for each seed, the same in each mode."""
    records = [
        Record({"mode": mode, "kb": kb}, seed, {"rtt_mean": value})
        for mode in evaluate.MODES
        for kb, values in rtt.items()
        for seed, value in enumerate(values, 1)
    ]
    return Data(STUDY.parameter_sets[0], records={"window": records})


def test_a_slope_and_a_maximum_that_the_intervals_leave_open_are_undecided() -> None:
    """D10 asks for a slope above 0, D11 for a rise and a fall.

    Both beyond the interval; t(2; 0.975) = 4.30.
    """
    low, high = {8: [20.0] * 3}, {64: [60.0] * 3}
    assert judged("D10", windows({**low, 16: [30.0] * 3, **high})) == "agrees"
    assert judged("D10", windows({64: [20.0] * 3, 96: [30.0] * 3, 128: [10.0] * 3})) == "differs"
    assert judged("D10", windows({64: [20.0] * 3, 96: [30.0] * 3, 128: [10.0, 50.0, 20.0]})) == "undecided"
    assert judged("D11", windows({**low, 16: [30.0] * 3, 32: [25.0] * 3})) == "agrees"
    assert judged("D11", windows({**low, 16: [30.0] * 3, 32: [35.0] * 3})) == "differs"
    assert judged("D11", windows({**low, 16: [30.0] * 3, 32: [25.0, 35.0, 28.0]})) == "undecided"
    assert judged("D11", windows({8: [20.0], 16: [30.0], 32: [35.0]})) == "differs"


@pytest.mark.parametrize(
    ("cubic", "held"),
    [([1.0, 1.1, 1.2], True), ([1.8, 1.0, 2.1], None), ([2.0, 3.5, 1.6], None), ([5.0, 5.1, 5.2], False)],
)
def test_the_fastest_return_is_undecided_while_another_may_be_as_fast(
    cubic: list[float], held: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D21: the others return after 2.0, 2.1 and 2.2 s.

    The interval of the difference has t(2; 0.975) = 4.30.
    """
    monkeypatch.setattr(evaluate, "_deadlock", lambda *_: [])
    back = {v: cubic if v == "cubic" else [2.0, 2.1, 2.2] for v in evaluate.VERSIONS}
    monkeypatch.setattr(evaluate, "_after", lambda _, version, __: Estimate.of(back[version]))
    (check,) = evaluate.cubic(next(c for c in STUDY.claims if c.id == "D21"), windows({8: [1.0]})).checks
    assert check.held is held
