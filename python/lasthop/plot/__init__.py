"""Figures fit for a paper: 3.5-inch column, vector, labelled with units, colours that everybody can tell apart."""

from lasthop.plot._plots import Plots
from lasthop.plot._style import OKABE_ITO, Figure, new_figure

__all__ = ["OKABE_ITO", "Figure", "Plots", "new_figure"]
