"""The lte-vs-11ac study without a simulator.

Its notation, its data, verdicts on made-up runs, failing ones too.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from lasthop.harness import Data, Run, find_study, judge_claim, run_study
from lasthop.harness.data import Record
from lasthop.harness.stats import Estimate
from lasthop.studies.lte_vs_11ac import matching, words
from lasthop.studies.lte_vs_11ac.figures import comparison, overview
from lasthop.studies.lte_vs_11ac.model import METRICS, NETWORKS, SIZES, VARIANTS
from lasthop.studies.lte_vs_11ac.reduce import reduce_cell, reduce_series, start_dip
from lasthop.studies.lte_vs_11ac.spread import spread
from lasthop.studies.lte_vs_11ac.statement import Band, Comparison, on_lte, parse
from tests.harness_fakes import FakeBackend, FakeOutput, FakeScenario, Tables

if TYPE_CHECKING:
    from pathlib import Path

STUDY = find_study("lte-vs-11ac")
CLAIMS = {c.id: c for c in STUDY.claims}
#: The claims that no other statement of the paper contradicts, in whole or (W36, W65) in part.
COUNTING = ["W1", "W2", "W4", "W12", "W18", "W23", "W28", "W34", "W36", "W41", "W42", "W43", "W51", "W52", "W56"]
COUNTING += ["W64", "W65"]


# --- the notation
# ------------------------------------------------------------------------------------------


def texts(statement: str) -> list[str]:
    return [check.text for check in parse(statement)]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("thr bic: A > U", "throughput of Bic: AM above UM"),
        ("loss htcp A: s = 3x l", "loss of H-TCP over AM: small packets 2 to 4 times large packets"),
        ("dly U l: veno >= bic,yeah", "delay over UM, large packets: Veno not below Bic and YeAH"),
        ("thr bic A,X: in 0.95..1.0", "throughput of Bic over AM and 802.11ac: 0.95 to 1.0"),
        (
            "thr all: s = l; jit vegas: A < X",
            "throughput of each variant: small packets equal to large packets; jitter of Vegas: AM below 802.11ac",
        ),
    ],
)
def test_the_notation_is_said_in_words(test: str, said: str) -> None:
    assert words.statement_in_words(test) == said


def test_no_claim_is_shown_in_the_notation() -> None:
    for c in STUDY.claims:
        said = STUDY.function("test_in_words")(c)
        assert not re.search(r"\b(thr|dly|jit|dip|htcp|yeah|l|A|U|X)\b|[<>=]", said), said


def test_what_is_not_said_is_taken_for_both_modes_and_sizes() -> None:
    assert texts("thr bic: A > U") == ["thr bic s: A > U", "thr bic l: A > U"]
    assert texts("thr bic: s = l") == ["thr bic A: s = l", "thr bic U: s = l"]


def test_a_chain_is_compared_link_by_link() -> None:
    assert texts("thr newreno s: A > U > X") == ["thr newreno s: A > U", "thr newreno s: U > X"]


def test_several_that_are_alike_are_one_comparison() -> None:
    (check,) = parse("dly A s: bic = hybla = newreno")
    assert isinstance(check, Comparison)
    assert [c.cc for c in check.cells] == ["bic", "hybla", "newreno"]


def test_lists_and_groups_mean_every_member() -> None:
    assert texts("thr U s: vegas,veno > westwood") == ["thr U s: vegas > westwood", "thr U s: veno > westwood"]
    assert len(parse("thr all A: s = l")) == len(VARIANTS)
    assert len(parse("thr loss-based,vegas A s: in 0.95..1.0")) == 7


def test_factors_and_bands_are_read() -> None:
    (ratio,) = parse("loss htcp A: s = 3x l")
    assert isinstance(ratio, Comparison)
    assert ratio.factor == 3.0
    assert ratio.text == "loss htcp A: s = 3x l"
    (band,) = parse("thr bic A s: in 0.95..1.0")
    assert isinstance(band, Band)
    assert (band.low, band.high) == (0.95, 1.0)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("thr bic A > U", "no colon"),
        ("bic: A > U", "names no metric"),
        ("thr: A > U", "names no cc"),
        ("thr cubic: A > U", "nothing is called 'cubic'"),
        ("thr bic A U: s > l", "network twice"),
        ("thr bic: A >", "missing"),
        ("thr bic: A", "compares nothing"),
        ("thr bic: s = 5x l", "factor"),
        ("thr bic: in 1", "a band is written"),
    ],
)
def test_what_cannot_be_read_is_refused(statement: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(statement)


# --- the study's data
# ------------------------------------------------------------------------------------------


def test_every_claim_of_the_paper_is_there_once_and_can_be_read() -> None:
    assert list(CLAIMS) == [f"W{i}" for i in range(1, 70)]
    for claim in STUDY.claims:
        assert parse(claim.test), claim.id


def test_exactly_the_uncontradicted_claims_count() -> None:
    assert [c.id for c in STUDY.claims if c.settings.get("counts")] == COUNTING
    assert not [c.id for c in STUDY.claims if c.settings.get("counts") and c.settings.get("contradicts")]
    assert CLAIMS["W36"].settings["counts"] != CLAIMS["W36"].test


def test_three_size_models_and_three_ways_of_counting_loss_are_read() -> None:
    assert [r.name for r in STUDY.readings] == [
        "size_model = write",
        "size_model = mss-clamped",
        "loss = dropped",
        "loss = retransmitted",
    ]


def test_every_value_has_a_source_and_at_most_five_are_calibrated() -> None:
    assert [s.name for s in STUDY.parameter_sets] == ["paper", "calibrated"]
    for s in STUDY.parameter_sets:
        assert all(v.tag in "PDCSRX" and v.source for v in s.values)
    assert STUDY.parameter_set("paper").calibrated == ()
    assert 1 <= len(STUDY.parameter_set("calibrated").calibrated) <= 5
    assert all(v.tag in "RX" for v in STUDY.parameter_set("calibrated").calibrated)


def test_the_grid_is_eleven_variants_three_networks_two_sizes_ten_seeds() -> None:
    variants = STUDY.group("variants")
    assert len(variants.points()) == 66
    assert variants.seeds == 10
    assert [p["cc"] for p, _ in variants.points()][::6] == list(VARIANTS)


def test_the_load_sweep_is_the_papers_factorial_with_every_variant() -> None:
    points = [p for p, _ in STUDY.group("load").points()]
    transports = [*VARIANTS, "cubic", "bbr", "bbr3", "udp"]
    assert len(points) == 6 * len(transports) * 3 * 2
    assert list(dict.fromkeys(p["transport"] for p in points)) == transports
    assert {p["rate"] for p in points} == {0.25, 0.5, 1, 2, 4, 8}


# --- reducers on made-up tables
# -------------------------------------------------------------------------------------


def flows(n: int = 2, **changed: Any) -> pa.Table:
    row = {
        "goodput_bps": 1e6,
        "delay_mean_s": 0.02,
        "jitter_mean_s": 0.001,
        "tx_packets": 1000,
        "lost_undelivered": 10,
        "lost_dropped": 6,
        "lost_retransmitted": 8,
        "timeouts": 1,
        "fast_retransmits": 2,
        "cwnd_mean": 12.0,
    }
    return pa.table({k: v if isinstance(v, list) else [v] * n for k, v in {**row, **changed}.items()})


def drops(numbers: list[int]) -> pa.Table:
    return pa.table({"packet": pa.array(numbers, pa.uint64()), "cause": ["buffer-full"] * len(numbers)})


NO_DROPS = drops([])
#: Of both flows 6 drops each, no packet twice.
DROPS = drops(list(range(12)))


def a_run(tables: Tables, duration: str = "10 s") -> Run:
    return Run(FakeOutput(tables), FakeScenario({"scenario": {"duration": duration, "seed": 1}}), 1, shown=True)


def test_loss_is_counted_three_ways_over_packets_sent() -> None:
    values = reduce_cell(a_run({"flows": flows(), "drops": DROPS}))
    assert values["goodput_mbps"] == pytest.approx(1.0)
    assert values["cell_mbps"] == pytest.approx(2.0)
    assert values["delay_ms"] == pytest.approx(20)
    assert [values[f"loss_{k}"] for k in ("undelivered", "dropped", "retransmitted")] == [0.01, 0.006, 0.008]
    assert values["jain"] == pytest.approx(1.0)


def test_a_packet_whose_fragments_are_dropped_is_lost_once() -> None:
    # Two flows of 1000 packets with 3 dropped fragments each, of two packets; beside them an ACK
    # (number 9).
    tables = {"flows": flows(lost_dropped=3), "drops": drops([1, 1, 2, 3, 3, 9, 4])}
    assert reduce_cell(a_run(tables))["loss_dropped"] == pytest.approx(4 / 2000)


def test_unequal_stations_lower_jains_index() -> None:
    values = reduce_cell(a_run({"flows": flows(goodput_bps=[1e6, 3e6]), "drops": DROPS}))
    assert values["jain"] == pytest.approx(16 / (2 * 10))


def test_airtime_counts_both_ways_of_each_station() -> None:
    # Stations a and b: 2 + 1 and 1 s on the air; Jain's index is (3 + 1)^2 / (2 (9 + 1)).
    wifi = pa.table(
        {"station": ["laptop-1", "laptop-1", "laptop-2"], "direction": ["downlink", "uplink", "downlink"],
         "airtime_s": [2.0, 1.0, 1.0], "rate_bps": [65e6, 65e6, 6.5e6]}
    )  # fmt: skip
    over = flows(2).append_column("dst", pa.array(["laptop-1", "laptop-2"]))
    tables = {"flows": over, "drops": drops([]), "wifi": wifi}
    assert reduce_cell(a_run(tables))["jain_airtime"] == pytest.approx(16 / 20)
    assert math.isnan(reduce_cell(a_run({"flows": flows(2), "drops": drops([])}))["jain_airtime"])


def test_a_dip_at_the_start_is_measured_against_the_later_mean() -> None:
    # 1 s bins of 8, 2, 10, 10, ... after a silent second: the lowest of the first five over the
    # mean of the later.
    time = np.arange(0.0, 12.0)
    total = np.cumsum([0.0, 0.0, 8.0, 2.0, *[10.0] * 8])
    assert start_dip(np.stack([time, total])) == pytest.approx(0.2)
    assert np.isnan(start_dip(np.stack([time, np.zeros(12)])))


def packets(rows: list[tuple[float, int, str, str, int]]) -> pa.Table:
    return pa.table({n: [r[i] for r in rows] for i, n in enumerate(("time_s", "packet", "flow", "event", "len"))})


def test_time_series_have_bins_of_a_second() -> None:
    rows = [
        (0.1, 1, "down-1", "sent", 1000),
        (0.2, 2, "down-1", "sent", 1000),
        (0.3, 1, "down-1", "received", 1000),
        (1.2, 2, "down-1", "received", 1000),
        (1.3, 3, "down-2", "sent", 1000),
        (1.4, 9, "down-2", "sent", 0),
    ]
    values = reduce_series(a_run({"flows": flows(), "drops": DROPS, "packets": packets(rows)}, "2 s"))["series"]
    assert values["time_s"].tolist() == [0.0, 1.0]
    assert values["thr"] == pytest.approx([0.004, 0.004])
    assert values["dly"] == pytest.approx([200, 1000])
    # The only pair of successive packets: 0.2 s and 1.0 s, known when the second came.
    assert values["jit"][1] == pytest.approx(800)
    assert values["loss"] == pytest.approx([0.0, 1.0])


# --- verdicts on made-up reduced runs
# -------------------------------------------------------------------------------


def reduced(cc: str, network: str, size: int, seed: int) -> dict[str, float]:
    """A flat cell: every variant alike, AM a little better than UM, nothing lost in AM."""
    um = network == "lte-um"
    noise = seed * 1e-4
    return {
        "goodput_mbps": (0.97 if um else 0.99) + noise,
        "delay_ms": 15.0 + size / 1000 + noise,
        "jitter_ms": 1.0 + noise,
        "loss_undelivered": 0.002 if um else 0.001,
        "loss_dropped": 0.001 if um else 0.0,
        "loss_retransmitted": 0.001 if um else 0.0,
        "jain": 1.0,
        "timeouts": 0.0,
        "fast_retransmits": 0.0,
        "cwnd_mean": 10.0,
        "start_dip": 0.9,
    }


def flat(seeds: int = 10) -> Data:
    records = [
        Record({"cc": cc, "network": n, "size": size}, seed, reduced(cc, n, size, seed))
        for cc in VARIANTS
        for n in ("lte-am", "lte-um")
        for size in SIZES.values()
        for seed in range(1, seeds + 1)
    ]
    return Data(STUDY.parameter_set("paper"), records={"variants": records})


def put(data: Data, key: str, value: float, **where: Any) -> None:
    for record in data.runs("variants", **where):
        record.values[key] = value  # type: ignore[index]


def test_claims_on_lte_are_judged() -> None:
    data = flat()
    assert judge_claim(STUDY, CLAIMS["W1"], data).verdict == "agrees"
    assert judge_claim(STUDY, CLAIMS["W2"], data).verdict == "agrees"
    assert judge_claim(STUDY, CLAIMS["W34"], data).verdict == "agrees"
    assert judge_claim(STUDY, CLAIMS["W64"], data).verdict == "differs"


def test_each_relation_can_fail() -> None:
    data = flat()
    put(data, "goodput_mbps", 0.5, cc="bic", network="lte-am")
    assert judge_claim(STUDY, CLAIMS["W1"], data).verdict == "differs"
    assert judge_claim(STUDY, CLAIMS["W2"], data).verdict == "differs"
    finding = judge_claim(STUDY, CLAIMS["W34"], data)
    assert finding.verdict == "differs"
    assert "fails: throughput of Bic, small packets: AM above UM" in finding.text


def test_an_order_within_the_interval_is_undecided() -> None:
    data = flat()
    for i, record in enumerate(data.runs("variants", cc="bic", network="lte-am")):
        record.values["goodput_mbps"] = 0.98 + (0.05 if i % 2 else -0.05)  # type: ignore[index]
    assert judge_claim(STUDY, CLAIMS["W2"], data).verdict == "undecided"


def test_what_needs_wifi_says_so_and_shows_what_lte_says() -> None:
    data = flat()
    finding = judge_claim(STUDY, CLAIMS["W62"], data)
    assert finding.verdict == "not-testable"
    assert "needs 802.11ac, which was not run" in finding.note
    half = judge_claim(STUDY, CLAIMS["W12"], data)
    assert half.verdict == "not-testable"
    assert "throughput of NewReno, small packets: AM above UM" in half.text
    put(data, "goodput_mbps", 0.5, cc="newreno", network="lte-am")
    assert judge_claim(STUDY, CLAIMS["W12"], data).verdict == "differs", "one false part is enough"


def test_wifi_runs_make_the_claim_testable() -> None:
    data = flat()
    records = [
        Record({"cc": cc, "network": "11ac", "size": size}, s, {**reduced(cc, "lte-um", size, s), "goodput_mbps": 0.5})
        for cc in VARIANTS
        for size in SIZES.values()
        for s in range(1, 11)
    ]
    data.records["variants"] += records
    assert judge_claim(STUDY, CLAIMS["W12"], data).verdict == "agrees"


def test_a_third_network_is_a_third_pair_of_columns() -> None:
    data = flat(2)
    data.records["variants"] += [
        Record({"cc": cc, "network": "11ac", "size": size}, s, reduced(cc, "11ac", size, s))
        for cc in VARIANTS
        for size in SIZES.values()
        for s in (1, 2)
    ]
    columns = overview(data).data["overview-paper"]
    assert len(columns["mean"]) == 4 * 11 * 3 * 2
    assert set(columns["network"]) == {"lte-am", "lte-um", "11ac"}
    assert set(comparison(data, "delay-based").data["fig13-14"]["network"]) == {"lte-am", "lte-um", "11ac"}


def test_every_claim_names_ablations_that_exist_and_say_what_they_do() -> None:
    named = {a.name for c in STUDY.claims for a in c.ablations}
    assert named == {
        "far-over-ap100", "losses-8", "big-windows", "losses-2", "losses-1", "losses-far", "no-ampdu", "over-36322",
        "far-over-10k", "near-over-10k", "slow-channel", "far-over-64k", "wired",
    }  # fmt: skip
    assert all(a.about and a.overrides for c in STUDY.claims for a in c.ablations)


def test_contradicted_claims_are_ambiguous_with_our_numbers() -> None:
    finding = judge_claim(STUDY, CLAIMS["W3"], flat())
    assert finding.verdict == "ambiguous"
    assert "loss bic A s" in finding.values
    assert "contradiction (3, 6)" in finding.note


def test_three_times_is_a_band_and_nothing_lost_is_no_ratio() -> None:
    data = flat()
    for cc in VARIANTS:
        put(data, "loss_undelivered", 0.003, cc=cc, network="lte-am", size=1000)
        put(data, "loss_undelivered", 0.001, cc=cc, network="lte-am", size=3000)
    assert "not loss yeah A: s = 3x l" not in judge_claim(STUDY, CLAIMS["W56"], data).text
    # 3 in one seed and 5 in the other: the mean is accepted, its interval reaches beyond 4 (t(1;
    # 0.975) = 12.7).
    for i, record in enumerate(data.runs("variants", cc="yeah", network="lte-am", size=1000)):
        record.values["loss_undelivered"] = 0.0005 if i % 2 else 0.0055  # type: ignore[index]
    checks = judge_claim(STUDY, CLAIMS["W56"], data).checks
    assert [c.held for c in checks if c.shown and c.shown[0].label.startswith("ratio")] == [None]
    put(data, "loss_undelivered", 0.0, cc="yeah", network="lte-am")
    assert (
        "fails: loss of YeAH over AM: small packets 2 to 4 times large packets"
        in judge_claim(STUDY, CLAIMS["W56"], data).text
    )


def test_a_reading_counts_loss_another_way() -> None:
    data = flat()
    data.variation = next(r for r in STUDY.readings if r.name == "loss = dropped")
    finding = judge_claim(STUDY, CLAIMS["W30"], data)
    assert finding.values["loss scalable A s"].mean == 0.0
    assert finding.values["loss scalable U s"].mean == 0.001


def test_claims_without_runs_are_not_testable() -> None:
    empty = Data(STUDY.parameter_set("paper"))
    assert all(judge_claim(STUDY, c, empty).verdict == "not-testable" for c in STUDY.claims)


def test_lte_claims_are_most_of_them() -> None:
    tested = [c.id for c in STUDY.claims if any(on_lte(check) for check in parse(c.test))]
    assert len(tested) > 50
    assert {c.id for c in STUDY.claims} - set(tested) >= {"W5", "W61", "W62", "W63", "W67", "W69"}


# --- matching parameters and spreads
# --------------------------------------------------------------------------------


def sample(centre: float, width: float) -> Estimate:
    return Estimate.of([centre - width, centre, centre + width])


def combination(transport: str, value: Estimate) -> matching.Combination:
    return matching.Combination(transport, 1000, "lte-am", value)


def test_the_best_choice_names_what_ties_with_it() -> None:
    found = [
        combination("bic", sample(1.0, 0.001)),
        combination("veno", sample(0.98, 0.001)),
        combination("vegas", sample(0.5, 0.001)),
    ]
    best = matching.match("lte", 1.0, "thr", found)
    assert best.best.transport == "bic"
    assert [c.transport for c in best.ties] == ["veno"]
    lowest = matching.match("lte", 1.0, "dly", found)
    assert lowest.best.transport == "vegas"
    assert lowest.ties == ()
    assert lowest.json()["ties"] == []


def test_an_interval_that_holds_zero_is_a_tie() -> None:
    noisy = Estimate.of([0.2, 1.0, 1.2])
    assert matching.tied(sample(1.0, 0.001), noisy, METRICS["thr"])
    assert not matching.tied(sample(1.0, 0.001), sample(0.7, 0.002), METRICS["thr"])


def test_variants_that_are_alike_have_no_pair_apart() -> None:
    same = {cc: sample(1.0, 0.01) for cc in VARIANTS}
    assert spread(same, 5).apart == 0
    same["vegas"] = sample(0.5, 0.01)
    apart = spread(same, 5)
    assert (apart.apart, apart.pairs, apart.lowest) == (10, 55, "vegas")
    assert apart.percent == pytest.approx(50 / (10.5 / 11))


# --- the whole study on a made-up simulator
# -------------------------------------------------------------------------


def pretended(scenario: FakeScenario) -> Tables:
    """A cell that carries what it is offered.

    It has tables in which every figure finds something to draw.
    """
    end = scenario.duration_s
    rate = float(str(scenario.get("flow.down.app.rate")).split()[0])
    um = scenario.get("ue.station.rlc.mode") == "um"
    lost = 3 if um else 0
    tables: dict[str, pa.Table] = {
        "flows": flows(
            n=14,
            goodput_bps=1e6 * min(rate, 5) * (1 - 0.01 * um) + scenario.seed,
            lost_undelivered=lost,
            lost_dropped=lost,
            delay_mean_s=0.015 + 0.001 * rate,
        ),
        "drops": drops(list(range(14 * lost))),
        "tcp": pa.table({"time_s": np.arange(0, end + 0.5), "bytes_acked": np.arange(0, end + 0.5) * 125_000}),
    }
    if scenario.get("output.packets"):
        rows = [(t + 0.1 * s, int(4 * t) + s, "down-1", "sent", 1000) for t in range(int(end)) for s in range(3)]
        rows += [(t + 0.02, n, f, "received", size) for t, n, f, _, size in rows]
        tables["packets"] = packets(rows)
    return tables


def test_the_report_of_made_up_runs(tmp_path: Path) -> None:
    """One test, so that the report is made once: workers of pytest-xdist do not share a fixture."""
    out = tmp_path / "out"
    run_study("lte-vs-11ac", quick=True, out=out, backend=FakeBackend(pretended), jobs=2)
    every_figure_is_drawn(out)
    the_matching_parameters_are_left_as_json(out)
    the_report_holds_contradictions_and_what_counts(out)
    claims_json_has_every_reading(out)


def every_figure_is_drawn(out: Path) -> None:
    drawn = {p.stem for p in (out / "figures").glob("*.svg")}
    singles = {f"fig{number}-{cc}" for cc, (_, number, _) in VARIANTS.items()}
    assert singles | {"fig8-9", "fig13-14", "fig17-18", "load", "parting"} <= drawn
    assert {"beyond", "queues", "airtime", "side-by-side"} <= drawn
    assert {"overview-paper", "overview-calibrated"} <= drawn


def the_matching_parameters_are_left_as_json(out: Path) -> None:
    content = json.loads((out / "data" / "matching-parameters.json").read_text(encoding="utf-8"))
    assert {row["technology"] for row in content["rows"]} == {"lte", "11ac"}
    assert {row["metric"] for row in content["rows"]} == {"throughput", "loss", "delay", "jitter"}
    assert all(row["best"]["network"] in [n for n, _ in NETWORKS.values()] for row in content["rows"])
    assert json.loads((out / "data" / "matching-parameters-udp.json").read_text(encoding="utf-8"))["rows"]


def the_report_holds_contradictions_and_what_counts(out: Path) -> None:
    report = (out / "report.html").read_text(encoding="utf-8")
    for text in (
        "W69",
        "Contradictions in the paper",
        "Claims that count",
        "FQ-CoDel, airtime fairness",
        "size_model = write",
    ):
        assert text in report


def claims_json_has_every_reading(out: Path) -> None:
    content = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    claims = content["parameter_sets"]["paper"]["claims"]
    assert [c["id"] for c in claims] == [f"W{i}" for i in range(1, 70)]
    assert set(claims[0]["readings"]) == {r.name for r in STUDY.readings}
