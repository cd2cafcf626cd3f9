"""Where the packets of a run were dropped, and why, as the page's overview shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop._core import LasthopError
from lasthop.explain._losses import ways_of
from lasthop.explain._route import Route
from lasthop.explain._tables import column, columns_of, scenario_of

if TYPE_CHECKING:
    from lasthop._results import Results

#: Kinds of drops that the summary has, the most frequent; the table `drops` has all rows.
MOST = 40


def drops(results: Results) -> dict[str, Any] | None:
    """Number of dropped packets by flow, place and cause; None: the run has no record of drops.

    A place on the radio has its direction where the flow and the kind of packet decide it.
    """
    if not {"drops", "flows"} <= set(results.table_names):
        return None
    try:
        return _summary(results)
    except (LasthopError, pa.ArrowException, TypeError, ValueError):
        # The page names a damaged table. One of another program may hold anything.
        return None


def _summary(results: Results) -> dict[str, Any]:
    table = columns_of(results, "drops", ("flow", "where", "cause", "size"))
    flows = columns_of(results, "flows", ("flow", "src", "dst", "transport", "lost_dropped")).to_pylist()
    rows = {row["flow"]: row for row in flows}
    names = {c: pc.fill_null(table[c].cast(pa.string()), "") for c in ("flow", "where", "cause")}
    sizes = column(table, "size", 0)
    encoded = names["flow"].combine_chunks().dictionary_encode()
    order = np.argsort(codes := encoded.indices.to_numpy(), kind="stable")
    ways = np.full(len(sizes), "", "<U4")
    bounds = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary)))
    for name, members in zip(encoded.dictionary.to_pylist(), np.split(order, bounds[:-1]), strict=False):
        if name in rows:
            ways[members] = ways_of(sizes[members], rows[name])
    kinds = pa.table({**names, "way": pa.array(ways), "size": pa.array(sizes)}).group_by([*names, "way"])
    scenario = scenario_of(results)
    routes: dict[str, Route] = {}
    found: dict[tuple[str, str, str], list[int]] = {}
    for kind in kinds.aggregate([("size", "count"), ("size", "sum")]).to_pylist():
        flow, where = kind["flow"], kind["where"]
        if kind["way"]:
            if flow not in routes:
                routes[flow] = Route.of(scenario, rows[flow])
            where = f"{where} {routes[flow].direction_of(where, kind['way'])}".rstrip()
        sums = found.setdefault((where, kind["cause"], flow), [0, 0])
        sums[0] += kind["size_count"]
        sums[1] += kind["size_sum"]
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return {
        "kinds": len(ordered),
        "rows": [
            {"where": where, "cause": cause, "flow": flow, "packets": packets, "octets": octets}
            for (where, cause, flow), (packets, octets) in ordered[:MOST]
        ],
    }
