"""Captures that cannot be written end the run with an error, and leave nothing that looks whole."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

RUN = (sys.executable, "-m", "lasthop", "run", "dumbbell", "--set", "scenario.duration=20 s")


def run(*more: str, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """`lasthop run dumbbell`, in which no file grows beyond `most` bytes (setrlimit(2); Python ignores the signal)."""
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
