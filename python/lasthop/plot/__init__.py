"""Figures for papers: a column of 3.5 inches, vector formats, labels with units.

Readers with colour vision deficiencies can distinguish the colours.
"""

from lasthop.plot._plots import Plots
from lasthop.plot._style import OKABE_ITO, Figure, new_figure
from lasthop.plot._survey import distribution, radio_map

__all__ = ["OKABE_ITO", "Figure", "Plots", "distribution", "new_figure", "radio_map"]
