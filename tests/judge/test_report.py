"""The page of a judgement: numbers, names and legends that can be read.

And the figures that a suite asks for.
"""

from __future__ import annotations

import re
import shlex
from html import unescape
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.collections import LineCollection

import lasthop as lh
from lasthop.cli import main
from lasthop.judging._words import number
from lasthop.judging.call import Call
from lasthop.judging.control import control_of
from lasthop.judging.figures import contest_figure, course_figure, front_figure, state_colours
from lasthop.judging.reading import parse_cases
from lasthop.judging.report import _compared, _names, _sentence, _values
from lasthop.judging.suite import SuiteFigure, load_suite

CASE = """[case]
id = "C"
title = "t"
source = "s"
base = "shared"
seeds = 3
[case.metric.loss]
value = "loss_of('judged', late, end) * 100"
unit = "%"
better = "smaller"
[case.metric.only_p]
value = "loss_of('judged', late, end) * 100"
paths = ["p"]
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }
q = { rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 4 }
"""
OWN = """import lasthop as lh


class Mine(lh.CongestionControl):
    l4s = True

    def on_ack(self, ack):
        pass

    def on_loss(self, loss):
        pass
"""
PROMISE = """[case]
id = "PROMISE-1"
title = "t"
source = "s"
pass = ["max(cwnd, start, end) * {rtt} <= 0.5 s"]
[case.paths]
fast = { rate = "10 Mbit/s", rtt = "10 ms" }
slow = { rate = "10 Mbit/s", rtt = "100 ms" }
[case.scenario]
duration = "1 s"
"""
CONTROLS = ["a-long-name-of-a-control", "reno", "cubic", "bbr3", "alone"]


def entry(mean: float | None) -> dict[str, Any]:
    return {"mean": mean, "ci95": None if mean is None else [mean - 1, mean + 1], "n": 3}


def points() -> list[dict[str, Any]]:
    of = {c: {"loss": entry(float(k))} for k, c in enumerate(CONTROLS)}
    return [
        {"path": "p", "compare": {c: {**m, "only_p": entry(None)} for c, m in of.items()}},
        {"path": "q", "compare": of},
    ]


def boxes(figure: Any, artists: Any) -> list[Any]:
    figure.canvas.draw()
    return [artist.get_window_extent() for artist in artists]


@pytest.mark.parametrize(
    ("value", "shown"), [(2.2204e-16, "0"), (-1e-17, "0"), (0.0, "0"), (1e-9, "1e-09"), (None, "–"), ("inf", "inf")]
)
def test_what_rounding_leaves_of_zero_is_zero(value: Any, shown: str) -> None:
    assert number(value) == shown


def test_names_of_moments_and_the_legend_can_be_read() -> None:
    moments = {"first_loss": 5.0, "by_rate": 5.01, "by_inflight": 5.02, "late": 5.03, "after": 9.9}
    states = [[k / 2, f"ProbeBW_STATE_{k}"] for k in range(10)]
    shown = {"series": {"cwnd": [[0.0, 1.0], [10.0, 9.0]]}, "states": {"bbr.state": states}, "moments": moments}
    for small in (True, False):
        figure = course_figure(shown, ["bbr.state", "cwnd"], small=small)
        names = boxes(figure, figure.axes[0].texts)
        assert len(names) == (0 if small else len(moments))  # the first page explains no names
        assert not [pair for pair in combinations(names, 2) if pair[0].overlaps(pair[1])]
        (legend,) = boxes(figure, figure.legends)
        whole = figure.bbox
        assert whole.x0 <= legend.x0 < legend.x1 <= whole.x1
        assert whole.y0 <= legend.y0 < legend.y1 <= whole.y1
        assert not any(name.overlaps(legend) for name in names)


def test_a_state_has_one_colour_in_all_figures() -> None:
    first = state_colours("bbr.state", ["ProbeBW_UP", "Drain"])
    then = state_colours("bbr.state", ["Startup", "Drain", "ProbeBW_CRUISE", "ProbeBW_UP", "ProbeRTT"])
    assert {s: first[s] for s in ("ProbeBW_UP", "Drain")} == {s: then[s] for s in ("ProbeBW_UP", "Drain")}
    assert len(set(then.values())) == len(then) == 7
    # Of a control of the user's: neither the order nor the length of the run changes a colour.
    own = state_colours("mine.state", ["a", "b", "c"])
    assert own == state_colours("mine.state", ["c", "a", "b", "a"])
    assert len(set(own.values())) == 3


@pytest.mark.parametrize("x", ["loss", "buffer_bdp", "bound", "path"])
def test_a_figure_of_the_first_page_has_what_is_known(x: str) -> None:
    (case,) = parse_cases(CASE, "x")
    figure = front_figure(SuiteFigure("t", "C", x, "loss"), case, points(), CONTROLS)
    (legend,) = boxes(figure, figure.legends)
    assert figure.bbox.x0 <= legend.x0
    assert legend.x1 <= figure.bbox.x1
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [c for c in CONTROLS if x != "bound" or c not in ("reno", "cubic")]


def test_a_baseline_that_is_judged_is_in_the_figure_of_its_bound() -> None:
    (case,) = parse_cases(CASE, "x")
    controls = ["cubic", "reno", "bbr3"]
    of = {c: {"loss": entry(float(k))} for k, c in enumerate(controls)}
    figure = front_figure(SuiteFigure("t", "C", "bound", "loss"), case, [{"path": "p", "compare": of}], controls)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["cubic", "bbr3"]


def test_a_metric_of_some_paths_has_those_alone() -> None:
    (case,) = parse_cases(CASE, "x")
    figure = contest_figure(case.metrics, points(), CONTROLS)
    labels = [[t.get_text() for t in ax.get_xticklabels()] for ax in figure.axes]
    assert labels == [["p", "q"], ["p"]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('x = "path"', 'x = "pathh"', "did you mean 'path'?"),
        ('y = "loss"', 'y = "los"', "did you mean 'loss'?"),
        ('case = "C"', 'case = "D"', "'D' is no comparative case"),
        ('title = "F"', 'titel = "F"', "a figure has title, case, x and y"),
    ],
)
def test_a_wrong_figure_of_a_suite_has_a_remedy(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CASE, encoding="utf-8")
    head = '[suite]\ntitle = "t"\nsource = "s"\n[[suite.figure]]\ntitle = "F"\ncase = "C"\nx = "path"\ny = "loss"\n'
    (tmp_path / "suite.toml").write_text(head, encoding="utf-8")
    assert len(load_suite(tmp_path).figures) == 1
    (tmp_path / "suite.toml").write_text(head.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(lh.LasthopError) as error:
        load_suite(tmp_path)
    assert message in str(error.value)
    assert "suite.toml" in str(error.value)


def test_a_metric_that_no_path_of_this_form_has_is_left_out() -> None:
    """`only_p` is of path p, and the quick form may run q alone.

    Then there is neither a table without rows nor empty axes.
    """
    (case,) = parse_cases(CASE, "cases.toml")
    row: Any = SimpleNamespace(id="C", case=case, points=[{**points()[1], "flags": [], "evidence": []}])
    shown = _compared(row, CONTROLS[0])
    assert "loss" in shown
    assert "only" not in shown
    row.points = [{**p, "flags": [], "evidence": []} for p in points()]
    assert "only_p" in _compared(row, CONTROLS[0])


def test_the_name_of_a_value_keeps_its_letters() -> None:
    assert _sentence("left_after_one 0.69, left_after_four 0.7") == "left_after_one 0.69, left_after_four 0.7."
    assert _sentence("the window falls once") == "The window falls once."
    assert _sentence("a: pass.2 does not hold") == "a: pass.2 does not hold."


def test_another_build_of_a_built_in_control_has_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = control_of("bbr3").hash
    assert control_of("bbr3").hash == before
    monkeypatch.setattr("lasthop.judging.control.engine", lambda: "another build")
    assert control_of("bbr3").hash != before


def test_run_it_again_is_a_command_that_judges_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back by the command itself, of an own control in a file, with the form and the path."""
    (tmp_path / "my own").mkdir()
    (tmp_path / "my own" / "my_cc.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "promise.toml").write_text(PROMISE, encoding="utf-8")
    args = ["my own/my_cc.py:Mine", "--suite", "promise.toml", "--quick", "--vary", "3", "--jobs", "1"]
    monkeypatch.chdir(tmp_path)
    first = CliRunner().invoke(main, ["judge", *args, "--store", "store", "--out", "a"])
    assert first.exit_code == 0, first.output
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"Run it again: <code>(.*?)</code>", page)
    words = shlex.split(unescape(command))
    assert words[:2] == ["lasthop", "judge"]
    again = CliRunner().invoke(main, [*words[1:], "--store", "store", "--out", "b"])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "a" / "judge.json").read_bytes() == (tmp_path / "b" / "judge.json").read_bytes()
    # The second path decides; its scenario has the keys that judging gives an L4S control.
    assert "Scenario of path slow" in page
    assert 'cc = "my-cc"' in unescape(page).replace("&#34;", '"')
    assert "l4s = true" in page


def test_a_call_in_python_and_a_mutant_are_given_again() -> None:
    own = Call("mine", {"promise": "promise.toml"}, made="Mine", quick=True)
    assert own.of_case("promise", "P-1") == (
        "lasthop.judge('mine', ['promise.toml'], cases=['P-1'], own={'mine': Mine}, quick=True)"
    )
    named = Call("mine", {}, own="my_cc.py:Mine")
    assert named.of_case("bbr", "BBR-01") == "lasthop judge mine --cc mine=my_cc.py:Mine --suite bbr --case BBR-01"
    mutant = Call("bbr3", mutant="drain-without-limit")
    assert mutant.of_case("bbr", "B").endswith("--case B --mutant drain-without-limit")


def test_labels_and_marks_of_a_comparative_figure_are_whole() -> None:
    """A unit in words takes several lines, and marks and bars at 0 are inside of the axes."""
    text = CASE.replace('unit = "%"', 'unit = "of the windows of ten seconds"', 1)
    (case,) = parse_cases(text, "x")
    figure: Any = contest_figure(case.metrics, points(), CONTROLS)
    assert figure.axes[0].get_ylabel().split("\n") == ["loss", "[of the windows of", "ten seconds]"]
    (label,) = boxes(figure, [figure.axes[0].yaxis.label])
    assert label.height <= figure.axes[0].get_window_extent().height
    low, _ = figure.axes[0].get_ylim()
    assert low < 0
    # The first control has a mean of 0 and an interval from -1 to 1: a share is not negative.
    lines = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    bars = [segment for c in lines for segment in c.get_segments()]
    assert bars
    assert min(y for segment in bars for _, y in segment) == 0


def test_a_negative_mean_keeps_its_interval() -> None:
    (case,) = parse_cases(CASE, "x")
    of = [{"path": p, "compare": {c: {"loss": entry(-2.0)} for c in CONTROLS}} for p in "pq"]
    figure = contest_figure([m for m in case.metrics if m.name == "loss"], of, CONTROLS)
    assert figure.axes[0].get_ylim()[0] < -3


def test_controls_of_one_buffer_stand_side_by_side() -> None:
    (case,) = parse_cases(CASE, "x")
    figure: Any = front_figure(SuiteFigure("t", "C", "buffer_bdp", "loss"), case, points(), CONTROLS)
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "4"]
    at = [x for line in axes.lines for x in np.asarray(line.get_xdata())]
    assert len(set(at)) == len(at) == 2 * len(CONTROLS)


def test_a_line_far_above_its_bound_has_a_logarithmic_axis() -> None:
    bound = {"variable": "cwnd", "check": "pass.1", "value": 2.0, "from_s": 1.0, "to_s": 10.0}
    for most, scale in ((39.0, "linear"), (41.0, "log")):
        shown = {
            "series": {"cwnd": [[0.0, 0.0], [0.5, most], [1.0, 1.0], [10.0, 3.0]]}, "states": {}, "moments": {},
            "thresholds": [bound],
        }  # fmt: skip
        (axes,) = course_figure(shown, ["cwnd"]).axes
        assert axes.get_yscale() == scale
        low, high = axes.get_ylim()
        assert low < 2.0 < most < high


def test_many_values_of_few_paths_have_a_line_each() -> None:
    """So that the table is not wider than the page."""
    shown = "\n".join(f'a_rather_long_name_of_a_value_{k} = "max(cwnd, start, end)"' for k in range(6))
    text = PROMISE.replace("[case.paths]", f'[case.shown]\n{shown}\n[case.let]\nmoment = "start"\n[case.paths]')
    (case,) = parse_cases(text, "x")
    row: Any = SimpleNamespace(
        case=case, points=[{"path": p, "values": dict.fromkeys(case.shown, 1)} for p in ("a", "b")]
    )
    assert re.findall(r"<th(?: class=[^>]*)?>(.*?)</th>", _values(row)) == ["value", "a", "b"]
    assert "moment = start" in _names(row)
    row.points = row.points * 4
    assert re.findall(r"<th(?: class=[^>]*)?>(.*?)</th>", _values(row)) == ["path", *case.shown]
