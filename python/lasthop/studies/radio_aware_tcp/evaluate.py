"""How each claim of the contribution is judged.

One function per claim; bands and rates come from claims.toml.
"""

from __future__ import annotations

from dataclasses import replace
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


def judged(claim: Claim, checks: list[j.Check], evidence: list[str]) -> Finding:
    """Agrees when every comparison holds.

    Each is a part, so that ablations can turn them one by one.
    """
    parts = {f"{claim.id}.{i}": check.held for i, check in enumerate(checks, 1)}
    return replace(j.all_of(checks, evidence), parts=parts)


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
    return judged(claim, checks, ["figure 1"])


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
    """R4: the latency of a short burst, in the cases in which the claim holds by arithmetic.

    Also in the cases in which it holds in our runs.
    """
    band, at = claim.settings["band"], claim.settings["at"]
    grid = {
        (rtt, window): saved(*(burst(data, scheme, rtt, window) for scheme in ("queue", "normal")))
        for rtt in data.labels("short", "rtt")
        for window in data.labels("short", "window")
    }
    cut = saved(*(burst(data, scheme, at["rtt"], at["window"]) for scheme in ("queue", "normal")))
    others = [
        j.given(f"share of the time saved at a round trip of {rtt} ms and an initial window of {window}", found)
        for (rtt, window), found in grid.items()
        if (rtt, window) != (at["rtt"], at["window"])
    ]
    return j.all_of([j.in_band(f"cut at {at['rtt']} ms, IW {at['window']}", cut, band, 2), *others], ["figure 5"])


def burst(data: Data, scheme: str, rtt: int, window: int) -> Estimate:
    """Latency of a short burst [s]."""
    return data.estimate("short", "latency", scheme=scheme, rtt=rtt, window=window)


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
    return judged(claim, checks, ["table 1"])


def table_order(claim: Claim, data: Data) -> Finding:
    """R7: the order within each row, and the growth of each column."""
    checks = [
        j.ordered({f"goodput, {s}, {b} kB": goodput(data, s, b) for s in SCHEMES}, unit="Mbit/s") for b in (45, 60)
    ]
    checks += [
        j.ordered({f"goodput, {s}, {b} kB": goodput(data, s, b) for b in (45, 60)}, unit="Mbit/s") for s in SCHEMES
    ]
    return judged(claim, checks, ["table 1"])


def rate_alone(claim: Claim, data: Data) -> Finding:
    """R8: the gain of the rate alone."""
    gains = {b: Estimate.of([x - 1 for x in ratio(data, "rate", b).samples]) for b in (45, 60)}
    finding = j.all_of([j.in_band("gain at 45 kB", gains[45], claim.settings["band"])], ["table 1"])
    return finding.noting(f"at 60 kB our gain is {gains[60].text()}; the source's own table says 0.046, its text 0.1")


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
    return finding.noting(
        f"mean time of a burst: normal TCP {normal.text(unit='s')}, close coupling {close.text(unit='s')}"
    )


def web_objects(_: Claim, data: Data) -> Finding:
    """R11: web objects beside a download."""
    times = {s: data.estimate("web", "object", scheme=s) for s in ("close", "queue")}
    finding = j.all_of([j.ordered(times, unit="ms")], ["figure 6"])
    others = {s: data.estimate("web", "object", scheme=s).text(unit="ms") for s in ("normal", "loose-fq")}
    queues = f"with loose coupling and a queue for each flow {others['loose-fq']}"
    return finding.noting(f"the same with normal TCP {others['normal']}, {queues}")


def prediction(_: Claim, data: Data) -> Finding:
    """R12: error of the reported rate."""
    errors = {k: data.estimate("load", "error", load=k) for k in ("broadcast", "none")}
    finding = j.all_of([j.ordered(errors)], ["table prediction"])
    own = data.estimate("load", "error", load="own")
    return finding.noting(f"with the share of the cell that the phone itself has received the error is {own.text()}")


def drift(_: Claim, data: Data) -> Finding:
    """R13: the sender's own estimate of the queue without corrections for increasing times.

    Also the estimate that each report corrects.
    """
    ages = (0.1, 1.0, 10.0)
    free = [data.estimate("load", f"free_{age:g}", load="broadcast") for age in ages]
    held = data.estimate("load", "corrected", load="broadcast")
    threshold = data.estimate("load", "threshold", load="broadcast").mean
    checks = [
        j.monotone("distance [kB] by time since a report [s]", ages, free, "rising"),
        j.above(f"distance after 10 s, over Q_th of {threshold:g} kB", free[-1].scaled(1 / threshold), 1.0),
        j.at_most("corrected by what reports come, over Q_th", held.scaled(1 / threshold), 1.0),
    ]
    empty = data.estimate("load", "empty", load="broadcast")
    finding = j.all_of(checks, ["table prediction"])
    return finding.noting(f"an estimate that is not let below 0 stands there for {empty.mean * 100:.0f} % of the time")


def both_at_once(_: Claim, data: Data) -> Finding:
    """R14: more goodput and less latency in one run."""
    rates = {s: data.estimate("web", "goodput", scheme=s) for s in ("normal", "close")}
    times = {s: data.estimate("web", "object", scheme=s) for s in ("close", "normal")}
    finding = j.all_of([j.ordered(rates, unit="Mbit/s"), j.ordered(times, unit="ms")], ["figure 6"])
    waits = data.estimate("web", "delay_p95", scheme="close")
    return finding.noting(
        f"with close coupling 95 % of the download's packets are delivered within {waits.text(unit='ms')}: they wait "
        "for what its application wrote before"
    )
