"""Mistakes of cases that --file finds, and the remedies that it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main
from lasthop.judging.mutants import try_mutants
from lasthop.judging.suite import load_suite

CASE = """[case]
id = "M"
title = "t"
source = "s"
{head}
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms" }}
{tail}
"""


def said(tmp_path: Path, head: str, tail: str = "") -> str:
    """What the check of a file says."""
    file = tmp_path / "m.toml"
    file.write_text(CASE.format(head=head, tail=tail), encoding="utf-8")
    done = CliRunner().invoke(main, ["judge", "--file", str(file)])
    assert (done.exit_code == 0) is ("The cases are right" in done.output)
    return done.output


@pytest.mark.parametrize(
    ("value", "unit", "message", "remedy"),
    [
        ("goodput(late, end)", "Mbit/s", "the value is a rate [bit/s], not in Mbit/s", "`/ 1 Mbit/s`, or write unit"),
        ("goodput(late, end)", "ms", "the value is a rate [bit/s], and its unit 'ms'", "write the value's unit"),
        ("time(first(changes(cwnd)))", "ms", "the value is a time [s], not in ms", '`/ 1 ms`, or write unit = "s"'),
        ("share(cwnd > 9, late, end)", "%", "the value is a number without a dimension, not in %", "`/ 1 %`"),
        ("goodput(late, end) / 1 Mbit/s", "Mbit/s", None, ""),
        ("goodput(late, end)", "bit/s", None, ""),
        ("share(cwnd > 9, late, end) * 100", "%", None, ""),
        ("share(cwnd > 9, late, end) / 1 %", "%", None, ""),
        ("mean(cwnd, late, end)", "of the window", None, ""),
        ("1", "", "this does not depend on the control", "mean(cwnd, late, end)"),
        ("{rate} / 2", "bit/s", "this does not depend on the control", "mean(cwnd, late, end)"),
    ],
)
def test_the_unit_of_a_metric_is_that_of_its_value(
    value: str, unit: str, message: str | None, remedy: str, tmp_path: Path
) -> None:
    found = said(tmp_path, "", f'[case.metric.x]\nvalue = "{value}"\nunit = "{unit}"')
    assert ("The cases are right" in found) is (message is None), found
    assert (message or "") in found
    assert remedy in found


@pytest.mark.parametrize(
    ("head", "remedy"),
    [
        ('pass = ["max(srtt, late, end) < 1 s"]', "metric('flow(\"judged\").rtt_mean_s')"),
        (
            'pass = ["mean(rtt, late, end) < 1 s"]',
            "write {rtt}; what was measured is metric('flow(\"judged\").rtt_mean_s')",
        ),
        ('pass = ["max(loss, late, end) < 1"]', "loss_of('judged', late, end), with output.windows"),
        ('pass = ["max(cwmd, late, end) < 1"]', "did you mean 'cwnd'?"),
        ('pass = ["max(cwnd, late, end) > 1"]\nplot = ["pacing"]', "did you mean 'pacing_rate'?"),
        ('pass = ["max(cwnd, late, end) > 1"]\nplot = ["rtt"]', "help: lasthop describe cc NAME lists the variables"),
    ],
)
def test_a_name_that_is_no_variable_has_a_remedy_that_helps(head: str, remedy: str, tmp_path: Path) -> None:
    assert remedy in said(tmp_path, head)


def test_the_remedies_of_names_are_right(tmp_path: Path) -> None:
    head = 'pass = ["metric(\'flow(\\"judged\\").rtt_mean_s\') < 1 s", "goodput(late, end) > 1",'
    head += " \"wait_of('judged', 95, late, end) < 1 s\", \"loss_of('judged', late, end) < 1 %\"]"
    assert "The cases are right" in said(tmp_path, head, '[case.scenario]\noutput.windows = "1 s"')


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("loss_of('judged', late, end) <= 1", "this always holds: loss_of(...) is from 0 to 1"),
        ("100 % >= loss_of('judged', late, end)", "this always holds: loss_of(...) is from 0 to 1"),
        ("share(cwnd > 9, late, end) >= 0", "this always holds: share(...) is from 0 to 1"),
        ("wait_of('judged', 95, late, end) > -1 s", "this always holds: wait_of(...) is never below 0"),
        ("loss_of('judged', late, end) < 1", None),
        ("loss_of('judged', late, end) >= 1", None),
        ("wait_of('judged', 95, late, end) <= 1 s", None),
    ],
)
def test_a_check_that_always_holds_is_refused(check: str, message: str | None, tmp_path: Path) -> None:
    found = said(tmp_path, f'pass = ["{check}"]', '[case.scenario]\noutput.windows = "1 s"')
    assert ("The cases are right" in found) is (message is None), found
    assert (message or "") in found


NONE = 'base = "none"\npass = ["max(cwnd, late, end) > 1"]'
LINK = """[case.scenario]
link.bn = { between = ["server", "client"], rate = "{rate}", delay = "{rtt} / 2" }
flow.NAME = { from = "server", to = "client" }
output.cc = "change"
"""


def test_without_a_base_the_judged_flow_has_its_name(tmp_path: Path) -> None:
    found = said(tmp_path, NONE, LINK.replace("NAME", "mine"))
    assert "the judged flow is called `judged`, and there is none" in found
    assert "[case.scenario.flow.judged]" in found
    assert "The cases are right" in said(tmp_path, NONE, LINK.replace("NAME", "judged"))


WRONG = """
q = { rate = "10 Mbit/s", rtt = "40 ms", scenario = { link = { bn = { dely = "3 ms" } } } }
r = { rate = "10 Mbit/s", rtt = "40 ms", scenario = { link = { bn = { loess = "3 ms" } } } }
"""
CUT = """
[[case.mutant]]
name = "there"
cc = "reno"
switch = "forgotten-cut"
fails = ["pass.1"]
[[case.mutant]]
name = "gone"
cc = "nowhere.py:Mine"
fails = ["pass.1"]
"""


def test_every_wrong_path_and_mutant_is_told(tmp_path: Path) -> None:
    found = said(tmp_path, 'pass = ["max(cwnd, late, end) > 1"]', WRONG + CUT)
    for part in ("did you mean `delay`?", "did you mean `loss`?", "there is no file 'nowhere.py'"):
        assert part in found
    assert "m.toml:19:6" in found  # the mutant's `cc`


def test_a_mutant_that_is_not_there_keeps_no_other_from_being_judged(tmp_path: Path) -> None:
    said(tmp_path, 'pass = ["max(cwnd, late, end) < 150"]', '[case.scenario]\nduration = "6 s"' + CUT)
    there, gone = try_mutants([load_suite(str(tmp_path / "m.toml"))], store=tmp_path / "store", jobs=1)
    assert there.verdict in ("pass", "fail")
    assert (gone.verdict, gone.found, gone.why) == ("error", False, "there is no file 'nowhere.py'")


def test_a_mistake_is_not_found_by_a_check_that_fails_without_it(tmp_path: Path) -> None:
    said(tmp_path, 'pass = ["max(cwnd, late, end) <= 0"]', '[case.scenario]\nduration = "2 s"' + CUT)
    tried, _ = try_mutants([load_suite(str(tmp_path / "m.toml"))], store=tmp_path / "store", jobs=1)
    assert (tried.verdict, tried.failed, tried.found) == ("fail", ("pass.1",), False)
    assert tried.why == "pass.1 does not hold on these paths without the mistake either"
    words = ["judge", "--file", str(tmp_path / "m.toml"), "--mutants", "--store", str(tmp_path / "store")]
    assert "on these paths without the mistake" in " ".join(CliRunner().invoke(main, [*words, "--json"]).output.split())


def test_a_case_that_only_shows_says_what_is_not_known(tmp_path: Path) -> None:
    tail = "[case.shown]\nafter = \"at(cwnd, first(events('rto')))\"\n[case.scenario]\nduration = '1 s'"
    said(tmp_path, "", tail)
    (row,) = lh.judge("reno", [tmp_path / "m.toml"], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "shown"
    assert row.why.startswith("after is not known: there is no event 'rto'")


def test_pitfalls_of_a_scenario_are_told(tmp_path: Path) -> None:
    at = '[[case.scenario.at]]\nt = "20 s"\nset = { "link.bn.rate" = "1 Mbit/s" }'
    found = said(tmp_path, 'pass = ["max(cwnd, start, end) > 10"]', f'[case.scenario]\nduration = "10 s"\n{at}')
    assert "path 'p': `at.0.t`: 20 s is after the end of the run: this never happens" in " ".join(found.split())
    assert "The cases are right" in found


def test_a_path_has_at_least_one_seed(tmp_path: Path) -> None:
    found = said(
        tmp_path, 'pass = ["max(cwnd, start, end) > 10"]\n[case.paths.q]\nseeds = 0\nrate = "1 Mbit/s"\nrtt = "1 s"'
    )
    assert "`seeds` is a whole number from 1 to 1000" in found


@pytest.mark.parametrize(
    ("check", "message", "remedy"),
    [
        ("max(cwnd, late, end) in [5, 3]", "no value is in this range", "the smaller end comes first"),
        ("max(cwnd, late, end) in [3, 5]", None, ""),
        ("max(cwnd, late, end) > -inf", "this always holds", "a bound that a control can miss"),
        ("max(cwnd, late, end) <= inf", "this always holds", "a bound that a control can miss"),
        ("max(ssthresh, late, end) < inf", None, ""),  # a threshold may be inf: it is not set
        ("nth(events('rto'), 0) > start", "events are counted from 1", "nth(e, 2)"),
        ("nth(events('rto'), 1.5) > start", "events are counted from 1", "nth(e, 2)"),
        ("nth(events('rto'), 1) > start", None, ""),
        ("swings(cwnd, 9, 3, 1 s, start, end) < 3", "`low` is below `high`", "swings(x, low, high, t, a, b)"),
        ("largest(delivered, -1 s, start, end) > 3", "a length of time is above 0", "largest(x, t, a, b)"),
        ("jain_of('judged', 0 s, late, end) < 1", "a length of time is above 0", "jain_of('FLOWS', t, a, b)"),
        ("loss_of('judgedx', late, end) < 1 %", "no flow fits 'judgedx'", "did you mean 'judged'?"),
        (r"""metric('flow(\"judgedx\").goodput_bps') > 1""", "no flow fits 'judgedx'", "did you mean 'judged'?"),
        (
            "loss_of('judged', start + 1 s, start + 1.5 s) < 1 %",
            "no window of 1 s lies between 1 s and 1.5 s",
            "shorter",
        ),
        ("loss_of('judged', start + 1 s, start + 2.5 s) < 1 %", None, ""),
        ("count(events('rto', 'flow/judge')) = 0", "no source of events 'flow/judge'", "did you mean 'flow/judged'?"),
        ("count(events('rto', 'judged')) = 0", "no source of events 'judged'", "did you mean 'flow/judged'?"),
        ("count(events('change', 'link/bn')) = 0", None, ""),
        ("count(events('change', 'node/server')) = 0", None, ""),
    ],
)
def test_what_has_no_meaning_in_any_run_is_a_mistake(
    check: str, message: str | None, remedy: str, tmp_path: Path
) -> None:
    found = said(tmp_path, f'pass = ["{check}"]', '[case.scenario]\noutput = { windows = "1 s", tcp = "interval" }')
    assert ("The cases are right" in found) is (message is None), found
    assert (message or "") in found
    assert remedy in found


RIGHT = 'pass = ["max(cwnd, late, end) > 1"]'
READINGS = '\nreadings = { a = "max(cwnd, late, end) > 2", b = "max(cwnd, late, end) > 3" }'


@pytest.mark.parametrize(
    ("head", "tail", "message", "remedy"),
    [
        ("known = { cubic = 3 }", "", "a reason is a text", "why a control fails"),
        ('excluded = { cubic = "" }', "", "a reason is a text", "controls that the case does not judge"),
        ('references = ["bbr3"]', "", "a case without metrics compares nothing", "[case.metric.NAME]"),
        ("", f'[[case.ambiguous]]\ntxt = "x"{READINGS}', "unknown key `txt`", "did you mean 'text'?"),
        ("", f"[[case.ambiguous]]\ntext = 3{READINGS}", "`text` must be a text", "readings = {"),
        ("", '[case.scenario]\nduraton = "3 s"', "unknown key `duraton`", "did you mean `duration`?"),
        (
            "",
            '[[case.scenario.when]]\nvar = "bbr.state"\nbecomes = "Drain"\nset = { "link.bn.rate" = "1 Mbit/s" }',
            "has no variable `bbr.state`",
            'observables = ["bbr.state"]',
        ),
    ],
)
def test_a_key_of_a_case_that_is_wrong_has_a_remedy(
    head: str, tail: str, message: str, remedy: str, tmp_path: Path
) -> None:
    found = said(tmp_path, f"{RIGHT}\n{head}", tail)
    assert message in found
    assert remedy in found


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ('[suite]\ntitel = "x"', "did you mean 'title'?"),
        ("[suite]\ntitle = 3", "`title` must be a text"),
        ("[suit]\ntitle = 'x'", "unknown table `suit`"),
        ("suite = 3", "`suite` must be a table"),
        ('[suite]\ntitle = "x"\nsource = "s"\nleft_out = ["y"]', "The cases are right"),
    ],
)
def test_a_wrong_head_of_a_suite_is_shown(head: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(CASE.format(head=RIGHT, tail=""), encoding="utf-8")
    (tmp_path / "suite.toml").write_text(head, encoding="utf-8")
    done = CliRunner().invoke(main, ["judge", "--file", str(tmp_path)])
    assert message in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_the_check_of_a_file_is_of_the_cases_that_are_named(tmp_path: Path) -> None:
    for name in "ab":
        text = CASE.format(head=RIGHT, tail="").replace('id = "M"', f'id = "{name.upper()}"')
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    one = CliRunner().invoke(main, ["judge", "--file", str(tmp_path), "--case", "B"])
    assert one.exit_code == 0
    assert [line[:2] for line in one.output.splitlines()] == ["B:", "Th"]
    none = CliRunner().invoke(main, ["judge", "--file", str(tmp_path), "--case", "C"])
    assert none.exit_code == 1
    assert "no case fits 'C'" in none.output


def test_cases_of_one_judgement_have_different_names(tmp_path: Path) -> None:
    """Files of evidence and links in the report have them; the same file twice is one."""
    one, other, same = tmp_path / "one.toml", tmp_path / "other.toml", tmp_path / "below" / "one.toml"
    same.parent.mkdir()
    text = CASE.format(head=RIGHT, tail='[case.scenario]\nduration = "1 s"')
    one.write_text(text, encoding="utf-8")
    other.write_text(text, encoding="utf-8")
    same.write_text(text.replace('"M"', '"N"'), encoding="utf-8")
    with pytest.raises(lh.LasthopError, match="two cases 'M'"):
        lh.judge("reno", [one, other], store=tmp_path / "store", jobs=1)
    with pytest.raises(lh.LasthopError, match="two suites are called 'one'"):
        lh.judge("reno", [one, same], store=tmp_path / "store", jobs=1)
    assert [row.id for row in lh.judge("reno", [one, one], store=tmp_path / "store", jobs=1).rows] == ["M"]
