"""What the figures of a report show of the checks, and when the ends' buffers decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main
from lasthop.judging.figures import course_figure
from lasthop.judging.reading import parse_cases

CASE = """[case]
id = "E"
title = "t"
source = "s"
pass = {checks}
plot = ["inflight", "ssthresh", "cwnd"]
[case.let]
cut = "first(enter('ca_state', 'recovery'))"
[case.scenario]
duration = "6 s"
{more}
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }}
"""


def judged(checks: str, store: Path, more: str = "", cc: str = "reno") -> tuple[Any, dict[str, Any]]:
    """The row of a case with these checks, and what its figure shows."""
    file = store / "e.toml"
    file.write_text(CASE.format(checks=checks, more=more), encoding="utf-8")
    (row,) = lh.judge(cc, [file], store=store / "store", jobs=1).rows
    return row, dict(row.shown[0])


def test_the_bound_of_a_check_is_where_its_truth_changes(tmp_path: Path) -> None:
    row, shown = judged(
        '["max(cwnd, start, end) <= 150", "at(ssthresh, cut) / before(inflight, cut) in [0.45, 0.55]",'
        ' "all(abs(ssthresh / 50 - 1) <= 40 %, cut, end)"]',
        tmp_path,
    )
    assert row.verdict == "pass", row.why
    found = [(b["check"], b["variable"], b["value"]) for b in shown["thresholds"]]
    left = row.points[0]["checks"][1]["left"]
    assert ("pass.1", "cwnd", pytest.approx(150)) in found
    # x / y in [0.45, 0.55] bounds x by 0.45 y and 0.55 y; y is what x / left says.
    (cut,) = (t for name, t in shown["moments"].items() if name == "cut")
    at_cut = next(v for t, v in reversed(shown["series"]["ssthresh"]) if t <= cut and v)
    values = sorted(v for check, variable, v in found if (check, variable) == ("pass.2", "ssthresh"))
    assert values == pytest.approx([0.45 * at_cut / left, 0.55 * at_cut / left], rel=1e-3)
    assert {(b["from_s"], b["to_s"]) for b in shown["thresholds"] if b["check"] == "pass.2"} == {(cut, cut)}
    values = sorted(v for check, variable, v in found if (check, variable) == ("pass.3", "ssthresh"))
    assert values == pytest.approx([30, 70])


def test_a_change_over_time_has_no_bound(tmp_path: Path) -> None:
    """No single window is the bound of its change; a value at ACKs has the bound of its course."""
    row, shown = judged(
        '["all(at_acks(change(cwnd)) <= 1000, start, end)", "all(at_acks(cwnd) <= 150, start, end)"]', tmp_path
    )
    assert row.verdict == "pass", row.why
    assert [(b["check"], b["value"]) for b in shown["thresholds"]] == [("pass.2", pytest.approx(150))]


def test_of_a_failing_row_the_failing_check_is_shown_alone(tmp_path: Path) -> None:
    row, shown = judged('["max(cwnd, start, end) <= 60", "max(inflight, start, end) >= 1"]', tmp_path)
    assert row.verdict == "fail"
    assert {b["check"] for b in shown["thresholds"]} == {"pass.1"}
    figure = course_figure(shown, ["inflight", "ssthresh", "cwnd"])
    lines = [line for ax in figure.axes for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [[pytest.approx(60)] * 2]


def test_both_sides_of_a_condition_that_holds_are_shown(tmp_path: Path) -> None:
    _, shown = judged('["all(cwnd = cwnd, cut, end)", "all(inflight <= cwnd + 3, cut, end)"]', tmp_path)
    assert [side["check"] for side in shown["sides"]] == ["pass.2"]
    assert [of["text"] for of in shown["sides"][0]["of"]] == ["inflight", "cwnd + 3"]


def test_beside_a_mistake_stands_the_control_without_it(tmp_path: Path) -> None:
    found = lh.judge("bbr3", "bbr", cases=["BBR-03"], quick=True, store=tmp_path, jobs=1, mutant="drain-one-ack")
    for shown in found.rows[0].shown:
        states = {s for _, s in shown["beside"]["states"]["bbr.state"]}
        assert {"Startup", "Drain", "ProbeBW_CRUISE"} <= states
        assert shown["beside"]["states"] != shown["states"]
        course_figure(shown, found.rows[0].case.plot)
    right = lh.judge("bbr3", "bbr", cases=["BBR-03"], quick=True, store=tmp_path, jobs=1)
    assert all("beside" not in shown for shown in right.rows[0].shown)


SHARED = """[case]
id = "S"
title = "t"
source = "s"
base = "shared"
seeds = 2
[case.metric.goodput]
value = "goodput_of('judged', late, end) / ref"
better = "larger"
[case.scenario]
duration = "9 s"
{more}
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }}
"""


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("", None),
        ('flow.judged.tcp.receive_buffer = "20 kB"', "raise flow.judged.tcp.receive_buffer"),
        ('flow.judged.tcp.send_buffer = "20 kB"', "raise flow.judged.tcp.send_buffer"),
        # An application with a rate of its own is not limited by the buffer.
        ('flow.judged.app = { kind = "bulk", rate = "1 Mbit/s" }', None),
    ],
)
def test_a_comparison_that_the_ends_decide_says_nothing(more: str, why: str | None, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SHARED.format(more=more), encoding="utf-8")
    (row,) = lh.judge("vegas", [file], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == ("shown" if why is None else "inconclusive")
    assert why is None or why in row.why


def test_a_case_of_one_flow_is_limited_by_its_own_buffers(tmp_path: Path) -> None:
    assert judged('["max(cwnd, start, end) > 1"]', tmp_path)[0].verdict == "pass"
    row, _ = judged('["max(cwnd, start, end) > 1"]', tmp_path, 'flow.judged.tcp.send_buffer = "30 kB"')
    assert row.verdict == "inconclusive"
    assert "nearly the 30000 octets of the buffers" in row.why


@pytest.mark.parametrize("key", ["window_scaling = false", 'profile = "inet"'])
def test_a_case_of_one_flow_is_limited_by_a_window_without_scaling(key: str, tmp_path: Path) -> None:
    """65535 octets are 44.9 segments of 1460 octets, and more of what the window cuts."""
    row, _ = judged('["max(cwnd, start, end) > 1"]', tmp_path, f"flow.judged.tcp.{key}")
    assert row.verdict == "inconclusive"
    assert "segments in flight fill the 65535 octets of a window without scaling" in row.why


def test_seeds_replace_the_replications_of_noisy_paths(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SHARED.format(more=""), encoding="utf-8")
    more: dict[str, Any] = {"store": tmp_path / "store", "jobs": 1}
    plain, three = lh.judge("vegas", [file], **more), lh.judge("vegas", [file], seeds=3, quick=True, **more)
    assert [v.rows[0].points[0]["compare"]["vegas"]["goodput"]["n"] for v in (plain, three)] == [2, 3]
    assert three.taken == 6  # the first two replications of three controls
    assert three.to_json_dict()["seeds"] == 3
    assert "seeds" not in plain.to_json_dict()
    assert three.call.of_case("s", "S").endswith("--quick --seeds 3")
    case = tmp_path / "e.toml"
    case.write_text(CASE.format(checks='["max(cwnd, start, end) > 1"]', more=""), encoding="utf-8")
    assert len(lh.judge("reno", [case], seeds=3, **more).rows[0].points) == 1  # no noise, once
    with pytest.raises(lh.LasthopError, match="seeds = 1 is out of range"):
        lh.judge("reno", [case], seeds=1, **more)
    refused = CliRunner().invoke(main, ["judge", "reno", "--file", str(case), "--seeds", "1"])
    assert refused.exit_code == 2
    assert "1 is not in the range 2<=x<=1000" in refused.output


#: One bandwidth-delay product at four rates: 33.3 packets of 1500 octets.
SAME = """[case]
id = "SAME"
title = "The rounds of STARTUP do not depend on the unit of time"
source = "draft-ietf-ccwg-bbr@4ce5e87#exiting-startup-on-bandwidth-plateau"
observables = ["bbr.state", "bbr.round_count"]
pass = ["exists(d)"]
[case.let]
d = "first(enter('bbr.state', 'Drain', 'Startup'))"
[case.shown]
rounds = "rounds(start, d)"
[case.scenario]
duration = "60 * {rtt}"
[case.paths]
slow = { rate = "1 Mbit/s", rtt = "400 ms", scenario = { duration = "30 s" } }
p3 = { rate = "10 Mbit/s", rtt = "40 ms" }
fast = { rate = "100 Mbit/s", rtt = "4 ms" }
near = { rate = "1 Gbit/s", rtt = "0.4 ms" }
"""


def test_startup_ends_in_the_same_round_on_paths_of_one_bandwidth_delay_product(tmp_path: Path) -> None:
    """Metamorphic: rate times ten and delay by ten change no number of packets."""
    file = tmp_path / "same.toml"
    file.write_text(SAME, encoding="utf-8")
    (row,) = lh.judge("bbr3", [file], store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "pass", row.why
    rounds = {point["path"]: point["values"]["rounds"] for point in row.points}
    assert len(rounds) == 4
    assert max(rounds.values()) - min(rounds.values()) <= 1, rounds
    assert min(rounds.values()) >= 4  # from ten segments to 33 and more, and three without growth
    assert parse_cases(SAME, "same.toml")[0].paths[0].parameters["bdp"] == pytest.approx(33.33, abs=0.01)
