"""How studies draw: one width and two font sizes for all figures.

They are those of a two-column paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.colors import to_hex, to_rgb
from matplotlib.ticker import FuncFormatter

from lasthop.plot._style import blank_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

#: Inches: the text width of a two-column paper (IEEE and ACM: both columns and the gap between
#: them).
WIDTH = 7.16
#: The contrast that text of normal size has at least (WCAG 2.2, success criterion 1.4.3, level AA).
LEAST_CONTRAST = 4.5


def study_figure(height: float) -> Figure:
    """An empty figure of the width that all figures of studies have, in the house style.

    Args:
        height: inches.
    """
    return blank_figure(WIDTH, height)


def decade_axis(axis: Axis) -> None:
    """Plain numbers at the decades of a logarithmic axis: 1, 10, 100 rather than powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def doubling_axis(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic x axis with a tick and its number at each of these values.

    64, 128, 256 rather than powers.

    Args:
        axes: the axes.
        values: the values that were run, in the unit of the axis.
    """
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()


def contrast(colour: ColorType, ground: ColorType) -> float:
    """How far two colours are apart in lightness, 1 to 21.

    The contrast ratio of WCAG 2.2 (term "contrast ratio").
    """
    one, other = sorted((_luminance(colour), _luminance(ground)))
    return (other + 0.05) / (one + 0.05)


def readable(colour: ColorType) -> str:
    """The colour for text on white that belongs to a line or marker of this colour.

    It is the same colour, or a darker one of the same hue, as `LEAST_CONTRAST` requires, in 64
    steps.
    """
    red, green, blue = to_rgb(colour)
    shades = ((red * k / 64, green * k / 64, blue * k / 64) for k in range(64, -1, -1))
    return to_hex(next(shade for shade in shades if contrast(shade, "white") >= LEAST_CONTRAST))


def black_or_white(ground: ColorType) -> str:
    """The colour for text on an area of this colour.

    It is black or white, whichever has more contrast.
    """
    return max(("white", "black"), key=lambda text: contrast(text, ground))


def _luminance(colour: ColorType) -> float:
    """Relative luminance of WCAG 2.2, from the linear parts of sRGB."""
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
