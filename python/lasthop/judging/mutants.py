"""Mutants: controls with a mistake on purpose. A case that does not find its own is no test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lasthop.judging.case import Case, Mutant
from lasthop.judging.judgement import Judgement
from lasthop.judging.suite import Suite


@dataclass(frozen=True)
class Tried:
    """What a case says of one of its mutants."""

    case: str
    mutant: str
    verdict: str
    #: The checks that do not hold on some path.
    failed: tuple[str, ...]
    #: Whether the verdict is `fail`, and each check that the mutant names does not hold on some
    #: path.
    found: bool
    why: str


def try_mutants(suites: Sequence[Suite], **more: Any) -> Iterator[Tried]:
    """Judges each mutant of each case by its own case.

    Args:
        suites: the suites.
        more: as `Judgement` takes it: quick, jobs, store.

    Raises:
        LasthopError: a mutant's class is not there.
    """
    for suite in suites:
        for case in suite.cases:
            for mutant in case.mutants:
                yield _tried(suite, case, mutant, more)


def untried(suites: Sequence[Suite]) -> list[tuple[str, str, str]]:
    """The checks of `pass` that no mutant names: case, check, and the case's reason, if any."""
    found = []
    for case in (case for suite in suites for case in suite.cases):
        named = {check for mutant in case.mutants for check in mutant.fails}
        rest = [check.name for check in case.passes if check.name not in named]
        found += [(case.id, name, case.without_mutant.get(name, "")) for name in rest]
    return found


def _tried(suite: Suite, case: Case, mutant: Mutant, more: dict[str, Any]) -> Tried:
    if case.own and mutant.cc != case.own:  # another control in the place of the one that the case names
        case = case.with_own(mutant.cc)
    alone = Suite(suite.name, suite.title, suite.source, (case,))
    (row,) = Judgement(mutant.cc, [alone], folder=case.folder, switch=mutant.switch, **more).run().rows
    checks = [c for point in row.points for c in point.get("checks", [])]
    failed = tuple(dict.fromkeys(c["name"] for c in checks if c["holds"] is False))
    found = row.verdict == "fail" and set(mutant.fails) <= set(failed)
    return Tried(case.id, mutant.name, row.verdict, failed, found, row.why)
