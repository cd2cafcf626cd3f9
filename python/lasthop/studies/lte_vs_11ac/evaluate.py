"""How the claims are judged.

One evaluator reads each claim's test (statement.py) and compares estimates.

A claim is a conjunction. One part that fails makes it differ, whatever cannot be tested beside it;
it is undecided if the intervals of all parts that fail reach into what the claim accepts. With none
failing it agrees only if every part was tested, else it is not testable and says which parts held.
What the paper says and denies elsewhere is ambiguous: ours is printed, beside both readings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lasthop.harness import Claim, Data, Finding, NoRunsError
from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate
from lasthop.studies.lte_vs_11ac.model import FACTORS, LOSSES, METRICS, MISSING, NETWORKS, SIZES
from lasthop.studies.lte_vs_11ac.statement import Band, Cell, Comparison, parse, sized
from lasthop.studies.lte_vs_11ac.words import check_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lasthop.studies.lte_vs_11ac.statement import Check

#: The runs that claims are judged by.
GROUP = "variants"
#: A finding names so many comparisons one by one; all of them are in claims.json.
SHOWN = 4


@dataclass(frozen=True)
class Outcome:
    """One comparison: held, failed, or (None) not tested, with its numbers."""

    text: str
    passed: bool | None
    check: j.Check | None = None
    name: str = ""


def statement(claim: Claim, data: Data) -> Finding:
    """Every part of the claim's test against the runs."""
    outcomes = [outcome(check, data) for check in parse(claim.test)]
    finding = conjunction(outcomes)
    figures = claim.settings.get("evidence") or [f"figure {claim.figure}"]
    finding = finding.showing(*figures)
    contradicts = claim.settings.get("contradicts")
    if contradicts and finding.verdict != "not-testable":
        return j.contradicted(finding, contradicts)
    return finding.noting(contradicts) if contradicts else finding


def counted(claim: Claim, data: Data) -> Finding | None:
    """The part of the claim that nothing else in the paper contradicts; None: no part."""
    counts = claim.settings.get("counts")
    if not counts:
        return None
    test = claim.test if counts is True else str(counts)
    return conjunction([outcome(check, data) for check in parse(test)])


def conjunction(outcomes: Sequence[Outcome]) -> Finding:
    """False beats undecided, undecided beats untested, untested beats true."""
    tested = [o for o in outcomes if o.check is not None]
    failed = [o for o in tested if o.check is not None and o.check.held is False]
    undecided = [o for o in tested if o.check is not None and o.check.held is None]
    unknown = [o for o in outcomes if o.check is None]
    notes = [] if not unknown else [f"{len(unknown)} of {len(outcomes)} comparisons untested: {unknown[0].text}"]
    if not tested:
        return j.not_testable("; ".join(notes))
    notes += list(dict.fromkeys(o.check.note for o in tested if o.check and o.check.note and len(tested) <= SHOWN))
    held = [o for o in tested if o not in failed and o not in undecided]
    first = [f"fails: {o.text}" for o in failed] + [f"undecided: {o.text}" for o in undecided] + [o.text for o in held]
    more = f"; and {len(first) - SHOWN} more" if len(first) > SHOWN else ""
    text = f"{len(held)} of {len(tested)} hold: {'; '.join(first[:SHOWN])}{more}"
    values: dict[str, Estimate] = {}
    for o in tested:
        values.update(o.check.values if o.check else {})
    made = j.verdict_of([o.check for o in tested if o.check is not None])
    verdict: j.Verdict = "not-testable" if made == "agrees" and unknown else made
    parts = {o.name: o.check.held for o in tested if o.check is not None}
    checks = tuple(o.check for o in tested if o.check is not None)
    return Finding(
        verdict,
        text,
        values,
        "; ".join(notes),
        parts=parts,
        checks=checks,
        remarks=tuple(notes[:1]) if unknown else (),
    )


def outcome(check: Check, data: Data) -> Outcome:
    """A comparison against the runs, or why it cannot be made."""
    cells = check.cells if isinstance(check, Comparison) else (check.cell,)
    try:
        values = {cell.name: estimate(cell, data) for cell in cells}
    except NoRunsError:
        missing = next((MISSING[c.network] for c in cells if c.network in MISSING), None)
        if missing is None:
            raise
        return Outcome(f"{check_in_words(check)}: {missing}", None)
    found = _compared(check, values)
    # As a report shows them in words: `throughput, Bic, AM, small packets`.
    shown = (replace(s, label=s.label.replace(" ", ", ")) if s.label in values else s for s in found.shown)
    found = replace(found, shown=tuple(shown))
    unit = METRICS[cells[0].metric].unit
    numbers = " and ".join(v.text(unit=unit) for v in values.values())
    return Outcome(f"{check_in_words(check)} ({numbers})", found.passed, found, check.text)


def estimate(cell: Cell, data: Data) -> Estimate:
    """Mean and interval of a cell over the seeds."""
    if cell.size == "l-s":
        return estimate(sized(cell, "l"), data).minus(estimate(sized(cell, "s"), data))
    value = METRICS[cell.metric].value
    if cell.metric == "loss":
        value = LOSSES[loss_measure(data)][0]
    return data.estimate(GROUP, value, cc=cell.cc, network=NETWORKS[cell.network][0], size=SIZES[cell.size])


def loss_measure(data: Data) -> str:
    """How loss is counted: as the flow monitor does.

    A reading may set another way (`loss = dropped`).
    """
    name = data.variation.name.removeprefix("loss = ")
    return name if name in LOSSES else "undelivered"


def _compared(check: Check, values: dict[str, Estimate]) -> j.Check:
    if isinstance(check, Band):
        unit = METRICS[check.cell.metric].unit
        return j.in_band(check.cell.name, values[check.cell.name], (check.low, check.high), unit=unit)
    names = [c.name for c in check.cells]
    metric = METRICS[check.cells[0].metric]
    percent, unit = metric.equal_percent, metric.unit
    if check.factor is not None:
        return _ratio(check, values)
    if check.relation == "=":
        return j.equal_within(values, percent, unit=unit)
    left, right = names
    if check.relation == "<":
        return j.ordered({left: values[left], right: values[right]}, unit=unit)
    if check.relation == ">=":
        return j.not_below(values, percent, unit=unit)
    return j.ordered({right: values[right], left: values[left]}, unit=unit)


def _ratio(check: Comparison, values: dict[str, Estimate]) -> j.Check:
    left, right = (values[c.name] for c in check.cells)
    low, high = FACTORS[check.factor or 0.0]
    if right.mean == 0:
        return j.Check(False, check.text, values, f"{check.text}: nothing to compare with, the right-hand side is 0")
    ratio = left.mean / right.mean
    passed = low <= ratio <= high
    by_seed = Estimate((ratio,))
    if left.n == right.n and all(right.samples):
        by_seed = Estimate.of([x / y for x, y in zip(left.samples, right.samples, strict=True)])
    ci95 = by_seed.ci95
    possible = j.is_open(passed, ci95, low, high)
    note = f"ratio {ratio:.3g}, band {low:g}-{high:g}"
    # The ratio of the means is judged; its interval is that of the ratios seed by seed.
    value = by_seed.scaled(ratio / by_seed.mean) if by_seed.mean else by_seed
    shown = (j.Shown(f"ratio of {check_in_words(check)}", value, low, high),)
    return j.Check(passed, check.text, values, note, possible, "band", shown)
