"""The keys of `[figure.NAME]`: read, checked, and refused with place and remedy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from lasthop.campaign.figures import KEYS, FigureError, FigureSpec

AXES: dict[str, list[Any]] = {"buffer": ["50 kB", "200 kB"], "aqm": ["none", "codel"], "cc": ["reno", "bbr"]}
METRICS = ["goodput", "rtt"]


def test_every_key_is_read() -> None:
    table = {
        "kind": "line",
        "metric": "rtt",
        "x": "buffer",
        "lines": "cc",
        "columns": "aqm",
        "where": {"aqm": ["none", "codel"], "cc": "reno"},
        "level": "99 %",
        "width": "page",
        "height": "6 cm",
        "x_scale": "log",
        "y_scale": "log",
        "x_label": "Buffer",
        "y_label": "Delay",
        "caption": "What waits.",
    }
    spec = FigureSpec.parse("delay", table)
    assert spec.metric == ("rtt",)
    assert spec.where == (("aqm", ("none", "codel")), ("cc", ("reno",)))
    assert (spec.level, spec.height, spec.width) == (0.99, 60.0, "page")
    spec.check(AXES, METRICS)
    others = {"rows", "y", "over", "column", "colour_scale"}
    assert {k for k, *_ in KEYS} == set(table) | others
    assert {f for f in FigureSpec.__dataclass_fields__ if f != "name"} == {k for k, *_ in KEYS}
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_the_guide_has_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "campaign-results.md").read_text(encoding="utf-8")
    for name, _, _, meaning in KEYS:
        assert f"| `{name}` |" in page
        assert meaning in page


def test_what_is_not_named_follows_from_the_campaign() -> None:
    spec = FigureSpec.parse("f", {"kind": "line", "lines": "cc", "columns": "aqm"}).completed(AXES, METRICS)
    assert (spec.x, spec.metric) == ("buffer", ("goodput",))
    heat = FigureSpec.parse("f", {"kind": "heat", "where": {"aqm": "none"}}).completed(AXES, METRICS)
    assert (heat.x, heat.y) == ("buffer", "cc")


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ({}, "figure.f.kind", "kinds are: line"),
        ({"kind": "lines"}, "figure.f.kind", "did you mean 'line'"),
        ({"kind": "line", "metrik": "rtt"}, "figure.f.metrik", "did you mean 'metric'"),
        ({"kind": "line", "x": 3}, "figure.f.x", "is a text, not 3"),
        ({"kind": "line", "metric": [1]}, "figure.f.metric", "list of texts"),
        ({"kind": "line", "level": "x"}, "figure.f.level", "is a share"),
        ({"kind": "line", "level": 2}, "figure.f.level", "outside of 0.5"),
        ({"kind": "line", "level": True}, "figure.f.level", "a boolean"),
        ({"kind": "line", "height": 60}, "figure.f.height", "units are mm"),
        ({"kind": "line", "height": "6 mm"}, "figure.f.height", "outside of 20"),
        ({"kind": "line", "where": "aqm"}, "figure.f.where", "is a table"),
        ({"kind": "line", "where": {"aqm": []}}, "figure.f.where.aqm", "list of labels"),
        ({"kind": "line", "over": ["aqm"]}, "figure.f.over", "kind 'line'"),
        ({"kind": "line", "colour_scale": "log"}, "figure.f.colour_scale", "means nothing"),
        ({"kind": "heat", "colour_scale": "lin"}, "figure.f.colour_scale", "did you mean 'linear'"),
        ({"kind": "rank", "x": "aqm"}, "figure.f.x", "means nothing"),
        ({"kind": "cdf", "column": "rtt"}, "figure.f.column", "TABLE.COLUMN"),
        ({"kind": "cdf", "column": "tcp.rtt_us", "metric": "rtt"}, "figure.f.column", "leave one out"),
        ({"kind": "line", "x": "cc", "lines": "cc"}, "figure.f.lines", "is 'x' already"),
        ({"kind": "line", "rows": "cc", "metric": ["rtt", "goodput"]}, "figure.f.rows", "rows of panels already"),
    ],
)
def test_a_mistake_in_the_table_names_its_key(table: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(FigureError) as caught:
        FigureSpec.parse("f", table)
    assert caught.value.key == key
    assert words in str(caught.value)
    assert caught.value.help
    assert caught.value.diagnostics[0]["key"] == key


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ({"kind": "line", "x": "bufer"}, "figure.f.x", "did you mean 'buffer'"),
        ({"kind": "line", "metric": "gooput"}, "figure.f.metric", "did you mean 'goodput'"),
        ({"kind": "line", "where": {"aqm": "cdel"}}, "figure.f.where.aqm", "did you mean 'codel'"),
        ({"kind": "line", "where": {"aqn": "codel"}}, "figure.f.where.aqn", "no axis 'aqn'"),
        ({"kind": "cdf", "over": ["aqn"]}, "figure.f.over", "no axis 'aqn'"),
        ({"kind": "cdf", "column": "tcp.rtt_us"}, "figure.f.column", 'keep = ["tcp"]'),
        ({"kind": "cdf", "column": "flows.goodput_bp"}, "figure.f.column", "did you mean 'goodput_bps'"),
        ({"kind": "cdf", "column": "flows.flow"}, "figure.f.column", "has no numbers"),
        ({"kind": "line", "lines": "cc"}, "figure.f", "axis 'aqm' has 2 labels and the figure shows it nowhere"),
        ({"kind": "cdf", "lines": "cc"}, "figure.f", "over = ['buffer']"),
    ],
)
def test_a_name_that_the_campaign_lacks_is_refused(table: dict[str, Any], key: str, words: str) -> None:
    spec = FigureSpec.parse("f", table)
    with pytest.raises(FigureError) as caught:
        spec.check(AXES, METRICS, keep=["flows"])
    assert caught.value.key == key
    assert words in str(caught.value)


def test_a_figure_of_a_campaign_with_one_label_an_axis_has_an_x() -> None:
    spec = FigureSpec.parse("f", {"kind": "line"})
    assert spec.completed({"cc": ["reno"]}, ["rtt"]).x == "cc"
    with pytest.raises(FigureError, match="no axis is left"):
        spec.completed({}, ["rtt"])


def test_a_name_that_is_no_file_is_refused() -> None:
    with pytest.raises(FigureError, match="no name of a figure"):
        FigureSpec.parse("../x", {"kind": "line"})
