"""The report of runs: the page of `lasthop view` with their data in it, as one file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from lasthop.viewer import standalone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lasthop._results import Results


def run_report(results: Results, note: Callable[[str], None] = warnings.warn) -> str:
    """The report of a run as one HTML document that needs nothing else.

    A table that is missing or cannot be read is named in it, with the rest of the run.

    Args:
        results: the run.
        note: is called with a sentence for what is wrong with tables; without it they are warnings.

    Raises:
        LasthopError: the manifest or the summary cannot be read.
    """
    return standalone({str(results.manifest.get("name", "A run")): results}, note)


def runs_report(runs: Mapping[str, Results], note: Callable[[str], None] = warnings.warn) -> str:
    """The report of several runs on one page: the same axes, and the differences in a table.

    A table that is missing or cannot be read is named in it, with the rest of the runs.

    Args:
        runs: runs by the labels that the page gives them.
        note: is called with a sentence for what is wrong with tables; without it they are warnings.

    Raises:
        LasthopError: the manifest or the summary of a run cannot be read.
    """
    return standalone(runs, note)
