"""The suite `media`: rate controls in the cases of RFC 8867 and 8869.

And what judging them asks of the judge.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import lasthop as lh
from lasthop.judging._scenario import scenario_of, scenario_text
from lasthop.judging._shares import Shares
from lasthop.judging.judgement import Judgement
from lasthop.judging.mutants import try_mutants
from lasthop.judging.reading import parse_cases
from lasthop.judging.suite import load_suite

from .test_shares import Tables

WIRED = [f"MEDIA-5.{n}" for n in range(1, 9)]

CASE = """
[case]
id = "MINE"
title = "One flow"
source = "mine"
judges = "rate-control"
observables = ["media.target_rate"]
base = "media"
pass = ["mean(media.target_rate, late, end) > 0.5 * {rate}"]
[case.scenario]
duration = "15 s"
[case.paths]
p = { rate = "1 Mbit/s", rtt = "40 ms", depth = "300 ms" }
"""


@pytest.mark.parametrize("control", ["nada", "gcc", "scream"])
def test_the_wired_cases_judge_the_built_in_rate_controls(control: str, tmp_path: Path) -> None:
    found = lh.judge(control, "media", cases=WIRED, quick=True, store=tmp_path, jobs=1)
    assert [row.id for row in found.rows] == WIRED
    verdicts = {row.id: row.verdict for row in found.rows}
    # RFC 8868 bounds the ratio of equal flows; RFC 8867 expects that a flow follows the
    # capacity; the other cases show values.
    equal = {"MEDIA-5.1", "MEDIA-5.2", "MEDIA-5.4", "MEDIA-5.7", "MEDIA-5.8"}
    for name, verdict in verdicts.items():
        row = next(row for row in found.rows if row.id == name)
        assert verdict == ("pass" if name in equal else "shown") or control in row.case.known, row.why
    (first, *_) = found.rows[0].points
    assert 0.3 < first["values"]["used_1"] <= 1.001
    assert first["values"]["loss"] < 0.02


def test_a_control_of_tcp_is_not_judged_by_cases_of_media_nor_the_other_way_round(tmp_path: Path) -> None:
    found = lh.judge("cubic", "media", store=tmp_path)
    assert set(found.counts) == {"not-applicable"}
    assert found.rows[0].why == "cubic is a congestion control of TCP, the case judges a rate control of media flows"
    found = lh.judge("nada", "bbr", store=tmp_path)
    assert set(found.counts) == {"not-applicable"}
    assert found.made == 0


def test_a_name_of_both_kinds_is_what_the_suites_judge(tmp_path: Path) -> None:
    (row,) = lh.judge("none", "media", cases=["MEDIA-5.1"], quick=True, store=tmp_path, jobs=1).rows
    assert row.verdict == "fail"
    # A constant 1.5 Mbit/s on 1 Mbit/s: a third is lost in the first 40 s, and more at 0.6.
    assert row.points[0]["values"]["loss"] > 0.2
    assert lh.judge("none", "bbr", store=tmp_path).control.judged == "congestion-control"


def test_without_suites_a_rate_control_is_judged_by_those_of_media(tmp_path: Path) -> None:
    found = lh.judge("gcc", cases=["MEDIA-5.1"], quick=True, store=tmp_path, jobs=1)
    assert [suite.name for suite in found.suites] == ["media"]
    assert found.to_json_dict()["cc"]["of"] == "rate-control"
    assert "of" not in lh.judge("cubic", "bbr", store=tmp_path).to_json_dict()["cc"]


def test_a_case_of_media_has_the_variables_of_rate_controls_alone() -> None:
    with pytest.raises(lh.LasthopError, match="there is no 'cwnd'"):
        parse_cases(CASE.replace("mean(media.target_rate", "mean(cwnd"), "mine.toml")
    with pytest.raises(lh.LasthopError, match=r"(?s)'rate-controll'.*rate-control"):
        parse_cases(CASE.replace('"rate-control"', '"rate-controll"'), "mine.toml")
    text = CASE.replace('judges = "rate-control"\n', "").replace('observables = ["media.target_rate"]\n', "")
    with pytest.raises(lh.LasthopError, match=r"there is no 'media\.target_rate'"):
        parse_cases(text, "mine.toml")


def test_a_case_of_ones_own_judges_a_rate_control(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CASE)
    (row,) = lh.judge("scream", [tmp_path / "mine.toml"], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "pass", row.why
    # Only NADA has these variables.
    text = CASE.replace('["media.target_rate"]', '["nada.r_ref"]')
    (tmp_path / "mine.toml").write_text(text)
    (row,) = lh.judge("scream", [tmp_path / "mine.toml"], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "not-applicable"
    assert row.why == "scream does not expose nada.r_ref"


def test_the_page_of_a_rate_control_is_written(tmp_path: Path) -> None:
    found = lh.judge("scream", "media", cases=["MEDIA-5.1", "MEDIA-5.4"], quick=True, store=tmp_path, jobs=1)
    folder = found.save(tmp_path / "out")
    assert "MEDIA-5.4" in (folder / "report.html").read_text()
    assert json.loads((folder / "judge.json").read_text())["cc"]["name"] == "scream"


def test_each_mutant_of_the_suite_is_found(tmp_path: Path) -> None:
    tried = list(try_mutants([load_suite("media")], quick=True, jobs=1, store=tmp_path))
    assert tried
    assert [t for t in tried if not t.found] == []


def test_goodput_delay_and_rate_of_media_flows() -> None:
    """By tables that were written by hand: 100 kbit/s and 300 kbit/s in 1 s each, after nothing."""
    media = pa.table(
        {
            "time_s": [1.0, 2.0, 3.0],
            "flow": pa.array(["m"] * 3).dictionary_encode(),
            "received_bps": [0.0, 100e3, 300e3],
        }
    )
    windows = pa.table(
        {
            "start_s": [0.0, 1.0, 2.0],
            "end_s": [1.0, 2.0, 3.0],
            "flow": ["m"] * 3,
            "delivered_packets": pa.array([0, 10, 30], pa.uint64()),
            "delivered_bytes": pa.array([0, 12_780, 38_340], pa.uint64()),
            "delay_p95_s": pa.array([None, 0.1, 0.3]),
        }
    )
    of = Shares(Tables({"media": media, "windows": windows}))  # type: ignore[arg-type]
    assert of.gets("m", 1, 3) == pytest.approx(200e3)
    assert of.gets("m", 0, 1) == 0
    assert of.carried("m", 1, 3) == pytest.approx((12_780 + 38_340) * 8 / 2)
    assert of.delay("m", 95, 0, 3) == pytest.approx((10 * 0.1 + 30 * 0.3) / 40)
    # The standard deviation of 100 and 300 is 141.4, their mean 200.
    assert of.spread("m", 1, 1, 3) == pytest.approx(0.5 * 2**0.5)


def test_every_case_of_the_sheet_is_there_and_can_be_built() -> None:
    """RFC 8867 sections 5.1 to 5.8, RFC 8869 sections 2.1, 2.2, 3.1 and 3.2.

    No scenario has a mistake.
    """
    cases = load_suite("media").cases
    assert sorted(case.id for case in cases) == ["MEDIA-3.1", "MEDIA-3.2", "MEDIA-4.1", "MEDIA-4.2", *WIRED]
    for case in cases:
        assert not case.lacks
        for path in case.paths:
            for control in ("gcc", *(case.baselines if case.metrics else ())):
                scenario_of(case, path, control, case.seed(0), {})
    # The quick form of the cellular cases has the three loads that the sheet names.
    (cellular,) = (case for case in cases if case.id == "MEDIA-3.1")
    assert [p.name for p in cellular.paths if p.quick] == [
        f"{d}-{x}" for d in ("down", "up") for x in ("0_7", "3_5", "7")
    ]


def test_flows_of_tcp_in_the_place_of_media_have_the_same_ends_and_times() -> None:
    (case,) = (case for case in load_suite("media").cases if case.id == "MEDIA-4.2")
    (path,) = (path for path in case.paths if path.name == "both-16-cbr-second")
    media, tcp = (scenario_text(case, path, control, 1) for control in ("nada", "tcp"))
    assert media.count('control = "nada"') == 2
    assert 'kind = "media"' not in tcp
    assert 'app = "bulk"' in tcp
    # What is not of the judged control stays.
    assert tcp.count('kind = "cbr"') == media.count('kind = "cbr"') == 1


def test_wifi_cases_compare_with_as_many_flows_of_tcp(tmp_path: Path) -> None:
    (suite,) = (load_suite("media"),)
    (case,) = (case for case in suite.cases if case.id == "MEDIA-4.2")
    path = next(path for path in case.paths if path.name == "down-4")
    short = replace(
        path, scenario={**path.scenario, "duration": "12 s"}, quick=True,
        parameters={**path.parameters, "from": 8.0, "to": 12.0},
    )  # fmt: skip
    one = replace(suite, cases=(replace(case, paths=(short,)),))
    (row,) = Judgement("scream", [one], quick=True, store=tmp_path, jobs=1).run().rows
    (point,) = row.points
    assert set(point["compare"]) == {"scream", "tcp"}
    # Four calls and four flows of TCP fill what is counted: 1.445 Mbit/s for each.
    assert point["compare"]["tcp"]["sum_one_way"]["mean"] == pytest.approx(4 * 1.445)
    assert row.verdict == "shown", row.why


def test_the_loads_of_cells_are_those_of_the_sheet() -> None:
    """Calls of 30 s that begin every 30 s / (21 L) in 21 cells are L in a cell."""
    for case in load_suite("media").cases:
        if case.id not in ("MEDIA-3.1", "MEDIA-3.2"):
            continue
        for path in case.paths:
            load = path.parameters["load"]
            gap_ms = float(path.scenario["flow"]["judged"]["stagger"].removesuffix(" ms"))
            assert 30_000 / gap_ms / 21 == pytest.approx(load, rel=0.005)
            # As many terminals as calls begin in 61 s.
            assert path.scenario["ue"]["phone"]["count"] == pytest.approx(61_000 / gap_ms, abs=1.5)
            files = path.scenario["flow"]["other"]["app"]
            rate = 2 * 500e3 * 8 / float(files["interval"].removesuffix(" s"))
            assert (
                rate
                == {"3.1down": 4e6, "3.1up": 2e6, "3.2down": 2e6, "3.2up": 1e6}[
                    case.id.removeprefix("MEDIA-") + path.name.partition("-")[0]
                ]
            )


#: RFC 8698 section 4.3: in equilibrium the delay is XREF * RMAX / r, so delay times rate is 10 ms
#: times 1.5 Mbit/s whatever the path: 15,000 bit.
FIXED_POINT = """[case]
id = "FIXED-POINT"
title = "Delay times rate in equilibrium"
source = "RFC 8698, section 4.3"
judges = "rate-control"
observables = ["nada.r_ref", "nada.x_curr"]
base = "media"
pass = ["mean(nada.x_curr, late, end) / 1000 * mean(nada.r_ref, late, end) in [14700, 15300]"]
[case.scenario]
duration = "150 s"
link.bn.jitter = "0 s"
flow.judged.app = { kind = "media", control = "{control}", noise = 0.0 }
[case.paths]
p = { rate = "1.05 Mbit/s", rtt = "40 ms", depth = "300 ms" }
q = { rate = "800 kbit/s", rtt = "40 ms", depth = "300 ms" }
"""


def test_the_fixed_point_of_nada_finds_a_target_delay_that_does_not_follow_the_rate(tmp_path: Path) -> None:
    file = tmp_path / "fixed-point.toml"
    file.write_text(FIXED_POINT)
    (right,) = lh.judge("nada", [file], store=tmp_path / "store", jobs=1).rows
    assert right.verdict == "pass", right.why
    (wrong,) = lh.judge("nada", [file], store=tmp_path / "store", jobs=1, mutant="fixed-reference-delay").rows
    assert wrong.verdict == "fail"
    assert "pass.1" in wrong.why
