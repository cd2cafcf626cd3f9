"""Three controls: a fixed window, one that reacts to delay, and that one with slow start."""

import lasthop as lh


class Fixed(lh.CongestionControl):
    """Keeps the window at a given number of segments."""

    def __init__(self, segments: float = 60.0) -> None:
        self.segments = segments

    def on_ack(self, ack: lh.AckSample) -> None:
        """Sets the window at each ACK outside of fast recovery."""
        if ack.may_grow:
            self.cwnd = self.segments


class Delay(lh.CongestionControl):
    """Adds a segment per round trip while the round-trip time is short, else removes a tenth."""

    def __init__(self, excess: float = 0.02) -> None:
        self.excess = excess
        self.shortest = float("inf")

    def on_ack(self, ack: lh.AckSample) -> None:
        """Nothing is decided at single ACKs."""

    def on_round(self, ack: lh.AckSample) -> None:
        """Compares the round-trip time with the shortest one so far [s]."""
        if ack.rtt is None:
            return
        self.shortest = min(self.shortest, ack.rtt)
        if ack.rtt < self.shortest + self.excess:
            self.cwnd += 1.0
        elif ack.may_grow:
            self.cwnd = max(2.0, 0.9 * self.cwnd)


class Start(Delay):
    """As `Delay`, with slow start until the round-trip time grows for the first time."""

    def on_ack(self, ack: lh.AckSample) -> None:
        """Grows by what is acknowledged while the window is below `ssthresh`."""
        if ack.may_grow:
            self.slow_start(ack)

    def on_round(self, ack: lh.AckSample) -> None:
        """Ends slow start where the window shrinks."""
        before = self.cwnd
        super().on_round(ack)
        if self.cwnd < before:
            self.ssthresh = self.cwnd
