"""Comparative rows: when a candidate is flagged, by samples written by hand and by real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop as lh
from lasthop.judging.case import Case
from lasthop.judging.contest import Samples, comparisons, flags, summary
from lasthop.judging.reading import parse_cases

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
        ("smaller", [v * 1.01 for v in LOW], LOW, LOW, False),  # sure, and less than the margin
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


def test_many_comparisons_need_more() -> None:
    # t = 3 with 4 degrees of freedom: p = 0.02 one-sided; among ten paths Holm asks for 0.005.
    differences = [3.0, 1.0, 0.6, 2.2, 1.4]
    weak = samples([10 + d for d in differences], [10.0] * 5, [10.0] * 5)
    equal = samples([10.0] * 5, [10.0] * 5, [10.0] * 5)
    assert flags([("p", weak)], "mine", case("smaller"))
    assert not flags([("p", weak), *((f"q{k}", equal) for k in range(9))], "mine", case("smaller"))
    assert comparisons([f"q{k}" for k in range(10)], case("smaller")) == 10


def test_means_have_their_intervals() -> None:
    found = summary(samples([1.0, 2.0, 3.0], [1.0], []), case("smaller"), "p")
    # t(0.975, 2) = 4.3027, s = 1, so 4.3027 / sqrt(3) = 2.4841.
    assert found["mine"]["loss"]["ci95"] == pytest.approx([2 - 2.4841, 2 + 2.4841], abs=1e-4)
    assert found["reno"]["loss"] == {"mean": 1.0, "ci95": None, "n": 1}
    assert found["cubic"]["loss"] == {"mean": None, "ci95": None, "n": 0}


def test_a_comparative_case_has_no_checks_and_known_references() -> None:
    for old, new, message in (
        ('better = "smaller"', 'better = "most"', "larger or smaller"),
        ("seeds = 5", 'seeds = 5\npass = ["1 = 1"]', "has no checks"),
        ("seeds = 5", 'seeds = 5\nreferences = ["rino"]', "did you mean 'reno'?"),
        ("* 1", "> 1", "a metric is a number"),
    ):
        with pytest.raises(lh.LasthopError) as error:
            parse_cases(CASE.replace("{better}", "smaller").replace(old, new), "x")
        assert message in str(error.value)


def test_who_is_flagged(tmp_path: Path) -> None:
    """BBRv1 for loss and harm, a sender without control for collapse, Reno and CUBIC for nothing (quick forms)."""

    def flagged(cc: str, *cases: str) -> set[str]:
        found = lh.judge(cc, ["rfc9743"], cases=cases, quick=True, store=tmp_path)
        assert not {"error", "fail"} & set(found.counts)
        return {row.id for row in found.rows if row.verdict == "flag"}

    assert flagged("bbr", "CCE-03", "CCE-06") == {"CCE-03", "CCE-06"}
    assert flagged("none", "CCE-01") == {"CCE-01"}
    for baseline in ("reno", "cubic"):
        assert flagged(baseline, "CCE-01", "CCE-03", "CCE-06") == set()
