"""How each claim of the paper is judged. One function per claim; bands come from claims.toml."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate
from lasthop.studies.d2d_tcp.reduce import MSS

if TYPE_CHECKING:
    from lasthop.harness import Claim, Data, Finding

MODES = ("DM-DM", "DM-IM", "IM-DM", "IM-IM")
VERSIONS = ("reno", "newreno", "westwood", "westwood-plus", "sack", "cubic")
FAST, MIDDLE, SLOW = ("sack", "cubic"), ("reno", "westwood", "westwood-plus"), ("newreno",)
WAYS = ("over the eNB", "directly")
#: TTIs from a request to the ACK of the requested data: D3.
BACK = 30


def _judged(claim: Claim, checks: list[j.Check], evidence: list[str]) -> Finding:
    """Agrees when every comparison holds.

    Each is a part, so that ablations can turn them one by one.
    """
    parts = {f"{claim.id}.{i}": check.held for i, check in enumerate(checks, 1)}
    return replace(j.all_of(checks, evidence), parts=parts)


def mean_rtt(claim: Claim, data: Data) -> Finding:
    """D1, D2, D5: the mean round trip of one mode."""
    mode = claim.settings["mode"]
    rtt = data.estimate("rtt", "rtt_mean", mode=mode)
    checks = [j.in_band(f"{mode} mean RTT", rtt, claim.settings["band"], unit="ms")]
    if "least" in claim.settings:
        least = data.estimate("rtt", "rtt_least", mode=mode)
        checks.append(j.at_least(f"{mode} least RTT", least, claim.settings["least"], unit="ms"))
    return _judged(claim, checks, ["figure 3"])


def timeline(claim: Claim, data: Data) -> Finding:
    """D3: the steps of every request, and the round trip of a burst's first segment."""
    mode = claim.settings["mode"]
    checks = []
    for node in ("a", "b"):
        legs = data.estimate("steps", f"legs_{node}", mode=mode)
        checks.append(j.above(f"requests of {node}", legs, 0))
        checks.append(
            j.at_least(
                f"share of requests of {node} with these steps", data.estimate("steps", f"exact_{node}", mode=mode), 1
            )
        )
    back = data.estimate("steps", "trip", mode=mode)
    check = j.in_band("from request to first ACK", back, (BACK, BACK), unit="TTI")
    checks.append(replace(check, passed=all(t == BACK for t in back.samples), open=False))
    return _judged(claim, checks, ["figure 4"])


def asking(claim: Claim, data: Data) -> Finding:
    """D4: what has passed before the first block, data and ACKs."""
    band = claim.settings["band"]
    what = {"a": "data", "b": "ACKs"}
    checks = [
        j.in_band(f"{name}: asking", data.estimate("steps", f"asking_{node}", mode="DM-DM"), band)
        for node, name in what.items()
    ]
    return _judged(claim, checks, ["figure 4"])


def fluctuation(claim: Claim, data: Data) -> Finding:
    """D6: deviations of the four curves."""
    flat = {mode: data.estimate("rtt", "rtt_deviation", mode=mode) for mode in ("DM-DM", "IM-DM")}
    other = {mode: data.estimate("rtt", "rtt_deviation", mode=mode) for mode in ("DM-IM", "IM-IM")}
    most = max(e.mean for e in flat.values())
    checks = [j.at_most(f"{mode} deviation", e, 1.0, unit="ms") for mode, e in flat.items()]
    checks += [j.above(f"{mode} deviation", e, 3 * most, unit="ms") for mode, e in other.items()]
    return _judged(claim, checks, ["figure 3", "table rtt"])


def few_ride(claim: Claim, data: Data) -> Finding:
    """D7: whole ACKs in the grant of a report."""
    mode = claim.settings["mode"]
    share = data.estimate("steps", "ridden_b", mode=mode)
    most = data.estimate("steps", "ridden_most_b", mode=mode)
    check = j.in_band("whole ACKs in one report, at most", most, (1, 2))
    checks = [
        j.at_least("reports with one or two whole ACKs", share, 0.9),
        replace(check, passed=1 <= max(most.samples) <= 2, open=False),
    ]
    return _judged(claim, checks, ["figure 1"])


def late_data(claim: Claim, data: Data) -> Finding:
    """D8: packets between report and data block."""
    mode = claim.settings["mode"]
    gaps = data.estimate("steps", "gap_a", mode=mode)
    check = j.at_least("shortest time between two RACs", gaps, 10, unit="ms")
    checks = [
        j.above("such packets", data.estimate("steps", "waits_a", mode=mode), 0),
        j.at_least("they wait", data.estimate("steps", "waiting_a_ms", mode=mode), 3, unit="ms"),
        replace(check, passed=min(gaps.samples) >= 10, open=False),
    ]
    return _judged(claim, checks, ["figure 1", "table steps"])


def riding_gains(claim: Claim, data: Data) -> Finding:
    """D9: delay of segments with and without stealing."""
    on, off = (data.estimate("riding", "delay", stealing=s) for s in ("on", "off"))
    gain = off.minus(on)
    check = j.in_band("delay without minus with stealing", gain, (-1.0, 1.0), unit="ms")
    return _judged(claim, [check], ["table riding"]).noting(f"with {on.text(unit='ms')}, without {off.text(unit='ms')}")


def _windows(data: Data, mode: str) -> tuple[list[int], list[Estimate]]:
    kb = data.labels("window", "kb")
    return kb, [data.estimate("window", "rtt_mean", mode=mode, kb=k) for k in kb]


def rises(claim: Claim, data: Data) -> Finding:
    """D10: the slope over the largest windows."""
    checks = []
    for mode in MODES:
        kb, rtt = _windows(data, mode)
        slope = j.slope([float(k) for k in kb[-3:]], rtt[-3:])
        interval = slope.ci95
        beyond = slope.mean > 0 and (interval is None or interval[0] > 0)
        check = j.above(f"{mode}: slope of the RTT from {kb[-3]} to {kb[-1]} KB", slope, 0, unit="ms/KB")
        checks.append(replace(check, passed=beyond, open=interval is not None and interval[0] <= 0 < interval[1]))
    return _judged(claim, checks, ["figure 5"])


def inner_maximum(claim: Claim, data: Data) -> Finding:
    """D11: a rise and then a fall."""
    found, possible, texts = False, False, []
    for mode in ("IM-DM", "IM-IM"):
        kb, rtt = _windows(data, mode)
        falls = []
        for i in range(1, len(kb) - 1):
            rose = any(_beyond(rtt[i], before) for before in rtt[:i])
            if rose and _beyond(rtt[i], rtt[i + 1]):
                falls.append(f"RTT {rtt[i].mean:.1f} ms at {kb[i]} KB, {rtt[i + 1].mean:.1f} ms at {kb[i + 1]} KB")
            might = any(_perhaps_beyond(rtt[i], before) for before in rtt[:i])
            possible = possible or (might and _perhaps_beyond(rtt[i], rtt[i + 1]))
        found = found or bool(falls)
        texts.append(f"{mode}: " + ("; ".join(falls) if falls else "no fall after a rise"))
    return _judged(claim, [j.holds(". ".join(texts), found, open=possible and not found)], ["figure 5"])


def _beyond(high: Estimate, low: Estimate) -> bool:
    interval = high.minus(low).ci95
    return high.mean > low.mean and (interval is None or interval[0] > 0)


def _perhaps_beyond(high: Estimate, low: Estimate) -> bool:
    """Whether the interval of the difference leaves it open."""
    interval = high.minus(low).ci95
    return high.mean > low.mean if interval is None else interval[1] > 0


def always_asks(claim: Claim, data: Data) -> Finding:
    """D12: no fall with data direct, and a request for each burst."""
    checks = []
    kb, rtt = _windows(data, "DM-DM")
    checks.append(j.monotone("DM-DM mean RTT [ms]", [float(k) for k in kb], rtt, "rising", slack=2.0))
    for k in data.labels("bursts", "kb"):
        each = data.estimate("bursts", "per_burst", kb=k)
        checks.append(j.in_band(f"requests per burst at {k} KB", each, claim.settings["band"]))
    return _judged(claim, checks, ["figure 5", "table window"])


def enb_is_faster(claim: Claim, data: Data) -> Finding:
    """D13: orders at the largest windows."""
    checks = []
    for acks in ("DM", "IM"):
        for kb in data.labels("window", "kb")[-2:]:
            pair = {
                f"mean RTT, {mode}, window of {kb} KB": data.estimate("window", "rtt_mean", mode=mode, kb=kb)
                for mode in (f"IM-{acks}", f"DM-{acks}")
            }
            checks.append(j.ordered(pair, unit="ms"))
    return _judged(claim, checks, ["figure 5"])


def acks_ask(claim: Claim, data: Data) -> Finding:
    """D14: requests of the receiver."""
    checks = [
        j.above(f"RACs of UE 2 in 1 s at {k} KB", data.estimate("window", "requests_b", mode="DM-IM", kb=k), 0)
        for k in data.labels("window", "kb")
    ]
    return _judged(claim, checks, ["figure 5"])


def burst_lost(claim: Claim, data: Data) -> Finding:
    """D15: what a switch to direct mode loses, and the duplicate ACKs."""
    checks = [
        j.above("segments and ACKs lost", data.estimate("burst", "lost"), 10),
        j.at_least("duplicate ACKs in 1 s", data.estimate("burst", "duplicates"), 3),
        j.at_most("the first eight come within", data.estimate("burst", "together_ms"), 10, unit="ms"),
    ]
    return _judged(claim, checks, ["figure 6"])


def _after(data: Data, version: str, name: str) -> Estimate:
    """A number about switches to direct mode."""
    return data.estimate("switches", f"direct_{name}", version=version)


def _deadlock(claim: Claim, data: Data) -> list[j.Check]:
    version, factor = claim.settings["version"], claim.settings["factor"]
    again = _after(data, version, "again").minus(_after(data, version, "dropped"))
    return [
        j.in_band("threshold / min(cwnd, rwnd)", _after(data, version, "cut"), (factor - 0.05, factor + 0.05)),
        j.above("inflated by [segments]", _after(data, version, "inflated"), 3),
        j.in_band("from deflation to timeout [s]", _after(data, version, "silence_s"), (0.9, 1.1)),
        j.above("sent again beyond what was lost [segments]", again, 0),
        j.at_least("second recovery", _after(data, version, "second_share"), 0.5),
    ]


def reno(claim: Claim, data: Data) -> Finding:
    """D16: deadlock, timeout, second event."""
    return _judged(claim, _deadlock(claim, data), ["figure 6a"])


def newreno(claim: Claim, data: Data) -> Finding:
    """D17: the impatient variant as the paper describes it."""
    wait = _after(data, "newreno", "timeout").minus(_after(data, "newreno", "entered"))
    checks = [
        j.in_band("from recovery to timeout [s]", wait, (0.9, 1.1)),
        j.above("cwnd 1 while in recovery: share", _after(data, "newreno", "kept_recovery"), 0.5),
        j.above("recovery [s]", _after(data, "newreno", "recovery_s"), 2.0),
    ]
    return _judged(claim, checks, ["figure 6b"])


def low_window(claim: Claim, data: Data) -> Finding:
    """D18: Westwood's window after the event."""
    share = _share_after(data, claim.settings["version"])
    check = j.at_most("cwnd after / before", share, claim.settings["share"])
    return _judged(claim, [check], ["figure 6c"])


def _share_after(data: Data, version: str) -> Estimate:
    after, before = (_after(data, version, name) for name in ("after", "before"))
    return Estimate.of([a / b for a, b in zip(after.samples, before.samples, strict=True)])


def plus_window(claim: Claim, data: Data) -> Finding:
    """D19: Westwood+'s window after the event."""
    ours = {v: _after(data, v, "after").scaled(MSS / 1e3) for v in ("westwood", "westwood-plus")}
    checks = [
        j.in_band("Westwood+ falls to", ours["westwood-plus"], claim.settings["band"], unit="KB"),
        j.ordered({f"cwnd after the event, {v}": e for v, e in ours.items()}, unit="KB"),
    ]
    return _judged(claim, checks, ["figure 6d"])


def sack(claim: Claim, data: Data) -> Finding:
    """D20: one halving and nothing else."""
    most = data.estimate("switches", "direct_most_timeouts", version="sack")
    checks = [
        j.at_least("recovery begins: share of switches", _after(data, "sack", "entered_share"), 0.99),
        j.never("timeouts after a switch", most),
        j.in_band("threshold / min(cwnd, rwnd)", _after(data, "sack", "cut"), (0.45, 0.55)),
    ]
    other = data.estimate("switches", "infrastructure_timeouts", version="sack")
    finding = _judged(claim, checks, ["figure 6e"])
    return finding.noting(f"switches to the eNB lose the whole window: {other.mean:.2f} timeouts each")


def cubic(claim: Claim, data: Data) -> Finding:
    """D21: Reno's deadlock with a smaller cut, and the fastest return."""
    back = {v: _after(data, v, "back_s") for v in VERSIONS}
    soonest = min(back, key=lambda v: back[v].mean)
    times = ", ".join(f"{v} {back[v].mean:.2f} s" for v in sorted(back, key=lambda v: back[v].mean))
    others = [e for v, e in back.items() if v != "cubic"]
    sooner = [e for e in others if e.mean < back["cubic"].mean]
    if sooner:
        possible = all(_perhaps_beyond(e, back["cubic"]) for e in sooner)
    else:
        possible = any(not _beyond(e, back["cubic"]) for e in others)
    text = f"time until cwnd is 0.9 x 128 KB again: {times}"
    first = j.holds(text, soonest == "cubic", open=back["cubic"].n > 1 and possible)
    checks = [*_deadlock(claim, data), first]
    return _judged(claim, checks, ["figure 6f"])


def ranking(claim: Claim, data: Data) -> Finding:
    """D22: orders of throughput."""
    good = {v: data.estimate("transfer", "goodput", version=v) for v in VERSIONS}
    pairs = [(low, high) for low in MIDDLE for high in FAST] + [(low, high) for low in SLOW for high in MIDDLE]
    name = "throughput, {}".format
    checks = [j.ordered({name(low): good[low], name(high): good[high]}, unit="Mbit/s") for low, high in pairs]
    checks.append(j.equal_within({name(v): good[v] for v in MIDDLE}, claim.settings["within"], unit="Mbit/s"))
    return _judged(claim, checks, ["figure 7"])


def switches_cost(claim: Claim, data: Data) -> Finding:
    """D23: each version against itself without switches."""
    checks = []
    for v in VERSIONS:
        with_ = data.estimate("transfer", "goodput", version=v)
        for way in WAYS:
            without = data.estimate("unswitched", "goodput", version=v, way=way)
            pair = {f"throughput, {v}, with switches": with_, f"throughput, {v}, {way}": without}
            checks.append(j.ordered(pair, unit="Mbit/s"))
    return _judged(claim, checks, ["figure 7"])


def persistent_is_faster(claim: Claim, data: Data) -> Finding:
    """D24: the round trip with persistent grants."""
    rtt = {g: data.estimate("grants", "rtt_mean", motion="still", kb=8, grants=g) for g in ("persistent", "asked")}
    return _judged(
        claim,
        [
            j.ordered({f"mean RTT, {g}": e for g, e in rtt.items()}, unit="ms"),
            j.at_most("mean RTT, persistent", rtt["persistent"], 30.0, unit="ms"),
        ],
        ["table grants"],
    )


def persistent_is_stuck(claim: Claim, data: Data) -> Finding:
    """D25: what moving costs with either kind of grant."""
    good = {
        (m, g): data.estimate("grants", "goodput", motion=m, kb=128, grants=g)
        for m in ("still", "moving")
        for g in ("persistent", "asked")
    }
    kept = {
        g: Estimate.of([a / b for a, b in zip(good["moving", g].samples, good["still", g].samples, strict=True)])
        for g in ("persistent", "asked")
    }
    checks = [
        j.ordered({f"throughput of moving phones over that of standing ones, {g}": kept[g] for g in kept}),
        j.ordered({f"throughput of moving phones, {g}": good["moving", g] for g in kept}, unit="Mbit/s"),
    ]
    return _judged(claim, checks, ["table grants"])
