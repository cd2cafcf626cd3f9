"""Same scenario, same seed, same version: the same bytes.

In any process, with any number of workers.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lasthop as lh
from lasthop._bundled import bundled
from tests.scenarios import UMTS, WIRED

SCENARIOS = {"wired": WIRED, "umts": UMTS}


def fingerprint(folder: Path) -> dict[str, str]:
    """Hash of every file of a result folder."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_repeats_byte_for_byte(name: str, tmp_path: Path) -> None:
    scenario = lh.Scenario.parse(SCENARIOS[name])
    for n in ("one", "two"):
        scenario.run(out=tmp_path / n)
    assert len(fingerprint(tmp_path / "one")) >= 8
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")


@pytest.mark.parametrize("name", SCENARIOS)
def test_another_process_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIOS[name])
    for n in ("0", "4711"):
        command = [sys.executable, "-m", "lasthop", "run", str(file), "--quiet", "--out", str(tmp_path / n)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": n})
    assert fingerprint(tmp_path / "0") == fingerprint(tmp_path / "4711")


def test_one_worker_and_two_give_the_same_bytes(tmp_path: Path) -> None:
    family = [lh.Scenario.parse(text).with_(seed=seed) for text in SCENARIOS.values() for seed in (1, 2, 3)]
    for jobs in (1, 2):
        lh.run_many(family, jobs=jobs, outs=[tmp_path / str(jobs) / str(i) for i in range(len(family))])
    assert fingerprint(tmp_path / "1") == fingerprint(tmp_path / "2")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    for seed in (1, 2):
        lh.Scenario.parse(WIRED).with_(seed=seed).run(out=tmp_path / str(seed))
    assert fingerprint(tmp_path / "1")["tcp.parquet"] != fingerprint(tmp_path / "2")["tcp.parquet"]


@pytest.mark.parametrize("path", bundled().values(), ids=lambda p: p.stem)
def test_stepping_gives_the_bytes_of_one_run(path: Path, tmp_path: Path) -> None:
    scenario = lh.Scenario.load(path).with_(duration="6 s")
    scenario.run(out=tmp_path / "run")
    sim = scenario.simulate(out=tmp_path / "steps")
    for t in (0.001, 0.5, 1.2345, 3.0, 3.0, 5.999):
        sim.step_until(t)
    sim.finish()
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "steps")
