"""The template crate in examples/ builds against this copy of Lasthop.

It passes its test and runs; offline.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lasthop as lh

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


CASE = """[case]
id = "AIMD-1"
title = "A loss leaves the share beta of the window"
source = "examples/own-cc-crate/src/lib.rs"
observables = ["aimd.beta"]
requires = ["exists(e)"]
pass = ["at(ssthresh, e) / before(inflight, e) in [0.65, 0.75]", "at(aimd.beta, e) = 0.7"]
[case.let]
e = "first(enter('ca_state', 'recovery'))"
[case.paths]
near = { rate = "10 Mbit/s", rtt = "40 ms", buffer = 30 }
"""


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs a Rust toolchain")
def test_the_control_of_the_template_crate_is_judged(tmp_path: Path) -> None:
    """The crate's program makes the runs: 0.7 of the flight is left, as its definition says."""
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    cargo("build", "--bin", "judged")
    program = f"{ROOT}/target/debug/judged"
    file = tmp_path / "aimd.toml"
    file.write_text(CASE)
    verdicts = lh.judge(f"{program}:aimd", [str(file)], store=tmp_path / "store", jobs=1)
    (row,) = verdicts.rows
    assert row.verdict == "pass", row.why
    assert verdicts.to_json_dict()["cc"]["kind"] == "own"
    file.write_text(CASE.replace("e) = 0.7", "e) = 0.5"))
    assert lh.judge(f"{program}:aimd", [str(file)], store=tmp_path / "store", jobs=1).rows[0].verdict == "fail"
    for name, message in (
        (f"{program}:aimed", "did you mean 'aimd'"),
        (f"{program}:cubic", "name of a built-in control"),
        (f"{sys.executable}:aimd", "no program with controls"),
        (f"{tmp_path}/none:aimd", "there is no program"),
        (f"{file}:aimd", "cannot be executed"),
    ):
        with pytest.raises(lh.LasthopError, match=re.escape(message)):
            lh.judge(name, [str(file)])


MEDIA = """[case]
id = "STEADY-1"
title = "A report of waiting packets leaves the share beta of the rate"
source = "examples/own-cc-crate/src/rate.rs"
judges = "rate-control"
base = "media"
observables = ["steady.wait: s"]
requires = ["exists(e)"]
pass = [
    "at(media.target_rate, e) / before(media.target_rate, e) in [0.848, 0.853]",
    "max(steady.wait, start, end) > 50 ms",
]
[case.let]
e = "first(rises(change(media.target_rate) < 0))"
[case.scenario]
duration = "30 s"
[case.paths]
p = { rate = "1 Mbit/s", rtt = "100 ms", depth = "300 ms" }
"""


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs a Rust toolchain")
def test_a_program_may_have_rate_controls_and_controls_for_l4s(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    cargo("build", "--bin", "judged")
    program = f"{ROOT}/target/debug/judged"
    file = tmp_path / "steady.toml"
    # 0.85, and the growth of one report between the two instants: 40 kbit/s per s in 50 ms are
    # 0.2 % of some 900 kbit/s.
    file.write_text(MEDIA)
    found = lh.judge(f"{program}:steady", [str(file)], store=tmp_path / "store", jobs=1)
    assert [row.verdict for row in found.rows] == ["pass"], found.rows[0].why
    assert found.to_json_dict()["cc"]["of"] == "rate-control"
    # The suite judges it as one that sends ECT(1): what leaves has that codepoint (L4S-01). One
    # that does not say so is not judged.
    (row,) = lh.judge(f"{program}:halves", "l4s", cases=["L4S-01"], quick=True, store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "pass", row.why
    (row,) = lh.judge(f"{program}:aimd", "l4s", cases=["L4S-01"], quick=True, store=tmp_path / "store", jobs=1).rows
    assert row.verdict == "not-applicable"
