"""Why the flows of a run were slow, as the page shows it."""

from __future__ import annotations

import base64
import gzip
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop._core import LasthopError
from lasthop.explain import directed
from lasthop.explain._exact import BINS as INTERVALS
from lasthop.explain._exact import exact_budget
from lasthop.explain._route import Route
from lasthop.explain._tables import columns_of, flow_row, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lasthop._results import Results
    from lasthop.explain import Budget, Timeline

#: So many flows of a run are explained on the page; `lasthop explain --flow` explains any.
FLOWS = 8
#: A flow that has delivered less than this part of the largest one is not the first.
SMALL = 0.1
#: So many causes of a flow have a colour and a band of their own at a time; the others are one
#: band. The page chooses those of a part of the time by what is seen there.
BANDS = 7
#: So many causes have shares in a timeline.
TIMELINE_ROWS = 20
#: So many of them are the largest of the whole time. The others are those with the largest share of
#: an interval: an interruption is a thousandth of a minute and the whole of a moment.
LARGEST = 5
#: Rows of the longest table that an exact explanation reads, and an estimate: more would keep the
#: page waiting.
EXACT_ROWS = 2_000_000
ESTIMATE_ROWS = 300_000
#: Intervals of a part that the page requests, and the most of the whole that a file carries.
FINER, FINEST = 960, 7680
#: Up to so many rows the page waits for the explanation; of more it shows the rest of the run
#: first.
QUICK_ROWS = 60_000
#: What the tables and the scenario of another program may cause.
_UNREADABLE = (LasthopError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def explainable(results: Results) -> dict[str, Any]:
    """The flows of a run that the page explains, and whether it does so at once."""
    exact = _is_exact(results)
    names = ("stages", "limits", "packets") if exact else ("tcp",)
    try:
        rows = max((results.shape(name)[1] for name in names if name in results.table_names), default=0)
        if "flows" not in results.table_names or rows > (EXACT_ROWS if exact else ESTIMATE_ROWS):
            return {"flows": [], "quick": True}
        flows = _chosen(results)
    except LasthopError:
        # The page names the damaged table.
        return {"flows": [], "quick": True}
    return {"flows": flows, "quick": rows <= QUICK_ROWS}


def _chosen(results: Results) -> list[str]:
    """The flows that delivered most, in the order of the table.

    The page opens the first. If that is a small one beside another (the control connection of a
    transfer), the largest comes before it.
    """
    has_octets = "app_bytes" in results.shape("flows")[0].names
    table = columns_of(results, "flows", ("flow", "app_bytes") if has_octets else ("flow",))
    flows = table["flow"].to_pylist()
    # A table of another program may hold anything.
    delivered = table["app_bytes"].to_pylist() if has_octets else [0] * len(flows)
    octets = [n if isinstance(n, (int, float)) and math.isfinite(n) else 0 for n in delivered]
    largest = sorted(range(len(flows)), key=lambda i: -octets[i])
    chosen = sorted(largest[:FLOWS])
    if chosen and octets[chosen[0]] < SMALL * octets[largest[0]]:
        chosen.remove(largest[0])
        chosen.insert(0, largest[0])
    return [flows[i] for i in chosen]


def explained(results: Results, progress: Callable[[str, float], None] | None = None) -> list[dict[str, Any]]:
    """The explanations of the largest flows of a run.

    A flow that cannot be explained is left out. `progress` is called with the flow that is being
    explained and the part of all the work that is done, from 0 to 1.
    """
    from lasthop.explain import explain

    found = []
    flows = explainable(results)["flows"]
    for number, flow in enumerate(flows):

        def tell(part: float, flow: str = flow, number: int = number) -> None:
            if progress is not None:
                progress(flow, (number + part) / len(flows))

        tell(0.0)
        try:
            explanation = explain(results, flow, progress=tell)
        except _UNREADABLE:
            # Tables of another program may hold anything; the rest of the page is worth showing.
            continue
        budget = explanation.budget
        found.append(
            {
                "flow": flow,
                "exact": budget.exact,
                "of": "time" if budget.packets is None else "delay",
                "named": BANDS,
                "sentences": explanation.sentences,
                "parts": [
                    {"cause": p.cause.label, "place": p.cause.where, "share": budget.share(p), "s": p.ns / 1e9}
                    for p in (budget.parts[k] for k in _order(budget))
                ],
                "timeline": _timeline(budget),
                "advice": [{"text": a.text, "set": list(a.changes)} for a in explanation.advice],
            }
        )
    return found


def _order(budget: Budget) -> list[int]:
    """The numbers of the parts, those with a band of their own first."""
    numbers = list(range(len(budget.parts)))
    if budget.timeline is None or not budget.timeline.rows or len(numbers) <= BANDS:
        return numbers
    rows = np.asarray(budget.timeline.rows, np.int64)
    if rows.shape[1] > INTERVALS and rows.shape[1] % INTERVALS == 0:
        # Of shorter intervals the same parts are chosen as of the whole's.
        rows = rows.reshape(len(rows), INTERVALS, -1).sum(axis=2)
    peaks = (rows / np.maximum(rows.sum(axis=0), 1)).max(axis=1)
    chosen = sorted(numbers[LARGEST:], key=lambda k: -peaks[k])[: BANDS - LARGEST]
    first = [*numbers[:LARGEST], *sorted(chosen)]
    return first + [k for k in numbers if k not in first]


def _timeline(budget: Budget) -> dict[str, Any] | None:
    """Shares of each interval, by cause in the order of the parts."""
    if budget.timeline is None or not budget.timeline.rows:
        return None
    return _shares(budget.timeline, _order(budget))


def _shares(timeline: Timeline, order: Sequence[int]) -> dict[str, Any]:
    """The shares of the first parts of an order; what the others have is missing to 1."""
    rows = np.asarray(timeline.rows, np.int64)
    wholes = rows.sum(axis=0)
    return {
        "edges_s": [edge / 1e9 for edge in timeline.edges_ns],
        "whole_s": [float(f"{whole / 1e9:.6g}") for whole in wholes.tolist()],
        "shares": np.round(rows[list(order[:TIMELINE_ROWS])] / np.maximum(wholes, 1), 4).tolist(),
    }


def finer(results: Results, flow: str, start_s: float, end_s: float) -> dict[str, Any] | None:
    """The timeline of a part of a flow's time, with the cause and the place of each row.

    None: there is no finer timeline.

    Raises:
        LasthopError: the run has no such flow, or nothing of it in this time.
    """
    found = explainable(results)
    if flow not in found["flows"] or not _is_exact(results):
        return None
    row = flow_row(results, flow)
    part = exact_budget(results, row, round(start_s * 1e9), round(end_s * 1e9), FINER)
    if part.timeline is None or not part.timeline.rows:
        return None
    parts = directed(part, Route.of(scenario_of(results), row)).parts
    return {
        "parts": [{"cause": p.cause.label, "place": p.cause.where} for p in parts[:TIMELINE_ROWS]],
        **_shares(part.timeline, range(len(parts))),
    }


def finest(results: Results, most: int) -> dict[str, str]:
    """The timelines of all flows in as many intervals as fit into a file.

    The limit is a number of characters.

    By flow: base64 of gzip of 16 bits for each share, cause by cause, in 65535ths, and of each
    interval's whole in the same way as a share of the largest.
    """
    if not _is_exact(results):
        return {}
    count = FINEST
    for _ in range(2):
        made = {flow: line for flow in explainable(results)["flows"] if (line := _finest_of(results, flow, count))}
        size = sum(map(len, made.values()))
        if size <= most:
            return made
        count //= 2 ** math.ceil(math.log2(1.1 * size / most))
        if count <= 2 * INTERVALS:
            break
    return {}


def _finest_of(results: Results, flow: str, count: int) -> str:
    """The timeline of a flow in so many intervals.

    Empty: it cannot be explained, or has no such many moments.
    """
    try:
        budget = exact_budget(results, flow_row(results, flow), None, None, count)
    except _UNREADABLE:
        return ""
    line = budget.timeline
    if line is None or not line.rows or len(line.edges_ns) != count + 1:
        return ""
    return _encoded(_shares(line, _order(budget)))


def _encoded(line: dict[str, Any]) -> str:
    wholes = np.asarray(line["whole_s"])
    rows = np.vstack([np.asarray(line["shares"]), wholes / max(float(wholes.max()), 1e-12)])
    content = np.round(rows * 65535).astype("<u2").tobytes()
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def _is_exact(results: Results) -> bool:
    return {"stages", "limits", "packets"} <= set(results.table_names)
