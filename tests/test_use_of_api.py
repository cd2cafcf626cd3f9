"""The API in other threads, in other processes, and with invalid values."""

from __future__ import annotations

import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import lasthop as lh
from lasthop._bundled import bundled
from lasthop._values import Value
from tests.scenarios import WIRED


@pytest.fixture(scope="module")
def wired() -> lh.Scenario:
    return lh.Scenario.parse(WIRED)


def test_another_thread_gets_an_exception_that_it_can_catch(wired: lh.Scenario) -> None:
    simulation = wired.simulate()
    raised: list[Exception] = []

    def look() -> None:
        try:
            _ = simulation.now
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert [type(e) for e in raised] == [RuntimeError]
    assert "thread 'MainThread', which made it" in str(raised[0])
    simulation.step_until(0.5)


def test_another_thread_may_collect_a_simulation(wired: lh.Scenario, tmp_path: Path) -> None:
    held = [wired.simulate(out=tmp_path / "out")]
    held[0].step_until(0.1)
    failed: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, failed.append
    try:
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
    finally:
        sys.unraisablehook = before
    assert not failed
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("scenario.name", "\ud800", "is not valid UTF-8"),
        ("scenario.seed", 10**5000, "bits fits no key"),
    ],
    ids=["half a character", "5001 digits"],
)
def test_values_that_are_none_are_mistakes(wired: lh.Scenario, key: str, value: Any, words: str) -> None:
    with pytest.raises(lh.LasthopError, match=words):
        wired.set(key, value)
    with pytest.raises(lh.LasthopError, match=words):
        wired.simulate().set("link.path.rate", value)


def test_a_text_that_is_none_is_a_mistake() -> None:
    with pytest.raises(lh.LasthopError, match="is not valid UTF-8"):
        lh.Scenario.parse(WIRED + "# \udcff")


def test_not_a_number_is_no_contradiction(wired: lh.Scenario) -> None:
    simulation = wired.simulate()
    simulation.step_until(0.5)
    with pytest.raises(lh.LasthopError, match="`NaN` is not a rate"):
        simulation.set("link.path.rate", float("nan"))


def test_progress_is_drawn_or_printed(wired: lh.Scenario) -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="True, False or a function, not 3"):
        wired.run(progress=wrong)
    with pytest.raises(TypeError, match="None or a function, not 3"):
        lh.run_many([wired], progress=wrong)


@pytest.mark.parametrize("drops", [-1, 0, 100_001, 10**5000], ids=["-1", "0", "100,001", "5001 digits"])
def test_drops_out_of_range_are_a_mistake(drops: int) -> None:
    with pytest.raises(lh.LasthopError, match="drops is a whole number from 1 to 100,000, not"):
        lh.Scenario.load("lte-7-sites").geometry(drops)


def test_only_scenarios_are_run(wired: lh.Scenario) -> None:
    wrong: Any = [wired, "wired.toml"]
    with pytest.raises(TypeError, match=r"scenarios\[1\] is of type str, not a Scenario"):
        lh.run_many(wrong)


def test_jobs_below_zero_are_a_mistake(wired: lh.Scenario) -> None:
    with pytest.raises(lh.LasthopError, match="jobs is a whole number at least 0, not -1"):
        lh.run_many([wired], jobs=-1)
    assert len(lh.run_many([wired], jobs=10**30)) == 1


def goodput(scenario: lh.Scenario) -> lh.Results:
    return scenario.run()


@pytest.mark.parametrize("name", ["trace-link", "lte-handover", "umts-download"])
def test_a_scenario_goes_through_pickle(name: str) -> None:
    scenario = lh.Scenario.load(name).with_(seed=7)
    again = pickle.loads(pickle.dumps(scenario))
    assert (again.hash, again.name, again.seed) == (scenario.hash, scenario.name, 7)


@pytest.mark.parametrize("name", sorted(bundled()))
def test_a_pickled_scenario_warns_of_the_same(name: str) -> None:
    scenario = lh.Scenario.load(name)
    again = pickle.loads(pickle.dumps(scenario))
    assert (again.hash, again.warnings) == (scenario.hash, scenario.warnings)


def test_a_pickled_scenario_changes_as_the_first_does() -> None:
    """What a profile has set is not written in the scenario: another profile sets it anew."""
    profiles = {"scenario.profile": "ns3-3.44", "flow.download.tcp.profile": "linux-6"}
    scenario = lh.Scenario.load("dumbbell").with_(profiles).with_(seed=3)
    again = pickle.loads(pickle.dumps(scenario))
    changes: list[dict[str, Value]] = [
        {"scenario.profile": "lasthop"},
        {"flow.download.tcp.profile": "rfc"},
        {"flow.download.tcp.cc": "cubic"},
        {"link.bottleneck.queue": "codel"},
        {"link.bottleneck.dely": 1},
    ]
    for change in changes:
        assert outcome(again, change) == outcome(scenario, change), change
    assert outcome(scenario, changes[0]) != outcome(scenario, {})


def outcome(scenario: lh.Scenario, change: dict[str, Value]) -> tuple[str, object]:
    try:
        changed = scenario.with_(change)
    except lh.LasthopError as error:
        return "error", str(error)
    return changed.hash, changed.warnings


def test_scenarios_and_results_go_to_other_processes_and_back(wired: lh.Scenario) -> None:
    seeds = [wired.with_(seed=s) for s in (1, 2)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(goodput, seeds))
    for scenario, results in zip(seeds, found, strict=True):
        assert results.manifest == scenario.run().manifest
        assert results.flows.equals(scenario.run().flows)
        assert results.flows.schema.metadata == scenario.run().flows.schema.metadata


def test_results_in_a_folder_are_pickled_by_its_path(wired: lh.Scenario, tmp_path: Path) -> None:
    results = wired.run(out=tmp_path / "r")
    again = pickle.loads(pickle.dumps(results))
    assert again.path == tmp_path / "r"
    assert again.flows.equals(results.flows)


def test_a_simulation_is_not_pickled(wired: lh.Scenario) -> None:
    with pytest.raises(TypeError, match="pickle its scenario"):
        pickle.dumps(wired.simulate())
