"""How each claim of the paper is judged.

One function per claim; bands and rates come from claims.toml.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lasthop.harness import Check, Claim, Data, Finding
from lasthop.harness import judge as j
from lasthop.harness.stats import Estimate
from lasthop.studies.umts_vegas import model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIANTS = ("vegas", "reno")
NAMES = {"vegas": "Vegas", "reno": "Reno"}
#: Timeouts per 300 s up to which a run counts as free of them.
FEW_TIMEOUTS = 1.0


def error_free_share(claim: Claim, data: Data) -> Finding:
    """U1: the share at 0 %, and where the rest of the channel went."""
    low, high = claim.settings["band"]
    checks = [percent_in_band(cc, data.estimate("rates", "share", cc=cc, tbler=0), low, high) for cc in VARIANTS]
    finding = j.all_of(checks, ["figure 5a"])
    # Both TCPs mostly have the same shares, which are said once.
    whose: dict[str, list[str]] = {}
    for cc in VARIANTS:
        found = data.shown("rates", cc=cc, tbler=0).values
        if "downlink_idle" in found:
            said = (
                f"of the downlink's blocks {found['downlink_idle'] * 100:.1f} % are empty and "
                f"{found['downlink_status'] * 100:.2f} % are status blocks of RLC, which carry no data"
            )
            whose.setdefault(said, []).append(NAMES[cc])
    for said, names in whose.items():
        finding = finding.noting(f"{' and '.join(names)}: {said}")
    return finding


def share_in_band(claim: Claim, data: Data) -> Finding:
    """U2, U3: the share of one TCP at one rate."""
    low, high = claim.settings["band"]
    cc, tbler = claim.settings["cc"], claim.settings["tbler"]
    share = data.estimate("rates", "share", cc=cc, tbler=tbler)
    return j.all_of([percent_in_band(cc, share, low, high)], ["figure 5a"])


def fall_with_tbler(claim: Claim, data: Data) -> Finding:
    """U4: Vegas falls at every step and steeply, Reno stays near the ceiling of the ARQ."""
    rates = data.labels("rates", "tbler")
    vegas = [data.estimate("rates", "share", cc="vegas", tbler=t).scaled(100) for t in rates]
    at5 = data.estimate("rates", "share", cc="vegas", tbler=5)
    checks = [
        j.monotone("vegas %", rates, vegas, "falling"),
        j.at_most("vegas at 5 %", at5.scaled(100), 50 * model.ceiling(5), unit="%"),
    ]
    within = claim.settings["within"]
    for rate, expected in claim.settings["reno"].items():
        share = data.estimate("rates", "share", cc="reno", tbler=int(rate))
        checks.append(percent_in_band(f"reno at {rate} %", share, expected - within, expected + within))
    return j.all_of(checks, ["figure 5a"])


def nothing_lost(_: Claim, data: Data) -> Finding:
    """U5: no packet is dropped anywhere, at any rate."""
    runs = data.runs("rates")
    seeds = sorted({r.seed for r in runs})
    lost = Estimate.of([sum(r.values["lost"] for r in runs if r.seed == seed) for seed in seeds])
    return j.all_of([j.never("packets lost over all rates", lost)], ["table drops of every run"])


def vegas_window(claim: Claim, data: Data) -> Finding:
    """U6: Vegas' window at 5 %."""
    at = {"cc": "vegas", "tbler": 5}
    return j.all_of(
        [
            j.in_band("max", data.estimate("rates", "cwnd_max", **at), claim.settings["max"]),
            j.in_band("mean", data.estimate("rates", "cwnd_mean", **at), claim.settings["mean"]),
        ],
        ["figure 5b"],
    )


def reno_window(_: Claim, data: Data) -> Finding:
    """U7: Reno's window at 5 % gets to 64 and stays."""
    at = {"cc": "reno", "tbler": 5}
    share = data.estimate("rates", "late_share_at_max", **at)
    reached = data.estimate("rates", "time_to_max", **at)
    finding = j.all_of([percent("share of time at 64 after 10 s", share, 0.95, j.above)], ["figure 5b"])
    return finding.noting(f"64 segments are first reached after {reached.text(2, 's')}")


def vegas_rtt(claim: Claim, data: Data) -> Finding:
    """U8: Vegas' RTT at 5 %."""
    return j.all_of(
        [
            j.in_band(name, data.estimate("rates", f"rtt_{name}", cc="vegas", tbler=5), claim.settings[name], unit="s")
            for name in ("min", "mean", "max")
        ],
        ["figure 6a"],
    )


def vegas_samples(claim: Claim, data: Data) -> Finding:
    """U9: how many RTT samples, and the throughput that they mean."""
    at = {"cc": "vegas", "tbler": 5}
    low, high = claim.settings["share"]
    return j.all_of(
        [
            j.in_band(
                "samples in 1000 s", data.estimate("rates", "rtt_samples_1000s", **at), claim.settings["samples"], 5
            ),
            percent_in_band("share", data.estimate("rates", "share", **at), low, high),
        ],
        ["figure 6b"],
    )


def rtt_grid(_: Claim, data: Data) -> Finding:
    """U10: RTTs on a grid of one uplink TTI."""
    share = data.estimate("rates", "rtt_on_grid", cc="vegas", tbler=5)
    return j.all_of([percent("share of samples on the grid", share, 0.95, j.at_least)], ["figure 6b"])


def base_rtt_lock(claim: Claim, data: Data) -> Finding:
    """U11: the smallest RTT that baseRTT locks to, and what equation 1 makes of it."""
    numbers = {
        "delta(6, 0.3 s)": model.vegas_delta(6, 0.3, 0.12),
        "delta(5, 0.2 s)": model.vegas_delta(5, 0.2, 0.12),
        "delta(6, 0.3 s) rounded": model.ns2_delta(6, 0.3, 0.12),
        "delta(5, 0.2 s) rounded": model.ns2_delta(5, 0.2, 0.12),
    }
    smallest = data.estimate("rates", "rtt_min", cc="vegas", tbler=5)
    return j.all_of(
        [
            j.in_band("smallest RTT", smallest, claim.settings["base"], unit="s"),
            # Of constants of the paper: no run could turn a comparison of them.
            *(j.given(name, Estimate.of([value])) for name, value in numbers.items()),
        ],
        ["figure 5b"],
    )


def vegas_timeouts(_: Claim, data: Data) -> Finding:
    """U12: timeouts after the start, per 300 s."""
    counts = {t: data.estimate("rates", "late_timeouts_300s", cc="vegas", tbler=t) for t in (5, 20, 30)}
    return j.all_of(
        [
            j.at_most("timeouts in 300 s at 5 %", counts[5], FEW_TIMEOUTS),
            j.above("at 20 %", counts[20], 0),
            j.above("at 30 %", counts[30], 0),
        ],
        ["figure 7a"],
    )


def vegas_collapse(claim: Claim, data: Data) -> Finding:
    """U13: Vegas' window at 30 %."""
    at = {"cc": "vegas", "tbler": 30}
    return j.all_of(
        [
            j.in_band("max", data.estimate("rates", "cwnd_max", **at), claim.settings["max"]),
            percent("share of time at 2", data.estimate("rates", "late_share_at_2", **at), 0.5, j.above),
        ],
        ["figure 7a"],
    )


def spurious_timeout(_: Claim, data: Data) -> Finding:
    """U14: timeouts in a run that loses nothing, followed by segments that arrive twice."""
    count = data.estimate("spurious", "spurious_timeouts")
    redundant = data.estimate("spurious", "redundant_segments")
    finding = j.all_of([j.at_least("spurious timeouts a run", count, 1)], ["figure 7b"])
    shown = data.shown("spurious").values
    if "timeout" in shown:
        finding = finding.noting(f"the first at {shown['timeout']:.3f} s of the run with seed 1")
    return finding.noting(f"{redundant.mean:.3g} segments arrived twice in a run")


def reno_timeouts(_: Claim, data: Data) -> Finding:
    """U15: hardly any timeout of Reno up to 20 %."""
    rates = [t for t in data.labels("rates", "tbler") if t <= 20]
    checks = [
        j.at_most(f"in 300 s at {t} %", data.estimate("rates", "timeouts_300s", cc="reno", tbler=t), FEW_TIMEOUTS)
        for t in rates
    ]
    return j.all_of(checks, ["table rates"])


def collapse_beyond(_: Claim, data: Data) -> Finding:
    """U16: what is left at 35 and 40 % of the share at 30 %."""
    checks = []
    for cc in VARIANTS:
        at30 = data.estimate("rates", "share", cc=cc, tbler=30)
        left = {t: ratio(data.estimate("beyond", "share", cc=cc, tbler=t), at30) for t in (35, 40)}
        checks.append(j.at_most(f"{cc} at 40 % over at 30 %", left[40], 0.5))
        checks.append(j.given(f"{cc} at 35 % over at 30 %", left[35]))
    return j.all_of(checks, ["figure 5a"])


def no_fast_retransmit(_: Claim, data: Data) -> Finding:
    """U17: fast retransmits, of which there are none while RLC delivers in sequence."""
    checks = []
    for cc in data.labels("insequence", "cc"):
        count = data.estimate("insequence", "fast_retransmits", cc=cc)
        lost = data.estimate("insequence", "lost", cc=cc)
        checks.append(j.never(f"{cc}: fast retransmits", count))
        checks.append(j.never(f"{cc}: packets lost", lost))
    return j.all_of(checks, ["table flows of the runs"])


def price_of_a_block(_: Claim, data: Data) -> Finding:
    """U18: the smallest extra delay of a datagram that lost a block."""
    path = sum(seconds(data.setting(f"bearer.dch.{way}.iub_delay")) for way in ("downlink", "uplink"))
    least = model.UL_TTI_S + model.DL_TTI_S + path
    most = least + model.UL_TTI_S + model.DL_TTI_S
    extra = data.estimate("oneloss", "extra_min")
    if math.isnan(extra.mean):
        return j.not_testable("no datagram was delayed")
    finding = j.all_of(
        [j.in_band("smallest extra delay", extra.scaled(1e3), (least * 1e3 - 1e-6, most * 1e3), unit="ms")]
    )
    return finding.noting(f"the bound is 20 + 10 + {path * 1e3:g} = {least * 1e3:g} ms")


def bandwidth_delay(claim: Claim, data: Data) -> Finding:
    """The paper's remark on 64 segments, with the arithmetic."""
    rtt = data.estimate("pipe", "rtt_min")
    product = Estimate.of([model.bandwidth_delay_segments(r) for r in rtt.samples])
    finding = j.all_of([j.in_band("bandwidth-delay product", product, claim.settings["band"], unit="segments")])
    needed = model.MAX_WINDOW * model.PACKET_BYTES * 8 / model.CAPACITY_BPS
    return finding.noting(
        f"384 kbit/s x {rtt.mean:.3f} s / 8 / 552 B = {product.mean:.1f} segments; 64 need an RTT of {needed:.2f} s"
    )


def percent(name: str, share: Estimate, least: float, test: Callable[..., Check]) -> Check:
    """A share against a least one, spoken of in percent."""
    return replace(test(name, share.scaled(100), least * 100, unit="%"), values={name: share})


def percent_in_band(name: str, share: Estimate, low: float, high: float) -> Check:
    """A share in a band, stated in percent."""
    check = j.in_band(name, share.scaled(100), (low * 100, high * 100), unit="%")
    return replace(check, values={name: share})


def ratio(above: Estimate, below: Estimate) -> Estimate:
    """One estimate over another, seed by seed."""
    return Estimate.of([a / b for a, b in zip(above.samples, below.samples, strict=True)])


def seconds(quantity: str | float | None) -> float:
    """`"28 ms"` as seconds; nothing is zero."""
    if quantity is None:
        return 0.0
    if isinstance(quantity, (int, float)):
        return float(quantity)
    match = re.fullmatch(r"\s*([\d.]+)\s*(ns|us|µs|ms|s)\s*", quantity)
    if match is None:
        raise ValueError(f"{quantity!r} is no time")
    return float(match.group(1)) * _SECONDS[match.group(2)]


_SECONDS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
