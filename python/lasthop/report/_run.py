"""The report of runs: the page of `lasthop view` with their data in it, as one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lasthop.viewer import standalone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lasthop._results import Results


def run_report(results: Results) -> str:
    """The report of a run as one HTML document that needs nothing else.

    Raises:
        LasthopError: a table cannot be read.
    """
    return standalone({str(results.manifest.get("name", "A run")): results})


def runs_report(runs: Mapping[str, Results]) -> str:
    """The report of several runs on one page: the same axes, and the differences in a table.

    Args:
        runs: runs by the labels that the page gives them.

    Raises:
        LasthopError: a table cannot be read.
    """
    return standalone(runs)
