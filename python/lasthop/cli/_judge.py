"""`lasthop judge`: a congestion control or a rate control against published test cases."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop import _format
from lasthop._errors import mistake
from lasthop._stop import leaving
from lasthop.cli import _completion, _output, _runs
from lasthop.cli._run import utf8

if TYPE_CHECKING:
    from lasthop._core import LasthopError
    from lasthop.judging._paths import CasePath
    from lasthop.judging.case import Case
    from lasthop.judging.control import Control
    from lasthop.judging.judgement import Judgement, Verdicts
    from lasthop.judging.mutants import Tried
    from lasthop.judging.suite import Suite

#: Exit code of `--gate` where a row is `fail` or `flag`.
GATE = 4


@click.command()
@click.argument("control", required=False, metavar="[CONTROL]", shell_complete=_completion.controls)
@click.option(
    "--suite", "suites", multiple=True, metavar="SUITE", help="Name, file or folder. [those that fit CONTROL]"
)
@click.option("--file", "files", multiple=True, metavar="FILE", help="A TOML file of cases; without CONTROL: check it.")
@click.option("--case", "cases", multiple=True, metavar="PATTERN", help="Only cases whose id fits, such as 'BBR-0*'.")
@click.option("--cc", "own", multiple=True, metavar="NAME=FILE.py:CLASS", help="A control of your own.")
@click.option("--quick", is_flag=True, help="Fewer paths and replications, as each case says.")
@click.option(
    "--vary",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Multiply rates, delays and buffers with factors of 0.8 to 1.25 that are drawn from N.",
)
@click.option("--seeds", type=click.IntRange(2, 1_000), metavar="N", help="Run noisy paths N times. [as the case says]")
@click.option(
    "--profile",
    default="",
    metavar="NAME",
    shell_complete=_completion.profiles,
    help="TCP stack of the ends. [linux-6]",
)
@_runs.jobs_option
@_runs.store_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder. [results/judge-CONTROL]")
@click.option("--fresh", is_flag=True, help="Make every run anew, take none from the store.")
@click.option("--list", "listing", is_flag=True, help="List the suites, or the cases of --suite. Runs nothing.")
@click.option(
    "--plan",
    "--dry-run",
    "plan",
    is_flag=True,
    help="Print which runs would be made, and their time; makes some runs to measure.",
)
@click.option("--mutants", is_flag=True, help="Judge the mutants of the cases instead: each must fail.")
@click.option("--mutant", "switch", default="", metavar="SWITCH", help="Judge a built-in CONTROL with this mistake.")
@click.option("--gate", is_flag=True, help=f"Exit with {GATE} where a case fails, is flagged or is an error.")
@_output.json_option
@click.pass_context
def judge(ctx: click.Context, /, control: str | None, **said: Any) -> None:
    """Judge a control by published test cases.

    The control is a congestion control, or a rate control of media.

    CONTROL is a built-in control, a name of --cc, FILE.py:CLASS, or PROGRAM:NAME of a crate. Each
    case gets a verdict: pass, fail, flag, shown, ambiguous, inconclusive, not-applicable,
    not-testable or error. DIR gets judge.json, report.html and the evidence. Finished runs are kept
    in the store of campaigns. A failed case is a result: the exit code is 0 without --gate.

    \b
    Examples:
      lasthop judge bbr3 --suite bbr
      lasthop judge bbr3 --suite bbr --case BBR-04 --out results/one
      lasthop judge my_cc.py:Mine --quick
      lasthop judge target/release/judged:aimd
      lasthop judge nada --suite media
      lasthop judge cubic --quick --profile rfc
      lasthop judge cubic --file my-case.toml
      lasthop judge --file my-case.toml        check the file, run nothing
      lasthop judge --file my-case.toml --mutants
      lasthop judge bbr3 --case BBR-04 --mutant drain-without-limit
      lasthop judge --list
    """
    suites = [*map(utf8, said["suites"]), *map(utf8, said["files"])]
    if said["listing"] or (control is None and not said["files"] and not said["mutants"]):
        _list(suites, said["cases"], said["as_json"])
        return
    if said["mutants"]:
        if not _mutants(suites, said):
            ctx.exit(GATE)
        return
    if control is None:
        _check(suites, said["cases"], said["as_json"])
        return
    with redirect_stdout(sys.stderr):  # what own code prints
        judgement = _judgement(utf8(control), suites, said)
    if said["plan"]:
        _plan(judgement, said["as_json"])
        return
    folder = said["out"] or Path("results") / "-".join(filter(None, ("judge", judgement.control.name, said["switch"])))
    quiet = said["as_json"]
    with (
        leaving(lambda: f"finished runs are kept in {judgement.kept_in}: the same command continues with them"),
        _runs.bar(f"judge {judgement.control.name}", shown=not quiet) as progress,
        redirect_stdout(sys.stderr),
    ):
        verdicts = judgement.run(progress)
        verdicts.save(folder)
    if said["as_json"]:
        _output.json_object({**verdicts.to_json_dict(), "out": str(folder)})
    else:
        _show(verdicts, folder)
    if said["gate"] and {"fail", "flag", "error"} & set(verdicts.counts):
        ctx.exit(GATE)


def _judgement(control: str, suites: list[str], said: dict[str, Any]) -> Judgement:
    from lasthop.judging.judgement import Judgement

    return Judgement(
        control, suites or None, cases=said["cases"], own=_own(said["own"]), quick=said["quick"], vary=said["vary"],
        seeds=said["seeds"] or 0, jobs=said["jobs"], store=said["store"], fresh=said["fresh"],
        switch=utf8(said["switch"]), beside=True, profile=utf8(said["profile"]),
    )  # fmt: skip


def _own(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in map(utf8, given):
        name, sign, place = text.partition("=")
        if not sign or not name.strip():
            raise mistake(f"'{text}' is not of the form NAME=FILE.py:CLASS", "such as --cc mine=my_cc.py:Mine")
        found[name.strip()] = place.strip()
    return found


def _list(suites: list[str], cases: tuple[str, ...], as_json: bool) -> None:
    from lasthop.judging.suite import bundled, chosen, load_suite

    found = [chosen(load_suite(name), cases) for name in (suites or bundled())]
    if as_json:
        _output.json_object({"suites": [_suite_json(suite) for suite in found]})
        return
    if not suites:
        rows = [(s.name, str(len(s.cases)), s.title, s.source) for s in found]
        _output.table(("suite", "cases", "title", "source"), rows, right=(1,), wrap=True)
        _output.line()
        _output.line("Cases of one: lasthop judge --list --suite NAME")
        return
    for suite in found:
        _output.line(f"{suite.name}: {suite.title} ({suite.source})")
        sections = [(c.id, c.title, c.source.rpartition("#")[2]) for c in suite.cases]
        _output.table(("case", "title", "section"), sections, wrap=True)


def _suite_json(suite: Suite) -> dict[str, Any]:
    cases = [{"id": c.id, "title": c.title, "source": c.source, "paths": len(c.paths)} for c in suite.cases]
    return {"name": suite.name, "title": suite.title, "source": suite.source, "cases": cases}


def _check(files: list[str], patterns: tuple[str, ...], as_json: bool) -> None:
    """Cases that are right in themselves, with the scenarios of each; of those that `--case` names.

    Checked with a control that has the case's variables.
    """
    from lasthop.judging._places import together
    from lasthop.judging._variables import scenario_keys
    from lasthop.judging.control import stand_in
    from lasthop.judging.mutants import missing_mutants
    from lasthop.judging.suite import chosen, load_suite

    cases = [case for name in files for case in chosen(load_suite(name), patterns).cases]
    if not cases:
        raise mistake(
            f"no case fits {' or '.join(map(repr, patterns))}",
            f"`lasthop judge --list --suite {files[0]}` lists the cases",
        )
    errors: list[LasthopError] = []
    warnings: list[str] = []
    for case in cases:
        errors += missing_mutants(case)
        runnable = not case.lacks and all(key in scenario_keys() for key in case.needs)
        control = stand_in(case.variables, case.judges)
        paths = case.paths if runnable else ()
        for path in paths:
            fault, said = _tried(case, path, control)
            errors += [fault] if fault else []
            warnings += said
    if errors:
        raise together(errors[:20])
    if as_json:
        rows = [{"id": c.id, "title": c.title, "paths": len(c.paths)} for c in cases]
        _output.json_object({"cases": rows, "warnings": warnings})
        return
    for case in cases:
        _output.line(f"{case.id}: {case.title} ({_counted(case)})")
    for warning in warnings:
        _output.line(f"warning: {warning}")
    _output.line(f"The cases are right. Run them: lasthop judge CONTROL --file {files[0]}")


def _tried(case: Case, path: CasePath, control: Control) -> tuple[LasthopError | None, list[str]]:
    """What is wrong with a path of a case, None: nothing; and warnings about its scenario."""
    from lasthop._core import LasthopError
    from lasthop.judging._known import check_known
    from lasthop.judging._scenario import scenario_of

    try:
        scenario = scenario_of(case, path, control.name, case.seed(0), control.cc)
        check_known(case, path, scenario)
    except LasthopError as error:
        return error, []
    return None, [
        f"{case.id}, path '{path.name}': `{w['key']}`: {w['message']}" + (f" ({w['help']})" if w["help"] else "")
        for w in scenario.warnings
    ]


def _counted(case: Case) -> str:
    """Paths and checks, or metrics, of a case in words."""
    what = ("metric", len(case.metrics)) if case.metrics else ("check", len(case.passes))
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in (("path", len(case.paths)), what))


def _mutants(suites: list[str], said: dict[str, Any]) -> bool:
    """Whether each mutant is found by the check that it names."""
    from lasthop.judging.mutants import try_mutants, untried
    from lasthop.judging.suite import bundled, chosen, load_suite

    every = [chosen(load_suite(name), said["cases"]) for name in (suites or bundled())]
    with redirect_stdout(sys.stderr):
        found = list(try_mutants(every, quick=said["quick"], jobs=said["jobs"], store=said["store"]))
    if said["as_json"]:
        rest = [{"case": case, "check": check, "why": why} for case, check, why in untried(every)]
        _output.json_object({"mutants": [vars(tried) for tried in found], "untried": rest})
    else:
        rows = [
            (t.case, t.mutant, *(("found", t.verdict, ", ".join(t.failed)) if t.found else _unfound(t))) for t in found
        ]
        _output.table(("case", "mutant", "", "verdict", "fails"), rows, wrap=True)
        _output.line(f"{sum(t.found for t in found)} of {len(found)} mutants are found")
        for case, check, why in untried(every):
            _output.line(f"No mutant makes {case} {check} fail{f': {why}' if why else ''}")
    return all(tried.found for tried in found)


def _unfound(tried: Tried) -> tuple[str, str, str]:
    """A mutant that is not found, with the checks that fail and why."""
    return "NOT FOUND", tried.verdict, "; ".join(filter(None, (", ".join(tried.failed), tried.why)))


def _plan(judgement: Judgement, as_json: bool) -> None:
    found = judgement.estimate()
    costs = judgement.costs()
    if as_json:
        keys = ("case", "runs", "simulated_s", "segments")
        cases = [dict(zip(keys, c, strict=True)) for c in costs]
        _output.json_object({**_runs.estimate_json(found), "further": judgement.most_further(), "cases": cases})
        return
    rows = [(case, f"{runs}", _format.duration(s), f"{n:.3g}") for case, runs, s, n in costs]
    rows.append(
        ("in all", f"{judgement.runs}", _format.duration(sum(c[2] for c in costs)), f"{sum(c[3] for c in costs):.3g}")
    )
    _output.table(("case", "runs", "simulated", "segments at most"), rows, right=(1, 2, 3))
    _runs.tell_estimate(found)
    if more := judgement.most_further():
        _output.line(f"Flags: up to {more:,} runs more, with further seeds, to confirm them")


def _show(verdicts: Verdicts, folder: Path) -> None:
    rows = [(row.id, row.verdict, row.title, row.why) for row in verdicts.rows]
    _output.table(("case", "verdict", "title", "why"), rows, wrap=True)
    _output.line()
    tally = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.counts.items())
    runs = f"{verdicts.made:,} run{'' if verdicts.made == 1 else 's'} made" + (
        f" ({verdicts.taken:,} found in the store)" if verdicts.taken else ""
    )
    _output.line(f"{verdicts.control.name}: {tally}; {runs} in {verdicts.seconds:.1f} s")
    _output.line(f"Report: {folder / 'report.html'}")
