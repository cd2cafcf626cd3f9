"""A congestion control written in Python: what it gets, what it sets, and how it fails."""

from __future__ import annotations

import copy
import itertools
from typing import Any, ClassVar

import pytest

import lasthop as lh

TEXT = """
[scenario]
name = "own"
duration = "20 s"
[link.l]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
[flow.f]
from = "a"
to = "b"
[output]
tcp = "ack"
"""


class Reno(lh.CongestionControl):
    """RFC 5681 as the built-in algorithm computes it.

    One segment per ACK at most in slow start (L = 1).
    """

    def __init__(self) -> None:
        self.counted = 0.0

    def on_ack(self, ack: lh.AckSample) -> None:
        if not ack.may_grow or not ack.cwnd_limited:
            return
        acked = ack.acked / ack.mss
        if self.cwnd < self.ssthresh:
            self.cwnd += min(acked, 1.0)
            return
        self.counted += acked
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += 1.0

    def on_loss(self, loss: lh.Congestion) -> None:
        self.ssthresh = self.cwnd = max(loss.flight / 2, 2.0)
        self.counted = 0.0

    def on_timeout(self, loss: lh.Congestion) -> None:
        super().on_timeout(loss)
        self.counted = 0.0


def own(cls: Any, **tcp: Any) -> lh.Scenario:
    more = {f"flow.f.tcp.{key}": value for key, value in tcp.items()}
    return lh.Scenario.parse(TEXT, cc={"mine": cls}, set={"flow.f.tcp.cc": "mine", **more})


def test_reno_in_python_is_the_built_in_reno_to_the_byte() -> None:
    theirs = lh.Scenario.parse(TEXT).with_(flow__f__tcp__cc="reno").run()
    mine = own(Reno).run()
    # 20 s of 2 Mbit/s are 3300 segments, one ACK for two.
    assert mine.tcp.num_rows > 1800
    assert mine.tcp.equals(theirs.tcp)
    assert mine.flows.drop_columns(["cc"]).equals(theirs.flows.drop_columns(["cc"]))
    assert mine.flows["cc"].to_pylist() == ["mine"]


def test_stepping_and_many_runs_give_the_bytes_of_one_run() -> None:
    scenario = own(Reno)
    digest = scenario.run().manifest["tables"]
    sim = scenario.simulate()
    for t in range(1, 20):
        sim.step_until(float(t))
    assert sim.finish().manifest["tables"] == digest
    for results in lh.run_many([scenario, scenario, scenario], jobs=2):
        assert results.manifest["tables"] == digest


class Recorder(lh.CongestionControl):
    """Grows by a segment per ACK and records what it is called with."""

    made: ClassVar[list[Recorder]] = []

    def __init__(self, *, start: float = 4.0) -> None:
        self.start = start
        self.calls: list[tuple[Any, ...]] = []
        self.made.append(self)

    def init(self, start: lh.Established) -> None:
        assert start.mss == 1448
        assert start.initial_window == 10.0
        assert start.seed
        self.cwnd = self.start
        self.calls.append(("init", start.now, start.rtt))

    def on_ack(self, ack: lh.AckSample) -> None:
        assert ack.now > 0
        assert ack.nxt >= ack.una
        if ack.may_grow:
            self.cwnd += 1
        self.calls.append(("ack", ack.now, ack.una, ack.rtt))

    def on_round(self, ack: lh.AckSample) -> None:
        self.calls.append(("round", ack.now))

    def on_loss(self, loss: lh.Congestion) -> None:
        super().on_loss(loss)
        self.calls.append(("loss", loss.signal))

    def on_recovered(self, now: float) -> None:
        self.calls.append(("recovered", now))


def test_callbacks_come_in_order_with_what_happened() -> None:
    Recorder.made.clear()
    own(Recorder, cc_parameters={"start": 6}).run()
    sender, receiver = Recorder.made
    assert (sender.flow, sender.end, receiver.end) == ("f", "from", "to")
    assert sender.start == 6.0
    # 40 ms there and back, and two SYNs of 60 bytes at 2 Mbit/s.
    kind, now, rtt = sender.calls[0]
    assert kind == "init"
    assert rtt == pytest.approx(0.04 + 2 * 60 * 8 / 2e6)
    assert now == pytest.approx(rtt)
    words = [t[0] for t in sender.calls]
    assert words[1] == "round"  # the first ACK of data ends the round that began with the handshake
    assert words.count("loss") == words.count("recovered") > 5
    assert words.index("loss") < words.index("recovered")
    rounds = [t[1] for t in sender.calls if t[0] == "round"]
    assert all(b - a > 0.04 for a, b in itertools.pairwise(rounds))
    assert [t[0] for t in receiver.calls] == ["init"]


class Paced(Recorder):
    """A fixed rate: far below the link's, with a window that never limits."""

    def init(self, start: lh.Established) -> None:
        self.cwnd = 1000
        self.pacing_rate = 500e3

    def on_ack(self, ack: lh.AckSample) -> None:
        pass


def test_a_pacing_rate_is_the_rate() -> None:
    flow = own(Paced).run().flows.to_pylist()[0]
    # 1448 octets of data in the 1480 octets that a segment has with its TCP header (20 + 12 of
    # timestamps).
    assert flow["goodput_bps"] == pytest.approx(500e3 * 1448 / 1480, rel=0.01)
    assert flow["retransmits"] == 0


class Fails(Reno):
    """Fails at the first loss."""

    def on_loss(self, loss: lh.Congestion) -> None:
        raise ZeroDivisionError("as planned")


class Huge(Reno):
    """Sets a window that is no number."""

    def on_ack(self, ack: lh.AckSample) -> None:
        self.cwnd = float("nan")


class Nothing(lh.CongestionControl):
    """Does nothing."""


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Fails, ["`Fails.on_loss`", "flow `f`", " s: ZeroDivisionError: as planned", "test_own_control.py, line"]),
        (Huge, ["`Huge.on_ack`", "flow `f`", "at least 1 segment", "test_own_control.py, line"]),
        (Nothing, ["`Nothing.on_ack`", "has no `on_ack(self, ack)`"]),
    ],
)
def test_an_exception_ends_the_run_and_says_where(cls: Any, words: list[str], tmp_path: Any) -> None:
    scenario = own(cls)
    with pytest.raises(lh.LasthopError) as caught:
        scenario.run(out=tmp_path / "out")
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__cause__ is not None
    assert not (tmp_path / "out").exists()
    with pytest.raises(lh.LasthopError):
        lh.run_many([own(Reno), scenario])
    sim = scenario.simulate()
    with pytest.raises(lh.LasthopError):
        sim.step_until(20.0)


def test_ctrl_c_in_a_callback_stays_ctrl_c() -> None:
    class Stops(Reno):
        def on_loss(self, loss: lh.Congestion) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        own(Stops).run()


def test_mistakes_are_found_before_the_run() -> None:
    with pytest.raises(lh.LasthopError, match=r'unknown name "mein"[\s\S]*did you mean `mine`'):
        own(Reno).set("flow.f.tcp.cc", "mein")
    with pytest.raises(lh.LasthopError, match=r"no parameter `strat`[\s\S]*did you mean `start`"):
        own(Recorder, cc_parameters={"strat": 1})
    with pytest.raises(lh.LasthopError, match="built-in"):
        lh.Scenario.parse(TEXT, cc={"reno": Reno})
    with pytest.raises(lh.LasthopError, match="cannot name"):
        lh.Scenario.parse(TEXT, cc={"My Own": Reno})
    with pytest.raises(TypeError, match="must derive"):
        lh.Scenario.parse(TEXT, cc={"mine": int})  # type: ignore[dict-item]
    with pytest.raises(lh.LasthopError, match=r"expected a lasthop\.CongestionControl, found a list"):
        own(lambda: [1]).run()


def test_the_hash_knows_the_code_and_the_parameters() -> None:
    class Other(Reno):
        """Another text."""

    class Named(Reno):
        """A version of its own."""

        version = "1.0"

    hashes = {own(c).hash for c in (Reno, Other, Named)} | {own(Recorder).hash}
    hashes.add(own(Recorder, cc_parameters={"start": 6}).hash)
    assert len(hashes) == 5
    assert own(Reno).hash == own(Reno).hash
    assert own(Named).run().manifest["own_policies"] == {"mine": "1.0"}
    # One that is brought along but not used changes nothing.
    assert lh.Scenario.parse(TEXT, cc={"mine": Reno}).hash == lh.Scenario.parse(TEXT).hash


def test_a_scenario_can_learn_more_controls() -> None:
    s = lh.Scenario.parse(TEXT).with_cc({"mine": Reno}, {"flow.f.tcp.cc": "mine"})
    s = s.with_cc({"yours": Recorder}).with_(seed=3)
    assert 'cc = "mine"' in s.to_toml()
    assert 'cc = "yours"' in s.set("flow.f.tcp.cc", "yours").to_toml()


def test_the_base_class_does_what_rfc_5681_says() -> None:
    class Plain(lh.CongestionControl):
        def on_ack(self, ack: lh.AckSample) -> None:
            left = self.slow_start(ack) if ack.may_grow else 0.0
            self.cwnd += left / self.cwnd

    flow = own(Plain, profile="linux-6").run().flows.to_pylist()[0]
    assert flow["goodput_bps"] > 1.8e6
    assert flow["timeouts"] == 0
    assert copy.copy(own(Plain)).duration == 20


class Shown(Reno):
    """Reno that shows a state of two changes per ACK, and its count."""

    observables: ClassVar[dict[str, str]] = {"mine.state": "text", "mine.counted": "segments", "mine.never": "s"}

    def __init__(self) -> None:
        super().__init__()
        self.state = "idle"

    def on_ack(self, ack: lh.AckSample) -> None:
        super().on_ack(ack)
        self.note("mine.state", "down")
        self.note("mine.state", "cruise")
        self.state = "idle"

    def observe(self) -> dict[str, Any]:
        return {"mine.state": self.state, "mine.counted": self.counted}


def rows_of(results: lh.Results, variable: str) -> list[dict[str, Any]]:
    return [row for row in results.table("cc").to_pylist() if row["variable"] == variable]


def test_variables_of_an_own_control_are_rows_and_each_change_within_an_ack_has_one() -> None:
    run = own(Shown).set("output.cc", "change").run()
    states = [(row["time_s"], row["text"]) for row in rows_of(run, "mine.state")]
    assert states[0][1] == "idle"
    # Each ACK notes two changes, and `observe` shows a third value after them.
    assert len(states) > 3000
    assert (len(states) - 1) % 3 == 0
    for n in range(1, len(states), 3):
        (at, first), second, third = states[n : n + 3]
        assert (first, *second, *third) == ("down", at, "cruise", at, "idle")
    counted = rows_of(run, "mine.counted")
    assert {row["unit"] for row in counted} == {"segments"}
    assert counted[0]["value"] == 0
    # Never given: one row without a value.
    assert [(row["value"], row["text"]) for row in rows_of(run, "mine.never")] == [(None, None)]
    assert own(Shown).run().tcp.equals(run.tcp)


def test_a_control_is_asked_only_where_the_table_is_wanted() -> None:
    asked: list[bool] = []

    class Asked(Shown):
        def observe(self) -> dict[str, Any]:
            asked.append(self.observed)
            return super().observe()

    own(Asked).run()
    assert asked == []
    own(Asked).set("output.cc", "interval").run()
    # 20 s at intervals of 100 ms, the first at 0.1 s; the other end shows nothing.
    assert len(asked) == 200
    assert all(asked)


@pytest.mark.parametrize(
    ("observables", "shown", "message"),
    [
        ({"a": "text"}, {"b": 1}, "`b` is not in the class attribute `observables`"),
        ({"a": "text"}, {"a": 1}, "`a` is no text"),
        ({"a": "s"}, {"a": "soon"}, "`a` is no number"),
        ({"a": "s"}, {"a": float("nan")}, "`a` is no number"),
        ({"a": "s"}, 7, "it returns no dict"),
        ({"cwnd": "segments"}, {}, "`observables` has `cwnd`, which every sender shows"),
        ({"a": 3}, {}, "`observables` must be a dict"),
        (["a"], {}, "`observables` must be a dict"),
    ],
)
def test_what_an_own_control_shows_wrongly_ends_the_run(observables: Any, shown: Any, message: str) -> None:
    def observe(_self: Any) -> Any:
        return shown

    wrong = type("Wrong", (Reno,), {"observables": observables, "observe": observe})
    for sampling in ("change", "interval"):
        with pytest.raises(lh.LasthopError, match=message):
            own(wrong).set("output.cc", sampling).run()


def test_a_note_of_an_unknown_variable_names_the_callback() -> None:
    class Wrong(Reno):
        def on_ack(self, ack: lh.AckSample) -> None:
            super().on_ack(ack)
            self.note("mine.state", "up")

    own(Wrong).run()
    with pytest.raises(lh.LasthopError, match=r"`.*Wrong.on_ack` failed .*`mine.state` is not in the class"):
        own(Wrong).set("output.cc", "ack").run()
