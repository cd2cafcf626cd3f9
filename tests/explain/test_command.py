"""`lasthop explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lasthop import Scenario
from lasthop._bundled import bundled
from lasthop.cli import main
from tests.explain.plants import WIRED


def lasthop(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


@pytest.fixture
def tiny_window(tmp_path: Path) -> Path:
    keys = ["flow.f.tcp.receive_buffer=16 kB", "scenario.duration=3 s", "output.explain=true"]
    Scenario.parse(WIRED).with_(keys).run(out=tmp_path / "run")
    return tmp_path / "run"


def test_words_come_first_then_the_table_then_the_figure(tiny_window: Path) -> None:
    said = lasthop("explain", str(tiny_window))
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert "its sender was limited by the receive window" in lines[0]
    assert any(line.startswith("flow f, 0 s to 3 s") for line in lines)
    table = [line.split() for line in lines if line.startswith(("receive-window", "sum"))]
    assert table[0][0] == "receive-window"
    assert table[1] == ["sum", "100.0", "3.000000000"]
    assert "--set 'flow.f.tcp.receive_buffer=4 MB'" in said.output
    figure = tiny_window / "explain-f.svg"
    assert figure.read_bytes().startswith(b"<?xml")
    assert str(figure) in said.output


def test_json_is_one_object_whose_parts_add_up(tiny_window: Path) -> None:
    args = ("--flow", "f", "--from", "500ms", "--to", "2 s", "--json", "--figure", str(tiny_window / "f.png"))
    said = json.loads(lasthop("explain", str(tiny_window), *args).output)
    assert said["exact"]
    assert said["start_ns"] == 500_000_000
    assert said["end_ns"] == 2_000_000_000
    assert sum(part["ns"] for part in said["parts"]) == said["whole_ns"] == 1_500_000_000
    assert said["parts"][0]["cause"] == "receive-window"
    assert Path(said["figure"]).read_bytes().startswith(b"\x89PNG")


def test_a_change_is_tried(tiny_window: Path) -> None:
    said = json.loads(lasthop("explain", str(tiny_window), "--try", "--json").output)
    numbers = said["tried"][0]["numbers"]["goodput_bps"]
    assert numbers["after"] > 2 * numbers["before"]
    words = lasthop("explain", str(tiny_window), "--try").output
    assert "tried" in words
    assert "goodput" in words


def test_a_change_is_tried_of_a_run_with_a_capture(tmp_path: Path) -> None:
    made = Scenario.parse(WIRED).with_(["flow.f.tcp.receive_buffer=16 kB", 'output.capture.interfaces=["drops"]'])
    made.run(out=tmp_path / "run")
    numbers = json.loads(lasthop("explain", str(tmp_path / "run"), "--try", "--json").output)["tried"][0]["numbers"]
    assert numbers["goodput_bps"]["after"] > 2 * numbers["goodput_bps"]["before"]


def test_an_estimate_says_so(tmp_path: Path) -> None:
    Scenario.parse(WIRED).with_(["scenario.duration=1 s"]).run(out=tmp_path / "run")
    said = lasthop("explain", str(tmp_path / "run")).output
    assert "(estimated)" in said
    assert "note: Estimated from samples" in said
    assert "--set output.explain=true" in said


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("nowhere",), 1, "there is no folder 'nowhere'"),
        (("RUN", "--flow", "g"), 1, "there is no flow 'g'"),
        (("RUN", "--from", "2 s", "--to", "1 s"), 1, "the interval for flow 'f' is empty"),
        (("RUN", "--from", "soon"), 2, "'soon' is no time"),
        (("RUN", "--figure", "x.gif5"), 1, "pictures are not written as 'gif5'"),
    ],
)
def test_mistakes_have_clear_words(tiny_window: Path, args: tuple[str, ...], code: int, message: str) -> None:
    said = lasthop("explain", *(str(tiny_window) if a == "RUN" else a for a in args))
    assert said.exit_code == code
    assert message in said.output
    assert "Traceback" not in said.output


def test_without_a_name_each_flow_has_a_line(tmp_path: Path) -> None:
    Scenario.load(bundled()["wifi-slow-station"]).with_(["scenario.duration=3 s"]).run(out=tmp_path / "run")
    said = lasthop("explain", str(tmp_path / "run"))
    assert said.exit_code == 0, said.output
    names = ("call", "fast-1", "fast-2", "slow")
    lines = {words[0]: line for line in said.output.splitlines() if (words := line.split()) and words[0] in names}
    assert set(lines) == set(names)
    assert "of delay" in lines["call"]
    assert "wifi-queue (far downlink)" in lines["slow"]
    flows = json.loads(lasthop("explain", str(tmp_path / "run"), "--json").output)["flows"]
    assert sorted(f["flow"] for f in flows) == sorted(names)
    alone = json.loads(lasthop("explain", str(tmp_path / "run"), "--flow", "slow", "--json").output)
    assert {k: v for k, v in alone.items() if k not in ("figure", "tried")} in flows
    refused = lasthop("explain", str(tmp_path / "run"), "--try")
    assert refused.exit_code == 2
    assert "add `--flow NAME`" in refused.output


def test_losses_of_one_burst_are_a_line(tmp_path: Path) -> None:
    Scenario.load(bundled()["lte-download"]).with_(["scenario.duration=2 s"]).run(out=tmp_path / "run")
    lost = len(json.loads(lasthop("explain", str(tmp_path / "run"), "--json").output)["losses"])
    assert lost > 100
    said = lasthop("explain", str(tmp_path / "run")).output.splitlines()
    at = next(i for i, line in enumerate(said) if line.split()[:2] == ["lost", "at"])
    counts = [int(line.split()[6].replace(",", "")) for line in said[at + 1 :] if " to " in line]
    assert counts == [lost]
    each = lasthop("explain", str(tmp_path / "run"), "--losses").output.splitlines()
    assert sum("rlc-buffer-full" in line for line in each) == lost + 1


def test_a_cause_that_is_alone_for_a_time_has_a_colour_of_its_own() -> None:
    """Seven causes share 99 % of the time; the eighth has two of a hundred intervals for itself."""
    import numpy as np

    from lasthop.explain._figure import MOST, _lines, _named

    rows = np.tile(np.arange(20.0, 20.0 - MOST, -1)[:, None], (1, 100))
    last = np.zeros(100)
    rows[:, 40:42] = 0.0
    last[40:42] = 1.0
    small = np.full(100, 0.1)
    assert _named(np.vstack([rows, small, last])) == [*range(MOST - 1), MOST + 1]
    small[40:42] = 0.0
    assert _named(np.vstack([rows, small])) == list(range(MOST))
    assert _named(np.zeros((0, 100))) == []
    # Labels are whole.
    assert _lines("retry or reorder-buffer or contention or wifi-queue (ACKs) laptop-3").count("\n") == 2


def test_its_help_says_what_the_causes_mean() -> None:
    from lasthop.explain._model import BUSY, HELD, LIMITS, TRANSIT

    lines = lasthop("explain", "--help").output.splitlines()
    first = {words[0] for line in lines if (words := line.split())}
    assert {*LIMITS, *BUSY, *HELD, *TRANSIT} <= first


def test_what_samples_cannot_tell_apart_is_one_note_for_all_flows(tmp_path: Path) -> None:
    Scenario.load(bundled()["wifi-slow-station"]).with_(["scenario.duration=3 s"]).run(out=tmp_path / "run")
    said = lasthop("explain", str(tmp_path / "run")).output
    assert said.count("Samples cannot distinguish causes with `or` between them") == 1
    assert "The samples cannot distinguish" not in said
    assert "The samples cannot distinguish" in lasthop("explain", str(tmp_path / "run"), "--flow", "slow").output


def test_a_figure_of_any_format_is_drawn(tiny_window: Path) -> None:
    said = lasthop("explain", str(tiny_window), "--figure", str(tiny_window / "f.gif"))
    assert said.exit_code == 0, said.output
    assert (tiny_window / "f.gif").read_bytes().startswith(b"GIF8")
