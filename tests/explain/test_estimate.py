"""Explanations of runs that recorded nothing for them, and of results that cannot be explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasthop import LasthopError, Results, Scenario
from lasthop._bundled import bundled
from lasthop.explain import explain
from tests.explain.test_planted import LTE, UMTS, WIRED
from tests.synthetic import MadeUp


def run(text: str, *keys: str) -> Results:
    return Scenario.parse(text).with_(list(keys)).run()


@pytest.mark.parametrize(
    ("text", "keys", "cause"),
    [
        (WIRED, ("flow.f.tcp.receive_buffer=16 kB",), "receive-window"),
        (WIRED, ("link.path.queue.packets=2000", "flow.f.tcp.receive_buffer=8 MB"), "queue"),
        (UMTS, (), "rlc-queue"),
        (LTE, ("cell.enb.resource_blocks=6", "flow.f.tcp.receive_buffer=8 MB"), "rlc-queue"),
    ],
)
def test_the_estimate_names_the_same_cause_first(text: str, keys: tuple[str, ...], cause: str) -> None:
    exact = explain(run(text, *keys, "output.explain=true"), "f").budget
    estimated = explain(run(text, *keys), "f").budget
    assert exact.exact
    assert not estimated.exact
    assert estimated.parts[0].cause.name == exact.parts[0].cause.name == cause
    assert sum(p.ns for p in estimated.parts) == estimated.whole_ns == estimated.end_ns - estimated.start_ns
    assert estimated.notes
    assert "Estimated from samples" in estimated.notes[0]
    # Samples do not show serialization and delayed ACKs: what they show has their share as well.
    assert estimated.share(estimated.parts[0]) > exact.share(exact.parts[0]) - 0.1


def test_delays_of_datagrams_are_estimated_from_the_smallest() -> None:
    udp = 'flow.f.app={ kind = "cbr", rate = "1 Mbit/s", size = "1000 B" }'
    budget = explain(run(WIRED, "flow.f.transport=udp", udp), "f").budget
    assert budget.parts[0].cause.name == "path"
    assert not budget.exact
    assert sum(p.ns for p in budget.parts) == budget.whole_ns


@pytest.mark.parametrize("name", ["umts-download", "lte-qos", "wifi-slow-station", "split-and-snoop"])
def test_bundled_scenarios_are_explained_as_they_are(name: str) -> None:
    results = Scenario.load(bundled()[name]).with_({"scenario.duration": "3 s"}).run()
    for row in results.flows.to_pylist()[:4]:
        if row["rx_packets"]:
            budget = explain(results, row["flow"]).budget
            assert sum(p.ns for p in budget.parts) == budget.whole_ns


def test_samples_of_an_older_form_are_refused_by_the_column_that_they_lack() -> None:
    with pytest.raises(LasthopError, match="the table `tcp` has no column `ca_state`"):
        explain(Results(MadeUp()), "ftp")


def test_what_cannot_be_explained_says_why_and_what_to_do(tmp_path: Path) -> None:
    results = run(WIRED, "scenario.duration=1 s")
    with pytest.raises(LasthopError, match=r"there is no flow 'g' in this run(.|\n)*its flows are: f"):
        explain(results, "g")
    with pytest.raises(LasthopError, match=r"nothing of flow 'f' is in this interval: it lasts from 0 s to 1 s"):
        explain(results, "f", 2.0, 3.0)
    with pytest.raises(LasthopError, match=r"the interval for flow 'f' is empty: it begins at 0.5 s, ends at 0.5 s"):
        explain(results, "f", 0.5, 0.5)
    with pytest.raises(LasthopError, match=r"the interval for flow 'f' is empty: it begins at 5 s, ends at 2 s"):
        explain(results, "f", 5.0, 2.0)
    late = run(WIRED, "scenario.duration=1 s", "flow.f.start=5 s")
    with pytest.raises(LasthopError, match="flow 'f' never started"):
        explain(late, "f")
    late = run(WIRED, "scenario.duration=1 s", "flow.f.start=5 s", "output.explain=true")
    with pytest.raises(LasthopError, match="it never started"):
        explain(late, "f")
    with pytest.raises(LasthopError, match=r"--set output.explain=true"):
        explain(run(WIRED, "scenario.duration=1 s", "output.tcp=off"), "f")
    two = run(WIRED, "scenario.duration=1 s", "flow.f.count=2")
    with pytest.raises(LasthopError, match=r"the run has 2 flows: name one(.|\n)*f-1, f-2"):
        explain(two)


def test_a_table_of_another_version_is_named(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folder = tmp_path / "r"
    Scenario.parse(WIRED).with_(["scenario.duration=1 s", "output.explain=true"]).run(out=folder)
    table = pq.read_table(folder / "limits.parquet")
    pq.write_table(table.drop_columns(["cause"]), folder / "limits.parquet")
    with pytest.raises(LasthopError, match="has no column `cause`: the results are of another version"):
        explain(Results.load(folder), "f")
