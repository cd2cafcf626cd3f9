"""Figures fit for a paper: 3.5-inch column, vector, labelled with units.

Colours for the colour-blind too.
"""

from lasthop.plot._plots import Plots
from lasthop.plot._style import OKABE_ITO, Figure, new_figure
from lasthop.plot._survey import distribution, radio_map

__all__ = ["OKABE_ITO", "Figure", "Plots", "distribution", "new_figure", "radio_map"]
