"""Why the flows of a run were slow, as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lasthop._core import LasthopError

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop.explain import Budget

#: So many flows of a run are explained on the page; `lasthop explain --flow` explains any.
FLOWS = 8
#: So many causes of a flow have a colour and a band of their own; the others are one band.
BANDS = 7
#: Rows of the longest table that an exact explanation reads, and an estimate: more would keep the page waiting.
EXACT_ROWS = 2_000_000
ESTIMATE_ROWS = 300_000
#: Up to so many rows the page waits for the explanation; of more it shows the rest of the run first.
QUICK_ROWS = 60_000


def explainable(results: Results) -> dict[str, Any]:
    """Which flows of a run the page explains, and whether that is done at once."""
    exact = {"stages", "limits", "packets"} <= set(results.table_names)
    names = ("stages", "limits", "packets") if exact else ("tcp",)
    try:
        rows = max((results.shape(name)[1] for name in names if name in results.table_names), default=0)
        if "flows" not in results.table_names or rows > (EXACT_ROWS if exact else ESTIMATE_ROWS):
            return {"flows": [], "quick": True}
        flows = results.table("flows", ["flow"])["flow"].to_pylist()[:FLOWS]
    except LasthopError:
        # The page names the damaged table.
        return {"flows": [], "quick": True}
    return {"flows": flows, "quick": rows <= QUICK_ROWS}


def explained(results: Results) -> list[dict[str, Any]]:
    """The explanations of the first flows of a run; a flow that cannot be explained is left out."""
    from lasthop.explain import explain

    found = []
    for flow in explainable(results)["flows"]:
        try:
            explanation = explain(results, flow)
        except (LasthopError, ArithmeticError, LookupError, TypeError, ValueError):
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
                    {"cause": p.cause.label, "place": p.cause.place or "", "share": budget.share(p), "s": p.ns / 1e9}
                    for p in budget.parts
                ],
                "timeline": _timeline(budget),
                "advice": [{"text": a.text, "set": list(a.changes)} for a in explanation.advice],
            }
        )
    return found


def _timeline(budget: Budget) -> dict[str, Any] | None:
    """Shares of each interval: of the causes with a band of their own in the order of the parts, then of all others."""
    if budget.timeline is None or not budget.timeline.rows:
        return None
    rows = budget.timeline.rows
    rest = [sum(column) for column in zip(*rows[BANDS:], strict=True)] or [0] * len(rows[0])
    shown = [*rows[:BANDS], rest]
    wholes = [sum(column) for column in zip(*shown, strict=True)]
    return {
        "edges_s": [edge / 1e9 for edge in budget.timeline.edges_ns],
        "whole_s": [float(f"{whole / 1e9:.6g}") for whole in wholes],
        "shares": [[round(ns / max(whole, 1), 4) for ns, whole in zip(row, wholes, strict=True)] for row in shown],
    }
