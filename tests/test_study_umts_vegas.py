"""The umts-vegas study without a simulator.

Its data, its arithmetic, verdicts on made-up runs, failing ones too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from lasthop.harness import Data, Run, find_study, judge_claim, run_study
from lasthop.harness.data import Record
from lasthop.studies.umts_vegas import model
from lasthop.studies.umts_vegas.evaluate import seconds
from lasthop.studies.umts_vegas.reduce import reduce_datagrams, reduce_spurious, reduce_transfer
from tests.harness_fakes import FakeBackend, FakeOutput, FakeScenario, Tables

if TYPE_CHECKING:
    from pathlib import Path

SPEC_IDS = [f"U{i}" for i in range(1, 19)]
KINDS = dict(zip(SPEC_IDS, "NNNSMNSNNSNSNMSSMN", strict=True))
STUDY = find_study("umts-vegas")
CLAIMS = {c.id: c for c in STUDY.claims}


# --- the study's data
# -----------------------------------------------------------------------------------------------


def test_every_claim_of_the_paper_is_there_once_with_its_kind() -> None:
    ours = [c.id for c in STUDY.claims if c.id in SPEC_IDS]
    assert ours == SPEC_IDS
    assert {c.id: c.kind for c in STUDY.claims if c.id in SPEC_IDS} == KINDS
    assert [c.id for c in STUDY.claims if c.id not in SPEC_IDS] == ["UC1"]


def test_both_parameter_sets_give_every_value_a_source() -> None:
    assert [s.name for s in STUDY.parameter_sets] == ["paper", "calibrated"]
    for s in STUDY.parameter_sets:
        for v in s.values:
            assert v.tag in "PDCSRX"
            assert v.source
    assert STUDY.primary == "calibrated"


def test_five_values_are_calibrated_and_the_paper_set_has_none() -> None:
    assert STUDY.parameter_set("paper").calibrated == ()
    assert len(STUDY.parameter_set("calibrated").calibrated) == 5
    assert all(v.tag in "RX" for v in STUDY.parameter_set("calibrated").calibrated)


def test_what_is_not_calibrated_is_the_same_in_both_sets() -> None:
    paper = {v.name: v for v in STUDY.parameter_set("paper").values}
    for v in STUDY.parameter_set("calibrated").values:
        assert v.calibrated or v == paper[v.name]


def test_the_full_form_is_the_papers() -> None:
    rates = STUDY.group("rates")
    assert rates.seeds == 10
    assert len(rates.points()) == 14
    assert not any("duration" in o for o in rates.overrides)


def test_the_quick_form_keeps_every_rate() -> None:
    quick = find_study("umts-vegas", quick=True).group("rates")
    assert len(quick.points()) == 14
    assert quick.seeds == 2


def test_each_figure_of_the_paper_has_runs() -> None:
    assert {"rates", "spurious", "insequence", "triggers", "wired", "beyond"} <= {g.name for g in STUDY.groups}


def test_both_timer_readings_are_reported_for_u13_and_u14() -> None:
    reading = next(r for r in STUDY.readings if r.name == "vegas_rto = fine")
    assert {"U13", "U14"} <= set(reading.claims or ())
    assert reading.applies({"cc": "vegas", "tbler": 30})
    assert not reading.applies({"cc": "reno", "tbler": 30})


# --- the paper's arithmetic
# -----------------------------------------------------------------------------------------


def test_error_free_transmission_times_of_equation_4() -> None:
    # 552 B / (12 * 40 B) = 1.15 -> 2 TTI of 10 ms; 40 B / (4 * 40 B) = 0.25 -> 1 TTI of 20 ms.
    assert model.transmission_time_s(552, 12, 0.010) == pytest.approx(0.020)
    assert model.transmission_time_s(40, 4, 0.020) == pytest.approx(0.020)
    assert model.transmission_time_s(480, 12, 0.010) == pytest.approx(0.010)
    assert model.transmission_time_s(481, 12, 0.010) == pytest.approx(0.020)


def test_minimum_rtt_on_the_grid_of_ttis() -> None:
    # paper: 2 * 40.4 + 0.5 = 81.3 -> 90, + 20 = 110 -> 120, + 20 = 140 ms.
    assert model.minimum_rtt_s(0.0404) == pytest.approx(0.140)
    # calibrated: 58.5 -> 60, + 20 = 80: the uplink TTI that starts then is missed -> 100, + 20 =
    # 120 ms.
    assert model.minimum_rtt_s(0.029) == pytest.approx(0.120)


def test_equation_1_and_its_rounding() -> None:
    assert model.vegas_delta(6, 0.3, 0.12) == pytest.approx(3.6)
    assert model.vegas_delta(5, 0.2, 0.12) == pytest.approx(2.0)
    assert model.ns2_delta(6, 0.3, 0.12) == 4 > model.BETA
    assert model.ALPHA < model.ns2_delta(5, 0.2, 0.12) == 2 < model.BETA


def test_the_ceiling_is_the_papers_67_percent() -> None:
    assert pytest.approx(0.962, abs=5e-4) == model.FULL_SHARE
    assert [round(100 * model.ceiling(p)) for p in (5, 10, 20, 30)] == [91, 87, 77, 67]


def test_64_segments_are_no_bandwidth_delay_product() -> None:
    assert model.bandwidth_delay_segments(0.12) == pytest.approx(10.4, abs=0.05)
    assert model.bandwidth_delay_segments(0.736) == pytest.approx(64)


@pytest.mark.parametrize(("text", "value"), [("15 ms", 0.015), ("1 s", 1), ("500 us", 5e-4), (None, 0), (0.5, 0.5)])
def test_times_of_the_effective_scenario_are_read(text: Any, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time"):
        seconds("soon")


# --- reducers on made-up tables
# -------------------------------------------------------------------------------------


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def flows(**changed: Any) -> pa.Table:
    row = {
        "flow": "ftp",
        "rx_segment_bytes": 532 * 1000,
        "goodput_bps": 51200.0,
        "rtt_min_s": 0.12,
        "rtt_mean_s": 0.2,
        "rtt_max_s": 0.5,
        "rtt_samples": 1000,
        "timeouts": 0,
        "fast_retransmits": 0,
        "retransmits": 0,
    }
    return pa.table({k: [v] for k, v in {**row, **changed}.items()})


NO_DROPS = table(time_s=pa.array([], pa.float64()))
NO_EVENTS = table(time_s=pa.array([], pa.float64()), source=pa.array([], pa.string()), kind=pa.array([], pa.string()))


def acks(time: Any, cwnd: Any, rtt_s: Any) -> pa.Table:
    rtt = [None if r is None else round(r * 1e6) for r in rtt_s]
    return table(time_s=[float(t) for t in time], snd_cwnd=list(cwnd), rtt_sample_us=pa.array(rtt, pa.int64()))


def a_run(tables: Tables, duration: str = "100 s", seed: int = 1) -> Run:
    scenario = FakeScenario({"scenario": {"duration": duration, "seed": seed}})
    return Run(FakeOutput(tables), scenario, seed, shown=True)


def test_throughput_counts_segments_with_their_tcp_header() -> None:
    values = reduce_transfer(a_run({"flows": flows(), "drops": NO_DROPS, "events": NO_EVENTS}))
    assert values["share"] == pytest.approx(532_000 * 8 / 100 / 384e3)
    assert values["rtt_samples_1000s"] == 10_000
    assert "cwnd_mean" not in values


def test_timeouts_of_the_first_ten_seconds_are_told_apart() -> None:
    events = table(time_s=[3.0, 50.0, 60.0], source=["flow/ftp"] * 3, kind=["rto", "rto", "recovery"])
    values = reduce_transfer(a_run({"flows": flows(timeouts=2), "drops": NO_DROPS, "events": events}))
    assert values["timeouts_300s"] == 6
    assert values["late_timeouts"] == 1
    assert values["late_timeouts_300s"] == pytest.approx(300 / 90)


def test_window_statistics_are_weighted_by_time() -> None:
    tcp = acks([0, 5, 10, 55], [64, 2, 2, 4], [None, 0.12, 0.14, 0.16])
    values = reduce_transfer(a_run({"flows": flows(), "drops": NO_DROPS, "events": NO_EVENTS, "tcp": tcp}))
    assert values["cwnd_max"] == 64
    assert values["late_cwnd_max"] == 4
    assert values["late_share_at_2"] == pytest.approx(0.5)
    assert values["cwnd_mean"] == pytest.approx((64 * 5 + 2 * 50 + 4 * 45) / 100)
    assert values["rtt_on_grid"] == 1.0
    assert values["rtt_histogram"].sum() == pytest.approx(30)
    assert len(values["rtt_trace"]["rtt"]) == 3


def packets(rows: list[tuple[float, int, str, str, int, int, int, bool]]) -> pa.Table:
    names = ("time_s", "packet", "node", "event", "seq", "ack", "len", "retransmission")
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def around_a_timeout(twice: bool) -> Tables:
    rows = [
        (20.0, 1, "server", "sent", 512, 0, 512, False),
        (21.5, 2, "server", "sent", 512, 0, 512, True),
        (21.6, 1, "ue", "received", 512, 0, 512, False),
        (21.8, 3, "server", "received", 1, 1024, 0, False),
    ]
    if twice:
        rows.append((21.9, 2, "ue", "received", 512, 0, 512, True))
    events = table(time_s=[21.5], source=["flow/ftp"], kind=["rto"])
    return {"flows": flows(timeouts=1), "drops": NO_DROPS, "events": events, "packets": packets(rows)}


def test_a_timeout_is_spurious_when_the_receiver_gets_the_segment_twice() -> None:
    values = reduce_spurious(a_run(around_a_timeout(twice=True)))
    assert values["spurious_timeouts"] == 1
    assert values["redundant_segments"] == 1
    assert values["timeout"] == 21.5
    assert len(values["sequence"]["sent"]["time"]) == 2


def test_a_timeout_after_a_real_loss_is_not_spurious() -> None:
    assert reduce_spurious(a_run(around_a_timeout(twice=False)))["spurious_timeouts"] == 0
    lossy = {**around_a_timeout(twice=True), "drops": table(time_s=[20.5])}
    assert reduce_spurious(a_run(lossy))["spurious_timeouts"] == 0


def test_extra_delay_is_taken_against_datagrams_of_the_same_phase() -> None:
    rows: list[tuple[float, int, str, str, int, int, int, bool]] = []
    for i, (start, delay) in enumerate([(0.0, 0.05), (0.41, 0.06), (0.82 - 0.02, 0.05), (1.23 - 0.02, 0.102)]):
        rows.append((start, i, "server", "sent", 0, 0, 512, False))
        rows.append((start + delay, i, "ue", "received", 0, 0, 512, False))
    values = reduce_datagrams(a_run({"packets": packets(rows)}))
    assert values["delayed"] == 1
    assert values["extra_min"] == pytest.approx(0.042)


# --- verdicts on made-up reduced runs
# -------------------------------------------------------------------------------

RATES = (0, 5, 10, 15, 20, 25, 30)
VEGAS = {0: 0.955, 5: 0.28, 10: 0.17, 15: 0.12, 20: 0.08, 25: 0.06, 30: 0.045}


def reduced(cc: str, tbler: int, seed: int) -> dict[str, Any]:
    """What the paper would like to see."""
    share = VEGAS[tbler] if cc == "vegas" else model.ceiling(tbler) - 0.01
    late = {True: 0.2 if tbler < 20 else 8.0, False: 0.1}[cc == "vegas"]
    return {
        "share": share + seed * 1e-4,
        "rtt_min": 0.12,
        "rtt_mean": 0.2,
        "rtt_max": 0.55,
        "rtt_samples_1000s": 26000.0,
        "timeouts_300s": late,
        "late_timeouts_300s": late,
        "fast_retransmits": 0.0,
        "lost": 0.0,
        "cwnd_max": 4.0 if tbler == 30 else 7.0,
        "cwnd_mean": 5.1,
        "late_cwnd_max": 4.0,
        "late_share_at_2": 0.8,
        "late_share_at_max": 1.0 if cc == "reno" else 0.0,
        "time_to_max": 1.5,
        "rtt_on_grid": 0.99,
    }


def as_the_paper() -> Data:
    records = {
        "rates": [
            Record({"cc": cc, "tbler": t}, seed, reduced(cc, t, seed))
            for cc in ("vegas", "reno")
            for t in RATES
            for seed in range(1, 11)
        ],
        "beyond": [
            Record({"cc": cc, "tbler": t}, seed, {"share": 0.01 + seed * 1e-5})
            for cc in ("vegas", "reno")
            for t in (35, 40)
            for seed in range(1, 11)
        ],
        "spurious": [Record({}, 1, {"spurious_timeouts": 3.0, "redundant_segments": 9.0, "timeout": 21.5})],
        "insequence": [Record({"cc": cc}, 1, {"fast_retransmits": 0.0, "lost": 0.0}) for cc in ("vegas", "reno")],
        "oneloss": [Record({}, 1, {"extra_min": 0.042})],
        "pipe": [Record({}, 1, {"rtt_min": 0.736})],
    }
    effective = {"bearer": {"dch": {"downlink": {"iub_delay": "1 ms"}, "uplink": {"iub_delay": "1 ms"}}}}
    return Data(STUDY.parameter_set("calibrated"), records=records, effective=effective)


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_every_claim_agrees_with_data_as_the_paper_has_it(claim: str) -> None:
    finding = judge_claim(STUDY, CLAIMS[claim], as_the_paper())
    assert finding.verdict == "agrees", finding


Change = Callable[[Data], None]


def put(group: str, key: str, value: float, **where: Any) -> Change:
    def change(data: Data) -> None:
        for record in data.runs(group, **where):
            record.values[key] = value  # type: ignore[index]

    return change


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("U1", put("rates", "share", 0.93, cc="reno", tbler=0)),
        ("U1", put("rates", "share", 0.97, cc="vegas", tbler=0)),
        ("U2", put("rates", "share", 0.10, cc="vegas", tbler=30)),
        ("U3", put("rates", "share", 0.56, cc="reno", tbler=30)),
        ("U4", put("rates", "share", 0.70, cc="reno", tbler=20)),
        ("U4", put("rates", "share", 0.20, cc="vegas", tbler=15)),
        ("U4", put("rates", "share", 0.60, cc="vegas", tbler=5)),
        ("U5", put("rates", "lost", 1.0, cc="reno", tbler=25)),
        ("U6", put("rates", "cwnd_max", 9.0, cc="vegas", tbler=5)),
        ("U6", put("rates", "cwnd_mean", 4.0, cc="vegas", tbler=5)),
        ("U7", put("rates", "late_share_at_max", 0.9, cc="reno", tbler=5)),
        ("U8", put("rates", "rtt_min", 0.15, cc="vegas", tbler=5)),
        ("U8", put("rates", "rtt_mean", 0.3, cc="vegas", tbler=5)),
        ("U8", put("rates", "rtt_max", 1.0, cc="vegas", tbler=5)),
        ("U9", put("rates", "rtt_samples_1000s", 20000.0, cc="vegas", tbler=5)),
        ("U9", put("rates", "share", 0.35, cc="vegas", tbler=5)),
        ("U10", put("rates", "rtt_on_grid", 0.6, cc="vegas", tbler=5)),
        ("U11", put("rates", "rtt_min", 0.14, cc="vegas", tbler=5)),
        ("U12", put("rates", "late_timeouts_300s", 3.0, cc="vegas", tbler=5)),
        ("U12", put("rates", "late_timeouts_300s", 0.0, cc="vegas", tbler=20)),
        ("U13", put("rates", "cwnd_max", 7.0, cc="vegas", tbler=30)),
        ("U13", put("rates", "late_share_at_2", 0.4, cc="vegas", tbler=30)),
        ("U14", put("spurious", "spurious_timeouts", 0.0)),
        ("U15", put("rates", "timeouts_300s", 2.0, cc="reno", tbler=10)),
        ("U16", put("beyond", "share", 0.55, cc="reno", tbler=40)),
        ("U17", put("insequence", "fast_retransmits", 4.0, cc="reno")),
        ("U18", put("oneloss", "extra_min", 0.020)),
        ("U18", put("oneloss", "extra_min", 0.090)),
        ("UC1", put("pipe", "rtt_min", 0.12)),
    ],
)
def test_a_claim_differs_when_the_data_do(claim: str, change: Change) -> None:
    data = as_the_paper()
    change(data)
    assert judge_claim(STUDY, CLAIMS[claim], data).verdict == "differs"


def test_the_bandwidth_delay_product_is_printed_with_its_arithmetic() -> None:
    data = as_the_paper()
    put("pipe", "rtt_min", 0.12)(data)
    assert "10.4" in judge_claim(STUDY, CLAIMS["UC1"], data).note


def test_claims_without_runs_are_not_testable() -> None:
    empty = Data(STUDY.parameter_set("calibrated"))
    assert all(judge_claim(STUDY, c, empty).verdict == "not-testable" for c in STUDY.claims)


# --- the whole study on a made-up simulator
# -------------------------------------------------------------------------


def pretended_radio(end: float) -> dict[str, pa.Table]:
    both = {"time_s": [end, end], "bearer": ["dch"] * 2, "direction": ["downlink", "uplink"]}
    return {
        "rlc": pa.table(
            {**both, "pdus_new": [900, 90], "pdus_retx": [100, 9], "status_pdus": [5, 20], "resets": [0, 0]}
        ),
        "mac": pa.table({**both, "ttis": [100, 100], "blocks_sent": [1005, 119], "blocks_lost": [50, 5]}),
    }


def pretended(scenario: FakeScenario) -> Tables:
    """Tables in which every figure finds something to draw."""
    end = scenario.duration_s
    if scenario.get("flow.ftp.transport") == "udp":
        rows = []
        for i in range(40):
            rows.append((i * 0.4, i, "server", "sent", 0, 0, 512, False))
            rows.append((i * 0.4 + (0.1 if i % 7 == 6 else 0.05), i, "ue", "received", 0, 0, 512, False))
        return {"packets": packets(rows)}
    cc = scenario.get("flow.ftp.tcp.cc")
    p = float(str(scenario.get("bearer.dch.downlink.bler")).split()[0])
    share = model.ceiling(p) if cc == "reno" else VEGAS.get(int(p), 0.03)
    timeouts = 12 if cc == "vegas" and p >= 20 and scenario.get("flow.ftp.tcp.min_rto") is None else 0
    times = np.linspace(15, end - 5, timeouts)
    drops = NO_DROPS if scenario.get("bearer.dch.rlc.mode") == "am" else table(time_s=[1.0])
    tables = {
        "flows": flows(
            dst="ue",
            rx_segment_bytes=int(share * 384e3 / 8 * end),
            timeouts=timeouts,
            rtt_samples=int(26 * end),
            fast_retransmits=0 if scenario.get("bearer.dch.rlc.am.in_sequence") is not False else 5,
        ),
        "drops": drops,
        "events": table(time_s=times, source=["flow/ftp"] * timeouts, kind=["rto"] * timeouts),
        **pretended_radio(end),
    }
    if scenario.get("output.tcp") == "ack":
        time = np.arange(0, end, 0.5)
        window = np.full(len(time), 64) if cc == "reno" else np.where(np.arange(len(time)) % 4 == 0, 4, 2)
        tables["tcp"] = acks(time, window.tolist(), (0.12 + 0.02 * (np.arange(len(time)) % 9)).tolist())
    if scenario.get("output.packets"):
        tables["packets"] = around_a_timeout(twice=True)["packets"]
        tables["events"] = table(time_s=[21.5], source=["flow/ftp"], kind=["rto"])
        if timeouts == 0:
            tables["events"] = NO_EVENTS
    return tables


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    run_study("umts-vegas", quick=True, out=out, backend=FakeBackend(pretended), jobs=2)
    return out


def test_every_figure_of_the_paper_is_drawn(made_up: Path) -> None:
    drawn = {p.stem for p in (made_up / "figures").glob("*.svg")}
    assert {
        "fig5a-paper",
        "fig5a-calibrated",
        "fig5b",
        "fig6a",
        "fig6b",
        "fig7a",
        "fig7b",
        "wired-delay",
        "ahead",
    } <= drawn
    assert {p.stem for p in (made_up / "figures").glob("*.pdf")} == drawn
    assert any(name.startswith("fig7a-") for name in drawn), "figure 7a under the other timer reading"


def test_the_report_holds_claims_figures_tables_and_configuration(made_up: Path) -> None:
    report = (made_up / "report.html").read_text(encoding="utf-8")
    for text in ("U18", "Status triggers", "Sensitivity", "Table 1", "Table 2", "Table 3", "vegas_rto = fine"):
        assert text in report
    assert (made_up / "data" / "triggers.csv").exists()


def test_claims_json_has_both_sets_readings_and_switches(made_up: Path) -> None:
    content = json.loads((made_up / "claims.json").read_text(encoding="utf-8"))
    assert list(content["parameter_sets"]) == ["paper", "calibrated"]
    claims = {c["id"]: c for c in content["parameter_sets"]["calibrated"]["claims"]}
    assert [c for c in claims if c in SPEC_IDS] == SPEC_IDS
    for mechanism in ("U5", "U14", "U17"):
        assert claims[mechanism]["verdict"] == "agrees", claims[mechanism]
        assert claims[mechanism]["switched_off"]["verdict"] == "differs"
    assert "vegas_rto = fine" in claims["U13"]["readings"]
    assert len(claims["U2"]["sensitivity"]) == 10


def test_the_data_behind_each_figure_are_there(made_up: Path) -> None:
    import pyarrow.parquet as pq

    for name in ("fig5a-calibrated", "fig5b", "fig6a", "fig6b", "fig7a", "fig7b"):
        assert pq.read_table(made_up / "data" / f"{name}.parquet").num_rows > 0
