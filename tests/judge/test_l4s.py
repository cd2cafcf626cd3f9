"""Suite l4s: what Prague does, for whom it is, and that a class can say that it sends ECT(1)."""

from __future__ import annotations

from pathlib import Path

import lasthop as lh


class Scalable(lh.CongestionControl):
    """DCTCP's answer to marks, in a few lines."""

    l4s = True

    def __init__(self) -> None:
        self.alpha, self.seen, self.marked = 1.0, 0, 0

    def on_round(self, ack: lh.AckSample) -> None:
        if self.seen:
            self.alpha += (self.marked / self.seen - self.alpha) / 16
        self.seen = self.marked = 0

    def on_ack(self, ack: lh.AckSample) -> None:
        self.seen += ack.delivered
        self.marked += ack.marked
        left = self.slow_start(ack)
        self.cwnd += left / self.cwnd

    def on_loss(self, loss: lh.Congestion) -> None:
        self.ssthresh = max(2.0, loss.flight * (1 - self.alpha / 2))
        self.cwnd = self.ssthresh


class Classic(Scalable):
    """The same without the promise."""

    l4s = False


def test_prague_by_the_sheet(tmp_path: Path) -> None:
    found = lh.judge("prague", "l4s", quick=True, store=tmp_path)
    verdicts = {row.id: row.verdict for row in found.rows}
    assert verdicts == {
        "L4S-01": "pass", "L4S-02": "pass", "L4S-03": "pass", "L4S-03-CUT": "pass", "L4S-04": "fail",
        "L4S-05": "pass", "L4S-06": "shown",
        "L4S-07": "pass", "L4S-08": "shown", "L4S-09": "pass", "L4S-09-ONE": "shown",
    }  # fmt: skip
    (row,) = [row for row in found.rows if row.verdict == "fail"]
    assert any("no detector of classic queues" in note for note in row.notes)


def test_a_control_without_ect1_is_not_judged(tmp_path: Path) -> None:
    found = lh.judge("cubic", "l4s", store=tmp_path)
    assert set(found.counts) == {"not-applicable"}
    assert found.rows[0].why == "cubic does not send ECT(1)"
    assert lh.judge("classic", "l4s", own={"classic": Classic}, store=tmp_path).made == 0


def test_a_class_that_says_so_sends_ect1(tmp_path: Path) -> None:
    found = lh.judge("mine", "l4s", own={"mine": Scalable}, cases=["L4S-01"], quick=True, store=tmp_path, jobs=1)
    (row,) = found.rows
    assert row.verdict == "pass", row.why
    assert row.points[0]["values"]["ect1"] >= 0.99
