"""A scheduler written in Python: what it gets, what it changes, and how it fails."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main

TEXT = """
[scenario]
name = "own"
duration = "3 s"
[link.core]
between = ["server", "enb"]
delay = "5 ms"
[radio]
fading = "eva"
[cell.enb]
resource_blocks = 25
radio = { power = "5 dBm" }
[ue.phone]
count = 4
ring = { inner = "300 m", outer = "3 km" }
[flow.down]
from = "server"
to = "phone"
[flow.up]
from = "phone"
to = "server"
"""


class Fair(lh.Scheduler):
    """Proportional fair: the inverse of the average, by the rate on each group."""

    def weigh(self, _tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        return [1.0 / c.average for c in candidates]


class Turns(lh.Scheduler):
    """Round robin as the built-in one computes it."""

    domain = "equal"

    def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        n = len(candidates)
        turns = [((i + n - tti % n) % n) / n for i in range(n)]
        never = 1.7976931348623157e308 / 2
        waited = [never if c.served is None else float(tti - c.served) for c in candidates]
        return [w + 1.0 - turn for w, turn in zip(waited, turns, strict=True)]


class Best(lh.Scheduler):
    """Maximum rate over the whole band."""

    domain = "time"

    def weigh(self, _tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        return [c.rate for c in candidates]


class Recorder(Fair):
    """Writes down what it sees."""

    seen: ClassVar[list[Any]] = []

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        self.seen.append((tti, self.cell, self.direction, self.blocks, self.seed, self.factor, candidates))
        return tuple(super().weigh(tti, candidates))


def own(cls: Any, both: bool = True, **parameters: float) -> lh.Scenario:
    scheduler: Any = {"kind": "mine", **parameters} if parameters else "mine"
    keys = [f"cell.enb.{d}.scheduler" for d in (["downlink", "uplink"] if both else ["downlink"])]
    text = TEXT if both else TEXT.replace("[flow.up]", "[flow.up]\nautostart = false")
    return lh.Scenario.parse(text, schedulers={"mine": cls}, set=dict.fromkeys(keys, scheduler))


def test_threads_change_nothing() -> None:
    """One thread calls schedulers and controls in Python, whatever the number of threads."""
    sets = ["cell.enb.downlink.scheduler=fair", "cell.enb.uplink.scheduler=turns", "scenario.duration=1 s"]
    scenario = lh.Scenario.parse(TEXT, set=sets, schedulers={"fair": Fair, "turns": Turns})
    one, three = scenario.run(), scenario.run(threads=3)
    assert one.flows.equals(three.flows)
    assert one.summary == three.summary


@pytest.mark.parametrize(("cls", "name"), [(Fair, "proportional-fair"), (Turns, "round-robin"), (Best, "tdmt")])
def test_a_policy_in_python_is_the_built_in_one_to_the_byte(cls: Any, name: str) -> None:
    keys = {"cell.enb.downlink.scheduler": name, "cell.enb.uplink.scheduler": name}
    ours, theirs = own(cls).run(), lh.Scenario.parse(TEXT, set=keys).run()
    for table in ("flows", "radio", "rlc"):
        assert ours.table(table).equals(theirs.table(table)), table


def test_policies_differ() -> None:
    rates = {c.__name__: own(c).run().flows.column("rx_bytes").to_pylist() for c in (Fair, Turns, Best)}
    assert len(set(map(tuple, rates.values()))) == 3, rates


def test_a_policy_sees_its_place_and_the_candidates() -> None:
    Recorder.seen.clear()
    own(Recorder, factor=3.0).run()
    places = {(cell, direction, blocks, seed, factor) for _, cell, direction, blocks, seed, factor, _ in Recorder.seen}
    assert places == {("enb", "downlink", 25, 1, 3.0), ("enb", "uplink", 25, 1, 3.0)}
    down = [c for _, _, direction, _, _, _, cs in Recorder.seen for c in cs if direction == "downlink"]
    assert {c.ue for c in down} == {0, 1, 2, 3}
    assert all(c.backlog > 0 and c.average > 0 and c.rate > 0 and c.qci == 9 and c.guaranteed == 0 for c in down)
    # A window of TCP waits in the buffer; it has been served before.
    assert max(c.head_delay for c in down) > 0.01
    assert {c.served is None for c in down} == {True, False}
    ttis = [t for t, _, direction, *_ in Recorder.seen if direction == "downlink"]
    assert ttis == sorted(set(ttis)), "once a TTI"


class Fails(Fair):
    """Fails after a while."""

    def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        if tti > 500:
            raise ZeroDivisionError("as planned")
        return super().weigh(tti, candidates)


class Short(Fair):
    """Forgets one."""

    def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        return super().weigh(tti, candidates)[1:]


class Nan(Fair):
    """Says nothing in numbers."""

    def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
        return [float("nan")] * len(candidates)


class Nothing(lh.Scheduler):
    """Does nothing."""


class Where(Fair):
    """A domain that is none."""

    domain = "space"


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (
            Fails,
            ["`Fails.weigh`", "cell `enb` at 0.50", "s: ZeroDivisionError: as planned", "test_own_scheduler.py, line"],
        ),
        (Short, ["`Short.weigh`", " weights for "]),
        (Nan, ["`Nan.weigh`", "weight 0 is not a number"]),
        (Nothing, ["`Nothing.weigh`", "has no `weigh(self, tti, candidates)`"]),
        (Where, ["the scheduler of cell `enb` cannot be made", "one of 'rate', 'weight', 'filling', 'time', 'equal'"]),
        (lambda: [1], ["expected a lasthop.Scheduler, found a list"]),
    ],
)
def test_an_exception_ends_the_run_and_says_where(cls: Any, words: list[str], tmp_path: Path) -> None:
    scenario = own(cls, both=False)
    with pytest.raises(lh.LasthopError) as caught:
        scenario.run(out=tmp_path / "out")
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__cause__ is not None
    assert not (tmp_path / "out").exists()
    with pytest.raises(lh.LasthopError):
        lh.run_many([own(Fair), scenario])


def test_ctrl_c_in_a_policy_stays_ctrl_c() -> None:
    class Stops(Fair):
        def weigh(self, tti: int, candidates: list[lh.Candidate]) -> Sequence[float]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        own(Stops).run()


def test_mistakes_are_found_before_the_run() -> None:
    with pytest.raises(lh.LasthopError, match=r'unknown name "mein"[\s\S]*did you mean `mine`'):
        own(Fair).set("cell.enb.downlink.scheduler", "mein")
    with pytest.raises(lh.LasthopError, match=r"no parameter `fctor`[\s\S]*did you mean `factor`"):
        own(Recorder, fctor=1)
    with pytest.raises(lh.LasthopError, match="built-in scheduler"):
        lh.Scenario.parse(TEXT, schedulers={"tdmt": Fair})
    with pytest.raises(TypeError, match=r"must derive from lasthop\.Scheduler"):
        lh.Scenario.parse(TEXT, schedulers={"mine": int})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="derive a class"):
        lh.Scenario.parse(TEXT, schedulers={"mine": lh.Scheduler})


def test_the_hash_knows_the_code_and_controls_live_beside_schedulers() -> None:
    class Named(Fair):
        """A version of its own."""

        version = "1.0"

    class Plain(lh.CongestionControl):
        def on_ack(self, ack: lh.AckSample) -> None:
            self.slow_start(ack)

    assert len({own(c).hash for c in (Fair, Named, Turns)} | {own(Recorder).hash, own(Recorder, factor=1.5).hash}) == 5
    s = own(Named).with_cc({"mine": Plain}, {"flow.down.tcp.cc": "mine"})
    s = s.with_schedulers({"turns": Turns}).set("cell.enb.uplink.scheduler", "turns").with_(duration="500 ms")
    policies = s.run().manifest["own_policies"]
    assert set(policies) == {"mine", "scheduler.mine", "scheduler.turns"}
    assert policies["scheduler.mine"] == "1.0"
    # One that is brought along but not used changes nothing.
    assert lh.Scenario.parse(TEXT, schedulers={"mine": Fair}).hash == lh.Scenario.parse(TEXT).hash


def test_the_command_takes_a_class_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(TEXT, encoding="utf-8")
    code = """
        import lasthop as lh

        class Mine(lh.Scheduler):
            def weigh(self, tti, candidates):
                return [1.0 for _ in candidates]
    """
    Path("mac.py").write_text(textwrap.dedent(code), encoding="utf-8")
    run = ["run", "cell.toml", "--set", "cell.enb.downlink.scheduler=mine", "--out", "o"]
    good = CliRunner().invoke(main, [*run, "--scheduler", "mine=mac.py:Mine"])
    assert good.exit_code == 0, good.output
    assert CliRunner().invoke(main, run).exit_code != 0
    bad = CliRunner().invoke(main, [*run, "--force", "--scheduler", "mine=mac.py:Mein"])
    assert "has no scheduler 'Mein'" in bad.output
    assert "it has: Mine" in bad.output
