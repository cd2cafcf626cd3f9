"""Explanations of runs that recorded nothing for them, and of results that cannot be explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasthop import LasthopError, Results, Scenario
from lasthop._bundled import bundled
from lasthop.explain import Budget, explain
from lasthop.explain._estimate import estimated_budget
from lasthop.explain._exact import exact_budget
from lasthop.explain._tables import flow_row
from tests.explain.plants import PLANTS, WIRED, disagreement
from tests.synthetic import MadeUp


def run(text: str, *keys: str) -> Results:
    return Scenario.parse(text).with_(list(keys)).run()


def both(results: Results, flow: str) -> tuple[Budget, Budget]:
    """The exact budget, and the estimate from the other tables of the same run."""
    row = flow_row(results, flow)
    return exact_budget(results, row, None, None), estimated_budget(results, row, None, None)


def check(exact: Budget, estimated: Budget, bound: float) -> None:
    assert exact.exact
    assert not estimated.exact
    assert sum(p.ns for p in estimated.parts) == estimated.whole_ns
    assert (exact.start_ns, exact.end_ns) == (estimated.start_ns, estimated.end_ns) or exact.packets is not None
    worst, what = disagreement(exact, estimated)[0]
    assert worst <= bound, f"{100 * worst:.0f} points: {what}"
    # What may be one of several is said, with the way to find out.
    for p in estimated.parts:
        if len(p.cause.names) > 1 and estimated.share(p) >= 0.02:
            names = [f"`{name}`" for name in p.cause.names]
            note = next(n for n in estimated.notes if all(name in n for name in names))
            assert "cannot distinguish" in note
            assert "--set output.explain=true" in note


#: How far an estimate may be from the exact budget, to either side [share of the whole]. Samples
#: have three errors: 1. 40 to 200 of them, 100 ms apart, of which a few round trips are alike: one
#: half is right to 7 to 14 points. 2. In LTE everything happens on the grid of TTIs, and so do
#: samples: of what comes in a TTI and leaves some ms later
#:    they always see all. `lte-bufferbloat` has 25 points of ACKs by that.
#: 3. Of a queue that several flows share they do not show whose packets wait: 22 points in
#: `change-during-run`. Measured over the 90 flows below on 2026-11-23: 3.4 points in the median,
#: 24.7 at most.
BOUND = 0.25
#: Flows of a scenario that are compared, and the shortest that has samples enough [s].
FLOWS, SHORTEST = 8, 4.0
#: Seconds of a scenario that are run. `dumbbell` begins its third flow at 6 s.
SECONDS = {"dumbbell": 20.0}


@pytest.mark.parametrize("name", PLANTS)
def test_an_estimate_is_near_the_exact_budget_of_a_planted_cause(name: str) -> None:
    """The planted cause is the first of the estimate too, or alike with the first.

    The estimate names causes that are alike.

    Of the scheduling requests it is the second: their first part, up to the smallest, every packet
    waits for.
    """
    plant = PLANTS[name]
    exact, estimated = both(plant.run(), plant.flow)
    check(exact, estimated, BOUND)
    parts = [p for p in estimated.parts if p.cause.name != "path"]
    assert plant.cause in parts[0].cause.names
    if parts[0].cause.name != "ack-lost|delayed-ack":
        assert parts[0].cause.place == plant.place


@pytest.mark.parametrize("name", sorted(bundled()))
def test_an_estimate_is_near_the_exact_budget_of_every_bundled_scenario(name: str) -> None:
    scenario = Scenario.load(name)
    seconds = min(scenario.duration, SECONDS.get(name, 8.0))
    results = scenario.with_({"output.explain": True, "scenario.duration": f"{seconds} s"}).run()
    rows = [
        r for r in results.flows.to_pylist() if r["tx_packets"] and seconds - r["start_s"] >= min(SHORTEST, seconds / 2)
    ]
    assert rows
    for row in rows[:FLOWS]:
        check(*both(results, row["flow"]), BOUND)


def test_intervals_of_datagrams_need_the_packets() -> None:
    """From 5 s on packets wait for those of a second source: the two halves of the run differ."""
    udp = ('flow.f.app={ kind = "cbr", rate = "1 Mbit/s", size = "1000 B" }', "flow.f.transport=udp")
    text = (
        WIRED
        + """
[flow.g]
from = "server"
to = "client"
transport = "udp"
start = "5 s"
app = { kind = "cbr", rate = "8 Mbit/s", size = "1400 B" }
"""
    )
    with pytest.raises(LasthopError, match=r"the delays of flow 'f' in an interval are not known(.|\n)*output.explain"):
        explain(run(text, *udp), "f", 1.0, 4.0)
    results = run(text, *udp, "output.packets=true")
    before, after = (explain(results, "f", a, a + 3.0).budget for a in (1.0, 6.0))
    exact = explain(run(text, *udp, "output.explain=true"), "f", 6.0, 9.0).budget
    assert before.packets == after.packets == exact.packets == 375
    assert after.whole_ns == exact.whole_ns > before.whole_ns
    assert {p.cause.name for p in before.parts} == {"path"}
    assert {p.cause.name for p in after.parts} == {"path", "queue", "serialization"}
    # All of the run needs no packets.
    assert explain(run(text, *udp), "f", 0.0, 10.0).budget.packets == results.flows.to_pylist()[0]["rx_packets"]


@pytest.mark.parametrize("explained", [True, False])
def test_a_flow_of_which_nothing_arrives_has_its_losses(explained: bool) -> None:
    udp = ('flow.f.app={ kind = "cbr", rate = "80 kbit/s", size = "1000 B" }', "flow.f.transport=udp")
    keys = (*udp, "link.path.forward.loss=100 %", f"output.explain={str(explained).lower()}")
    found = explain(run(WIRED, *keys), "f")
    assert (found.budget.packets, found.budget.whole_ns, found.budget.parts) == (0, 0, [])
    assert len(found.budget.losses) == 100
    assert found.sentences == [
        "None of its packets arrived: there is no delay to divide.",
        "100 of its packets were lost at path.forward (loss).",
    ]


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


#: The tables of this run that an exact explanation reads.
READ = ("drops", "events", "flows", "limits", "packets", "queues", "stages")


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    """Each table that is read, with its numbers as text: a message, no exception of a library."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "r"
    keys = ["scenario.duration=2 s", "output.explain=true", "link.path.loss=0.01"]
    Scenario.parse(WIRED).with_(keys).run(out=folder)
    for path in sorted(folder.glob("*.parquet")):
        whole = path.read_bytes()
        table = pq.read_table(path)
        numbers = {f.name for f in table.schema if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)}
        columns = {
            name: table[name].cast(pa.string()) if name in numbers else table[name] for name in table.column_names
        }
        pq.write_table(pa.table(columns), path)
        if path.stem in READ:
            with pytest.raises(LasthopError, match=f"of the table `{path.stem}` holds no numbers"):
                explain(Results.load(folder), "f")
        else:
            explain(Results.load(folder), "f")
        path.write_bytes(whole)
    explain(Results.load(folder), "f")


@pytest.mark.parametrize(("duration", "enough"), [("0.7 s", False), ("3 s", True)])
def test_few_samples_with_something_of_the_flow_are_mentioned_and_no_place_gets_advice(
    duration: str, enough: bool
) -> None:
    """A queue that is never empty, sampled every 100 ms: seven samples, and thirty."""
    udp = ('flow.f.app={ kind = "cbr", rate = "11 Mbit/s", size = "1000 B" }', "flow.f.transport=udp")
    found = explain(run(WIRED, *udp, f"scenario.duration={duration}", "link.path.queue.packets=500"), "f")
    said = "Only 7 samples have something of the flow that waits" in " ".join(found.budget.notes)
    assert (said, found.budget.uncertain) == (not enough, not enough)
    assert {p.cause.place for p in found.budget.parts} == {"", "path.forward"}
    assert any("path" in one.text for one in found.advice) == enough
