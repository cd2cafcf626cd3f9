"""Captures that cannot be written end the run with an error.

And Wireshark's analysis of TCP in the bundled scenarios.

`crates/sim/tests` have the frames themselves, and the analysis where it is compared with more
tables.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lasthop import Scenario
from lasthop._bundled import bundled

RUN = (sys.executable, "-m", "lasthop", "run", "dumbbell", "--set", "scenario.duration=20 s")


def run(*more: str, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """`lasthop run dumbbell`, in which no file grows beyond `most` bytes.

    By setrlimit(2); Python ignores the signal.
    """
    # The shell's unit is 512 or 1024 octets: the limit is set here, and is inherited.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        return subprocess.run([*RUN, *more], capture_output=True, text=True, check=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_limit_of_the_size_of_files_ends_the_run(tmp_path: Path) -> None:
    out, capture = tmp_path / "run", tmp_path / "t.pcapng"
    partial = tmp_path / "t.pcapng.partial"
    done = run("--out", str(out), "--capture", str(capture), most=1_000_000)
    assert done.returncode == 1, done.stderr
    assert f"cannot write the capture {partial}: File too large" in done.stderr
    assert "capture less with a shorter snapshot length" in done.stderr
    assert "Traceback" not in done.stderr
    # What fits is there, the rest is not, and neither has a whole one's name.
    assert partial.stat().st_size == 1_000_000
    assert not capture.exists()
    assert not out.exists()


def test_a_folder_that_is_not_there_is_an_error_before_the_run(tmp_path: Path) -> None:
    capture = tmp_path / "no/such/t.pcapng"
    done = run("--capture", str(capture))
    assert done.returncode == 1, done.stderr
    assert "make the folder first" in done.stderr
    assert str(capture) in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.pcapng.partial").symlink_to("/dev/full")
    done = run("--capture", str(tmp_path / "t.pcapng"))
    assert done.returncode == 1, done.stderr
    assert "No space left" in done.stderr
    assert "free space" in done.stderr
    assert not (tmp_path / "t.pcapng").exists()


#: How long each is run [s], the sender, and whether it repeats segments by then.
ANALYSED = {
    "lte-7-sites": (0.3, "server", False),
    "lte-ack-delay": (1, "server", False),
    "lte-bufferbloat": (2, "server", True),
    "lte-drive": (1, "server", False),
    "lte-fading": (1, "server", False),
    "lte-qos": (2, "server", True),
    "lte-radio-aware": (2, "server", True),
    "lte-rlc-am": (2, "server", True),
    "lte-schedulers": (1, "server", False),
    "lte-two-way": (2, "server", True),
    "lte-um-am": (2, "server", True),
    "web-over-umts": (3, "server", False),
    "wifi-download": (2, "server", True),
}
#: The lists of `crates/sim/tests/captures_tcp.rs`.
IN_RUST = {
    *("change-during-run", "dumbbell", "split-and-snoop", "trace-link"),
    *("lte-download", "lte-handover", "lte-rlc-um", "lte-upload", "sidelink", "umts-download"),
    *("wifi-beside-lte", "wifi-slow-station"),
}
WITHOUT_TCP = {"lte-reuse", "media-call", "sidelink-multicast"}


def test_wiresharks_analysis_has_every_bundled_scenario() -> None:
    assert {*ANALYSED, *IN_RUST, *WITHOUT_TCP} == set(bundled())


@pytest.mark.skipif(
    shutil.which("tshark") is None and "LASTHOP_NEEDS_TSHARK" not in os.environ, reason="tshark is not installed"
)
@pytest.mark.parametrize("name", ANALYSED)
def test_wireshark_finds_the_retransmissions_of_the_sender_and_no_others(name: str, tmp_path: Path) -> None:
    seconds, sender, repeats = ANALYSED[name]
    capture = tmp_path / "run.pcapng"
    keys = [f"scenario.duration={seconds} s", "output.packets=true", f'output.capture.interfaces=["{sender}"]']
    results = Scenario.load(name).with_(keys).run(capture=capture)
    ours = [
        row["packet"]
        for row in results.table("packets").to_pylist()
        if row["node"] == sender and row["event"] == "sent" and row["retransmission"]
    ]
    # A segment that is sent again soon is "out of order" to Wireshark.
    marks = "tcp.analysis.retransmission or tcp.analysis.out_of_order"
    wanted = ["-Y", f"frame.packet_flags_direction == 2 and ({marks})", "-T", "fields", "-e", "frame.packet_id"]
    command = ["tshark", "-n", "-r", str(capture), *wanted]
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300).stdout
    assert [int(line) for line in said.split()] == ours
    assert bool(ours) == repeats
