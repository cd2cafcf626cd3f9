"""Threads of a run: what the command and the package accept, and that results are the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.campaign.conduct import conduct
from lasthop.campaign.executors import Failure, R, T, Threads, WorkOf
from lasthop.campaign.work import Work
from lasthop.cli import main
from tests.campaign.plans import HandMade, small

MANY_CELLS = Path(__file__).parent.parent / "crates" / "sim" / "benches" / "sectors57.toml"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["run", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_gives_the_same_results_on_two_threads(tmp_path: Path) -> None:
    """Folders of the same files with the same octets; the manifest does not name the threads."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, threads in zip(folders, ("1", "2"), strict=True):
        run("lte-download", "--set", "scenario.duration=1 s", "--threads", threads, "--out", str(folder), "--quiet")
    names = [sorted(path.name for path in folder.iterdir()) for folder in folders]
    assert names[0] == names[1]
    for name in names[0]:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


@pytest.mark.parametrize("threads", [2, 5, 16])
def test_many_cells_give_the_same_results_on_several_threads(threads: int) -> None:
    """57 cells: so much work in a TTI that a build for users shares it too."""
    on = ["scenario.duration=0.15 s", "output.radio=true"]
    scenario = lh.Scenario.load(MANY_CELLS, set=on)
    one, several = scenario.run(), scenario.run(threads=threads)
    assert one.flows["rx_bytes"].to_numpy().sum() > 1e6
    for name in ("flows", "radio"):
        assert getattr(one, name).equals(getattr(several, name)), name


def test_a_forked_child_continues_a_run_on_two_threads() -> None:
    """No work of other threads, which a forked process does not have, is open between two steps."""
    program = f"""
import os
import lasthop as lh
scenario = lh.Scenario.load({str(MANY_CELLS)!r}, set=["scenario.duration=0.12 s"])
simulation = scenario.simulate(threads=2)
simulation.step_until(0.08)
child = os.fork()
flows = simulation.finish().flows
same = flows.equals(scenario.run().flows) and flows["rx_bytes"].to_numpy().sum() > 1e6
if child == 0:
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
assert same and status == 0, (same, status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_a_scenario_without_lte_cells_accepts_threads(tmp_path: Path) -> None:
    run("dumbbell", "--set", "scenario.duration=1 s", "--threads", "4", "--out", str(tmp_path / "out"), "--quiet")


def test_a_simulation_in_steps_takes_threads() -> None:
    scenario = lh.Scenario.load("lte-download", set=["scenario.duration=1 s"])
    simulation = scenario.simulate(threads=2)
    simulation.step_until(0.4)
    assert simulation.finish().flows.equals(scenario.run().flows)


@pytest.mark.parametrize("threads", ["0", "257", "many"])
def test_a_wrong_number_is_refused(threads: str) -> None:
    done = CliRunner().invoke(main, ["run", "lte-download", "--threads", threads])
    assert done.exit_code != 0
    assert "--threads" in done.output


@pytest.mark.parametrize("threads", [0, 257])
def test_the_package_refuses_a_wrong_number(threads: int) -> None:
    with pytest.raises(lh.LasthopError, match="threads is a whole number from 1 to 256"):
        lh.Scenario.load("lte-download").run(threads=threads)
    with pytest.raises(lh.LasthopError, match="threads is a whole number from 1 to 256"):
        lh.Scenario.load("lte-download").simulate(threads=threads)


class Watched(Threads):
    """Notes how many threads its runs may use."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.threads = 0

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        made_by: object = work
        assert isinstance(made_by, Work)
        self.threads = made_by.threads
        yield from super().run(work, tasks)


@pytest.mark.parametrize(("workers", "allowed", "used"), [(1, 4, 1), (4, 4, 2), (8, 3, 3), (8, 1, 1), (3, 4, 1)])
def test_runs_of_a_campaign_come_before_threads(tmp_path: Path, workers: int, allowed: int, used: int) -> None:
    """Two runs: each gets its part of the processors that the runs leave idle."""
    executor = Watched(workers)
    plan = HandMade({"flow.ftp.tcp.cc": ["reno", "cubic"]}, seeds=(1,))
    found = conduct(plan, tmp_path, using=executor, threads=allowed)
    assert (executor.threads, found.about["runs"]["done"]) == (used, 2)


def test_a_campaign_refuses_a_wrong_number(tmp_path: Path) -> None:
    with pytest.raises(lh.LasthopError, match="threads is a whole number from 1 to 256"):
        conduct(small(), tmp_path, threads=0)
