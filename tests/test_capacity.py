"""`lasthop export-trace`: recordings against closed forms.

And their formats, and how a replay differs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop import capacity
from lasthop.capacity._recording import SPARSE
from lasthop.capacity._replay import distance
from lasthop.cli._main import main

PATH = """
[scenario]
name = "path"
duration = "2 s"

[link.path]
between = ["server", "phone"]
{path}

[flow.download]
from = "server"
to = "phone"

[flow.other]
from = "server"
to = "server-2"
transport = "udp"
app = {{ kind = "cbr", rate = "1 Mbit/s" }}

[link.elsewhere]
between = ["server", "server-2"]
"""


def scenario(path: str, more: str = "", base: Path | None = None) -> lh.Scenario:
    return lh.Scenario.parse(PATH.format(path=path) + more, base_dir=base)


def opportunities(recording: capacity.Recording) -> list[int]:
    return [int(line) for line in capacity.content(recording, "mahimahi").split()]


def test_the_recording_of_a_replayed_trace_is_the_trace_again(tmp_path: Path) -> None:
    trace = [40, 55, 55, 120, 300, 301, 302, 650, 900, 1000]
    (tmp_path / "cell.down").write_text("".join(f"{ms}\n" for ms in trace))
    found = capacity.record(scenario('trace = "cell.down"\ndelay = "20 ms"', base=tmp_path), "phone", base=tmp_path)
    # A packet of 1500 octets takes one opportunity and is received 20 ms later; the recording has
    # it at the end of that millisecond. The trace loops once: after its last line at 1000 ms.
    expected = [ms + shift + 21 for shift in (0, 1000) for ms in trace]
    # The last line closes the trace at the end of the run.
    assert opportunities(found) == [ms for ms in expected if ms <= 2000] + [2000]
    assert found.direction == "down"
    assert found.scene.left_out == ("download",)


def test_a_link_with_a_rate_is_recorded_at_its_rate_with_its_buffer_and_delays() -> None:
    link = 'rate = "12 Mbit/s"\ndelay = "10 ms"\nqueue = { kind = "droptail", packets = 50 }'
    found = capacity.record(scenario(link), "phone")
    # 12 Mbit/s are 1500 octets a millisecond; the first packet is received after 1 ms and 10 ms.
    assert found.mean_rate == pytest.approx(12e6 * (2 - 0.010) / 2, rel=1e-3)
    assert found.times[:3] == pytest.approx([0.011, 0.012, 0.013], abs=2e-3)
    # In front of the last of 50 waiting packets are 49, the one being sent, and the packet itself.
    assert found.buffer == pytest.approx(51 * 1500, abs=1500)
    # A packet of 40 octets with 28 of headers: 68 * 8 / 12 us, and 10 ms.
    assert found.least_delay == pytest.approx(0.010 + 68 * 8 / 12e6, abs=1e-9)
    assert found.back_delay == pytest.approx(0.010 + 68 * 8 / 12e6, abs=1e-9)
    up = capacity.record(scenario(link), "phone", "up")
    assert up.scene.ends("up") == ("phone", "server")
    assert up.mean_rate == pytest.approx(found.mean_rate, rel=1e-3)


def test_a_link_without_losses_has_no_buffer_that_was_found() -> None:
    found = capacity.record(scenario('rate = "2 Mbit/s"\nqueue = "infinite"'), "phone")
    assert found.buffer is None
    assert SPARSE < 1


def test_over_a_link_with_a_rate_the_replay_loses_little() -> None:
    link = 'rate = "12 Mbit/s"\ndelay = "10 ms"\nqueue = { kind = "droptail", packets = 50 }'
    found = capacity.compare(capacity.record(scenario(link), "phone"), "reno")
    # A constant rate does not depend on the sender: what is left is the grid of 1 ms.
    assert abs(found.goodput_error) < 0.02
    assert all(abs(error) < 0.05 for error in found.delay_errors)
    assert found.ks < 0.1


def test_a_trace_of_one_load_misses_what_a_control_of_another_load_gets() -> None:
    # LTE with one UE: the trace was recorded with blocks that were always full, which a sender with
    # a small window is not given before it asks; Vegas over the trace is faster than over the cell.
    found = capacity.compare(capacity.record(lh.Scenario.load("lte-download"), "phone"), "vegas")
    assert found.goodput_error > 0.5
    assert found.ks > 0.3


def test_rates_of_netem_trace_carry_the_same_octets() -> None:
    found = capacity.record(scenario('rate = "12 Mbit/s"'), "phone")
    tree = json.loads(capacity.content(found, "netem-trace"))
    (pattern,) = tree["RepeatedBwPatternConfig"]["pattern"]
    steps = pattern["TraceBwConfig"]["pattern"]
    assert len(steps) == 200
    assert {span for span, _ in steps} == {"10ms"}
    bits = sum(float(rate.removesuffix("bps")) * 0.010 for _, (rate,) in steps)
    assert bits == pytest.approx(found.sizes.sum() * 8, abs=200)


def test_a_tcp_sender_records_what_it_got() -> None:
    found = capacity.record(scenario('rate = "12 Mbit/s"\ndelay = "10 ms"'), "phone", under="reno")
    assert found.offered is None
    assert 6e6 < found.mean_rate <= 12e6


def test_the_distance_of_two_distributions_is_that_of_their_steps() -> None:
    # F of (1, 2, 3, 4) at 2 is 0.5, of (3, 4, 5, 6) it is 0.
    assert distance(np.array([1.0, 2, 3, 4]), np.array([3.0, 4, 5, 6])) == 0.5
    assert distance(np.array([1.0]), np.array([1.0])) == 0
    assert np.isnan(distance(np.array([]), np.array([1.0])))


@pytest.mark.parametrize(
    ("link", "more", "arguments", "words"),
    [
        ("", "", {"node": "phone"}, "no rate to record"),
        ('rate = "0 bit/s"', "", {"node": "phone"}, "nothing to record"),
        ('rate = "1 Mbit/s"', "", {"node": "nobody"}, "flows end at phone, server, server-2"),
        (
            'rate = "1 Mbit/s"',
            '[flow.recorded-flow]\nfrom = "server"\nto = "phone"\n',
            {"node": "phone"},
            "give the flow another name",
        ),
        (
            'rate = "1 Mbit/s"',
            '[[when]]\nflow = "download"\nvar = "cwnd"\nabove = 5\nset = { "link.path.rate" = "2 Mbit/s" }\n',
            {"node": "phone"},
            "watches the flow 'download'",
        ),
        ('rate = "1 Mbit/s"', "", {"node": "phone", "under": "nix"}, "nix"),
    ],
)
def test_what_cannot_be_recorded_is_refused_with_a_remedy(
    link: str, more: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(lh.LasthopError, match=words):
        capacity.record(scenario(link, more), **arguments)


def test_changes_of_a_flow_that_is_left_out_are_left_out_too() -> None:
    more = """
[[at]]
t = "500 ms"
stop = "flow.download"
[[at]]
t = "1 s"
set = { "link.path.rate" = "24 Mbit/s" }
"""
    found = capacity.record(scenario('rate = "12 Mbit/s"', more), "phone")
    # 12 Mbit/s for 1 s, then 24 Mbit/s for 1 s.
    assert found.mean_rate == pytest.approx(18e6, rel=0.01)


def test_the_command_writes_the_trace_and_says_what_a_replay_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("path.toml").write_text(PATH.format(path='rate = "12 Mbit/s"\ndelay = "10 ms"'))

    def run(*more: str) -> Any:
        return CliRunner().invoke(main, ["export-trace", "path.toml", "phone.down", "--node", "phone", *more])

    shown = run("--compare", "reno")
    assert shown.exit_code == 0, shown.output
    assert "left out" in shown.stdout
    assert "download" in shown.stdout
    assert Path("phone.down").read_text().splitlines()[-1] == "2000"
    printed = json.loads(run("--json", "--format", "netem-trace", "--compare", "reno", "--compare", "cubic").stdout)
    assert [c["cc"] for c in printed["compared"]] == ["reno", "cubic"]
    assert printed["to"] == "phone"
    assert "RepeatedBwPatternConfig" in json.loads(Path("phone.down").read_text())
    before = Path("phone.down").read_bytes()
    failed = run("--compare", "nix")
    assert failed.exit_code == 1
    assert "nix" in failed.stderr
    assert Path("phone.down").read_bytes() == before, "a failure leaves the file as it was"
