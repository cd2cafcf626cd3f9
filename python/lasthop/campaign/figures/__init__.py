"""Figures of campaigns: lines with bands, small multiples, heat maps, cumulative distributions, rankings."""

from lasthop.campaign.figures._spec import KEYS, FigureError, FigureSpec

__all__ = ["KEYS", "FigureError", "FigureSpec"]
