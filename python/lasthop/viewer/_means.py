"""Means of a run's samples that a comparison of runs shows.

A report may carry a thinned copy of the samples, which has other means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._core import LasthopError
from lasthop.explain._tables import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lasthop._results import Results


def means(results: Results, duration_s: float) -> list[dict[str, Any]]:
    """The mean octets in each queue, and the airtime of each Wi-Fi station as a share of the run.

    A table that is missing or cannot be read has no rows here: the page names it.
    """
    found = [
        {"of": of, "title": "Mean queue", "unit": "B", "value": total / count}
        for of, total, count in _sums(results, "queues", ["queue"], "bytes")
    ]
    if duration_s > 0:
        found += [
            {"of": of, "title": "Airtime", "unit": "share", "value": total / duration_s}
            for of, total, _ in _sums(results, "wifi", ["station", "direction"], "airtime_s")
        ]
    return found


def _sums(results: Results, name: str, keys: Sequence[str], value: str) -> list[tuple[str, float, int]]:
    """Name, sum and number of the values of each series of a table, in the order of its rows."""
    if name not in results.table_names:
        return []
    try:
        table = columns_of(results, name, (*keys, value))
        texts = {key: pc.fill_null(table[key].cast(pa.string()), "") for key in keys}
        numbers = pc.fill_null(table[value].cast(pa.float64()), 0.0)
        series = pa.table({**texts, value: numbers}).group_by(list(keys), use_threads=False)
        rows = series.aggregate([(value, "sum"), (value, "count")]).to_pylist()
    except (LasthopError, pa.ArrowException, TypeError, ValueError):
        return []
    return [
        (" ".join(filter(None, (row[k] for k in keys))), row[f"{value}_sum"], row[f"{value}_count"]) for row in rows
    ]
