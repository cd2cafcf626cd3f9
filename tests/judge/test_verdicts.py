"""Verdicts over real runs: what passes, fails, cannot be said.

And equal bytes, controls of one's own, hostile files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main
from lasthop.judging._paths import varied
from lasthop.judging._scenario import scenario_text
from lasthop.judging.judgement import Verdicts
from lasthop.judging.reading import parse_cases
from lasthop.judging.suite import bundled, load_suite

#: Reno's window falls to a half at a loss; what may be in flight follows. Path: 33 packets and room
#: for as many.
HALVES = """[[case]]
id = "HALF"
title = "A loss halves the window"
source = "RFC 5681 section 3.1, equation 4"
observables = ["cwnd", "ssthresh"]
requires = ["exists(cut)"]
pass = ["at(ssthresh, cut) / before(inflight, cut) in [{low}, {high}]", "min(cwnd, cut, end) >= 1"]
chosen = ["10 % about the half"]
plot = ["cwnd", "ca_state"]
[case.let]
cut = "first(enter('ca_state', 'recovery'))"
[case.shown]
left = "at(ssthresh, cut) / before(inflight, cut)"
[case.scenario]
duration = "8 s"
[case.paths]
near = { rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1, low = 0.45, high = 0.55 }
far = { rate = "4 Mbit/s", rtt = "100 ms", buffer_bdp = 1, low = 0.45, high = 0.55, quick = false }

[[case]]
id = "NEVER"
title = "No timeout"
source = "none"
requires = ["count(events('rto')) > 1000"]
pass = ["min(cwnd, start, end) >= 1"]
[case.scenario]
duration = "1 s"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }

[[case]]
id = "STATE"
title = "Needs what few controls have"
source = "none"
observables = ["bbr.state"]
pass = ["exists(first(enter('bbr.state', 'Drain')))"]
[case.scenario]
duration = "1 s"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }

[[case]]
id = "LACKS"
title = "Nobody can run this"
source = "none"
lacks = ["a second Internet"]
pass = ["min(cwnd, start, end) >= 1"]
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cases") / "mine.toml"
    path.write_text(HALVES, encoding="utf-8")
    return path


def judged(cc: str, file: Path | str, store: Path, **more: Any) -> Verdicts:
    return lh.judge(cc, [str(file)], store=store, **more)


def verdicts(found: Verdicts) -> dict[str, str]:
    return {row.id: row.verdict for row in found.rows}


class Halving(lh.CongestionControl):
    """RFC 5681, without growth in slow start beyond one segment per ACK."""

    observables: ClassVar[dict[str, str]] = {"mine.cuts": ""}

    def __init__(self) -> None:
        self.cuts = 0

    def on_ack(self, ack: lh.AckSample) -> None:
        if ack.may_grow and ack.cwnd_limited:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd

    def on_loss(self, loss: lh.Congestion) -> None:
        self.cuts += 1
        super().on_loss(loss)

    def observe(self) -> dict[str, float]:
        return {"mine.cuts": float(self.cuts)}


class ForgottenCut(Halving):
    """The mutant: a loss changes nothing."""

    def on_loss(self, loss: lh.Congestion) -> None:
        self.ssthresh = self.cwnd


def test_reno_halves_and_cubic_and_none_do_not(file: Path, tmp_path: Path) -> None:
    reno = judged("reno", file, tmp_path)
    assert verdicts(reno) == {
        "HALF": "pass", "NEVER": "inconclusive", "STATE": "not-applicable", "LACKS": "not-testable",
    }  # fmt: skip
    row = reno.rows[0]
    assert [p["path"] for p in row.points] == ["near", "far"]
    assert row.points[0]["checks"][1]["left"] == pytest.approx(0.5, abs=0.05)
    assert "requires.1" in reno.rows[1].why
    assert "bbr.state" in reno.rows[2].why
    assert "a second Internet" in reno.rows[3].why
    # RFC 9438: 0.7 of the window is left.
    cubic = judged("cubic", file, tmp_path, cases=["HALF"])
    assert cubic.rows[0].verdict == "fail"
    assert "pass.1" in cubic.rows[0].why
    assert cubic.rows[0].points[0]["checks"][1]["left"] == pytest.approx(0.7, abs=0.05)
    assert judged("none", file, tmp_path, cases=["HALF"]).rows[0].verdict in ("fail", "inconclusive")
    assert verdicts(judged("bbr3", file, tmp_path, cases=["STATE"])) == {"STATE": "pass"}


def test_a_mutant_fails_by_the_check_that_names_its_mistake(file: Path, tmp_path: Path) -> None:
    right = judged("mine", file, tmp_path, cases=["HALF"], own={"mine": Halving}, jobs=1)
    wrong = judged("mine", file, tmp_path, cases=["HALF"], own={"mine": ForgottenCut}, jobs=1)
    assert verdicts(right) == {"HALF": "pass"}
    assert verdicts(wrong) == {"HALF": "fail"}
    failed = {c["name"] for p in wrong.rows[0].points for c in p["checks"] if c["holds"] is False}
    assert failed == {"pass.1"}


def test_the_bytes_do_not_depend_on_jobs_order_subset_or_store(file: Path, tmp_path: Path) -> None:
    def rows(found: Verdicts, id: str) -> str:
        return json.dumps([r.to_json_dict() for r in found.rows if r.id == id])

    one = judged("reno", file, tmp_path / "a", jobs=1)
    two = judged("reno", file, tmp_path / "b", jobs=2)
    again = judged("reno", file, tmp_path / "b", jobs=2)
    assert one.made > 0
    assert again.made == 0
    texts = []
    for k, found in enumerate((one, two, again)):
        folder = found.save(tmp_path / f"out{k}")
        texts.append((folder / "judge.json").read_bytes() + (folder / "report.html").read_bytes())
        assert (folder / "data" / "HALF-near.parquet").read_bytes() == (
            tmp_path / "out0" / "data" / "HALF-near.parquet"
        ).read_bytes()
    assert texts[0] == texts[1] == texts[2]
    subset = judged("reno", file, tmp_path / "c", cases=["ha*"])
    assert rows(subset, "HALF") == rows(one, "HALF")
    parts = HALVES.split("[[case]]")
    other = tmp_path / "other.toml"
    other.write_text("[[case]]".join(["", *reversed(parts[1:])]), encoding="utf-8")
    turned = judged("reno", other, tmp_path / "d")
    kept = [{**json.loads(rows(found, "HALF"))[0], "suite": ""} for found in (one, turned)]
    assert kept[0] == kept[1]


def test_paths_move_with_vary_and_quick_has_fewer(file: Path, tmp_path: Path) -> None:
    (case, *_) = load_suite(file).cases
    moved = varied(case.paths[0], 7, case.id)
    assert moved.parameters["rate"] != case.paths[0].parameters["rate"]
    for name in ("rate", "rtt", "buffer_bdp"):
        assert 0.8 <= moved.parameters[name] / case.paths[0].parameters[name] <= 1.25
    assert moved.parameters["low"] == 0.45
    assert varied(case.paths[0], 0, case.id) is case.paths[0]
    found = judged("reno", file, tmp_path, cases=["HALF"], quick=True, vary=7)
    assert [p["path"] for p in found.rows[0].points] == ["near"]
    assert found.rows[0].verdict == "pass"


def test_values_of_a_path_stand_in_the_scenario_with_their_units() -> None:
    own = 'duration = "3 * {rtt} + 2 s"\nlink.bn.queue.packets = "{bdp} * 2 packets"'
    change = "[[case.scenario.at]]\nt = '1 s'\nset = { 'link.bn.rate' = '0.4 * {rate}' }\n[case.paths]"
    text = HALVES.replace('duration = "8 s"', own).replace("[case.paths]", change, 1)
    case = parse_cases(text, "x")[0]
    made = scenario_text(case, case.paths[0], "reno", 1)
    assert 'duration = "2120000000 ns"' in made
    assert "packets = 67" in made  # 2 * 33.33, whole
    assert '"link.bn.rate" = "4000000 bit/s"' in made
    assert 'delay = "20000000 ns"' in made


def test_another_stack_takes_the_place_of_linux(file: Path, tmp_path: Path) -> None:
    """In every flow for which the case writes `linux-6`, and in no other."""
    (case,) = [c for c in load_suite("rfc9743").cases if c.id == "CCE-06"]
    made = scenario_text(case, case.paths[0], "reno", 1, profile="ns2")
    assert (
        made.count('profile = "ns2"') == scenario_text(case, case.paths[0], "reno", 1).count('profile = "linux-6"') > 1
    )
    assert "linux-6" not in made
    own = HALVES.replace("[case.scenario]", '[case.scenario]\nflow.judged.tcp.profile = "inet"', 1)
    case = parse_cases(own, "x")[0]
    assert 'profile = "inet"' in scenario_text(case, case.paths[0], "reno", 1, profile="ns2")
    options: Any = {"cases": ["HALF"], "quick": True}
    usual = judged("reno", file, tmp_path, **options)
    other = judged("reno", file, tmp_path, profile="rfc", **options)
    assert (usual.made, other.made) == (1, 1)
    assert [v.to_json_dict()["profile"] for v in (usual, other)] == ["linux-6", "rfc"]
    assert usual.rows[0].points[0]["scenario"] != other.rows[0].points[0]["scenario"]
    page = (other.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert "; profile rfc" in page
    assert "--profile rfc" in page
    assert "profile = &#34;rfc&#34;" in page
    # What is named as the default is the same runs.
    assert judged("reno", file, tmp_path, profile="linux-6", **options).made == 0
    with pytest.raises(lh.LasthopError, match=r"there is no profile 'linux6'(?s:.)*linux-6, "):
        judged("reno", file, tmp_path, profile="linux6", **options)


def test_the_bundled_suites_are_right_and_their_numbers_unique() -> None:
    assert "bbr" in bundled()
    for name in bundled():
        suite = load_suite(name)
        assert suite.source
        assert all(case.title and case.source for case in suite.cases)


def test_the_command(file: Path, tmp_path: Path) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(main, ["judge", *words])

    out, store = str(tmp_path / "out"), str(tmp_path / "store")
    done = run("cubic", "--file", str(file), "--case", "HALF", "--out", out, "--store", store, "--gate")
    assert done.exit_code == 4, done.output
    assert "HALF" in done.output
    assert {p.name for p in Path(out).iterdir()} == {"judge.json", "timing.json", "report.html", "data"}
    content = json.loads((Path(out) / "judge.json").read_text(encoding="utf-8"))
    assert content["counts"] == {"fail": 1}
    assert (Path(out) / content["rows"][0]["points"][0]["evidence"][0]).is_file()
    page = (Path(out) / "report.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert 'href="http' not in page
    for name in ("Scorecard of cubic", "HALF", "10 % about the half", "RFC 5681"):
        assert name in page
    assert f'<span class="name">{content["rows"][0]["title"]}</span></a>' in page
    assert run("--file", str(file)).exit_code == 0
    assert "bbr" in run("--list").output
    assert "there is no profile 'bsd'" in run("reno", "--file", str(file), "--profile", "bsd").output
    assert "HALF" in run("--list", "--suite", str(file)).output
    plan = run("reno", "--file", str(file), "--plan", "--json", "--store", str(tmp_path / "none"))
    assert json.loads(plan.output)["runs"] == [3, 3], plan.output


@pytest.mark.parametrize("name", ["bbr.state", "mine.phase"])
def test_a_file_is_checked_with_a_control_that_has_its_variables(name: str, tmp_path: Path) -> None:
    """CUBIC, with which others are checked, has neither variable.

    No built-in control has the second.
    """
    file = tmp_path / "trigger.toml"
    kind = "" if name == "bbr.state" else ": text"
    file.write_text(
        f'''[case]
id = "TRIGGER"
title = "a trigger on a state"
source = "this test"
observables = ["{name}{kind}"]
pass = ["exists(first(enter('{name}', 'Drain')))"]
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms" }}
[[case.scenario.when]]
var = "{name}"
becomes = "Drain"
set = {{ "link.bn.rate" = "0.5 * {{rate}}" }}
'''
    )
    done = CliRunner().invoke(main, ["judge", "--file", str(file)])
    assert done.exit_code == 0, done.output
    file.write_text(file.read_text().replace("link.bn.rate", "link.nb.rate"))
    wrong = CliRunner().invoke(main, ["judge", "--file", str(file)]).output
    assert "nothing is called `nb`" in wrong
    assert "trigger.toml:12:26\n" in wrong


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cubbic", "--suite", "bbr"], "did you mean 'cubic'?"),
        (["cubic", "--suite", "brb"], "did you mean 'bbr'?"),
        (["cubic", "--suite", "bbr", "--case", "X-*"], "no case fits 'X-*'"),
        (["nowhere.py:Mine"], "there is no file 'nowhere.py'"),
        (["mine.py"], "mine.py:CLASS"),
        (["cubic", "--cc", "cubic=a.py:B", "--suite", "bbr"], "name of a built-in control"),
        (["cubic", "--cc", "x", "--suite", "bbr"], "NAME=FILE.py:CLASS"),
    ],
)
def test_a_wrong_command_line_says_what_to_do(words: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["judge", *words, "--store", str(tmp_path)])
    assert done.exit_code == 1
    assert message in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('duration = "8 s"', 'duraton = "8 s"', "duraton"),
        ('duration = "8 s"', 'duration = "8 parsec"', "`parsec` is not a unit"),
        ('duration = "8 s"', 'duration = "{nope} * 2"', "has no 'nope'"),
        ('duration = "8 s"', 'duration = "{rate} + {rtt}"', "different quantities"),
        ('duration = "8 s"', "flow.judged.tcp.wormhole = 3", "wormhole"),
        ('duration = "8 s"', '[[case.scenario.wenn]]\nvar = "cwnd"', "wenn"),
        ('duration = "8 s"', 'link.bn.rate = "{rate} ^ 99999"', "arithmetic of quantities"),
    ],
)
def test_a_wrong_scenario_is_an_error_before_any_run(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(HALVES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(lh.LasthopError) as error:
        lh.judge("reno", [str(path)], store=tmp_path)
    assert message in str(error.value)
    assert "help:" in str(error.value)
    assert not (tmp_path / "runs").exists()


def test_why_says_when_a_condition_broke_first_and_with_which_values(tmp_path: Path) -> None:
    """Slow start from 10 segments: the window is above 12 at the first ACK after the second."""
    text = """[case]
id = "W"
title = "t"
source = "s"
pass = ["1 < 2 and all(cwnd <= 12 or inflight < 0, start, end)", "all(cwnd <= 1e6, start, end)"]
[case.let]
e = "first(rises(cwnd > 12))"
[case.shown]
broke = "time(e)"
value = "at(cwnd, e)"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }
[case.scenario]
duration = "1 s"
"""
    (tmp_path / "w.toml").write_text(text, encoding="utf-8")
    (row,) = lh.judge("reno", [tmp_path / "w.toml"], store=tmp_path, jobs=1).rows
    (point,) = row.points
    first = point["checks"][0]["first"]
    assert point["values"] == {"broke": first["time_s"], "value": first["values"]["cwnd"]}
    assert f"first at {first['time_s']:.5g} s: cwnd is {first['values']['cwnd']:g}" in row.why
    assert "first" not in point["checks"][1]
    (sides,) = row.shown[0]["sides"]
    assert [side["text"] for side in sides["of"]] == ["cwnd", "12"]
    assert {value for _, value in sides["of"][1]["points"]} == {12.0}
