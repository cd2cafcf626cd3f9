"""Controls that are right, and mutants of them with one mistake each."""

from __future__ import annotations

from typing import ClassVar

import lasthop as lh


class Right(lh.CongestionControl):
    """Additive increase and halving; paced at 1.2 times the window over the round trip."""

    observables: ClassVar[dict[str, str]] = {"mine.cuts": "", "mine.timeouts": "", "mine.target": "bit/s"}
    gain = 1.2

    def __init__(self) -> None:
        self.cuts = 0
        self.timeouts = 0
        self.target = 0.0

    def on_ack(self, ack: lh.AckSample) -> None:
        if ack.may_grow and ack.cwnd_limited:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd
        if ack.srtt:
            self.target = self.cwnd * 1448 * 8 / ack.srtt
            self.pacing_rate = self.gain * self.target

    def on_loss(self, loss: lh.Congestion) -> None:
        self.cuts += 1
        self.ssthresh = self.cwnd = max(2.0, loss.flight / 2)

    def on_timeout(self, loss: lh.Congestion) -> None:
        self.timeouts += 1
        self.ssthresh = max(2.0, loss.flight / 2)
        self.cwnd = 1.0

    def observe(self) -> dict[str, float | None]:
        return {
            "mine.cuts": float(self.cuts),
            "mine.timeouts": float(self.timeouts),
            "mine.target": self.target or None,
        }


class ForgottenCut(Right):
    """Keeps the window at a loss."""

    def on_loss(self, loss: lh.Congestion) -> None:
        self.cuts += 1
        self.ssthresh = self.cwnd


class GainOffByATenth(Right):
    """Paces a tenth too fast."""

    gain = 1.2 * 1.1


class NoFloor(Right):
    """Forgets the floor of two segments after a timeout.

    A threshold of 0 would end the run with a message.
    """

    def on_timeout(self, loss: lh.Congestion) -> None:
        super().on_timeout(loss)
        self.ssthresh = 1.0
