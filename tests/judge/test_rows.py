"""Comparative rows of real runs: what a flag rests on, and what keeps it from being one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main
from lasthop.judging import contest, point
from lasthop.judging.judgement import Verdicts
from lasthop.judging.reading import parse_cases

#: Vegas has less in flight than Reno and CUBIC. That is called worse here.
CASE = """[case]
id = "R"
title = "t"
source = "s"
base = "shared"
seeds = 3
[case.metric.full]
value = "mean(inflight, late, end)"
unit = "segments"
better = "larger"
{bound}
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }}
[case.scenario]
duration = "5 s"
output.cc = "change"
"""


def case(bound: str = "") -> str:
    return CASE.format(bound=bound)


def test_a_reference_that_decides_nothing_runs_three_times(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    bound = 'most = "100"\nby = "a document, section 1"'
    text = case(bound).replace("seeds = 3", 'seeds = 5\nreferences = ["westwood"]')
    file.write_text(text, encoding="utf-8")
    found = lh.judge("reno", [file], store=tmp_path / "store", jobs=1)
    (row,) = found.rows
    (point,) = row.points
    assert {c: of["full"]["n"] for c, of in point["compare"].items()} == {"reno": 5, "cubic": 5, "westwood": 3}
    assert point["bounds"] == {"full": {"most": 100.0}}
    page = (found.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert "by path, reno, cubic: 5 runs; westwood: 3 runs" in page
    assert "at most 100" in page


def judged(store: Path, bound: str = "", cc: str = "vegas") -> Verdicts:
    file = store / "r.toml"
    file.write_text(case(bound), encoding="utf-8")
    return lh.judge(cc, [file], store=store / "store", jobs=1)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdicts]:
    store = tmp_path_factory.mktemp("rows")
    return store, judged(store)


def test_a_flag_can_be_worked_out_from_the_files(flagged: tuple[Path, Verdicts]) -> None:
    store, found = flagged
    folder = found.save(store / "out")
    (row,) = json.loads((folder / "judge.json").read_text(encoding="utf-8"))["rows"]
    assert row["verdict"] == "flag", row["why"]
    (of,) = row["points"]
    (flag,) = of["flags"]
    assert 0 < flag["again"] <= 0.01
    assert flag["exact"] is False
    for control, shown in of["compare"].items():
        assert sum(flag["values"][control]) / 3 == pytest.approx(shown["full"]["mean"], rel=1e-6)
        assert sum(flag["further"][control]) / 5 == pytest.approx(of["further"][control]["full"]["mean"], rel=1e-6)
        assert of["further"][control]["full"]["n"] == len(flag["further"][control]) == 5
    rows = pq.read_table(folder / of["evidence"][0]).to_pylist()
    for further, of_flag in ((False, flag["values"]), (True, flag["further"])):
        for control, values in of_flag.items():
            mine = [r["value"] for r in rows if (r["control"], r["further"]) == (control, further)]
            assert mine == pytest.approx(values, rel=1e-6)
    (definition,) = parse_cases(case(), "r.toml")
    assert {r["seed"] for r in rows} == {definition.seed(k) for k in range(8)}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"{flag['again']:.3g}" in page
    assert of["evidence"][0] in page


def test_the_files_do_not_depend_on_jobs(flagged: tuple[Path, Verdicts], tmp_path: Path) -> None:
    store, found = flagged
    one = found.save(store / "one")
    two = lh.judge("vegas", [store / "r.toml"], store=tmp_path, jobs=2).save(tmp_path / "two")
    for name in ("judge.json", "report.html", "data/R-p.parquet"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_what_is_not_confirmed_is_a_note(flagged: tuple[Path, Verdicts], monkeypatch: pytest.MonkeyPatch) -> None:
    store, found = flagged
    monkeypatch.setattr(contest, "_CONFIRM", 0.0)
    (row,) = judged(store).rows
    assert row.verdict == "shown"
    (note,) = row.notes
    assert note.startswith("Not confirmed by runs with further seeds (p = ")
    assert note.endswith(f"so no flag: {found.rows[0].why}")
    assert [f["metric"] for f in row.points[0]["fallen"]] == ["full"]


def of_seeds(first: int, last: int) -> Any:
    """Buffers that limit the runs of some replications."""
    (definition,) = parse_cases(case(), "r.toml")
    seeds = [definition.seed(k) for k in range(first, last)]

    def held_back(scenario: lh.Scenario, *_: Any) -> str | None:
        return "the test limited it" if scenario.seed in seeds else None

    return held_back


@pytest.mark.parametrize(("first", "last", "runs"), [(0, 3, 9), (3, 8, 24)])
def test_a_path_that_the_ends_limit_has_no_flag(
    first: int, last: int, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the runs of the case, which then need no confirmation, or in those that confirm."""
    monkeypatch.setattr(point, "held_back", of_seeds(first, last))
    found = judged(tmp_path)
    (row,) = found.rows
    assert row.verdict == "inconclusive"
    assert row.why == "p, vegas: the test limited it"
    assert found.made == runs


def test_a_bound_flags_on_a_path_that_the_ends_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point, "held_back", of_seeds(0, 3))
    (row,) = judged(tmp_path, 'most = "1"\nby = "nobody"').rows
    assert row.verdict == "flag"
    assert "is above 1 (nobody)" in row.why
    assert "the test limited it" in row.points[0]["why"]
    assert [f["bound"] for f in row.points[0]["flags"]] == [1.0]


def test_a_path_that_is_run_once_says_that_nothing_is_flagged(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text(case().replace("seeds = 3\n", ""), encoding="utf-8")
    (row,) = lh.judge("vegas", [file], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "shown"
    assert row.notes == ("One run has no p-value: nothing is flagged by comparison. Give the case `seeds`",)


def test_a_difference_without_noise_is_exact(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    text = case().replace('"shared"', '"one-flow"').replace("mean(", "max(")  # whole segments
    file.write_text(text, encoding="utf-8")
    found = lh.judge("vegas", [file], store=tmp_path / "store", jobs=1)
    (row,) = found.rows
    assert row.verdict == "flag"
    assert row.notes == ("No noise on p: all replications are equal, so the difference is exact",)
    assert found.made == 3 * 3
    assert "no noise: the difference is exact" in (found.save(tmp_path / "out") / "report.html").read_text("utf-8")


@pytest.mark.parametrize(("cc", "further"), [("vegas", 5 * 3), ("reno", 0)])
def test_the_plan_says_what_flags_would_cost(cc: str, further: int, tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text(case(), encoding="utf-8")
    words = ["judge", cc, "--file", str(file), "--plan", "--store", str(tmp_path / "store")]
    assert json.loads(CliRunner().invoke(main, [*words, "--json"]).output)["further"] == further
    said = f"Flags: up to {further} runs more, with further seeds, to confirm them"
    assert (said in CliRunner().invoke(main, words).output) is (further > 0)
