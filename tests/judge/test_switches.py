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
from lasthop.judging.mutants import try_mutants, untried
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


@pytest.mark.parametrize(("suite", "least"), [("bbr", 73), ("l4s", 5), ("anchors", 12), ("media", 12)])
def test_each_mutant_of_a_suite_is_found(suite: str, least: int, shared_store: Path) -> None:
    words = ["judge", "--suite", suite, "--mutants", "--quick", "--store", str(shared_store), "--json"]
    done = CliRunner().invoke(main, words)
    found = json.loads(done.stdout)["mutants"]
    assert len(found) >= least
    named = {(case.id, m.name): set(m.fails) for case in load_suite(suite).cases for m in case.mutants}
    missed = [(m["case"], m["mutant"], m["verdict"], m["failed"]) for m in found if not m["found"]]
    assert not missed
    assert all(named[m["case"], m["mutant"]] <= set(m["failed"]) for m in found)  # each check that it names
    assert done.exit_code == 0


def test_each_check_of_bbr_has_a_mutant_or_a_reason() -> None:
    """A check that nothing makes fail is no evidence."""
    rest = untried([load_suite("bbr")])
    assert [(case, check) for case, check, why in rest if not why] == []
    assert len(rest) <= 3


def test_a_mutant_that_fails_by_some_of_its_checks_is_not_found(tmp_path: Path) -> None:
    text = """[case]
id = "X"
title = "x"
source = "mine"
pass = ["max(cwnd, start, end) >= 1", "max(cwnd, start, end) <= 0"]
[case.scenario]
duration = "1 s"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }
[[case.mutant]]
name = "m"
cc = "reno"
switch = "forgotten-cut"
fails = ["pass.1", "pass.2"]
"""
    file = tmp_path / "case.toml"
    file.write_text(text, encoding="utf-8")
    suite = load_suite(str(file))
    (tried,) = try_mutants([suite], store=tmp_path / "store", jobs=1)
    assert (tried.verdict, tried.failed, tried.found) == ("fail", ("pass.2",), False)
    assert untried([suite]) == []
    without = text.replace('"pass.1", "pass.2"', '"pass.2"')
    file.write_text(without, encoding="utf-8")
    assert untried([load_suite(str(file))]) == [("X", "pass.1", "")]
    file.write_text(without + '[case.without_mutant]\n"pass.1" = "why"\n', encoding="utf-8")
    assert untried([load_suite(str(file))]) == [("X", "pass.1", "why")]
    words = ["judge", "--file", str(file), "--mutants", "--store", str(tmp_path / "store"), "--jobs", "1"]
    assert "No mutant makes X pass.1 fail: why" in CliRunner().invoke(main, words).output
    for name, message in (("pass.2", "the mutant 'm' names 'pass.2'"), ("pass.3", "there is no check 'pass.3'")):
        file.write_text(without + f'[case.without_mutant]\n"{name}" = "why"\n', encoding="utf-8")
        with pytest.raises(lh.LasthopError, match=message):
            load_suite(str(file))


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
