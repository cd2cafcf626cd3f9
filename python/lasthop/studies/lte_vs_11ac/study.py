"""Eleven TCP variants over LTE and 802.11ac: what `lasthop.harness` looks up by name.

Claims are written as comparisons (`statement.py`) and judged by one evaluator (`evaluate.py`);
802.11ac is a network like the others that has no runs yet, so that what needs it stays untested
until it has.
"""

from lasthop.studies.lte_vs_11ac.draw import SERIES as COLOURS
from lasthop.studies.lte_vs_11ac.evaluate import statement
from lasthop.studies.lte_vs_11ac.figures import figures, tables
from lasthop.studies.lte_vs_11ac.reduce import reduce_cell, reduce_series
from lasthop.studies.lte_vs_11ac.words import test_in_words

__all__ = ["COLOURS", "figures", "reduce_cell", "reduce_series", "statement", "tables", "test_in_words"]
