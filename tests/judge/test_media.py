"""The suite `media`: rate controls in the cases of RFC 8867 and 8869, and what judging them asks of the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lasthop as lh
from lasthop.judging._shares import Shares
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
    # RFC 8868 bounds the ratio of equal flows; of the others values are shown.
    equal = {"MEDIA-5.2", "MEDIA-5.4", "MEDIA-5.7", "MEDIA-5.8"}
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
    assert row.verdict == "shown"
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
