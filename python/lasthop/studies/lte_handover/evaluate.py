"""How each claim of the slides is judged.

One function per claim; thresholds come from claims.toml.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING

from lasthop.harness import Check, Claim, Data, Finding
from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def discards_or_forwards(_: Claim, data: Data) -> Finding:
    """H1: what is lost at the handover, as a share of the retransmission queue."""
    moved = with_handover(data)
    if moved is None:
        return no_handover(data)
    checks = []
    for kind in ("seamless", "lossless"):
        runs = moved.runs("sweep", type=kind)
        every = len(runs) == len(data.runs("sweep", type=kind))
        checks.append(j.holds(f"{kind}: every run has its handover", every))
        share = Estimate.of([r.values["lost_bytes"] / max(r.values["queue_bytes"], 1.0) for r in runs])
        if kind == "seamless":
            checks.append(j.above("seamless: lost / queue", share, 0.5))
            most = Estimate.of([max(share.samples)])
            checks.append(replace(j.at_most("seamless: most lost / queue", most, 1.0), passed=most.mean <= 1.0 + 1e-9))
        else:
            checks.append(j.never("lossless: bytes lost", Estimate.of([r.values["lost_bytes"] for r in runs])))
    return j.all_of(checks, ["figure LH-1", "table drops"])


def judged_by_handovers(evaluator: Callable[[Claim, Data], Finding]) -> Callable[[Claim, Data], Finding]:
    """An evaluator that only gets speeds of which every run has its handover.

    Without any such speed nothing is judged.
    """

    @wraps(evaluator)
    def judged(claim: Claim, data: Data) -> Finding:
        moved = with_handover(data)
        if moved is None:
            return no_handover(data)
        finding = evaluator(claim, moved)
        lacking = len(data.labels("sweep", "speed")) - len(moved.labels("sweep", "speed"))
        return finding.noting(f"{lacking} speeds left out: a run without a handover") if lacking else finding

    return judged


def with_handover(data: Data) -> Data | None:
    """The sweep at the speeds of which every run has its handover; None: there is no such speed."""
    runs = data.runs("sweep")
    lacking = {r.point["speed"] for r in runs if r.values["handovers"] < 1}
    kept = [r for r in runs if r.point["speed"] not in lacking]
    return replace(data, records={**data.records, "sweep": kept}) if kept else None


def no_handover(data: Data) -> Finding:
    """The car keeps its cell to the end."""
    runs = data.runs("sweep")
    made = sum(r.values["handovers"] >= 1 for r in runs)
    return j.not_testable(f"no handover in {len(runs) - made} of {len(runs)} runs, at every speed")


@judged_by_handovers
def goodput_order(claim: Claim, data: Data) -> Finding:
    """H2: goodput in the window at every size from `from_kb` on."""
    return _all(_goodputs(claim, data), ["figure LH-2"])


@judged_by_handovers
def delay_order(claim: Claim, data: Data) -> Finding:
    """H3: mean and 95th percentile of the delay in the window."""
    return _all(_delays(claim, data), ["figure LH-3"])


@judged_by_handovers
def window_cut(claim: Claim, data: Data) -> Finding:
    """H4: TCP retransmits and recovers, or times out, after every seamless handover."""
    runs = [r for q in _sizes(claim, data) for r in data.runs("sweep", type="seamless", queue=q)]
    cut = [r for r in runs if r.values["retransmits"] > 0 and r.values["cwnd_kept"] <= claim.settings["cut"]]
    timeouts = sum(r.values["timeouts"] > 0 for r in runs)
    kept = Estimate.of([r.values["cwnd_kept"] for r in runs])
    checks = [
        j.holds(
            f"{len(cut)} of {len(runs)} handovers bring retransmissions and a smaller window", len(cut) == len(runs)
        ),
        j.at_most("smallest window after / window at the handover", kept, claim.settings["cut"]),
    ]
    return j.all_of(checks, ["figure LH-1"]).noting(f"{timeouts} of {len(runs)} have a timeout within 10 s")


@judged_by_handovers
def window_kept(claim: Claim, data: Data) -> Finding:
    """H5: a lossless handover loses no packet, and TCP cuts no window for it.

    Drops of its full queue do cut the window.
    """
    runs = [r for q in _sizes(claim, data) for r in data.runs("sweep", type="lossless", queue=q)]

    def total(what: str) -> int:
        return int(sum(r.values[what] for r in runs))

    checks = [
        j.never("bytes lost at the handover", Estimate.of([r.values["lost_bytes"] for r in runs])),
        j.holds(
            f"recoveries in the 10 s after the handover, in {len(runs)} runs together: {total('by_handover')} for a "
            f"segment lost at the handover, {total('spurious')} for one that nothing had dropped",
            total("by_handover") + total("spurious") == 0,
        ),
        j.holds(
            f"timeouts for a segment that nothing had dropped: {total('spurious_timeouts')}",
            total("spurious_timeouts") == 0,
        ),
    ]
    others = (total("by_queue"), total("timeouts") - total("spurious_timeouts"))
    finding = j.all_of(checks, ["figure LH-1"])
    return finding.noting(
        f"not counted: {others[0]} recoveries and {others[1]} timeouts for what the full queue dropped"
    )


@judged_by_handovers
def goodput_falls(claim: Claim, data: Data) -> Finding:
    """H6: the rank correlation of goodput after the handover and size, seamless."""
    sizes = [float(q) for q in data.labels("sweep", "queue")]
    goodput = [data.estimate("sweep", "after_bps", type="seamless", queue=int(q)) for q in sizes]
    rho = j.rank_correlation(sizes, [g.mean for g in goodput])
    text = ", ".join(f"{g.mean / 1e6:.2f} Mbit/s with {q:g} kB" for q, g in zip(sizes, goodput, strict=True))
    # Its interval: from the correlations of the replications one by one.
    alone = [j.rank_correlation(sizes, list(row)) for row in zip(*(g.samples for g in goodput), strict=True)]
    limit = claim.settings["rho"]
    interval, below = Estimate.of(alone).ci95, rho < limit
    possible = interval is not None and interval[0] < limit <= interval[1]
    shown = (j.Shown("rank correlation of size and goodput", Estimate.of([rho]), high=limit),)
    check = Check(below, f"rank correlation {rho:.2f}", open=possible, relation="band", shown=shown)
    # Why a correlation that is accepted may still be undecided.
    if interval is not None and possible:
        text += f"; rank correlations of the speeds one by one have a 95 % interval of {max(interval[0], -1):.2f}"
        text += f" to {min(interval[1], 1):.2f}, which contains the limit"
    return j.all_of([check], ["figure LH-2"]).noting(f"goodput after the handover: {text}")


@judged_by_handovers
def delay_rises(claim: Claim, data: Data) -> Finding:
    """H7: the slope of the mean delay over the size, lossless, and the delay's rise in all."""
    sizes = [float(q) for q in data.labels("sweep", "queue")]
    mean = [data.estimate("sweep", "delay_mean_s", type="lossless", queue=int(q)).scaled(1e3) for q in sizes]
    rise = mean[-1].minus(mean[0])
    checks = [
        _beyond("slope", j.slope(sizes, mean), 0.0, "ms/kB"),
        _beyond(f"mean delay at {sizes[-1]:g} kB minus that at {sizes[0]:g} kB", rise, claim.settings["rise_ms"], "ms"),
    ]
    return j.all_of(checks, ["figure LH-3"])


@judged_by_handovers
def trade_off(claim: Claim, data: Data) -> Finding:
    """H8: H2 and H3 at every size."""
    return _all({**_goodputs(claim, data), **_delays(claim, data)}, ["figure LH-2", "figure LH-3"])


def load_step(claim: Claim, data: Data) -> Finding:
    """H9: rates, RTT and timeouts before and after the step.

    Timeouts are not judged if the setting `timeouts` is false.
    """
    low, high = claim.settings["share"]
    checks = {}
    for added in data.labels("load", "added"):
        runs = data.runs("load", added=added)
        early = runs[0].values["users"]
        fair = early / (early + int(added))
        share = Estimate.of([r.values["after_bps"] / r.values["before_bps"] for r in runs])
        checks[f"rate +{added}"] = j.in_band(f"+{added}: rate after / before", share, (low * fair, high * fair))
        rtt = Estimate.of([r.values["rtt_after_s"] / r.values["rtt_before_s"] for r in runs])
        checks[f"RTT +{added}"] = j.at_least(f"+{added}: RTT after / before", rtt, claim.settings["rtt"])
        if not claim.settings.get("timeouts", True):
            continue
        timeouts = {
            f"+{added}: timeouts in 15 s {when}": data.estimate("load", f"timeouts_{when}", added=added)
            for when in ("before", "after")
        }
        checks[f"timeouts +{added}"] = j.ordered(timeouts)
    return _all(checks, ["figure LH-4"])


def citations(_: Claim, __: Data) -> Finding:
    """H10."""
    return j.not_testable("the motivation cites other work")


def _all(checks: Mapping[str, j.Check], evidence: Sequence[str]) -> Finding:
    """All parts, each under its name: an ablation may turn some of them."""
    parts = {name: check.held for name, check in checks.items()}
    return replace(j.all_of(checks.values(), evidence), parts=parts)


def _beyond(name: str, value: Estimate, low: float, unit: str) -> j.Check:
    """The 95 % interval lies above `low`; with one replication, the number does."""
    least = value.ci95[0] if value.ci95 else value.mean
    note = f"{name}: not above {low:g} {unit} beyond the 95 % interval" if least <= low else ""
    possible = least <= low and value.ci95 is not None and value.ci95[1] > low
    shown = (j.Shown(name, value, low),)
    return j.Check(least > low, f"{name} {value.text(3, unit)}", {name: value}, note, possible, "band", shown, unit)


def _sizes(claim: Claim, data: Data) -> Iterator[int]:
    return (q for q in data.labels("sweep", "queue") if q >= claim.settings["from_kb"])


def _goodputs(claim: Claim, data: Data) -> dict[str, j.Check]:
    return {f"goodput {q} kB": _order(data, "goodput", "goodput_bps", q, 1e-6, "Mbit/s") for q in _sizes(claim, data)}


def _delays(claim: Claim, data: Data) -> dict[str, j.Check]:
    """Of what is received in the whole window, or only from the handover on.

    The latter if the setting `delays` is `later`.
    """
    which = claim.settings.get("delays", "delay")
    return {
        f"{what} delay {q} kB": _order(data, f"{what} delay", f"{which}_{what}_s", q, 1e3, "ms")
        for q in _sizes(claim, data)
        for what in ("mean", "p95")
    }


def _order(data: Data, what: str, key: str, queue: int, scale: float, unit: str) -> j.Check:
    """Seamless below lossless, at the speeds at which something arrived under both.

    Else there is no delay.
    """
    found = [data.estimate("sweep", key, type=kind, queue=queue).scaled(scale) for kind in ("seamless", "lossless")]
    both = [pair for pair in zip(*(f.samples for f in found), strict=True) if not any(map(math.isnan, pair))]
    lacking = found[0].n - len(both)
    without = f" ({lacking} of {found[0].n} speeds left out: nothing arrived)" if lacking else ""
    where = f"with a queue of {queue} kB{without}"
    if not both:
        return j.holds(f"{what} {where}", False)
    seamless, lossless = (Estimate.of(list(samples)) for samples in zip(*both, strict=True))
    return j.ordered({f"{what} seamless {where}": seamless, f"{what} lossless {where}": lossless}, unit=unit)
