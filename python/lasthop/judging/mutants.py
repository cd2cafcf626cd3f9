"""Mutants: controls with a deliberate mistake, which a case must find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lasthop._core import LasthopError
from lasthop.judging._places import Places
from lasthop.judging.case import Case, Mutant
from lasthop.judging.control import control_of
from lasthop.judging.judgement import Judgement, Row
from lasthop.judging.suite import Suite

Failed = tuple[str, str, int]
"""A check that does not hold, the path and the seed."""


@dataclass(frozen=True)
class Tried:
    """The result of a case for one of its mutants."""

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

    A mutant whose class does not exist is an error, and counts as not found. A mutant of a built-in
    control is found only if each check that it names fails on a path on which the check does not
    fail without the mutant.

    Args:
        suites: the suites.
        more: arguments of `Judgement`, such as quick, jobs, store.
    """
    for suite in suites:
        for case in suite.cases:
            right: dict[str, set[Failed]] = {}
            for mutant in case.mutants:
                yield _tried(suite, case, mutant, more, right)


def missing_mutants(case: Case) -> list[LasthopError]:
    """The errors of a case for mutants whose classes or programs do not exist."""
    errors = [(number, _missing(case, mutant)) for number, mutant in enumerate(case.mutants)]
    file = Places(case.text, case.file)
    return [file.error((*case.key, "mutant", n, "cc"), *_words(error)) for n, error in errors if error is not None]


def _missing(case: Case, mutant: Mutant) -> LasthopError | None:
    """Why a mutant's control cannot be had; None: it can."""
    try:
        control_of(mutant.cc, folder=case.folder, judged=case.judges)
    except LasthopError as error:
        return error
    return None


def _words(error: LasthopError) -> tuple[str, str | None]:
    """The message of an error, and its remedy."""
    of: dict[str, str] = next(iter(getattr(error, "diagnostics", [])), {})
    return str(of.get("message", str(error).partition("\n")[0])), of.get("help")


def untried(suites: Sequence[Suite]) -> list[tuple[str, str, str]]:
    """The checks of `pass` that no mutant names: case, check, and the case's reason, if any."""
    found = []
    for case in (case for suite in suites for case in suite.cases):
        named = {check for mutant in case.mutants for check in mutant.fails}
        rest = [check.name for check in case.passes if check.name not in named]
        found += [(case.id, name, case.without_mutant.get(name, "")) for name in rest]
    return found


def _tried(suite: Suite, case: Case, mutant: Mutant, more: dict[str, Any], right: dict[str, set[Failed]]) -> Tried:
    if (error := _missing(case, mutant)) is not None:
        return Tried(case.id, mutant.name, "error", (), False, _words(error)[0])
    if case.own and mutant.cc != case.own:  # another control in the place of the one that the case names
        case = case.with_own(mutant.cc)
    row = _judged(suite, case, mutant.cc, mutant.switch, more)
    failed = _failed(row)
    why = row.why
    found = row.verdict == "fail" and set(mutant.fails) <= set(failed)
    if found and mutant.switch:
        if mutant.cc not in right:
            right[mutant.cc] = _places(_judged(suite, case, mutant.cc, "", more))
        by_mistake = {name for name, *_ in _places(row) - right[mutant.cc]}
        too = [name for name in mutant.fails if name not in by_mistake]
        if too:
            found, why = False, f"{', '.join(too)} does not hold on these paths without the mistake either"
    return Tried(case.id, mutant.name, row.verdict, failed, found, why)


def _judged(suite: Suite, case: Case, cc: str, switch: str, more: dict[str, Any]) -> Row:
    alone = Suite(suite.name, suite.title, suite.source, (case,))
    (row,) = Judgement(cc, [alone], folder=case.folder, switch=switch, **more).run().rows
    return row


def _failed(row: Row) -> tuple[str, ...]:
    """The checks that do not hold on some path, in their order there."""
    checks = [c for point in row.points for c in point.get("checks", [])]
    return tuple(dict.fromkeys(c["name"] for c in checks if c["holds"] is False))


def _places(row: Row) -> set[Failed]:
    """The checks that do not hold, with path and seed."""
    return {
        (check["name"], point["path"], point["seed"])
        for point in row.points
        for check in point.get("checks", [])
        if check["holds"] is False
    }
