"""Figures of campaigns: each kind is drawn from a table, within its page.

In one size of letters.
"""

from __future__ import annotations

import io
import math
import warnings
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.collections import LineCollection
from matplotlib.text import Text

from lasthop import LasthopError
from lasthop.campaign.figures import FigureError, FigureSpec, draw
from lasthop.campaign.figures._draw import MOST_RANKED_MM
from lasthop.campaign.figures._quantities import measured, positions, shown_unit, steps
from lasthop.campaign.sequential import Rule
from lasthop.campaign.tidy import Tidy, tidy
from lasthop.plot._style import OKABE_ITO, Figure
from tests.campaign import synthetic

FIGURES: dict[str, dict[str, Any]] = {
    "lines": {"kind": "line", "metric": ["rtt", "goodput"], "lines": "cc", "columns": "aqm", "width": "page"},
    "lines of a column": {"kind": "line", "metric": "rtt", "lines": "cc", "columns": "aqm", "y_scale": "log"},
    "labels": {"kind": "line", "metric": "rtt", "x": "cc", "lines": "aqm", "where": {"buffer": "800 kB"}},
    "rows": {"kind": "line", "metric": "rtt", "x": "buffer", "lines": "cc", "rows": "aqm"},
    "heat": {"kind": "heat", "metric": "rtt", "x": "buffer", "y": "cc", "columns": "aqm", "width": "page"},
    "heat of a column": {"kind": "heat", "x": "cc", "y": "buffer", "where": {"aqm": "pie"}, "colour_scale": "log"},
    "distribution": {"kind": "cdf", "metric": "rtt", "lines": "cc", "columns": "aqm", "over": ["buffer"]},
    "ranking": {"kind": "rank", "metric": "rtt"},
    "ranking of two": {"kind": "rank", "metric": ["rtt", "goodput"], "width": "page", "where": {"cc": ["bbr", "reno"]}},
}
every = pytest.mark.parametrize("table", FIGURES.values(), ids=FIGURES.keys())


def drawn(table: dict[str, Any], results: Any = None) -> Figure:
    return draw(FigureSpec.parse("f", table), synthetic.table() if results is None else results)


def xy(line: Any) -> tuple[list[float], list[float]]:
    return list(line.get_xdata()), list(line.get_ydata())


def same(value: float | None, _at: dict[str, Any], _seed: int) -> float | None:
    return value


def outline(band: Any) -> Any:
    return np.asarray(band.get_paths()[0].vertices)


def texts(figure: Figure) -> list[Text]:
    """The texts that are seen."""
    figure.canvas.draw()
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


@every
def test_nothing_is_clipped_and_letters_have_one_size(table: dict[str, Any]) -> None:
    figure = drawn(table)
    found = texts(figure)
    assert {t.get_fontsize() for t in found} == {8.0}
    width, height = (25.4 * v for v in figure.get_size_inches())
    assert width == pytest.approx(180 if table.get("width") == "page" else 85)
    box = figure.get_tightbbox()
    assert 25.4 * box.x0 > -0.1
    assert 25.4 * box.y0 > -0.1
    assert 25.4 * box.x1 < width + 0.1
    assert 25.4 * box.y1 < height + 0.1


@every
def test_the_same_results_give_the_same_bytes_in_every_format(table: dict[str, Any]) -> None:
    one, other = drawn(table), drawn(table)
    for form, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        content = one.content(form)
        assert content.startswith(magic)
        assert form == "png" or content == other.content(form)


@every
def test_texts_of_ticks_do_not_meet(table: dict[str, Any]) -> None:
    figure = drawn(table)
    figure.canvas.draw()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            boxes = [t.get_window_extent() for t in axis.get_ticklabels() if t.get_visible() and t.get_text()]
            shown = [b for b in boxes if b.width and axes.bbox.padded(20).overlaps(b)]
            for one, other in pairwise(shown):
                assert not one.overlaps(other), [t.get_text() for t in axis.get_ticklabels()]


def test_a_curve_shows_means_in_the_unit_that_is_easily_read_and_a_band_their_intervals() -> None:
    figure = drawn({"kind": "line", "metric": "goodput", "lines": "cc", "where": {"aqm": "none"}})
    axes = figure.axes[0]
    assert axes.get_ylabel() == "goodput (Mbit/s)"
    assert axes.get_xlabel() == "buffer (kB)"
    assert axes.get_xscale() == "log"
    estimates = tidy(synthetic.table()).estimates("goodput", 0.95)
    points = [estimates[(b, "none", "reno")] for b in synthetic.AXES["buffer"]]
    x, y = xy(axes.lines[0])
    assert x == [50, 200, 800, 3200]
    assert y == pytest.approx([e.mean / 1e6 for e in points])
    band = outline(axes.collections[0])
    assert float(np.max(band[:, 1])) == pytest.approx(max(e.high for e in points) / 1e6)
    assert float(np.min(band[:, 1])) == pytest.approx(min(e.low for e in points) / 1e6)


def few(labels: dict[str, Any], seed: int) -> float:
    """Of two seeds 1 and 3: mean 2, and the t interval of one degree of freedom is 2 ± 12.706."""
    return float(1 + 2 * seed + labels["x"])


def less(labels: dict[str, Any], seed: int) -> float:
    """The same with a run below 0: -0.5 and 1.5."""
    return few(labels, seed) - 1.5


def ends_drawn(figure: Figure) -> list[float]:
    """The lower end of each interval that is drawn."""
    axes = figure.axes[0]
    bands = [float(np.min(outline(c)[:, 1])) for c in axes.collections if len(outline(c)) > 3]
    bars = [
        float(np.min(line[:, 1]))
        for c in axes.collections
        if isinstance(c, LineCollection)
        for line in c.get_segments()
    ]
    ranked = [min(xy(line)[0]) for line in axes.lines if len(xy(line)[0]) == 2 and len(set(xy(line)[1])) == 1]
    return [*bands, *bars, *ranked]


@pytest.mark.parametrize("kind", ["line", "labels", "rank"])
def test_intervals_end_at_0_where_no_run_has_less(kind: str) -> None:
    axes: dict[str, list[Any]] = {"x": [0, 1]} if kind == "line" else {"x": [0, 1], "cc": ["reno", "cubic"]}
    spec: dict[str, Any] = {"kind": "line", "x": "cc", "where": {"x": [0]}} if kind == "labels" else {"kind": kind}
    for value, least in ((few, 0.0), (less, 2 - 1.5 - 12.706)):
        figure = drawn(spec, synthetic.table(axes, synthetic.one("1", value), seeds=[0, 1]))
        assert min(ends_drawn(figure)) == pytest.approx(least, abs=1e-3)
        if kind == "rank":
            assert any("± 12" in t.get_text() or "± 13" in t.get_text() for t in texts(figure)), "numbers stay"


def test_curves_differ_in_colour_and_marker_and_dashes() -> None:
    figure = drawn({"kind": "line", "metric": "goodput", "lines": "cc", "where": {"aqm": "none"}})
    lines = figure.axes[0].lines
    assert [line.get_color() for line in lines] == list(OKABE_ITO[:3])
    assert len({line.get_marker() for line in lines}) == len({line.get_linestyle() for line in lines}) == 3


def test_labels_without_order_are_not_joined() -> None:
    lines = drawn(FIGURES["labels"]).axes[0].lines
    marked = [line for line in lines if line.get_marker() in ("o", "s", "^")]
    assert len(marked) == 3
    assert {line.get_linestyle() for line in marked} == {"None"}


def test_one_seed_is_an_open_marker_and_said() -> None:
    figure = drawn(
        {"kind": "line", "metric": "rtt", "lines": "cc", "where": {"aqm": "none"}}, synthetic.table(seeds=[1])
    )
    assert any("one seed, no interval" in t.get_text() for t in texts(figure))
    assert not [c for c in figure.axes[0].collections if any(np.size(p.vertices) for p in c.get_paths())]


def test_a_point_without_value_is_a_gap() -> None:
    metrics = synthetic.one("s", lambda at, s: None if at["x"] == 2 else float(s))
    figure = drawn({"kind": "line"}, synthetic.table({"x": [1, 2, 3, 4]}, metrics))
    assert [math.isnan(v) for v in xy(figure.axes[0].lines[0])[1]] == [False, True, False, False]


def test_a_metric_of_zeros_and_one_without_any_value_can_be_drawn() -> None:
    for value in (0.0, None, -5.0):
        metrics = synthetic.one("s", partial(same, value))
        for kind in ("line", "heat", "cdf"):
            results = synthetic.table({"x": [1, 2, 3], "y": ["a", "b"]}, metrics)
            places = {"lines": "y"} if kind == "line" else {"over": ["x", "y"]} if kind == "cdf" else {}
            assert drawn({"kind": kind, **places}, results).content("svg")


def test_a_distribution_over_runs_is_the_share_of_runs_up_to_a_value() -> None:
    metrics = synthetic.one("s", lambda _at, s: float(s))
    figure = drawn({"kind": "cdf"}, synthetic.table({"x": [1]}, metrics, seeds=[1, 2, 3, 4]))
    line = figure.axes[0].lines[0]
    assert xy(line) == ([1, 1, 2, 3, 4], [0, 0.25, 0.5, 0.75, 1.0])
    assert not figure.axes[0].collections


def test_the_band_of_a_distribution_is_that_of_dvoretzky_kiefer_and_wolfowitz() -> None:
    """Of 50 runs at 95 %: sqrt(ln 40 / 100) = 0.19206."""
    metrics = synthetic.one("s", lambda _at, s: float(s))
    figure = drawn({"kind": "cdf"}, synthetic.table({"x": [1]}, metrics, seeds=range(50)))
    band = outline(figure.axes[0].collections[0])
    at_25 = band[np.isclose(band[:, 0], 25.0)][:, 1]  # 26 of 50 runs are not above 25
    assert max(at_25) == pytest.approx(0.52 + 0.19206, abs=1e-5)


class Kept:
    """Results with a kept table: three rows of run 1, one row of run 2."""

    about: ClassVar[dict[str, Any]] = {}

    def table(self) -> pa.Table:
        return synthetic.table({"cc": ["reno"]}, synthetic.one("1", lambda _at, s: float(s)), seeds=[1, 2])

    def kept(self, name: str) -> pa.Table:
        assert name == "tcp"
        unit = pa.field("rtt_us", pa.int64(), metadata={"unit": "us"})
        schema = pa.schema([pa.field("cc", pa.string()), pa.field("seed", pa.int64()), unit])
        return pa.table([["reno"] * 4, [1, 1, 1, 2], [1000, 2000, None, 3000]], schema=schema)


def test_a_distribution_over_rows_weighs_each_run_alike() -> None:
    """Run 1 has 1 and 2 ms, run 2 has 3 ms: up to 2 ms lies half of the weight, not two thirds."""
    figure = drawn({"kind": "cdf", "column": "tcp.rtt_us"}, Kept())
    line = figure.axes[0].lines[0]
    assert figure.axes[0].get_xlabel() == "rtt (ms)"
    assert xy(line) == ([1, 1, 2, 3], [0, 0.25, 0.5, 1.0])
    with pytest.raises(FigureError, match=r"has no column 'rtt'.*\n.*rtt_us"):
        drawn({"kind": "cdf", "column": "tcp.rtt"}, Kept())
    with pytest.raises(LasthopError, match="draw from the results of a campaign"):
        drawn({"kind": "cdf", "column": "tcp.rtt_us"}, Kept().table())


def test_many_points_are_ranked_by_their_ends() -> None:
    metrics = synthetic.one("s", lambda at, s: float(at["x"] + s))
    figure = drawn({"kind": "rank"}, synthetic.table({"x": list(range(100))}, metrics))
    shown = [t.get_text() for t in texts(figure)]
    assert {"99", "0"} <= set(shown)
    assert f"{100 - sum(' ± ' in t for t in shown)} more" in shown
    assert 25.4 * figure.get_size_inches()[1] <= MOST_RANKED_MM


def test_a_ranking_of_two_metrics_has_no_numbers_where_they_would_cover_the_markers() -> None:
    axes: dict[str, list[Any]] = {"buffer": ["50 kB", "3200 kB"], "cc": ["reno", "cubic"], "aqm": ["none", "codel"]}
    metrics = {"delay": ("ms", lambda at, s: 10.0 + len(at["cc"]) * s), "goodput": ("bit/s", lambda _at, s: 1e7 * s)}
    results = synthetic.table(axes, metrics)
    narrow, wide = (
        drawn({"kind": "rank", "metric": ["delay", "goodput"], "width": width}, results) for width in ("column", "page")
    )
    assert not any("±" in t.get_text() for t in texts(narrow))
    assert sum("±" in t.get_text() for t in texts(wide)) == 16
    for figure in (narrow, wide):
        width = 25.4 * figure.get_size_inches()[0]
        assert all(a.get_position().width * width > 15 for a in figure.axes)
    several = {n: ("ms", lambda _at, s: float(s)) for n in ("a", "b", "c", "d")}
    with pytest.raises(FigureError, match=r"4 metrics have no room.*\n.*width = 'page'"):
        drawn({"kind": "rank", "metric": list(several)}, synthetic.table(axes, several))


def heat_of_a_column() -> Figure:
    axes: dict[str, list[Any]] = {
        "delay_of_the_link": ["5 ms", "20 ms"],
        "buffer": [50, 100, 200, 400],
        "cc": ["a", "b"],
    }
    metrics = synthetic.one("ms", lambda at, s: 12.3 * at["buffer"] / 50 + s)
    return drawn(
        {"kind": "heat", "x": "buffer", "y": "cc", "columns": "delay_of_the_link"}, synthetic.table(axes, metrics)
    )


def test_titles_wider_than_their_panels_name_the_axis_once_and_do_not_meet() -> None:
    figure = heat_of_a_column()
    boxes = [t.get_window_extent() for t in texts(figure) if " ms" in t.get_text()]
    assert [t.get_text() for t in texts(figure) if " ms" in t.get_text()] == ["5 ms", "20 ms"]
    assert not boxes[0].overlaps(boxes[1])
    assert sum("delay of the link" in t.get_text() for t in texts(figure)) == 1


def test_cells_of_a_narrow_heat_map_have_their_numbers_within_them() -> None:
    figure = heat_of_a_column()
    figure.canvas.draw()
    for axes in figure.axes[:2]:
        cells = axes.get_window_extent()
        numbers = [t.get_window_extent() for t in axes.texts]
        assert len(numbers) == 8
        assert all(b.width < cells.width / 4 and b.height < cells.height / 2 for b in numbers)


def test_a_vertical_title_longer_than_its_panel_is_broken() -> None:
    name = "a_metric_with_a_name_that_is_so_long_that_no_panel_holds_it_in_one_line"
    results = synthetic.table({"x": [1, 2]}, {name: ("Mbit/s", lambda at, s: at["x"] + 0.1 * s)})
    for kind in ("line", "heat"):
        figure = drawn({"kind": kind, "x": "x", **({"y": "x2"} if kind == "heat" else {})}, results_of(kind, results))
        figure.canvas.draw()
        top = figure.get_size_inches()[1] * figure.dpi
        (title,) = (t for t in texts(figure) if "metric" in t.get_text())
        assert "\n" in title.get_text()
        assert title.get_window_extent().y0 > -1
        assert title.get_window_extent().y1 < top + 1


def results_of(kind: str, results: pa.Table) -> pa.Table:
    """The table with a second axis, which a heat map needs."""
    if kind == "line":
        return results
    return results.add_column(1, "x2", results["x"])


def test_labels_without_a_font_are_written_as_code_points_and_nothing_is_warned_of() -> None:
    axes: dict[str, list[Any]] = {"缓冲": ["小", "大"], "cc": ["кубик", "a$b$ & 100 %"]}
    results = synthetic.table(axes, {"延迟": ("ms", lambda _at, s: 10.0 + s)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in ({"kind": "line", "x": "缓冲", "lines": "cc"}, {"kind": "heat"}, {"kind": "rank"}):
            figure = drawn(table, results)
            assert figure.content("png")
            shown = " ".join(t.get_text() for t in texts(figure))
            assert "кубик" in shown
            assert "a$b$ & 100 %" in shown
            assert "小" in shown or "[U+5C0F]" in shown


def test_a_distribution_after_a_stopping_rule_has_a_band_that_covers_at_each_look() -> None:
    """Of 50 runs at 95 % with 3 looks (40, 48, 50): sqrt(ln(2 * 3 / 0.05) / 100) = 0.21880."""
    rule = Rule.parse("ci95(m) < 1, min 40, max 50")
    assert rule.looks == (40, 48, 50)
    table = synthetic.table({"x": [1]}, synthetic.one("s", lambda _at, s: float(s)), seeds=range(50))
    band = outline(drawn({"kind": "cdf"}, Tidy(table, rule=rule)).axes[0].collections[0])
    assert max(band[np.isclose(band[:, 0], 25.0)][:, 1]) == pytest.approx(0.52 + 0.21880, abs=1e-5)


@pytest.mark.parametrize("kind", ["line", "heat", "rank"])
def test_long_labels_have_room(kind: str) -> None:
    axes: dict[str, list[Any]]
    axes = {"scheduler": ["proportional-fair", "round-robin", "max-throughput", "blind-equal-throughput"], "x": [1, 2]}
    results = synthetic.table(axes, synthetic.one("dB", lambda at, s: at["x"] + synthetic.noise(s)))
    places = {"line": {"x": "scheduler", "columns": "x"}, "heat": {"x": "scheduler", "y": "x"}, "rank": {}}[kind]
    figure = drawn({"kind": kind, **places}, results)
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert box.x0 > -0.01
    assert box.y0 > -0.01
    assert box.x1 < width + 0.01
    assert box.y1 < height + 0.01
    assert all(a.get_position().height * height * 25.4 > 15 for a in figure.axes)


def test_a_title_wider_than_a_panel_stands_once() -> None:
    name = "a long name of a scheduler"
    results = synthetic.table({name: [1, 2], "x": [1, 2, 3]}, synthetic.one("s", lambda _at, s: float(s)))
    titles = [a.get_xlabel() for a in drawn({"kind": "line", "x": name, "columns": "x"}, results).axes]
    assert titles == ["", name, ""]


def test_too_many_curves_or_panels_are_refused() -> None:
    metrics = synthetic.one("s", lambda at, s: float(s))
    wide = synthetic.table({"x": [1, 2], "y": list(range(70))}, metrics)
    with pytest.raises(FigureError, match="70 curves"):
        drawn({"kind": "line", "x": "x", "lines": "y"}, wide)
    with pytest.raises(FigureError, match="70 panels"):
        drawn({"kind": "line", "x": "x", "columns": "y"}, wide)
    with pytest.raises(FigureError, match="not above 0"):
        drawn({"kind": "line", "x": "y", "where": {"x": 1}, "x_scale": "log"}, wide)


def test_labels_stand_at_their_values() -> None:
    found = positions(["50 kB", "1 MB", "0.2 MB"])
    assert (found.at, found.unit, found.numeric, found.by_factor) == ((50, 1000, 200), "kB", True, True)
    assert positions(["10 ms", "20 ms", "30 ms"]).by_factor is False
    assert positions([1, 2.5, 3]).texts == ("1", "2.5", "3")
    assert positions(["10 Mbit/s", "1 Gbit/s"]).unit in ("Mbit/s", "Gbit/s")
    assert positions(["5 Mbps", "10 Mbps"]).unit == "Mbit/s"
    for labels in (["50 kB", "infinity"], ["10 ms", "10 kB"], ["a", "b"], [True, False], ["1000 kB", "1 MB"]):
        mixed = positions(labels)
        assert (mixed.at, mixed.numeric) == ((0, 1), False)


def test_labels_that_are_numbers_have_the_unit_of_their_column() -> None:
    results = synthetic.table({"buffer": [50, 200, 800], "cc": ["reno"]}, synthetic.one("s", lambda _at, s: float(s)))
    kb = results.schema.field("buffer").with_metadata({"unit": "kB"})
    results = results.cast(results.schema.set(0, kb))
    assert drawn({"kind": "line", "x": "buffer"}, results).axes[0].get_xlabel() == "buffer (kB)"
    named = [t.get_text() for t in texts(drawn({"kind": "rank"}, results))]
    assert "200 kB" in named
    titles = drawn({"kind": "line", "x": "cc", "columns": "buffer"}, results).axes
    assert [a.get_title() for a in titles] == ["buffer: 50 kB", "buffer: 200 kB", "buffer: 800 kB"]


def test_units_have_steps_of_their_own() -> None:
    assert steps("dB", 0, 12) == [0, 3, 6, 9, 12]
    assert steps("min", 0, 61) == [0, 15, 30, 45, 60]
    assert steps("KiB", 0, 1000) == [0, 256, 512, 768]
    assert steps("ms", 0, 10) is None
    assert shown_unit("bit/s", 3.1e7) == (1e-6, "Mbit/s")
    assert shown_unit("s", 0.13) == (1e3, "ms")
    assert shown_unit("Mbit/s", 0.001) == (1, "Mbit/s")


def test_a_value_has_as_many_digits_as_its_interval() -> None:
    assert measured(31.2345, 30.8025, 31.6665) == "31.23 ± 0.43"
    assert measured(788.0, 477.8, 1098.2) == "788 ± 310"
    assert measured(-0.01, -1.61, 1.59) == "0.0 ± 1.6"
    assert measured(5.0, 5.0, 5.0) == "5 ± 0"
    assert measured(5.25, -math.inf, math.inf) == "5.25"
    assert measured(math.nan, -math.inf, math.inf) == "–"
    assert measured(19.1, 16.2, 37.8) == "19 (16 to 38)"


def test_a_figure_is_written_as_png_for_the_eye() -> None:
    out = io.BytesIO()
    drawn(FIGURES["lines"]).savefig(out, format="png", dpi=100)
    assert out.getbuffer().nbytes > 10_000
