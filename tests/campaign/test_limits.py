"""Code that never returns, prints, or starts campaigns where it must not."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop import LasthopError
from lasthop.campaign.conduct import conduct
from lasthop.campaign.executors import Processes, Threads, executor
from tests.campaign.misbehaving import Own
from tests.campaign.plans import GOODPUT, HandMade, small, start_of_process_s
from tests.scenarios import WIRED

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.mark.parametrize("using", ["threads", "processes"])
@pytest.mark.parametrize("how", ["endless", "sleep"])
def test_a_run_that_takes_too_long_is_a_failure_with_a_reason(tmp_path: Path, using: str, how: str) -> None:
    plan = small(measures=(*GOODPUT, Own(how)))
    # A first run imports modules, which takes longer on a busy machine.
    limit = 2 + math.ceil(3 * start_of_process_s())
    found = conduct(plan, tmp_path, using=using, jobs=2, time_limit_s=limit)
    assert found.about["runs"] == {"planned": 12, "done": 12, "taken": 0, "failed": 4}
    failures = found.failures().to_pylist()
    assert [f["seed"] for f in failures] == [2] * 4
    assert {f["reason"] for f in failures} == {f"it was given up after the time limit of {limit} s for a run"}
    assert sum(row["own"] == 1.0 for row in found.table().to_pylist()) == 8
    mended = conduct(small(measures=(*GOODPUT, Own())), tmp_path, using=using, time_limit_s=60)
    assert mended.about["runs"] == {"planned": 12, "done": 12, "taken": 8, "failed": 0}


@pytest.mark.parametrize("using", ["threads", "processes"])
def test_a_run_of_the_core_stops_by_itself_at_the_limit(tmp_path: Path, using: str) -> None:
    plan = HandMade({"flow.ftp.tcp.cc": ["reno", "cubic"]}, seeds=(1,))
    object.__setattr__(plan, "base", plan.base.with_({"scenario.duration": "100000 s", "output.tcp": "off"}))
    found = conduct(plan, tmp_path, using=using, jobs=2, time_limit_s=0.5)
    assert found.about["runs"]["failed"] == 2
    assert {f["reason"] for f in found.failures().to_pylist()} == {
        "it was given up after the time limit of 0.5 s for a run"
    }


def test_a_limit_is_a_time() -> None:
    with pytest.raises(LasthopError, match="a time limit of 0 s"):
        executor("threads", 1, limit_s=0.0)


@posix
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("makes", [Threads(2), Processes(2)], ids=["threads", "processes"])
def test_one_ctrl_c_ends_a_metric_that_never_returns(tmp_path: Path, makes: Threads | Processes) -> None:
    before = set(threading.enumerate())
    began = time.monotonic()
    alarm = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        conduct(small(measures=(Own("endless"),)), tmp_path, using=makes)
    assert time.monotonic() - began < 60  # not for ever
    # On a busy machine a thread may end after `conduct`, which waits for seconds.
    threads = [t for t in threading.enumerate() if t.name.startswith("lasthop-run") and t not in before]
    for thread in threads:
        thread.join(30)
    assert not [t for t in threads if t.is_alive()]


# ---------------------------------------------------------------------- scripts and prints

SCRIPT = """
import sys
from pathlib import Path
import lasthop
sys.path.insert(0, {root!r})
print("the script runs")

def own(run):
    return 1.0

def campaign(name, **metrics):
    return lasthop.Campaign("wired.toml", {{"flow.ftp.tcp.cc": ["reno", "cubic"]}}, metrics, name=name, seeds=1,
                            set={{"scenario.duration": "0.2 s"}})

first = campaign("first", goodput='flow("ftp").goodput_bps')
first.run(out="results/first", jobs=2)
campaign("second", own=own).run(out="results/second", jobs=2)
"""


def test_a_script_without_a_guard_is_told_at_once_and_leaves_nothing_of_its_workers(tmp_path: Path) -> None:
    (tmp_path / "wired.toml").write_text(WIRED)
    (tmp_path / "script.py").write_text(SCRIPT.format(root=str(ROOT)))
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 1
    assert "below `if __name__ == '__main__':`" in done.stderr
    assert done.stderr.count("Traceback") == 1  # that of the script itself
    assert sorted(p.name for p in (tmp_path / "results").iterdir()) == ["first", "store"]


METRICS = """
import sys, os
print("loaded")
def loud(run):
    print("hello")
    os.write(1, b"and below Python\\n")
    return 1.0
"""
CONTROL = """
from lasthop import CongestionControl
class Loud(CongestionControl):
    def on_ack(self, ack):
        print("an ack")
        self.slow_start(ack)
"""


@pytest.mark.parametrize("flags", [[], ["--executor=threads"], ["--dry-run"]])
def test_what_own_code_prints_does_not_spoil_the_json(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "wired.toml").write_text(WIRED)
    own = METRICS if flags == [] else METRICS.replace('    os.write(1, b"and below Python\\n")\n', "")
    (tmp_path / "m.py").write_text(own)
    (tmp_path / "c.py").write_text(CONTROL)
    command = [
        sys.executable, "-m", "lasthop", "sweep", "--base=wired.toml", "--axis=flow.ftp.tcp.cc=reno,loud",
        "--cc=loud=c.py:Loud", "--metric=m=m.py:loud", "--set=scenario.duration=0.2 s", "--seeds=1", "--json", *flags,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert {"hello", "an ack", "loaded"} <= set(done.stderr.splitlines())


def test_modules_beside_an_own_file_are_found_when_its_functions_import_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    Path("dyn.py").write_text("VALUE = 4.0\n")
    Path("deeper.py").write_text("def value():\n    import dyn\n    return dyn.VALUE\n")
    Path("m.py").write_text("def lazy(run):\n    import deeper\n    return deeper.value()\n")
    Path("c.py").write_text(
        "from lasthop import CongestionControl\nclass Lazy(CongestionControl):\n"
        "    def on_ack(self, ack):\n        import dynamic\n        self.slow_start(ack)\n"
    )
    Path("dynamic.py").write_text("")
    from lasthop.campaign.flags import campaign_of

    for using in ("threads", "processes"):
        made = campaign_of(
            "wired.toml", ["flow.ftp.tcp.cc=lazy"], ["m=m.py:lazy"], cc=["lazy=c.py:Lazy"], seeds="1",
            set=["scenario.duration=0.2 s", "link.path.loss=0 %"],
        )  # fmt: skip
        found = made.run(store=f"s-{using}", using=using, jobs=1)
        assert found.failures().to_pylist() == []
        assert found.table()["m"].to_pylist() == [4.0]
    with pytest.raises(ModuleNotFoundError):
        __import__("dynamic_that_is_nowhere")
    Path("hidden.py").write_text("")
    with pytest.raises(ModuleNotFoundError):
        __import__("hidden")  # this file is not one of the user's


def test_a_store_without_a_name_and_a_limit_without_a_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lasthop.cli import main

    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    base = ["sweep", "--base=wired.toml", "--axis=flow.ftp.tcp.cc=reno", "--metric=g=count(drops)"]
    empty = CliRunner().invoke(main, [*base, "--store", ""])
    assert (empty.exit_code, "the store's folder has no name" in empty.output) == (2, True)
    assert not Path("runs").exists()
    limit = CliRunner().invoke(main, [*base, "--time-limit=5"])
    assert (limit.exit_code, "--time-limit '5' is no number with its unit" in limit.output) == (1, True)
