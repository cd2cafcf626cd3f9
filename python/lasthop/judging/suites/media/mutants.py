"""Rate controls with a deliberate mistake, which the cases with equal flows must find."""

from __future__ import annotations

import lasthop as lh


class GivesWay(lh.RateControl):
    """One flow takes the encoder's highest rate, every other one keeps the lowest."""

    #: The flow that takes the highest rate.
    first = "judged"

    def init(self, start: lh.MediaStart) -> None:
        """Sets the rate that the flow keeps."""
        self.target_rate = start.max_rate if self.flow == self.first else start.min_rate

    def on_feedback(self, report: lh.MediaReport) -> None:
        """Keeps its rate whatever the receiver reports."""


class GivesWayToTheSecond(GivesWay):
    """The same with the flow `second`."""

    first = "second"
