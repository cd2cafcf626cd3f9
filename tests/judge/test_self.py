"""Reno and CUBIC judged against themselves.

With the same seeds there is no difference, with others only chance.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lasthop.judging import judgement
from lasthop.judging.case import Case
from lasthop.judging.contest import LEAST_FURTHER, confirmed, flags
from lasthop.judging.judgement import Judgement
from lasthop.judging.suite import Suite, load_suite

SEED = Case.seed
#: Sets of seeds from here on confirm the flags of others.
FURTHER = 500


def samples(suite: Suite, number: int, store: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Of each case the values of Reno and CUBIC by path, with the seeds of a set."""
    caught: dict[str, Any] = {}

    def spy(points: Any, candidate: str, case: Case, limits: Any = None) -> list[dict[str, Any]]:
        caught[case.id] = list(points)
        return flags(points, candidate, case, limits)

    monkeypatch.setattr(judgement, "flags", spy)
    monkeypatch.setattr(Case, "seed", lambda case, replication: SEED(case, replication + 1000 * number))
    found = Judgement("reno", [suite], quick=True, store=store).run()
    assert set(found.counts) == {"shown"}, [row.why for row in found.rows]
    return caught


def judged(suite: Suite, sets: int, store: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[tuple[Any, ...]]]:
    """How many rows were judged with other seeds than the references'.

    And those that were flagged.
    """
    first, *others = [samples(suite, number, store, monkeypatch) for number in range(sets + 1)]
    rows, flagged = 0, []
    for number, again in enumerate(others, 1):
        for control in ("reno", "cubic"):
            for case in suite.cases:
                same = [(path, {**of, "again": of[control]}) for path, of in again[case.id]]
                assert flags(same, "again", case) == []
                now = dict(again[case.id])
                other = [(path, {**of, "again": now[path][control]}) for path, of in first[case.id]]
                rows += 1
                found = flags(other, "again", case)
                if found:
                    more = replace(case, seeds=max(case.seeds, LEAST_FURTHER), quick_seeds=LEAST_FURTHER)
                    alone = replace(suite, cases=(more,))
                    base, now = (samples(alone, FURTHER + k, store, monkeypatch)[case.id] for k in (0, number))
                    further = [(path, {**of, "again": dict(now)[path][control]}) for path, of in base]
                    found, _ = confirmed(found, further, "again", case)
                flagged += [(number, control, case.id, f["why"]) for f in found[:1]]
    return rows, flagged


def suite_of(*ids: str) -> Suite:
    suite = load_suite("rfc9743")
    cases = [case for case in suite.cases if case.metrics and (not ids or case.id in ids)]
    return replace(suite, cases=tuple(replace(case, references=("reno", "cubic")) for case in cases), figures=())


def test_reno_and_cubic_against_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, flagged = judged(suite_of("CCE-03", "CCE-21"), 2, tmp_path, monkeypatch)
    assert rows == 8
    assert flagged == []


@pytest.mark.slow
def test_reno_and_cubic_against_themselves_in_twenty_sets_of_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chance flags a row in 5 % at most, by more than the least difference more rarely still.

    Further seeds confirm none of these flags.
    """
    rows, flagged = judged(suite_of(), 20, tmp_path, monkeypatch)
    assert rows == 20 * 2 * 22
    assert flagged == []


def with_jitter(suite: Suite, factor: float) -> Suite:
    """The suite with the jitter that breaks phase effects times a factor."""
    cases = [
        replace(
            case,
            paths=tuple(
                replace(path, parameters={**path.parameters, "jitter": path.parameters["jitter"] * factor})
                for path in case.paths
            ),
        )
        for case in suite.cases
    ]
    return replace(suite, cases=tuple(cases))


def verdicts_by_jitter(control: str, suite: Suite, store: Path) -> list[dict[str, str]]:
    """The verdict of each row with the jitter of the suite, with half and with twice of it."""
    return [
        {row.id: row.verdict for row in Judgement(control, [with_jitter(suite, f)], quick=True, store=store).run().rows}
        for f in (1.0, 0.5, 2.0)
    ]


def test_half_and_twice_the_jitter_leave_the_verdicts(shared_store: Path) -> None:
    suite = load_suite("rfc9743")
    suite = replace(suite, cases=tuple(case for case in suite.cases if case.id == "CCE-03"), figures=())
    usual, half, twice = verdicts_by_jitter("bbr", suite, shared_store)
    assert usual == {"CCE-03": "flag"}
    assert half == usual
    assert twice == usual
