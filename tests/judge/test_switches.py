"""Mutants by switches of built-in controls.

Each is found by the check that names it, and nothing else may set one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main
from lasthop.judging.suite import load_suite

SCENARIO = """
[scenario]
name = "wrong"
duration = "1 s"
[link.bn]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[flow.f]
from = "a"
to = "b"
app = "bulk"
tcp = { profile = "linux-6", cc = "reno", mutant = "forgotten-cut" }
"""


@pytest.mark.parametrize(("suite", "least"), [("bbr", 22), ("l4s", 5), ("anchors", 12), ("media", 12)])
def test_each_mutant_of_a_suite_is_found(suite: str, least: int, tmp_path: Path) -> None:
    words = ["judge", "--suite", suite, "--mutants", "--quick", "--store", str(tmp_path), "--json"]
    done = CliRunner().invoke(main, words)
    found = json.loads(done.stdout)["mutants"]
    assert len(found) >= least
    named = {(case.id, m.name): set(m.fails) for case in load_suite(suite).cases for m in case.mutants}
    strict = suite in ("bbr", "l4s")  # there each of the checks that a mutant names finds it
    missed = [
        (m["case"], m["mutant"], m["verdict"], m["failed"])
        for m in found
        if not m["found"] or (strict and not named[m["case"], m["mutant"]] <= set(m["failed"]))
    ]
    assert not missed
    assert done.exit_code == 0


@pytest.mark.parametrize("suite", ["bbr", "anchors", "media"])
def test_each_case_with_checks_has_a_mutant(suite: str) -> None:
    assert [case.id for case in load_suite(suite).cases if case.passes and not case.mutants] == []


def test_a_switch_that_a_control_has_not_is_refused_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    case = """
[case]
id = "X"
title = "x"
source = "mine"
pass = ["max(cwnd, start, end) >= 1"]
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms" }}
[[case.mutant]]
name = "wrong"
cc = "{cc}"
switch = "{switch}"
fails = ["pass.1"]
"""
    for cc, switch, place, said in (
        ("reno", "forgoten-cut", "case.toml:12", "did you mean 'forgotten-cut'"),
        ("mine.py:Mine", "forgotten-cut", "case.toml:11", "a switch is of a built-in control"),
    ):
        file.write_text(case.format(cc=cc, switch=switch), encoding="utf-8")
        done = CliRunner().invoke(main, ["judge", "--file", str(file)])
        assert done.exit_code != 0
        assert place in done.output, done.output
        assert said in done.output, done.output


def test_a_control_is_judged_with_a_mistake_by_name(tmp_path: Path) -> None:
    found = lh.judge("bbr3", "bbr", cases=["BBR-04"], quick=True, store=tmp_path, mutant="drain-without-limit")
    (row,) = found.rows
    assert row.verdict == "fail"
    assert "pass.5" in row.why
    assert found.to_json_dict()["cc"]["mutant"] == "drain-without-limit"
    right = lh.judge("bbr3", "bbr", cases=["BBR-04"], quick=True, store=tmp_path)
    assert right.rows[0].verdict == "pass"
    assert right.control.hash != found.control.hash
    with pytest.raises(lh.LasthopError, match="has no switch 'drain-one'"):
        lh.judge("cubic", "anchors", mutant="drain-one", store=tmp_path)


def test_run_refuses_a_mistake_on_purpose(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    done = CliRunner().invoke(main, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert "flow.f.tcp.mutant" in done.output
    assert "lasthop judge CONTROL --mutant SWITCH" in done.output


def test_a_switch_of_another_control_is_refused_in_a_scenario() -> None:
    with pytest.raises(lh.LasthopError, match="`reno` has no switch `drain-one-ack`; its switches: forgotten-cut"):
        lh.Scenario.parse(SCENARIO.replace("forgotten-cut", "drain-one-ack"))
