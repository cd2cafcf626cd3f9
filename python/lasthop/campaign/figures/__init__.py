"""Figures of campaigns: lines with bands, heat maps, distributions, rankings.

Each may be divided into small multiples.

    from lasthop.campaign.figures import FigureSpec, draw

    figure = draw(FigureSpec("delay", "line", metric=("rtt",), x="buffer", lines="cc"), results)
    figure.savefig("delay.pdf")

A figure is one column of a paper wide, 85 mm, or both, 180 mm. All letters have 8 pt. Curves differ
in colour (the palette of Okabe and Ito), marker and dashes. Titles come from the names of axes and
metrics and their units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lasthop.campaign.figures._quantities import measured, shown_unit, text, title, unit_text
from lasthop.campaign.figures._spec import KEYS, FigureError, FigureSpec

__all__ = ["KEYS", "FigureError", "FigureSpec", "draw", "measured", "shown_unit", "text", "title", "unit_text"]

if TYPE_CHECKING:
    from lasthop.plot import Figure


def draw(spec: FigureSpec, results: Any) -> Figure:
    """Draws a figure.

    Args:
        spec: what it shows.
        results: `CampaignResults`, or a results table (axes, `seed`, metrics with their `unit`).

    Returns:
        A figure whose `savefig` writes `.pdf`, `.svg` and `.png`, the same bytes each time.

    Raises:
        FigureError: the figure does not fit the campaign.
        LasthopError: the table is no results table, or a kept table is missing.
    """
    from lasthop.campaign.figures._draw import draw as _draw  # matplotlib takes half a second to load

    return _draw(spec, results)
