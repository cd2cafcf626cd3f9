"""The report of a campaign, and its figures as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lasthop import LasthopError
from lasthop.campaign.results import CampaignResults
from lasthop.cli import main
from lasthop.report.campaign import campaign_report, draw_all, figure_specs, write
from tests.campaign import folder, synthetic

FAILURE: dict[str, Any] = {
    "buffer": "50 kB", "aqm": "none", "cc": "reno", "seed": 3, "metric": "rtt", "reason": "no row <fits>",
}  # fmt: skip


def load(where: Path) -> CampaignResults:
    return CampaignResults.load(where)


def test_the_report_has_all_that_is_needed_and_needs_no_other_file(tmp_path: Path) -> None:
    results = load(folder.write(tmp_path / "r", failures=[FAILURE]))
    html = campaign_report(results)
    for heading in ("What was swept", "Figures", "Points", "Failures", "Plan and cost", "How to repeat it"):
        assert f"<h2>{heading}</h2>" in html
    assert "key.of.buffer" in html
    assert "the text of goodput" in html
    assert "no row &lt;fits&gt;" in html
    assert "lasthop sweep bloat.toml" in html
    assert html.count('src="data:image/svg+xml;charset=utf-8,') == 1
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)
    assert html.count("<tr><td") >= 36


def test_a_point_that_the_rule_leaves_open_is_named_undecided(tmp_path: Path) -> None:
    metrics = synthetic.one("ms", lambda at, s: 10.0 + (0.001 if at["cc"] == "reno" else 5) * synthetic.noise(s))
    table = synthetic.table({"cc": ["reno", "bbr"]}, metrics)
    html = campaign_report(load(folder.write(tmp_path / "r", table, toml="", until="ci95(m) < 1 %, min 5, max 5")))
    assert "1 point is undecided" in html
    assert html.count('<span class="unclear">undecided</span>') == 1


def test_the_cost_is_that_of_all_runs_and_of_the_last_call(tmp_path: Path) -> None:
    runs = {"planned": 180, "done": 180, "taken": 170, "failed": 4}
    about: dict[str, Any] = {
        "cpu_seconds": 2.0,
        "cpu_seconds_in_all": 64.0,
        "seconds": 1.5,
        "until": "ci95(rtt) < 1 %, min 5, max 5",
    }
    html = campaign_report(load(folder.write(tmp_path / "r", runs=runs, **about)))
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", html))
    assert facts["Processor time of all runs"] == "64 s"
    assert (facts["Made by the last call"], facts["Processor time of its runs"]) == ("6", "2 s")
    assert facts["Time of the last call"] == "1.5 s"
    assert facts["Seeds"] == "5 at a point, the first of 1, 2, 3, 4, 5, ..."


def test_the_report_says_why_a_point_is_undecided(tmp_path: Path) -> None:
    metrics = synthetic.one("ms", lambda at, s: None if at["cc"] == "none" else 10.0 + s)
    looks = [{"point": 0, "reached": False, "why": "no run has a value of m"}]
    where = folder.write(
        tmp_path / "r", synthetic.table({"cc": ["none", "bbr"]}, metrics), toml="",
        until="ci95(m) < 0.1 %, min 5, max 12", looks=looks, points=[["none"], ["bbr"]],
    )  # fmt: skip
    html = campaign_report(load(where))
    assert "Undecided: 1 as no run has a value of m; 1 as runs are missing." in html


def test_points_at_which_seeds_change_nothing_are_named_at_the_head(tmp_path: Path) -> None:
    metrics = synthetic.one("ms", lambda at, s: 10.0 + (s if at["cc"] == "bbr" else 0))
    html = campaign_report(
        load(folder.write(tmp_path / "r", synthetic.table({"cc": ["reno", "bbr"]}, metrics), toml=""))
    )
    said = "Seeds change nothing at 1 point: all runs there are equal; scenario.jitter makes runs differ."
    assert said in html.partition("<h2>")[0]
    assert "Seeds change nothing" not in campaign_report(load(folder.write(tmp_path / "s")))


def test_incomplete_results_say_so_at_the_head(tmp_path: Path) -> None:
    what = {"what": "5 of 12 runs are finished", "finished": 5, "planned": 12}
    html = campaign_report(load(folder.write(tmp_path / "r", incomplete=what)))
    assert "These are no whole results: 5 of 12 runs are finished." in html.partition("<h2>")[0]
    for command in (["results"], ["compare", "--by", "cc"], ["report"]):
        done = CliRunner().invoke(main, [command[0], str(tmp_path / "r"), *command[1:]])
        assert (done.exit_code, "5 of 12 runs are finished" in done.stderr) == (0, True), done.output


def test_figures_are_written_in_three_formats_beside_the_report(tmp_path: Path) -> None:
    where = folder.write(tmp_path / "r")
    written = write(where, load(where))
    names = ["figures/delay.pdf", "figures/delay.svg", "figures/delay.png", "report.html"]
    assert [str(p.relative_to(where)) for p in written] == names
    assert all(p.stat().st_size > 1000 for p in written)


def test_a_campaign_without_figures_gets_one_for_each_metric(tmp_path: Path) -> None:
    results = load(folder.write(tmp_path / "r", toml=""))
    specs = figure_specs(results)
    assert [(s.kind, s.metric, s.x, s.lines, s.columns) for s in specs] == [
        ("line", ("goodput",), "buffer", "aqm", "cc"),
        ("line", ("rtt",), "buffer", "aqm", "cc"),
    ]
    axes: dict[str, list[Any]] = {c: [1, 2] for c in "abcde"}
    many = synthetic.table(axes, synthetic.one("s", lambda _at, s: float(s)), seeds=[1])
    (spec,) = figure_specs(load(folder.write(tmp_path / "many", many, toml="")))
    assert spec.kind == "rank"


def test_a_campaign_without_a_value_has_a_report_without_figures(tmp_path: Path) -> None:
    empty = synthetic.table({"cc": ["reno"]}, synthetic.one("s", lambda _at, _s: None))
    for n, table in enumerate((empty, empty.slice(0, 0))):
        results = load(folder.write(tmp_path / str(n), table, toml=""))
        assert draw_all(results) == []
        assert "No run has a value" in campaign_report(results)


def test_a_figure_that_cannot_be_drawn_costs_neither_the_others_nor_the_report(tmp_path: Path) -> None:
    axes: dict[str, list[Any]] = {"cc": ["reno", "cubic"]}
    metrics = synthetic.one("s", lambda _at, s: float(s)) | {"b": ("s", lambda _at, _s: None)}
    table = synthetic.table(axes, metrics)
    toml = '[figure.none]\nkind = "rank"\nmetric = "b"\n[figure.some]\nkind = "rank"\nmetric = "m"\n'
    results = load(folder.write(tmp_path / "r", table, toml=toml))
    out = tmp_path / "out"
    out.mkdir()
    assert {path.name for path in write(out, results)} == {"some.pdf", "some.svg", "some.png", "report.html"}
    assert "no run has a value of &#39;b&#39;" in (out / "report.html").read_text(encoding="utf-8")


def test_a_figure_that_does_not_fit_is_told_with_its_key(tmp_path: Path) -> None:
    toml = '[figure.f]\nkind = "line"\nx = "bufer"\n'
    with pytest.raises(LasthopError, match=r"figure.f.x.*\n.*did you mean 'buffer'"):
        campaign_report(load(folder.write(tmp_path / "r", toml=toml)))


def test_the_command_makes_the_report_of_a_campaign(tmp_path: Path) -> None:
    where = folder.write(tmp_path / "r")
    done = CliRunner().invoke(main, ["report", str(where)])
    assert done.exit_code == 0, done.output
    assert "<h2>What was swept</h2>" in (where / "report.html").read_text(encoding="utf-8")
