"""Comparative rows: when a candidate is flagged, by samples written by hand and by real runs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import lasthop as lh
from lasthop.judging._scenario import scenario_text
from lasthop.judging.case import Case
from lasthop.judging.contest import Samples, comparisons, confirmed, flags, summary, unknown
from lasthop.judging.reading import parse_cases
from lasthop.judging.suite import load_suite

CASE = """[case]
id = "C"
title = "t"
source = "s"
base = "shared"
seeds = 5
[case.metric.loss]
value = "metric('flow(\\"judged\\").lost_dropped') * 1"
better = "{better}"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }
"""


def case(better: str) -> Case:
    return parse_cases(CASE.replace("{better}", better), "x")[0]


def samples(mine: list[float], reno: list[float], cubic: list[float]) -> Samples:
    named = {"mine": mine, "reno": reno, "cubic": cubic}
    return {name: {k: {"loss": v} for k, v in enumerate(values)} for name, values in named.items()}


LOW, HIGH = [1.0, 1.1, 0.9, 1.0, 1.05], [2.0, 2.2, 1.9, 2.05, 2.1]


@pytest.mark.parametrize(
    ("better", "mine", "reno", "cubic", "flagged"),
    [
        ("smaller", HIGH, LOW, LOW, True),
        ("smaller", HIGH, LOW, HIGH, False),  # as bad as one baseline is no harm
        ("smaller", LOW, HIGH, HIGH, False),
        ("larger", LOW, HIGH, HIGH, True),
        ("larger", HIGH, LOW, LOW, False),
        ("smaller", LOW, LOW, LOW, False),
        # Sure, and 5 % of the worse value: 1 / (1 - 0.05) = 1.0526.
        ("smaller", [v * 1.051 for v in LOW], LOW, LOW, False),
        ("smaller", [v * 1.054 for v in LOW], LOW, LOW, True),
        ("larger", [v * 0.951 for v in LOW], LOW, LOW, False),
        ("larger", [v * 0.949 for v in LOW], LOW, LOW, True),
        ("smaller", [v * 1.054 for v in LOW], LOW, [v * 1.01 for v in LOW], False),  # 4 % beside CUBIC
        ("smaller", [0.2, 3.0, 0.4, 2.9, 1.0], LOW, LOW, False),  # larger in the mean, and chance
        ("", HIGH, LOW, LOW, False),
        ("smaller", [2.0], [1.0], [1.0], False),  # one replication says nothing
    ],
)
def test_a_flag_needs_to_be_worse_than_both_beyond_chance(
    better: str, mine: list[float], reno: list[float], cubic: list[float], flagged: bool
) -> None:
    found = flags([("p", samples(mine, reno, cubic))], "mine", case(better))
    assert bool(found) is flagged


def test_the_least_difference_of_harm_is_absolute() -> None:
    """Harm is a share itself: 0.02 in the place of 0.01 is no relevant harm."""
    text = CASE.replace("{better}", "smaller") + '[case.metric.hurt]\nharm = "loss"\n'
    (of_harm,) = parse_cases(text, "x")
    values = {"mine": 0.02, "reno": 0.01, "cubic": 0.01}
    small = {c: {k: {"hurt": v + k * 1e-6} for k in range(5)} for c, v in values.items()}
    assert flags([("p", small)], "mine", of_harm) == []
    large = {c: {k: {"hurt": 4 * v + k * 1e-6} for k in range(5)} for c, v in {**values, "mine": 0.03}.items()}
    (found,) = flags([("p", large)], "mine", of_harm)
    assert found["metric"] == "hurt"


def test_many_comparisons_need_more() -> None:
    # t = 3 with 4 degrees of freedom: p = 0.02 one-sided; among ten paths Holm requires 0.005.
    differences = [3.0, 1.0, 0.6, 2.2, 1.4]
    weak = samples([10 + d for d in differences], [10.0] * 5, [10.0] * 5)
    equal = samples([10.0] * 5, [10.0] * 5, [10.0] * 5)
    assert flags([("p", weak)], "mine", case("smaller"))
    assert not flags([("p", weak), *((f"q{k}", equal) for k in range(9))], "mine", case("smaller"))
    assert comparisons([f"q{k}" for k in range(10)], case("smaller")) == 10


def test_a_flag_stays_if_further_seeds_raise_it_too() -> None:
    of, worse, alike = case("smaller"), samples(HIGH, LOW, LOW), samples(LOW, LOW, LOW)
    bound = {"path": "p", "metric": "loss", "bound": 1.5, "why": "loss on p: 2.05 is above 1.5 (RFC)"}
    found = flags([("p", worse), ("q", worse)], "mine", of)
    stay, fall = confirmed([bound, *found], [("p", worse), ("q", alike)], "mine", of)
    assert [(f["path"], "again" in f) for f in stay] == [("p", False), ("p", True)]
    assert stay[0] == bound
    nothing = {"again": 1.0, "further": {"mine": LOW, "reno": LOW, "cubic": LOW}}
    assert fall == [{**f, **nothing} for f in found if f["path"] == "q"]
    # What was compared can be worked out again.
    assert stay[1]["values"] == stay[1]["further"] == {"mine": HIGH, "reno": LOW, "cubic": LOW}
    # Only what was flagged is tested again: one value needs no correction.
    assert confirmed(found[:1], [("p", worse)], "mine", of)[0][0]["again"] < found[0]["p"]
    # Runs without the value confirm nothing.
    stay, (fallen,) = confirmed(found[:1], [("p", samples([], LOW, LOW))], "mine", of)
    assert stay == []
    assert fallen["again"] == 1.0


def test_replications_without_noise_are_exact_and_not_confirmed() -> None:
    of = case("smaller")
    (exact,) = flags([("p", samples([2.0] * 3, [1.0] * 3, [1.0] * 3))], "mine", of)
    assert (exact["p"], exact["exact"]) == (0.0, True)
    assert confirmed([exact], [], "mine", of) == ([exact], [])
    # Equal values of one metric may be its end; another one has noise.
    noisy = samples([2.0] * 3, [1.0] * 3, [1.0] * 3)
    noisy = {c: {k: {**run, "other": k + 0.1} for k, run in runs.items()} for c, runs in noisy.items()}
    (doubted,) = flags([("p", noisy)], "mine", of)
    assert doubted["exact"] is False


def test_a_value_that_only_the_baselines_have_is_no_comparison() -> None:
    """Files of the candidate that never arrive have no completion time."""
    known = samples([1.0], LOW, LOW)
    nothing = {**known, "mine": {k: {"loss": None} for k in range(5)}}
    assert [found["why"] for found in unknown([("p", nothing)], "mine", case("smaller"))] == [
        "loss on p is known in 0 runs, of each baseline in 5"
    ]
    assert unknown([("p", known)], "mine", case("smaller"))
    assert not unknown([("p", samples(LOW, LOW, LOW))], "mine", case("smaller"))
    assert not unknown([("p", nothing)], "mine", case(""))  # nothing is compared
    assert not unknown([("p", samples([], [], []))], "mine", case("smaller"))


def test_means_have_their_intervals() -> None:
    found = summary(samples([1.0, 2.0, 3.0], [1.0], []), case("smaller"), "p")
    # t(0.975, 2) = 4.3027, s = 1, so 4.3027 / sqrt(3) = 2.4841.
    assert found["mine"]["loss"]["ci95"] == pytest.approx([2 - 2.4841, 2 + 2.4841], abs=1e-4)
    assert found["reno"]["loss"] == {"mean": 1.0, "ci95": None, "n": 1}
    assert found["cubic"]["loss"] == {"mean": None, "ci95": None, "n": 0}


def test_a_comparative_case_has_no_checks_and_known_references() -> None:
    for old, new, message in (
        ('better = "smaller"', 'better = "most"', "larger or smaller"),
        ("seeds = 5", 'seeds = 5\npass = ["max(cwnd, start, end) >= 1"]', "has no checks"),
        ("seeds = 5", 'seeds = 5\nreferences = ["rino"]', "did you mean 'reno'?"),
        ("* 1", "> 1", "a metric is a number"),
    ):
        with pytest.raises(lh.LasthopError) as error:
            parse_cases(CASE.replace("{better}", "smaller").replace(old, new), "x")
        assert message in str(error.value)


def test_further_runs_have_other_seeds(tmp_path: Path) -> None:
    """BBRv1 loses more than both in CCE-03, in the runs of the quick form and in as many again."""
    found = lh.judge("bbr", ["rfc9743"], cases=["CCE-03"], quick=True, store=tmp_path)  # costs: of runs made
    (row,) = found.rows
    flagged = [f for point in row.points for f in point["flags"]]
    assert flagged
    assert all(f["again"] <= 0.01 for f in flagged if "bound" not in f)
    again = {point["path"] for point in row.points if any("again" in f for f in point["flags"])}
    runs = {(name.split()[1], int(name.split()[2])) for name in found.costs}
    n = row.case.quick_seeds
    assert {(path, k) for path in again for k in range(1, n + 5 + 1)} <= runs
    # No path has further runs unless a flag there was doubted.
    doubted = {p["path"] for p in row.points if any("again" in f for f in (*p["flags"], *p.get("fallen", [])))}
    assert {path for path, k in runs if k > n} == doubted == {p["path"] for p in row.points if "further" in p}


def test_who_is_flagged(shared_store: Path) -> None:
    """BBRv1 for loss and harm, a sender without control for collapse (quick forms).

    Reno and CUBIC not for collapse: CCE-01 has a document's bound. By comparison with themselves
    they cannot be flagged; a Reno of a class is judged in test_mutants.py.
    """

    def flagged(cc: str, *cases: str) -> set[str]:
        found = lh.judge(cc, ["rfc9743"], cases=cases, quick=True, store=shared_store)
        assert not {"error", "fail"} & set(found.counts)
        return {row.id for row in found.rows if row.verdict == "flag"}

    assert flagged("bbr", "CCE-03", "CCE-06") == {"CCE-03", "CCE-06"}
    assert flagged("none", "CCE-01") == {"CCE-01"}
    for baseline in ("reno", "cubic"):
        assert flagged(baseline, "CCE-01") == set()


CONTROLS = f"{Path(__file__).parent / 'sheet_controls.py'}:"


@pytest.mark.parametrize(
    ("cc", "case", "paths", "flagged"),
    [
        # Beside CUBIC in 3 seeds only differences below the least relevant one are significant.
        ("scalable", "CCE-06", "c-1-reno", True),
        ("highspeed", "CCE-06", "*", False),
        ("ledbat", "CCE-06", "*", False),
        (CONTROLS + "Reno", "CCE-13", "*-ecn", False),
        (CONTROLS + "BlindToMarks", "CCE-13", "*-ecn", True),
    ],
)
def test_the_controls_of_the_sheet(cc: str, case: str, paths: str, flagged: bool, shared_store: Path) -> None:
    """What must be flagged and what must not, so that a row can fail (quick forms)."""
    (row,) = lh.judge(cc, ["rfc9743"], cases=[case], quick=True, store=shared_store).rows
    found = [point["verdict"] == "flag" for point in row.points if fnmatchcase(point["path"], paths)]
    assert found, paths
    assert found == [flagged] * len(found), row.why


def test_vegas_waits_less_than_cubic(shared_store: Path) -> None:
    (row,) = lh.judge("vegas", ["rfc9743"], cases=["CCE-02"], quick=True, store=shared_store).rows
    assert row.verdict == "shown", row.why
    for point in row.points:
        waits = {control: point["compare"][control]["wait_p95"]["mean"] for control in ("vegas", "cubic")}
        assert waits["vegas"] < waits["cubic"] / 2


def test_three_duplicates_without_adaptation_do_worse_under_reordering() -> None:
    """RFC 6675 against RACK in the middle path of CCE-19.

    RACK measures reordering (RFC 8985 section 6.2).
    """
    case = next(case for case in load_suite("rfc9743").cases if case.id == "CCE-19")
    path = next(path for path in case.paths if path.name == "b-10-half")
    goodput = {}
    for recovery in ("rack", "sack"):
        sets = {"flow": {"judged": {"tcp": {"recovery": recovery}}}}
        run = lh.Scenario.parse(scenario_text(case, path, "reno", 1, sets), "x").run()
        goodput[recovery] = run.flows.column("goodput_bps")[0].as_py()
    assert goodput["sack"] < goodput["rack"] / 2


def test_a_row_of_harm_does_not_depend_on_jobs_or_subset(tmp_path: Path) -> None:
    pair = lh.judge("vegas", ["rfc9743"], cases=["CCE-09", "CCE-21"], quick=True, store=tmp_path / "a", jobs=2)
    alone = lh.judge("vegas", ["rfc9743"], cases=["CCE-09"], quick=True, store=tmp_path / "b", jobs=1)
    assert pair.rows[0].to_json_dict() == alone.rows[0].to_json_dict()
    shown = alone.rows[0].points[0]["compare"]
    assert shown["alone"]["fct_p95"]["n"] == shown["vegas"]["fct_p95_harm"]["n"] == 3
    # Both paths of CCE-21 are flagged: five further seeds of the candidate, Reno and CUBIC.
    assert pair.made == alone.made + 2 * (3 * 4 + 5 * 3)
