"""Text of figures has the contrast that WCAG asks for."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from lasthop.harness.drawing import LEAST_CONTRAST, black_or_white, contrast, readable, study_figure
from lasthop.harness.stats import Estimate
from lasthop.plot._style import OKABE_ITO
from lasthop.studies.d2d_tcp import figures as d2d
from lasthop.studies.radio_aware_tcp import figures as radio
from tests.figure_text import faint


@pytest.mark.parametrize(
    ("colour", "ratio"),
    # Published pairs: 21:1 is the largest (WCAG 2.2), #767676 the lightest grey that meets 4.5:1 on
    # white (WebAIM).
    [("#000000", 21.0), ("#ffffff", 1.0), ("#767676", 4.54), ("#777777", 4.48), ("#0000ff", 8.59), ("#ff0000", 4.0)],
)
def test_contrast_to_white(colour: str, ratio: float) -> None:
    assert contrast(colour, "white") == pytest.approx(ratio, abs=5e-3)
    assert contrast("white", colour) == contrast(colour, "white")


@pytest.mark.parametrize("colour", [*OKABE_ITO, "#999999", "#ffffff", "#ffff00"])
def test_a_colour_is_darkened_as_far_as_it_has_to_be(colour: str) -> None:
    assert contrast(readable(colour), "white") >= LEAST_CONTRAST
    if contrast(colour, "white") >= LEAST_CONTRAST:
        assert readable(colour) == colour.lower()
    else:
        assert contrast(readable(colour), "white") < 1.1 * LEAST_CONTRAST
    assert contrast(black_or_white(colour), colour) >= LEAST_CONTRAST


def steps() -> Figure:
    """The sequence of figure 4 with each kind of step."""
    fig = study_figure(2.6)
    moments = [(4 * i, "a", "enb", step, "uplink") for i, step in enumerate(d2d.STEPS)]
    d2d._draw_steps(fig.add_subplot(), moments, 31)
    return fig


def bars() -> Figure:
    """Bars in each colour of figure 7 and of the stacks of today."""
    fig = study_figure(3.2)
    d2d._bars(fig.add_subplot(), [(c, Estimate.of([9.0]), c) for c in ("#0072b2", "#56b4e9", "#009e73")])
    return fig


def named_points() -> Figure:
    """The points of the summary with the name of each family."""
    fig = study_figure(3.2)
    families = enumerate(radio.FAMILIES.items())
    radio._label(fig.add_subplot(), [(k, k % 2, name, colour) for k, (name, (colour, _, _)) in families])
    return fig


@pytest.mark.parametrize("draw", [steps, bars, named_points])
def test_each_text_can_be_read(draw: object) -> None:
    figure: Figure = draw()  # type: ignore[operator]
    assert faint(figure) == []


def test_faint_text_is_found() -> None:
    fig = study_figure(2.0)
    axes = fig.add_subplot()
    axes.set_title("amber", color="#e69f00")
    axes.bar([0], [1], color="#56b4e9")
    axes.text(0, 0.5, "white on a bar", color="white", ha="center")
    axes.text(0, 0.2, "black on a bar", ha="center")
    assert [line.split(":")[0] for line in faint(fig)] == ["'white on a bar'", "'amber'"]
