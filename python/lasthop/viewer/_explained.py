"""Why the flows of a run were slow, as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lasthop._core import LasthopError

if TYPE_CHECKING:
    from lasthop._results import Results

#: So many flows of a run are explained on the page; `lasthop explain --flow` explains any.
FLOWS = 8
#: Tables longer than this would keep the page waiting.
ROWS = 300_000


def explained(results: Results) -> list[dict[str, Any]]:
    """The explanations of the first flows of a run; a flow that cannot be explained is left out."""
    from lasthop.explain import explain

    names = [name for name in ("tcp", "packets", "stages", "limits") if name in results.table_names]
    if "flows" not in results.table_names or any(results.shape(name)[1] > ROWS for name in names):
        return []
    found = []
    for flow in results.table("flows", ["flow"])["flow"].to_pylist()[:FLOWS]:
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
                "sentences": explanation.sentences,
                "parts": [
                    {"cause": p.cause.label, "place": p.cause.place or "", "share": budget.share(p), "s": p.ns / 1e9}
                    for p in budget.parts
                ],
                "advice": [{"text": a.text, "set": list(a.changes)} for a in explanation.advice],
            }
        )
    return found
