"""Figures of campaigns: lines with bands, small multiples, heat maps, cumulative distributions, rankings.

    from lasthop.campaign.figures import FigureSpec, draw

    figure = draw(FigureSpec("delay", "line", metric=("rtt",), x="buffer", lines="cc"), results)
    figure.savefig("delay.pdf")

A figure is one column of a paper wide, 85 mm, or both, 180 mm. All letters have 8 pt. Curves differ in colour (the
palette of Okabe and Ito), marker and dashes. Titles come from the names of axes and metrics and their units.
"""

from lasthop.campaign.figures._draw import draw
from lasthop.campaign.figures._spec import KEYS, FigureError, FigureSpec

__all__ = ["KEYS", "FigureError", "FigureSpec", "draw"]
