"""Threads of a run: what the command and the package accept, and that results are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop.cli import main


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
