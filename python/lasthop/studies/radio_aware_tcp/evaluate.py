"""How each claim of the contribution is judged. One function per claim; bands and rates come from claims.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate

if TYPE_CHECKING:
    from lasthop.harness import Claim, Data, Finding

SCHEMES = ("normal", "rate", "queue")


def goodput(data: Data, scheme: str, buffer: int) -> Estimate:
    """Goodput of a full buffer [Mbit/s]."""
    return data.estimate("table", "goodput", scheme=scheme, buffer=buffer)


def over(a: Estimate, b: Estimate) -> Estimate:
    """A / b, seed by seed where both have as many."""
    if a.n == b.n:
        return Estimate.of([x / y for x, y in zip(a.samples, b.samples, strict=True)])
    return a.scaled(1 / b.mean)


def saved(a: Estimate, b: Estimate) -> Estimate:
    """The share of b that a saves."""
    return Estimate.of([1 - x for x in over(a, b).samples])


def ratio(data: Data, scheme: str, buffer: int) -> Estimate:
    """Goodput over that of normal TCP, seed by seed."""
    return over(goodput(data, scheme, buffer), goodput(data, "normal", buffer))


def buffer_shape(claim: Claim, data: Data) -> Finding:
    """R1: goodput and round trip against the buffer."""
    labels = data.labels("bdp", "bdp")
    xs = [float(x) for x in labels]
    rates = [data.estimate("bdp", "goodput", bdp=x) for x in labels]
    trips = [data.estimate("bdp", "rtt", bdp=x) for x in labels]
    air = data.estimate("air", "goodput").mean
    checks = [j.monotone("goodput", xs, rates, "rising", slack=0.1), j.monotone("round trip", xs, trips, "rising")]
    for x, rate in zip(xs, rates, strict=True):
        if x >= 2:
            checks.append(j.at_least(f"goodput / air rate at {x:g} BDP", rate.scaled(1 / air), claim.settings["share"]))
    return j.all_of(checks, ["figure 1"])


def slow_start_costs(claim: Claim, data: Data) -> Finding:
    """R2: latency of a short burst over what its size alone takes."""
    took = data.estimate("short", "latency", scheme="normal", rtt=20, window=1)
    alone = 0.5e6 * 8 / (data.estimate("air", "goodput").mean * 1e6)
    return j.all_of(
        [j.above("latency / (size / rate)", took.scaled(1 / alone), claim.settings["factor"])], ["figure 5"]
    )


def periodic_losses(_: Claim, data: Data) -> Finding:
    """R3: losses in each sixth of the run."""
    parts = data.estimate("table", "parts_with_losses", scheme="normal", buffer=45)
    return j.all_of([j.at_least("sixths of the run with losses", parts, 5.0)], ["table drops"])


def short_burst(claim: Claim, data: Data) -> Finding:
    """R4: where the latency of a short burst falls by two thirds."""
    low, high = claim.settings["band"]
    checks = []
    for rtt in data.labels("short", "rtt"):
        for window in data.labels("short", "window"):
            at = {"rtt": rtt, "window": window}
            normal = data.estimate("short", "latency", scheme="normal", **at)
            loose = data.estimate("short", "latency", scheme="queue", **at)
            cut = saved(loose, normal)
            checks.append(j.in_band(f"cut at {rtt} ms, IW {window}", cut, (low, high), 2))
    finding = j.all_of(checks, ["figure 5"])
    held = [c.text for c in checks if c.passed]
    where = "it holds at: " + "; ".join(held) if held else "it holds nowhere in the grid"
    return j.contradicted(finding, f"round trip and initial window are not given; {where}")


def table_row(claim: Claim, data: Data) -> Finding:
    """R5, R6: a row of table 1."""
    buffer, within, absolute = (claim.settings[k] for k in ("buffer", "within", "absolute"))
    checks = []
    for scheme, expected in zip(SCHEMES[1:], claim.settings["ratios"], strict=True):
        band = (expected - within, expected + within)
        checks.append(j.in_band(f"{scheme} / normal", ratio(data, scheme, buffer), band))
    for scheme, rate in zip(SCHEMES, claim.settings["rates"], strict=True):
        band = (rate * (1 - absolute), rate * (1 + absolute))
        checks.append(j.in_band(scheme, goodput(data, scheme, buffer), band, unit="Mbit/s"))
    return j.all_of(checks, ["table 1"])


def table_order(_: Claim, data: Data) -> Finding:
    """R7: the order within each row, and the growth of each column."""
    checks = [j.ordered({s: goodput(data, s, b) for s in SCHEMES}, unit="Mbit/s") for b in (45, 60)]
    checks += [j.ordered({f"{s} {b} kB": goodput(data, s, b) for b in (45, 60)}, unit="Mbit/s") for s in SCHEMES]
    return j.all_of(checks, ["table 1"])


def rate_alone(claim: Claim, data: Data) -> Finding:
    """R8: the gain of the rate alone."""
    gains = {b: Estimate.of([x - 1 for x in ratio(data, "rate", b).samples]) for b in (45, 60)}
    finding = j.all_of([j.in_band("gain at 45 kB", gains[45], claim.settings["band"])], ["table 1"])
    return finding.noting(f"at 60 kB ours is {gains[60].text()}; the contribution's own table says 0.046, its text 0.1")


def close_rate(claim: Claim, data: Data) -> Finding:
    """R9: close coupling against the air rate."""
    air = data.estimate("air", "ip_rate")
    checks = []
    for buffer in (45, 60):
        rate = data.estimate("table", "ip_rate", scheme="close", buffer=buffer)
        checks.append(j.at_least(f"close / air at {buffer} kB", over(rate, air), claim.settings["share"]))
    return j.all_of(checks, ["figure 8"])


def burst_latency(claim: Claim, data: Data) -> Finding:
    """R10: the time of bursts."""
    normal, close = (data.estimate("bursts", "latency", scheme=s) for s in ("normal", "close"))
    cut = saved(close, normal)
    finding = j.all_of([j.in_band("cut", cut, claim.settings["band"])], ["figure 9"])
    return finding.noting(f"normal {normal.text(unit='s')}, close {close.text(unit='s')}")


def web_objects(_: Claim, data: Data) -> Finding:
    """R11: web objects beside a download."""
    times = {s: data.estimate("web", "object", scheme=s) for s in ("close", "queue")}
    finding = j.all_of([j.ordered(times, unit="ms")], ["figure 6"])
    normal = data.estimate("web", "object", scheme="normal")
    return finding.noting(f"normal TCP: {normal.text(unit='ms')}")


def prediction(_: Claim, data: Data) -> Finding:
    """R12: error of the rate that is told."""
    errors = {k: data.estimate("load", "error", load=k) for k in ("broadcast", "none")}
    finding = j.all_of([j.ordered(errors)], ["table prediction"])
    return finding.noting(f"by the share it saw itself get: {data.estimate('load', 'error', load='own').text()}")


def drift(_: Claim, data: Data) -> Finding:
    """R13: the sender's own estimate of the queue, left alone and corrected by each report."""
    free, held = (data.estimate("load", k, load="broadcast") for k in ("free", "held"))
    passed = free.mean > 2 * held.mean
    seldom = data.estimate("load", "held_100", load="broadcast")
    text = f"mean distance {free.text(unit='kB')} without reports, {held.text(unit='kB')} with one every 10 ms"
    text += f" (every 100 ms: {seldom.text(unit='kB')})"
    return j.all_of([j.holds(text, bool(passed))], ["table prediction"])


def both_at_once(_: Claim, data: Data) -> Finding:
    """R14: more goodput and less latency."""
    rates = {s: goodput(data, s, 45) for s in ("normal", "close")}
    times = {s: data.estimate("bursts", "latency", scheme=s) for s in ("close", "normal")}
    return j.all_of([j.ordered(rates, unit="Mbit/s"), j.ordered(times, unit="s")], ["table 1", "figure 9"])
