"""The template crate in examples/ builds against this copy of Lasthop, passes its test and runs; offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "examples" / "own-cc-crate"


def cargo(*args: str) -> str:
    done = subprocess.run(
        ["cargo", *args, "--offline", "--quiet"],
        cwd=CRATE,
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs a Rust toolchain")
def test_the_template_crate_builds_is_tested_and_runs() -> None:
    # The versions that Lasthop's own build has fetched: nothing else is needed.
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    assert "2 passed" in cargo("test", "--lib")
    out = cargo("run")
    assert '"name":"aimd"' in out
    rates = [float(r) for r in re.findall(r"(\d+\.\d+) Mbit/s", out)]
    reno, aimd, gentle = rates
    # A queue of 30 packets is below the 34 segments of the bandwidth-delay product (10 Mbit/s x 40
    # ms / 1500 B = 33.3): half of 63 leaves the link idle for a while, 0.7 and 0.9 of it do not.
    assert reno < aimd <= gentle + 0.05 < 9.65 + 0.05
    # The scheduler of the same crate is that of examples/own_scheduler.py: the call gets through
    # where it would starve.
    lines = [line.split(maxsplit=3) for line in cargo("run", "--bin", "cell").splitlines()]
    arrived = {name: float(share.rstrip("%")) for share, _, _, name in lines}
    assert arrived["fdmt"] < 50
    assert arrived["late-first"] > 95
