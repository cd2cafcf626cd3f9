"""How each claim of the slides is judged. One function per claim; thresholds come from claims.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lasthop.harness import Claim, Data, Finding
from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator


def discards_or_forwards(_: Claim, data: Data) -> Finding:
    """H1: what is lost at the handover, as a share of the retransmission queue."""
    checks = []
    for kind in ("seamless", "lossless"):
        runs = data.runs("sweep", type=kind)
        moved = all(r.values["handovers"] >= 1 for r in runs)
        checks.append(j.holds(f"{kind}: every run has its handover", moved))
        share = Estimate.of([r.values["lost_bytes"] / max(r.values["queue_bytes"], 1.0) for r in runs])
        if kind == "seamless":
            checks.append(j.above("seamless: lost / queue", share, 0.5))
            most = max(r.values["lost_bytes"] / max(r.values["queue_bytes"], 1.0) for r in runs)
            checks.append(j.holds(f"seamless: at most {most:.2f} of a queue lost", most <= 1.0 + 1e-9))
        else:
            checks.append(j.at_most("lossless: bytes lost", Estimate.of([r.values["lost_bytes"] for r in runs]), 0))
    return j.all_of(checks, ["figure LH-1", "table drops"])


def goodput_order(claim: Claim, data: Data) -> Finding:
    """H2: goodput in the window at every size from `from_kb` on."""
    return j.all_of([_goodput(data, q) for q in _sizes(claim, data)], ["figure LH-2"])


def delay_order(claim: Claim, data: Data) -> Finding:
    """H3: mean and 95th percentile of the delay in the window."""
    checks = [c for q in _sizes(claim, data) for c in _delays(data, q)]
    return j.all_of(checks, ["figure LH-3"])


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


def window_kept(claim: Claim, data: Data) -> Finding:
    """H5: no packet is lost at a lossless handover."""
    runs = [r for q in _sizes(claim, data) for r in data.runs("sweep", type="lossless", queue=q)]
    lost = Estimate.of([r.values["lost_bytes"] for r in runs])
    spurious = sum(r.values["timeouts"] > 0 for r in runs)
    again = sum(r.values["retransmits"] > 0 for r in runs)
    finding = j.all_of([j.at_most("bytes lost at the handover", lost, 0)], ["figure LH-1"])
    return finding.noting(
        f"within 10 s: spurious timeouts in {spurious} of {len(runs)} runs, retransmissions (the full queue's own "
        f"drops included) in {again}"
    )


def goodput_falls(claim: Claim, data: Data) -> Finding:
    """H6: the rank correlation of goodput after the handover and size, seamless."""
    sizes = [float(q) for q in data.labels("sweep", "queue")]
    goodput = [data.estimate("sweep", "after_bps", type="seamless", queue=int(q)) for q in sizes]
    rho = j.rank_correlation(sizes, [g.mean for g in goodput])
    text = ", ".join(f"{g.mean / 1e6:.2f} at {q:g} kB" for q, g in zip(sizes, goodput, strict=True))
    check = j.holds(f"rank correlation {rho:.2f}; Mbit/s: {text}", rho < claim.settings["rho"])
    return j.all_of([check], ["figure LH-2"])


def delay_rises(_: Claim, data: Data) -> Finding:
    """H7: the slope of the mean delay over the size, lossless."""
    sizes = [float(q) for q in data.labels("sweep", "queue")]
    mean = [data.estimate("sweep", "delay_mean_s", type="lossless", queue=int(q)) for q in sizes]
    return j.all_of([j.above("slope [s/kB]", j.slope(sizes, mean), 0.0, digits=6)], ["figure LH-3"])


def trade_off(claim: Claim, data: Data) -> Finding:
    """H8: H2 and H3 at every size."""
    checks = [c for q in _sizes(claim, data) for c in (_goodput(data, q), *_delays(data, q))]
    return j.all_of(checks, ["figure LH-2", "figure LH-3"])


def load_step(claim: Claim, data: Data) -> Finding:
    """H9: rates and RTT of the first users before and after n more begin."""
    low, high = claim.settings["share"]
    checks = []
    for added in data.labels("load", "added"):
        runs = data.runs("load", added=added)
        early = runs[0].values["users"]
        fair = early / (early + int(added))
        share = Estimate.of([r.values["after_bps"] / r.values["before_bps"] for r in runs])
        checks.append(j.in_band(f"+{added}: rate after / before", share, (low * fair, high * fair)))
        rtt = Estimate.of([r.values["rtt_after_s"] / r.values["rtt_before_s"] for r in runs])
        checks.append(j.at_least(f"+{added}: RTT after / before", rtt, claim.settings["rtt"]))
    finding = j.all_of(checks, ["figure LH-4"])
    for added in data.labels("load", "added"):
        before = data.estimate("load", "timeouts_before", added=added)
        after = data.estimate("load", "timeouts_after", added=added)
        finding = finding.noting(f"+{added}: timeouts in 15 s {before.mean:.1f} before, {after.mean:.1f} after")
    return finding


def citations(_: Claim, __: Data) -> Finding:
    """H10."""
    return j.not_testable("the motivation cites other work")


def _sizes(claim: Claim, data: Data) -> Iterator[int]:
    return (q for q in data.labels("sweep", "queue") if q >= claim.settings["from_kb"])


def _goodput(data: Data, queue: int) -> j.Check:
    pair = {
        f"{kind} {queue} kB": data.estimate("sweep", "goodput_bps", type=kind, queue=queue).scaled(1e-6)
        for kind in ("seamless", "lossless")
    }
    return j.ordered(pair, unit="Mbit/s")


def _delays(data: Data, queue: int) -> list[j.Check]:
    return [
        j.ordered(
            {
                f"{what} {kind} {queue} kB": data.estimate("sweep", f"delay_{what}_s", type=kind, queue=queue).scaled(
                    1e3
                )
                for kind in ("seamless", "lossless")
            },
            unit="ms",
        )
        for what in ("mean", "p95")
    ]
