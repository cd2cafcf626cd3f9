"""A rate control of media written in Python: what it gets, what it sets, and how it fails."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main

TEXT = """
[scenario]
name = "call"
duration = "20 s"
[link.l]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "50 ms"
queue = { kind = "droptail", bytes = "37500 B" }
[flow.f]
from = "a"
to = "b"
transport = "udp"
app = { kind = "media", noise = 0.0, control = "none" }
[output]
cc = "interval"
"""


def own(cls: Any, **app: Any) -> lh.Scenario:
    more = {f"flow.f.app.{key}": value for key, value in app.items()}
    return lh.Scenario.parse(TEXT, cc={"mine": cls}, set={"flow.f.app.control": "mine", **more})


class Half(lh.RateControl):
    """A share of the highest rate."""

    observables: ClassVar[dict[str, str]] = {"half.reports": "", "half.state": "text"}

    def __init__(self, *, share: float = 0.5) -> None:
        self.share = share
        self.reports = 0

    def init(self, start: lh.MediaStart) -> None:
        assert (start.min_rate, start.max_rate, start.start_rate) == (150e3, 1.5e6, 150e3)
        assert (start.feedback, start.packet, start.l4s, start.frame_rate) == (0.05, 1200, False, 30.0)
        assert start.seed
        super().init(start)
        assert self.target_rate == 150e3
        self.target_rate = self.share * start.max_rate

    def on_feedback(self, report: lh.MediaReport) -> None:
        self.reports += 1
        if self.reports == 3:
            self.note("half.state", "third")

    def observe(self) -> dict[str, Any]:
        return {"half.reports": self.reports, "half.state": "on"}


def received(run: lh.Results) -> float:
    rows = [row["received_bps"] for row in run.media.to_pylist() if row["time_s"] > 10]
    return float(sum(rows) / len(rows))


def test_the_encoder_follows_the_target_of_the_class_and_of_its_parameters() -> None:
    # No noise: 0.5 of 1.5 Mbit/s, then 0.2 by the parameter. Frames end within the window: 2 %.
    run = own(Half).run()
    assert received(run) == pytest.approx(750e3, rel=0.02)
    assert run.flows["cc"].to_pylist() == ["mine"]
    assert received(own(Half, **{"control_parameters.share": 0.2}).run()) == pytest.approx(300e3, rel=0.02)
    rows = own(Half).set("output.cc", "change").run().cc.to_pylist()
    # 20 s, a report 50 ms behind the first unreported packet: with a frame every 33 ms and packets
    # 10 ms apart about one in 60 ms.
    assert max(r["value"] for r in rows if r["variable"] == "half.reports") == pytest.approx(20 / 0.06, rel=0.2)
    assert [r["text"] for r in rows if r["variable"] == "half.state"].count("third") == 1


class Recorder(lh.RateControl):
    """Records what it is called with, and has a window."""

    reports: ClassVar[list[lh.MediaReport]] = []
    sent: ClassVar[list[lh.SentMedia]] = []

    def init(self, start: lh.MediaStart) -> None:
        self.target_rate = 600e3
        self.window = 3600
        assert self.flow == "f"

    def on_feedback(self, report: lh.MediaReport) -> None:
        self.reports.append(report)

    def on_sent(self, packet: lh.SentMedia) -> None:
        self.sent.append(packet)


def test_reports_and_packets_say_what_has_become_of_each() -> None:
    Recorder.reports.clear()
    Recorder.sent.clear()
    own(Recorder).run()
    sent, reports = Recorder.sent, Recorder.reports
    assert [p.number for p in sent] == list(range(len(sent)))
    # Three packets of 1200 octets fill the window.
    assert max(p.in_flight for p in sent) <= 3600
    outcomes = [p for r in reports for p in r.packets]
    assert len({p.number for p in outcomes}) == len(outcomes) > 100
    by_number = {p.number: p for p in sent}
    for p in outcomes:
        assert p.sent == by_number[p.number].now
        assert p.size == by_number[p.number].size
        # 50 ms and the time of a packet on the link (1228 octets at 1 Mbit/s: 9.8 ms), more behind
        # others.
        assert p.arrival is not None
        assert 0.049 < p.arrival - p.sent < 0.1
        assert not p.late
        assert not p.marked
    # Two ways of 50 ms at least; the receiver's time is left out.
    assert all(r.rtt is None or 0.1 <= r.rtt < 0.2 for r in reports)
    assert all(r.in_flight_before - r.newly_acked == r.in_flight for r in reports)


def test_a_control_in_python_that_computes_as_a_built_in_one_gives_its_bytes() -> None:
    class Highest(lh.RateControl):
        """The built-in `none`."""

        def init(self, start: lh.MediaStart) -> None:
            self.target_rate = start.max_rate

        def on_feedback(self, _report: lh.MediaReport) -> None:
            pass

    mine, theirs = own(Highest).run(), lh.Scenario.parse(TEXT).run()
    assert mine.media.drop_columns(["control"]).equals(theirs.media.drop_columns(["control"]))
    assert mine.flows.drop_columns(["cc"]).equals(theirs.flows.drop_columns(["cc"]))


class Broken(lh.RateControl):
    """Fails at the fifth report."""

    count = 0

    def on_feedback(self, _report: lh.MediaReport) -> None:
        self.count += 1
        if self.count == 5:
            self.target_rate = float("nan")


def test_a_mistake_in_a_callback_ends_the_run_with_class_flow_time_and_line() -> None:
    with pytest.raises(
        lh.LasthopError, match=r"`Broken.on_feedback` failed in flow `f` at \d\.\d+ s: ValueError.*line"
    ) as e:
        own(Broken).run()
    assert isinstance(e.value.__cause__, ValueError)

    class Silent(lh.RateControl):
        """Has no on_feedback."""

    with pytest.raises(lh.LasthopError, match="has no `on_feedback"):
        own(Silent).run()


def test_names_and_parameters_that_are_not_there_are_refused_with_the_near_ones() -> None:
    with pytest.raises(lh.LasthopError, match=r"(?s)no rate control `mein`.*mine"):
        lh.Scenario.parse(TEXT, cc={"mine": Half}, set={"flow.f.app.control": "mein"})
    with pytest.raises(lh.LasthopError, match=r"(?s)`mine` has no parameter `shear`.*share"):
        own(Half, **{"control_parameters.shear": 0.3})
    with pytest.raises(lh.LasthopError, match="`nada` is built in"):
        lh.Scenario.parse(TEXT, set={"flow.f.app.control": "nada", "flow.f.app.control_parameters.x": 1.0})
    with pytest.raises(lh.LasthopError, match="is a built-in rate control"):
        lh.Scenario.parse(TEXT, cc={"nada": Half})
    with pytest.raises(TypeError, match=r"lasthop\.RateControl"):
        lh.Scenario.parse(TEXT, cc={"mine": dict})  # type: ignore[dict-item]


def test_the_class_is_part_of_the_hash_and_travels() -> None:
    scenario = own(Half)
    assert scenario.core.own_policies() == ["rate-control.mine"]
    assert pickle.loads(pickle.dumps(scenario)).hash == scenario.hash
    assert own(Recorder).hash != scenario.hash
    assert copy.copy(scenario).run().manifest["tables"] == scenario.run().manifest["tables"]


FILE = '''
import lasthop as lh

class Mine(lh.RateControl):
    """Grows by 8 % a second, and falls to what half of it was where packets wait for 100 ms."""

    observables = {"mine.wait": "s"}

    def __init__(self):
        self.base, self.wait, self.last = 1e9, 0.0, 0.0

    def on_feedback(self, report):
        delays = [p.arrival - p.sent for p in report.packets if p.arrival is not None]
        if delays:
            self.base = min(self.base, *delays)
            self.wait = min(delays) - self.base
        grown = self.target_rate * 1.08 ** (report.now - self.last)
        self.target_rate = max(min(grown, 1.5e6) if self.wait < 0.1 else 0.95 * self.target_rate, 1e5)
        self.last = report.now

    def observe(self):
        return {"mine.wait": self.wait}
'''


def test_the_command_runs_and_judges_a_class_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "call.toml").write_text(TEXT)
    names = ["--cc", f"mine={tmp_path}/mine.py:Mine", "--set", "flow.f.app.control=mine"]
    ran = CliRunner().invoke(main, ["run", f"{tmp_path}/call.toml", *names, "--out", f"{tmp_path}/out"])
    assert ran.exit_code == 0, ran.output
    wrong = [f"mine={tmp_path}/mine.py:Mein"]
    ran = CliRunner().invoke(main, ["run", f"{tmp_path}/call.toml", "--cc", *wrong])
    assert "no congestion control or rate control 'Mein'" in ran.output
    assert "it has: Mine" in ran.output
    found = lh.judge(
        f"{tmp_path}/mine.py:Mine", "media", cases=["MEDIA-5.[12]"], quick=True, store=tmp_path / "s", jobs=1
    )
    assert [row.verdict for row in found.rows] == ["pass", "pass"], [row.why for row in found.rows]
    assert found.to_json_dict()["cc"] == {
        "name": "mine",
        "kind": "own",
        "of": "rate-control",
        "hash": found.control.hash,
    }
    # Suites of congestion controls are not for it; without a suite those of media are taken.
    assert set(lh.judge(f"{tmp_path}/mine.py:Mine", "bbr", store=tmp_path / "s").counts) == {"not-applicable"}


def test_a_mistake_on_purpose_is_for_the_judge_alone(tmp_path: Path) -> None:
    text = TEXT.replace('control = "none"', 'control = "nada", mutant = "never-slower"')
    (tmp_path / "call.toml").write_text(text)
    ran = CliRunner().invoke(main, ["run", f"{tmp_path}/call.toml", "--out", f"{tmp_path}/out"])
    assert ran.exit_code != 0
    assert "flow.f.app.mutant" in ran.output
    with pytest.raises(lh.LasthopError, match=r"(?s)`gcc` has no switch `fixed-reference-delay`.*never-slower"):
        lh.Scenario.parse(TEXT, set={"flow.f.app.control": "gcc", "flow.f.app.mutant": "fixed-reference-delay"})


def test_the_encoders_limits_may_change_and_the_control_may_not() -> None:
    change = '[[at]]\nt = "10 s"\nset = { "flow.f.app.max_rate" = "300 kbit/s" }\n'
    run = lh.Scenario.parse(TEXT + change).run()
    rows = run.media.to_pylist()
    # `none` sends the highest rate: 1.5 Mbit/s until 10 s, then 0.3 (the target follows at once).
    assert {r["target_bps"] for r in rows if r["time_s"] < 10} == {1.5e6}
    assert {r["target_bps"] for r in rows if r["time_s"] > 10.2} == {3e5}
    late = [r["encoder_bps"] for r in rows if r["time_s"] > 12]
    assert sum(late) / len(late) == pytest.approx(3e5, rel=0.02)
    with pytest.raises(lh.LasthopError, match=r"(?s)cannot change|may change|fixed during a run"):
        lh.Scenario.parse(TEXT + change.replace('max_rate" = "300 kbit/s"', 'control" = "nada"'))
