"""Three controls, and a mutant of each.

A forgotten cut, a pacing gain off by a tenth, a threshold of zero.
"""

from __future__ import annotations

import math
from typing import ClassVar

import lasthop as lh


class Reno(lh.CongestionControl):
    """Additive increase, halving: RFC 5681 with bytes counted."""

    def on_ack(self, ack: lh.AckSample) -> None:
        if ack.may_grow and ack.cwnd_limited:
            left = self.slow_start(ack)
            self.cwnd += left / self.cwnd


class ForgottenCut(Reno):
    """Keeps its window at a loss."""

    def on_loss(self, loss: lh.Congestion) -> None:
        self.ssthresh = self.cwnd


class Model(lh.CongestionControl):
    """STARTUP and DRAIN as draft-ietf-ccwg-bbr has them, then a steady pace; no more."""

    observables: ClassVar[dict[str, str]] = {
        "bbr.state": "text",
        "bbr.round_count": "",
        "bbr.pacing_gain": "",
        "bbr.pacing_rate": "bit/s",
        "bbr.bw": "bit/s",
        "bbr.inflight_at_1": "segments",
    }
    drain_gain = 0.5

    def __init__(self) -> None:
        self.state, self.gain, self.rounds = "Startup", 2.77, 0
        self.bw, self.full, self.stayed, self.min_rtt, self.mss = 0.0, 0.0, 0, math.inf, 1448

    def on_round(self, ack: lh.AckSample) -> None:
        self.rounds += 1
        if self.state != "Startup" or not self.bw:
            return
        if self.bw >= 1.25 * self.full:
            self.full, self.stayed = self.bw, 0
        else:
            self.stayed += 1
        if self.stayed == 3:
            self.state, self.gain = "Drain", self.drain_gain

    def on_ack(self, ack: lh.AckSample) -> None:
        self.mss = ack.mss
        self.bw = max(self.bw, ack.delivery_rate or 0.0)
        self.min_rtt = min(self.min_rtt, ack.rtt or math.inf)
        if self.state == "Drain" and ack.in_flight / ack.mss <= self.bdp():
            self.state, self.gain = "ProbeBW_DOWN", 0.9
        if self.bw and math.isfinite(self.min_rtt):
            self.pacing_rate = self.gain * 0.99 * self.bw
            # Room for what is paced too much in STARTUP, and for its queue in DRAIN.
            self.cwnd = max(10.0, 2.89 * self.bdp())

    def bdp(self) -> float:
        return self.bw * self.min_rtt / 8 / self.mss if math.isfinite(self.min_rtt) else math.inf

    def observe(self) -> dict[str, float | str | None]:
        return {
            "bbr.state": self.state,
            "bbr.round_count": float(self.rounds),
            "bbr.pacing_gain": self.gain,
            "bbr.pacing_rate": self.pacing_rate,
            "bbr.bw": self.bw or None,
            "bbr.inflight_at_1": self.bdp(),
        }


class GainOffByATenth(Model):
    """Drains at 0.55 of the bandwidth."""

    drain_gain = 0.55


class Cautious(Reno):
    """Begins anew after a timeout, from a quarter of the flight."""

    def on_timeout(self, loss: lh.Congestion) -> None:
        self.ssthresh = max(2.0, loss.flight / 4)
        self.cwnd = 1.0


class ThresholdOfZero(Cautious):
    """Forgets the floor of the threshold."""

    def on_timeout(self, loss: lh.Congestion) -> None:
        self.ssthresh = 0.0
        self.cwnd = 1.0


class BlindToMarks(Reno):
    """Reduces at losses, and ignores congestion marks."""

    def on_loss(self, loss: lh.Congestion) -> None:
        if loss.signal == "ecn":
            self.ssthresh = self.cwnd
        else:
            super().on_loss(loss)
