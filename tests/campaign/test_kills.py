"""A campaign that is killed again and again ends with the result of an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lasthop.campaign.conduct import conduct
from lasthop.campaign.sequential import Rule
from tests.campaign.plans import HandMade, start_of_process_s

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a group of processes, as POSIX has them")

ROOT = Path(__file__).parents[2]
CAMPAIGN = """
import sys
from lasthop.campaign import store
from lasthop.campaign.conduct import conduct
from tests.campaign.test_kills import plan
store.UNSAVED_S = float(sys.argv[3])
store._WORTH_INDEXING = 8
if __name__ == "__main__":
    conduct(plan(sys.argv[4]), sys.argv[1] + "/store", using=sys.argv[2], jobs=2, out=sys.argv[1] + "/out")
"""


def plan(size: str) -> HandMade:
    """Runs of some 10 to 50 ms with tables, and a rule that adds more.

    There is always something in the making.
    """
    rule = (
        Rule.parse("ci95(goodput) < 1 %, min 8, max 40")
        if size == "short"
        else Rule.parse("ci95(goodput) < 0.5 %, min 10, max 120")
    )
    made = HandMade(
        {"flow.ftp.tcp.cc": ["reno", "cubic"], "link.path.loss": ["0.5 %", "2 %"]}, until=rule, keep=("flows", "tcp")
    )
    object.__setattr__(made, "base", made.base.with_({"scenario.duration": "20 s"}))
    return made


def octets(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


def kill_and_compare(folder: Path, using: str, kills: int, size: str, seed: int) -> None:
    """Starts the campaign until it ends by itself.

    The first `kills` times it is killed at a random moment.
    """
    began = time.monotonic()
    conduct(plan(size), folder / "undisturbed", using="threads", jobs=2, out=folder / "expected")
    whole = time.monotonic() - began
    # Kills are spread over the start of a process and its workers, its runs, its writes and the
    # end.
    start = start_of_process_s()
    moments = random.Random(seed)
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = folder / "campaign.py"
    script.write_text(CAMPAIGN)
    store = folder / "store"
    killed = 0
    seen: list[int] = []
    for _ in range(10 * kills):
        # Now and then a file for nearly each run, else as it is by default.
        unsaved = moments.choice(["0.01", "0.1", "2.0"])
        process = subprocess.Popen(
            [sys.executable, script, folder, using, unsaved, size],
            env=path,
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
        )
        enough = killed >= kills and len(set(seen)) > 1
        # Further kills come later: the machine may have become slower since `whole` was measured.
        latest = (4 * start + 2 * whole / kills) * 2 ** max(0, killed - kills + 1)
        wait = 600.0 if enough else moments.uniform(0.2, latest)
        try:
            _, said = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
            seen.append(len(list(store.glob("runs/*/*/*.parquet"))))
            continue
        assert process.returncode == 0, said
        if enough:
            break
        # It ended before the kill: some of its files are lost, and it begins again.
        files = sorted(store.glob("runs/*/*/*.parquet"))
        for lost in moments.sample(files, min(3, len(files))):
            lost.write_bytes(lost.read_bytes()[: moments.randrange(lost.stat().st_size)])
    assert killed >= kills
    assert octets(folder / "out") == octets(folder / "expected")
    assert len(set(seen)) > 1, "every kill met the same state"
    unfinished = [p.name for p in folder.iterdir() if p.name.endswith(".partial")]
    assert len(unfinished) <= kills


@pytest.mark.parametrize(("using", "kills"), [("threads", 6), ("processes", 4)])
def test_a_campaign_that_is_killed_ends_as_the_undisturbed_one(tmp_path: Path, using: str, kills: int) -> None:
    kill_and_compare(tmp_path, using, kills, "short", seed=21)


@pytest.mark.slow
@pytest.mark.parametrize(("using", "kills"), [("threads", 35), ("processes", 15)])
def test_fifty_kills(tmp_path: Path, using: str, kills: int) -> None:
    kill_and_compare(tmp_path, using, kills, "long", seed=50)
