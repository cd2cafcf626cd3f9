"""Why a flow was slow: its time, or its delay, divided among causes.

Also the place of each loss, and advice on what to change.

    from lasthop import Results
    from lasthop.explain import explain

    print(explain(Results.load("results/umts-download-1")).sentences[0])

Budgets are exact with the tables of `output.explain`, and estimated without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lasthop.explain._advice import Advice, Tried, advice_for, depth_of, try_advice
from lasthop.explain._estimate import estimated_budget
from lasthop.explain._exact import exact_budget
from lasthop.explain._figure import timeline_figure
from lasthop.explain._model import Budget, Cause, Loss, Part, Timeline
from lasthop.explain._route import Route
from lasthop.explain._tables import flow_names, flow_row, happenings, scenario_of
from lasthop.explain._words import sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from lasthop._results import Results

__all__ = [
    "Advice",
    "Budget",
    "Cause",
    "Explanation",
    "Loss",
    "Part",
    "Timeline",
    "Tried",
    "explain",
    "flow_names",
    "timeline_figure",
    "try_advice",
]


@dataclass(frozen=True)
class Explanation:
    """A budget in words, with advice."""

    #: The time of the flow, divided among causes.
    budget: Budget
    #: The largest causes, the losses and the timeouts in words, one sentence each.
    sentences: list[str]
    #: Changes that may help, that of the largest cause first; empty: no rule applies.
    advice: list[Advice]

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON has it."""
        return {
            "sentences": self.sentences,
            **self.budget.to_json(),
            "advice": [{"text": a.text, "set": a.changes} for a in self.advice],
        }


def explain(
    results: Results,
    flow: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> Explanation:
    """Explains the time of a TCP flow, or the delays of a UDP flow.

    With the tables of `output.explain` the budget is exact, otherwise it is estimated and says so.

    Args:
        results: a run, in memory or in a folder.
        flow: its name; None: the only flow of the run.
        start_s: only from this moment on [s].
        end_s: only until this moment [s].
        progress: is called now and then with the part of the work that is done, from 0 to 1.

    Raises:
        LasthopError: there is no such flow, it has no data in the interval, or a table is missing
            or of another version.
    """
    row = flow_row(results, flow)
    start, end = (None if t is None else round(t * 1e9) for t in (start_s, end_s))
    lacking = [name for name in ("stages", "limits", "packets") if name not in results.table_names]
    if lacking:
        budget = estimated_budget(results, row, start, end)
    else:
        budget = exact_budget(results, row, start, end, progress=progress)
    written = results.manifest.get("tables")
    removed = [f"`{name}`" for name in lacking if isinstance(written, dict) and name in written]
    if removed:
        note = f"The run wrote the table {' and '.join(removed)}, and its folder does not have it: a file was removed."
        budget = replace(budget, notes=[note, *budget.notes])
    budget = directed(budget, Route.of(scenario_of(results), row))
    said = sentences(budget, _timeouts(results, budget, row), depth_of(budget, results, row))
    return Explanation(budget, said, advice_for(budget, results, row))


def directed(budget: Budget, route: Route) -> Budget:
    """The same budget with the direction in which the flow passes each place on the radio."""

    def on_its_way(cause: Cause) -> Cause:
        way = "ack" if cause.name == "ack-lost" else cause.way
        return replace(cause, direction=route.direction_of(cause.place, way)) if way else cause

    losses = [replace(x, direction=route.direction_of(x.place, x.way)) if x.way else x for x in budget.losses]
    return replace(budget, parts=[replace(p, cause=on_its_way(p.cause)) for p in budget.parts], losses=losses)


def _timeouts(results: Results, budget: Budget, row: dict[str, Any]) -> int:
    """How often the sender's retransmission timer has expired in the time of the budget."""
    if budget.transport != "tcp":
        return 0
    if "events" not in results.table_names:
        return int(row.get("timeouts") or 0)
    events = happenings(results, f"flow/{budget.flow}")
    expired = [e for e in events if e.kind == "rto" and e.detail == "sender"]
    return sum(budget.start_ns <= e.at_ns <= budget.end_ns for e in expired)
